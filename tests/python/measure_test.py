"""Images in memory against numpy and scipy: counts are equal, and so is what rounds once; the rest to the last bits."""

import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from conftest import luma, of_type
from PIL import Image

import gpuhist as gh

INTEGERS = {"uint8": 256, "int8": 256, "uint16": 65536, "int16": 65536}


def check_numbers(found: gh.Statistics, samples: np.ndarray) -> None:
    """Numbers of integers: those that are defined to be rounded once are equal, moments to 1e-12."""
    whole = samples.astype(np.int64).ravel()
    n, total, squares = len(whole), int(whole.sum()), sum(int(v) * int(v) for v in whole)
    assert (found.pixels, found.min, found.max) == (n, whole.min(), whole.max())
    assert found.mean == float(Fraction(total, n))
    assert found.std == pytest.approx(np.sqrt(float(Fraction(n * squares - total**2, n * n))), rel=1e-15)
    assert found.std_sample == pytest.approx(np.sqrt(float(Fraction(n * squares - total**2, n * (n - 1)))), rel=1e-15)
    assert found.skewness == pytest.approx(scipy.stats.skew(whole.astype(float)), rel=1e-11, abs=1e-11)
    assert found.kurtosis == pytest.approx(scipy.stats.kurtosis(whole.astype(float)), rel=1e-11, abs=1e-11)
    assert found.median == np.median(whole)
    assert found.p99 == pytest.approx(np.percentile(whole, 99), rel=1e-15)
    assert found.unique == len(np.unique(whole))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_counted_by_value(rng, name):
    image = of_type(rng, name, (61, 47, 3))
    found = gh.measure(image)
    assert list(found) == ["red", "green", "blue", "luma", "all"]
    assert (found.width, found.height, found.depth) == (47, 61, {"u": "u", "i": "s"}[np.dtype(name).kind] + name.strip("uint"))
    lowest = np.iinfo(name).min
    planes = {"red": image[..., 0], "green": image[..., 1], "blue": image[..., 2], "luma": luma(image), "all": image}
    for channel, samples in planes.items():
        counts = found.counts(channel)
        assert counts.dtype == np.uint64
        assert np.array_equal(counts, np.bincount(samples.ravel().astype(np.int64) - lowest, minlength=INTEGERS[name]))
        check_numbers(found[channel], samples)


def test_entropy_and_any_percentile(rng):
    image = rng.integers(0, 4096, (50, 60), np.uint16)
    found = gh.measure(image)
    assert list(found) == ["gray"]
    counts = np.bincount(image.ravel())
    assert found.gray.entropy == pytest.approx(scipy.stats.entropy(counts, base=2), rel=1e-13)
    assert found.gray.effective_bits == 12
    for q in (0, 0.1, 33.3, 50, 99.9, 100):
        assert found.percentile("gray", q) == pytest.approx(np.percentile(image, q), rel=1e-14)


def test_floats(rng):
    image = of_type(rng, "float32", (40, 50, 3))
    image[0, 0] = [np.nan, np.inf, -np.inf]
    found = gh.measure(image, percentile_columns=[10, 50, 99.9])
    red = image[..., 0].ravel()
    red = red[np.isfinite(red)].astype(float)
    assert (found.red.nan, found.green.inf, found.blue.inf) == (1, 1, 1)
    assert (found.red.min, found.red.max) == (red.min(), red.max())
    assert found.red.mean == pytest.approx(red.mean(), rel=1e-14)
    assert found.red.std == pytest.approx(red.std(), rel=1e-13)
    assert found.red.skewness == pytest.approx(scipy.stats.skew(red), rel=1e-10)
    for q in (10, 50, 99.9):
        assert found.percentile("red", q) == found.red.percentile(q) == pytest.approx(np.percentile(red, q), rel=1e-15)
    with pytest.raises(ValueError, match="percentile"):
        found.percentile("red", 12)
    with pytest.raises(ValueError, match="f32"):
        found.counts("red")
    every = gh.measure(image, detail="values")
    assert every.percentile("red", 12) == pytest.approx(np.percentile(red, 12), rel=1e-15)
    brief = gh.measure(image, detail="brief")
    assert brief.red.median is None and brief.red.skewness is None and brief.red.mean == found.red.mean


