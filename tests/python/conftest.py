import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuhist as gh

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def checkers(request, tmp_path_factory):
    """The checks of types, which are long: they run beside the tests before them."""
    modules = [item.module for item in request.session.items if item.module.__name__ == "types_test"]
    running = modules[0].start_checkers(tmp_path_factory.mktemp("types")) if modules else {}
    yield running
    for one in running.values():
        one.kill()
        one.wait()


@pytest.fixture(scope="session")
def data() -> Path:
    return ROOT / "data"


@pytest.fixture(scope="module")
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture
def command():
    """The command, as the module runs it: its standard output."""

    def run(*words: object, check: bool = True) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gpuhist", *map(str, words)], capture_output=True, text=True, errors="surrogateescape",
            check=False,
        )
        assert done.returncode == 0 or (not check and done.returncode == 1), done.stderr
        return done.stdout

    return run


def of_type(rng, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Samples of a type, all over it; of floats a normal distribution."""
    kind = np.dtype(name)
    if kind.kind == "f":
        return rng.normal(100, 30, shape).astype(kind)
    bounds = np.iinfo(kind)
    return rng.integers(bounds.min, bounds.max, shape, kind, endpoint=True)


def luma(image: np.ndarray) -> np.ndarray:
    """Luma of R, G, B in whole numbers, as the definitions have it."""
    r, g, b = (image[..., c].astype(np.int64) for c in range(3))
    return (9798 * r + 19235 * g + 3735 * b + 16384) >> 15


def gpu_module(name: str):
    """A library for arrays on a GPU; where it or the GPU is not there, its tests are skipped, or fail if a GPU is
    required."""
    available = gh.engines()["cuda"][0]
    required = bool(os.environ.get("GPUHIST_REQUIRE_CUDA"))
    if not available and not required:
        pytest.skip(f"no GPU: {gh.engines()['cuda'][1]}", allow_module_level=True)
    assert available, gh.engines()["cuda"][1]
    if required:
        __import__(name)
    return pytest.importorskip(name)
