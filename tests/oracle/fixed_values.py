"""Writes tests/gpu/fixed_values.inc: the statistics of made samples as numpy and scipy compute them in double precision.
tests/statistics_test.cpp makes the same samples from the same recipes.

python -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy
/tmp/venv/bin/python tests/oracle/fixed_values.py > tests/gpu/fixed_values.inc
"""

import numpy as np
import scipy.stats

from made_numbers import random


def holes(i, r):
    samples = (r * 2.0 ** -30 - 1).astype(np.float32)
    samples[i % 11 == 3] = np.nan
    samples[i % 97 == 5] = np.inf
    samples[i % 101 == 7] = -np.inf
    return samples


# Name, sample type, recipe (from the sample's index and its random number), channels. Each image is 62 × 47.
WIDTH, HEIGHT = 62, 47
CASES = [
    ("noise8", "u8", lambda i, r: r & 255, 3),
    ("dark8", "u8", lambda i, r: (r & 255) * (r >> 8 & 255) >> 8, 1),
    ("noise16", "u16", lambda i, r: r & 65535, 4),
    ("two16", "u16", lambda i, r: 65000 + (i & 1), 1),
    ("sensor16", "u16", lambda i, r: 64 + (r & 1023) + (r >> 10 & 1023) + (r >> 20 & 1023), 3),
    ("unit32", "f32", lambda i, r: r * 2.0 ** -30 - 1, 4),
    ("two32", "f32", lambda i, r: 10000000 + (i & 1), 1),
    ("offset32", "f32", lambda i, r: 10000000 + r % 5, 1),
    ("scales32", "f32", lambda i, r: np.ldexp(1 + (r & 1023) / 1024, (r >> 10) % 16 - 12), 1),
    ("holes32", "f32", holes, 3),
]
TYPES = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32}


def luma(red, green, blue):
    if red.dtype == np.float32:
        weight = np.float32
        return (weight(0.299) * red + weight(0.587) * green) + weight(0.114) * blue
    red, green, blue = (c.astype(np.int64) for c in (red, green, blue))
    return (9798 * red + 19235 * green + 3735 * blue + 16384) >> 15


def effective_bits(samples):
    """From the lowest to the highest bit that is set in some samples, not in all."""
    varying = f"{np.bitwise_or.reduce(samples) ^ np.bitwise_and.reduce(samples):b}"
    return len(varying.strip("0"))


def number(value):
    return "none" if value is None else repr(float(value))


def row(channel, samples, dtype):
    finite = samples[np.isfinite(samples)]
    values = finite.astype(np.float64)
    # Central moments do not change when a whole number is taken away, which is exact here, and keep their digits.
    centered = values - np.rint(values.mean())
    numbers = [values.min(), values.max(), np.rint(values.mean()) + centered.mean(), centered.std(),
               centered.std(ddof=1), scipy.stats.skew(centered), scipy.stats.kurtosis(centered)]
    if dtype == np.float32:
        entropy = low = high = unique = bits = None
    else:
        counts = np.unique(finite, return_counts=True)[1]
        entropy, unique = scipy.stats.entropy(counts, base=2), len(counts)
        low, high = np.mean(finite == 0), np.mean(finite == np.iinfo(dtype).max)
        bits = effective_bits(finite)
    percentiles = np.percentile(values, [1, 5, 25, 50, 75, 95, 99])
    fields = [f"Channel::{channel}", str(len(samples)), str(np.isnan(samples).sum()), str(np.isinf(samples).sum()),
              *map(number, numbers), number(entropy), "{" + ", ".join(map(number, percentiles)) + "}",
              number(low), number(high), number(unique), number(bits)]
    return "      {" + ", ".join(fields) + "},"


print("// Written by tests/oracle/fixed_values.py with numpy " + np.__version__ + " and scipy " + scipy.__version__ + ".")
np.seterr(invalid="ignore")
for name, kind, recipe, channels in CASES:
    count = WIDTH * HEIGHT * channels
    pixels = np.asarray(recipe(np.arange(count), random(count))).astype(TYPES[kind]).reshape(-1, channels)
    parts = {"gray": pixels[:, 0]}
    if channels >= 3:
        red, green, blue = pixels[:, 0], pixels[:, 1], pixels[:, 2]
        parts = {"red": red, "green": green, "blue": blue, "luma": luma(red, green, blue), "all": pixels[:, :3].ravel()}
    if channels == 4:
        parts["alpha"] = pixels[:, 3]
    print(f'{{"{name}", Depth::{kind}, {channels},\n  {{')
    for channel, samples in parts.items():
        print(row(channel, samples, TYPES[kind]))
    print("  }},")
