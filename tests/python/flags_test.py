"""Flags of the command and of the package, and the numbers that CleanVision 0.3.7 decides by: with NumPy and Pillow, or
with CleanVision itself where that is installed."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import gpuhist as gh

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


@pytest.fixture(scope="module")
def mixed(pictures, tmp_path_factory):
    """Pictures of every kind: also copies, near copies, floats with NaN, 16 bits, bands, and a file that is none."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(12)
    for path in sorted(pictures.iterdir())[::4]:
        (folder / path.name).write_bytes(path.read_bytes())
        (folder / f"copy-{path.name}").write_bytes(path.read_bytes())
    y, x = np.mgrid[:90, :120]
    slope = np.stack([x + y, 200 - x, 2 * y], -1).astype(np.uint8)
    Image.fromarray(slope).save(folder / "slope.png")
    slope[40:44, 50:60] ^= 8
    Image.fromarray(slope).save(folder / "slope-near.png")
    Image.fromarray(np.full((30, 30, 3), 77, np.uint8)).save(folder / "plain.png")
    Image.fromarray(np.full((31, 30, 3), 77, np.uint8)).save(folder / "plain-other.png")
    gh.write(folder / "deep.png", rng.integers(0, 65536, (40, 50, 3), np.uint16))
    floats = rng.random((40, 50)).astype(np.float32)
    floats[3, 4:7] = np.nan, np.inf, -np.inf
    gh.write(folder / "floats.tiff", floats)
    gh.write(folder / "bands.tiff", rng.integers(0, 256, (40, 50, 6), np.uint8), layout="HWC")
    gh.write(folder / "same-bands.tiff", np.full((40, 50, 6), 9, np.uint8), layout="HWC")
    gh.write(folder / "tiny.tiff", np.array([[5]], np.uint8))
    (folder / "none.png").write_bytes(b"none")
    return folder


POLICIES = [
    {},
    {"flags": {"dark": 0.9, "blurry": 0.01, "noisy": False, "near_duplicate": 12, "odd_size": 0.5}},
    {"flags": {"duplicate": False, "near_duplicate": 16, "low_information": 20, "clipped": 0, "low_contrast": 0.3}},
    {"flags": {"near_duplicate": False, "grayscale": False, "odd_size": False, "nan": 2}, "gate": {"errors": 1}},
]


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_flags_of_the_package_are_those_of_the_command(mixed, tmp_path, policy):
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(policy))
    words = [str(mixed), "-q", "--quality", "--policy", str(file), "-o", str(tmp_path / "out")]
    assert subprocess.run([sys.executable, "-m", "gpuhist", *words]).returncode == 1, "a file is no image"
    with open(tmp_path / "out/flags.csv", newline="") as rows:
        expected = [(row["path"], row["flag"], float(row["value"]), row["threshold"]) for row in csv.DictReader(rows)]
    assert len(expected) > 20
    images = list(gh.measure_many(mixed, measures="quality"))
    for given in (policy, file, str(file)):
        found = gh.flags(iter(images), policy=given)
        rows = [
            (one.path, one.flag, one.value, "" if one.threshold is None else one.threshold) for one in found
        ]
        assert rows == [(path, flag, value, text and float(text)) for path, flag, value, text in expected]
    for one in found:
        assert images[one.image].path == one.path
        assert (one.first is not None) == (one.flag in ("duplicate", "near_duplicate"))
        if one.flag == "duplicate":
            first = images[one.first]
            assert one.first < one.image and first.measures["pixels_hash"] == images[one.image].measures["pixels_hash"]
    if policy == {}:
        assert gh.flags(images) == found


def test_flags_of_arrays(rng):
    image, dark = rng.integers(0, 256, (30, 40, 3), np.uint8), rng.integers(0, 32, (30, 40, 3), np.uint8)
    results = [gh.measure(one, measures="quality") for one in (image, dark, image)]
    found = gh.flags(results, policy={"flags": {"noisy": False}})
    assert [(one.path, one.image, one.flag, one.first) for one in found] == [
        ("", 1, "dark", None),
        ("", 2, "duplicate", 0),
    ]
    assert found[0].value == results[1].measures["brightness_p99"] and found[0].threshold == 0.32
    assert gh.flags([]) == []
    some = gh.measure(image, measures=["noise", "hashes"])
    with pytest.raises(gh.InvalidArgument, match="image 1: brightness_p99 was not measured, which the flag dark needs"):
        gh.flags([results[0], some])
    off = {name: False for name in ("dark", "light", "low_contrast", "blurry", "grayscale")}
    assert [one.flag for one in gh.flags([some], policy={"flags": off})] == ["noisy"]


def test_what_is_no_set_or_no_policy_is_refused(rng, tmp_path):
    result = gh.measure(rng.integers(0, 256, (30, 40), np.uint8), measures="quality")
    with pytest.raises(gh.InvalidArgument, match="images: a single Result"):
        gh.flags(result)
    with pytest.raises(gh.InvalidArgument, match="images: a str, and"):
        gh.flags(["photo.jpg"])
    with pytest.raises(gh.InvalidArgument, match="policy/flags: unknown key 'drak': did you mean dark?"):
        gh.flags([result], policy={"flags": {"drak": 1}})
    with pytest.raises(gh.InvalidArgument, match="policy: 3 is neither the path"):
        gh.flags([result], policy=3)
    with pytest.raises(gh.InvalidArgument, match="policy: Object of type set"):
        gh.flags([result], policy={"flags": {1, 2}})
    with pytest.raises(gh.InvalidArgument, match="policy: not JSON"):
        gh.flags([result], policy={"flags": {"dark": float("nan")}})
    with pytest.raises(gh.IoError, match="lost.json"):
        gh.flags([result], policy=tmp_path / "lost.json")
    (tmp_path / "p.json").write_text("[]")
    with pytest.raises(gh.IoError, match="p.json: expected an object"):
        gh.flags([result], policy=tmp_path / "p.json")
