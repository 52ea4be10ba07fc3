"""Joint histograms, held to NumPy, SciPy and scikit-image."""

import numpy as np
import pytest
import tifffile
from PIL import Image

import gpuhist as gh


def information(counts):
    stats = pytest.importorskip("scipy.stats")
    rows, columns = (stats.entropy(counts.sum(axis=axis), base=2) for axis in (1, 0))
    return rows + columns - stats.entropy(counts.ravel(), base=2)


def as_numpy(found, x, y, range_):
    x, y = (np.asarray(of, np.float64) for of in (x, y))  # NumPy rounds edges to the type of the samples
    counts, *edges = np.histogram2d(x, y, found.counts.shape[0], range_)
    assert found.counts.dtype == np.uint64 and np.array_equal(found.counts, counts)
    for own, other in zip(found.edges, edges):
        assert own == pytest.approx(other, rel=1e-15)
    assert found.pixels == len(x) and found.outside == len(x) - counts.sum()
    assert found.covariance == pytest.approx(np.cov(x, y, ddof=0)[0, 1], rel=1e-9)
    assert found.correlation == pytest.approx(pytest.importorskip("scipy.stats").pearsonr(x, y).statistic, rel=1e-9)
    assert found.mutual_information == pytest.approx(information(counts), abs=1e-9)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32", "float64"])
def test_as_numpy(rng, dtype):
    image = rng.normal(100, 30, (61, 47, 3))
    image[..., 1] += image[..., 0] / 2
    image = image.clip(0, 255).astype(dtype)
    x, y = image[..., 0].ravel(), image[..., 1].ravel()
    kind = np.dtype(dtype)
    whole = (0, 256) if dtype == "uint8" else (-32768, 32768) if dtype == "int16" else (0, 65536)
    ranges = [(float(of.min()), float(of.max())) for of in (x, y)] if kind.kind == "f" else [whole] * 2
    as_numpy(gh.joint(image, "red", "green", bins=32), x, y, ranges)
    assert np.array_equal(gh.joint(image, 0, 1, bins=32).counts, gh.joint(image, "red", "green", bins=32).counts)
    found = gh.joint(image[..., ::-1].copy(), "red", "green", bins=9, order="BGR", range=(50, 200))
    inside = (x < 200) & (y < 200) & (x >= 50) & (y >= 50)
    counts, *_ = np.histogram2d(x[inside], y[inside], 9, [(50, 200)] * 2)
    assert np.array_equal(found.counts, counts) and found.outside == np.count_nonzero(~inside)


def test_of_two_images_as_scikit_image(rng):
    metrics = pytest.importorskip("skimage.metrics")
    a = rng.integers(0, 256, (50, 60), dtype=np.uint8)
    b = (a // 3 + rng.integers(0, 60, a.shape)).astype(np.uint8)
    found = gh.joint(a, "gray", "gray", b)
    as_numpy(found, a.ravel(), b.ravel(), [(0, 256)] * 2)
    stats = pytest.importorskip("scipy.stats")
    both = stats.entropy(found.counts.ravel().astype(float))
    normalized = 1 + found.mutual_information * np.log(2) / both  # (H(a) + H(b)) / H(a, b)
    assert normalized == pytest.approx(metrics.normalized_mutual_information(a, b, bins=256), abs=1e-9)
    deep = b.astype(np.uint16) * 257
    assert gh.joint(a, 0, 0, deep).correlation == pytest.approx(found.correlation, rel=1e-14)


def test_valid_pixels(rng, tmp_path):
    image = rng.integers(0, 9, (30, 40, 3), dtype=np.uint8)
    mask = rng.random((30, 40)) < 0.6
    counted = mask & (image[..., 0] != 4) & (image[..., 2] >= 2) & (image[..., 2] <= 7)
    found = gh.joint(image, "red", "blue", mask=mask, nodata={"red": 4}, valid={"blue": (2, 7)})
    as_numpy(found, image[..., 0][counted], image[..., 2][counted], [(0, 256)] * 2)
    masked = np.ma.array(image, mask=np.repeat(~mask[..., None], 3, axis=2))
    assert np.array_equal(gh.joint(masked, 0, 1).counts, gh.joint(image, 0, 1, mask=mask).counts)
    path = tmp_path / "image.png"
    Image.fromarray(image).save(path)
    Image.fromarray(mask).save(tmp_path / "mask.png")
    assert np.array_equal(gh.joint(path, 0, 1, mask=tmp_path / "mask.png").counts, gh.joint(image, 0, 1, mask=mask).counts)
    assert np.array_equal(gh.joint(path.read_bytes(), "green", "luma", path).counts.sum(axis=1), gh.histogram(image).counts["green"])
    bands = tmp_path / "bands.tif"
    samples = rng.normal(size=(9, 8, 5)).astype(np.float32)
    samples[2, 3, 4] = np.nan
    tifffile.imwrite(bands, samples, photometric="minisblack", planarconfig="contig", metadata=None)
    valid = ~np.isnan(samples[..., 4])
    x, y = samples[..., 4][valid], samples[..., 0][valid]
    as_numpy(gh.joint(bands, "c4", "c0", bins=5, range=(-9, 9)), x, y, [(-9, 9)] * 2)


def test_refusals():
    image = np.zeros((8, 9, 3), np.uint8)
    for words, says in (
        (("red", "gray"), "gray"),
        (("red", 3), "3"),
        (("red", "green", np.zeros((5, 4), np.uint8)), "gray"),
        (("red", 0, np.zeros((5, 4), np.uint8)), "same sides"),
    ):
        with pytest.raises(gh.InvalidArgument, match=says):
            gh.joint(image, *words)
    for options in ({"bins": 0}, {"bins": 5000}, {"bins": "full"}, {"alpha": "weight"}, {"range": (5, 5)}, {"range": (0.5, 9)}, {"page": 2}, {"layout": "HW"}):
        with pytest.raises(gh.InvalidArgument):
            gh.joint(image, 0, 1, **options)
    constant = gh.joint(image, 0, 1)
    assert constant.correlation is None and constant.covariance == 0 and constant.mutual_information == 0
