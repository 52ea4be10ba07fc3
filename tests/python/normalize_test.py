"""Normalized copies: numpy's formulas, in the array's own library and layout."""

import numpy as np
import pytest

import gpuhist as gh


def minmax(image: np.ndarray, low: int, high: int, top: int) -> np.ndarray:
    v = np.clip(image.astype(np.int64), low, high) - low
    return ((2 * v * top + high - low) // (2 * (high - low))).astype(image.dtype)


@pytest.mark.parametrize("name", ["uint8", "uint16"])
def test_minmax_is_exact(rng, name):
    top = np.iinfo(name).max
    image = rng.integers(top // 5, top // 2, (40, 50, 3)).astype(name)
    made = gh.normalize(image)
    assert made.dtype == image.dtype and made.shape == image.shape
    assert np.array_equal(made, minmax(image, int(image.min()), int(image.max()), top))
    each = gh.normalize(image, "minmax", channels="separate")
    for c in range(3):
        plane = image[..., c]
        assert np.array_equal(each[..., c], minmax(plane, int(plane.min()), int(plane.max()), top))


def test_percentile_and_zscore(rng):
    image = rng.normal(120, 20, (40, 50)).clip(0, 255).astype(np.uint8)
    low, high = (np.sort(image.ravel())[int(np.ceil(image.size * q)) - 1] for q in (0.05, 0.95))
    assert np.array_equal(gh.normalize(image, "percentile", percentiles=(5, 95)), minmax(image, int(low), int(high), 255))
    scores = gh.normalize(image, "zscore")
    assert scores.dtype == np.float32
    assert scores == pytest.approx((image - image.mean()) / image.std(), rel=1e-6, abs=1e-6)


def test_equalize_follows_its_formula(rng):
    image = rng.normal(120, 20, (40, 50)).clip(0, 255).astype(np.uint8)
    counts = np.bincount(image.ravel(), minlength=256)
    first = np.flatnonzero(counts)[0]
    scale = np.float32(255) / np.float32(image.size - counts[first])
    sums = np.cumsum(counts) - counts[: first + 1].sum()
    table = np.rint(np.where(np.arange(256) > first, sums, 0).astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    assert np.array_equal(gh.normalize(image, "equalize"), table[image])


def test_layouts_orders_and_out(rng):
    image = rng.integers(50, 200, (20, 30, 3), np.uint8)
    made = gh.normalize(image, "equalize")
    planes = gh.normalize(np.moveaxis(image, -1, 0), "equalize", layout="CHW")
    assert planes.shape == (3, 20, 30) and np.array_equal(np.moveaxis(planes, 0, -1), made)
    assert np.array_equal(gh.normalize(image[..., ::-1], "equalize", order="BGR"), made[..., ::-1])
    out = np.empty_like(image)
    assert gh.normalize(image, "equalize", out=out) is out and np.array_equal(out, made)
    same = image.copy()
    gh.normalize(same, "equalize", out=same)
    assert np.array_equal(same, made)
    alpha = np.concatenate([image, rng.integers(0, 256, (20, 30, 1), np.uint8)], axis=2)
    assert np.array_equal(gh.normalize(alpha)[..., 3], alpha[..., 3])
    assert gh.normalize(image, depth="u16").max() == 65535
    for bad, words in (
        (np.empty((20, 30, 3), np.float32), "f32"),
        (np.empty((20, 31, 3), np.uint8), "31 x 20"),
        (np.broadcast_to(np.uint8(0), (20, 30, 3)), "copy|written"),
    ):
        with pytest.raises(ValueError, match=words):
            gh.normalize(image, out=bad)
    with pytest.raises(ValueError, match="mode"):
        gh.normalize(image, "best")
    with pytest.raises(FileNotFoundError, match="photo.jpg"):
        gh.normalize("photo.jpg")
    with pytest.raises(ValueError, match="nor an array"):
        gh.normalize(7)
