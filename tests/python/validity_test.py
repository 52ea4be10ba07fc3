"""Valid samples, in arrays and files: the numbers are numpy's of those that are left."""

import itertools
import pickle

import numpy as np
import pytest
import tifffile
from conftest import luma, of_type
from PIL import Image

import gpuhist as gh

DEPTHS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64"]


def check(found: gh.Statistics, samples: np.ndarray, masked: int, nodata: int) -> None:
    """Numbers against numpy's of the valid samples; NaN and infinite ones may be among them."""
    finite = samples[np.isfinite(samples)].astype(np.float64)
    assert (found.masked, found.nodata, found.valid) == (masked, nodata, len(finite))
    assert (found.nan, found.inf) == (int(np.isnan(samples).sum()), int(np.isinf(samples).sum()))
    assert found.pixels == found.valid + found.masked + found.nodata + found.nan + found.inf
    assert (found.min, found.max) == (finite.min(), finite.max())
    assert found.mean == pytest.approx(finite.mean(), rel=1e-13)
    assert found.std == pytest.approx(finite.std(), rel=1e-11)
    assert found.median == pytest.approx(np.median(finite), rel=1e-15)
    assert found.p95 == pytest.approx(np.percentile(finite, 95), rel=1e-15)
    assert found.unique == len(np.unique(finite)) or found.unique is None


@pytest.mark.parametrize("name", DEPTHS)
def test_masks_nodata_and_valid_values_of_every_depth(rng, name):
    image = of_type(rng, name, (41, 37, 3))
    floats = image.dtype.kind == "f"
    if floats:
        image[:2, :9, 0], image[2, 2:7, 1], image[3, :5, 2] = np.nan, np.inf, -np.inf
    image[5:9, :, 0] = 7
    mask = rng.integers(0, 3, (41, 37), np.uint8)
    low, high = np.percentile(image[np.isfinite(image)].astype(float), [10, 90]).astype(image.dtype).astype(float)
    values = (None, 7, [7, np.nan] if floats else [7, 9])
    for m, nodata, valid in itertools.product((None, mask), values, (None, (low, high))):
        found = gh.measure(image, mask=m, nodata=nodata, valid=valid)
        counts = np.ones(image.shape[:2], bool) if m is None else m != 0
        nothing = np.zeros(image.shape, bool)
        for value in [] if nodata is None else np.atleast_1d(nodata):
            nothing |= np.isnan(image) if np.isnan(value) else image == value
        if valid is not None:
            nothing |= (image.astype(float) < low) | (image.astype(float) > high)
        masked = int((~counts).sum())
        for c, channel in enumerate(("red", "green", "blue")):
            left_out = counts & nothing[..., c]
            samples = image[..., c][counts & ~nothing[..., c]]
            check(found[channel], samples, masked, int(left_out.sum()))
            if name in ("uint8", "uint16"):
                assert np.array_equal(found.counts(channel), np.bincount(samples, minlength=np.iinfo(name).max + 1))
        any_color = nothing.any(axis=2)
        assert (found.luma.masked, found.luma.nodata) == (masked, int((counts & any_color).sum()))
        if name in ("uint8", "uint16"):
            check(found.luma, luma(image)[counts & ~any_color], masked, found.luma.nodata)
        if nodata or valid:
            together = gh.measure(image, mask=m, nodata=nodata, valid=valid, nodata_any=True)
            check(together.green, image[..., 1][counts & ~any_color], masked, int((counts & any_color).sum()))


def test_rules_of_a_channel(rng):
    image = rng.integers(0, 6, (30, 40, 3), np.uint8)
    rules = {"nodata": {"red": 0, "blue": [1, 2]}, "valid": {"green": (2, 4), None: (1, 5)}}
    found = gh.measure(image, **rules)
    kept = {
        "red": image[..., 0][image[..., 0] > 0],
        "green": image[..., 1][(image[..., 1] >= 2) & (image[..., 1] <= 4)],
        "blue": image[..., 2][image[..., 2] > 2],
    }
    for channel, samples in kept.items():
        check(found[channel], samples, 0, image[..., 0].size - samples.size)
    assert gh.measure(image[..., ::-1], order="BGR", **rules) == found
    bands = rng.integers(0, 6, (30, 40, 5), np.uint8)
    found = gh.measure(bands, layout="HWC", nodata={"c3": np.uint8(0)})
    check(found.c3, bands[..., 3][bands[..., 3] > 0], 0, int((bands[..., 3] == 0).sum()))
    assert found.c2.nodata == 0
    for wrong, words in (
        ({"nodata": {"luma": 0}}, "luma"),
        ({"nodata": "some"}, "'some'"),
        ({"nodata": ["tag", "none"]}, "none"),
        ({"nodata": 3.5}, "3.5 is not a value of u8"),
        ({"nodata": 300}, "300 is not a value of u8"),
        ({"nodata": np.nan}, "nan is not a value of u8"),
        ({"nodata": "tag"}, "tag"),
        ({"valid": (5, 1)}, "lower one first"),
        ({"valid": 5}, "not a pair"),
        ({"valid": {"pink": (1, 5)}}, "pink"),
        ({"nodata_any": True}, "nodata_any"),
        ({"alpha": "half"}, "alpha"),
    ):
        with pytest.raises(gh.InvalidArgument, match=words):
            gh.measure(image, **wrong)


