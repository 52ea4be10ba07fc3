"""Curves and copies by place: against scikit-image, astropy, numpy and ImageMagick."""

import shutil
import subprocess

import numpy as np
import pytest
from astropy.visualization import (
    AsinhStretch,
    LogStretch,
    PercentileInterval,
    PowerStretch,
    SinhStretch,
    SqrtStretch,
    ZScaleInterval,
)
from skimage import exposure, filters

import gpuhist as gh

ASTROPY = {
    "sqrt": SqrtStretch(),
    "log": LogStretch(),
    "asinh": AsinhStretch(),
    "sinh": SinhStretch(),
    "power=1.7": PowerStretch(1.7),
}


@pytest.fixture
def photograph(data):
    return np.ascontiguousarray(gh.read(data / "rocket.jpg")[:200, :180])


@pytest.fixture
def other(data):
    return np.ascontiguousarray(gh.read(data / "chelsea.png")[:150, :200])


def rounded(values, top):
    return np.floor(np.clip(values, 0, 1) * top + 0.5)


@pytest.mark.parametrize("name", ASTROPY)
def test_stretches_equal_astropy_within_8_ulp(name, rng):
    image = rng.normal(100, 40, (90, 70))
    got = gh.normalize(image, "stretch", stretch=name)
    expected = ASTROPY[name]((image - image.min()) / (image.max() - image.min()))
    assert got.dtype == np.float64
    assert np.abs(got - expected).max() <= 8 * np.spacing(1.0)
    away = expected > 1e-3
    assert (np.abs(got - expected)[away] <= 8 * np.spacing(expected[away])).all()
    words = rng.integers(0, 5000, (64, 64), np.uint16)
    got = gh.normalize(words, "stretch", stretch=name)
    low, high = int(words.min()), int(words.max())
    expected = rounded(ASTROPY[name]((words - low) / (high - low)), 65535)
    assert np.abs(got.astype(int) - expected).max() <= 1  # halves, where astropy's own last digit decides
    assert (got == expected).mean() > 0.999


@pytest.mark.parametrize("shape", [(30, 30), (25, 40), (301, 257)])
def test_zscale_equals_astropy(shape, rng):
    image = rng.normal(1000, 20, shape)
    image[rng.random(shape) < 0.02] += 5000
    low, high = ZScaleInterval().get_limits(image)
    expected = np.clip((image - low) / (high - low), 0, 1)
    assert np.allclose(gh.normalize(image, "stretch", interval="zscale"), expected, rtol=0, atol=1e-9)
    single = image.astype(np.float32)
    low, high = ZScaleInterval().get_limits(single)
    expected = np.clip((single - low) / (high - low), 0, 1)
    assert np.allclose(gh.normalize(single, "stretch", interval="zscale"), expected, rtol=0, atol=2e-5)
    colors = rng.integers(0, 4096, (50, 60, 3), np.uint16)
    low, high = ZScaleInterval().get_limits(colors)
    expected = rounded((colors.astype(float) - low) / (high - low), 65535)
    assert np.abs(gh.normalize(colors, "stretch", interval="zscale").astype(int) - expected).max() <= 1


def test_zscale_samples_valid_pixels_alone(rng):
    image = rng.normal(1000, 20, (120, 90))
    mask = rng.random(image.shape) < 0.8
    low, high = ZScaleInterval().get_limits(image[mask])
    image[~mask] = 1e6
    got = gh.normalize(image, "stretch", interval="zscale", mask=mask)
    assert np.allclose(got[mask], np.clip((image[mask] - low) / (high - low), 0, 1), rtol=0, atol=1e-9)


def test_percentile_intervals_are_nearest_ranks(rng):
    image = rng.normal(0, 1, (101, 99))
    low, high = np.percentile(image, [2, 98], method="inverted_cdf")
    got = gh.normalize(image, "stretch", stretch="asinh", interval="percentile", percentiles=(2, 98))
    expected = AsinhStretch()(np.clip((image - low) / (high - low), 0, 1))
    assert np.allclose(got, expected, rtol=0, atol=1e-15)
    assert PercentileInterval(96).get_limits(image) == pytest.approx((low, high), abs=0.05)
    centered = gh.normalize(image, "stretch", interval="sigma=2")
    low, high = image.mean() - 2 * image.std(), image.mean() + 2 * image.std()
    assert np.allclose(centered, np.clip((image - low) / (high - low), 0, 1), rtol=0, atol=1e-12)


