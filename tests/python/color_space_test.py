"""Color spaces: against scikit-image, and the same numbers of arrays, files and the command."""

import csv
import io
import subprocess
import sys

import numpy as np
import pytest
from skimage import color

import gpuhist as gh

SPACES = ("hsv", "ycbcr", "lab", "xyz", "linear", "oklab")


@pytest.fixture(scope="module")
def words():
    return np.random.default_rng(5).integers(0, 65536, (60, 70, 3), np.uint16)


def test_arrays_equal_scikit_image(words):
    fractions = words / 65535
    hsv = gh.convert_colors(words, "hsv")
    assert hsv.dtype == np.float32 and hsv.shape == words.shape
    np.testing.assert_allclose(hsv / (360, 1, 1), color.rgb2hsv(fractions), atol=1e-6)
    # scikit-image has other digits of the white and of the curve.
    np.testing.assert_allclose(gh.convert_colors(words, "lab"), color.rgb2lab(fractions), atol=0.02)
    np.testing.assert_allclose(gh.convert_colors(words, "xyz"), color.rgb2xyz(fractions), atol=1e-6)
    luma = fractions @ (0.299, 0.587, 0.114)
    np.testing.assert_allclose(gh.convert_colors(words, "ycbcr")[..., 0], luma, atol=1e-6)


def test_oklab_has_the_published_values():
    # Of B. Ottosson's page, with three digits; inputs are XYZ, here as the linear colors that give them.
    matrix = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    for xyz, lab in (((0.950, 1, 1.089), (1, 0, 0)), ((1, 0, 0), (0.450, 1.236, -0.019)),
                     ((0, 1, 0), (0.922, -0.671, 0.263)), ((0, 0, 1), (0.153, -1.415, -0.449))):
        light = np.linalg.solve(matrix, xyz).astype(np.float32).reshape(1, 1, 3)
        np.testing.assert_allclose(gh.convert_colors(light, "oklab", linear=True)[0, 0], lab, atol=2e-3)


@pytest.mark.parametrize("space", SPACES)
def test_arrays_files_and_bytes_have_the_same_numbers(space, data):
    path = data / "rocket.jpg"
    pixels = gh.read(path)
    converted = gh.convert_colors(pixels, space)
    names = {"hsv": ["hue", "saturation", "value"], "ycbcr": ["y", "cb", "cr"], "xyz": ["x", "y", "z"],
             "linear": ["linear_red", "linear_green", "linear_blue"]}.get(space, ["lightness", "a", "b"])
    results = [gh.measure(path, space=space), gh.measure(path.read_bytes(), space=space), gh.measure(pixels, space=space),
               next(iter(gh.measure_many([path], space=space))), gh.measure_batch(pixels[None], space=space)[0]]
    for result in results:
        assert list(result) == [*names, "all"]
        for channel, name in enumerate(names):
            plane = converted[..., channel].astype(np.float64)
            assert result[name].min == plane.min() and result[name].max == plane.max()
            assert result[name].mean == pytest.approx(plane.mean(), rel=1e-12, abs=1e-12)
            assert result[name].std == pytest.approx(plane.std(), rel=1e-9)
            assert result[name].median == results[0][name].median


def test_white_of_files_and_of_arguments(tmp_path):
    words = np.random.default_rng(3).integers(0, 1024, (20, 30), np.uint16)
    path = tmp_path / "ten-bits.pgm"
    path.write_bytes(b"P5 30 20 1023\n" + words.astype(">u2").tobytes())
    pixels = gh.read(path)
    assert pixels.white == 1023 and (pixels == words).all()
    expected = gh.convert_colors(words, "oklab", white=1023)
    assert expected.shape == (20, 30, 3)
    assert (gh.convert_colors(pixels, "oklab") == expected).all()
    for result in (gh.measure(path, space="oklab"), gh.measure(pixels, space="oklab"),
                   gh.measure(words, space="oklab", white=1023)):
        assert result["lightness"].max == expected[..., 0].max()
        assert np.abs([result["a"].min, result["b"].max]).max() < 1e-6