@pytest.mark.parametrize("name", ["uint8", "uint16", "float32"])
def test_alpha(rng, name):
    image = of_type(rng, name, (20, 30, 4))
    image[..., 3] = rng.integers(0, 3, (20, 30))
    seen = image[..., 3] > 0
    found = gh.measure(image, alpha="mask")
    for c, channel in enumerate(("red", "green", "blue", "alpha")):
        check(found[channel], image[..., c][seen], int((~seen).sum()), 0)
    ignored = gh.measure(image, alpha="ignore")
    assert list(ignored) == ["red", "green", "blue", "luma", "all"]
    assert ignored.to_dict() == gh.measure(image[..., :3]).to_dict() != gh.measure(image).to_dict()
    assert gh.measure(image, alpha="row") == gh.measure(image)


def test_masks_in_any_array(rng):
    image = rng.integers(0, 256, (21, 33, 3), np.uint8)
    mask = rng.integers(0, 2, (21, 33)).astype(bool)
    found = gh.measure(image, mask=mask)
    wide = np.zeros((42, 80), np.uint8)
    wide[::2, 3:36] = mask * 200
    same = [mask.astype(np.uint8) * 9, wide[::2, 3:36], np.asfortranarray(mask), mask[::-1][::-1], mask.tolist()]
    assert all(gh.measure(image, mask=one) == found for one in same)
    assert gh.measure(np.moveaxis(image, -1, 0), layout="CHW", mask=mask) == found
    masked = np.ma.MaskedArray(image[..., 0], ~mask)
    gray = gh.measure(masked).gray
    assert gray == gh.measure(masked.data, mask=~masked.mask).gray
    assert gray.mean == masked.mean() and gray.valid == masked.count()
    nothing = gh.measure(image, mask=np.zeros((21, 33), bool))
    assert (nothing.red.valid, nothing.red.masked, nothing.red.mean, nothing.red.median) == (0, 21 * 33, None, None)
    for wrong, words in (
        (mask[:, :-1], r"mask: shape \(21, 32\), but the image has \(21, 33, 3\)"),
        (mask.T, r"\(33, 21\)"),
        (image, r"\(21, 33, 3\)"),
        (mask.astype(np.float32), "float32"),
        (masked, "numpy.ma.*filled"),
        ("mask.png", "path"),
        (3, "not an array"),
    ):
        with pytest.raises(gh.InvalidArgument, match=words):
            gh.measure(image, mask=wrong)


def test_results_have_them(rng):
    image = rng.integers(0, 256, (21, 33, 3), np.uint8)
    mask = rng.integers(0, 2, (21, 33)).astype(bool)
    image[0, :2], mask[0, :2] = 0, (True, False)
    parts = [gh.measure(image, mask=one, nodata=0) for one in (mask, ~mask)]
    found = parts[0]
    numbers = found.to_dict()["red"]
    red = found.red
    assert (numbers["valid"], numbers["masked"], numbers["nodata"]) == (red.valid, red.masked, red.nodata)
    assert found.to_pandas().loc["red", "masked"] == (~mask).sum()
    assert "nodata" in gh.Statistics.nodata.__doc__ and "Unit: samples" in gh.Statistics.valid.__doc__
    assert pickle.loads(pickle.dumps(found)) == found
    bins = found.histogram(bins=16)
    for channel in bins.counts:
        outside = (bins.below, bins.above, bins.nan, bins.masked, bins.nodata)
        assert int(bins.counts[channel].sum()) + sum(of[channel] for of in outside) == image[..., 0].size
    assert bins.masked["red"] == found.red.masked and bins.nodata["red"] == found.red.nodata > 0
    assert gh.histogram(image, 16, mask=mask, nodata=0).counts["red"].tolist() == bins.counts["red"].tolist()
    total = gh.Summary()
    for part in parts:
        total += part
    whole = gh.measure(image, nodata=0)
    rows = pickle.loads(pickle.dumps(total)).statistics()
    assert rows["red"].mean == whole.red.mean and rows["all"].median == whole["all"].median
    assert rows["red"].masked == image[..., 0].size and rows["red"].nodata == whole.red.nodata
    assert total.histogram(16).masked["red"] == image[..., 0].size
    assert total.mean_std()[0] == pytest.approx([(whole[c].mean / 255) for c in ("red", "green", "blue")], rel=1e-13)
    values = gh.measure(image.astype(np.float32), mask=mask, detail="values")
    assert values.percentile("red", 12.5) == np.percentile(image[..., 0][mask], 12.5)