@pytest.mark.parametrize("name", ["float16", "float64", "int32", "uint32"])
def test_other_depths(rng, name):
    image = of_type(rng, name, (33, 44))
    found = gh.measure(image)
    assert found.gray.min == image.min() and found.gray.max == image.max()
    assert found.gray.mean == pytest.approx(image.astype(np.float64).mean(), rel=1e-13)
    assert found.gray.unique == len(np.unique(image))
    assert found.gray.median == np.median(image.astype(np.float64))


def test_histograms_are_numpys(rng):
    image = of_type(rng, "uint8", (50, 60, 3))
    found = gh.histogram(image, bins=64, range=(0, 256))
    expected, edges = np.histogram(image[..., 1], 64, (0, 256))
    assert np.array_equal(found.counts["green"], expected.astype(np.uint64))
    assert np.array_equal(found.edges, edges)
    part = gh.measure(image).histogram(bins=10, range=(50, 150))
    inside = image[..., 0][(image[..., 0] >= 50) & (image[..., 0] < 150)]
    assert int(part.counts["red"].sum()) == inside.size
    assert part.below["red"] == (image[..., 0] < 50).sum() and part.above["red"] == (image[..., 0] >= 150).sum()
    floats = of_type(rng, "float32", (50, 60))
    closed = gh.histogram(floats, bins=32)
    assert closed.lower == floats.min() and closed.upper == floats.max()
    assert np.array_equal(closed.counts["gray"].sum(), floats.size)


def test_layouts_and_orders_say_the_same(rng):
    image = of_type(rng, "uint8", (21, 34, 3))
    found = gh.measure(image)
    assert gh.measure(np.ascontiguousarray(np.moveaxis(image, -1, 0)), layout="CHW") == found
    assert gh.measure(np.moveaxis(np.moveaxis(image, -1, 0), 0, -1)) == found
    assert gh.measure(np.ascontiguousarray(image[..., ::-1]), order="BGR") == found
    assert gh.measure(image[::-1, ::-1]).to_dict() == found.to_dict()  # negative strides
    assert gh.measure(np.repeat(image, 2, axis=1)[:, ::2]) == found  # a gap between pixels
    big = image.astype(">u2")
    assert gh.measure(big) == gh.measure(image.astype("=u2"))
    assert gh.measure(np.asfortranarray(image)) == found
    whole = np.zeros((40, 60, 3), np.uint8)
    whole[5:26, 7:41] = image
    assert gh.measure(whole[5:26, 7:41]) == found  # a region, which is not copied
    assert gh.measure(np.broadcast_to(image[:1], image.shape)) == gh.measure(np.repeat(image[:1], 21, axis=0))
    image.flags.writeable = False
    assert gh.measure(image) == found
    assert gh.measure(image[..., :1]).gray == gh.measure(image[..., 0]).gray


def test_channels_by_number(rng):
    assert list(gh.measure(of_type(rng, "uint8", (5, 6, 4)))) == ["red", "green", "blue", "luma", "all", "alpha"]
    assert list(gh.measure(of_type(rng, "uint8", (5, 6, 2)))) == ["c0", "c1", "all"]
    image = of_type(rng, "uint16", (5, 6, 64))
    found = gh.measure(image, layout="HWC")
    assert list(found) == [*(f"c{i}" for i in range(64)), "all"]
    assert found.c63.mean == image[..., 63].mean()


