"""The blocks of Python in the README and in the page of the package are run as they stand."""

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
    assert names["mean"].shape == (3,) and len(names["frame"]) > 5
    blue = image[..., 2][labels == 7]
    assert list(names["cells"]) == list(range(1, labels.max() + 1)) and names["cells"][7].blue.mean == blue[blue > 0].mean()


@pytest.mark.parametrize("code", blocks("app/python/README.md", "python"))
def test_the_page_of_the_package(code, monkeypatch):
    if "torch" in code:
        pytest.importorskip("torch")
    monkeypatch.chdir(ROOT)
    names = {"image": np.asarray(Image.open("data/chelsea.png")), "__name__": "page"}
    exec(compile(code, "README.md", "exec"), names)