def test_copies_are_made_from_what_counts(rng):
    image = rng.integers(40, 200, (30, 40), np.uint8)
    image[:5], image[5:8] = 0, 255
    mask = np.ones((30, 40), bool)
    mask[5:8] = False
    counts = mask & (image != 0)
    low, high = (int(bound) for bound in (image[counts].min(), image[counts].max()))
    stretched = np.floor((np.clip(image.astype(int), low, high) - low) * 255 / (high - low) + 0.5).astype(np.uint8)
    options = {"mask": mask, "nodata": 0}
    assert np.array_equal(gh.normalize(image, **options), stretched)
    expected = np.where(counts, stretched, image)
    assert np.array_equal(gh.normalize(image, apply_to="valid", **options), expected)
    same = image.copy()
    assert gh.normalize(same, apply_to="valid", out=same, **options) is same and np.array_equal(same, expected)
    floats = gh.normalize(image, depth="f32", **options)
    assert np.isnan(floats[image == 0]).all() and not floats[~mask].any()
    floats = image.astype(np.float32)
    scores = gh.normalize(floats, "zscore", mask=mask, valid=(1, 255))
    kept = floats[counts].astype(float)
    assert scores[counts] == pytest.approx((kept - kept.mean()) / kept.std(), rel=1e-6, abs=1e-6)
    for wrong, words in (
        ({"apply_to": "valid"}, "apply_to"),
        ({"apply_to": "some"}, "apply_to"),
        ({"mask": mask[1:]}, "29, 40"),
    ):
        with pytest.raises(ValueError, match=words):
            gh.normalize(image, **wrong)
    with pytest.raises(ValueError, match="cannot stay"):
        gh.normalize(image, apply_to="valid", depth="u16", **options)


SHORT = {np.dtype(name): f"{np.dtype(name).kind.replace('i', 's')}{8 * np.dtype(name).itemsize}" for name in DEPTHS}


