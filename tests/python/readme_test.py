"""The blocks of Python in the README, the guide and the page of the package are run as they stand."""

import contextlib
import io
import re

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image

import gpuhist as gh


def blocks(page: str, word: str) -> list[str]:
    return re.findall(rf"^```{word}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def test_readme(monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = blocks("README.md", "python")
    image = np.asarray(Image.open("data/chelsea.png"))
    labels = np.arange(image[..., 0].size, dtype=np.uint16).reshape(image.shape[:2]) // 1000
    names = {"image": image, "labels": labels}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    assert printed.getvalue().startswith(f"{image[..., 0].mean()} ")
    assert np.array_equal(names["copy"], gh.normalize(image, "equalize"))
    assert len(names["frame"]) > 5
    blue = image[..., 2][labels == 7]
    assert list(names["cells"]) == list(range(1, labels.max() + 1)) and names["cells"][7].blue.mean == blue[blue > 0].mean()


def cells_of(page: str) -> list[tuple[str, str]]:
    """Blocks of Python of a page, each with what it prints if the page says that."""
    text = (ROOT / page).read_text()
    found = re.findall(r"^```python\n(.*?)^```$(?:\n\n[^\n]*\n\n```text\n(.*?)^```$)?", text, re.DOTALL | re.MULTILINE)
    assert len(found) == text.count("\n```python") and sum(bool(printed) for _, printed in found) == text.count("\n```text")
    return found


GUIDE = cells_of("app/guide/python.md")


@pytest.mark.parametrize("code, expected", GUIDE, ids=range(len(GUIDE)))
def test_the_guide(code, expected, monkeypatch, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    if "import torch" in code:
        pytest.skip("torch is in another block")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == expected


def test_the_guide_of_torch(rng):
    torch = pytest.importorskip("torch")
    (code,) = (code for code, _ in GUIDE if "import torch" in code)
    images = rng.integers(0, 256, (40, 12, 10, 3), np.uint8)
    names = {"gh": gh, "dataset": torch.from_numpy(images)}
    exec(code, names)
    pixels = images.reshape(-1, 3) / 255
    assert np.allclose(names["mean"], pixels.mean(0), rtol=1e-12) and np.allclose(names["std"], pixels.std(0), rtol=1e-12)
    drift = (images[32:].reshape(-1, 3).mean(0) / 255 - pixels.mean(0)) / pixels.std(0)  # of 40 images in batches of 16
    assert np.allclose(names["drift"], drift, rtol=1e-9)


@pytest.mark.parametrize("code", blocks("app/python/README.md", "python"))
def test_the_page_of_the_package(code, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {"image": np.asarray(Image.open("data/chelsea.png")), "__name__": "page"}
    exec(compile(code, "README.md", "exec"), names)


def test_the_notebook(tmp_path):
    """The notebook of the guide runs from the top to the bottom."""
    nbclient, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbformat"))
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(ROOT / "app/guide/python.ipynb", nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": ROOT / "app/guide"}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not any("stderr" == output.get("name") for output in outputs), outputs
    shown = [output["data"] for output in outputs if "data" in output]
    assert sum("image/png" in one for one in shown) == 2 and sum("<svg" in one.get("text/html", "") for one in shown) == 1
    (shifts,) = (output["text"] for output in outputs if output.get("text", "").startswith("["))
    found = [float(number) for number in re.findall(r"-?\d+\.\d+", shifts)]
    assert len(found) == 5 and found == sorted(found, reverse=True) and found[0] < 0
