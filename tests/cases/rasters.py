"""rasters.py GPUHIST: makes rasters and stacks, has gpuhist copy and measure them, and compares what it wrote with GDAL, rasterio and tifffile.

gdalinfo (Debian's package gdal-bin) reads the copies, too, where it is there.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import imagecodecs
import numpy as np
import rasterio
import rasterio.enums
import rasterio.features
import rasterio.transform
import roifile
import tifffile
from PIL import Image

from command import program, rows, run

random = np.random.default_rng(65)
cases, faults = 0, []


def case(right, what):
    global cases
    cases += 1
    if not right:
        faults.append(what)
        print("fault:", what)


def resumed(words, delay):
    """The second of two runs with the output `killed`: it continues the first, which is killed after a delay."""
    shutil.rmtree("killed", ignore_errors=True)
    begun = subprocess.Popen([*words, "-o", "killed"], stderr=subprocess.DEVNULL)
    try:
        begun.wait(delay)
    except subprocess.TimeoutExpired:
        begun.kill()
        begun.wait()
    return subprocess.run([*words, "-o", "killed", "--resume"], capture_output=True, text=True)


def copied(name, out, *words):
    """Path of the copy of an image, as a TIFF; and what gpuhist said."""
    told = run("-q", name, "--write", "normalized", "-o", out, *words)
    case(told.returncode == 0, f"copy of {name} {' '.join(words)}: {told.stderr}")
    return f"{out}/{name}.normalized.tiff"


def facts(path):
    with rasterio.open(path) as file:
        return file.crs, file.transform, file.nodata, file.descriptions, file.profile, file.read(), file.tags()


def gdal_facts(path):
    """What gdalinfo says of a file; nothing where there is no gdalinfo."""
    if not shutil.which("gdalinfo"):
        return None
    return json.loads(subprocess.run(["gdalinfo", "-json", path], capture_output=True, text=True, check=True).stdout)


def make_raster(name, samples, names=(), crs="EPSG:32633", transform=None, **profile):
    transform = transform or rasterio.transform.from_origin(399960.0, 5000040.0, 10.0, 10.0)
    count, height, width = samples.shape
    with rasterio.open(
        name, "w", driver="GTiff", width=width, height=height, count=count, dtype=samples.dtype, crs=crs, transform=transform, **profile
    ) as file:
        file.write(samples)
        for i, text in enumerate(names):
            file.set_band_description(i + 1, text)


def minmax(samples, valid, top):
    """Stretch of all bands by one table, as the guide defines it."""
    low, high = int(samples[valid].min()), int(samples[valid].max())
    wide = samples.astype(object)
    return ((2 * top * (wide - low) + (high - low)) // (2 * (high - low))).astype(samples.dtype)


def georeference():
    scene = random.integers(1, 9000, (4, 70, 90)).astype(np.uint16)
    names = ("B02 <blue> & more", "B03", "B04", "B08")
    make_raster("scene.tif", scene, names, nodata=0, tiled=True, blockxsize=32, blockysize=48, compress="lzw")
    before = facts("scene.tif")
    path = copied("scene.tif", "kept")
    crs, transform, nodata, described, profile, _, _ = facts(path)
    case(crs == before[0] and crs is not None, f"CRS of the copy: {crs}")
    case(transform == before[1], f"transform of the copy: {transform}")
    case(nodata == 0, f"nodata of the copy: {nodata}")
    case(described == names, f"descriptions of the copy: {described}")
    case((profile["blockxsize"], profile["blockysize"], profile["tiled"]) == (32, 48, True), f"tiles of the copy: {profile}")
    case(profile["compress"] == "deflate", f"compression of the copy: {profile.get('compress')}")
    with tifffile.TiffFile(path) as file:
        case(file.pages[0].predictor == 2, "predictor of the copy")
    told = gdal_facts(path)
    if told:
        original = gdal_facts("scene.tif")
        for key in ("size", "coordinateSystem", "geoTransform", "cornerCoordinates"):
            case(told[key] == original[key], f"gdalinfo of the copy: {key} {told[key]}")
        case([band["noDataValue"] for band in told["bands"]] == [0] * 4, "gdalinfo: nodata of the copy")
        case(tuple(band["description"] for band in told["bands"]) == names, "gdalinfo: descriptions of the copy")
    for compression in ("none", "lzw", "zstd"):
        other = copied("scene.tif", f"by_{compression}", "--compression", compression)
        case(np.array_equal(facts(other)[5], facts(path)[5]), f"samples of the copy by {compression}")
        case((facts(other)[4].get("compress") or "none") == compression, f"compression {compression}")


def one_and_three_bands():
    """Rasters that would be PNG have their place on the Earth in a TIFF."""
    for count, dtype in ((1, np.uint8), (3, np.uint8), (1, np.uint16), (3, np.uint16)):
        samples = random.integers(3, 200, (count, 40, 50)).astype(dtype)
        photometric = {"photometric": "rgb"} if count == 3 else {}
        make_raster("few.tif", samples, **photometric)
        case(not os.path.exists("few/few.tif.normalized.png"), "a georeferenced raster as PNG")
        found = facts(copied("few.tif", "few"))
        case(found[:2] == facts("few.tif")[:2], f"georeference of {count} bands of {dtype.__name__}")
        case(np.array_equal(found[5], minmax(samples, samples >= 0, np.iinfo(dtype).max)), f"samples of {count} bands of {dtype.__name__}")
        shutil.rmtree("few")


def transforms():
    """Scale and tiepoint, a rotation, points instead of areas, and ground control points, each in smaller copies."""
    samples = random.random((1, 60, 80)).astype(np.float32)
    rotated = rasterio.Affine(9.5, -3.25, 500000.0, -2.5, -8.75, 4600000.0)
    for name, transform, tags in (("plain", None, {}), ("rotated", rotated, {}), ("points", None, {"AREA_OR_POINT": "Point"})):
        make_raster(f"{name}.tif", samples, transform=transform)
        with rasterio.open(f"{name}.tif", "r+") as file:
            file.update_tags(**tags)
        crs, before = facts(f"{name}.tif")[:2]
        found = facts(copied(f"{name}.tif", f"whole_{name}"))
        case(found[1].almost_equals(before, 1e-9) and found[0] == crs, f"transform: {name}: {found[1]}")
        case(found[6].get("AREA_OR_POINT") == facts(f"{name}.tif")[6].get("AREA_OR_POINT"), f"area or point: {name}")
        small = facts(copied(f"{name}.tif", f"small_{name}", "--size", "20"))
        case(small[5].shape == (1, 15, 20), f"size: {name}: {small[5].shape}")
        wanted = before @ rasterio.Affine.scale(4.0) if hasattr(rasterio.Affine, "__matmul__") else before * rasterio.Affine.scale(4.0)
        case(small[1].almost_equals(wanted, 1e-6), f"transform of a smaller copy: {name}: {small[1]}, not {wanted}")
    points = [rasterio.control.GroundControlPoint(row, col, 10.0 * col, -20.0 * row) for row, col in ((0, 0), (0, 80), (60, 0), (60, 80))]
    with rasterio.open("gcps.tif", "w", driver="GTiff", width=80, height=60, count=1, dtype="float32", gcps=points, crs="EPSG:4326") as file:
        file.write(samples)
    for out, scale, words in (("whole_gcps", 1, ()), ("small_gcps", 4, ("--size", "20"))):
        with rasterio.open(copied("gcps.tif", out, *words)) as file:
            found = sorted((p.row * scale, p.col * scale, p.x, p.y) for p in file.gcps[0])
        case(found == sorted((p.row, p.col, p.x, p.y) for p in points), f"ground control points: {found}")


def turned():
    """A raster that is stored turned: its copy is upright, and each sample keeps its place on the Earth."""
    samples = np.arange(1, 13, dtype=np.uint16).reshape(3, 4) * 1000
    keys = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633)
    for orientation in range(1, 9):
        tifffile.imwrite(
            "turned.tif",
            samples,
            metadata=None,
            extratags=[
                (274, "H", 1, orientation, True),
                (33550, "d", 3, (10.0, 20.0, 0.0), True),
                (33922, "d", 6, (0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0), True),
                (34735, "H", len(keys), keys, True),
            ],
        )
        stored = rasterio.transform.Affine(10.0, 0, 500000.0, 0, -20.0, 4600000.0)
        _, transform, _, _, _, copy, _ = facts(copied("turned.tif", f"turned_{orientation}", "--normalize", "minmax"))
        stretched = minmax(samples, samples > 0, 65535)
        wanted = {tuple(np.round(stored * (x + 0.5, y + 0.5), 6)): int(stretched[y, x]) for y in range(3) for x in range(4)}
        found = {
            tuple(np.round(transform * (x + 0.5, y + 0.5), 6)): int(copy[0, y, x]) for y in range(copy.shape[1]) for x in range(copy.shape[2])
        }
        case(found == wanted, f"places of samples with the orientation {orientation}")


def nodata():
    dem = random.normal(1500, 300, (1, 50, 60)).astype(np.float32)
    dem[0, :9] = -9999
    make_raster("dem.tif", dem, nodata=-9999)
    for words, wanted in (
        ((), -9999),
        (("--fill", "7"), 7),
        (("--depth", "f64"), np.nan),
        (("--depth", "u8", "--fill", "0"), 0),
        (("--depth", "u16", "--fill", "65535"), 65535),
    ):
        path = copied("dem.tif", "nodata_" + "_".join(words), *words)
        _, _, found, _, _, samples, _ = facts(path)
        case(found is not None and (found == wanted or np.isnan(found) and np.isnan(wanted)), f"nodata of the copy {words}: {found}")
        there = np.isnan(samples) if np.isnan(wanted) else samples == wanted
        case(np.array_equal(there, dem == -9999), f"samples without data in the copy {words}")
    case(facts(copied("dem.tif", "ignored", "--nodata", "none"))[2] is None, "nodata that --nodata none makes samples")
    told = run("dem.tif", "--write", "normalized", "-o", "shared", "--depth", "u8")
    case("--fill reserves a value" in told.stderr, f"a note on nodata that samples can have: {told.stderr}")


def other_metadata():
    samples = random.integers(0, 999, (50, 60)).astype(np.uint16)
    profile = bytes(range(256)) * 3
    xml = (
        '<GDALMetadata>\n  <Item name="SENSOR">X &amp; Y</Item>\n  <Item name="STATISTICS_MEAN" sample="0">5</Item>\n'
        '  <Item name="SCALE" sample="0" role="scale">0.5</Item>\n  <Item name="OFFSET" sample="0" role="offset">3</Item>\n'
        '  <Item name="UNITTYPE" sample="0" role="unittype">m</Item>\n</GDALMetadata>'
    )
    tifffile.imwrite(
        "scan.tif",
        samples,
        metadata=None,
        software=False,
        resolution=(300.0, 200.0),
        resolutionunit="CENTIMETER",
        description="a scan",
        datetime="2024:05:06 07:08:09",
        extratags=[(34675, 7, len(profile), profile, True), (315, "s", 0, "A. Artist", True), (42112, "s", 0, xml, True)],
    )
    for words, scale in (((), 1), (("--size", "30"), 2)):
        with tifffile.TiffFile(copied("scan.tif", f"scan_{scale}", "--normalize", "zscore", *words)) as file:
            tags = {tag.name: tag.value for tag in file.pages[0].tags.values()}
        case(bytes(tags["InterColorProfile"]) == profile, "ICC profile of the copy")
        for name, value in (("ImageDescription", "a scan"), ("DateTime", "2024:05:06 07:08:09"), ("Artist", "A. Artist"), ("ResolutionUnit", 3)):
            case(tags[name] == value, f"{name} of the copy: {tags[name]}")
        found = tuple(number / part for number, part in (tags["XResolution"], tags["YResolution"]))
        case(np.allclose(found, (300 / scale, 200 / scale)), f"resolution of the copy: {found}")
        text = tags["GDAL_METADATA"]
        case("SENSOR" in text and "X &amp; Y" in text, f"metadata of the copy: {text}")
        case(not any(word in text for word in ("STATISTICS", "role=")), f"facts about values that are no longer so: {text}")
    case(tifffile.imread("scan_1/scan.tif.normalized.tiff").dtype == np.float32, "depth of the copy")


def overviews():
    make_raster("pyramid.tif", random.integers(0, 99, (1, 256, 256)).astype(np.uint8), tiled=True, blockxsize=64, blockysize=64)
    with rasterio.open("pyramid.tif", "r+") as file:
        file.build_overviews([2, 4], rasterio.enums.Resampling.nearest)
    shutil.copy("pyramid.tif", "pyramid2.tif")
    told = run("pyramid.tif", "pyramid2.tif", "--write", "normalized", "-o", "pyramids")
    case(told.stderr.count("has no overviews") == 1, f"a note on overviews, once: {told.stderr}")
    with rasterio.open("pyramids/pyramid.tif.normalized.tiff") as file:
        case(file.overviews(1) == [], "overviews of the copy")


def in_strips():
    """A raster that is larger than the memory has the copy that a smaller one has."""
    samples = random.integers(5, 60000, (1, 3000, 3000)).astype(np.uint16)
    samples[0, :100] = 0
    make_raster("large.tif", samples, nodata=0, tiled=True, blockxsize=256, blockysize=256)
    small, whole = copied("large.tif", "strips", "--memory", "16M", "--depth", "u8"), copied("large.tif", "whole", "--depth", "u8")
    with open(small, "rb") as a, open(whole, "rb") as b:
        case(a.read() == b.read(), "the copy of a raster in strips")
    case(facts(small)[:3] == facts(whole)[:3] and facts(small)[1] == facts("large.tif")[1], "georeference of a copy in strips")


def channels_of(out):
    return [(row["path"], row["channel"], float(row["mean"])) for row in rows(f"{out}/stats.csv")]


def channels_by_name():
    """Channels of OME-XML and ImageJ, in every order of planes."""
    names = ["DAPI", "GFP & more", "c0"]
    called = ["DAPI", "GFP & more", "band:c0"]
    for axes in ("TZCYX", "TCZYX", "ZTCYX", "CTZYX", "CZTYX", "ZCTYX"):
        sizes = {"T": 2, "Z": 4, "C": 3, "Y": 20, "X": 30}
        samples = random.integers(0, 4000, [sizes[axis] for axis in axes]).astype(np.uint16)
        tifffile.imwrite("cells.ome.tif", samples, metadata={"axes": axes, "Channel": {"Name": names}})
        shutil.rmtree("names", ignore_errors=True)
        told = run("-q", "cells.ome.tif", "--pages", "all", "--write", "stats", "-o", "names", "--nodata", "DAPI:7")
        case(told.returncode == 0, f"OME-XML {axes}: {told.stderr}")
        order = np.moveaxis(np.broadcast_to(np.arange(3)[:, None, None], (3, 2, 4)), (0, 1, 2), [axes.index(axis) for axis in "CTZ"]).ravel()
        planes = samples.reshape(-1, 20, 30)
        wanted = [
            (f"cells.ome.tif#{i + 1}", called[c], float(np.mean(planes[i][(c != 0) | (planes[i] != 7)]))) for i, c in enumerate(order)
        ]
        found = channels_of("names")
        case([one[:2] for one in found] == [one[:2] for one in wanted], f"channels of OME-XML {axes}: {[one[1] for one in found]}")
        case(np.allclose([one[2] for one in found], [one[2] for one in wanted]), f"--nodata DAPI:7 {axes}")
        pooled = {row["channel"]: float(row["mean"]) for row in rows("names/dataset.csv")}
        for c, name in enumerate(called):
            mine = planes[order == c]
            case(np.isclose(pooled.get(name, -1), mine[(c != 0) | (mine != 7)].mean()), f"pooled channel {name} of OME-XML {axes}: {pooled}")
    frames = random.integers(0, 4000, (3, 2, 20, 30)).astype(np.uint16)
    tifffile.imwrite("fiji.tif", frames, imagej=True, metadata={"axes": "ZCYX", "Labels": ["Nuclei", "Blätter"] * 3})
    run("-q", "fiji.tif", "--pages", "all", "--write", "stats", "-o", "fiji")
    case([one[1] for one in channels_of("fiji")] == ["Nuclei", "Blätter"] * 3, f"labels of ImageJ: {channels_of('fiji')}")
    tifffile.imwrite("slices.tif", frames, imagej=True, metadata={"axes": "ZCYX", "Labels": [f"slice {i}" for i in range(6)]})
    run("-q", "slices.tif", "--pages", "all", "--write", "stats", "-o", "slices")
    case({one[1] for one in channels_of("slices")} == {"gray"}, "labels of ImageJ that name no channel")
    # What is measured of gray is measured of a channel with a name, too.
    tifffile.imwrite("plain.tif", frames[0, 0], metadata=None)
    for name, words in (("fiji.tif", ("--pages", "1")), ("plain.tif", ())):
        run("-q", name, *words, "--quality", "--write", "stats", "-o", f"quality_{name}")
    named, plain = rows("quality_fiji.tif/quality.csv"), rows("quality_plain.tif/quality.csv")
    case(named and [{**row, "path": ""} for row in named] == [{**row, "path": ""} for row in plain], "quality of a channel with a name")
    told = run("-q", "fiji.tif", "--pages", "all", "--link", "dataset", "--write", "normalized", "-o", "linked")
    case(told.returncode == 0, f"one table for channels with names: {told.stderr}")
    case(np.array_equal(tifffile.imread("linked/fiji.tif.normalized.tiff"), minmax(frames, frames >= 0, 65535)), "copies by one table")


def stretched(planes):
    return np.stack([minmax(plane, plane >= 0, np.iinfo(plane.dtype).max) for plane in planes.reshape(-1, *planes.shape[-2:])]).reshape(planes.shape)


def stacks():
    """Stacks in, stacks out: the copy has the pages, the axes and the units of the stack."""
    frames = random.integers(0, 4000, (2, 3, 2, 20, 30)).astype(np.uint16)
    imagej = {"axes": "TZCYX", "unit": "um", "spacing": 2.5, "finterval": 0.5, "min": 3.0, "max": 9.0}
    tifffile.imwrite("fiji.tif", frames, imagej=True, resolution=(4.0, 5.0), metadata=imagej)
    ome = {"axes": "TZCYX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "PhysicalSizeY": 0.5, "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite("cells.ome.tif", frames, metadata=ome, tile=(16, 16))
    tifffile.imwrite("shaped.tif", frames.reshape(12, 20, 30), metadata={"axes": "QYX"})
    tifffile.imwrite("colors.tif", random.integers(0, 255, (3, 20, 30, 3)).astype(np.uint8), photometric="rgb", metadata=None)
    told = run("-q", "fiji.tif", "cells.ome.tif", "shaped.tif", "colors.tif", "--pages", "all", "--write", "normalized,stats", "-o", "stacks")
    case(told.returncode == 0, f"stacks: {told.stderr}")
    there = sorted(name for name in os.listdir("stacks") if "normalized" in name)
    case(there == [f"{name}.normalized.tiff" for name in ("cells.ome.tif", "colors.tif", "fiji.tif", "shaped.tif")], f"files of stacks: {there}")
    for name in ("fiji.tif", "cells.ome.tif", "shaped.tif"):
        with tifffile.TiffFile(f"stacks/{name}.normalized.tiff") as file, tifffile.TiffFile(name) as original:
            case(len(file.pages) == 12 and len(file.series) == 1, f"{name}: {len(file.pages)} pages, {len(file.series)} series")
            case(file.series[0].axes == original.series[0].axes, f"{name}: axes {file.series[0].axes}")
            case(np.array_equal(file.asarray(), stretched(original.asarray())), f"{name}: samples")
            case(file.is_imagej == original.is_imagej and file.is_ome == original.is_ome, f"{name}: kind")
            if file.is_imagej:
                found = file.imagej_metadata
                case(found["unit"] == "um" and found["spacing"] == 2.5 and found["finterval"] == 0.5, f"{name}: {found}")
                case("min" not in found and "max" not in found, f"{name}: the range of other values: {found}")
                case(file.pages[0].predictor == 1 and file.pages[0].compression == 8, f"{name}: a predictor")
    with tifffile.TiffFile("stacks/colors.tif.normalized.tiff") as file:
        case(file.asarray().shape == (3, 20, 30, 3), f"colors.tif: {file.asarray().shape}")
    found = tifffile.xml2dict(tifffile.TiffFile("stacks/cells.ome.tif.normalized.tiff").ome_metadata)["OME"]["Image"]["Pixels"]
    case(found["PhysicalSizeX"] == 0.25 and [one["Name"] for one in found["Channel"]] == ["DAPI", "GFP"], f"OME-XML of the copy: {found}")
    with tifffile.TiffFile("stacks/cells.ome.tif.normalized.tiff") as file:
        case(file.pages[3].is_tiled and file.pages[3].tile == (16, 16), "tiles of a stack")

    # Smaller and in another type.
    run("-q", "fiji.tif", "cells.ome.tif", "--pages", "all", "--write", "normalized", "-o", "small", "--size", "15", "--depth", "f32")
    with tifffile.TiffFile("small/fiji.tif.normalized.tiff") as file:
        case(file.asarray().shape == (2, 3, 2, 10, 15) and file.asarray().dtype == np.float32, f"smaller: {file.asarray().shape}")
        tags = file.pages[0].tags
        case(np.isclose(tags["XResolution"].value[0] / tags["XResolution"].value[1], 2.0), "resolution of a smaller stack")
    with tifffile.TiffFile("small/cells.ome.tif.normalized.tiff") as file:
        found = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        case(file.series[0].axes == "TZCYX" and file.asarray().shape == (2, 3, 2, 10, 15), f"smaller OME: {file.series[0].shape}")
        case((found["PhysicalSizeX"], found["PhysicalSizeY"], found["Type"]) == (0.5, 1.0, "float"), f"OME-XML of a smaller copy: {found}")

    # Some pages alone: nothing says that there are others.
    run("-q", "fiji.tif", "cells.ome.tif", "--pages", "2-4", "--write", "normalized", "-o", "some")
    for name in ("fiji.tif", "cells.ome.tif"):
        with tifffile.TiffFile(f"some/{name}.normalized.tiff") as file:
            case(len(file.pages) == 3 and not file.is_imagej and not file.is_ome, f"three pages of {name}")
            case(np.array_equal(file.asarray(), stretched(frames.reshape(12, 20, 30)[1:4])), f"samples of three pages of {name}")
    run("-q", "fiji.tif", "--pages", "all", "--split-pages", "--write", "normalized", "-o", "split")
    case(len([name for name in os.listdir("split") if name.endswith(".normalized.png")]) == 12, f"--split-pages: {os.listdir('split')}")


def unlike_pages():
    """Pages of other sides or types are files of their own; a damaged one is missing, and the others are there."""
    pages = [random.integers(0, 255, shape).astype(kind) for shape, kind in (((20, 30), "u1"), ((10, 30), "u1"), ((20, 30), "u1"), ((20, 30), "u2"))]
    with tifffile.TiffWriter("mixed.tif") as file:
        for page in pages:
            file.write(page, metadata=None, compression="deflate")
    told = run("mixed.tif", "--pages", "all", "--write", "normalized", "-o", "mixed")
    there = sorted(name for name in os.listdir("mixed") if "normalized" in name)
    case(there == ["mixed.tif.normalized.tiff", "mixed.tif.p2.normalized.tiff", "mixed.tif.p4.normalized.tiff"], f"unlike pages: {there}")
    case("2 of its pages have other sides" in told.stderr, f"a note on unlike pages: {told.stderr}")
    case(np.array_equal(tifffile.imread("mixed/mixed.tif.normalized.tiff", key=[0, 1]), stretched(np.stack([pages[0], pages[2]]))), "alike pages")
    case(np.array_equal(tifffile.imread("mixed/mixed.tif.p4.normalized.tiff"), stretched(pages[3][None])[0]), "a page of another type")
    with tifffile.TiffFile("mixed.tif") as file:
        place = file.pages[2].dataoffsets[0]
    with open("mixed.tif", "r+b") as file:
        file.seek(place + 3)
        file.write(b"damaged")
    told = run("mixed.tif", "--pages", "all", "--write", "normalized,stats", "-o", "mixed")
    case(told.returncode == 1 and "mixed.tif#3" in told.stderr, f"a damaged page: {told.returncode} {told.stderr}")
    case(np.array_equal(tifffile.imread("mixed/mixed.tif.normalized.tiff"), stretched(pages[0][None])[0]), "the pages that are not damaged")


def resumed_stack():
    """A run that is killed and resumed writes the stacks of one that is not; whenever it is killed."""
    for k in range(3):
        tifffile.imwrite(f"s{k}.tif", random.integers(0, 60000, (12, 300, 300)).astype(np.uint16), metadata=None)
    words = [program, "--engine", "cpu", "-q", "s0.tif", "s1.tif", "s2.tif", "--pages", "all", "--write", "normalized,stats", "--checkpoint", "0", "--threads", "2"]
    start = time.monotonic()
    subprocess.run([*words, "-o", "whole"], check=True)
    whole = time.monotonic() - start
    for delay in [whole * part / 12 for part in range(1, 13)]:
        done = resumed(words, delay)
        case(done.returncode == 0, f"resumed after {delay} s: {done.stderr}")
        there = sorted(os.listdir("killed"))
        case(there == sorted(os.listdir("whole")), f"files after {delay} s: {there}")
        for k in range(3):
            with open(f"whole/s{k}.tif.normalized.tiff", "rb") as a, open(f"killed/s{k}.tif.normalized.tiff", "rb") as b:
                case(a.read() == b.read(), f"stack {k} after {delay} s")


def means_of_regions(out):
    return {(row["path"], row["region"]): float(row["mean"] or "nan") for row in rows(f"{out}/regions.csv")}


def companions_by_pattern():
    """Label images and masks that lie beside images, by patterns; labels of every type."""
    os.makedirs("plate/a")
    os.makedirs("masks")
    images, cells, nuclei = {}, {}, {}
    for name, stem in (("plate/one.ome.tif", "one"), ("plate/a/two.png", "two"), ("plate/a/three.v2.tif", "three.v2")):
        images[name] = random.integers(0, 255, (30, 40)).astype(np.uint8)
        cells[name] = random.integers(0, 4, (30, 40))
        nuclei[name] = cells[name] * (random.random((30, 40)) < 0.3)
        if name.endswith(".png"):
            Image.fromarray(images[name]).save(name)
        else:
            tifffile.imwrite(name, images[name], metadata=None)
        tifffile.imwrite(f"masks/{stem}_cp_masks.tif", cells[name].astype(np.uint16), metadata=None)
        tifffile.imwrite(f"masks/{stem}_nuclei.tif", nuclei[name].astype(np.float32), metadata=None)
        Image.fromarray((cells[name] != 2).astype(np.uint8)).save(f"{os.path.dirname(name)}/{stem}_mask.png")
    listed = [word for name in images for word in [name]]
    told = run("-q", *listed, "--labels", "masks/{stem}_cp_masks.tif", "--mask", "{dir}/{stem}_mask.png", "--write", "stats", "-o", "one_map")
    case(told.returncode == 0, f"labels by pattern: {told.stderr}")
    wanted = {(name, str(k)): images[name][(cells[name] == k)].mean() for name in images for k in (1, 3)}
    found = {key: mean for key, mean in means_of_regions("one_map").items() if key[1] != "2"} if rows("one_map/regions.csv") else {}
    case(found.keys() == wanted.keys() and all(np.isclose(found[key], wanted[key]) for key in wanted), f"regions by pattern: {found}")
    told = run("-q", *listed, "--labels", "cells=masks/{stem}_cp_masks.tif,nuclei=masks/{stem}_nuclei.tif", "--write", "stats", "-o", "two_maps")
    case(told.returncode == 0, f"two label images: {told.stderr}")
    wanted = {
        (name, f"{of}:{k}"): images[name][labels[name] == k].mean() for of, labels in (("cells", cells), ("nuclei", nuclei)) for name in images for k in (1, 2, 3)
    }
    found = means_of_regions("two_maps")
    case(found.keys() == wanted.keys() and all(np.isclose(found[key], wanted[key]) for key in wanted), f"regions of two label images: {found}")
    os.remove("masks/two_nuclei.tif")
    told = run("-q", *listed, "--labels", "n=masks/{stem}_nuclei.tif", "--write", "stats", "-o", "missing")
    case("plate/a/two.png: there is no label image for it: masks/two_nuclei.tif" in told.stderr and told.returncode == 1, told.stderr)
    case({path for path, _ in means_of_regions("missing")} == set(images) - {"plate/a/two.png"}, "regions of the other images")
    for words, text in (
        (("--labels", "masks/{steam}.tif"), "'{steam}' in masks/{steam}.tif is unknown"),
        (("--labels", "a=masks,masks"), "'masks' is not NAME=FILE"),
        (("--labels", "a=masks,a=masks"), "two label images have the name 'a'"),
        (("--mask", "{stem"), "'{' without '}'"),
    ):
        told = run("-q", listed[0], *words)
        case(told.returncode == 2 and text in told.stderr, f"{words}: {told.stderr}")
    image, labels = images["plate/one.ome.tif"], cells["plate/one.ome.tif"]
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float16, np.float32, np.float64):
        tifffile.imwrite("labels.tif", labels.astype(kind), metadata=None)
        run("-q", "plate/one.ome.tif", "--labels", "labels.tif", "--write", "stats", "-o", "types")
        found = means_of_regions("types")
        case(all(np.isclose(found.get(("plate/one.ome.tif", str(k)), -1), image[labels == k].mean()) for k in (1, 2, 3)), f"labels of {kind.__name__}")
    for value, kind in ((1.5, np.float32), (-1.0, np.float64), (np.nan, np.float32), (-3, np.int16)):
        wrong = labels.astype(kind)
        wrong[2, 5] = value
        tifffile.imwrite("labels.tif", wrong, metadata=None)
        told = run("-q", "plate/one.ome.tif", "--labels", "labels.tif", "--write", "stats", "-o", "types")
        case(told.returncode == 1 and "plate/one.ome.tif: " in told.stderr, f"the label {value}: {told.stderr}")


def archives():
    """Images in archives have the rows of the same images in a directory."""
    os.makedirs("set/deep/.hidden")
    names = []
    for i in range(40):
        name = f"set/{'deep/' if i % 3 else ''}{i:03}.{'left' if i % 2 else 'right'}.png"
        Image.fromarray(random.integers(0, 255, (30 + i, 40)).astype(np.uint8)).save(name)
        names.append(name)
    tifffile.imwrite("set/deep/pages.tif", random.integers(0, 9000, (3, 20, 30)).astype(np.uint16), photometric="minisblack", metadata=None)
    Image.fromarray(random.integers(0, 255, (300, 400, 3)).astype(np.uint8)).save("set/photo.jpg", quality=90)
    names += ["set/photo.jpg", "set/deep/pages.tif"]
    shutil.copy(names[0], "set/deep/.hidden/x.png")
    with open("set/readme.txt", "w") as file:
        file.write("no image")
    random.shuffle(names)
    everything = [*names, "set/readme.txt", "set/deep/.hidden/x.png"]
    for end, mode in ((".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz"), (".tar.xz", "w:xz"), (".tar.bz2", "w:bz2")):
        with tarfile.open(f"data{end}", mode) as file:
            for name in everything:
                file.add(name)
    with zipfile.ZipFile("data.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name in everything:
            file.write(name)
    with open("data.tar", "rb") as plain, open("data.tar.zst", "wb") as packed:
        packed.write(imagecodecs.zstd_encode(plain.read()))
    run("-q", "set", "--write", "stats", "-o", "unpacked")
    plain = {row["path"] + row["channel"]: {**row, "path": ""} for row in rows("unpacked/stats.csv")}
    case(len(plain) == 46, f"rows of the directory: {len(plain)}")
    for end in (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip"):
        archive, out = f"data{end}", f"from{end}"
        told = run("-q", archive, "--write", "stats", "-o", out, "--memory", "20M")
        case(told.returncode == 0, f"{archive}: {told.stderr}")
        found = rows(f"{out}/stats.csv")
        order = list(dict.fromkeys(row["path"] for row in found))
        case(order == [f"{archive}/{name}" for name in names], f"order of {archive}: {order[:3]} …")
        case({row["path"].removeprefix(archive + "/") + row["channel"]: {**row, "path": ""} for row in found} == plain, f"rows of {archive}")
        with open(f"{out}/dataset.csv") as a, open("unpacked/dataset.csv") as b:
            case(a.read() == b.read(), f"numbers of the set in {archive}")

    for k in (1, 2, 3):
        run("-q", "data.tar", "--shard", f"{k}/3", "--write", "stats", "-o", "parts")
    subprocess.run([program, "merge", "-q", "parts", "-o", "merged"], capture_output=True)
    with open("merged/stats.csv") as a, open("from.tar/stats.csv") as b:
        case(a.read() == b.read(), "shards of an archive")
    for archive in ("data.tar", "data.tar.gz", "data.zip"):
        told = subprocess.run([program, "manifest", archive, "-q", "-o", f"{archive}.list"], capture_output=True, text=True)
        case(told.returncode == 0, f"manifest of {archive}: {told.stderr}")
        with open(f"{archive}.list") as file:
            lines = [json.loads(line) for line in file.read().splitlines()[:-1]]
        case([line["path"] for line in lines] == [f"{archive}/{name}" for name in names], f"lines of {archive}: {lines[:2]} …")
        case(archive == "data.zip" or [line["bytes"] for line in lines] == [os.path.getsize(name) for name in names], f"lengths in {archive}")
        for k in (1, 2, 3):
            run("--manifest", f"{archive}.list", "-q", "--shard", f"{k}/3", "--write", "stats", "-o", f"lines of {archive}")
        subprocess.run([program, "merge", f"lines of {archive}", "-q", "-o", f"merged {archive}"], capture_output=True)
        with open(f"merged {archive}/stats.csv") as a, open(f"from{archive[4:]}/stats.csv") as b:
            case(a.read() == b.read(), f"shards of the manifest of {archive}")
    shutil.copy("data.tar", "grown.tar")
    subprocess.run([program, "manifest", "grown.tar", "-q", "-o", "grown.list"], capture_output=True)
    with tarfile.open("grown.tar", "a") as file:
        file.add("set/photo.jpg", "another.jpg")
    told = run("--manifest", "grown.list", "-q", "--write", "stats", "-o", "grown")
    case(told.returncode == 1 and "was changed after it was listed" in told.stderr, f"an archive that grew: {told.stderr}")
    run("-q", "data.tar", "--include", "*.left.png", "--write", "stats", "-o", "left")
    case({row["path"] for row in rows("left/stats.csv")} == {f"data.tar/{name}" for name in names if ".left." in name}, "--include in an archive")
    run("-q", "data.zip", "--pages", "all", "--write", "stats,normalized", "-o", "paged")
    case([row["path"] for row in rows("paged/stats.csv") if "pages" in row["path"]] == [f"data.zip/set/deep/pages.tif#{i}" for i in (1, 2, 3)], "pages in an archive")
    case(tifffile.imread("paged/set/deep/pages.tif.normalized.tiff").shape == (3, 20, 30), "copies of pages in an archive")
    told = run("data.tar", "--dry-run")
    case(told.stdout.split("\n")[:-1] == [f"data.tar/{name}" for name in names], "--dry-run of an archive")
    with tarfile.open("web.tar", "w") as file:
        for key in ("a/01", "a/02", "b/01"):
            for part in ("left.png", "right.seg.png"):
                file.add(names[0] if part == "left.png" and names[0].endswith(".png") else next(name for name in names if name.endswith(".png")), f"{key}.{part}")
    run("-q", "web.tar", "--group-by", "key", "--write", "stats", "-o", "keys")
    groups = {row["group"]: row["images"] for row in rows("keys/dataset.csv") if row["group"]}
    case(groups == {f"web.tar/{key}": "2" for key in ("a/01", "a/02", "b/01")}, f"keys of WebDataset: {groups}")

    # A run that is killed goes on.
    words = [program, "--engine", "cpu", "-q", "data.tar.gz", "--write", "stats", "--checkpoint", "0", "--threads", "1"]
    for delay in (0.03, 0.06, 0.1, 0.2):
        done = resumed(words, delay)
        with open("killed/stats.csv") as a, open("from.tar.gz/stats.csv") as b:
            case(done.returncode == 0 and a.read() == b.read(), f"an archive after {delay} s: {done.stderr}")

    # Damage costs what it hits.
    with open("data.tar", "rb") as file:
        whole = file.read()
    with tarfile.open("data.tar") as file:
        members = file.getmembers()
    spoiled = bytearray(whole)
    spoiled[members[5].offset_data + 60] ^= 0xFF
    with open("spoiled.tar", "wb") as file:
        file.write(spoiled)
    told = run("spoiled.tar", "-q", "--write", "stats", "-o", "spoiled")
    others = [name for name in names if name != members[5].name]
    case(told.returncode == 1 and f"spoiled.tar/{members[5].name}: damaged" in told.stderr, f"a damaged member: {told.stderr}")
    case(list(dict.fromkeys(row["path"] for row in rows("spoiled/stats.csv"))) == [f"spoiled.tar/{name}" for name in others], "members that are not damaged")
    with open("cut.tar", "wb") as file:
        file.write(whole[: members[7].offset_data + 100])
    told = run("cut.tar", "-q", "--write", "stats", "-o", "cut")
    case(told.returncode == 1 and "cut.tar" in told.stderr and "truncated" in told.stderr, f"an archive that is cut: {told.stderr}")
    case(list(dict.fromkeys(row["path"] for row in rows("cut/stats.csv"))) == [f"cut.tar/{name}" for name in names[:7]], "members before the cut")
    for name, content in (("none.tar", b""), ("text.zip", b"no archive at all" * 99), ("empty.tar", bytes(10240))):
        with open(name, "wb") as file:
            file.write(content)
        told = run(name, "-q", "--write", "stats", "-o", "none")
        case(told.returncode == 1 and f"{name}: " in told.stderr, f"{name}: {told.returncode} {told.stderr}")
    told = run("data.tar", "-q", "--write", "stats", "-o", "few", "--memory", "1M")
    case(told.returncode in (0, 1), f"an archive in little memory: {told.stderr}")


def imagej_masks():
    """Regions that ImageJ saved have the pixels that it filled."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "imagej")
    image = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64)  # no two sets of pixels have all these numbers
    tifffile.imwrite("numbered.tif", image, metadata=None)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".roi"))
    case(len(names) == 8, f"regions of ImageJ: {names}")
    for name in names:
        filled = image[np.asarray(Image.open(os.path.join(folder, name[:-4] + ".png"))) == 255].astype(float)
        told = run("-q", "numbered.tif", "--rois", os.path.join(folder, name), "--write", "stats", "-o", "of_imagej")
        case(told.returncode == 0, f"{name}: {told.stderr}")
        (row,) = rows("of_imagej/regions.csv")
        found = [float(row[column]) for column in ("area", "min", "max", "mean", "std")]
        case(np.allclose(found, [filled.size, filled.min(), filled.max(), filled.mean(), filled.std()], rtol=1e-12), f"{name}: {found}")


