"""Writes tests/gpu/compared.inc: what numpy, scipy and OpenCV find when they compare made samples.
tests/gpu/compare_test.cpp makes the same samples from the same recipes.

python -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy opencv-python-headless
/tmp/venv/bin/python tests/oracle/compared.py > tests/gpu/compared.inc
"""

import cv2
import numpy as np
import scipy
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance

from made_numbers import random

SIZE_A, SIZE_B = 5000, 3000
r = random(2 * SIZE_A)
a, b = r[:SIZE_A], r[SIZE_A:SIZE_A + SIZE_B]
half = 2.0 ** -20

# Name, samples of both, number of values of the type or 0, and white of both if values are fractions of it.
CASES = [
    ("u8", a % 200, 20 + b % 180, 256, None),
    ("few", a % 2 * 255, b % 3 * 100, 256, None),
    ("constant", a * 0 + 7, b * 0 + 9, 256, None),
    ("u16", a % 60000, b % 30000 + (b >> 15) % 30000, 65536, None),
    ("s16", a % 3000 - 1500, b % 2000 - 1700, 65536, None),
    ("f32", a % 2 ** 20 * half, b % 2 ** 20 * 2 * half - 0.25, 0, None),
    ("u32", a, b // 2 + 5, 0, None),
    ("depths", a % 256, b % 65536, 0, (255, 65535)),
    ("whites", a % 4096, b % 65536, 0, (4095, 65535)),
]


def shares(samples, values, edges):
    if values:
        lowest = -values // 2 if samples.min() < 0 or edges[0] < 0 else 0
        counts = np.bincount(samples - lowest, minlength=values)
    else:
        counts = np.histogram(samples, 256, edges)[0]
    return counts / counts.sum()


def psi(x, y):
    ends = np.quantile(x, np.arange(1, 10) / 10, method="inverted_cdf")
    p = np.bincount(np.searchsorted(ends, x, side="left"), minlength=10) / x.size
    q = np.bincount(np.searchsorted(ends, y, side="left"), minlength=10) / y.size
    p, q = np.maximum(p, 1e-6), np.maximum(q, 1e-6)
    return np.sum((q - p) * np.log(q / p))


print(f"// Written by tests/oracle/compared.py with numpy {np.__version__}, scipy {scipy.__version__} and OpenCV "
      f"{cv2.__version__}.")
for name, x, y, values, whites in CASES:
    if whites:
        x, y = x / whites[0], y / whites[1]
    edges = (min(x.min(), y.min()), max(x.max(), y.max()))
    p, q = shares(x, values, edges), shares(y, values, edges)
    spread = np.sqrt((np.var(x) + np.var(y)) / 2)
    numbers = [
        np.mean(y) - np.mean(x),
        np.std(y) - np.std(x),
        np.std(y) / np.std(x) if np.std(x) else np.nan,
        (np.mean(y) - np.mean(x)) / spread if spread else np.nan,
        np.corrcoef(p, q)[0, 1],
        np.sum((p - q)[p > 0] ** 2 / p[p > 0]),
        np.minimum(p, q).sum(),
        np.sqrt(1 - np.sum(np.sqrt(p * q))),
        jensenshannon(p, q, base=2),
        wasserstein_distance(x, y),
        ks_2samp(x, y, method="asymp").statistic,
        psi(x, y),
    ]
    methods = [cv2.HISTCMP_CORREL, cv2.HISTCMP_CHISQR, cv2.HISTCMP_INTERSECT, cv2.HISTCMP_BHATTACHARYYA]
    opencv = [cv2.compareHist(p.astype(np.float32), q.astype(np.float32), method) for method in methods]
    text = [", ".join("NAN" if np.isnan(n) else repr(float(n)) for n in part) for part in (numbers, opencv)]
    print(f'{{"{name}", {len(p)}, {{{text[0]}}},\n {{{text[1]}}}}},')
