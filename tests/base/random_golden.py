#!/usr/bin/env python3
"""Writes the golden numbers of random_test.cc by an independent implementation: python integers, mpmath with 40 digits.

Usage: python3 random_golden.py
"""

import struct

from mpmath import cos, erf, erfinv, log, mp, mpf, pi, sin, sqrt

mp.dps = 40
MASK32 = 2**32 - 1
MASK64 = 2**64 - 1


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK64
    return z ^ (z >> 31)


def random_key(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK64
    return mix((h + mix((seed + 0x9E3779B97F4A7C15) & MASK64)) & MASK64)


def philox(key, block):
    x = [block & MASK32, block >> 32, 0, 0]
    k = [key & MASK32, key >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(p1 >> 32) ^ x[1] ^ k[0], p1 & MASK32, (p0 >> 32) ^ x[3] ^ k[1], p0 & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return x


def words(key, first, n):
    return [philox(key, i // 4)[i % 4] for i in range(first, first + n)]


def uniform01(word):
    return (mpf(word) + mpf(1) / 2) / 2**32


def normal(key, i, stddev):
    a, b = (uniform01(w) for w in words(key, i - i % 2, 2))
    return stddev * sqrt(-2 * log(a)) * (sin if i % 2 else cos)(2 * pi * b)


def truncated_normal(key, i, stddev):
    return stddev * sqrt(2) * erfinv((2 * uniform01(words(key, i, 1)[0]) - 1) * erf(sqrt(mpf(2))))


def uniform(key, i, half_width):
    return half_width * (2 * uniform01(words(key, i, 1)[0]) - 1)


def integer(key, i, bound):
    high, low = words(key, 2 * i, 2)
    return bound * (high * 2**32 + low) >> 64


def c_float(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0].hex() + "f"


def show(name, values):
    print(f"{name}: {{{', '.join(values)}}}")


KEY = random_key(7, "encoder.layer.0.attention.self.query.weight")
FIRST = 12345678901
print(f"key: {KEY:#018x}; of (0, ''): {random_key(0, ''):#018x}")
show("bits", [f"{w:#010x}" for w in words(KEY, FIRST, 8)])
show("normal", [c_float(normal(KEY, i, mpf(0.02))) for i in range(FIRST, FIRST + 8)])
show("truncated normal", [c_float(truncated_normal(KEY, i, mpf(0.02))) for i in range(FIRST, FIRST + 8)])
show("uniform", [c_float(uniform(KEY, i, mpf(0.05))) for i in range(FIRST, FIRST + 8)])
show("integers", [str(integer(KEY, i, 30522)) for i in range(FIRST, FIRST + 8)])
