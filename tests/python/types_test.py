"""Types: the package, and a program that uses it, pass mypy; what is wrong in one is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import gpuhist as gh

PACKAGE = Path(gh.__file__).parent

GOOD = """
import gpuhist as gh
r = gh.measure("photo.jpg", layout="HWC", order="BGR", percentile_columns=[1, 99.9])
mean: float | None = r["red"].mean
pixels: int = r.luma.pixels
kind: str = r.error.kind if r.error is not None else ""
for one in gh.measure_many(["photos/"], threads=2):
    print(one.counts("red").sum(), one.percentile("luma", 99.9))
s = gh.Summary()
s += r
m, d = s.mean_std()
masked = gh.measure("photo.jpg", mask="mask.png", nodata={"red": [0, 1]}, valid=(1, 254), alpha="ignore")
count: int = masked.red.valid + masked.red.masked + masked.red.nodata
for label, region in gh.regions("photo.jpg", "cells.tif", nodata=["tag", 0], nodata_any=True).items():
    print(label + region.area, region.box.x, region.red.mean)
for flag in gh.flags([masked], policy={"flags": {"dark": 0.2}}):
    print(flag.path + flag.flag, flag.value + (flag.threshold or 0), flag.first)
print(m.shape, gh.Statistics.p99, gh.Analyzer(channels=3).layout.bytes, gh.histogram("x.png", bins=64).edges.size)
"""
BAD = """
import gpuhist as gh
gh.measure("photo.jpg", layout="WHC")
gh.measure("photo.jpg").red.average
gh.measure("photo.jpg", alpha="half")
gh.normalize([[1]], "best")
"""


def start_mypy(folder: Path) -> subprocess.Popen:
    """Begins to check the package and both programs."""
    (folder / "good.py").write_text(GOOD)
    (folder / "bad.py").write_text(BAD)
    libraries = folder / "mypy.ini"
    libraries.write_text("[mypy]\nstrict = True\n" + "".join(
        f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in ("torch", "cupy", "pandas", "pyarrow", "ray", "fsspec")
    ))
    # Beside other packages' files mypy would check these, too.
    shutil.copytree(PACKAGE, folder / "gpuhist", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    checked = [folder / "gpuhist", folder / "good.py", folder / "bad.py"]
    words = [sys.executable, "-m", "mypy", "--config-file", libraries, *checked]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_types_are_checked(mypy):
    found = mypy.communicate()[0]
    errors = [line for line in found.splitlines() if ": error:" in line]
    assert [line for line in errors if "bad.py" not in line] == [], found
    words = ("WHC", "average", "half", "best")
    assert len(errors) == len(words) and all(word in line for word, line in zip(words, errors))


def test_types_of_statistics_come_from_the_columns():
    stub = (PACKAGE / "_native.pyi").read_text()
    assert "def mean(self) -> float | None" in stub and "def pixels(self) -> int:" in stub
    for name, kind, definition in gh._native.columns(None, "dataset"):
        if kind != "text" and name not in ("white", "images"):
            assert definition in getattr(gh.Statistics, name).__doc__
