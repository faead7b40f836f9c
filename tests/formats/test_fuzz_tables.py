"""However the structure of a table's file is damaged: read or refused, soon, in little memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.tables import read_table
from tests.bounds import bounded
from tests.formats.table_files import BINARY, numbers, write

MUTANTS = 400
"""Of each kind: files of three rows are nearly all structure."""

LENGTHS = (b"\xff" * 8, b"\xff\xff\xff\x7f", b"\0" * 8, b"\x80\x80\x80\x80\x08", b"9" * 12)
"""What is written over lengths, places and counts."""


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with bytes flipped, overwritten, moved or cut off."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(out) - 8))
        kind = rng.integers(6)
        if kind == 0:
            out[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            out[place] = int(rng.integers(256))
        elif kind == 2:
            new = LENGTHS[rng.integers(len(LENGTHS))]
            out[place : place + len(new)] = new
        elif kind == 3:
            other = int(rng.integers(len(out) - 8))
            out[place : place + 8] = out[other : other + 8]
        elif kind == 4:
            del out[place : place + int(rng.integers(1, 9))]
        elif rng.random() < 0.2:
            del out[place:]
        if len(out) < 20:
            break
    return bytes(out)


@pytest.mark.parametrize("kind", BINARY)
def test_damaged_structure_is_read_or_refused_soon_and_in_little_memory(tmp_path, kind):
    warnings.simplefilter("error")  # pytest puts it back
    path = write(tmp_path / f"t.{kind}", numbers(3))
    data, rng = path.read_bytes(), np.random.default_rng(23)
    seen, told = {"read": 0, "refused": 0}, list[FileError]()
    with bounded(seconds=60, megabytes=1000):
        for _ in range(MUTANTS):
            path.write_bytes(mutate(data, rng))
            try:
                with bounded(seconds=2, megabytes=500):
                    table = read_table(path)
            except FileError as error:
                seen["refused"] += 1
                told.append(error)
            else:
                seen["read"] += 1
                assert np.isfinite(table.values).all()
    assert all(error.file == str(path) and len(str(error)) < 1200 for error in told)
    assert min(seen.values()) > 10, seen