def stretched_to(values: np.ndarray, valid: np.ndarray, kind: np.dtype, fill: float | None) -> np.ndarray:
    """minmax of integers or floats in another type, by numpy and Python's whole numbers, of the valid samples."""
    low, high = values[valid].min(), values[valid].max()
    whole = values.dtype.kind != "f"
    if kind.kind == "f":
        parts = (values.astype(np.float64) - float(low)) / (float(high) - float(low))
        return parts.astype(np.float32).astype(kind) if values.dtype == np.float32 else parts.astype(kind)
    first, last = (int(end) for end in (np.iinfo(kind).min, np.iinfo(kind).max))
    first, last = (first + 1, last) if fill == first else (first, last - 1) if fill == last else (first, last)
    if whole:
        distance, width = values.astype(object) - int(low), int(high) - int(low)
        return (first + (2 * distance * (last - first) + width) // (2 * width)).astype(kind)
    parts = (values.astype(np.float64) - float(low)) / (float(high) - float(low))
    parts = parts.astype(np.float32).astype(np.float64) if values.dtype == np.float32 else parts
    return (first + np.floor(np.clip(np.nan_to_num(parts), 0, 1) * (last - first) + 0.5)).astype(kind)


@pytest.mark.parametrize("name", DEPTHS)
def test_nodata_never_passes_through_a_table(rng, name):
    image = of_type(rng, name, (23, 31))
    image[rng.integers(0, 5, image.shape) == 0] = 7
    image[:2, :7] = 7
    mask = rng.integers(0, 4, image.shape) > 0
    named, valid = image == 7, (image != 7) & mask
    own = image.dtype
    for kind in {own, np.dtype("uint8"), np.dtype("int16"), np.dtype("float32"), np.dtype("float64")}:
        ends = (np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind != "f" else (-2.5, np.nan)
        for fill in (None, *ends):
            copy = gh.normalize(image, depth=SHORT[kind], nodata=7, mask=mask, fill=fill)
            assert copy.dtype == kind
            stays = 7 if kind == own else np.nan if kind.kind == "f" else 0
            assert np.array_equal(copy[named], np.full(named.sum(), stays if fill is None else fill, kind), equal_nan=kind.kind == "f")
            mapped = valid if kind != own else ~named
            wanted = np.clip(image, image[valid].min(), image[valid].max()) if own.kind != "f" else image
            wanted = stretched_to(wanted, valid, kind, fill)
            assert np.array_equal(copy[mapped], wanted[mapped])
            if kind != own:
                assert np.array_equal(copy[~named & ~mask], np.full((~named & ~mask).sum(), fill or 0, kind), equal_nan=kind.kind == "f")
            if kind.kind != "f" and fill is not None:
                assert not (copy[valid] == fill).any()
    if own.kind != "f":
        with pytest.raises(ValueError, match="lowest or highest value"):
            gh.normalize(image, nodata=7, fill=100)


@pytest.fixture(scope="module")
def files(tmp_path_factory, rng):
    """A set of images, and a mask for each under the same name, of another format."""
    top = tmp_path_factory.mktemp("masked")
    pictures = rng.integers(0, 256, (3, 20, 30, 3), np.uint8)
    masks = rng.integers(0, 2, (3, 20, 30), np.uint8)
    for folder in ("images", "masks"):
        (top / folder).mkdir()
    for i, (picture, mask) in enumerate(zip(pictures, masks)):
        Image.fromarray(picture).save(top / "images" / f"{i}.png")
        tifffile.imwrite(top / "masks" / f"{i}.tif", mask)
    return top, pictures, masks


def test_files_with_masks(files):
    top, pictures, masks = files
    expected = [gh.measure(p, mask=m, nodata=3, valid=(2, 250)).to_dict() for p, m in zip(pictures, masks)]
    options = {"nodata": 3, "valid": (2, 250)}
    assert [r.to_dict() for r in gh.measure_many(top / "images", mask=top / "masks", **options)] == expected
    one, mask = top / "images" / "1.png", top / "masks" / "1.tif"
    for given in (mask, str(mask), top / "masks", masks[1], masks[1].astype(bool)):
        found = gh.measure(one, mask=given, **options)
        assert found.to_dict() == expected[1] and found.path == str(one)
    assert gh.measure(one.read_bytes(), mask=masks[1], **options).to_dict() == expected[1]
    table = gh.table(top / "images", mask=top / "masks", **options).to_pylist()
    assert [row["masked"] for row in table if row["channel"] == "red"] == [int((m == 0).sum()) for m in masks]
    palette = Image.fromarray(np.where(masks[1], 5, 0).astype(np.uint8), "P")
    palette.putpalette([0, 0, 0] * 256)  # all black, but indices are what counts
    palette.save(top / "palette.png")
    assert gh.measure(one, mask=top / "palette.png", **options).to_dict() == expected[1]
    failed = list(gh.measure_many(top / "images", mask=one))
    assert [r.error.kind for r in failed] == ["unsupported"] * 3 and "3 channels" in str(failed[0].error)
    with pytest.raises(gh.IoError, match="mask"):
        gh.measure(one, mask=top / "none.png")
    with pytest.raises(ValueError, match=r"\(19, 30\).*\(20, 30\)"):
        gh.measure(one, mask=masks[1][1:])
    with pytest.raises(ValueError, match="image file or a directory"):
        gh.measure_many(top / "images", mask=masks[1])
    with pytest.raises(ValueError, match="path"):
        gh.measure(one.read_bytes(), mask=mask)


def test_the_value_that_a_geotiff_names(tmp_path, rng):
    heights = rng.normal(500, 100, (20, 30)).astype(np.float32)
    heights[:4] = -9999
    path = tmp_path / "heights.tif"
    tifffile.imwrite(path, heights, extratags=[(42113, "s", 0, "-9999", True)])
    for unasked in (gh.measure(path, nodata="none"), gh.measure(path.read_bytes(), nodata=-1), gh.measure(heights)):
        assert unasked.gray.min == -9999
    for found in (
        gh.measure(path),
        gh.measure(path, nodata="tag"),
        gh.measure(path.read_bytes(), nodata=["tag", 7]),
        gh.regions(path, np.ones((20, 30), np.uint8))[1],
        next(gh.measure_many(path)),
    ):
        check(found.gray, heights[4:].ravel(), 0, 4 * 30)
    mask = np.ones((20, 30), bool)
    mask[10:] = False
    check(gh.measure(path, nodata="tag", mask=mask).gray, heights[4:10].ravel(), 300, 120)


def test_the_mask_that_lies_beside_a_tiff(tmp_path, rng):
    image = rng.integers(0, 256, (20, 30), np.uint8)
    path = tmp_path / "image.tif"
    tifffile.imwrite(path, image)
    valid = np.zeros((20, 30), np.uint8)
    valid[:5] = 255
    tifffile.imwrite(f"{path}.msk", valid)
    labels = np.ones((20, 30), np.uint8)
    for nodata, rows in ((None, 5), ("tag", 5), (300, 5), ("none", 20), (["none", 300], 20)):
        for found in (
            gh.measure(path, nodata=nodata),
            gh.measure(path, nodata=nodata, mask=labels),
            gh.regions(path, labels, nodata=nodata)[1],
            next(gh.measure_many(path, nodata=nodata)),
        ):
            check(found.gray, image[:rows].ravel(), 30 * (20 - rows), 0)


def test_ends_of_valid_are_rounded_to_floats():
    tenths = np.array([[0.1, 0.2, 0.3]], np.float32)
    assert gh.measure(tenths, valid=(0.1, 0.3)).gray.valid == 3
    assert gh.measure(tenths.astype(np.float16), valid=(0.1, 0.3)).gray.valid == 3
    assert gh.measure(tenths.astype(np.float64), valid=(0.1, 0.3)).gray.valid == 2
    assert gh.measure(tenths, valid=(0.2, np.inf)).gray.nodata == 1


@pytest.mark.parametrize("name", DEPTHS)
def test_regions_are_the_pixels_cut_out(rng, name):
    image = of_type(rng, name, (33, 35, 3))
    if image.dtype.kind == "f":
        image[0, :9, 0], image[1, 2:7, 1], image[2, :5, 2] = np.nan, np.inf, -np.inf
    labels = rng.choice([0, 1, 2, 200], (33, 35)).astype(np.uint8)
    labels[20, 20] = 90  # one pixel
    found = gh.regions(image, labels, label_zero=True)
    assert list(found) == [0, 1, 2, 90, 200] and found.labels.dtype == np.uint64
    for label, region in found.items():
        inside = labels == label
        cut = gh.measure(image[inside][None])
        numbers, expected = region.to_dict(), cut.to_dict()
        for channel, row in numbers.items():  # a cut has no place in the image
            for name in ("weighted_centroid_x", "weighted_centroid_y"):
                row.pop(name)
                assert expected[channel].pop(name) is None
        assert numbers == expected
        bins, expected_bins = region.histogram(), cut.histogram()
        assert all(np.array_equal(bins.counts[c], expected_bins.counts[c]) for c in bins.counts)
        assert bins._replace(counts={}) == expected_bins._replace(counts={})
        ys, xs = np.nonzero(inside)
        assert region.centroid == pytest.approx((xs.mean(), ys.mean()), rel=1e-14)
        assert region.box == (xs.min(), ys.min(), np.ptp(xs) + 1, np.ptp(ys) + 1)
        assert (region.label, region.area, region.width, region.height) == (label, inside.sum(), *region.box[2:])
        if name in ("uint8", "int8", "uint16", "int16", "float16"):
            assert all(np.array_equal(region.counts(c), cut.counts(c)) for c in region)
        total, expected = gh.Summary(), gh.Summary()
        total += region
        expected += cut
        assert total == expected
    red = found[1].red
    check(red, image[..., 0][labels == 1], 0, 0)
    assert list(gh.regions(image, labels)) == [1, 2, 90, 200]


def test_regions_with_masks_and_rules(rng):
    image = rng.integers(0, 50, (40, 45), np.uint16)
    labels = rng.integers(0, 5, (40, 45)).astype(np.int32) * 1_000_003
    mask = rng.integers(0, 2, (40, 45)).astype(bool)
    found = gh.regions(image, labels, mask=mask, nodata=[1, 2], valid=(1, 45), percentile_columns=[10, 95, 50])
    assert list(found) == sorted(np.unique(labels))[1:]
    for label, region in found.items():
        inside, nothing = labels == label, (image <= 2) | (image > 45)
        samples = image[inside & mask & ~nothing]
        check(region.gray, samples, int((inside & ~mask).sum()), int((inside & mask & nothing).sum()))
        assert region.area == inside.sum() and region.gray.percentile(10) == pytest.approx(np.percentile(samples, 10))
        assert region.percentile("gray", 33) == pytest.approx(np.percentile(samples, 33))
    label, region = next(iter(found.items()))
    frame = found.to_pandas()
    assert list(frame.region) == list(found) and frame["p10"][0] == region.gray.percentile(10)
    assert frame["mean"].tolist() == [r.gray.mean for r in found.values()] and frame["area"].sum() == (labels > 0).sum()
    assert pickle.loads(pickle.dumps(region)) == region and hash(region) == hash(found[label])
    again = pickle.loads(pickle.dumps(found))
    assert dict(again) == dict(found) and found.to_dict()[label] == region.to_dict()
    assert f"Region {label} of" in repr(region) and "<svg" in region._repr_html_()
    with pytest.raises(KeyError, match="label 7"):
        found[7]
    assert np.int32(label) in found and "red" not in found and -1 not in found and 2**70 not in found
    with pytest.raises(AttributeError):
        region.label = 3
    with pytest.raises(ValueError, match="read-only"):
        found.labels[0] = 3
    highest = np.full((40, 45), 2**32 - 1, np.uint32)
    assert list(gh.regions(image, highest)) == [2**32 - 1]
    assert len(gh.regions(image, np.zeros((40, 45), np.uint8))) == 0


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros((5, 6), np.float32), "float32"),
        (np.full((5, 6), 1 << 32), "4294967296"),
        (np.full((5, 6), -3, np.int32), "not be negative"),
        (np.zeros((5, 7), np.uint8), r"labels: shape \(5, 7\), but the image has \(5, 6\)"),
        (np.zeros((5, 6, 1), np.uint8), r"\(5, 6, 1\)"),
        ("labels.png", "path"),
        (None, "NoneType"),
    ],
)
def test_bad_labels_are_named(labels, words):
    with pytest.raises(gh.InvalidArgument, match=words):
        gh.regions(np.zeros((5, 6), np.uint8), labels)
    with pytest.raises(gh.InvalidArgument, match="detail"):
        gh.regions(np.zeros((5, 6), np.float32), np.zeros((5, 6), np.uint8), detail="values")


