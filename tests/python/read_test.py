"""Pixels of files, what may be given in their place, and files that are written."""

import errno
import io
import pickle
import shutil

import numpy as np
import pytest
import tifffile
from PIL import Image

import gpuhist as gh


@pytest.fixture(scope="module")
def files(tmp_path_factory, rng):
    """Files of every kind of samples, by their names, with the pixels that another library wrote into them."""
    top = tmp_path_factory.mktemp("files")
    pixels = {}

    def pillow(name, array, mode=None):
        Image.fromarray(array, mode).save(top / name)
        pixels[name] = array

    def tiff(name, array, **how):
        tifffile.imwrite(top / name, array, **how)
        pixels[name] = array

    pillow("gray.png", rng.integers(0, 256, (20, 31), np.uint8))
    pillow("gray16.png", rng.integers(0, 65536, (20, 31)).astype(np.uint16))
    pillow("rgb.png", rng.integers(0, 256, (20, 31, 3), np.uint8))
    pillow("rgba.png", rng.integers(0, 256, (20, 31, 4), np.uint8))
    pillow("la.png", rng.integers(0, 256, (20, 31, 2), np.uint8), "LA")
    pillow("rgb.bmp", rng.integers(0, 256, (20, 31, 3), np.uint8))
    for name in ("int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64"):
        array = rng.normal(0, 100, (20, 31)) + 120
        tiff(f"{name}.tif", np.clip(array, 0, 127).astype(name), photometric="minisblack")
    tiff("rgb32.tif", rng.normal(0, 1, (20, 31, 3)).astype(np.float32), photometric="rgb")
    tiff("bands.tif", rng.integers(0, 65536, (20, 31, 5)).astype(np.uint16), photometric="minisblack", planarconfig="contig")
    return top, pixels


def test_reads_what_others_wrote(files):
    top, pixels = files
    kinds = {"gray": "gray", "la.p": "gray_alpha", "rgb.": "rgb", "rgb3": "rgb", "rgba": "rgba", "band": "bands"}
    for name, expected in pixels.items():
        found = gh.read(top / name)
        assert isinstance(found, gh.Pixels) and found.dtype == expected.dtype and found.path == str(top / name)
        np.testing.assert_array_equal(np.asarray(found), expected, name)
        assert found.samples == kinds.get(name[:4], "gray")
        content = (top / name).read_bytes()
        for other in (content, io.BytesIO(content), open(top / name, "rb")):
            np.testing.assert_array_equal(np.asarray(gh.read(other)), expected, name)
    assert gh.read(top / "rgba.png").alpha == "straight" and gh.read(top / "rgb.png").alpha is None


def test_measured_pixels_are_the_files(files):
    top, pixels = files
    for name in pixels:
        found = gh.read(top / name)
        layout = "HWC" if found.ndim == 3 and found.shape[2] > 4 else None
        expected = gh.measure(top / name)
        one, other = gh.measure(found, layout=layout).to_dict(), expected.to_dict()
        for row in other.values():
            row.pop("alpha", None)
        for row in one.values():
            row.pop("alpha", None)
        assert one == other, name
        assert gh.measure(io.BytesIO((top / name).read_bytes())).to_dict() == expected.to_dict(), name


def test_facts_of_a_file(tmp_path, rng):
    array = rng.integers(0, 4096, (20, 31)).astype(np.uint16)
    array[:3] = 77
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        for _ in range(3):
            file.write(array, extratags=[(42113, "s", 0, "77", False)], metadata=None)
    with pytest.warns(UserWarning, match="the first of its 3 pages"):
        found = gh.read(tmp_path / "a.tif")
    found = gh.read(tmp_path / "a.tif", page=2)
    assert (found.nodata, found.pages, found.white, found.mask) == (77, 3, 65535, None)
    part = pickle.loads(pickle.dumps(found[5:]))
    assert (part.nodata, part.pages) == (77, 3) and part.shape == (15, 31)
    assert type(found + 1) is np.ndarray and type(found.max()) is not gh.Pixels
    assert found.astype(np.float32).white is None
    expected = gh.measure(tmp_path / "a.tif", page=2)
    assert gh.measure(found, nodata=found.nodata).gray == expected.gray
    # 12 bits of a netpbm: white is what the file says.
    (tmp_path / "a.pgm").write_bytes(b"P5 31 20 4095\n" + array.astype(">u2").tobytes())
    deep = gh.read(tmp_path / "a.pgm")
    assert deep.white == 4095 and gh.measure(deep).gray == gh.measure(tmp_path / "a.pgm").gray
    (tmp_path / "b.tif").write_bytes((tmp_path / "a.tif").read_bytes())
    Image.fromarray((array > 100).astype(np.uint8) * 255).save(tmp_path / "b.tif.msk", format="TIFF")
    masked = gh.read(tmp_path / "b.tif", page=1)
    np.testing.assert_array_equal(masked.mask, array > 100)


