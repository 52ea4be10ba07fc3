"""threads= and GPUHIST_THREADS, counted by the tasks that Linux has for the process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gpuhist as gh

CALLS = {
    "measure": "gh.measure(image)",
    "histogram": "gh.histogram(image)",
    "normalize": "gh.normalize(image)",
    "regions": "gh.regions(image, labels)",
    "measure_many": "list(gh.measure_many('data'))",
}
SCRIPT = """
import os
import numpy as np
import gpuhist as gh
image = np.random.default_rng(1).integers(0, 256, (3000, 2000, 3), np.uint8)
labels = np.arange(image[..., 0].size, dtype=np.uint32).reshape(image.shape[:2]) // 100000 + 1
before = len(os.listdir("/proc/self/task"))
{call}
print(len(os.listdir("/proc/self/task")) - before)
"""


def started(call: str, data, **environment: str) -> int:
    """Number of threads that a call starts and that its engine keeps."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(call=call)], capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}, cwd=data.parent,
    )
    return int(done.stdout)


several = pytest.mark.skipif(gh.engines()["cpu"][1] == "1 thread", reason="one processor: nothing starts threads")


@several
@pytest.mark.parametrize("name", ["measure", "normalize", "regions"])
def test_threads(name, data):
    call = CALLS[name]
    assert started(call, data) >= 1
    assert started(call[:-1] + ", threads=1)", data) == 0
    assert started(call, data, GPUHIST_THREADS="1") == 0
    assert started(call[:-1] + ", threads=2)", data, GPUHIST_THREADS="1") >= 1


@pytest.mark.parametrize("name", CALLS)
def test_more_threads_than_processors_print_nothing(name, data):
    call = CALLS[name].replace("))", ", threads=9))") if name == "measure_many" else CALLS[name][:-1] + ", threads=9)"
    one = {min(os.sched_getaffinity(0))}
    for setting in (None, lambda: os.sched_setaffinity(0, one)):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(call=call)], capture_output=True, text=True, check=True, cwd=data.parent,
            preexec_fn=setting,
        )
        assert done.stderr == ""


@pytest.mark.parametrize("name", CALLS)
def test_refused_numbers(name, monkeypatch, data, rng):
    image = rng.integers(0, 256, (20, 30, 3), np.uint8)
    names = {"gh": gh, "image": image, "labels": image[..., 0]}
    call = CALLS[name].replace("))", ", threads={}))") if name == "measure_many" else CALLS[name][:-1] + ", threads={})"
    for threads in (-1, 4097, 2.5):
        with pytest.raises(gh.InvalidArgument, match="^threads: .* is not a number from 1 to 4096"):
            eval(call.format(threads), dict(names))
    monkeypatch.setenv("GPUHIST_THREADS", "many")
    with pytest.raises(gh.InvalidArgument, match="^GPUHIST_THREADS: 'many' is not a number"):
        eval(CALLS[name], dict(names))
    monkeypatch.setenv("GPUHIST_THREADS", "")
    monkeypatch.chdir(data.parent)
    eval(CALLS[name], dict(names))


def test_numbers_do_not_depend_on_threads(rng):
    image = rng.normal(0, 1, (900, 700)).astype(np.float32)
    labels = rng.integers(0, 9, image.shape, np.uint8)
    one, two = (gh.measure(image, threads=n) for n in (1, 2))
    assert one == two and one.gray.max == image.max()
    assert gh.regions(image, labels, threads=1).to_dict() == gh.regions(image, labels, threads=2).to_dict()
    assert np.array_equal(gh.normalize(image, threads=1), gh.normalize(image, threads=2))
