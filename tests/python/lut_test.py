"""Tables of a series: those of the command, and numpy's formulas."""

import pickle

import numpy as np
import pytest
from conftest import of_type
from PIL import Image

import gpuhist as gh

MODES = ("minmax", "percentile", "equalize", "zscore")


@pytest.fixture
def series(tmp_path, rng):
    """Color images of one series, as files and as arrays."""
    images = [rng.integers(40 + i, 200 - 7 * i, (20, 30 + i, 3), np.uint8) for i in range(4)]
    (tmp_path / "series").mkdir()
    for i, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / "series" / f"{i}.png")
    return tmp_path / "series", images


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", ["joint", "separate"])
def test_tables_are_those_of_the_command(series, command, tmp_path, mode, channels):
    folder, images = series
    out = tmp_path / "out"
    command(folder, "--link", "dataset", "--normalize", mode, "--channels", channels, "--lut-out", tmp_path / "a.lut", "-o", out)
    lut = gh.Lut.fit(gh.measure_many(folder), mode, channels=channels)
    lut.save(tmp_path / "b.lut")
    assert (tmp_path / "a.lut").read_bytes() == (tmp_path / "b.lut").read_bytes()
    assert gh.Lut.load(tmp_path / "a.lut") == lut == pickle.loads(pickle.dumps(lut))
    assert (lut.depths, lut.mode) == (["u8"], mode)
    for i, image in enumerate(images):
        (path,) = out.glob(f"{i}.png.normalized.*")
        expected = gh.read(path)
        for found in (lut.apply(image), lut.apply(folder / f"{i}.png"), lut.apply(image[..., ::-1], order="BGR")[..., ::-1]):
            assert np.array_equal(found, expected) and found.dtype == expected.dtype


@pytest.mark.parametrize("name", ["uint8", "uint16", "int16"])
def test_tables_as_numpy_makes_them(rng, name):
    images = [of_type(rng, name, (30, 40)) // 2 + i for i in range(3)]
    together = np.concatenate([image.ravel() for image in images]).astype(np.float64)
    limits = np.iinfo(name)
    scale = (limits.max - limits.min) / (together.max() - together.min())
    lut = gh.Lut.fit(map(gh.measure, images))
    for image in images:
        expected = np.rint((image - together.min()) * scale) + limits.min
        assert np.abs(lut.apply(image) - expected).max() <= (0 if name == "uint8" else 1)
    table = lut.tables()["gray"]
    assert table.dtype == np.float32 and table.size == limits.max - limits.min + 1
    assert np.array_equal(lut.apply(images[0]), table[images[0].astype(np.int64) - limits.min])


def test_floats(rng):
    images = [rng.normal(10 * i, 3, (30, 40)).astype(np.float32) for i in range(3)]
    together = np.concatenate([image.ravel() for image in images])
    lut = gh.Lut.fit(gh.measure(image, detail="values") for image in images)
    low, high = together.min(), together.max()
    assert np.allclose(lut.apply(images[1]), (images[1] - low) / (high - low), atol=1e-6)
    z = gh.Lut.fit([gh.measure(image) for image in images], "zscore")
    assert np.allclose(z.apply(images[2]), (images[2] - together.mean(dtype=np.float64)) / together.std(dtype=np.float64), atol=1e-5)
    assert lut.tables()["gray"].size == 0


def test_a_single_image_is_normalized_as_by_itself(rng):
    image = rng.integers(30, 220, (30, 40, 3), np.uint8)
    for mode in ("minmax", "percentile", "equalize"):
        for channels in ("joint", "separate"):
            options = {"percentiles": (2, 97)} if mode == "percentile" else {}
            lut = gh.Lut.fit([gh.measure(image)], mode, channels=channels, **options)
            assert np.array_equal(lut.apply(image), gh.normalize(image, mode, channels=channels, **options))
    deep = gh.Lut.fit([gh.measure(image)], depth="u16")
    assert np.array_equal(deep.apply(image), gh.normalize(image, depth="u16"))


def test_layouts_out_and_rules(rng):
    image = rng.integers(30, 220, (30, 40, 3), np.uint8)
    lut = gh.Lut.fit(gh.Summary([gh.measure(image)]))
    expected = lut.apply(image)
    planes = lut.apply(np.moveaxis(image, -1, 0), layout="CHW")
    assert np.array_equal(np.moveaxis(planes, 0, -1), expected)
    out = np.zeros_like(image)[::-1]
    assert lut.apply(image, out=out) is out and np.array_equal(out, expected)
    mask = rng.integers(0, 2, image.shape[:2]).astype(bool)
    kept = lut.apply(image, mask=mask, apply_to="valid", threads=1)
    assert np.array_equal(kept, np.where(mask[..., None], expected, image))
    filled = gh.Lut.fit([gh.measure(image)], fill=0).apply(image, nodata=50)
    assert ((filled == 0) == (image == 50)).all()
    alpha = np.concatenate([image, image[..., :1]], -1)
    assert np.array_equal(lut.apply(alpha)[..., 3], alpha[..., 3])
    gray = image[..., 0]
    mixed = gh.Lut.fit(map(gh.measure, [image, gray]))
    assert np.array_equal(mixed.apply(gray), mixed.tables()["gray"][gray])
    assert np.array_equal(mixed.apply(image), mixed.tables()["all"][image])
    with pytest.raises(gh.InvalidArgument, match="no table for gray"):
        lut.apply(gray)


def test_several_depths(rng, tmp_path):
    small, large = rng.integers(0, 99, (9, 9), np.uint8), rng.integers(0, 9999, (9, 9), np.uint16)
    lut = gh.Lut.fit(map(gh.measure, [small, large]))
    assert lut.depths == ["u8", "u16"] and lut.tables("u16")["gray"].size == 65536
    assert lut.apply(large).max() == 65535 and lut.apply(small).max() == 255
    lut.save(tmp_path / "both.lut")
    assert gh.Lut.load(tmp_path / "both.lut") == lut
    with pytest.raises(gh.InvalidArgument, match="^depth: "):
        lut.tables()


def test_what_has_no_table(rng, tmp_path):
    image = rng.integers(0, 256, (9, 9, 3), np.uint8)
    lut = gh.Lut.fit([gh.measure(image)])
    for call, words in (
        (lambda: lut.apply(image.astype(np.uint16)), "no tables for u16 images, only for u8"),
        (lambda: lut.apply(np.zeros((4, 4, 7), np.uint8), layout="HWC"), "bands"),
        (lambda: lut.apply(image, apply_to="valid"), "^apply_to"),
        (lambda: gh.Lut.fit([]), "no tables"),
        (lambda: gh.Lut.fit([gh.measure(np.zeros((4, 4, 7), np.uint8), layout="HWC")]), "no tables"),
        (lambda: gh.Lut.fit([gh.measure(image), gh.measure(image[..., 0])], channels="separate"), "separate"),
        (lambda: gh.Lut.fit([gh.measure(image)], "best"), "mode"),
        (lambda: gh.Lut.fit(gh.measure(image)), "^images: "),
    ):
        with pytest.raises(gh.InvalidArgument, match=words):
            call()
    lut.save(tmp_path / "a.lut")
    damaged = (tmp_path / "a.lut").read_bytes().replace(b"17", b"18", 1)
    (tmp_path / "a.lut").write_bytes(damaged)
    with pytest.raises(gh.IoError, match="a.lut"):
        gh.Lut.load(tmp_path / "a.lut")
    with pytest.raises(FileNotFoundError):
        gh.Lut.load(tmp_path / "none.lut")
