"""Shards without an engine, and with those of the guide: the result has the bytes of a single run."""

import concurrent.futures
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image

import gpuhist as gh
from gpuhist import shards

SHARDS = 5


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Folder with images, of which one is damaged, and what one run makes of them; it is the working directory."""
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(2)
    (folder / "photos/more").mkdir(parents=True)
    for i in range(40):
        Image.fromarray(rng.integers(0, 256, (5 + i, 7), np.uint8)).save(folder / "photos" / ("more" if i % 3 else ".") / f"{i}.png")
    (folder / "photos/bad.png").write_bytes(b"\x89PNG")
    before = os.getcwd()
    os.chdir(folder)
    assert subprocess.run([sys.executable, "-m", "gpuhist", "photos", "-q", "-o", "whole"], stderr=subprocess.DEVNULL).returncode == 1
    yield folder
    os.chdir(before)


def expect_whole(work: Path, output: str | Path) -> None:
    whole = files_of(work / "whole")
    assert {"stats.csv", "errors.csv", "dataset.csv", "dataset.json"} < set(whole)
    found = files_of(work / output)
    # Only results over a manifest name one. The list of files has their lengths.
    assert found.pop(".gpuhist", None) is not None and whole.pop(".gpuhist", None) is not None
    found["dataset.json"], names = re.subn(rb',"manifest":"[0-9a-f]{16}"', b"", found["dataset.json"])
    assert names >= 1
    assert found == whole


def test_functions(work):
    assert shards.manifest("photos", "photos.jsonl") == 41
    assert shards.missing("parts", SHARDS) == [1, 2, 3, 4, 5]
    parts = {shard: shards.measure_shard("photos.jsonl", "parts", shard, SHARDS) for shard in (4, 2, 5, 1)}
    assert shards.missing(work / "parts", SHARDS) == [3]
    with pytest.raises(shards.ShardFailed, match="no part-3-of-5"):
        shards.merge("parts", SHARDS, "early")
    assert not (work / "early").exists()
    parts[3] = shards.measure_shard(work / "photos.jsonl", work / "parts", 3, SHARDS, folder=work, arguments=["--threads", "1"])
    assert shards.missing("parts", SHARDS) == []
    assert sum(part.inputs for part in parts.values()) == 41 and sum(part.errors for part in parts.values()) == 1
    shards.merge("parts", SHARDS, "results")
    expect_whole(work, "results")
    for part in (1, 2):
        shards.join("parts", SHARDS, "parts/2", part, 2)
    shards.merge("parts/2", 2, work / "joined")
    expect_whole(work, "joined")


def test_lists_and_options(work):
    assert shards.manifest(["photos/0.png", Path("photos/more")], "some.jsonl") == 27
    assert shards.manifest("photos", "few.jsonl", arguments=["--exclude", "more"]) == 15


def test_urls(work):
    pytest.importorskip("fsspec")
    shards.manifest("photos", "photos.jsonl")
    for shard in (1, 2):
        shards.measure_shard(f"file://{work}/photos.jsonl", f"file://{work}/of-urls", shard, 2)
    shards.merge(f"file://{work}/of-urls", 2, f"file://{work}/from-urls")
    expect_whole(work, "from-urls")


@pytest.mark.parametrize("words", [["--write", "stats,normalized"], ["--normalize=minmax"], ["--link", "dataset"], ["-o", "x"]])
def test_copies_are_refused(work, words):
    with pytest.raises(gh.InvalidArgument, match=f"^{words[0].partition('=')[0]}: parts have numbers only"):
        shards.measure_shard("photos.jsonl", "parts", 1, 2, arguments=words)


def test_what_is_refused(work):
    for shard, count in ((0, 3), (4, 3)):
        with pytest.raises(gh.InvalidArgument, match="^shard: "):
            shards.measure_shard("photos.jsonl", "parts", shard, count)
    for part, count in ((0, 2), (3, 2), (1, SHARDS + 1)):
        with pytest.raises(gh.InvalidArgument, match="^part: "):
            shards.join("parts", SHARDS, "joined-parts", part, count)
    with pytest.raises(gh.InvalidArgument, match="no option '--group'"):
        shards.measure_shard("photos.jsonl", "parts", 1, 2, arguments=["--group"])
    with pytest.raises(gh.InvalidArgument, match="no option '--exclud'"):
        shards.manifest("photos", "none.jsonl", arguments=["--exclud"])
    with pytest.raises(gh.InvalidArgument, match="not a complete manifest"):
        shards.Index.read("photos/0.png")


def spark():
    """Spark on this machine, or what stands for it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return PlayedSpark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


class PlayedSpark:
    """What the guide calls of Spark: partitions of one row, each on its own."""

    def range(self, start, end, numPartitions):
        assert numPartitions == end - start
        self._rows = range(start, end)
        return self

    def mapInPandas(self, function, schema):
        self._function, self._schema = function, schema
        return self

    def toPandas(self):
        import pandas as pd

        frames = [frame for row in self._rows for frame in self._function(iter([pd.DataFrame({"id": [row]})]))]
        found = pd.concat(frames)
        assert list(found.columns) == [name.split()[0] for name in self._schema.split(", ")]
        return found


BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "app/guide/many-machines.md").read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("engine", ["concurrent.futures", "dask.distributed", "mapInPandas"])
def test_the_guide(work, engine, tmp_path, monkeypatch):
    (tmp_path / "photos").symlink_to(work / "photos")
    monkeypatch.chdir(tmp_path)
    (code,) = (code for code in BLOCKS if engine in code)
    assert len(code.splitlines()) <= 12
    names = {"__name__": "guide"}
    if engine == "dask.distributed":
        distributed = pytest.importorskip("dask.distributed")
        names["client"] = distributed.Client(processes=False, n_workers=1, dashboard_address=None)
    if engine == "mapInPandas":
        pytest.importorskip("pandas")
        names["spark"] = spark()
    if engine != "concurrent.futures":
        shards.manifest("photos", "photos.jsonl")
    exec(code, names)
    if "client" in names:
        names["client"].close()
    if hasattr(names.get("spark"), "stop"):
        names["spark"].stop()
    expect_whole(work, tmp_path / "results")
