"""Computes the expected results of the sample images, data/expected/, without gpuhist: files are decoded by Pillow, tifffile and
OpenCV, sums are exact rationals rounded once, and numpy and scipy must agree with every number written.

python -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy opencv-python-headless pillow tifffile
/tmp/venv/bin/python tests/oracle/expected.py data
"""

import math
import pathlib
import sys
from fractions import Fraction

import cv2
import numpy as np
import scipy.stats
import tifffile
from PIL import Image

COLUMNS = ("path,width,height,depth,channel,pixels,nan,inf,min,max,mean,std,std_sample,skewness,kurtosis,entropy,"
           "p01,p05,p25,median,p75,p95,p99,clipped_low,clipped_high,unique,effective_bits,sum,mode").split(",")
PERCENTS = {"p01": 1, "p05": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}
DEPTHS = {np.dtype(np.uint8): "u8", np.dtype(np.uint16): "u16", np.dtype(np.float32): "f32"}
BINS = 256


def decode(path):
    """Height × width × channels, colors as R, G, B, A."""
    if path.suffix == ".tiff":
        pixels = tifffile.imread(path)
    else:
        flags = cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH if path.suffix == ".jpg" else cv2.IMREAD_UNCHANGED
        pixels = cv2.imread(str(path), flags)
        if pixels.ndim == 3:
            pixels = pixels[..., [2, 1, 0, 3][:pixels.shape[2]]]
        if pixels.dtype == np.uint8:
            with Image.open(path) as image:
                expanded = image.convert({"1": "L", "P": "RGB"}.get(image.mode, image.mode))
                assert np.array_equal(np.asarray(expanded), pixels), f"{path}: Pillow and OpenCV decode differently"
    return pixels if pixels.ndim == 3 else pixels[..., None]


def luma(red, green, blue):
    if red.dtype == np.float32:
        weight = np.float32
        return (weight(0.299) * red + weight(0.587) * green) + weight(0.114) * blue
    red, green, blue = (c.astype(np.int64) for c in (red, green, blue))
    result = ((9798 * red + 19235 * green + 3735 * blue + 16384) >> 15).astype(np.uint16)
    return result


def rows(pixels):
    """The rows of stats.csv in their order: channel and samples."""
    channels = [pixels[..., i].ravel() for i in range(pixels.shape[2])]
    if len(channels) == 1:
        return {"gray": channels[0]}
    red, green, blue = channels[:3]
    brightness = luma(red, green, blue).astype(pixels.dtype)
    if pixels.dtype != np.float32:
        bgr = np.ascontiguousarray(pixels[..., 2::-1])
        assert np.array_equal(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY).ravel(), brightness), "luma is not cv::cvtColor's"
    result = {"red": red, "green": green, "blue": blue, "luma": brightness, "all": np.concatenate([red, green, blue])}
    if len(channels) == 4:
        result["alpha"] = channels[3]
    return result


def exact_moments(samples):
    """Mean and the second to fourth central moments of the population, as rationals."""
    scale = 1 if samples.dtype.kind == "u" else 2 ** 149  # every finite float32 is a multiple of 2^-149
    integers = [int(v) for v in samples] if scale == 1 else [int(Fraction(float(v)) * scale) for v in samples]
    n = len(integers)
    s1, s2, s3, s4 = (Fraction(sum(v ** k for v in integers), n * scale ** k) for k in (1, 2, 3, 4))
    return s1, s2 - s1 ** 2, s3 - 3 * s1 * s2 + 2 * s1 ** 3, s4 - 4 * s1 * s3 + 6 * s1 ** 2 * s2 - 3 * s1 ** 4


def agree(name, value, reference):
    assert math.isclose(value, float(reference), rel_tol=1e-9, abs_tol=1e-12), f"{name}: {value!r}, not {reference!r}"
    return value


def effective_bits(samples):
    """From the lowest to the highest bit that is set in some samples, not in all."""
    varying = f"{np.bitwise_or.reduce(samples) ^ np.bitwise_and.reduce(samples):b}"
    return len(varying.strip("0"))


