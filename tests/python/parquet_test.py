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


def command(*words, cwd, code=0, path=None):
    """Standard output and standard error of the command; with `path`, of a Python that also searches there."""
    environment = os.environ if path is None else {**os.environ, "PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-m", "gpuhist", *words], capture_output=True, text=True, cwd=cwd, check=False,
                          env=environment)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def images(tmp_path):
    (tmp_path / "a").mkdir()
    for i in range(3):
        Image.fromarray(np.full((4, 5 + i), 30 * i, np.uint8)).save(tmp_path / "a" / f"{i}.png")
    return tmp_path


def test_the_command_writes_it(images):
    said, _ = command("a", "--write", "stats,parquet", "--quality", cwd=images)
    out = images / "gpuhist-out"
    assert said.splitlines()[-1] == (
        "wrote  gpuhist-out/dataset.parquet dataset.quality.parquet flags.parquet quality.parquet stats.parquet")
    for path in out.glob("*.parquet"):
        expected = rows_of(path.with_suffix(".csv"))
        for one, other in zip(expected, pq.read_table(path).to_pylist(), strict=True):
            assert all(same(one[name], other[name]) for name in one), path
    # Alone it implies stats; of one image too, beside inputs that fail, and into another directory.
    (images / "a/bad.png").write_bytes(b"no")
    said, _ = command("a", "--write=parquet", "-o", "other", "--format", "csv", "-q", cwd=images, code=1)
    assert "wrote" not in said and {path.name for path in (images / "other").glob("*.parquet")} == {
        "stats.parquet", "dataset.parquet", "errors.parquet"}
    command("a/1.png", "--write", "parquet", "-o", "one", cwd=images)
    assert pq.read_table(images / "one/stats.parquet")["mean"].to_pylist() == [30.0]
    command("a/1.png", "--write", "stats", "-o", "none", cwd=images)
    assert not list((images / "none").glob("*.parquet"))


def test_files_in_the_way_of_the_command(images):
    (images / "out").mkdir()
    (images / "out/stats.parquet").write_text("mine")
    _, said = command("a", "--write", "parquet", "-o", "out", cwd=images, code=4)
    assert "stats.parquet: not replaced" in said and (images / "out/stats.parquet").read_text() == "mine"
    command("a", "--write", "parquet", "-o", "out", "--force", cwd=images)
    assert pq.read_table(images / "out/stats.parquet").num_rows == 3


def test_what_the_command_refuses(images):
    _, said = command("a", "--write", "parquet", "--shard", "1/2", cwd=images, code=2)
    assert "--write parquet applies to results" in said
    (images / "without").mkdir()
    (images / "without/sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n")
    _, said = command("a", "--write", "parquet", cwd=images, code=2, path=images / "without")
    assert "pip install 'gpuhist[tables]'" in said and "gpuhist.to_parquet(RESULTS)" in said
    assert not (images / "gpuhist-out").exists()


def test_the_command_alone_names_the_package():
    for words in (["--format", "parquet"], ["--write", "stats", "--format=parquet"]):
        done = subprocess.run([sys.executable, "-m", "gpuhist", "x.png", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "gpuhist.to_parquet(RESULTS)" in done.stderr
