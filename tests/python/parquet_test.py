"""Tables of the command as Parquet, read by pyarrow, polars and DuckDB, with the numbers of the CSV."""

import csv
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import gpuhist as gh

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def run(*words, code=0, cwd=None):
    done = subprocess.run([sys.executable, "-m", "gpuhist", *map(str, words)], capture_output=True, cwd=cwd, check=False)
    assert done.returncode == code, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of every table, of images whose names are odd."""
    folder = tmp_path_factory.mktemp("parquet")
    rng = np.random.default_rng(3)
    for set_name in ("a", "b"):
        (folder / set_name / "sub").mkdir(parents=True)
        for i, name in enumerate(["1.png", "sub/two, \"2\"\nlines.png", "=3.png", "ü.png"]):
            pixels = rng.integers(0, 256, (20, 30, 3) if i % 2 else (20, 30), np.uint8)
            Image.fromarray(pixels).save(folder / set_name / name)
    (folder / "a" / "bad.png").write_bytes(b"no")
    run("a", "--quality", "--robust", "--percentile-columns", "0.5,50,99.9", "--group-by", "dir", "--roi",
        "r=1,1,5,5", "-q", "-o", "results", code=1, cwd=folder)
    run("duplicates", "results", "-q", "-o", "results", cwd=folder)
    run("compare", "a/1.png", "b/1.png", "-q", "-o", "results", cwd=folder)
    run("same", "a", "b", "-q", "-o", "results", code=5, cwd=folder)
    return folder / "results"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def same(text, value):
    if value is None:
        return text == ""
    if isinstance(value, float):
        return float(text) == value
    return text == str(value)


def test_every_table_has_the_numbers_of_its_csv(results, tmp_path):
    paths = gh.to_parquet(results, tmp_path)
    names = {os.path.basename(path) for path in paths}
    assert names == {f"{name}.parquet" for name in (
        "stats", "regions", "quality", "flags", "errors", "dataset", "dataset.quality", "groups", "comparison", "same")}
    for path in paths:
        expected = rows_of(results / os.path.basename(path).replace(".parquet", ".csv"))
        table = pq.read_table(path)
        assert table.column_names == list(expected[0]) if expected else True
        found = table.to_pylist()
        assert len(found) == len(expected)
        for one, other in zip(expected, found):
            assert all(same(one[name], other[name]) for name in one), (path, one, other)


def test_readers_agree(results, tmp_path):
    gh.to_parquet(results, tmp_path)
    path = str(tmp_path / "stats.parquet")
    table = pq.read_table(path)
    means = table.column("mean").to_pylist()
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(path)["mean"].to_list() == means
    duckdb = pytest.importorskip("duckdb")
    assert [row[0] for row in duckdb.sql(f"select mean from read_parquet('{path}')").fetchall()] == means


def test_types_and_definitions(results, tmp_path):
    gh.to_parquet(results, tmp_path)
    file = pq.ParquetFile(tmp_path / "stats.parquet")
    schema = file.schema_arrow
    assert schema.field("path").type == pa.string()
    assert schema.field("pixels").type == pa.uint64()
    assert schema.field("mean").type == pa.float64()
    assert schema.field("std").metadata[b"unit"] == b"sample value"
    assert schema.field("p99.9").metadata[b"equals"].startswith(b"numpy.percentile")
    facts = json.loads(schema.metadata[b"gpuhist.columns"])
    assert facts["mean"]["definition"].startswith("sum x / n")
    assert list(facts) == schema.names
    assert schema.metadata[b"gpuhist.version"].decode() == gh.__version__
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_row_groups_and_bytes_that_are_no_text(tmp_path):
    header = "path,kind,message\n"
    rows = [f"image{i}.png,missing,it is gone\n".encode() for i in range(150_000)]
    rows[7] = b'"\xff,\n.png",damaged,"a ""quoted"" word"\n'
    (tmp_path / "errors.csv").write_bytes(header.encode() + b"".join(rows))
    (tmp_path / "stats.csv").write_text("path,mean\nx,3\n")
    gh.to_parquet(tmp_path)
    file = pq.ParquetFile(tmp_path / "errors.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [65_536, 65_536, 18_928]
    table = file.read()
    assert table.num_rows == 150_000
    assert table.column("path")[7].as_py() == "\ufffd,\n.png"
    assert table.column("message")[7].as_py() == 'a "quoted" word'
    assert table.column("path")[149_999].as_py() == "image149999.png"


def test_files_of_others_stay(results, tmp_path):
    (tmp_path / "stats.parquet").write_text("mine")
    with pytest.raises(gh.IoError, match="stats.parquet: not replaced"):
        gh.to_parquet(results, tmp_path)
    assert (tmp_path / "stats.parquet").read_text() == "mine"
    assert not (tmp_path / "dataset.parquet").exists()
    gh.to_parquet(results, tmp_path, force=True)
    gh.to_parquet(results, tmp_path)
    assert pq.read_table(tmp_path / "stats.parquet").num_rows > 0
    assert not [name for name in os.listdir(tmp_path) if not name.endswith(".parquet")]


def test_what_is_no_result_is_refused(tmp_path):
    with pytest.raises(gh.MissingError, match="stats.csv is missing"):
        gh.to_parquet(tmp_path)
    for text, fault in (("path,whatever\nx,1\n", "whatever"), ("path,mean\nx,three\n", "three"),
                        ("path,mean\nx\n", "Expected 2 columns"), ("", "stats.csv")):
        (tmp_path / "stats.csv").write_text(text)
        with pytest.raises(gh.IoError, match=fault):
            gh.to_parquet(tmp_path)
        assert os.listdir(tmp_path) == ["stats.csv"]
    (tmp_path / "stats.csv").write_text("path,mean\n")
    gh.to_parquet(tmp_path)
    assert math.prod(pq.read_table(tmp_path / "stats.parquet").shape) == 0


def test_the_command_of_the_package_writes_it(results, tmp_path):
    inputs = results.parent / "a"
    for words, folder in (
        (["--write", "parquet", "-o", "one"], "one"),
        (["--write=parquet,stats", "--output=two"], "two"),
        (["--write", "plot,parquet", "-othree"], "three"),
    ):
        done = subprocess.run([sys.executable, "-m", "gpuhist", inputs, *words, "-q"], cwd=tmp_path, check=False, capture_output=True)
        assert done.returncode == 1, done.stderr  # one image is bad
        for table in ("stats", "dataset", "errors"):
            found = pq.read_table(tmp_path / folder / f"{table}.parquet")
            assert found.num_rows == len(rows_of(tmp_path / folder / f"{table}.csv")) > 0
        assert any((tmp_path / folder).rglob("*.histogram.png")) or "plot" not in words[1]
    (tmp_path / "one/stats.parquet").write_text("mine")
    run(inputs, "--write", "parquet", "-q", "-o", "one", code=4, cwd=tmp_path)
    assert (tmp_path / "one/stats.parquet").read_text() == "mine"


def test_the_command_alone_names_the_package():
    for words in (["--format", "parquet"], ["--write", "stats", "--format=parquet"]):
        done = subprocess.run([sys.executable, "-m", "gpuhist", "x.png", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "gpuhist.to_parquet(RESULTS)" in done.stderr
