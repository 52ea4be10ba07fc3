"""Processes that end, or fork, while gpuhist works in them."""

import os
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
from PIL import Image

START = """
import atexit, faulthandler, os, sys, threading, time
import numpy as np
import gpuhist as gh
faulthandler.enable()
folder = sys.argv[1]
image = np.random.default_rng(1).integers(0, 256, (1200, 1500, 3), np.uint8)

def forever(work):
    while True:
        work()

def daemons(work):
    for _ in range(3):
        threading.Thread(target=forever, args=(work,), daemon=True).start()
    time.sleep(0.5)
"""
PROGRAMS = {
    "a set that nobody reads": "kept = gh.measure_many(folder); next(kept)",
    "a set that outlives the interpreter": "sys.kept = gh.measure_many(folder); next(sys.kept)",
    "a stream that outlives the interpreter": "sys.kept = gh.batches(folder).__arrow_c_stream__()",
    "a reader that outlives the interpreter": """
import pyarrow as pa
sys.kept = pa.RecordBatchReader.from_stream(gh.batches(folder, batch_size=1))
sys.kept.read_next_batch()""",
    "a set that is read at the end": "r = gh.measure_many(folder); atexit.register(lambda: len(list(r)) == 40 or os._exit(3))",
    "daemons that measure": "daemons(lambda: gh.measure(image))",
    "daemons that read sets": "daemons(lambda: list(gh.measure_many(folder)))",
    "daemons that count": "daemons(lambda: len(gh.measure_many(folder)))",
    "daemons that read tables": "import pyarrow; daemons(lambda: gh.table(folder))",
    "daemons that read streams": "import polars; daemons(lambda: polars.DataFrame(gh.batches(folder)))",
    "daemons while it forks": """
daemons(lambda: gh.measure(image))
for _ in range(3):
    child = os.fork()
    if child == 0:
        sys.exit(0 if gh.measure(image).red.pixels and len(list(gh.measure_many(folder))) == 40 else 3)
    assert os.waitpid(child, 0)[1] == 0""",
    "a fork while a set is read": """
r = gh.measure_many(folder)
next(r)
child = os.fork()
if child == 0:
    sys.exit(0 if len(list(gh.measure_many(folder))) == 40 else 3)
assert os.waitpid(child, 0)[1] == 0 and len(list(r)) == 39""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("end")
    rng = np.random.default_rng(5)
    for i in range(40):
        Image.fromarray(rng.integers(0, 256, (200 + i, 300, 3), np.uint8)).save(made / f"{i}.png")
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_processes_end_by_themselves(name, folder):
    if name == "daemons while it forks" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("without the global lock, CPython's child waits for locks of dictionaries that other threads had")
    for module in ("pyarrow", "polars"):
        if f"import {module}" in PROGRAMS[name]:
            pytest.importorskip(module)
    # CPython 3.12 and later warn of every fork of a process with threads.
    python = [sys.executable, "-W", "ignore:This process:DeprecationWarning"]
    done = subprocess.run(
        [*python, "-c", START + PROGRAMS[name], folder], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