def test_regions_of_files_are_the_commands(tmp_path, command, rng):
    import csv

    picture = rng.integers(0, 256, (30, 40, 3), np.uint8)
    cells = np.kron(rng.integers(0, 4, (6, 8)), np.ones((5, 5))).astype(np.uint16)
    Image.fromarray(picture).save(tmp_path / "picture.png")
    tifffile.imwrite(tmp_path / "cells.tif", cells)
    Image.fromarray((cells % 2 * 255).astype(np.uint8)).save(tmp_path / "mask.png")
    options = ["--labels", tmp_path / "cells.tif", "--mask", tmp_path / "mask.png", "--nodata", "7"]
    command("--quiet", tmp_path / "picture.png", "-o", tmp_path / "out", "--write", "stats", *options)
    with open(tmp_path / "out" / "regions.csv", newline="") as file:
        expected = list(csv.DictReader(file))
    mask = cells % 2 > 0
    for labels, m in ((cells, mask), (tmp_path / "cells.tif", tmp_path / "mask.png")):
        found = gh.regions(tmp_path / "picture.png", labels, mask=m, nodata=7)
        frame = found.to_pandas()
        assert list(frame.columns) == [name for name in expected[0] if name != "path"] and len(frame) == len(expected)
        for (_, row), fields in zip(frame.iterrows(), expected):
            for name, value in row.items():
                text, nothing = fields[name], value is None or value != value
                assert text == "" if nothing else (str(value) == text or float(text) == value), name
        assert found[1].to_dict() == gh.regions(picture, cells, mask=mask, nodata=7)[1].to_dict()
    with pytest.raises(gh.IoError, match="label image"):
        gh.regions(tmp_path / "picture.png", tmp_path / "none.tif")
    Image.fromarray(cells.astype(np.uint8)).save(tmp_path / "cells.jpg")
    with pytest.raises(gh.IoError, match="JPEG"):
        gh.regions(tmp_path / "picture.png", tmp_path / "cells.jpg")