def test_size_of_pixels(tmp_path, rng):
    planes = rng.integers(0, 9000, (2, 20, 30)).astype(np.uint16)
    sides = {"PhysicalSizeX": 0.325, "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm", "PhysicalSizeXUnit": "µm"}
    tifffile.imwrite(tmp_path / "a.ome.tif", planes, metadata={"axes": "ZYX", **sides})
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        told = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
    right = gh.PixelSize(told["PhysicalSizeX"], told["PhysicalSizeY"], told["PhysicalSizeXUnit"])
    read = gh.read(tmp_path / "a.ome.tif", page=2)
    assert read.pixel_size == right == (0.325, 0.5, "µm") and read.pixel_size.unit == "µm"
    assert pickle.loads(pickle.dumps(read)).pixel_size == read[3:, 2:].pixel_size == right
    measured = gh.measure(tmp_path / "a.ome.tif", page=2)
    assert measured.pixel_size == pickle.loads(pickle.dumps(measured)).pixel_size == right
    assert gh.measure(planes[0]).pixel_size is None and gh.read(gh_bytes(planes[0])).pixel_size is None
    labels = np.arange(600, dtype=np.uint16).reshape(20, 30) // 150
    found = gh.regions(tmp_path / "a.ome.tif", labels, page=1)
    for wide in (False, True):
        frame = found.to_pandas(wide=wide)
        assert list((frame.area * frame.pixel_width * frame.pixel_height).unique()) == [150 * 0.325 * 0.5]
        assert set(frame.pixel_unit) == {"µm"}
    assert not {"pixel_width", "gray_pixel_width"} & set(gh.regions(planes[0], labels).to_pandas(wide=True))
    table = gh.table([tmp_path / "a.ome.tif"]).to_pylist()
    assert [(row["pixel_width"], row["pixel_height"], row["pixel_unit"]) for row in table] == [right]


def gh_bytes(array):
    content = io.BytesIO()
    Image.fromarray(array).save(content, "PNG")
    return content.getvalue()


@pytest.mark.parametrize(("dtype", "nodata"), [("uint64", 2**64 - 1), ("int64", -(2**63))])
def test_nodata_beyond_32_bits(tmp_path, rng, dtype, nodata):
    array = rng.integers(0, 2**31 - 1, (20, 31)).astype(dtype)
    array[3:5, 7:20] = nodata
    tifffile.imwrite(tmp_path / "n.tif", array, extratags=[(42113, "s", 0, str(nodata), False)], metadata=None)
    valid = array[array != array[3, 7]]
    read = gh.read(tmp_path / "n.tif")
    assert np.array_equal(np.asarray(read) != read.nodata, array != array[3, 7])
    assert np.array_equal(np.asarray(read)[np.asarray(read) != read.nodata], valid)
    found = gh.measure(tmp_path / "n.tif").gray
    assert (found.nodata, found.sum, found.max) == (26, sum(valid.tolist()), valid.max())
    with pytest.raises(gh.IoError, match=f"beyond the range of 32 bits: row 3 has {nodata}"):
        gh.measure(tmp_path / "n.tif", nodata="none")