def test_match_equals_scikit_image(photograph, other, rng):
    reference = other
    got = gh.normalize(photograph, "match", reference=reference, channels="separate")
    for channel in range(3):
        # scikit-image returns floats of a channel if it is given floats.
        expected = exposure.match_histograms(
            photograph[..., channel].astype(np.float64), reference[..., channel].astype(np.float64)
        )
        assert np.array_equal(got[..., channel], np.floor(expected + 0.5))
    gray, target = rng.normal(5, 2, (60, 50)), rng.gamma(2, 1, (40, 41))
    expected = exposure.match_histograms(gray, target)
    assert np.allclose(gh.normalize(gray, "match", reference=target), expected, rtol=1e-13)
    single, single_target = gray.astype(np.float32), target.astype(np.float32)
    singles = gh.normalize(single, "match", reference=single_target)
    expected = exposure.match_histograms(single.astype(float), single_target.astype(float))
    assert np.allclose(singles, expected, rtol=1e-6)


def test_a_file_can_be_the_reference(photograph, other, tmp_path):
    path = tmp_path / "reference.png"
    gh.write(path, other)
    one = gh.normalize(photograph, "match", reference=path)
    assert np.array_equal(one, gh.normalize(photograph, "match", reference=other))
    with pytest.raises(gh.InvalidArgument, match="reference is u8, and not u16"):
        gh.normalize(photograph.astype(np.uint16), "match", reference=path)
    with pytest.raises(gh.InvalidArgument, match="match needs a reference"):
        gh.normalize(photograph, "match")


@pytest.mark.parametrize("gamma", [0.4, 2.2])
def test_gamma_is_the_inverse_of_scikit_images(gamma, photograph):
    got = gh.normalize(photograph, "gamma", gamma=gamma)
    expected = exposure.adjust_gamma(photograph / 255, 1 / gamma)
    assert np.array_equal(got, rounded(expected, 255))


def test_thresholds_equal_scikit_image(photograph, rng):
    gray = photograph[..., 1]
    for name, threshold in [
        ("otsu", filters.threshold_otsu(gray)),
        ("li", filters.threshold_li(gray)),
        ("90", 90),
    ]:
        assert np.array_equal(gh.normalize(gray, "threshold", threshold=name), (gray > threshold) * 255)
    floats = np.concatenate([rng.normal(0, 1, 4000), rng.normal(6, 1, 2000)]).reshape(60, 100)
    got = gh.normalize(floats, "threshold")
    assert np.array_equal(got, floats > filters.threshold_otsu(floats))


def test_robust_is_a_score_about_the_median(rng):
    image = rng.normal(10, 3, (50, 61))
    median = np.median(image)
    deviation = 1.4826 * np.median(np.abs(image - median))
    assert np.allclose(gh.normalize(image, "robust"), (image - median) / deviation, rtol=1e-14, atol=1e-15)
    whole = rng.integers(0, 200, (40, 40), np.uint8)
    median = np.median(whole)
    deviation = 1.4826 * np.median(np.abs(whole - median))
    assert np.array_equal(gh.normalize(whole, "robust"), ((whole - median) / deviation).astype(np.float32))


def test_white_balances(photograph):
    means = photograph.reshape(-1, 3).mean(0)
    factors = means.mean() / means
    expected = np.minimum(np.floor(photograph * factors + 0.5), 255)
    assert np.abs(gh.normalize(photograph, "gray-world").astype(int) - expected).max() <= 1
    assert (gh.normalize(photograph, "gray-world") == expected).mean() > 0.999
    whites = np.percentile(photograph.reshape(-1, 3), 90, axis=0, method="inverted_cdf")
    expected = np.minimum(np.floor(photograph * (whites.max() / whites) + 0.5), 255)
    got = gh.normalize(photograph, "white-patch", percentiles=(1, 90))
    assert (got == expected).mean() > 0.999
    gray = np.ascontiguousarray(photograph[..., 0])
    assert np.array_equal(gh.normalize(gray, "white-patch"), gray)