def outlines():
    """Regions of ImageJ, and polygons of GeoJSON: their pixels are those whose centers are inside."""
    image = random.integers(0, 60000, (60, 80)).astype(np.uint16)
    tifffile.imwrite("field.tif", image, metadata=None)
    height, width = image.shape
    xs, ys = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)

    def of_polygon(points):
        """Pixels by rasterio, whose coordinates are those of areas."""
        shape = {"type": "Polygon", "coordinates": [[*map(tuple, points), tuple(points[0])]]}
        return rasterio.features.rasterize([(shape, 1)], (height, width)) == 1

    regions, masks = {}, {}
    for k in range(30):
        count = int(random.integers(3, 9))
        angles = np.sort(random.random(count)) * 2 * np.pi
        points = np.stack([40 + np.cos(angles) * random.integers(5, 38, count), 30 + np.sin(angles) * random.integers(5, 28, count)], 1)
        points = np.round(points, 2) + 0.003 if k % 2 else np.round(points)
        if abs(np.sum(points[:, 0] * np.roll(points[:, 1], 1) - points[:, 1] * np.roll(points[:, 0], 1))) < 20:
            continue
        name = f"cell {k:02}"
        one = roifile.ImagejRoi.frompoints(points.astype(np.float32 if k % 2 else np.int16), name=name)
        one.roitype = (roifile.ROI_TYPE.POLYGON, roifile.ROI_TYPE.FREEHAND, roifile.ROI_TYPE.TRACED)[k % 3]
        regions[name], masks[name] = one, of_polygon(points.astype(np.float32).astype(float))
    box = roifile.ImagejRoi(roitype=roifile.ROI_TYPE.RECT, left=7, top=5, right=30, bottom=21, name="box")
    regions["box"], masks["box"] = box, (xs > 7) & (xs < 30) & (ys > 5) & (ys < 21)
    oval = roifile.ImagejRoi(roitype=roifile.ROI_TYPE.OVAL, left=10, top=12, right=45, bottom=40, name="oval")
    regions["oval"], masks["oval"] = oval, ((xs - 27.5) / 17.5) ** 2 + ((ys - 26) / 14) ** 2 <= 1
    os.makedirs("rois")
    with zipfile.ZipFile("rois/field.zip", "w") as file:
        for name, one in regions.items():
            file.writestr(f"{name}.roi", one.tobytes())

    def compared(out, words, wanted):
        told = run("-q", "field.tif", *words, "--write", "stats", "-o", out)
        case(told.returncode == 0, f"{words}: {told.stderr}")
        found = {row["region"]: (int(row["area"]), float(row["mean"])) for row in rows(f"{out}/regions.csv")}
        case(list(found) == list(wanted), f"regions of {words}: {list(found)}")
        for name, mask in wanted.items():
            case(name in found and found[name][0] == mask.sum() and np.isclose(found[name][1], image[mask].mean()), f"{name} of {words}: {found.get(name)}, not {mask.sum()}")
        return rows(f"{out}/regions.csv")

    first = compared("rois_of_all", ("--rois", "rois/field.zip"), masks)
    compared("rois_by_pattern", ("--rois", "rois/{stem}.zip"), masks)
    box.tofile("box.roi")
    compared("one_roi", ("--rois", "box.roi"), {"box": masks["box"]})
    # Everything about a region is that of the label image with its pixels.
    tifffile.imwrite("labels.tif", masks["oval"].astype(np.uint8), metadata=None)
    run("-q", "field.tif", "--labels", "labels.tif", "--write", "stats", "-o", "oval_labels")
    same = [{**row, "region": ""} for row in rows("oval_labels/regions.csv")]
    case(same == [{**row, "region": ""} for row in first if row["region"] == "oval"], "columns of an outline and of a label")

    ring = [[[10, 10], [60, 10], [60, 50], [10, 50], [10, 10]], [[20, 20], [40, 20], [40, 40], [20, 40], [20, 20]]]
    lake = {"type": "Feature", "properties": {"name": "lake"}, "geometry": {"type": "Polygon", "coordinates": ring}}
    two = [[[[1, 1], [9, 1], [9, 9], [1, 1]]], [[[62.3, 40.1], [75.2, 44.7], [66.6, 58.2], [62.3, 40.1]]]]
    parts = {"type": "Feature", "properties": {"classification": {"name": "parts"}}, "geometry": {"type": "MultiPolygon", "coordinates": two}}
    again = {"type": "Feature", "properties": {"name": "lake"}, "geometry": {"type": "Polygon", "coordinates": ring[1:]}}
    wanted = {name: rasterio.features.rasterize([(one["geometry"], 1)], (height, width)) == 1 for name, one in (("lake", lake), ("parts", parts), ("lake#2", again))}
    for name, content in (("a.geojson", {"type": "FeatureCollection", "features": [lake, parts, again]}), ("b.json", [lake, parts, again])):
        with open(name, "w") as file:
            json.dump(content, file)
        compared(f"by_{name}", ("--rois", name), wanted)

    for name, content, text in (
        ("bad.roi", b"Iout" + bytes(20), "not a region of ImageJ"),
        ("line.roi", roifile.ImagejRoi(roitype=roifile.ROI_TYPE.LINE, left=1, top=1, right=9, bottom=9).tobytes(), "a line"),
        ("cut.roi", regions["cell 01"].tobytes()[:80], "truncated"),
        ("point.geojson", b'{"type": "Point", "coordinates": [1, 2]}', "feature 1 is a Point"),
        ("text.geojson", b"polygons", "text.geojson"),
    ):
        with open(name, "wb") as file:
            file.write(content)
        told = run("-q", "field.tif", "--rois", name, "--write", "stats", "-o", "bad_rois")
        case(told.returncode == 1 and name in told.stderr and text in told.stderr, f"{name}: {told.stderr}")
    roifile.ImagejRoi(roitype=roifile.ROI_TYPE.RECT, left=70, top=5, right=90, bottom=21).tofile("out.roi")
    told = run("-q", "field.tif", "--rois", "out.roi", "--write", "stats", "-o", "bad_rois")
    case(told.returncode == 1 and "leaves the image" in told.stderr, f"a region that leaves the image: {told.stderr}")
    compared("clipped", ("--rois", "out.roi", "--clip-rois"), {"out": (xs > 70) & (ys > 5) & (ys < 21)})
    tifffile.imwrite("pages.tif", np.stack([image, image[::-1]]), metadata=None)
    second = roifile.ImagejRoi(roitype=roifile.ROI_TYPE.RECT, left=7, top=5, right=30, bottom=21, position=2)
    second.tofile("second.roi")
    run("-q", "pages.tif", "--pages", "all", "--rois", "second.roi", "--write", "stats", "-o", "paged_rois")
    found = means_of_regions("paged_rois")
    case(list(found) == [("pages.tif#2", "second")] and np.isclose(found["pages.tif#2", "second"], image[::-1][5:21, 7:30].mean()), f"a region of a page: {found}")