def test_copies_of_files_are_those_of_their_pixels(files, tmp_path):
    top, pixels = files
    for name in ("gray.png", "gray16.png", "rgb.png", "rgba.png", "float32.tif", "bands.tif"):
        layout = "HWC" if pixels[name].ndim == 3 and pixels[name].shape[2] > 4 else None
        expected = gh.normalize(pixels[name], "percentile", layout=layout)
        np.testing.assert_array_equal(gh.normalize(top / name, "percentile"), expected, name)
        np.testing.assert_array_equal(gh.normalize((top / name).read_bytes(), "percentile"), expected, name)
    both = gh.normalize(top / "la.png", "minmax")
    gray = pixels["la.png"][..., 0]
    np.testing.assert_array_equal(both[..., 0], gh.normalize(np.ascontiguousarray(gray), "minmax"))
    np.testing.assert_array_equal(both[..., 1], pixels["la.png"][..., 1])
    # The nodata and the mask of a file are excluded, as in the command's copies.
    array = pixels["uint16.tif"]
    tifffile.imwrite(tmp_path / "n.tif", array, extratags=[(42113, "s", 0, str(array[0, 0]), False)], metadata=None)
    expected = gh.normalize(array, "minmax", nodata=float(array[0, 0]))
    np.testing.assert_array_equal(gh.normalize(tmp_path / "n.tif", "minmax"), expected)
    np.testing.assert_array_equal(gh.normalize(tmp_path / "n.tif", "minmax", nodata="none"), gh.normalize(array, "minmax"))
    mask = array > 100
    Image.fromarray(mask.astype(np.uint8)).save(tmp_path / "mask.png")
    expected = gh.normalize(array, "minmax", mask=mask)
    np.testing.assert_array_equal(gh.normalize(top / "uint16.tif", "minmax", mask=tmp_path / "mask.png"), expected)
    np.testing.assert_array_equal(gh.normalize(top / "uint16.tif", "minmax", mask=mask), expected)


def test_writes_what_others_read(files, tmp_path):
    for name, array in files[1].items():
        if array.ndim == 3 and array.shape[2] == 2:
            continue
        layout = "HWC" if array.ndim == 3 and array.shape[2] > 4 else None
        gh.write(tmp_path / "a.tiff", array, layout=layout)
        np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tiff"), array, name)
        if array.dtype == np.uint8:
            gh.write(tmp_path / "a.png", array)
            np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), array, name)
            if array.ndim == 3:
                gh.write(tmp_path / "a.png", array[..., [2, 1, 0, 3][: array.shape[2]]], order="BGR")
                np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), array, name)
    found = gh.read(files[0] / "la.png")
    gh.write(tmp_path / "la.png", found)
    again = Image.open(tmp_path / "la.png")
    assert again.mode == "LA"
    np.testing.assert_array_equal(np.asarray(again), np.asarray(found))
    with pytest.raises(gh.IoError, match="a.jpg"):
        gh.write(tmp_path / "a.jpg", found)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        gh.write(tmp_path / "nowhere" / "a.png", found)