def statistics(samples):
    """The columns from `pixels` on; None where undefined."""
    finite = samples[np.isfinite(samples)] if samples.dtype == np.float32 else samples
    n, values = len(finite), finite.astype(np.float64)
    mean, m2, m3, m4 = exact_moments(finite)
    row = {"pixels": len(samples), "nan": int(np.isnan(samples).sum()), "inf": int(np.isinf(samples).sum()),
           "min": values.min(), "max": values.max(),
           "mean": agree("mean", float(mean), values.mean()),
           "std": agree("std", math.sqrt(m2), values.std()),
           "std_sample": agree("std_sample", math.sqrt(m2 * n / (n - 1)), values.std(ddof=1)),
           "skewness": agree("skewness", float(m3) / float(m2) ** 1.5, scipy.stats.skew(values)),
           "kurtosis": agree("kurtosis", float(m4 / m2 ** 2 - 3), scipy.stats.kurtosis(values))}
    row["sum"] = agree("sum", math.fsum(values.tolist()), values.sum())  # whole numbers below 2^53, or rounded once
    ordered = np.sort(values)
    for name, percent in PERCENTS.items():
        below, hundredths = divmod(percent * (n - 1), 100)  # numpy's own index q (n - 1) is off by a rounding
        value = Fraction(ordered[below])
        if hundredths:
            value += (Fraction(ordered[below + 1]) - value) * hundredths / 100
        row[name] = agree(name, float(value), np.percentile(values, percent))
    if samples.dtype.kind == "u":
        counts = np.unique(samples, return_counts=True)[1]
        entropy = -math.fsum(c / n * math.log2(c / n) for c in counts.tolist())
        row["entropy"] = agree("entropy", entropy, scipy.stats.entropy(counts, base=2))
        top = np.iinfo(samples.dtype).max
        row["clipped_low"] = np.count_nonzero(samples == 0) / n
        row["clipped_high"] = np.count_nonzero(samples == top) / n
        row["unique"] = len(counts)
        row["effective_bits"] = effective_bits(samples)
        row["mode"] = agree("mode", int(np.argmax(np.bincount(samples))), scipy.stats.mode(samples).mode)
    return row


def histogram(channels, dtype):
    """Edges, and per channel the counts, below, above, nan. Floats: between the finite extremes of all channels."""
    if dtype == np.float32:
        finite = np.concatenate([c[np.isfinite(c)] for c in channels.values()]).astype(np.float64)
        lower, upper = finite.min(), finite.max()
    else:
        lower, upper = 0, np.iinfo(dtype).max + 1
    edges = np.linspace(lower, upper, BINS + 1)
    table = {}
    for name, samples in channels.items():
        values = samples.astype(np.float64)
        counts = np.histogram(values[np.isfinite(values)], bins=BINS, range=(lower, upper))[0]
        if dtype == np.uint8:
            assert np.array_equal(counts, np.bincount(samples, minlength=256))
        table[name] = (counts, np.count_nonzero(values == -np.inf), np.count_nonzero(values == np.inf),
                       np.count_nonzero(np.isnan(values)))
        assert counts.sum() + sum(table[name][1:]) == len(samples)
    return edges, table


def text(value):
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def main(data):
    lines = [",".join(COLUMNS)]
    for path in sorted(p for p in data.iterdir() if p.suffix in (".png", ".jpg", ".tiff")):
        pixels = decode(path)
        height, width = pixels.shape[:2]
        channels = rows(pixels)
        for channel, samples in channels.items():
            row = {"path": path.name, "depth": DEPTHS[pixels.dtype], "channel": channel}
            numbers = {"width": width, "height": height, **statistics(samples)}
            lines.append(",".join(row[c] if c in row else text(numbers.get(c)) for c in COLUMNS))

        edges, table = histogram({k: v for k, v in channels.items() if k != "all"}, pixels.dtype)
        out = ["bin,lower,upper," + ",".join(table)]
        for i in range(BINS):
            out.append(",".join([str(i), text(edges[i]), text(edges[i + 1])] + [str(t[0][i]) for t in table.values()]))
        for i, name in enumerate(("below", "above", "nan"), 1):
            if any(t[i] for t in table.values()):
                out.append(",".join([name, "", ""] + [str(t[i]) for t in table.values()]))
        (data / "expected" / f"{path.name}.histogram.csv").write_text("\n".join(out) + "\n")
    (data / "expected" / "stats.csv").write_text("\n".join(lines) + "\n")


main(pathlib.Path(sys.argv[1]))
