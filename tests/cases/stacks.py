"""stacks.py GPUHIST: stacks images with 'gpuhist stack' and compares every pixel with Python's exact fractions and NumPy."""

import decimal
import math
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np
import tifffile

from command import program, rows

random = np.random.default_rng(67)
cases, faults = 0, []
decimal.getcontext().prec = 80
statistics = ("mean", "std", "min", "max", "count", "median")


def case(right, what):
    global cases
    cases += 1
    if not right:
        faults.append(what)
        print("fault:", what)


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=200)


def stack(out, *words):
    told = run("stack", *words, "-o", out, "-q")
    case(told.returncode == 0, f"{out} {' '.join(words)}: {told.stderr}")
    return {name: tifffile.imread(f"{out}/stack.{name}.tiff") for name in statistics if os.path.exists(f"{out}/stack.{name}.tiff")}


def files_of(out):
    return {name: open(f"{out}/{name}", "rb").read() for name in sorted(os.listdir(out)) if name != ".gpuhist"}


def root(square):
    """Square root of a fraction, rounded once."""
    ratio = decimal.Decimal(square.numerator) / decimal.Decimal(square.denominator)
    return float(ratio.sqrt())


def expected(samples, valid):
    """Statistics over the first axis, of the valid samples, with sums of fractions."""
    real = np.float64 if samples.dtype in (np.uint32, np.int32, np.float64) else np.float32
    shape = samples.shape[1:]
    result = {name: np.zeros(shape, samples.dtype) for name in ("min", "max", "median")}
    result["count"] = np.zeros(shape, np.uint32)
    result["mean"], result["std"] = np.full(shape, np.nan, real), np.full(shape, np.nan, real)
    floats = samples.dtype.kind == "f"
    for place in np.ndindex(shape):
        of = samples[(slice(None), *place)][valid[(slice(None), *place)]]
        result["count"][place] = n = len(of)
        if n == 0:
            for name in ("min", "max", "median"):
                result[name][place] = np.nan if floats else 0
            continue
        exact = [Fraction(value.item()) for value in of]
        mean = sum(exact) / n
        with np.errstate(over="ignore"):
            result["mean"][place] = real(float(mean))
            result["std"][place] = real(root(sum(value * value for value in exact) / n - mean * mean))
        result["min"][place], result["max"][place] = of.min(), of.max()
        result["median"][place] = np.sort(of)[(n - 1) // 2]
    return result


def alike(found, right, what):
    for name in statistics:
        one, other = found[name], right[name]
        case(one.dtype == other.dtype and one.shape == other.shape, f"{what}: {name} is {one.dtype} {one.shape}, not {other.dtype} {other.shape}")
        if one.shape != other.shape:
            continue
        if name == "std":  # a root and a quotient are rounded, too
            near = np.isclose(one, other, rtol=4 * np.finfo(other.dtype).eps / 2, atol=0, equal_nan=True)
        else:
            near = (one == other) | ((one != one) & (other != other))
        case(near.all(), f"{what}: {np.count_nonzero(~near)} pixels of {name}: {one[~near][:3]}, not {other[~near][:3]}")


def noise(dtype, *shape):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        top = 100 if kind.itemsize == 2 else 30 if kind.itemsize == 4 else 250
        powers = random.uniform(-4 if kind.itemsize == 2 else -top, 4 if kind.itemsize == 2 else top, shape)
        return (random.normal(size=shape) * 10.0**powers).astype(kind)
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max, shape, kind, endpoint=True)


def types():
    for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8"):
        for images, shape in ((1, (5, 7)), (2, (4, 6, 3)), (7, (9, 11)), (8, (6, 5))):
            samples = noise(dtype, images, *shape)
            if samples.dtype.kind == "f":
                spoiled = random.integers(0, 12, samples.shape)
                samples[spoiled == 0], samples[spoiled == 1], samples[spoiled == 2] = np.nan, np.inf, -np.inf
            name = f"{dtype}_{images}.tif"
            tifffile.imwrite(name, samples, photometric="rgb" if len(shape) == 3 else "minisblack", metadata=None)
            out = f"out_{dtype}_{images}"
            alike(stack(out, name, "--write", "all"), expected(samples, np.isfinite(samples)), name)


def close_values():
    """Sums that lose their digits in doubles: exact ones do not."""
    samples = np.full((6, 4, 4), 1e15) + random.integers(0, 3, (6, 4, 4)) / 4
    samples[0], samples[1] = 1e300, -1e300
    tifffile.imwrite("close.tif", samples, photometric="minisblack", metadata=None)
    alike(stack("close", "close.tif", "--write", "all"), expected(samples, np.isfinite(samples)), "close values")
    one = np.stack([np.full((3, 3), 65000 + i % 2, np.uint16) for i in range(10)])
    tifffile.imwrite("half.tif", one, photometric="minisblack", metadata=None)
    case((stack("half", "half.tif")["std"] == 0.5).all(), "std of two neighbors is a half")