def wide_nodata():
    """Integers of 64 bits whose nodata needs more than 32."""
    for dtype, nodata in ((np.uint64, 2**64 - 1), (np.int64, -(2**63)), (np.int64, 2**63 - 1), (np.uint64, 2**32), (np.int64, -9999)):
        samples = random.integers(0, 2**31 - 1, (2, 40, 50)).astype(dtype)
        holes = random.random(samples.shape) < 0.2
        samples[holes] = nodata
        tifffile.imwrite("wide.tif", samples, photometric="minisblack", planarconfig="separate", metadata=None, extratags=[(42113, "s", 0, str(nodata), True)])
        with rasterio.open("wide.tif") as file:
            mask = file.read_masks() == 0
        case(np.array_equal(mask, holes), f"masked by rasterio: {dtype.__name__} {nodata}")
        replaced = 2**32 - 1 if dtype == np.uint64 else -(2**31)
        told = run("-q", "wide.tif", "--write", "stats,normalized", "--normalize", "minmax", "--fill", str(replaced), "-o", "wide")
        case(told.returncode == 0, f"nodata {nodata} of {dtype.__name__}: {told.stderr}")
        found = [row for row in rows("wide/stats.csv") if row["channel"] != "all"]
        for row, band, hole in zip(found, samples, holes, strict=True):
            valid = band[~hole]
            case(int(row["nodata"]) == hole.sum() and int(row["valid"]) == valid.size, f"nodata samples of {nodata}: {row['nodata']}")
            case((float(row["min"]), float(row["max"])) == (valid.min(), valid.max()) and int(row["sum"]) == int(valid.sum(dtype=object)), f"numbers beside {nodata}")
        with rasterio.open("wide/wide.tif.normalized.tiff") as copy:
            case(copy.nodata == replaced and np.array_equal(copy.read_masks() == 0, holes), f"nodata {nodata} in the copy: {copy.nodata}")
        told = run("-q", "wide.tif", "--write", "none", "--nodata", "none")
        case((told.returncode == 0) == (nodata == -9999) and (nodata == -9999 or f"has {nodata}" in told.stderr), f"--nodata none with {nodata}: {told.stderr}")
    samples = np.arange(600, dtype=np.uint64).reshape(1, 20, 30)
    samples[0, 3, 4], samples[0, 5, 6] = 2**64 - 1, 2**32 - 1
    tifffile.imwrite("both.tif", samples[0], metadata=None, extratags=[(42113, "s", 0, str(2**64 - 1), True)])
    told = run("-q", "both.tif", "--write", "none")
    case(told.returncode == 1 and "beside samples that are 4294967295" in told.stderr and "row 5" in told.stderr, f"no value is free: {told.stderr}")
    profile = {"tiled": True, "blockxsize": 16, "blockysize": 16, "sparse_ok": True}
    with rasterio.open("sparse.tif", "w", driver="GTiff", width=48, height=32, count=1, dtype="uint64", nodata=2**32, **profile) as file:
        file.write(np.full((1, 16, 16), 7, np.uint64), window=rasterio.windows.Window(16, 0, 16, 16))
    run("-q", "sparse.tif", "--write", "stats", "-o", "sparse")
    found = rows("sparse/stats.csv")
    case(len(found) == 1 and (found[0]["valid"], found[0]["nodata"], found[0]["max"]) == ("256", "1280", "7"), f"tiles that are left out: {found}")