def test_what_numpy_calls_otherwise(rng):
    mask = rng.integers(0, 2, (20, 30)).astype(bool)
    assert gh.measure(mask).gray.mean == mask.mean()
    picture = Image.fromarray(of_type(rng, "uint8", (20, 30, 3)))
    assert gh.measure(picture) == gh.measure(np.asarray(picture))

    class Holder:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **asked):
            return self.array.__dlpack__(**asked)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    image = of_type(rng, "float32", (9, 8))
    assert gh.measure(Holder(image)) == gh.measure(image)


@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros((3, 32, 32), np.uint8), {}, 'layout="CHW"'),
        (np.zeros((2, 3, 32, 32), np.uint8), {}, "two axes, or three"),
        (np.zeros((32,), np.uint8), {}, "two axes, or three"),
        (np.zeros((4, 4), np.uint8), {"layout": "HWC"}, "HWC has 3 axes"),
        (np.zeros((4, 4, 65), np.uint8), {"layout": "HWC"}, "1 to 64"),
        (np.zeros((4, 0, 3), np.uint8), {}, "at least 1"),
        (np.zeros((4, 4), np.int64), {}, "int64"),
        (np.zeros((4, 4), np.complex64), {}, "complex64"),
        (np.zeros((4, 4), np.uint8), {"order": "GBR"}, "order"),
        (np.zeros((4, 4), np.uint8), {"layout": "WH"}, "layout"),
        (np.zeros((4, 4), np.uint8), {"bins": 0}, "bins"),
        (np.zeros((4, 4), np.uint8), {"detail": "most"}, "detail"),
        (np.zeros((4, 4), np.uint8), {"engine": "tpu"}, "engine"),
        (np.zeros((4, 4), np.uint8), {"white": -1}, "white"),
        (np.zeros((4, 4), np.uint8), {"page": 2}, "page"),
        (np.zeros((4, 4), np.uint8), {"stream": 7}, "stream"),
        (np.zeros((4, 4), np.uint8), {"percentile_columns": [101]}, "101"),
        (np.zeros((4, 4), np.float32), {"bins": "full"}, "full"),
        (42, {}, "int is neither"),
    ],
)
def test_bad_input_is_named(image, options, words):
    with pytest.raises(gh.InvalidArgument, match=words) as caught:
        gh.measure(image, **options)
    assert isinstance(caught.value, ValueError)


def test_a_missing_engine_is_an_error():
    if gh.engines()["cuda"][0]:
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="cuda"):
        gh.measure(np.zeros((4, 4), np.uint8), engine="cuda")
    with pytest.raises(gh.EngineUnavailable, match="CUDA"):
        gh.Analyzer(channels=3)
    with pytest.raises(gh.EngineUnavailable):
        gh.measure_many(".", engine="cuda")


def test_results_are_frozen_mappings(rng):
    found = gh.measure(of_type(rng, "uint8", (20, 30, 3)))
    assert found["red"] == found.red and len(found) == 5 and "luma" in found and dict(found)["all"] == found["all"]
    with pytest.raises(KeyError, match="channels are red"):
        found["gray"]
    with pytest.raises(AttributeError, match="channels are red"):
        found.gray
    with pytest.raises(AttributeError):
        found.red = 1
    with pytest.raises(AttributeError):
        found.red.mean = 1
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    frame = found.to_pandas()
    assert list(frame.index) == list(found) and frame.loc["luma", "mean"] == found.luma.mean
    assert frame.loc["red", "p99"] == found.red.p99
    html = found._repr_html_()
    assert html.count("<svg") == 1 and html.count("<tr>") == 6 and "luma" in html
    assert gh.Statistics.mean.__doc__.startswith("sum x / n, computed exactly")


@pytest.mark.parametrize("name", ["uint8", "int16", "float16", "float32", "float64", "uint32"])
def test_results_pickle(rng, name):
    found = gh.measure(of_type(rng, name, (20, 30, 3)), detail="values", white=200, bins=20)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.to_dict() == found.to_dict()
    assert again.histogram(bins=20).counts["red"].tolist() == found.histogram(bins=20).counts["red"].tolist()
    assert pickle.loads(pickle.dumps(found.red)) == found.red
    assert again.percentile("red", 12.5) == found.percentile("red", 12.5)
    bytes_ = found._measurement.__getstate__()
    with pytest.raises(ValueError, match="not a pickled result"):
        type(found._measurement).__new__(type(found._measurement)).__setstate__(bytes_[:-1])


