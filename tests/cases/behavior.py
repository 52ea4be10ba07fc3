"""behavior.py GPUHIST: runs the command on small files and prints each behavior that is not what the guide or an independent tool says.

Files are made by others' libraries for Python; djpeg says which JPEGs are damaged.
"""

import io
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import OpenEXR
import tifffile
from PIL import Image

from command import rows, run

random = np.random.default_rng(5)
cases, faults = 0, []


def stats(out, *words):
    """Result of a run that writes statistics into a directory."""
    return run("-q", *words, "--write", "stats", "-o", out)


def mean(out, channel="gray", file="stats.csv"):
    found = [row for row in rows(f"{out}/{file}") if row["channel"] == channel]
    return float(found[0]["mean"]) if found and found[0]["mean"] else None


def is_near(value, wanted):
    return value is not None and abs(value - wanted) < 1e-3


def case(right, what):
    global cases
    cases += 1
    if not right:
        faults.append(what)
        print("fault:", what)


def write_tiff(name, samples, **more):
    tifffile.imwrite(name, samples, metadata=None, **more)


def nodata_of_the_file():
    dem = random.normal(1500, 200, (70, 80)).astype(np.float32)
    dem[:, :15] = -9999
    write_tiff("dem.tif", dem, extratags=[(42113, "s", 0, "-9999", True)])
    stats("tag", "dem.tif")
    found = mean("tag")
    case(is_near(found, dem[dem != -9999].astype(float).mean()), f"GDAL_NODATA -9999 of the file: mean {found}")
    stats("none", "dem.tif", "--nodata", "none")
    case(is_near(mean("none"), dem.astype(float).mean()), "--nodata none counts what the tag names")


def mask_of_the_file():
    image = np.arange(64, dtype=np.uint8).reshape(8, 8)
    mask = (np.indices((8, 8))[0] < 2).astype(np.uint8) * 255
    with tifffile.TiffWriter("image.tif") as tiff:
        tiff.write(image, photometric="minisblack", metadata=None)
        tiff.write(mask, photometric="minisblack", subfiletype=1, metadata=None)
    with tifffile.TiffFile("image.tif", mode="r+b") as tiff:
        tiff.pages[1].tags["NewSubfileType"].overwrite(4)
        tiff.pages[1].tags["PhotometricInterpretation"].overwrite(4)
    stats("mask", "image.tif")
    case(mean("mask") == 7.5, f"the mask that a TIFF holds: mean {mean('mask')}, 7.5 is right, as GDAL has it")


def stack_behind_one_directory():
    volume = np.arange(1024, dtype=np.uint16).reshape(4, 16, 16)
    tifffile.imwrite("stack.tif", volume, imagej=True, truncate=True)
    stats("stack", "stack.tif", "--pages", "all")
    means = [float(row["mean"]) for row in rows("stack/stats.csv")]
    case(means == [127.5, 383.5, 639.5, 895.5], "an ImageJ stack behind one directory has four pages")


def photograph():
    x, y = np.arange(150), np.arange(120)[:, None]
    planes = np.dstack([y + x, 2 * y + x, y + 2 * x]).astype(np.uint8)
    return planes + random.integers(0, 9, (120, 150, 3), dtype=np.uint8)


def encoded(picture, *arguments, **more):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, *arguments, **more)
    return file.getvalue()


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def damaged_jpegs(picture):
    jpeg = encoded(picture, "JPEG", quality=90)
    begin = jpeg.index(b"\xff\xda") + 14
    warned = measured = 0
    for _ in range(40):
        damaged = bytearray(jpeg)
        at = int(random.integers(begin, len(jpeg) - 40))
        damaged[at : at + 16] = random.bytes(16)
        write("damaged.jpg", damaged)
        if subprocess.run(["djpeg", "-outfile", os.devnull, "damaged.jpg"], capture_output=True, text=True).stderr:
            warned += 1
            measured += stats("damaged", "damaged.jpg").returncode == 0
    case(warned > 0 and measured == 0, f"damaged JPEGs: djpeg warns of {warned}, {measured} of these are measured")
    write("padded.jpg", jpeg[:-2] + bytes(16) + jpeg[-2:])
    padded = run("padded.jpg", "--write", "stats", "-o", "padded")
    case(
        padded.returncode == 0 and "padded.jpg" in padded.stderr,
        "padding (one repeated byte) before the end is measured, and a note names the file",
    )


def missing_tile(picture):
    file = encoded(picture[:96, :96].copy(), "JPEG2000", tile_size=(48, 48), irreversible=False)
    stream = file[file.index(b"\xff\x4f\xff\x51") :]
    tiles = [found.start() for found in re.finditer(b"\xff\x90\x00\x0a", stream)]
    write("tiles.j2k", stream[: tiles[1]] + stream[tiles[2] :])
    case(stats("tiles", "tiles.j2k").returncode != 0, "JPEG 2000 without its second tile of four is refused")


