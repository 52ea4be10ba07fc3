"""Writes tests/gpu/exact_sums.inc: arithmetic on wide integers, and sums of powers of made floats with the statistics that follow
from them, all in Python's integers and rationals. tests/pool_test.cpp reads it. Needs no package.

python3 tests/oracle/exact_sums.py > tests/gpu/exact_sums.inc
"""

import math
import random
import struct
from fractions import Fraction

WORDS = 4
FRACTION_BITS = 330


def quoted(value):
    return '"' + ("-" if value < 0 else "") + format(abs(value), "x") + '"'


def wrapped(value, bits=64 * WORDS):
    """As a two's complement integer of so many bits."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def wide_rows():
    edges = [0, 1, -1, 2 ** 64 - 1, 2 ** 64, -2 ** 64, 2 ** 127, 2 ** 128 - 1, 2 ** 255 - 1, -2 ** 255, 2 ** 53 + 1, 2 ** 64 + 2 ** 11,
             2 ** 64 + 2 ** 11 + 1, 2 ** 200 + 2 ** 147, 2 ** 200 + 2 ** 147 + 1, 3 * 2 ** 147 + 2 ** 200]
    values = edges + [random.getrandbits(random.randrange(1, 256)) * random.choice([1, -1]) for _ in range(48)]
    for a in values:
        b, shift, divisor = random.choice(values), random.randrange(0, 256), random.choice([1, 2, 3, 10, 2 ** 62 - 1, random.getrandbits(60) + 1])
        yield (f"{{{quoted(a)}, {quoted(b)}, {shift}, {divisor}u, {quoted(wrapped(a + b))}, {quoted(wrapped(a - b))}, "
               f"{quoted(wrapped(a * b))}, {quoted(wrapped(a << shift))}, {float(a).hex()}, {float(Fraction(a, divisor)).hex()}}},")


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def nearest_sqrt(value):
    """The square root of a positive rational with 120 good bits, to the nearest double."""
    scale = 4 ** (200 + max(0, value.denominator.bit_length()))
    return float(Fraction(math.isqrt(value.numerator * scale // value.denominator), math.isqrt(scale)))


class Moments:
    """FloatMoments of finite samples: d = x - pivot, R = 2^exponent > |d|, sums of rint(d^k / R^k 2^80) in double."""

    def __init__(self, samples, pivot):
        self.samples, self.pivot, self.n = samples, pivot, len(samples)
        self.exponent = max(math.frexp(max(abs(x - pivot) for x in samples))[1], -149)
        self.sums = [0] * 4
        for x in samples:
            u = math.ldexp(x - pivot, -self.exponent)
            power = 1.0
            for k in range(4):
                power *= u
                self.sums[k] += round(Fraction(power) * 2 ** 80)

    def powers(self):
        """Σx^k as rationals: of the pivot and the sums, by the binomial theorem."""
        d = [Fraction(self.n)] + [self.sums[k - 1] * Fraction(2) ** (k * self.exponent - 80) for k in range(1, 5)]
        return [sum(math.comb(k, j) * Fraction(self.pivot) ** (k - j) * d[j] for j in range(k + 1)) for k in range(1, 5)]


def statistics(n, powers):
    mean = powers[0] / n
    raw = [Fraction(1)] + [p / n for p in powers]
    m2, m3, m4 = (sum(math.comb(k, j) * raw[j] * (-mean) ** (k - j) for j in range(k + 1)) for k in (2, 3, 4))
    if m2 <= 0:
        return [float(mean), 0.0, 0.0, 0.0]
    skewness = math.copysign(nearest_sqrt(m3 * m3 / m2 ** 3), m3) if m3 else 0.0
    return [float(mean), nearest_sqrt(m2), skewness, float(m4 / m2 ** 2 - 3)]


def populations():
    def made(count, draw):
        return [single(draw()) for _ in range(count)]
    tiny = 2.0 ** -149
    yield "unit", [made(50, random.random) for _ in range(3)], False
    yield "gaussian", [made(40, lambda: random.gauss(1000, 3)), made(3, lambda: random.gauss(-5, 1))], False
    yield "far from zero", [made(30, lambda: 1e7 + random.randrange(2)) for _ in range(4)], True
    yield "denormals", [made(20, lambda: random.randrange(-9, 9) * tiny) for _ in range(2)], True
    yield "huge", [made(20, lambda: random.uniform(-3.4e38, 3.4e38)) for _ in range(2)], False
    yield "both ends", [[tiny, -tiny, 3.4028234663852886e38], [-3.4028234663852886e38, tiny]], True
    yield "constant", [[single(0.1)] * 7, [single(0.1)] * 2], False
    yield "one sample", [[single(-3.25)]], False


def population_rows():
    for name, images, at_mean in populations():
        total, powers = 0, [Fraction(0)] * 4
        print(f'{{"{name}", {{')
        for samples in images:
            pivot = float(sum(map(Fraction, samples)) / len(samples)) if at_mean else samples[len(samples) // 2]
            moments = Moments(samples, pivot)
            total += moments.n
            powers = [a + b for a, b in zip(powers, moments.powers())]
            low_high = ", ".join(f"{{{s % 2 ** 64}u, {s >> 64}}}" for s in moments.sums)
            print(f"  {{{moments.n}, {min(samples).hex()}, {max(samples).hex()}, {moments.pivot.hex()}, {moments.exponent}, {{{{{low_high}}}}}}},")
        integers = [p * 2 ** (k * FRACTION_BITS) for k, p in enumerate(powers, 1)]
        assert all(p.denominator == 1 for p in integers)
        numbers = ", ".join(v.hex() for v in statistics(total, powers))
        print("}, {" + ", ".join(quoted(p.numerator) for p in integers) + "}, {" + numbers + "}},")


def ratio_rows():
    """128-bit numerators over what 32-bit digits divide and what they do not, ties and what lies beside them among them."""
    divisors = [1, 2, 3, 7, 10, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 63 - 1, 12_000_000, 268_435_399]
    numerators = [1, 2 ** 53, 2 ** 53 + 1, 2 ** 64 - 1, 2 ** 64, 2 ** 127, 2 ** 128 - 1]
    for divisor in divisors:
        tie = (2 ** 54 + 2 * random.getrandbits(50) + 1) * divisor * 2 ** random.randrange(10)
        near = [tie, tie - 1, tie + 1, divisor * random.getrandbits(60), random.getrandbits(128), random.getrandbits(90)]
        for numerator in numerators + [n for n in near if 0 < n < 2 ** 128]:
            yield f"{{{quoted(numerator)}, {divisor}u, {float(Fraction(numerator, divisor)).hex()}}},"


random.seed(1)
print("// Written by tests/oracle/exact_sums.py.")
print("#ifdef WIDE_ROWS")
for row in wide_rows():
    print(row)
print("#elif !defined RATIO_ROWS")
population_rows()
print("#else")
for row in ratio_rows():
    print(row)
print("#endif")
