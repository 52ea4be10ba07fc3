"""joints.py GPUHIST: counts images with 'gpuhist joint' and compares the counts and numbers with NumPy and Python's exact fractions."""

import decimal
import math
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np
import tifffile
from PIL import Image

from command import program, rows

random = np.random.default_rng(66)
cases, faults = 0, []
decimal.getcontext().prec = 80


def case(right, what):
    global cases
    cases += 1
    if not right:
        faults.append(what)
        print("fault:", what)


def run(*words):
    return subprocess.run([program, "joint", *words], capture_output=True, text=True, timeout=200)


def files_of(out):
    return {name: open(f"{out}/{name}", "rb").read() for name in sorted(os.listdir(out)) if name != ".gpuhist"}


def decimal_of(value):
    return decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)


def numbers(x, y):
    """Covariance and correlation of samples, from sums of fractions."""
    first, second = ([Fraction(value.item()) for value in np.ravel(of)] for of in (x, y))
    n = len(first)
    mean_x, mean_y = sum(first) / n, sum(second) / n
    covariance = sum(a * b for a, b in zip(first, second)) / n - mean_x * mean_y
    xx = sum(a * a for a in first) / n - mean_x**2
    yy = sum(b * b for b in second) / n - mean_y**2
    if xx == 0 or yy == 0:
        return float(covariance), None
    return float(covariance), float(decimal_of(covariance) / (decimal_of(xx).sqrt() * decimal_of(yy).sqrt()))


def information(counts):
    p = counts / counts.sum()
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    return float(np.sum(p[p > 0] * np.log2(p[p > 0] / independent[p > 0])))


def check(out, stem, row, x, y, counts, edges, what):
    """Compares the files and the row of a pair with the samples of its valid pixels."""
    found = np.load(f"{out}/{stem}.npy")
    case(found.dtype == np.uint64 and (found == counts).all(), f"{what}: counts")
    listed = {(float(one["first"]), float(one["second"])): int(one["count"]) for one in rows(f"{out}/{stem}.csv")}
    right = {(edges[0][i], edges[1][j]): int(counts[i, j]) for i, j in np.argwhere(counts)}
    case(listed == right, f"{what}: rows of the counts")
    picture = np.asarray(Image.open(f"{out}/{stem}.png").convert("RGB"))
    case(picture.ndim == 3 and len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 5, f"{what}: picture")
    covariance, pearson = numbers(x, y)
    case(int(row["joint_pixels"]) == x.size and int(row["joint_outside"]) == x.size - int(counts.sum()), f"{what}: pixels {row}")
    case(math.isclose(float(row["covariance"]), covariance, rel_tol=1e-15), f"{what}: covariance {row['covariance']}, not {covariance}")
    case(row["pearson"] == "" if pearson is None else math.isclose(float(row["pearson"]), pearson, rel_tol=1e-15), f"{what}: pearson {row['pearson']}, not {pearson}")
    case(math.isclose(float(row["mutual_information"]), information(counts), rel_tol=1e-11, abs_tol=1e-12), f"{what}: information {row['mutual_information']}, not {information(counts)}")


def whole_counts(x, y, lower, upper, bins):
    """Counts of integers in equal bins, by the formula of integers."""
    counts = np.zeros((bins, bins), np.int64)
    inside = (x >= lower) & (x < upper) & (y >= lower) & (y < upper)
    place = lambda v: (v[inside].astype(object) - lower) * bins // (upper - lower)
    np.add.at(counts, (place(x).astype(int), place(y).astype(int)), 1)
    return counts


def edges_of(lower, upper, bins):
    return [lower + i * ((upper - lower) / bins) for i in range(bins)]