def pixel_sizes():
    """Sizes of pixels, as tifffile reads them of OME-XML and ImageJ, and rasterio of GeoTIFF."""

    def sizes_of(path, *words):
        told = run("-q", path, "--write", "stats", "-o", "sizes", *words)
        case(told.returncode == 0, f"size of pixels of {path}: {told.stderr}")
        return [(float(row["pixel_width"] or 0), float(row["pixel_height"] or 0), row["pixel_unit"]) for row in rows("sizes/stats.csv")]

    def one_of(path, *words):
        found = set(sizes_of(path, *words))
        case(len(found) == 1, f"sizes of pixels of {path}: {found}")
        return found.pop()

    planes = random.integers(0, 9000, (3, 2, 30, 40)).astype(np.uint16)
    for unit, across, down in (("µm", 0.325, 0.65), ("nm", 108.3, 108.3), ("mm", 0.1, 0.2), ("Å", 12.5, 12.5)):
        metadata = {"axes": "ZCYX", "PhysicalSizeX": across, "PhysicalSizeXUnit": unit, "PhysicalSizeY": down, "PhysicalSizeYUnit": unit}
        tifffile.imwrite("sized.ome.tif", planes, metadata=metadata)
        with tifffile.TiffFile("sized.ome.tif") as file:
            told = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        right = (told["PhysicalSizeX"], told["PhysicalSizeY"], told["PhysicalSizeXUnit"])
        case(one_of("sized.ome.tif", "--pages", "all") == right, f"size in OME-XML: {right}")
    tifffile.imwrite("sized.ome.tif", planes, metadata={"axes": "ZCYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 500, "PhysicalSizeYUnit": "nm"})
    case(one_of("sized.ome.tif") == (0.5, 0.5, "µm"), "two units in OME-XML")
    for metadata in ({"axes": "ZCYX"}, {"axes": "ZCYX", "PhysicalSizeX": 0.5}, {"axes": "ZCYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 500, "PhysicalSizeYUnit": "Å"}):
        tifffile.imwrite("sized.ome.tif", planes, metadata=metadata)
        case(one_of("sized.ome.tif") == (0, 0, ""), f"no size in OME-XML: {metadata}")
    with tifffile.TiffWriter("series.ome.tif") as file:
        for side in (0.5, 0.25):
            file.write(planes[0], metadata={"axes": "CYX", "PhysicalSizeX": side, "PhysicalSizeY": 2 * side})
    case([side for side, *_ in sizes_of("series.ome.tif", "--pages", "all")] == [0.5, 0.5, 0.25, 0.25], "two images in OME-XML")
    colors = random.integers(0, 255, (30, 40, 3)).astype(np.uint8)
    tifffile.imwrite("colors.ome.tif", colors, photometric="rgb", metadata={"axes": "YXS", "PhysicalSizeX": 0.22, "PhysicalSizeY": 0.22})
    case(one_of("colors.ome.tif") == (0.22, 0.22, "µm"), "colors of OME-XML")
    for unit, name in (("um", "µm"), ("micron", "µm"), ("\\u00B5m", "µm"), ("nm", "nm"), ("inch", "inch"), ("pixel", "")):
        tifffile.imwrite("sized.tif", planes[:, 0], imagej=True, resolution=(4, 2.5), metadata={"axes": "ZYX", "unit": unit})
        with tifffile.TiffFile("sized.tif") as file:
            told = file.pages[0].tags["XResolution"].value, file.pages[0].tags["YResolution"].value, file.imagej_metadata["unit"]
        right = (told[0][1] / told[0][0], told[1][1] / told[1][0], name) if name else (0, 0, "")
        case(one_of("sized.tif", "--pages", "all") == right, f"size of ImageJ: {told}")
    tifffile.imwrite("plain.tif", planes[0, 0], resolution=(300, 300), resolutionunit="inch", metadata=None)
    case(one_of("plain.tif") == (0, 0, ""), "dots per inch are no size of a pixel")
    band = random.integers(0, 255, (1, 30, 40)).astype(np.uint8)
    affine = rasterio.transform.Affine
    for crs, transform, unit in (
        ("EPSG:32633", affine(10, 0, 4e5, 0, -20, 5e6), "m"),
        ("EPSG:4326", affine(0.25, 0, 11, 0, -0.5, 48), "degree"),
        ("EPSG:2263", affine(2, 0, 9e5, 0, -2, 2e5), "US survey foot"),
        ("EPSG:32633", affine(6, 8, 4e5, 8, -6, 5e6), "m"),
        (None, affine(3, 0, 1, 0, -3, 2), ""),
    ):
        make_raster("sized.tif", band, crs=crs, transform=transform)
        with rasterio.open("sized.tif") as file:
            a, b, _, d, e, *_ = file.transform
            spelled = file.crs.units_factor[0] if file.crs else ""
        case(spelled[:3] == ("met" if unit == "m" else unit[:3]), f"rasterio's unit: {spelled}")
        case(one_of("sized.tif") == (np.hypot(a, d), np.hypot(b, e), unit), f"size of a pixel in {crs}: {one_of('sized.tif')}")
    tifffile.imwrite("labels.tif", (np.arange(1200).reshape(30, 40) // 300).astype(np.uint8), metadata=None)
    run("-q", "series.ome.tif", "--labels", "labels.tif", "--write", "stats", "-o", "sizes")
    found = rows("sizes/regions.csv")
    case(len(found) == 3 and all((row["pixel_width"], row["pixel_height"], row["pixel_unit"]) == ("0.5", "1", "µm") for row in found), "size of pixels beside regions")
    told = json.loads(run("-q", "series.ome.tif", "--format", "json", "--write", "none").stdout)
    case((told["pixel_width"], told["pixel_height"], told["pixel_unit"]) == (0.5, 1, "µm"), "size of pixels in JSON")


def by_file():
    frames = [random.integers(0, 4000, (3, 20, 30)).astype(np.uint16) for _ in range(2)]
    os.makedirs("series")
    for i, one in enumerate(frames):
        tifffile.imwrite(f"series/{i}.tif", one, photometric="minisblack", metadata=None)
    run("-q", "series", "--pages", "all", "--group-by", "file", "--write", "stats", "-o", "by_file")
    found = {row["group"]: float(row["mean"]) for row in rows("by_file/dataset.csv") if row["group"]}
    case(found.keys() == {"series/0.tif", "series/1.tif"}, f"groups by file: {found}")
    case(all(np.isclose(found.get(f"series/{i}.tif", -1), one.mean()) for i, one in enumerate(frames)), f"means by file: {found}")
    case(os.path.exists("by_file/series/0.tif/dataset.histogram.png"), "histogram of a file")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    channels_by_name()
    stacks()
    unlike_pages()
    resumed_stack()
    by_file()
    companions_by_pattern()
    imagej_masks()
    outlines()
    archives()
    georeference()
    one_and_three_bands()
    transforms()
    turned()
    nodata()
    wide_nodata()
    pixel_sizes()
    other_metadata()
    overviews()
    in_strips()
    os.chdir("/")
print(f"{cases} cases, {len(faults)} faults")
sys.exit(bool(faults))
