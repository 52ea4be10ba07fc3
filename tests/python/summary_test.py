"""Summaries: those of the command, in any order, through pickles."""

import csv
import itertools
import json
import pickle

import numpy as np
import pytest
from PIL import Image

import gpuhist as gh


@pytest.fixture
def images(rng):
    return [rng.integers(0, 256, (20 + i, 30, 3), np.uint8) for i in range(4)]


def test_any_order_and_grouping(images):
    results = [gh.measure(image) for image in images]
    whole = gh.Summary(results)
    for order in itertools.permutations(results):
        assert gh.Summary(order) == whole
    halves = gh.Summary([gh.Summary(results[:1]), gh.Summary(results[1:])])
    assert halves == whole and gh.Summary(results[:2]) + gh.Summary(results[2:]) == whole
    assert gh.Summary(results[:3]) != whole
    with pytest.raises(TypeError):
        whole += 3
    for given in (results[0], whole, [3]):
        with pytest.raises(gh.InvalidArgument, match="^images: "):
            gh.Summary(given)
    assert gh.Summary() == gh.Summary([]) == gh.Summary(iter(()))


def test_numbers_are_those_of_all_pixels(images):
    together = np.concatenate([image.reshape(-1, 3) for image in images])
    whole = gh.Summary(map(gh.measure, images))
    found = whole.statistics()
    expected = gh.measure(together[None])
    for channel in ("red", "green", "blue", "luma", "all"):
        assert {**found[channel].to_dict(), "images": 1} == expected[channel].to_dict()
        assert found[channel].images == 4
    assert whole.statistics(percentile_columns=[12.5])["red"].percentile(12.5) == expected.percentile("red", 12.5)
    assert np.array_equal(whole.histogram(16).counts["blue"], expected.histogram(16).counts["blue"])


def test_mean_std(images, rng):
    whole = gh.Summary(map(gh.measure, images))
    together = np.concatenate([image.reshape(-1, 3) for image in images]).astype(np.float64) / 255
    mean, std = whole.mean_std()
    assert mean.shape == std.shape == (3,)
    assert mean == pytest.approx(together.mean(0), rel=1e-13) and std == pytest.approx(together.std(0), rel=1e-13)
    gray = rng.integers(0, 256, (40, 50), np.uint8)
    mixed = whole + gh.measure(gray)
    as_rgb = np.concatenate([together, np.repeat(gray.reshape(-1, 1), 3, 1) / 255])
    assert mixed.mean_std()[0] == pytest.approx(as_rgb.mean(0), rel=1e-13)
    assert mixed.mean_std()[1] == pytest.approx(as_rgb.std(0), rel=1e-13)
    alone = gh.Summary([gh.measure(gray)]).mean_std()
    assert alone[0] == pytest.approx([gray.mean() / 255] * 3) and alone[1] == pytest.approx([gray.std() / 255] * 3)
    with pytest.raises(ValueError, match="white"):
        (whole + gh.measure(images[0], white=100)).mean_std()
    with pytest.raises(ValueError, match="no image"):
        gh.Summary().mean_std()
    deep = whole + gh.measure(images[0].astype(np.uint16))
    with pytest.raises(ValueError, match="u8, u16"):
        deep.mean_std()
    assert np.array_equal(deep.mean_std("u8"), whole.mean_std())
    bands = gh.Summary([gh.measure(rng.integers(0, 256, (4, 5, 6), np.uint8), layout="HWC")])
    with pytest.raises(ValueError, match="bands"):
        bands.mean_std()


@pytest.mark.parametrize("name", ["uint8", "uint16", "float32", "float64"])
def test_pickles(rng, name):
    parts = [rng.normal(90, 20, (15, 16, 3)).astype(name) for _ in range(3)]
    results = [gh.measure(part, detail="values") for part in parts]
    whole = pickle.loads(pickle.dumps(gh.Summary(results)))
    assert whole == gh.Summary(results)
    assert whole.statistics()["red"].to_dict() == gh.Summary(results).statistics()["red"].to_dict()
    again = pickle.loads(pickle.dumps(gh.Summary(results[:1])))
    again += pickle.loads(pickle.dumps(gh.Summary(results[1:])))
    assert again == whole


def test_percentiles_of_floats_need_values(rng):
    parts = [rng.normal(size=(10, 11)).astype(np.float32) for _ in range(2)]
    together = np.concatenate([part.ravel() for part in parts])
    with_values = gh.Summary(gh.measure(part, detail="values") for part in parts)
    assert with_values.statistics()["gray"].median == np.median(together.astype(float))
    without = gh.Summary(gh.measure(part) for part in parts)
    assert without.statistics()["gray"].median is None
    assert without.statistics()["gray"].mean == pytest.approx(together.astype(float).mean(), rel=1e-12)
    with pytest.raises(ValueError, match="values"):
        without.histogram()


def test_the_commands_dataset(data, command, tmp_path, images):
    top = tmp_path / "set"
    top.mkdir()
    for i, image in enumerate(images):
        Image.fromarray(image).save(top / f"{i}.png")
    (top / "bad.png").write_bytes(b"bad")
    command("--quiet", top, "-o", tmp_path / "out", "--write", "stats", check=False)
    with open(tmp_path / "out" / "dataset.csv", newline="") as file:
        expected = list(csv.DictReader(file))
    whole = gh.Summary(gh.measure_many(top))
    assert whole.failures == {"unsupported": 1}
    frame = whole.to_pandas()
    assert list(frame.columns) == list(expected[0])
    for (_, row), fields in zip(frame.iterrows(), expected):
        for name, text in fields.items():
            value = row[name]
            assert text == "" if value is None or value != value else (value == text or float(text) == value), name
    training = json.loads((tmp_path / "out" / "dataset.json").read_text())[0]["normalize"]
    assert whole.mean_std()[0].tolist() == training["mean"] and whole.mean_std()[1].tolist() == training["std"]