def test_measures_of_smaller_images_and_of_sets(rng):
    image = of_type(rng, "uint8", (60, 90))
    small = image.reshape(20, 3, 30, 3).mean(axis=(1, 3))
    small = np.floor(small + 0.5 + 1e-9).astype("u1")
    of_small = gh.measure(small, measures=["noise", "sharpness_laplacian"]).measures
    assert gh.measure(image, measures=["noise", "sharpness_laplacian"], quality_scale=30).measures == of_small
    with pytest.raises(ValueError, match="quality_scale: 2 is not from 3"):
        gh.measure(image, measures="noise", quality_scale=2)
    images = [of_type(rng, "uint8", (20, 20, 3)) for _ in range(5)]
    found = [gh.measure(one, measures="quality") for one in images]
    parts = [gh.Summary(), gh.Summary()]
    for i, one in enumerate(found):
        parts[i % 2] += one
    total = parts[0]
    total += pickle.loads(pickle.dumps(parts[1]))
    noises = [one.measures["noise"] for one in found]
    assert total.measures()["noise"] == {
        "images": 5,
        "mean": pytest.approx(math.fsum(noises) / 5, rel=1e-15),
        "min": min(noises),
        "max": max(noises),
    }


def test_brightness_is_cleanvision_s(rng):
    # calc_percentile_brightness of CleanVision 0.3.7
    image = of_type(rng, "uint8", (61, 53, 3))
    r, g, b = (image[:, :, c].astype("int") for c in range(3))
    brightness = np.sqrt(0.241 * (r * r) + 0.691 * (g * g) + 0.068 * (b * b)) / 255
    percents = [1, 5, 10, 15, 90, 95, 99]
    for pixels, values in ((image, brightness), (image[..., 0], image[..., 0] / 255.0)):
        found = gh.measure(pixels, measures="brightness").measures
        assert list(found) == [f"brightness_p{p}" for p in percents]
        assert list(found.values()) == pytest.approx(list(np.percentile(values, percents)), rel=1e-12)


def test_thresholds_are_scikit_image_s(rng):
    from skimage import filters

    for kind, low, high in (("uint8", 3, 250), ("int8", -100, 100), ("uint16", 100, 3000), ("int16", -900, 900)):
        dark = rng.normal(low + (high - low) * 0.3, (high - low) / 12, 4000)
        bright = rng.normal(low + (high - low) * 0.7, (high - low) / 9, 2000)
        image = np.clip(np.concatenate([dark, bright]), low, high).astype(kind).reshape(60, 100)
        found = gh.measure(image, measures="thresholds").measures
        assert found["otsu"] == filters.threshold_otsu(image.astype(int))
        assert found["li"] == pytest.approx(filters.threshold_li(image.astype(int)), rel=1e-6)
    assert gh.measure(np.full((5, 5), 7, "u1"), measures="thresholds").measures["li"] is None


