"""Arrays of many shapes: batches, chunks, names of dimensions, edges of bins, and copies into any layout."""

import warnings

import numpy as np
import pytest
from conftest import of_type

import gpuhist as gh
from gpuhist import _arrays


def same(found: gh.Result, expected: gh.Result) -> bool:
    return found.to_dict() == expected.to_dict() and (found.width, found.height) == (expected.width, expected.height)


# Batches.


@pytest.mark.parametrize("name", ["uint8", "int16", "float16", "float32", "float64", "uint32"])
def test_batches_are_images_one_by_one(rng, name):
    images = of_type(rng, name, (13, 20, 30, 3))
    expected = [gh.measure(image) for image in images]
    for threads in (0, 1, 2):
        assert gh.measure_batch(images, threads=threads) == expected
    assert gh.measure_batch(np.moveaxis(images, -1, 1), layout="NCHW") == expected
    assert gh.measure_batch(images[..., ::-1], order="BGR") == expected
    assert gh.measure_batch(images[::2]) == expected[::2] and gh.measure_batch(images[::-1]) == expected[::-1]
    assert gh.measure_batch(images[:, 3:, 5:]) == [gh.measure(image[3:, 5:]) for image in images]
    gray = images[..., 1]
    assert gh.measure_batch(gray) == gh.measure_batch(gray, layout="NHW") == [gh.measure(image) for image in gray]
    assert gh.measure_batch(list(gray)) == gh.measure_batch(gray)


def test_large_images_of_a_batch(rng):
    images = rng.integers(0, 65536, (2, 1100, 1000), np.uint16)
    assert gh.measure_batch(images) == [gh.measure(image) for image in images]


def test_masks_and_options_of_batches(rng):
    images = rng.integers(0, 256, (5, 20, 30, 3), np.uint8)
    masks = rng.integers(0, 2, (5, 20, 30)).astype(bool)
    options = {"nodata": [3], "valid": (1, 250), "percentile_columns": [12.5], "measures": "quality", "robust": True}
    expected = [gh.measure(image, mask=mask, **options) for image, mask in zip(images, masks)]
    found = gh.measure_batch(images, mask=masks, **options)
    assert found == expected and found[2].measures == expected[2].measures
    assert gh.measure_batch(images, mask=masks[:, :, ::-1][:, :, ::-1], **options) == expected
    masked = np.ma.array(images, mask=np.repeat(~masks[..., None], 3, -1))
    assert gh.measure_batch(masked) == [gh.measure(one) for one in masked]
    planes = np.ma.array(np.moveaxis(images, -1, 1), mask=np.repeat(~masks[:, None], 3, 1))
    assert gh.measure_batch(planes, layout="NCHW") == gh.measure_batch(masked)
    flat = np.ma.array(images[..., 0], mask=~masks)
    assert gh.measure_batch(flat, mask=masks[::-1]) == [
        gh.measure(image, mask=mask & other) for image, mask, other in zip(images[..., 0], masks, masks[::-1])
    ]


def test_batches_that_are_refused(rng):
    images = rng.integers(0, 256, (5, 3, 20, 30), np.uint8)
    assert gh.measure_batch(images[:0]) == [] and gh.measure_batch([]) == []
    for given, options, words in (
        (images, {}, '^shape .*"NCHW"'),
        (images[0, 0], {}, "^shape"),
        (images, {"layout": "NHW"}, "^shape"),
        (images, {"layout": "HWC"}, "^layout: 'HWC' is not one of NHWC, NCHW, NHW"),
        (images[:, 0], {"mask": np.ones((20, 30))}, "^mask: shape"),
        (images[:, 0], {"stream": 0}, "^stream"),
        (images[:, 0], {"nodata": "tag"}, "tag"),
        (images[:0], {"bins": 0}, "^bins"),
    ):
        with pytest.raises(gh.InvalidArgument, match=words):
            gh.measure_batch(given, **options)
    with pytest.raises(gh.InvalidArgument, match="measure_batch"):
        gh.measure(images)


# Chunks and names.