def bands_by_name():
    def write_exr(name, channels):
        header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {band: np.full((4, 4), value, "f4") for band, value in channels.items()}).write(name)

    os.makedirs("bands")
    write_exr("bands/a.exr", {"depth": 1000, "mask": 1})
    write_exr("bands/b.exr", {"N": 0.5, "depth": 3000})
    stats("named", "bands")
    case(
        mean("named", "depth", "dataset.csv") == 2000,
        "bands of a set are pooled by name: depth of {depth, mask} and {N, depth}",
    )
    write_exr("rgbz.exr", {"R": 1, "G": 2, "B": 3, "Z": 9})
    stats("rgbz", "rgbz.exr")
    case(mean("rgbz", "red") == 1 and mean("rgbz", "Z") == 9, "OpenEXR R G B beside Z: colors and a band")


def reduced_copies():
    for name, value, words in (("nodata", -9999, ["--nodata", "-9999"]), ("nan", np.nan, [])):
        write_tiff("row.tif", np.array([[5, 5, 7, value]] * 4, np.float32))
        out = f"reduced.{name}"
        words += ["--normalize", "minmax", "--depth", "u8", "--size", "2"]
        run("row.tif", "-q", *words, "--write", "normalized", "-o", out)
        copy = f"{out}/row.tif.normalized.png"
        got = np.asarray(Image.open(copy))[0].tolist() if os.path.exists(copy) else None
        case(got == [0, 255], f"--size with {name}: {got}, [0, 255] is right")


def mask_changed_before_resuming():
    os.makedirs("set")
    image = np.arange(100, dtype=np.uint8).reshape(10, 10)
    for name in "ac":
        Image.fromarray(image).save(f"set/{name}.png")
    write("set/b.png", b"\x89PNG\r\n\x1a\n")
    words = ["set", "--mask", "mask.png", "--threads", "1"]
    Image.fromarray(image < 50).save("mask.png")
    stats("resumed", *words, "--fail-fast")
    Image.fromarray(image >= 50).save("mask.png")
    stats("resumed", *words, "--resume")
    means = {row["mean"] for row in rows("resumed/stats.csv")}
    case(len(means) == 1, "a mask that changed before --resume: rows of both in one result")


def rectangles():
    os.makedirs("set2")
    Image.fromarray(np.zeros((10, 10), np.uint8)).save("set2/a.png")
    write("none.csv", b"path,name,x,y,w,h\na.png,q,0,0,5,5\n")
    told = run("set2", "--rois", "none.csv", "--write", "stats", "-o", "rectangles")
    case(
        told.returncode != 0 or "none.csv" in told.stderr or rows("rectangles/regions.csv"),
        "lines of --rois that match no image vanish without a word",
    )
    write("marked.csv", b"\xef\xbb\xbfpath,name,x,y,w,h\r\nset2/a.png,q,0,0,5,5\r\n")
    case(stats("marked", "set2", "--rois", "marked.csv").returncode == 0, "--rois with a byte-order mark")


def options_take_one_value(picture):
    Image.fromarray(picture).save("picture.png")
    for words in (["--nodata", "7"], ["--valid", "0,200"], ["--roi", "a=0,0,9,9"]):
        case(stats("options", *words, "picture.png").returncode == 0, " ".join(words) + " FILE")


def many_regions():
    places = np.arange(40000).reshape(200, 200)
    write_tiff("places.tif", places.astype(np.uint16))
    write_tiff("labels.tif", (places // 8 + 1).astype(np.uint16))
    done = stats("new/regions", "places.tif", "--labels", "labels.tif")
    case(done.returncode == 0, "5,000 regions of one image into a new directory")


def bounds_of_floats():
    write_tiff("tenths.tif", np.array([[0.1, 0.2, 0.3]], np.float32))
    stats("tenths", "tenths.tif", "--valid", "0.1,0.3")
    found = rows("tenths/stats.csv")
    case(found and found[0]["valid"] == "3", "--valid 0.1,0.3 of f32 0.1 0.2 0.3: three are valid")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    nodata_of_the_file()
    mask_of_the_file()
    stack_behind_one_directory()
    shown = photograph()
    damaged_jpegs(shown)
    missing_tile(shown)
    bands_by_name()
    reduced_copies()
    mask_changed_before_resuming()
    rectangles()
    options_take_one_value(shown)
    many_regions()
    bounds_of_floats()
    os.chdir("/")
print(f"{cases} cases, {len(faults)} faults")
sys.exit(bool(faults))
