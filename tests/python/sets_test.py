"""Sets as streams of Arrow, with their regions, their length and their progress."""

import csv
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from skimage.measure import regionprops_table

import gpuhist as gh


@pytest.fixture
def photos(tmp_path, rng):
    """Images of several kinds, one of them damaged, and one with a name that is not UTF-8."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(7):
        Image.fromarray(rng.integers(0, 256, (20, 30 + i, 3), np.uint8)).save(folder / f"{i}.png")
    Image.fromarray(rng.integers(0, 256, (9, 8), np.uint8)).save(folder / "gray.png")
    (folder / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(os.fsdecode(os.fsencode(folder) + b"/n\xff\xe2\x82me.png"))
    return folder


def rows_of(reader: pa.RecordBatchReader) -> list[dict]:
    return reader.read_all().to_pylist()


def test_rows_are_those_of_the_command(photos, command):
    command(photos, "-o", photos.parent / "out", check=False)
    with open(photos.parent / "out" / "stats.csv", errors="surrogateescape") as file:
        expected = list(csv.DictReader(file))
    reader = pa.RecordBatchReader.from_stream(gh.batches(photos))
    assert reader.schema.names == [*expected[0], "error"]
    kinds = {name: kind for name, kind, _ in gh._native.columns(None, "stats")}
    for field in reader.schema:
        assert field.type == {"text": pa.string(), "integer": pa.uint64(), "number": pa.float64()}[kinds.get(field.name, "text")]
        assert field.metadata[b"definition"]
    found = rows_of(reader)
    measured = [row for row in found if row["error"] is None]
    assert len(measured) == len(expected) == 8 * 5 - 4 + 1
    for row, wanted in zip(measured, expected):
        for name, text in wanted.items():
            if name != "path":
                value = None if text == "" else text if kinds[name] == "text" else float(text)
                assert row[name] == value, name
    (failed,) = (row for row in found if row["error"] is not None)
    assert failed["path"] == str(photos / "bad.png") and failed["error"].startswith("truncated: ")
    assert all(value is None for name, value in failed.items() if name not in ("path", "error"))
    assert gh.table(photos).to_pylist() == found


def test_text_that_is_not_utf8(photos):
    paths = {row["path"] for row in rows_of(pa.RecordBatchReader.from_stream(gh.batches(photos)))}
    names = [os.fsencode(photos / name).decode("utf-8", "replace") for name in os.listdir(photos)]
    assert paths == set(names) and any("\ufffd\ufffdme" in name for name in names)


def test_bytes_of_any_kind_as_utf8(tmp_path):
    rng = np.random.default_rng(3)
    pieces = [b"a", b"\x80", b"\xc3", b"\xa4", b"\xe0", b"\xa0", b"\x9f", b"\xed", b"\xbf", b"\xf0", b"\x90", b"\xf4", b"\x8f",
              b"\xf5", b"\xc1", "\u20ac".encode(), "\U0001f600".encode(), "\u0800".encode(), b"\xff"]
    names = [b"".join(pieces[i] for i in rng.integers(0, len(pieces), 12)) for _ in range(500)]
    missing = [os.fsdecode(os.fsencode(tmp_path) + b"/" + name) for name in names]
    found = [row["path"] for row in rows_of(pa.RecordBatchReader.from_stream(gh.batches(missing)))]
    unique = list(dict.fromkeys(os.fsencode(path) for path in missing))
    assert found == [path.decode("utf-8", "replace") for path in unique]


@pytest.mark.parametrize("size", [1, 7, 8192])
def test_batches_end_with_an_image(photos, size):
    batches = [batch.to_pydict() for batch in pa.RecordBatchReader.from_stream(gh.batches(photos, batch_size=size))]
    paths = [path for batch in batches for path in dict.fromkeys(batch["path"])]
    assert len(paths) == len(set(paths)) == 10
    assert all(size <= len(batch["path"]) < size + 5 for batch in batches[:-1])


def test_libraries_that_read_streams(photos):
    expected = gh.table(photos)
    polars, duckdb, pandas = (pytest.importorskip(name) for name in ("polars", "duckdb", "pandas"))
    assert polars.DataFrame(gh.batches(photos)).to_arrow().cast(expected.schema).equals(expected)
    rows = gh.batches(photos)
    ((count, most),) = duckdb.sql("SELECT count(*), max(mean) FROM rows").fetchall()
    assert count == len(expected) and most == max(filter(None, expected["mean"].to_pylist()))
    assert pandas.DataFrame.from_arrow(gh.batches(photos)).equals(expected.to_pandas())


def test_without_pyarrow(photos):
    """The stream itself needs no package; polars reads it here where pyarrow can't be imported."""
    pytest.importorskip("polars")
    code = "import sys; sys.modules['pyarrow'] = None; import gpuhist as gh, polars; print(polars.DataFrame(gh.batches(sys.argv[1])).height)"
    done = subprocess.run([sys.executable, "-c", code, photos], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(gh.table(photos))


def test_streams_that_are_read_again_or_never(photos):
    rows = gh.batches(photos)
    assert rows.taken == 0
    assert rows_of(pa.RecordBatchReader.from_stream(rows)) == rows_of(pa.RecordBatchReader.from_stream(rows))
    assert rows.taken == len(rows) == 10
    assert pa.RecordBatchReader.from_stream(rows).schema == gh.table(photos).schema
    del rows
    gh.batches(photos).__arrow_c_stream__()  # released unread
    reader = pa.RecordBatchReader.from_stream(gh.batches(photos, batch_size=1))
    reader.read_next_batch()
    del reader
    for size in (0, 1 << 19):
        with pytest.raises(gh.InvalidArgument, match="batch_size"):
            gh.batches(photos, batch_size=size)


def test_columns_that_are_asked_for(photos):
    frame = gh.table(photos, percentile_columns=[12.5], robust=True, clip_sigma=2).to_pandas()
    one = gh.measure(photos / "3.png", percentile_columns=[12.5], robust=True, clip_sigma=2)
    row = frame[(frame["path"] == str(photos / "3.png")) & (frame["channel"] == "blue")].iloc[0]
    assert row["p12.5"] == one.blue.percentile(12.5) and row["clipped_mean"] == one.blue.clipped_mean and row["mad"] == one.blue.mad


def test_empty_sets(tmp_path):
    assert gh.table([]).num_rows == 0 and "error" in gh.table([]).column_names
    assert len(gh.measure_many([])) == 0


def test_length_and_progress(photos, capsys):
    results = gh.measure_many([photos, photos / "0.png"])
    assert len(results) == 10 and len(list(results)) == 10 and len(results) == 10
    assert len(gh.measure_many(photos, exclude=["[0-4].png"])) == 5
    pytest.importorskip("tqdm")
    assert len(list(gh.measure_many(photos, progress=True))) == 10
    assert "10/10" in capsys.readouterr().err
    assert gh.table(photos, progress=True).num_rows == 38
    assert "10/10" in capsys.readouterr().err


def test_pages_count(tmp_path, rng):
    pages = [Image.fromarray(rng.integers(0, 256, (5, 6), np.uint8)) for _ in range(3)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    assert len(gh.measure_many(tmp_path, pages="all")) == 3


@pytest.fixture
def labeled(tmp_path, rng):
    """Images, and a directory with their label images."""
    images, labels = {}, {}
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    for i in range(3):
        images[i] = rng.integers(0, 256, (40, 50 + i), np.uint8)
        labels[i] = rng.integers(0, 4 + i, images[i].shape, np.uint8)
        Image.fromarray(images[i]).save(tmp_path / "images" / f"{i}.png")
        Image.fromarray(labels[i]).save(tmp_path / "labels" / f"{i}.png")
    return tmp_path / "images", tmp_path / "labels", images, labels


def test_labels(labeled):
    folder, label_folder, images, labels = labeled
    for i, result in enumerate(gh.measure_many(folder, labels=label_folder)):
        wanted = regionprops_table(labels[i], images[i], properties=("label", "area", "intensity_mean"))
        assert list(result.regions) == list(wanted["label"])
        assert [one.area for one in result.regions.values()] == list(wanted["area"])
        assert [one.gray.mean for one in result.regions.values()] == pytest.approx(list(wanted["intensity_mean"]), rel=1e-12)
        assert result.regions.to_dict() == gh.regions(images[i], labels[i]).to_dict()
        assert result.gray.mean == images[i].mean()
    zero = next(gh.measure_many(folder, labels=label_folder, label_zero=True))
    assert list(zero.regions) == [0, 1, 2, 3]
    assert pickle.loads(pickle.dumps(zero)) == zero and pickle.loads(pickle.dumps(zero)).regions[2] == zero.regions[2]


def test_rows_of_regions(labeled, command):
    folder, label_folder, _, _ = labeled
    command(folder, "--labels", label_folder, "--robust", "-o", folder.parent / "out")
    with open(folder.parent / "out" / "regions.csv") as file:
        expected = list(csv.DictReader(file))
    table = gh.table(folder, labels=label_folder, robust=True)
    assert table.column_names == [*expected[0], "error"]
    numbers = ("x", "y", "width", "height", "area", "centroid_x", "mean", "mad", "weighted_centroid_y")
    for row, wanted in zip(table.to_pylist(), expected, strict=True):
        assert [row[name] for name in numbers] == [float(wanted[name]) for name in numbers]
        assert (row["path"], row["region"], row["error"]) == (wanted["path"], wanted["region"], None)


def test_regions_that_are_not_there(labeled, tmp_path):
    folder, label_folder, images, _ = labeled
    with pytest.raises(gh.InvalidArgument, match="^regions: "):
        gh.measure(images[0]).regions
    with pytest.raises(gh.InvalidArgument, match="^labels: a ndarray"):
        gh.measure_many(folder, labels=images[0])
    (label_folder / "1.png").unlink()
    middle = list(gh.measure_many(folder, labels=label_folder))[1]
    assert middle.error is not None and middle.error.kind == "missing"
    with pytest.raises(FileNotFoundError):
        middle.regions
    (row,) = gh.table(folder / "1.png", labels=label_folder).to_pylist()
    assert row["error"].startswith("missing: ")


def test_a_signal_ends_a_table(tmp_path):
    """Reading waits for a pipe that nobody writes to, and ends by the signal."""
    os.mkfifo(tmp_path / "pipe.png")
    writer = os.open(tmp_path / "pipe.png", os.O_RDWR)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Timer(1.0, os.close, (writer,)).start()
    with pytest.raises(KeyboardInterrupt):
        gh.table(tmp_path / "pipe.png")
        while True:  # the signal is handled as soon as the library has returned
            pass


def test_a_run_that_cannot_go_on(photos):
    with pytest.raises(gh.EngineUnavailable):
        if gh.engines()["cuda"][0]:
            pytest.skip("there is a GPU")
        gh.table(photos, engine="cuda")


def test_memory_is_bounded(tmp_path, rng):
    """A thousand images of 16 bits, each with 1.5 MB of counts, in a fraction of their sum."""
    Image.fromarray(rng.integers(0, 65536, (8, 8), np.uint16)).save(tmp_path / "0.png")
    for i in range(1, 1000):
        os.link(tmp_path / "0.png", tmp_path / f"{i}.png")
    code = """
import resource, sys
import gpuhist as gh, pyarrow as pa
for _ in pa.RecordBatchReader.from_stream(gh.batches(sys.argv[1:], batch_size=64, memory=1 << 26)): pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    def peak(count: int) -> int:
        paths = [tmp_path / f"{i}.png" for i in range(count)]
        return int(subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True).stdout)
    assert peak(1000) < peak(200) + 40_000  # kilobytes; 800 images have 400 MB of counts