@pytest.mark.parametrize("name", ["uint8", "uint16", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("chunks", [(7, 11, 1), (50, 60, 3), (20, 60, 3)])
def test_dask_arrays(rng, name, chunks):
    dask = pytest.importorskip("dask.array")
    image = of_type(rng, name, (50, 60, 3))
    if name == "float32":
        image[3, 4, 1] = np.nan
    lazy = dask.from_array(image, chunks)
    assert same(gh.measure(lazy), gh.measure(image))
    assert same(gh.measure(lazy[..., 0], nodata=image[5, 6, 0]), gh.measure(image[..., 0], nodata=image[5, 6, 0]))
    assert same(gh.measure(lazy.transpose(2, 0, 1), layout="CHW"), gh.measure(image))
    mask = rng.integers(0, 2, image.shape[:2])
    assert same(gh.measure(lazy, mask=dask.from_array(mask, 20)), gh.measure(image, mask=mask))
    assert same(gh.measure(lazy, mask=mask), gh.measure(image, mask=mask))
    expected = gh.histogram(image, 32, range=(0, 200)) if name == "float32" else gh.histogram(image, 32)
    found = gh.histogram(lazy, 32, range=(0, 200)) if name == "float32" else gh.histogram(lazy, 32)
    assert all(np.array_equal(found.counts[channel], expected.counts[channel]) for channel in expected.counts)


def test_dask_arrays_that_are_masked(rng):
    dask = pytest.importorskip("dask.array")
    image = np.ma.masked_less(rng.integers(0, 256, (40, 30), np.uint8), 50)
    lazy = dask.ma.masked_less(dask.from_array(image.data, (9, 30)), 50)
    assert same(gh.measure(lazy), gh.measure(image))


def test_dask_arrays_that_are_refused(rng):
    dask = pytest.importorskip("dask.array")
    lazy = dask.zeros((20, 30), chunks=5, dtype=np.float32)
    for options, words in (
        ({"mask": np.ones((20, 31))}, "^mask: shape"),
        ({"robust": True}, "chunks"),
        ({"detail": "values"}, "chunks"),
        ({"measures": "noise"}, "^measures"),
        ({"nodata": "tag"}, "tag"),
    ):
        with pytest.raises(gh.InvalidArgument, match=words):
            gh.measure(lazy, **options)
    with pytest.raises(gh.InvalidArgument, match="^shape"):
        gh.measure(dask.zeros((2, 3, 4, 5)))
    image = rng.normal(size=(20, 30)).astype(np.float32)
    assert np.array_equal(gh.normalize(dask.from_array(image, 7)), gh.normalize(image))
    assert gh.regions(lazy, np.ones((20, 30), np.uint8))[1].gray.max == 0


def test_chunks_are_computed_row_by_row(rng):
    """A row of chunks is computed at a time, once per pass."""
    dask = pytest.importorskip("dask.array")
    rows = []

    def block(part, block_info):
        rows.append(block_info[0]["chunk-location"][0])
        return part

    for name, passes in (("uint8", 1), ("float32", 3)):
        rows.clear()
        image = of_type(rng, name, (80, 60))
        lazy = dask.from_array(image, (10, 20)).map_blocks(block, dtype=name)
        assert same(gh.measure(lazy), gh.measure(image))
        times = len(rows) // 24
        assert 1 <= times <= passes and rows == [row for _ in range(times) for row in range(8) for _ in range(3)]


def test_xarrays(rng):
    xarray = pytest.importorskip("xarray")
    dask = pytest.importorskip("dask.array")
    image = rng.integers(0, 65536, (3, 20, 30), np.uint16)
    expected = gh.measure(image, layout="CHW")
    for data in (image, dask.from_array(image, (1, 7, 9))):
        assert same(gh.measure(xarray.DataArray(data, dims=("band", "y", "x"))), expected)
        assert same(gh.measure(xarray.DataArray(data, dims=("band", "y", "x")).transpose("y", "x", "band")), expected)
        assert same(gh.measure(xarray.DataArray(data[1], dims=("y", "x"))), gh.measure(image[1]))
        assert same(gh.measure(xarray.DataArray(data, dims=("a", "b", "c2")), layout="CHW"), expected)
    batch = xarray.DataArray(np.stack([image] * 2), dims=("time", "band", "y", "x"))
    assert all(same(one, expected) for one in gh.measure_batch(batch, layout="NCHW"))
    labels = xarray.DataArray(np.ones((20, 30), np.uint8), dims=("y", "x"))
    assert gh.regions(xarray.DataArray(image, dims=("band", "y", "x")), labels)[1].red.mean == image[0].mean()


# Ambiguous shapes.


def test_ambiguous_shapes_warn_once(rng, monkeypatch):
    monkeypatch.setattr(_arrays, "_warned", set())
    image = rng.integers(0, 256, (3, 20, 3), np.uint8)
    with pytest.warns(UserWarning, match="shape .3, 20, 3.: both the first and the last axis") as caught:
        found = gh.measure(image)
    assert caught[0].filename == __file__ and found == gh.measure(image, layout="HWC")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gh.measure(image)
        monkeypatch.setattr(_arrays, "_warned", set())
        gh.measure(image, layout="CHW")
        gh.measure(image[:2])
        gh.measure(rng.integers(0, 256, (1, 20, 3), np.uint8))


# Edges of bins.


def test_bins_by_edges(rng):
    image = rng.normal(100, 30, (60, 50)).astype(np.float32)
    edges = np.histogram_bin_edges(image, 37, (20, 180))
    found = gh.histogram(image, edges)
    counts, _ = np.histogram(image, edges)
    assert np.array_equal(found.counts["gray"], counts) and np.allclose(found.edges, edges, rtol=0, atol=1e-5)
    assert gh.measure(image, bins=edges).histogram().lower == 20
    whole = rng.integers(0, 256, (60, 50), np.uint8)
    for edges in (range(0, 257, 16), list(range(0, 257)), (0.0, 128.0, 256.0)):
        expected, _ = np.histogram(whole, edges)
        assert np.array_equal(gh.histogram(whole, edges).counts["gray"], expected)
        assert np.array_equal(gh.measure(whole).histogram(edges).counts["gray"], expected)
        assert np.array_equal(gh.Summary([gh.measure(whole)]).histogram(edges).counts["gray"], expected)
    for bins in ([0, 1, 3], [0], [], [[0, 1]], [0, np.nan], [3, 2, 1], "all", 0, 2.5, 1 << 25):
        with pytest.raises(gh.InvalidArgument, match="^bins: "):
            gh.measure(whole, bins=bins)
    with pytest.raises(gh.InvalidArgument, match="^range: "):
        gh.measure(whole, bins=[0, 1, 2], range=(0, 2))
    uneven = [0, 10, 100, 256]  # as the message says
    expected, _ = np.histogram(whole, uneven)
    found, _ = np.histogram(np.arange(256), uneven, weights=gh.measure(whole).counts("gray"))
    assert np.array_equal(found, expected)


# Copies into any layout.


def layouts(shape: tuple[int, int, int]):
    """Arrays for copies of height x width x channels, as views of others, all over which is 7."""
    height, width, channels = shape
    yield np.full((channels, height, width), 7, np.uint8).transpose(1, 2, 0)
    yield np.full((height, 2 * width, channels), 7, np.uint8)[:, ::2]
    yield np.full((height, width, 2 * channels), 7, np.uint8)[..., ::2]
    yield np.full(shape, 7, np.uint8)[::-1, ::-1]
    yield np.full((height + 3, width, channels), 7, np.uint8)[2:-1]
    yield np.full((width, height, channels), 7, np.uint8).transpose(1, 0, 2)


@pytest.mark.parametrize("place", range(6))
def test_out_in_any_layout(rng, place):
    image = rng.integers(40, 200, (20, 30, 3), np.uint8)
    expected = gh.normalize(image)
    out = list(layouts(image.shape))[place]
    assert gh.normalize(image, out=out) is out and np.array_equal(out, expected)
    whole = out if out.base is None else out.base
    assert (whole == 7).sum() >= whole.size - image.size  # nothing else is written
    planes = np.zeros((3, 20, 30), np.uint8)
    gh.normalize(np.moveaxis(image, -1, 0), layout="CHW", out=planes)
    assert np.array_equal(planes, np.moveaxis(expected, -1, 0))


def test_out_of_other_kinds(rng):
    from PIL import Image

    image = rng.integers(4000, 20000, (20, 30), np.uint16)
    foreign = np.zeros((20, 30), ">u2")
    gh.normalize(image, out=foreign)
    assert np.array_equal(foreign, gh.normalize(image))
    picture = Image.fromarray(rng.integers(40, 200, (20, 30, 2), np.uint8), "LA")
    out = np.zeros((20, 30, 2), np.uint8)
    gh.normalize(picture, out=out)
    assert np.array_equal(out, np.asarray(gh.normalize(picture)))
    read_only = np.zeros((20, 30), np.uint16)
    read_only.flags.writeable = False
    for bad in (read_only, np.zeros((20, 31), np.uint16), np.zeros((20, 30), np.uint8), [[0] * 30] * 20):
        with pytest.raises(gh.InvalidArgument, match="^out: "):
            gh.normalize(image, out=bad)