def test_measures(rng, tmp_path):
    image = of_type(rng, "uint16", (40, 50, 3))
    assert gh.measure(image).measures == {}
    found = gh.measure(image, measures="quality")
    assert list(found.measures)[:4] == ["sharpness_laplacian", "sharpness_tenengrad", "noise", "colorfulness"]
    assert list(gh.measure(image, measures="contrast").measures) == [
        "contrast_rms",
        "contrast_michelson",
        "contrast_p1_p99",
    ]
    r, g, b = image.astype(float).transpose(2, 0, 1)
    rg, yb = r - g, (r + g) / 2 - b
    expected = np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean())
    assert found.measures["colorfulness"] == pytest.approx(expected, rel=1e-12)
    y = luma(image).astype(int)
    padded = np.pad(y, 1, mode="reflect")
    laplacian = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * y
    assert found.measures["sharpness_laplacian"] == pytest.approx(laplacian.var(), rel=1e-12)
    assert found.measures["gray"] == 0 and gh.measure(image[..., 0], measures="gray").measures == {"gray": 1}
    assert found.measures["dark_fraction"] == np.mean(y * 10 < 65535)
    assert found.measures["bright_fraction"] == np.mean(y * 10 > 65535 * 9)
    assert gh.measure(image, measures=["noise"]).measures == {"noise": found.measures["noise"]}
    assert gh.measure(image[:2], measures="noise").measures == {"noise": None}
    assert pickle.loads(pickle.dumps(found)).measures == found.measures
    with pytest.raises(ValueError, match="measure 'blur' is not one of quality"):
        gh.measure(image, measures="blur")
    path = tmp_path / "a.pgm"
    path.write_bytes(b"P5 50 40 255\n" + image[..., 0].astype("u1").tobytes())
    (one,) = gh.measure_many(path, measures="quality")
    assert one.measures == gh.measure(path, measures="quality").measures and one.measures["noise"] > 0


def small_image(y, columns, rows):
    """Means of luma over equal areas, as the hashes of similar images are made of them: exact, of whole numbers."""

    def overlaps(cells, pixels):
        cell, pixel = np.arange(cells)[:, None], np.arange(pixels)
        ends = np.minimum((pixel + 1) * cells, (cell + 1) * pixels)
        return np.maximum(ends - np.maximum(pixel * cells, cell * pixels), 0)

    sums = overlaps(rows, y.shape[0]) @ y.astype(np.int64) @ overlaps(columns, y.shape[1]).T
    low, high = sums.min(), sums.max()
    return (510 * (sums - low) + (high - low)) // (2 * (high - low))


@pytest.mark.parametrize("dtype, depth", [("uint8", "u8"), ("uint16", "u16")])
def test_hashes(rng, dtype, depth):
    import scipy.fftpack
    import xxhash

    coarse = rng.integers(0, np.iinfo(dtype).max, (7, 6, 3)).repeat(41, 0).repeat(57, 1)
    image = (coarse // 2 + rng.integers(0, np.iinfo(dtype).max // 3, coarse.shape)).astype(dtype)
    data = image.tobytes()
    digests = [xxhash.xxh3_128_digest(data[i : i + 65536]) for i in range(0, len(data), 65536)]
    line = f"{image.shape[1]} {image.shape[0]} {depth} 3\n".encode()
    found = gh.measure(image, measures="hashes").measures
    assert found["pixels_hash"] == xxhash.xxh3_128_hexdigest(line + b"".join(digests))

    def text(bits):  # as ImageHash
        return f"{int(''.join(str(int(bit)) for bit in bits.flatten()), 2):016x}"

    pixels = small_image(luma(image), 9, 8)
    assert found["dhash"] == text(pixels[:, 1:] > pixels[:, :-1])
    dct = scipy.fftpack.dct(scipy.fftpack.dct(small_image(luma(image), 32, 32).astype(float), axis=0), axis=1)[:8, :8]
    assert np.abs(dct - np.median(dct)).min() > 1e-6
    assert found["phash"] == text(dct > np.median(dct))

    assert gh.measure(np.full((5, 9), 3, dtype), measures="hashes").measures["phash"] == "0" * 16


def test_engines_serve_threads(rng):
    from concurrent.futures import ThreadPoolExecutor

    images = [of_type(rng, "uint8", (300, 500, 3)) for _ in range(8)]
    expected = [gh.measure(image) for image in images]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(gh.measure, images * 4)) == expected * 4


def test_nothing_is_said_aloud(rng, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gh.measure(of_type(rng, "uint8", (20, 30, 3)))
    assert capfd.readouterr() == ("", "")
