"""Writes what Nastran writes of modes: an OP2 file (PARAM,POST,-1) with LAMA and OUGV1."""

import struct

import numpy as np


def _record(content: bytes) -> bytes:
    return struct.pack("<i", len(content)) + content + struct.pack("<i", len(content))


def _key(number: int) -> bytes:
    return _record(struct.pack("<i", number))


def _keyed(content: bytes) -> bytes:
    return _key(len(content) // 4) + _record(content)


def _table(name: str, records: list[bytes]) -> bytes:
    out = _keyed(name.ljust(8).encode()) + _key(-1)
    out += _keyed(struct.pack("<7i", *range(101, 108))) + _key(-2)
    out += _keyed(struct.pack("<i", 0)) + _keyed(name.ljust(8).encode() + bytes(20)) + _key(-3)
    for place, record in enumerate(records):
        out += _keyed(struct.pack("<i", 0)) + _keyed(record) + _key(-4 - place)
    return out + _keyed(struct.pack("<i", 0)) + _key(0)


def _ident(code: int, mode: int, eigenvalue: float, wide: int) -> bytes:
    head = struct.pack("<5if", 21, code, 0, 1, mode, eigenvalue)
    head += struct.pack("<f3i", float(np.sqrt(abs(eigenvalue)) / (2 * np.pi)), 0, 1, wide)
    return head + bytes(4 * (50 - 10)) + b" " * 384


def op2(numbers, hertz, modal_mass, shapes, *, sort=0) -> bytes:
    """Return an OP2 file of modes: shapes (n, N, 6)."""
    rates = (2 * np.pi * np.asarray(hertz)) ** 2
    rows = b"".join(
        struct.pack("<2i5f", k + 1, k + 1, w, np.sqrt(w), f, m, w * m)
        for k, (w, f, m) in enumerate(zip(rates, hertz, modal_mass, strict=True))
    )
    vectors = []
    for k, shape in enumerate(shapes):
        vectors.append(_ident(7 + 1000 * sort, k + 1, rates[k], 8))
        vectors.append(
            b"".join(
                struct.pack("<2i6f", 10 * int(n) + 1, 1, *row)
                for n, row in zip(numbers, shape, strict=True)
            )
        )
    label = b"NASTRAN FORT TAPE ID CODE - "
    head = _keyed(struct.pack("<3i", 11, 19, 26)) + _keyed(label)
    head += _keyed(b"XXXXXXXX") + _key(-1) + _key(0)
    lama = _table("LAMA", [_ident(6, 0, 0.0, 7), rows])
    return head + lama + _table("OUGV1", vectors) + _key(0)
