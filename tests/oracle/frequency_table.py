"""Writes tests/gpu/frequency_table.inc: what numpy finds in made f32 samples.
tests/value_counts_test.cpp makes the same samples from the same recipes.

python -m venv /tmp/venv && /tmp/venv/bin/pip install numpy
/tmp/venv/bin/python tests/oracle/frequency_table.py > tests/gpu/frequency_table.inc
"""

import numpy as np

from made_numbers import random

BINS = 16
SIZE = 600001  # every percentile is a value of the set


r = random(3 * SIZE)

# Name, samples.
CASES = [
    ("few", (r[:SIZE] % 2 ** 18 - 2 ** 17) * 2.0 ** -9),
    ("many", (r[:SIZE] % 2 ** 24) * 2.0 ** -24),
    ("scales", np.ldexp(1 + (r[:SIZE] & 0xFFFFF) / 2 ** 20, (r[:SIZE] >> 20) % 64 - 40) * np.where(r[:SIZE] & 1, 1, -1)),
    ("offset", 1000 + ((r[:SIZE] & 0x3FFFF) + (r[SIZE:2 * SIZE] & 0x3FFFF) + (r[2 * SIZE:] & 0x3FFFF)) * 2.0 ** -14),
]


print("// Written by tests/oracle/frequency_table.py with numpy " + np.__version__ + ".")
for name, samples in CASES:
    exact = samples
    samples = samples.astype(np.float32) + np.float32(0)
    if name != "offset":
        assert np.array_equal(samples, exact)
    values = samples.astype(np.float64)
    percentiles = np.percentile(values, [1, 5, 25, 50, 75, 95, 99])
    counts, edges = np.histogram(values, BINS, (values.min(), values.max()))
    print(f'{{"{name}", {len(np.unique(samples))}, {{{", ".join(repr(float(p)) for p in percentiles)}}},')
    print(f' {{{", ".join(str(c) for c in counts)}}}}},')
