"""Flags of the command, and the numbers that CleanVision 0.3.7 decides by: with NumPy and Pillow, or with CleanVision
itself where that is installed."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

SHARED = {"dark", "light", "low_information", "odd_aspect_ratio", "odd_size", "grayscale"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """PNG of 8-bit gray and RGB of many brightnesses, contrasts and sizes, by their paths."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(11)
    for i in range(60):
        height, width = ((60, 80), (60, 80), (60, 80), (20, 90), (300, 400))[i % 5 if i % 7 == 0 else 0]
        low = 245 if i % 10 == 9 else rng.integers(0, 250)
        high = min(256, low + rng.integers(2, 200))
        pixels = rng.integers(low, high, (height, width, 3) if i % 3 else (height, width), np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:02}.png")
    return folder


@pytest.fixture(scope="module")
def flags(pictures):
    out = pictures.parent / "out"
    subprocess.run([sys.executable, "-m", "gpuhist", str(pictures), "-q", "--quality", "-o", str(out)], check=True)
    with open(out / "flags.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["flag"] in SHARED]
    return {(row["path"], row["flag"]): row for row in rows}


def by_definition(folder):
    """Values of the images that bear a flag, by path and flag."""
    values = {}
    for path in sorted(folder.iterdir()):
        image = Image.open(path)
        pixels = np.asarray(image).astype(np.int64)
        if pixels.ndim == 3:
            red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
            brightness = np.sqrt(0.241 * red * red + 0.691 * green * green + 0.068 * blue * blue) / 255
        else:
            brightness = pixels / 255
        values[str(path)] = {
            "dark": np.percentile(brightness, 99),
            "light": np.percentile(brightness, 5),
            "low_information": image.entropy(),
            "odd_aspect_ratio": min(image.width / image.height, image.height / image.width),
            "odd_size": np.sqrt(image.width) * np.sqrt(image.height),
            "grayscale": image.mode == "L",
        }
    q1, q3 = np.percentile([one["odd_size"] for one in values.values()], [25, 75])
    borne = {
        "dark": lambda value: value < 0.32,
        "light": lambda value: 1 - value < 0.05,
        "low_information": lambda value: 0.1 * value < 0.3,
        "odd_aspect_ratio": lambda value: value < 0.35,
        "odd_size": lambda value: not q1 - 3 * (q3 - q1) <= value <= q3 + 3 * (q3 - q1),
        "grayscale": bool,
    }
    return {
        (path, flag): float(value)
        for path, one in values.items()
        for flag, value in one.items()
        if borne[flag](value)
    }


def test_flags_follow_the_definitions(pictures, flags):
    expected = by_definition(pictures)
    assert {flag for _, flag in expected} == SHARED
    assert set(flags) == set(expected)
    for key, value in expected.items():
        assert float(flags[key]["value"]) == pytest.approx(value, rel=1e-12), key


def test_flags_are_those_of_cleanvision(pictures, flags):
    pandas = pytest.importorskip("pandas")
    managers = pytest.importorskip("cleanvision.issue_managers.image_property_issue_manager")
    manager = managers.ImagePropertyIssueManager()
    found = []
    for path in sorted(pictures.iterdir()):
        row = {"path": str(path)}
        for flag in SHARED:
            row.update(manager.image_properties[flag].calculate(Image.open(path)))
        found.append(row)
    table = pandas.DataFrame(found).set_index("path")
    theirs = set()
    for flag in SHARED:
        kind, parameters = manager.image_properties[flag], manager.get_default_params()[flag]
        scores = kind.get_scores(raw_scores=table[kind.score_columns], issue_type=flag, **parameters)
        marks = kind.mark_issue(scores, flag, parameters.get("threshold"))
        theirs |= {(path, flag) for path in marks.index[marks.iloc[:, 0]]}
    assert set(flags) == theirs