def test_sets_by_regions_pool_them(tmp_path, command, rng):
    import csv

    names = {"uint8": "u8", "uint16": "u16", "float32": "f32", "float64": "f64"}
    pools: dict[tuple[str, str, str], list[np.ndarray]] = {}
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    for i in range(12):
        kind = list(names)[i % 4]
        image = of_type(rng, kind, (20 + i, 31) if i < 8 else (20 + i, 31, 3))
        if kind == "float32":
            image[3, 3], image[4, 4] = np.nan, np.inf
        labels = rng.integers(0, 4 + i % 3, (20 + i, 31), np.uint8)
        tifffile.imwrite(tmp_path / "images" / f"{i}.tif", image, photometric="minisblack" if i < 8 else "rgb")
        tifffile.imwrite(tmp_path / "labels" / f"{i}.tif", labels)
        box = np.zeros_like(labels)
        box[3:9, 2:7] = 1
        for name, inside in {"box": box == 1, **{str(at): labels == at for at in range(1, labels.max() + 1)}}.items():
            channels = {"gray": image[inside]} if i < 8 else {"red": image[inside][:, 0], "all": image[inside].ravel()}
            for channel, samples in channels.items():
                pools.setdefault((name, names[kind], channel), []).append(samples)
    words = ["--labels", tmp_path / "labels", "--roi", "box=2,3,5,6", "--write", "stats", "--group-by", "region"]
    command("--quiet", tmp_path / "images", "-o", tmp_path / "out", *words)
    with open(tmp_path / "out" / "dataset.csv", newline="") as file:
        rows = {(row["group"], row["depth"], row["channel"]): row for row in csv.DictReader(file)}
    assert {group for group, _, _ in rows} == {"", *(group for group, _, _ in pools)}
    for key, parts in pools.items():
        row, samples = rows[key], np.concatenate(parts)
        finite = samples[np.isfinite(samples)].astype(np.float64)
        assert (int(row["images"]), int(row["valid"]), int(row["pixels"])) == (len(parts), len(finite), len(samples))
        assert float(row["mean"]) == pytest.approx(finite.mean(), rel=1e-12)
        assert float(row["std"]) == pytest.approx(finite.std(), rel=1e-11)
        for name, percent in {"p01": 1, "p25": 25, "median": 50, "p99": 99}.items():
            assert float(row[name]) == pytest.approx(np.percentile(finite, percent), rel=1e-14), (key, name)


def weighted_percentile(samples: np.ndarray, weights: np.ndarray, percent: int) -> float:
    """The smallest sample up to which at least that part of the weight lies, in whole numbers."""
    order = np.argsort(samples, kind="stable")
    through = np.cumsum(weights[order].astype(np.uint64)).astype(object)
    return float(samples[order][next(i for i, sum_ in enumerate(through) if sum_ * 100 >= percent * through[-1])])


