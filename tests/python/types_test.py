"""Types: the package, a program that uses it, and the examples of the pages pass mypy and pyright in their strictest
modes; what is wrong in one is found."""

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ROOT

import gpuhist as gh
from gpuhist._options import ImageOptions, SetOptions

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
s = gh.Summary(gh.measure_many("photos")) + gh.Summary([r, s])
print(gh.histogram("x.png", 64, layout="HWC").edges, gh.table("photos", threads=2, detail="brief").num_rows)
print(m.shape, gh.Statistics.p99, gh.Analyzer(channels=3).layout.bytes, gh.histogram("x.png", bins=64).edges.size)
"""
BAD = """
import gpuhist as gh
gh.measure("photo.jpg", layout="WHC")
gh.measure("photo.jpg").red.average
gh.measure("photo.jpg", alpha="half")
gh.normalize([[1]], "best")
gh.histogram("photo.jpg", measure="quality")
gh.table("photos", theads=2)
gh.table("photos", on_damaged="skip")
gh.Summary([1])
"""
# Line of each error, and a word of its message.
WRONG = {3: "WHC", 4: "average", 5: "half", 6: "best", 7: "measure", 8: "theads", 9: "on_damaged", 10: "int"}
LIBRARIES = ("torch", "cupy", "pyarrow", "ray", "fsspec", "tqdm", "rasterio/features", "skimage/measure")
# What the blocks of the pages have from the text around them.
AROUND = """
from typing import Any
import numpy as np
import numpy.typing as npt

image: npt.NDArray[np.uint8] = np.zeros((9, 9, 3), np.uint8)
labels: npt.NDArray[np.uint16] = np.zeros((9, 9), np.uint16)
dataset: Any = None
client: Any = None
spark: Any = None
"""
PAGES = ("README.md", "app/guide/python.md", "app/guide/many-machines.md", "app/python/README.md")
ANY = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"


def block_of(code: str) -> str:
    """A block with the names that it does not make itself."""
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    made |= {alias.asname or alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    needed = sorted(set(re.findall(r"^(\w+)(?=:)", AROUND, re.MULTILINE)) & {node.id for node in names} - made)
    return (f"from around import {', '.join(needed)}\n" if needed else "") + code


def start_checkers(folder: Path) -> dict[str, subprocess.Popen]:
    """Begins to check the package, both programs and the blocks of the pages."""
    (folder / "good.py").write_text(GOOD)
    (folder / "bad.py").write_text(BAD)
    (folder / "around.py").write_text(AROUND)
    checked = ["gpuhist", "good.py", "bad.py"]
    for page in PAGES:
        for number, code in enumerate(re.findall(r"^ *```python\n(.*?)^ *```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)):
            name = f"block_{number}_of_{page.replace('/', '_').replace('.md', '')}.py"
            (folder / name).write_text(block_of(textwrap.dedent(code)))
            checked.append(name)
    # Libraries without types, or that are not there, hold objects of any type.
    for name in LIBRARIES:
        package, _, module = name.partition("/")
        (folder / "untyped" / package).mkdir(parents=True)
        (folder / "untyped" / package / f"{module or '__init__'}.pyi").write_text(ANY)
        (folder / "untyped" / package / "__init__.pyi").write_text(ANY)
    # Beside other packages' files mypy would check these, too.
    shutil.copytree(PACKAGE, folder / "gpuhist", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\nmypy_path = untyped\n")
    settings = {"include": checked, "extraPaths": ["untyped"], "typeCheckingMode": "standard",
                "strict": [name for name in checked if name != "gpuhist"], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    words = {
        "mypy": ["mypy", "--config-file", "mypy.ini", *checked],
        "pyright": ["basedpyright", "--pythonpath", sys.executable],
    }
    return {
        name: subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, command in words.items()
    }


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types_are_checked(checkers, checker):
    found = checkers[checker].communicate()[0]
    errors = [line for line in found.splitlines() if re.search(r"\berror:|- error", line)]
    assert [line for line in errors if "bad.py" not in line] == [], found
    lines = [int(re.search(r"bad.py:(\d+):", line)[1]) for line in errors]
    assert sorted(set(lines)) == list(WRONG), found
    assert all(any(at == number and word in line for at, line in zip(lines, errors)) for number, word in WRONG.items())


def test_options_are_those_of_the_functions():
    """The options that histogram(), table() and batches() hand on have the names that measure() and measure_many()
    have."""
    for options, function, own in ((ImageOptions, gh.measure, {"image", "bins", "range"}), (SetOptions, gh.measure_many, {"paths", "progress"})):
        assert set(options.__annotations__) == set(inspect.signature(function).parameters) - own


def test_types_of_statistics_come_from_the_columns():
    stub = (PACKAGE / "_native.pyi").read_text()
    assert "def mean(self) -> float | None" in stub and "def pixels(self) -> int:" in stub
    for name, kind, definition in gh._native.columns(None, "dataset"):
        if kind != "text" and name not in ("white", "images"):
            assert definition in getattr(gh.Statistics, name).__doc__