def test_pillow_images_by_their_mode(rng):
    gray, alpha = rng.integers(0, 256, (2, 20, 31), np.uint8)
    color = rng.integers(0, 256, (20, 31, 3), np.uint8)
    assert gh.measure(Image.fromarray(gray)) == gh.measure(gray)
    assert gh.measure(Image.fromarray(color)) == gh.measure(color)
    wide = rng.integers(0, 65536, (20, 31)).astype(np.uint16)
    assert gh.measure(Image.fromarray(wide)) == gh.measure(wide)
    assert gh.measure(Image.fromarray(wide.astype(np.int32))) == gh.measure(wide.astype(np.int32))
    assert gh.measure(Image.fromarray(wide.astype(np.float32))) == gh.measure(wide.astype(np.float32))
    both = gh.measure(Image.fromarray(np.dstack([gray, alpha]), "LA"))
    assert both.gray == gh.measure(gray).gray and both.to_dict().keys() == {"gray", "alpha"}
    assert both.to_dict()["alpha"]["mean"] == gh.measure(alpha).gray.mean
    picture = Image.fromarray(color)
    for mode, remedy in {"1": "L", "P": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB", "LAB": "RGB"}.items():
        with pytest.raises(gh.InvalidArgument, match=rf'mode {mode}, .*convert\("{remedy}"\)'):
            gh.measure(picture.convert(mode) if mode != "LAB" else Image.new("LAB", (3, 3)))
    for mode, remedy in {"PA": "RGBA", "RGBa": "RGBA", "La": "LA"}.items():
        with pytest.raises(gh.InvalidArgument, match=rf'mode {mode}, .*convert\("{remedy}"\)'):
            gh.measure(Image.new(mode, (3, 3)))
    clear = picture.convert("P")
    clear.info["transparency"] = 3
    with pytest.raises(gh.InvalidArgument, match='convert."RGBA"'):
        gh.normalize(clear)


def test_masked_arrays(rng):
    color = rng.integers(0, 256, (20, 31, 3), np.uint8)
    excluded = rng.random((20, 31)) < 0.3
    expected = gh.measure(color, mask=~excluded)
    masked = np.ma.array(color, mask=np.repeat(excluded[..., None], 3, 2))
    assert gh.measure(masked) == expected
    assert gh.measure(np.moveaxis(masked, -1, 0), layout="CHW") == expected
    assert gh.measure(np.ma.array(color[..., 0], mask=excluded)) == gh.measure(np.ascontiguousarray(color[..., 0]), mask=~excluded)
    assert gh.measure(np.ma.array(color)) == gh.measure(color)
    further = rng.random((20, 31)) < 0.5
    assert gh.measure(masked, mask=further) == gh.measure(color, mask=~excluded & further)
    labels = rng.integers(0, 4, (20, 31))
    assert gh.regions(masked, labels) == gh.regions(color, labels, mask=~excluded)
    masked.mask[3, 4] = [True, False, True]
    with pytest.raises(gh.InvalidArgument, match="different masks"):
        gh.measure(masked)


def test_integers_of_64_bits_are_labels_and_masks(rng):
    image = rng.integers(0, 256, (20, 31), np.uint8)
    labels = rng.integers(0, 9, (20, 31))
    assert labels.dtype == np.int64
    assert gh.regions(image, labels) == gh.regions(image, labels.astype(np.uint8))
    assert gh.measure(image, mask=labels) == gh.measure(image, mask=labels != 0)
    assert gh.measure(image, mask=labels * 256) == gh.measure(image, mask=labels != 0)
    large = labels.astype(np.uint64) + 4_000_000_000
    assert list(gh.regions(image, large)) == sorted(set(large.ravel().tolist()))
    with pytest.raises(gh.InvalidArgument, match="negative"):
        gh.regions(image, labels - 5)
    with pytest.raises(gh.InvalidArgument, match="values from 0 to 8589934592"):
        gh.regions(image, np.where(labels == 1, 1 << 33, 0))


def test_failures_are_pythons_too(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        gh.measure(tmp_path / "nowhere.png")
    error = missing.value
    assert isinstance(error, gh.IoError) and error.kind == "missing" and error.errno == errno.ENOENT
    assert error.filename == str(tmp_path / "nowhere.png") and str(error).startswith(str(tmp_path))
    for call in (gh.read, gh.normalize):
        with pytest.raises(FileNotFoundError) as missing:
            call(tmp_path / "nowhere.png")
        assert missing.value.filename == str(tmp_path / "nowhere.png")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.filename == error.filename and again.kind == "missing"
    assert type(gh.IoError("x", "permission")) is gh.NotPermittedError
    assert issubclass(gh.NotPermittedError, PermissionError)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(gh.IoError) as refused:
        gh.read(tmp_path / "bad.png")
    assert refused.value.errno is None and refused.value.filename == str(tmp_path / "bad.png")


def test_what_is_no_path(data, tmp_path):
    shutil.copy(data / "camera.png", tmp_path / "a.png")
    for call in (gh.measure, gh.read, gh.measure_many, gh.table):
        with pytest.raises(gh.InvalidArgument, match="NUL"):
            call(str(tmp_path / "a.png") + "\0junk")
    content = (tmp_path / "a.png").read_bytes()
    for call in (gh.measure_many, gh.table):
        with pytest.raises(gh.InvalidArgument, match="content of a file"):
            call(content)
        with pytest.raises(gh.InvalidArgument, match="content of a file"):
            call([bytes(tmp_path / "a.png")])
    with open(tmp_path / "a.png", errors="replace") as text, pytest.raises(gh.InvalidArgument, match="'rb'"):
        gh.measure(text)
    with pytest.raises(gh.InvalidArgument, match="one by one"):
        gh.measure_many("s3://bucket/a.png")


def test_urls(data, monkeypatch):
    try:
        import fsspec
    except ImportError:
        with pytest.raises(gh.InvalidArgument, match="package fsspec"):
            gh.measure("memory://a.png")
        return
    with fsspec.open("memory://a.png", "wb") as file:
        file.write((data / "camera.png").read_bytes())
    assert gh.measure("memory://a.png").gray == gh.measure(data / "camera.png").gray
    assert gh.read("memory://a.png").shape == (512, 512)
    with pytest.raises(FileNotFoundError, match="memory://b.png"):
        gh.measure("memory://b.png")
