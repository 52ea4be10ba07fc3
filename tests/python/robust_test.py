"""Sums, modes, robust numbers and centroids against numpy, scipy, astropy and scikit-image."""

import math
import pickle

import astropy.stats
import numpy as np
import pytest
import scipy.stats
import skimage.measure
from conftest import of_type

import gpuhist as gh

TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64"]


def peak(rng, name, size=4001):
    """Samples of a narrow peak, with some far away."""
    samples = rng.normal(100, 4, size)
    samples[rng.random(size) < 0.05] = 20
    samples[0] = 120
    return samples.astype(name) if name.startswith("float") else np.rint(samples).astype(name)


@pytest.mark.parametrize("name", TYPES)
def test_sums_and_modes(rng, name):
    image = of_type(rng, name, (37, 41, 3))
    found = gh.measure(image, robust=True)
    for channel, samples in zip(("red", "green", "blue", "all"), (*np.moveaxis(image, 2, 0), image)):
        row, values = found[channel], samples.ravel()
        if np.dtype(name).kind == "f":
            assert isinstance(row.sum, float)
            assert row.sum == math.fsum(values.astype(float).tolist())
        else:
            assert isinstance(row.sum, int)
            assert row.sum == sum(map(int, values))
        assert row.mode == scipy.stats.mode(values.astype(float)).mode


@pytest.mark.parametrize("sigma", [3, 2, 1.5])
@pytest.mark.parametrize("name", TYPES)
def test_robust_numbers(rng, name, sigma):
    samples = peak(rng, name)
    row = gh.measure(samples.reshape(1, -1), robust=True, clip_sigma=sigma).gray
    values = samples.astype(float)
    assert row.mad == pytest.approx(astropy.stats.median_absolute_deviation(values), rel=1e-14)
    kept = astropy.stats.sigma_clip(values, sigma=sigma, maxiters=None, masked=False)
    assert row.clipped_share == (values.size - kept.size) / values.size
    assert 0 < row.clipped_share < 1
    assert row.clipped_mean == pytest.approx(kept.mean(), rel=1e-13)
    assert row.clipped_std == pytest.approx(kept.std(), rel=1e-12)
    assert gh.measure(samples.reshape(1, -1)).gray.mad is None
    assert pickle.loads(pickle.dumps(row)) == row


@pytest.mark.parametrize("name", ["uint16", "float32", "float64"])
def test_sets_have_the_numbers_of_all_pixels(rng, name):
    images = [peak(rng, name, 999).reshape(27, 37) for _ in range(3)]
    total = gh.Summary()
    for image in images:
        total += gh.measure(image, robust=True)
    found = total.statistics(robust=True)["gray"]
    whole = gh.measure(np.concatenate(images), robust=True).gray
    for number in ("mode", "mad", "clipped_mean", "clipped_std", "clipped_share"):
        assert getattr(found, number) == getattr(whole, number), number
    assert found.sum == whole.sum
    assert total.statistics()["gray"].mad is None
    assert "mad" in total.to_pandas(robust=True) and "mad" not in total.to_pandas()


@pytest.mark.parametrize("name", TYPES)
def test_centroids(rng, name):
    image = (rng.random((40, 50, 3)) * 90 + 5).astype(name)
    labels = (rng.random((40, 50)) * 5).astype(np.uint8)
    found = gh.regions(image, labels, robust=True)
    for region in skimage.measure.regionprops(labels, intensity_image=image.astype(float)):
        ours = found[region.label]
        assert ours.centroid == pytest.approx(region.centroid[::-1], rel=1e-14)
        weighted = np.asarray(region.centroid_weighted)
        for channel, color in enumerate(("red", "green", "blue")):
            assert ours[color].weighted_centroid_y == pytest.approx(weighted[0, channel], rel=1e-12)
            assert ours[color].weighted_centroid_x == pytest.approx(weighted[1, channel], rel=1e-12)
        assert ours.red.mad == pytest.approx(
            astropy.stats.median_absolute_deviation(image[labels == region.label][:, 0].astype(float)), rel=1e-13
        )
        assert pickle.loads(pickle.dumps(ours)) == ours
    frame = found.to_pandas()
    assert {"centroid_x", "weighted_centroid_y", "mad", "sum"} <= set(frame.columns)
    assert gh.measure(image).red.weighted_centroid_x is None


def test_files_and_tables_have_them(tmp_path, rng):
    image = peak(rng, "uint8", 3000).reshape(50, 60)
    from PIL import Image

    Image.fromarray(image).save(tmp_path / "a.png")
    table = gh.table(tmp_path, robust=True, clip_sigma=2)
    expected = gh.measure(image, robust=True, clip_sigma=2).gray
    assert table["mad"].to_pylist() == [expected.mad]
    assert table["clipped_share"].to_pylist() == [expected.clipped_share]
    assert table["sum"].to_pylist() == [int(image.sum())]
    assert "mad" not in gh.table(tmp_path).column_names
    with pytest.raises(gh.InvalidArgument, match="clip_sigma"):
        gh.measure(image, robust=True, clip_sigma=0)