def check_weighted(found: dict[str, object], samples: np.ndarray, weights: np.ndarray) -> None:
    """Numbers against numpy.average, of a row of the command or of a Statistics."""
    x, w = samples.ravel().astype(np.float64), weights.ravel().astype(np.float64)
    there = w > 0
    assert int(found["weight"]) == int(w.sum())
    assert (int(found["valid"]), int(found["masked"])) == (there.sum(), (~there).sum())
    if not there.any():
        assert not any(found[name] for name in ("mean", "std", "min", "max", "wp50"))
        return
    mean = np.average(x, weights=w)
    assert float(found["mean"]) == pytest.approx(mean, rel=1e-13)
    assert float(found["std"]) == pytest.approx(np.sqrt(np.average((x - mean) ** 2, weights=w)), rel=1e-11)
    assert (float(found["min"]), float(found["max"])) == (x[there].min(), x[there].max())
    assert not found["std_sample"] and not found["median"] and not found["p99"]
    for percent in (1, 5, 25, 50, 75, 95, 99):
        assert float(found[f"wp{percent:02}"]) == weighted_percentile(x, w, percent), percent


@pytest.mark.parametrize("name", ["uint8", "uint16"])
def test_alpha_weighs(rng, name):
    image = of_type(rng, name, (41, 37, 4))
    image[:7, :, 3] = 0
    white = np.iinfo(name).max
    for pixels in (image, image * np.array([1, 1, 1, 0], name), image[..., :3]):
        found = gh.measure(pixels, alpha="weight")
        weights = pixels[..., 3] if pixels.shape[2] == 4 else np.full(pixels.shape[:2], white)
        assert "alpha" not in found
        for c, channel in enumerate(("red", "green", "blue")):
            check_weighted(found[channel].to_dict(), pixels[..., c], weights)
            counts = np.zeros(white + 1, np.uint64)
            np.add.at(counts, pixels[..., c].ravel(), weights.ravel().astype(np.uint64))
            np.testing.assert_array_equal(found.counts(channel), counts)
        check_weighted(found["luma"].to_dict(), luma(pixels), weights)
        check_weighted(found["all"].to_dict(), pixels[..., :3], np.repeat(weights[..., None], 3, 2))
        assert pickle.loads(pickle.dumps(found)) == found
        assert found.percentile("red", 50) == found["red"].wp50
    with pytest.raises(gh.InvalidArgument, match="f32"):
        gh.measure(np.zeros((3, 3, 4), np.float32), alpha="weight")
    total = gh.Summary()
    total += gh.measure(image, alpha="weight")
    with pytest.raises(gh.InvalidArgument, match="weighted"):
        total += gh.measure(image)


def test_alpha_of_halves_weighs(tmp_path, command, rng):
    import csv

    alpha = rng.random((33, 29)).astype(np.float16)
    alpha[:3], alpha[3, :4] = 0, 1
    alpha[4, :3] = 6e-8, 2**-14, 1
    colors = (rng.random((33, 29, 3)) * 4).astype(np.float16)
    straight = np.dstack([colors, alpha])
    stored = np.dstack([(colors.astype(np.float32) * alpha[..., None].astype(np.float32)).astype(np.float16), alpha])
    with np.errstate(all="ignore"):
        quotients = (stored[..., :3].astype(np.float32) / alpha[..., None].astype(np.float32)).astype(np.float16)
    quotients[alpha == 0] = 0
    units = (alpha.astype(np.float64) * 2**24).astype(np.uint64)
    tifffile.imwrite(tmp_path / "straight.tif", straight, photometric="rgb", extrasamples=["unassalpha"])
    tifffile.imwrite(tmp_path / "premultiplied.tif", stored, photometric="rgb", extrasamples=["assocalpha"])

    def check(found, samples, weights):
        numbers = dict(found)
        assert float(numbers["weight"]) == weights.sum() / 2**24
        check_weighted({**numbers, "weight": weights.sum()}, samples, weights)

    for given, expected in (
        (straight, colors),
        (tmp_path / "straight.tif", colors),
        (tmp_path / "premultiplied.tif", quotients),
        ((tmp_path / "premultiplied.tif").read_bytes(), quotients),
    ):
        found = gh.measure(given, alpha="weight")
        for c, channel in enumerate(("red", "green", "blue")):
            check(found[channel].to_dict(), expected[..., c], units)
            assert found.counts(channel).sum() == found[channel].weight
        bins = found.histogram(bins=16, range=(0, 2))
        in_range = (expected[..., 1] >= 0) & (expected[..., 1] < 2)
        assert bins.counts["green"].sum() == units[in_range].sum() / 2**24
        assert bins.above["green"] == units[(expected[..., 1] >= 2) & (units > 0)].sum() / 2**24
    labels = (np.arange(33 * 29).reshape(33, 29) % 3).astype(np.uint8)
    for label, region in gh.regions(tmp_path / "premultiplied.tif", labels, alpha="weight").items():
        check(region["blue"].to_dict(), quotients[labels == label][:, 2], units[labels == label])
    total = gh.Summary()
    for name in ("straight", "premultiplied"):
        total += gh.measure(tmp_path / f"{name}.tif", alpha="weight")
    both, twice = np.concatenate([colors, quotients]), np.concatenate([units, units])
    check(total.statistics()["red"].to_dict(), both[..., 0], twice)
    command(tmp_path, "-o", tmp_path / "out", "--alpha", "weight", "--quiet", "--write", "stats,histogram")
    with open(tmp_path / "out" / "dataset.csv", newline="") as file:
        check(next(row for row in csv.DictReader(file) if row["channel"] == "green"), both[..., 1], twice)
    with open(tmp_path / "out" / "premultiplied.tif.histogram.csv", newline="") as file:
        assert sum(float(row["red"]) for row in csv.DictReader(file) if row["bin"].isdigit()) == units.sum() / 2**24
    with pytest.raises(gh.InvalidArgument, match="f16 are"):
        tifffile.imwrite(tmp_path / "deep.tif", np.ones((3, 4, 4), np.uint16), photometric="rgb", extrasamples=[1])
        gh.measure((tmp_path / "deep.tif").read_bytes(), alpha="weight")


