"""Numbers that the tests make in the same way."""

import numpy as np


def random(count):
    """31-bit numbers: Knuth's MMIX generator, started from 1."""
    state, numbers = 1, np.empty(count, np.int64)
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        numbers[i] = state >> 33
    return numbers