def test_clahe_makes_tiles_brighter_alone(photograph):
    gray = np.ascontiguousarray(photograph[..., 0])
    flat = gh.normalize(gray, "clahe", clip_limit=0, tiles=(1, 1))
    # One tile without a limit is an equalization by the sums of counts.
    counts = np.bincount(gray.ravel(), minlength=256)
    table = np.rint(np.cumsum(counts).astype(np.float32) * np.float32(255 / gray.size))
    assert np.array_equal(flat, table[gray])
    assert not np.array_equal(gh.normalize(gray, "clahe", clip_limit=2), gh.normalize(gray, "clahe"))
    with pytest.raises(gh.InvalidArgument, match="integers of 8 or 16 bits"):
        gh.normalize(gray.astype(np.float32), "clahe")


def test_background_of_a_ramp_with_spots_is_flat(rng):
    ramp = np.add.outer(np.arange(128.0), 2 * np.arange(160.0)) + 500
    image = ramp.copy()
    spots = rng.random(image.shape) < 0.05
    image[spots] += 300
    flat = gh.normalize(image, "background", tiles=(8, 8))
    inside = np.s_[10:-10, 12:-12]
    assert np.abs(flat[inside][~spots[inside]]).max() < 15
    assert np.median(flat[spots]) == pytest.approx(300, abs=15)
    whole = gh.normalize(image.astype(np.uint16), "background", tiles=(8, 8))
    assert whole.dtype == np.uint16 and whole.max() < 350


def test_parameters_of_other_modes_are_refused(photograph):
    with pytest.raises(gh.InvalidArgument, match="gamma: the mode minmax has no such parameter"):
        gh.normalize(photograph, gamma=2)
    with pytest.raises(TypeError, match="unexpected keyword"):
        gh.normalize(photograph, gama=2)
    with pytest.raises(gh.InvalidArgument, match="needs gamma"):
        gh.normalize(photograph, "gamma")
    with pytest.raises(gh.InvalidArgument, match="stretch: 'cubic' is not linear, sqrt"):
        gh.normalize(photograph, "stretch", stretch="cubic")
    with pytest.raises(gh.InvalidArgument, match="0.001 to 1000"):
        gh.normalize(photograph, "gamma", gamma=-1)


def test_a_lut_keeps_a_curve(photograph):
    lut = gh.Lut.fit([gh.measure(photograph)], "auto-gamma")
    assert np.array_equal(lut.apply(photograph), gh.normalize(photograph, "auto-gamma"))
    with pytest.raises(gh.InvalidArgument, match="has no table"):
        gh.Lut.fit([gh.measure(photograph.astype(np.float32))], "auto-gamma")


@pytest.mark.skipif(not shutil.which("convert"), reason="ImageMagick is not there")
@pytest.mark.parametrize(
    ("options", "mode", "parameters"),
    [
        (["-gamma", "1.8"], "gamma", {"gamma": 1.8}),
        (["-level", "7710,51400,1.5"], "levels", {"levels": (30, 200), "gamma": 1.5}),
        (["-auto-gamma"], "auto-gamma", {}),
        (["-sigmoidal-contrast", "5x40%"], "stretch", {"stretch": "sigmoid=5,0.4"}),
    ],
)
def test_curves_equal_image_magick(options, mode, parameters, photograph, tmp_path):
    gray = np.ascontiguousarray(photograph[..., 0])
    gray[0, :2] = 0, 255  # so that a stretch between the extremes is one over the range
    if mode == "levels":
        gray = np.maximum(gray, np.uint8(30))  # version 6 gets values below black wrong
    gh.write(tmp_path / "in.png", gray)
    words = ["-depth", "16", "-define", "png:bit-depth=16"]
    subprocess.run(["convert", tmp_path / "in.png", *options, *words, tmp_path / "out.png"], check=True)
    expected = gh.read(tmp_path / "out.png")
    assert np.array_equal(gh.normalize(gray, mode, depth="u16", **parameters), expected)
