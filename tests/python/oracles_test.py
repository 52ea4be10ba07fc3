"""What others find in the same pixels: SciPy, scikit-image, GDAL and rasterstats, each with its own code. Those that are
not installed are skipped."""

import csv
import json
import shutil
import subprocess

import numpy as np
import pytest
import tifffile

import gpuhist as gh


@pytest.fixture(scope="module", params=["uint8", "uint16", "int16", "float32"])
def cells(request):
    """An image, labels of cells with gaps between their numbers, and the labels that occur."""
    rng = np.random.default_rng(7)
    image = rng.normal(100, 40, (157, 203)).clip(0, 255).astype(request.param)
    ys, xs = np.mgrid[:157, :203]
    labels = np.where((xs % 11 > 1) & (ys % 9 > 0), 3 * (ys // 9 * 19 + xs // 11) + 1, 0).astype(np.int32)
    labels[rng.random(labels.shape) < 0.1] = 70_000
    return image, labels, np.unique(labels)[1:]


def close(found, expected):
    assert np.asarray(found, np.float64) == pytest.approx(np.asarray(expected, np.float64), rel=1e-12, abs=1e-9)


def test_regions_as_scipy(cells):
    ndimage = pytest.importorskip("scipy.ndimage")
    image, labels, there = cells
    regions = gh.regions(image, labels)
    assert list(regions) == there.tolist()
    found = regions.to_pandas()
    wide = image.astype(np.float64)
    for name, expected in (
        ("mean", ndimage.mean(wide, labels, there)),
        ("std", ndimage.standard_deviation(wide, labels, there)),
        ("min", ndimage.minimum(wide, labels, there)),
        ("max", ndimage.maximum(wide, labels, there)),
        ("median", ndimage.labeled_comprehension(wide, labels, there, np.median, np.float64, 0)),
        ("p95", ndimage.labeled_comprehension(wide, labels, there, lambda v: np.percentile(v, 95), np.float64, 0)),
        ("area", ndimage.labeled_comprehension(wide, labels, there, len, np.float64, 0)),
    ):
        close(found[name], expected)


def test_regions_as_scikit_image(cells):
    measure = pytest.importorskip("skimage.measure")
    image, labels, _ = cells

    def median(inside, values):
        return np.median(values[inside])

    def std(inside, values):
        return values[inside].std()

    table = measure.regionprops_table(
        labels,
        image.astype(np.float64),
        properties=("label", "area", "bbox", "intensity_mean", "intensity_min", "intensity_max"),
        extra_properties=(median, std),
    )
    found = gh.regions(image, labels).to_pandas()
    assert found["region"].tolist() == table["label"].tolist()
    for name, theirs in (
        ("area", "area"),
        ("x", "bbox-1"),
        ("y", "bbox-0"),
        ("mean", "intensity_mean"),
        ("min", "intensity_min"),
        ("max", "intensity_max"),
        ("median", "median"),
        ("std", "std"),
    ):
        close(found[name], table[theirs])
    close(found["x"] + found["width"], table["bbox-3"])
    close(found["y"] + found["height"], table["bbox-2"])


def raster(path, dtype, nodata):
    rng = np.random.default_rng(11)
    image = rng.normal(300, 90, (60, 80)).clip(0, 1000).astype(dtype)
    image[rng.random(image.shape) < 0.2] = nodata
    tifffile.imwrite(path, image, extratags=[(42113, "s", 0, str(nodata), True)])
    return image


@pytest.mark.parametrize(("dtype", "nodata"), [("float32", -9999), ("uint16", 0), ("int16", -32768)])
def test_nodata_as_gdal(tmp_path, dtype, nodata):
    if shutil.which("gdalinfo") is None:
        pytest.skip("there is no gdalinfo")
    path = tmp_path / "raster.tif"
    image = raster(path, dtype, nodata)
    done = subprocess.run(["gdalinfo", "-json", "-stats", path], check=True, capture_output=True)
    theirs = json.loads(done.stdout)["bands"][0]
    assert theirs["noDataValue"] == nodata
    found = gh.measure(path).gray
    for name, other in (("min", "minimum"), ("max", "maximum"), ("mean", "mean"), ("std", "stdDev")):
        assert getattr(found, name) == pytest.approx(theirs[other], abs=0.00051)  # GDAL writes three digits
    assert found.nodata == (image == nodata).sum()


def masked_raster(path, where):
    """A raster with a mask of its own, in the file or beside it, and what the mask leaves valid."""
    rng = np.random.default_rng(4)
    image, valid = rng.integers(0, 60000, (60, 80), dtype=np.uint16), rng.random((60, 80)) < 0.6
    with tifffile.TiffWriter(path) as file:
        file.write(image, photometric="minisblack", metadata=None)
        if where == "inside":
            file.write(valid, photometric="mask", subfiletype=4, metadata=None)
    if where == "beside":
        flags = '<GDALMetadata><Item name="INTERNAL_MASK_FLAGS_1">2</Item></GDALMetadata>'  # without it GDAL sees none
        written = {"photometric": "minisblack", "metadata": None, "extratags": [(42112, "s", 0, flags, True)]}
        tifffile.imwrite(f"{path}.msk", valid.astype(np.uint8) * 255, **written)
    return image, valid


@pytest.mark.parametrize("where", ["inside", "beside"])
def test_masks_as_gdal(tmp_path, where):
    path = tmp_path / "raster.tif"
    image, valid = masked_raster(path, where)
    found = gh.measure(path).gray
    assert (found.mean, found.masked) == (pytest.approx(image[valid].mean()), (~valid).sum())
    if shutil.which("gdal_translate") is not None:
        seen = tmp_path / "seen.tif"
        subprocess.run(["gdal_translate", "-q", "-b", "mask", path, seen], check=True, capture_output=True)
        assert ((tifffile.imread(seen) != 0) == valid).all()
    # A mask that is given intersects with it, as a file and as an array.
    given = np.indices(image.shape)[1] % 3 > 0
    tifffile.imwrite(tmp_path / "given.tif", given.astype(np.uint8), photometric="minisblack", metadata=None)
    for mask in (tmp_path / "given.tif", given):
        found = gh.measure(path, mask=mask).gray
        assert (found.mean, found.valid) == (pytest.approx(image[valid & given].mean()), (valid & given).sum())
    labels = (np.indices(image.shape)[0] // 30 + 1).astype(np.uint8)
    for mask, left in ((None, valid), (given, valid & given)):
        found = gh.regions(path, labels, mask=mask)
        for label in (1, 2):
            assert found[label].gray.mean == pytest.approx(image[left & (labels == label)].mean())
    if where == "inside":
        assert gh.measure(path.read_bytes()).gray.masked == (~valid).sum()


def test_zones_as_rasterstats(tmp_path, command):
    rasterstats = pytest.importorskip("rasterstats")
    affine = pytest.importorskip("affine")
    path = tmp_path / "raster.tif"
    image = raster(path, "float32", -9999)
    zones = {"north": (0, 0, 80, 20), "lake": (13, 5, 31, 40), "dot": (70, 50, 1, 1)}
    rois = [word for name, box in zones.items() for word in ("--roi", f"{name}={','.join(map(str, box))}")]
    out = tmp_path / "out"
    command(path, *rois, "--nodata", "tag", "--write", "stats", "-o", out)
    with (out / "regions.csv").open() as file:
        found = {row["region"]: row for row in csv.DictReader(file)}
    for name, (x, y, width, height) in zones.items():
        box = [[x, -y], [x + width, -y], [x + width, -y - height], [x, -y - height], [x, -y]]
        (theirs,) = rasterstats.zonal_stats(
            {"type": "Polygon", "coordinates": [box]},
            image,
            affine=affine.Affine(1, 0, 0, 0, -1, 0),
            nodata=-9999,
            stats="count min max mean median std nodata percentile_95".split(),
        )
        row = found[name]
        assert (int(row["valid"]), int(row["nodata"])) == (theirs["count"], theirs["nodata"])
        if theirs["count"] == 0:
            continue
        for name in ("min", "max", "mean", "median", "std"):
            assert float(row[name]) == pytest.approx(theirs[name], rel=1e-6)
        assert float(row["p95"]) == pytest.approx(theirs["percentile_95"], rel=1e-6)