def test_regions_and_masks(data):
    pixels = gh.read(data / "rocket.jpg")
    labels = (np.arange(pixels.shape[1]) // 100)[None, :].repeat(pixels.shape[0], 0).astype(np.uint8)
    converted = gh.convert_colors(pixels, "lab")
    for region in gh.regions(pixels, labels, space="lab").values():
        inside = converted[labels == region.label]
        assert region["lightness"].mean == pytest.approx(inside[:, 0].mean(), rel=1e-12)
        assert region["b"].max == inside[:, 2].max()
    masked = gh.measure(pixels, mask=labels, space="lab")
    assert masked["a"].mean == pytest.approx(converted[labels > 0][:, 1].mean(), rel=1e-12)
    assert masked["a"].masked == (labels == 0).sum()


def test_alpha(data):
    pixels = gh.read(data / "rgba.png")
    converted = gh.convert_colors(pixels, "oklab")
    assert converted.shape[2] == 4
    np.testing.assert_allclose(converted[..., 3], pixels[..., 3] / 255, rtol=1e-7)
    row = gh.measure(data / "rgba.png", space="oklab")
    assert row["opacity"].mean == pytest.approx(converted[..., 3].astype(float).mean(), rel=1e-12)
    masked = gh.measure(data / "rgba.png", space="oklab", alpha="mask")
    seen = pixels[..., 3] > 0
    assert masked["lightness"].valid == seen.sum()
    assert masked["lightness"].max == converted[..., 0][seen].max()


def test_refusals(data, words):
    for wrong in ({"space": "cmyk"}, {"space": "lab", "alpha": "weight"}, {"space": "lab", "alpha": "ignore"}):
        with pytest.raises(gh.InvalidArgument):
            gh.measure(words, **wrong)
    with pytest.raises(gh.InvalidArgument, match="s16"):
        gh.measure(words.astype(np.int16), space="lab")
    with pytest.raises(gh.InvalidArgument, match="bands"):
        gh.measure(np.zeros((4, 4, 5), np.uint8), layout="HWC", space="lab")
    with pytest.raises(gh.InvalidArgument, match="not an array"):
        gh.convert_colors(str(data / "rocket.jpg"), "lab")


def test_the_command(command, data, tmp_path):
    out = command(data / "rocket.jpg", "--space", "lab", "--write", "none", "--format", "csv")
    rows = {row["channel"]: row for row in csv.DictReader(io.StringIO(out))}
    assert list(rows) == ["lightness", "a", "b", "all"]
    expected = gh.measure(data / "rocket.jpg", space="lab")
    for name in ("lightness", "a", "b"):
        assert float(rows[name]["mean"]) == expected[name].mean
        assert float(rows[name]["median"]) == expected[name].median


def profile(tag):
    """An ICC profile with only a description."""
    return bytes(128) + (1).to_bytes(4, "big") + b"desc" + (144).to_bytes(4, "big") + len(tag).to_bytes(4, "big") + tag


def described(text):
    return b"desc\0\0\0\0" + (len(text) + 1).to_bytes(4, "big") + text.encode() + b"\0" * 80


def localized(text):
    words = text.encode("utf-16-be")
    head = b"mluc\0\0\0\0" + (1).to_bytes(4, "big") + (12).to_bytes(4, "big") + b"enUS"
    return head + len(words).to_bytes(4, "big") + (28).to_bytes(4, "big") + words


@pytest.mark.parametrize("kind", ["png", "jpg", "tif", "webp"])
def test_profiles_that_are_not_applied_are_told(data, tmp_path, kind):
    Image = pytest.importorskip("PIL.Image")
    photograph = Image.open(data / "rocket.jpg").crop((0, 0, 40, 30))

    def note(name, icc):
        path = tmp_path / f"{name}.{kind}"
        photograph.save(path, icc_profile=icc)
        done = subprocess.run([sys.executable, "-m", "gpuhist", str(path), "--space", "lab", "--write", "none"],
                              capture_output=True, text=True, check=True)
        return done.stderr

    assert "its profile is not applied (Adobe RGB (1998)): its colors are taken for sRGB" in note(
        "adobe", profile(described("Adobe RGB (1998)")))
    assert "its profile is not applied (Display P3)" in note("p3", profile(localized("Display P3")))
    assert "its profile is not applied (without a name)" in note("none", profile(b"odd\0" * 5))
    assert "profile" not in note("srgb", profile(described("sRGB IEC61966-2.1")))
    assert "profile" not in note("no", None)


@pytest.mark.parametrize("space", ["hsv", "ycbcr", "lab", "oklab"])
def test_copies_change_lightness_alone(command, data, tmp_path, space):
    command(data / "rocket.jpg", "--space", space, "--normalize", "equalize", "-o", tmp_path / "out", "-q")
    copy = gh.read(tmp_path / "out" / "rocket.jpg.normalized.png")
    image = gh.read(data / "rocket.jpg")
    assert copy.shape == image.shape and copy.dtype == np.uint8 and copy.samples == "rgb"
    back = gh.convert_colors(copy, space).astype(float)
    light = 2 if space == "hsv" else 0
    white = 1 if space == "oklab" else 255
    expected = gh.normalize(np.ascontiguousarray(gh.convert_colors(image, space)[..., light]), "equalize")
    # Colors that leave the cube are cut off; most others differ by rounding alone.
    away = np.abs(back[..., light] - expected) / white
    assert np.median(away) < 0.004 and (away < 0.03).mean() > 0.8
    if space == "hsv":
        assert (np.abs(back[..., light] - expected) <= 1).all()


def test_copies_of_other_images(command, data, tmp_path):
    for name, mode in (("gray-16bit.png", "percentile"), ("rgb-16bit.png", "stretch"), ("rgba.png", "minmax"),
                       ("float-rgb.tiff", "equalize")):
        for space in ("lab", "linear"):
            out = tmp_path / f"{name}-{space}"
            command(data / name, "--space", space, "-o", out, "-q", "--normalize", mode)
            (copy,) = out.glob("*.normalized.*")
            made, image = gh.read(copy), gh.read(data / name)
            assert made.shape == image.shape and made.dtype == image.dtype
    small = tmp_path / "small"
    command(data / "gray-16bit.png", "--space", "oklab", "--normalize", "minmax", "--size", "50", "--depth", "u8",
        "-o", small, "-q")
    made = gh.read(small / "gray-16bit.png.normalized.png")
    assert made.dtype == np.uint8 and made.ndim == 2 and max(made.shape) == 50
