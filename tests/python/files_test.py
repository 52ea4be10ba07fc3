"""Files: the rows of the command, in order; failures as records; warnings; processes."""

import csv
import io
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
import tifffile
from PIL import Image

import gpuhist as gh


@pytest.fixture(scope="module")
def photos(tmp_path_factory, data, rng):
    """A tree of images of several kinds, good and bad."""
    top = tmp_path_factory.mktemp("photos")
    (top / "b" / "deep").mkdir(parents=True)
    for name in ("rocket.jpg", "chelsea.png"):
        shutil.copy(data / name, top / name)
    for i in range(30):
        Image.fromarray(rng.integers(0, 256, (20 + i, 30, 3), np.uint8)).save(top / "b" / f"{i:02}.png")
    tifffile.imwrite(top / "b" / "wide.tif", rng.integers(0, 65536, (30, 40), np.uint16))
    tifffile.imwrite(top / "b" / "float.tif", rng.normal(0, 1, (30, 40)).astype(np.float32))
    (top / "b" / "empty.png").write_bytes(b"")
    (top / "b" / "text.jpg").write_text("no picture")
    cut = (data / "chelsea.png").read_bytes()
    (top / "b" / "deep" / "cut.png").write_bytes(cut[: len(cut) // 2])
    (top / "notes.txt").write_text("left out")
    return top


def test_rows_are_the_commands(photos, command, tmp_path):
    """Every field of stats.csv is the text of the value here, or empty for None."""
    command("--quiet", photos, "-o", tmp_path / "out", "--write", "stats", check=False)
    with open(tmp_path / "out" / "stats.csv", newline="") as file:
        expected = list(csv.DictReader(file))
    found = gh.table(photos)
    good = [row for row in found.to_pylist() if row.pop("error") is None]
    assert [*good[0]] == [*expected[0]] and len(good) == len(expected) > 150
    for row, fields in zip(good, expected):
        for name, value in row.items():
            if isinstance(value, float):
                assert float(fields[name]) == value, (row["path"], row["channel"], name)
            else:
                assert fields[name] == ("" if value is None else str(value)), (row["path"], row["channel"], name)


def test_failures_are_the_commands(photos, command, tmp_path):
    command("--quiet", photos, "-o", tmp_path / "out", "--write", "stats", check=False)
    with open(tmp_path / "out" / "errors.csv", newline="") as file:
        expected = [(row["path"], row["kind"], f"{row['path']}: {row['message']}") for row in csv.DictReader(file)]
    failed = [r for r in gh.measure_many(photos) if r.error is not None]
    assert [(r.path, r.error.kind, str(r.error)) for r in failed] == expected
    assert len(failed) == 3 and not any(failed)
    with pytest.raises(OSError, match="cut.png"):
        failed[0].percentile("red", 50)
    rows = [row for row in gh.table(photos).to_pylist() if row["error"] is not None]
    assert [(row["path"], row["error"]) for row in rows] == [(p, f"{k}: {m}") for p, k, m in expected]
    assert all(value is None for row in rows for name, value in row.items() if name not in ("path", "error"))


def test_order_and_choice(photos):
    paths = [r.path for r in gh.measure_many(photos)]
    assert paths == sorted(paths) and len(paths) == 37
    listed = [photos / "rocket.jpg", str(photos / "b" / "01.png"), str(photos / "chelsea.png")]
    assert [r.path for r in gh.measure_many(listed)] == [str(path) for path in listed]
    assert [r.path for r in gh.measure_many(photos, recursive=False)] == [str(photos / n) for n in ("chelsea.png", "rocket.jpg")]
    assert len(list(gh.measure_many(photos, include=["0*.png"], exclude=["05.png"]))) == 9
    assert [r.error.kind for r in gh.measure_many("nowhere.png")] == ["missing"]
    assert list(gh.measure_many([])) == []


def test_one_file_is_measured_as_many_are(photos):
    many = {r.path: r for r in gh.measure_many(photos)}
    for path, found in many.items():
        if found.error is None:
            assert gh.measure(path) == found
    with open(photos / "rocket.jpg", "rb") as file:
        assert gh.measure(file.read()).to_dict() == many[str(photos / "rocket.jpg")].to_dict()


def test_files_and_arrays_say_the_same(photos):
    picture = np.asarray(Image.open(photos / "chelsea.png"))
    assert gh.measure(photos / "chelsea.png").to_dict() == gh.measure(picture).to_dict()
    floats = tifffile.imread(photos / "b" / "float.tif")
    assert gh.measure(photos / "b" / "float.tif").to_dict() == gh.measure(floats).to_dict()


def test_bad_files_are_errors(photos):
    for name, kind in (("text.jpg", "unsupported"), ("empty.png", "truncated"), ("deep/cut.png", "truncated"), ("no", "missing")):
        with pytest.raises(gh.IoError, match=name) as caught:
            gh.measure(photos / "b" / name)
        assert isinstance(caught.value, OSError) and caught.value.kind == kind
        assert pickle.loads(pickle.dumps(caught.value)).kind == kind
    with pytest.raises(ValueError, match="measure_many"):
        gh.measure(photos)
    with pytest.raises(OSError, match="bytes"):
        gh.measure(b"no picture")
    with pytest.raises(OSError) as caught:
        gh.measure(photos / "chelsea.png", max_pixels=100)
    assert caught.value.kind == "too_large"
    accepted = gh.measure(photos / "b" / "deep" / "cut.png", on_damaged="accept")
    assert accepted.damage == "truncated" and accepted.red.mean > 0
    with pytest.raises(ValueError, match="not a path"):
        gh.measure_many([np.zeros((3, 3))])


def test_pages(tmp_path, rng):
    pages = rng.integers(0, 256, (3, 20, 30), np.uint8)
    with tifffile.TiffWriter(tmp_path / "pages.tif") as file:
        for page in pages:
            file.write(page, contiguous=False)
    path = tmp_path / "pages.tif"
    for image in (path, path.read_bytes()):
        with pytest.warns(UserWarning, match="first of its 3 pages"):
            assert gh.measure(image).gray.mean == pages[0].mean()
        assert gh.measure(image, page=2).gray.mean == pages[1].mean()
        with pytest.raises(OSError):
            gh.measure(image, page=4)
    assert [r.gray.mean for r in gh.measure_many(path, pages="all")] == [page.mean() for page in pages]


def test_tables_have_types_and_definitions(photos):
    found = gh.table(photos / "b", percentile_columns=[0.5, 50], include=["0*.png"])
    assert found.schema.field("mean").type == pa.float64() and found.schema.field("unique").type == pa.uint64()
    assert found.schema.field("path").type == pa.string() and "p0.5" in found.column_names
    assert found.schema.field("std").metadata[b"definition"].startswith(b"Standard deviation of the population")
    assert found.num_rows == 50
    frame = found.to_pandas()
    assert list(frame.channel[:5]) == ["red", "green", "blue", "luma", "all"]


def test_names_of_any_bytes(tmp_path, rng):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xe4.png")
    Image.fromarray(rng.integers(0, 256, (5, 6), np.uint8)).save(path)
    assert gh.measure(path).path == path
    assert [r.path for r in gh.measure_many(tmp_path)] == [path]
    assert gh.table(tmp_path)["path"][0].as_py().endswith("\ufffd\ufffd.png")


def test_an_iterator_may_be_left(photos):
    many = gh.measure_many(photos)
    next(many)
    del many
    for _, r in zip(range(2), gh.measure_many(photos)):
        assert r


def test_ctrl_c_ends_the_waiting(photos, tmp_path):
    """A pipe that nobody writes to is waited for; the signal ends that."""
    os.mkfifo(tmp_path / "pipe.png")
    pipe_path = str(tmp_path / "pipe.png")
    code = f"import gpuhist as gh; many = gh.measure_many({pipe_path!r}); print('begun', flush=True); next(many)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    with open(pipe_path, "wb") as pipe:  # open once the other end is
        pipe.write(b"\x89PNG")
        pipe.flush()
        time.sleep(0.3)  # so that it is waiting, most likely
        child.send_signal(signal.SIGINT)
        end = threading.Timer(20, child.kill)
        end.start()
        assert "KeyboardInterrupt\n" in child.stderr
        end.cancel()
    child.communicate(timeout=20)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(photos, method):
    """Results come from other processes as they are; a fork of one whose threads have worked has threads again."""
    paths = [photos / "b" / f"{i:02}.png" for i in range(6)]
    large = np.arange(3_000_000, dtype=np.uint32).view(np.uint8).reshape(2000, 2000, 3)
    here = [gh.measure(path) for path in paths]
    big = gh.measure(large)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(gh.measure, [str(path) for path in paths]) == here
        if method == "fork" and len(os.sched_getaffinity(0)) > 1:
            assert pool.apply_async(threads_after, (large,)).get(30) > 1
        assert pool.apply_async(gh.measure, (large,)).get(30) == big
        assert pool.apply_async(list_many, (str(photos / "b"),)).get(30) == [r.path for r in gh.measure_many(photos / "b")]
    assert gh.measure(large) == big


def threads_after(image):
    gh.measure(image)
    return len(os.listdir("/proc/self/task"))


def list_many(path):
    return [r.path for r in gh.measure_many(path)]


def test_a_fork_while_files_are_measured(photos):
    many = gh.measure_many(photos)
    first = next(many)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(gh.measure, (first.path,)).get(30) == first
    assert len(list(many)) == 36


def test_the_command(command, data, tmp_path):
    assert command("--version").startswith(f"gpuhist {gh.__version__}")
    text = command("--format", "csv", "--write", "none", data / "chelsea.png")
    rows = list(csv.DictReader(io.StringIO(text)))
    found = gh.measure(data / "chelsea.png")
    assert {row["channel"]: float(row["mean"]) for row in rows} == {name: s.mean for name, s in found.items()}
    missing = subprocess.run([sys.executable, "-m", "gpuhist", "no.png"], capture_output=True, cwd=tmp_path)
    assert missing.returncode == 1 and b"no.png" in missing.stderr