def valid_pixels():
    samples = random.integers(0, 6, (9, 8, 10), np.uint16) * 10
    samples[:, 2, 3] = 20
    tifffile.imwrite("nodata.tif", samples, metadata=None, extratags=[(42113, "s", 0, "20", False)])
    found = stack("nodata", "nodata.tif", "--write", "all")
    right = expected(samples, samples != 20)
    for name in ("min", "max", "median"):
        right[name][right["count"] == 0] = 20
    alike(found, right, "nodata of the file")
    alike(stack("all", "nodata.tif", "--nodata", "none", "--write", "all"), expected(samples, samples >= 0), "--nodata none")
    valid = (samples >= 10) & (samples <= 40) & (samples != 20)
    right = expected(samples, valid)
    for name in ("min", "max", "median"):
        right[name][right["count"] == 0] = 20
    alike(stack("valid", "nodata.tif", "--nodata", "tag", "--valid", "10,40", "--write", "all"), right, "--valid")
    mask = random.integers(0, 2, (8, 10), np.uint8) * 255
    tifffile.imwrite("mask.tif", mask)
    right = expected(samples, (samples >= 0) & (mask > 0))
    alike(stack("masked", "nodata.tif", "--nodata", "none", "--mask", "mask.tif", "--write", "all"), right, "--mask")
    # A mask per image of a directory.
    os.makedirs("frames"), os.makedirs("masks")
    masks = random.integers(0, 2, samples.shape, np.uint8)
    for i, (frame, own) in enumerate(zip(samples, masks)):
        tifffile.imwrite(f"frames/{i}.tif", frame)
        tifffile.imwrite(f"masks/{i}.tif", own)
    right = expected(samples, masks > 0)
    alike(stack("own", "frames", "--nodata", "none", "--mask", "masks", "--write", "all"), right, "masks of a directory")


def bytes_stay():
    """Threads, memory, the order of the images and shards change nothing."""
    for dtype in ("u2", "f4"):
        samples = noise(dtype, 23, 97, 131)
        tifffile.imwrite("film.tif", samples, metadata=None)
        stack("whole", "film.tif", "--write", "all")
        right = files_of("whole")
        for words in (("--threads", "1"), ("--threads", "5"), ("--memory", "6M"), ("--memory", "3M", "--threads", "3")):
            stack("again", "film.tif", "--write", "all", *words)
            case(files_of("again") == right, f"{dtype}: other bytes with {words}")
        os.makedirs("parts", exist_ok=True)
        for count in (2, 3, 30):
            for k in range(1, count + 1):
                told = run("stack", "film.tif", "--shard", f"{k}/{count}", "-q", "-o", "parts")
                case(told.returncode == 0, f"shard {k}/{count}: {told.stderr}")
            told = run("merge", "parts", "-q", "-o", "merged")
            case(told.returncode == 0, f"merge of {count}: {told.stderr}")
            merged = files_of("merged")
            case(merged == {name: data for name, data in right.items() if "median" not in name}, f"{dtype}: {count} shards make other bytes: {merged.keys()}")
            if count == 2:
                damaged_parts()
            for name in os.listdir("parts"):
                os.remove(f"parts/{name}")
        tifffile.imwrite("film.tif", samples[::-1], metadata=None)
        stack("turned", "film.tif", "--write", "all")
        case({name: data for name, data in files_of("turned").items()} == right, f"{dtype}: another order, other bytes")


def damaged_parts():
    for name in ("part-1-of-2.stack.sums", "part-2-of-2.stack.json"):
        data = open(f"parts/{name}", "rb").read()
        for spoiled in (data[:-9], data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :], b"", None):
            if spoiled is None:
                os.remove(f"parts/{name}")
            else:
                open(f"parts/{name}", "wb").write(spoiled)
            told = run("merge", "parts", "-q", "-o", "refused")
            case(told.returncode == 65 and name in told.stderr, f"damaged {name}: {told.returncode} {told.stderr}")
            case(not os.path.exists("refused/stack.mean.tiff"), f"damaged {name} was merged")
        open(f"parts/{name}", "wb").write(data)


