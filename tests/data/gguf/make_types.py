#!/usr/bin/env python3
"""Writes types/model.gguf, a tensor of each type that rankfall reads, and types/dequantised.json, what its values are.

An independent implementation of ggml's formats, in single precision without fused multiply-add (NumPy), bit by bit from
the description of the blocks. Of the types that llama.cpp's files beside it have, tests compare with those instead."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np

f32 = np.float32
HERE = Path(__file__).resolve().parent / "types"
rng = np.random.default_rng(20261119)
ROWS, COLUMNS = 3, 512


def half(n):
    return (rng.standard_normal(n) * 0.01).astype(np.float16)


def bits(value, first, n):
    """n bits of unsigned numbers, from bit `first` on."""
    return (value.astype(np.uint32) >> first) & ((1 << n) - 1)


def nibbles(q):
    """16 bytes hold weights 0..15 in their low and 16..31 in their high halves."""
    return np.concatenate([bits(q, 0, 4), bits(q, 4, 4)]).astype(np.int64)


def fifth(qh):
    return np.array([(int.from_bytes(qh.tobytes(), "little") >> j) & 1 for j in range(32)]) * 16


def q8_0():
    d, q = half(1), rng.integers(-128, 128, 32).astype(np.int8)
    return d.tobytes() + q.tobytes(), q.astype(f32) * f32(d[0])


def q4(with_minimum, five):
    d, m, qh, q = half(1), half(1), rng.integers(0, 256, 4).astype(np.uint8), rng.integers(0, 256, 16).astype(np.uint8)
    whole = nibbles(q) + (fifth(qh) if five else 0)
    raw = d.tobytes() + (m.tobytes() if with_minimum else b"") + (qh.tobytes() if five else b"") + q.tobytes()
    if with_minimum:
        return raw, whole.astype(f32) * f32(d[0]) + f32(m[0])
    return raw, (whole - (16 if five else 8)).astype(f32) * f32(d[0])


def q45_k(five):
    d, m = half(1), half(1)
    scale, offset = rng.integers(0, 64, 8), rng.integers(0, 64, 8)
    packed = np.zeros(12, np.uint8)  # eight scales and eight offsets of six bits
    for j in range(4):
        packed[j] = scale[j] | (scale[j + 4] >> 4) << 6
        packed[j + 4] = offset[j] | (offset[j + 4] >> 4) << 6
        packed[j + 8] = (scale[j + 4] & 15) | (offset[j + 4] & 15) << 4
    weights = rng.integers(0, 32 if five else 16, 256)
    q, qh = np.zeros(128, np.uint8), np.zeros(32, np.uint8)
    values = np.zeros(256, f32)
    for i, w in enumerate(weights):
        run, l = divmod(i, 32)
        q[run // 2 * 32 + l] |= (int(w) & 15) << (4 * (run % 2))
        qh[l] |= (int(w) >> 4) << run
        values[i] = f32(f32(d[0]) * f32(scale[run])) * f32(w) - f32(f32(m[0]) * f32(offset[run]))
    return d.tobytes() + m.tobytes() + packed.tobytes() + (qh.tobytes() if five else b"") + q.tobytes(), values


def q6_k():
    d, scale, weights = half(1), rng.integers(-128, 128, 16).astype(np.int8), rng.integers(0, 64, 256)
    low, high = np.zeros(128, np.uint8), np.zeros(64, np.uint8)
    values = np.zeros(256, f32)
    for i, w in enumerate(weights):
        part, rest = divmod(i, 128)
        quarter, l = divmod(rest, 32)
        low[part * 64 + (quarter % 2) * 32 + l] |= (int(w) & 15) << (4 * (quarter // 2))
        high[part * 32 + l] |= (int(w) >> 4) << (2 * quarter)
        values[i] = f32(f32(d[0]) * f32(scale[i // 16])) * f32(int(w) - 32)
    return low.tobytes() + high.tobytes() + scale.tobytes() + d.tobytes(), values


def plain(dtype):
    x = rng.standard_normal(1).astype(dtype)
    return x.tobytes(), x.astype(f32)


def bf16():
    x = rng.standard_normal(1).astype(f32).view(np.uint32) & np.uint32(0xFFFF0000)
    return (x >> 16).astype(np.uint16).tobytes(), x.view(f32)


TYPES = {
    "F32": (0, 1, lambda: plain(np.float32)),
    "F16": (1, 1, lambda: plain(np.float16)),
    "Q4_0": (2, 32, lambda: q4(False, False)),
    "Q4_1": (3, 32, lambda: q4(True, False)),
    "Q5_0": (6, 32, lambda: q4(False, True)),
    "Q5_1": (7, 32, lambda: q4(True, True)),
    "Q8_0": (8, 32, q8_0),
    "Q4_K": (12, 256, lambda: q45_k(False)),
    "Q5_K": (13, 256, lambda: q45_k(True)),
    "Q6_K": (14, 256, q6_k),
    "F64": (28, 1, lambda: plain(np.float64)),
    "BF16": (30, 1, bf16),
}


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


infos, data, expected = b"", b"", {}
for name, (number, block, make) in TYPES.items():
    raw, values = zip(*(make() for _ in range(ROWS * COLUMNS // block)))
    values = np.concatenate(values).astype("<f4")
    data += b"\0" * (-len(data) % 32)
    infos += text(name.lower()) + struct.pack("<IQQIQ", 2, COLUMNS, ROWS, number, len(data))
    data += b"".join(raw)
    expected[name.lower()] = {
        "type": name,
        "shape": [ROWS, COLUMNS],
        "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
        "first": [float(v) for v in values[:4]],
    }
head = b"GGUF" + struct.pack("<IQQ", 3, len(TYPES), 1) + text("general.architecture") + struct.pack("<I", 8) + text("types")
head += infos
head += b"\0" * (-len(head) % 32)
HERE.mkdir(exist_ok=True)
(HERE / "model.gguf").write_bytes(head + data)
(HERE / "dequantised.json").write_text(json.dumps(expected, indent=1) + "\n")