@pytest.mark.parametrize("name", ["uint32", "int32", "float32", "float64"])
def test_samples_without_alpha_weigh_the_same(rng, name):
    image = rng.integers(0, 1000, (20, 30)).astype(name)
    found = gh.measure(image, alpha="weight")["gray"]
    white = 1 if np.issubdtype(name, np.floating) else np.iinfo(name).max
    assert found.weight == 600 * white
    assert found.mean == pytest.approx(image.mean(dtype=np.float64), rel=1e-13)
    assert found.median is None and found.std_sample is None
    assert found.wp50 == np.sort(image.ravel())[299]


def test_weights_of_files(tmp_path, command, rng):
    import csv
    import json

    gray_alpha = rng.integers(0, 256, (37, 41, 2), np.uint8)
    gray_alpha[:5, :, 1] = 0
    gray = rng.integers(0, 256, (10, 12), np.uint8)
    colors = rng.integers(0, 256, (33, 29, 4), np.uint8)
    clear = colors * np.array([1, 1, 1, 0], np.uint8)
    deep = rng.integers(0, 65536, (21, 23, 4), np.uint16)
    folder = tmp_path / "images"
    folder.mkdir()
    for name, mode, pixels in (("a", "LA", gray_alpha), ("b", "L", gray), ("c", "RGBA", colors), ("d", "RGBA", clear)):
        Image.frombytes(mode, pixels.shape[1::-1], pixels.tobytes()).save(folder / f"{name}.png")
    tifffile.imwrite(folder / "e.tif", deep, photometric="rgb", extrasamples=["unassalpha"])
    options = ["--alpha", "weight", "--quiet", "--write", "stats,histogram"]
    command(folder, "-o", tmp_path / "out", *options)
    with open(tmp_path / "out" / "stats.csv", newline="") as file:
        rows = {(row["path"][-5:], row["channel"]): row for row in csv.DictReader(file)}
    white = np.full(gray.shape, 255)
    check_weighted(rows["a.png", "gray"], gray_alpha[..., 0], gray_alpha[..., 1])
    check_weighted(rows["b.png", "gray"], gray, white)
    for name, pixels in (("c.png", colors), ("d.png", clear), ("e.tif", deep)):
        for c, channel in enumerate(("red", "green", "blue")):
            check_weighted(rows[name, channel], pixels[..., c], pixels[..., 3])
    with open(tmp_path / "out" / "dataset.csv", newline="") as file:
        rows = {(row["depth"], row["channel"]): row for row in csv.DictReader(file)}
    samples, weights = (gray_alpha[..., 0].ravel(), gray.ravel()), (gray_alpha[..., 1].ravel(), white.ravel())
    check_weighted(rows["u8", "gray"], np.concatenate(samples), np.concatenate(weights))
    check_weighted(rows["u8", "red"], np.stack([colors, clear])[..., 0], np.stack([colors, clear])[..., 3])
    with open(tmp_path / "out" / "c.png.histogram.csv", newline="") as file:
        counts = [int(row["blue"]) for row in csv.DictReader(file) if row["bin"].isdigit()]
    assert counts == np.bincount(colors[..., 2].ravel(), colors[..., 3].ravel(), 256).tolist()
    line = json.loads(command(folder / "c.png", "--alpha", "weight", "--format", "json", "--write", "none"))
    check_weighted(line["channels"][1], colors[..., 1], colors[..., 3])
    # What has no straight alpha of integers is an error of its own.
    tifffile.imwrite(folder / "f.tif", deep, photometric="rgb", extrasamples=["assocalpha"])
    tifffile.imwrite(folder / "g.tif", np.ones((3, 4, 4), np.float32), photometric="rgb", extrasamples=["unassalpha"])
    command(folder, "-o", tmp_path / "more", *options, check=False)
    errors = (tmp_path / "more" / "errors.csv").read_text()
    assert "f.tif" in errors and "premultiplied" in errors and "samples of f32 cannot be weighted" in errors
    # A region has the weights of its pixels.
    labels = (np.arange(33 * 29).reshape(33, 29) % 3).astype(np.uint8)
    for label, region in gh.regions(folder / "c.png", labels, alpha="weight").items():
        check_weighted(region["blue"].to_dict(), colors[labels == label][:, 2], colors[labels == label][:, 3])