def odd_pixels():
    height, width = 40, 50
    samples = (1000 + 5 * random.normal(size=(12, height, width))).astype(np.float32)
    samples[:, 7, 9] += 900
    samples[:, 0, 0] -= 700
    samples[:, 20, 30] = 1000
    tifffile.imwrite("odd.tif", samples, metadata=None)
    stack("odd", "odd.tif", "--sigmas", "12")
    means = np.array([[float(sum(Fraction(v.item()) for v in samples[:, y, x]) / 12) for x in range(width)] for y in range(height)])
    padded = np.pad(means, 1, constant_values=np.nan)
    around = np.stack([padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy])
    residuals = means - np.nanmedian(around, axis=0)
    center = np.median(residuals)
    scores = (residuals - center) / (1.4826 * np.median(np.abs(residuals - center)))
    right = {("stuck", 30, 20)} | {("hot", x, y) for y, x in np.argwhere(scores > 12)} | {("cold", x, y) for y, x in np.argwhere(scores < -12)}
    found = rows("odd/stack.pixels.csv")
    case({(row["pixel"], int(row["pixel_x"]), int(row["pixel_y"])) for row in found} == right and ("hot", 9, 7) in right, f"odd pixels {found}, not {right}")
    for row in found:
        x, y = int(row["pixel_x"]), int(row["pixel_y"])
        case(float(row["pixel_mean"]) == means[y, x], f"mean of {row}")
        case(math.isclose(float(row["pixel_neighbors"]), np.nanmedian(around, axis=0)[y, x], rel_tol=1e-15), f"neighbors of {row}")
        if row["pixel"] != "stuck":
            case(math.isclose(float(row["pixel_score"]), scores[y, x], rel_tol=1e-12), f"score of {row}: {scores[y, x]}")
    # All pixels are stuck, and as many are listed as are asked for; alpha is no pixel that stands out.
    tifffile.imwrite("still.tif", np.full((3, 6, 5, 4), 9, np.uint8), photometric="rgb", extrasamples=["unassalpha"], metadata=None)
    told = run("stack", "still.tif", "-o", "still", "--most", "4")
    case("90 stuck, 0 hot, 0 cold" in told.stdout, told.stdout)
    listed = rows("still/stack.pixels.csv")
    case(sorted({row["stack_channel"] for row in listed}) == ["blue", "green", "red"] and len(listed) == 12, f"{listed}")


def refusals():
    tifffile.imwrite("a.tif", np.zeros((4, 5), np.uint8))
    for name, other, words in (
        ("b.tif", np.zeros((5, 4), np.uint8), "b.tif#1: has 4 x 5 pixels, but the first image has 5 x 4"),
        ("c.tif", np.zeros((4, 5), np.uint16), "c.tif#1: has u16 samples, but the first image has u8"),
        ("d.tif", np.zeros((4, 5, 3), np.uint8), "d.tif#1: has 3 channels, but the first image has 1"),
    ):
        tifffile.imwrite(name, other, metadata=None)
        told = run("stack", "a.tif", name, "-o", "none")
        case(told.returncode == 1 and words in told.stderr, f"{name}: {told.returncode} {told.stderr}")
        case(not os.path.exists("none/stack.mean.tiff"), f"{name} was stacked")
    open("broken.tif", "wb").write(open("a.tif", "rb").read()[:-5])
    told = run("stack", "a.tif", "broken.tif", "-o", "none")
    case(told.returncode == 1 and "broken.tif" in told.stderr, f"broken: {told.stderr}")
    for words in (("a.tif", "--write", "median", "--shard", "1/2"), ("a.tif", "--write", "modes"), ("-",), (), ("a.tif", "--alpha", "weight"), ("a.tif", "--write", "mean", "--most", "3")):
        told = run("stack", *words, "-o", "none")
        case(told.returncode == 2, f"{words}: {told.returncode} {told.stderr}")
    os.makedirs("mine")
    open("mine/stack.mean.tiff", "w").write("mine")
    told = run("stack", "a.tif", "-o", "mine")
    case(told.returncode == 4 and open("mine/stack.mean.tiff").read() == "mine", f"own file: {told.returncode} {told.stderr}")


def in_strips():
    """Images that do not fit into the memory come in strips."""
    samples = random.integers(0, 65535, (3, 1500, 1300), np.uint16)
    os.makedirs("large")
    mask = random.integers(0, 2, samples.shape[1:], np.uint8)
    tifffile.imwrite("large_mask.tif", mask, rowsperstrip=16)
    for i, frame in enumerate(samples):
        tifffile.imwrite(f"large/{i}.tif", frame, rowsperstrip=16)
    found = stack("strips", "large", "--memory", "4M", "--write", "mean,min,max,count", "--mask", "large_mask.tif")
    valid = mask > 0
    case((found["count"] == np.where(valid, 3, 0)).all(), "count of strips")
    case((found["min"] == np.where(valid, samples.min(axis=0), 0)).all() and (found["max"] == np.where(valid, samples.max(axis=0), 0)).all(), "extremes of strips")
    mean = (samples.sum(axis=0, dtype=np.int64) / 3).astype(np.float32)
    case((found["mean"][valid] == mean[valid]).all() and np.isnan(found["mean"][~valid]).all(), "mean of strips")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    types()
    close_values()
    valid_pixels()
    bytes_stay()
    odd_pixels()
    refusals()
    in_strips()
    os.chdir("/")
print(f"{cases} cases, {len(faults)} faults")
sys.exit(bool(faults))