def integers():
    colors = random.integers(0, 256, (40, 50, 3), np.uint8)
    colors[..., 1] = colors[..., 0] // 2 + colors[..., 1] // 4
    Image.fromarray(colors).save("colors.png")
    told = run("colors.png", "--channels", "red,green", "--channels", "green,blue:16", "--channels", "2,luma:7", "-o", "colors")
    case(told.returncode == 0, told.stderr)
    found = {(row["first"], row["second"]): row for row in rows("colors/joint.csv")}
    red, green, blue = (colors[..., i].astype(np.int64) for i in range(3))
    luma = (9798 * red + 19235 * green + 3735 * blue + 16384) >> 15
    for first, second, names, bins in ((red, green, ("red", "green"), 256), (green, blue, ("green", "blue"), 16), (blue, luma, ("2", "luma"), 7)):
        edges = [edges_of(0.0, 256.0, bins)] * 2
        check("colors", "colors.png.joint." + "-".join(names), found[names], first, second, whole_counts(first, second, 0, 256, bins), edges, str(names))
    deep = random.integers(0, 65536, (30, 31, 3), np.uint16)
    deep[..., 2] = 65535 - deep[..., 0]
    tifffile.imwrite("deep.tif", deep, photometric="rgb")
    told = run("deep.tif", "--channels", "red,blue", "-o", "deep")
    x, y = deep[..., 0].astype(np.int64), deep[..., 2].astype(np.int64)
    check("deep", "deep.tif.joint.red-blue", rows("deep/joint.csv")[0], x, y, whole_counts(x, y, 0, 65536, 256), [edges_of(0.0, 65536.0, 256)] * 2, "u16")
    case(rows("deep/joint.csv")[0]["pearson"] == "-1", "opposite channels have the correlation -1")
    told = run("deep.tif", "--channels", "red,green:10", "--range", "100,30000", "-o", "part")
    y = deep[..., 1].astype(np.int64)
    check("part", "deep.tif.joint.red-green", rows("part/joint.csv")[0], x, y, whole_counts(x, y, 100, 30000, 10), [edges_of(100.0, 30000.0, 10)] * 2, "--range")
    signed = random.integers(-(2**31), 2**31, (20, 21, 2), np.int64).astype(np.int32)
    tifffile.imwrite("signed.tif", signed, photometric="minisblack", planarconfig="contig", metadata=None)
    told = run("signed.tif", "--channels", "c0,c1:33", "-o", "signed")
    case(told.returncode == 0, told.stderr)
    x, y = signed[..., 0].astype(np.int64), signed[..., 1].astype(np.int64)
    counts = np.zeros((33, 33), np.int64)
    place = lambda v: np.minimum((v.astype(object) - int(v.min())) * 33 // (int(v.max()) - int(v.min())), 32).astype(int)
    np.add.at(counts, (place(x), place(y)), 1)
    check("signed", "signed.tif.joint.c0-c1", rows("signed/joint.csv")[0], x, y, counts, [edges_of(float(v.min()), float(v.max()), 33) for v in (x, y)], "s32")


def floats():
    for dtype in (np.float16, np.float32, np.float64):
        samples = random.normal(size=(25, 40, 2)).astype(dtype)
        samples[..., 1] = samples[..., 0] * 3 + samples[..., 1]
        samples[3, :5, 0], samples[4, :7, 1], samples[5, 1, 0] = np.nan, np.inf, -np.inf
        tifffile.imwrite("floats.tif", samples, photometric="minisblack", planarconfig="contig", metadata=None)
        told = run("floats.tif", "--channels", "c0,c1:20", "-o", "floats")
        case(told.returncode == 0, told.stderr)
        own = [samples[..., i][np.isfinite(samples[..., i])].astype(np.float64) for i in range(2)]
        valid = np.isfinite(samples).all(axis=2)
        x, y = (samples[..., i][valid].astype(np.float64) for i in range(2))
        ranges = [(of.min(), of.max()) for of in own]
        counts, *_ = np.histogram2d(x, y, 20, ranges)
        check("floats", "floats.tif.joint.c0-c1", rows("floats/joint.csv")[0], x, y, counts, [edges_of(*one, 20) for one in ranges], str(dtype))


def valid_pixels():
    colors = random.integers(0, 8, (30, 40, 3), np.uint8)
    mask = random.integers(0, 2, (30, 40), np.uint8)
    Image.fromarray(colors).save("valid.png")
    Image.fromarray(mask * 255).save("mask.png")
    told = run("valid.png", "--channels", "red,blue", "--mask", "mask.png", "--nodata", "red:3", "--valid", "blue:1,6", "-o", "valid")
    case(told.returncode == 0, told.stderr)
    counted = (mask > 0) & (colors[..., 0] != 3) & (colors[..., 2] >= 1) & (colors[..., 2] <= 6)
    x, y = colors[..., 0][counted].astype(np.int64), colors[..., 2][counted].astype(np.int64)
    check("valid", "valid.png.joint.red-blue", rows("valid/joint.csv")[0], x, y, whole_counts(x, y, 0, 256, 256), [edges_of(0.0, 256.0, 256)] * 2, "valid pixels")


def sets():
    os.makedirs("set/inner"), os.makedirs("other/inner")
    images, partners = [], []
    for i in range(7):
        name = f"inner/{i}" if i % 2 else str(i)
        one = random.integers(0, 256, (20 + i, 30, 3), np.uint8)
        other = (one // 2 + random.integers(0, 100, one.shape)).astype(np.uint8)
        Image.fromarray(one).save(f"set/{name}.png")
        Image.fromarray(other).save(f"other/{name}.bmp")
        images.append(one), partners.append(other)
    told = run("set", "--channels", "red,green", "-o", "sum")
    case(told.returncode == 0 and "red,green  pearson" in told.stdout, told.stderr)
    found = rows("sum/joint.csv")
    case([row["path"] for row in found] == [f"set/{i}.png" for i in (0, 2, 4, 6)] + [f"set/inner/{i}.png" for i in (1, 3, 5)] + [""], f"rows {found}")
    case(found[-1]["joint_images"] == "7" and set(files_of("sum")) == {"joint.csv"} | {f"dataset.joint.red-green.{end}" for end in ("csv", "npy", "png")}, f"{os.listdir('sum')}")
    x, y = (np.concatenate([image[..., c].ravel() for image in images]).astype(np.int64) for c in (0, 1))
    check("sum", "dataset.joint.red-green", found[-1], x, y, whole_counts(x, y, 0, 256, 256), [edges_of(0.0, 256.0, 256)] * 2, "set")
    # Each channel with its partner.
    told = run("set", "--with", "other", "-o", "pairs", "--write", "csv,npy,plot")
    case(told.returncode == 0, told.stderr)
    found = {(row["path"], row["first"]): row for row in rows("pairs/joint.csv")}
    for c, name in enumerate(("red", "green", "blue")):
        x, y = (np.concatenate([image[..., c].ravel() for image in of]).astype(np.int64) for of in (images, partners))
        check("pairs", f"dataset.joint.{name}-{name}", found["", name], x, y, whole_counts(x, y, 0, 256, 256), [edges_of(0.0, 256.0, 256)] * 2, f"set with partners, {name}")
        x, y = images[3][..., c].astype(np.int64), partners[3][..., c].astype(np.int64)
        check("pairs", f"inner/3.png.joint.{name}-{name}", found["set/inner/3.png", name], x, y, whole_counts(x, y, 0, 256, 256), [edges_of(0.0, 256.0, 256)] * 2, f"partners, {name}")
    right = files_of("sum")
    for words in (("--threads", "1"), ("--threads", "5"), ("--memory", "100K")):
        case(run("set", "--channels", "red,green", "-q", "-o", "again", *words).returncode == 0 and files_of("again") == right, f"other bytes with {words}")
    for count in (2, 9):
        for k in range(1, count + 1):
            told = run("set", "--channels", "red,green", "--shard", f"{k}/{count}", "-q", "-o", f"parts{count}")
            case(told.returncode == 0, f"shard: {told.stderr}")
        merge = [program, "merge", f"parts{count}", "-q", "-o", f"merged{count}"]
        told = subprocess.run(merge, capture_output=True, text=True)
        case(told.returncode == 0 and files_of(f"merged{count}") == right, f"{count} shards make other bytes: {told.stderr}")
    for name in ("part-1-of-2.joint.rows", "part-2-of-2.joint.json"):
        data = open(f"parts2/{name}", "rb").read()
        for spoiled in (data[:-9], data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :], b""):
            open(f"parts2/{name}", "wb").write(spoiled)
            told = subprocess.run([program, "merge", "parts2", "-q", "-o", "refused"], capture_output=True, text=True)
            case(told.returncode == 65 and name in told.stderr and not os.path.exists("refused/joint.csv"), f"damaged {name}: {told.returncode} {told.stderr}")
        open(f"parts2/{name}", "wb").write(data)
    # Images with bins of their own can't be added up.
    os.makedirs("own")
    for i in range(2):
        tifffile.imwrite(f"own/{i}.tif", random.normal(size=(9, 9, 3)).astype(np.float32), photometric="rgb")
    told = run("own", "--channels", "red,green", "-o", "own_out")
    case(told.returncode == 0 and "give --range" in told.stderr and len(rows("own_out/joint.csv")) == 2, f"{told.stderr}")
    told = run("own", "--channels", "red,green", "--range", "-9,9", "-o", "own_out")
    case(told.returncode == 0 and len(rows("own_out/joint.csv")) == 3, f"{told.stderr}")


def in_strips():
    samples = random.integers(0, 65536, (1200, 1100, 3), np.uint16)
    tifffile.imwrite("large.tif", samples, photometric="rgb", rowsperstrip=16)
    for memory in ("1G", "2M"):
        told = run("large.tif", "--channels", "red,green", "--memory", memory, "-o", f"large{memory}", "-q")
        case(told.returncode == 0, told.stderr)
    case(files_of("large1G") == files_of("large2M"), "strips make other bytes")
    counts = np.zeros((256, 256), np.uint64)
    np.add.at(counts, (samples[..., 0] >> 8, samples[..., 1] >> 8), 1)
    case((np.load("large2M/large.tif.joint.red-green.npy") == counts).all(), "counts of strips")
    tifffile.imwrite("long.tif", samples.astype(np.float32), photometric="rgb", rowsperstrip=16)
    told = run("long.tif", "--channels", "red,green", "--memory", "2M", "-o", "long")
    case(told.returncode == 1 and "give --range" in told.stderr, f"{told.returncode} {told.stderr}")
    told = run("long.tif", "--channels", "red,green", "--memory", "2M", "--range", "0,65536", "-o", "long")
    case(told.returncode == 0 and (np.load("long/long.tif.joint.red-green.npy") == counts).all(), f"{told.returncode} {told.stderr}")


def refusals():
    Image.fromarray(np.zeros((4, 5), np.uint8)).save("gray.png")
    Image.fromarray(np.zeros((5, 4), np.uint8)).save("turned.png")
    for words, says in (
        (("gray.png", "--channels", "red,green"), "has no channel 'red', but gray"),
        (("gray.png", "--with", "turned.png"), "has 5 x 4 pixels, but its partner turned.png has 4 x 5"),
        (("gray.png", "missing.png", "--channels", "gray,gray"), "missing.png"),
    ):
        told = run(*words, "-o", "none")
        case(told.returncode == 1 and says in told.stderr, f"{words}: {told.returncode} {told.stderr}")
        case(os.path.exists("none/joint.csv") == ("missing.png" in words), f"{words}: {told.returncode} wrote other files")
    for words in (("gray.png",), ("--channels", "a,b"), ("gray.png", "--channels", "red"), ("gray.png", "--channels", "a,b:0"), ("gray.png", "--channels", "a,b:5000"),
                  ("gray.png", "--channels", "a,b", "--channels", "a,b:7"), ("gray.png", "--with", "nothing"), ("gray.png", "--with", "turned.png", "--write", "json"), ("-", "--channels", "a,b")):
        case(run(*words, "-o", "none").returncode == 2, f"{words} were taken")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    integers()
    floats()
    valid_pixels()
    sets()
    in_strips()
    refusals()
    os.chdir("/")
print(f"{cases} cases, {len(faults)} faults")
sys.exit(bool(faults))
