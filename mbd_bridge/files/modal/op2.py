"""Modes in an OP2 file of Nastran: the tables LAMA (frequencies) and OUG, OPHIG (eigenvectors).

An OP2 file is a sequence of Fortran records: a length in bytes, the content, the length again.
Records of one integer are keys: n > 0 says that the next record has n words, -n that the n-th
logical record of a table begins, 0 that the table ends. Words have 4 or 8 bytes. A table begins
with a record of its name; then come its ident records (146 words) and their data in turn:

    LAMA   7 words a mode: number, order, eigenvalue, rad/s, Hz, modal mass, modal stiffness
    OUG    8 words a node: 10 number + device, type (1: grid), 6 components (real, SORT1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MAX_BYTES = 2**31
"""Largest file that is read, 2 GB."""
IDENT = 146
"""Words of an ident record."""
EIGENVECTORS = 7
"""The table's code for eigenvectors; 1 is for displacements."""
GRID = 1
"""The type of a grid point; scalar points have others."""


class Frequencies(NamedTuple):
    """Of modes: numbers (n,), Hz, modal masses and stiffnesses."""

    numbers: Whole
    hertz: Floats
    mass: Floats
    stiffness: Floats


@dataclass(frozen=True, eq=False)
class Op2Modes:
    """What an OP2 file says of modes.

    Attributes
    ----------
    frequencies : None if the file has no table of them
    eigenvalues : (n,) (rad/s)², as the eigenvectors have them
    numbers : (N,) of the grid points
    modes : (n,) numbers of the modes
    shapes : (n, N, 6) displacement and rotation
    basic : whether components are along the basic axes, not those of each point's own system
    """

    frequencies: Frequencies | None
    eigenvalues: Floats
    numbers: Whole
    modes: Whole
    shapes: Floats
    basic: bool


def read_op2(path: str) -> Op2Modes:
    """Return the modes in a file."""
    name = str(path)
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise FileError(f"has more than {MAX_BYTES} bytes; write eigenvectors only", name)
        data = Path(path).read_bytes()
    except OSError as problem:
        raise FileError(f"cannot be read: {problem.strerror}", name) from None
    if len(data) < 12 or int.from_bytes(data[:4], "little") not in (4, 8):
        raise FileError(
            "is no OP2 file of little-endian Fortran records; write it with PARAM,POST,-1 or -2, "
            "not formatted",
            name,
        )
    frequencies, shapes = None, None
    for table, records in _tables(data, name):
        if table in ("LAMA", "LAMAS", "BLAMA") and frequencies is None:
            frequencies = _frequencies(records)
        elif "OUG" in table or "OPHIG" in table:
            found = _eigenvectors(records, name)
            if found is not None and shapes is None:
                shapes = (*found, table.startswith("B"))
    if shapes is None:
        raise FileError(
            "has no eigenvectors of SORT1: solve for modes (SOL 103) with DISPLACEMENT(PLOT) = ALL "
            "and PARAM,POST,-1",
            name,
        )
    return Op2Modes(frequencies, *shapes)


def _tables(data: bytes, name: str) -> Iterator[tuple[str, list[bytes]]]:
    """Return names and logical records of the tables of a file."""
    word = int.from_bytes(data[:4], "little")
    place, records, current = 0, list[bytes](), b""
    while place < len(data):
        key, place = _key(data, place, word, name)
        if key == 0:
            if records:
                yield _text(records[0], word), [*records[1:], current]
            records, current = [], b""
        elif key < 0:
            records.append(current)
            current = b""
        else:
            content, place = _record(data, place, name)
            if len(content) != key * word:
                raise FileError(f"is damaged near byte {place}: a record has another length", name)
            current += content


def _record(data: bytes, place: int, name: str) -> tuple[bytes, int]:
    size = int.from_bytes(data[place : place + 4], "little", signed=True)
    end = place + 4 + size
    if size < 0 or end + 4 > len(data) or data[place : place + 4] != data[end : end + 4]:
        raise FileError(f"is cut off or damaged near byte {place}", name)
    return data[place + 4 : end], end + 4


def _key(data: bytes, place: int, word: int, name: str) -> tuple[int, int]:
    content, place = _record(data, place, name)
    if len(content) != word:
        raise FileError(f"is damaged near byte {place}: expected a key of {word} bytes", name)
    return int.from_bytes(content, "little", signed=True), place


def _text(content: bytes, word: int) -> str:
    if word == 8:  # four letters in each word of eight bytes
        content = b"".join(content[k : k + 4] for k in range(0, len(content), 8))
    return content[:8].decode("latin-1").strip()


def _pairs(records: list[bytes], word: int) -> Iterator[tuple[bytes, bytes]]:
    """Return ident records and what follows each; every record begins with a word 0."""
    plain = [one[word:] for one in records if len(one) > word]
    for ident, content in pairwise(plain):
        if len(ident) == IDENT * word and len(content) != IDENT * word:
            yield ident, content


def _word(records: list[bytes]) -> int:
    """Return the bytes of a word: ident records have 146 and the one before them."""
    return 8 if any(len(one) == 8 * (IDENT + 1) for one in records) else 4


def _numbers(content: bytes, word: int) -> tuple[Whole, Floats]:
    """Return words as whole numbers and as floats."""
    whole, real = (np.int32, np.float32) if word == 4 else (np.int64, np.float64)
    size = len(content) // word * word
    return (
        np.frombuffer(content[:size], whole).astype(np.int64),
        np.frombuffer(content[:size], real).astype(np.float64),
    )


def _frequencies(records: list[bytes]) -> Frequencies | None:
    word = _word(records)
    rows: list[tuple[int, float, float, float]] = []
    for _, content in _pairs(records, word):
        whole, real = _numbers(content, word)
        width = len(whole) // 7 * 7
        for k in range(0, width, 7):
            rows.append((int(whole[k]), real[k + 4], real[k + 5], real[k + 6]))
    if not rows:
        return None
    numbers, hertz, mass, stiffness = zip(*rows, strict=True)
    values = (np.array(part, dtype=np.float64) for part in (hertz, mass, stiffness))
    return Frequencies(np.array(numbers, dtype=np.int64), *values)


def _eigenvectors(records: list[bytes], name: str) -> tuple[Floats, Whole, Whole, Floats] | None:
    word = _word(records)
    numbers: Whole | None = None
    modes, values, shapes = [], [], []
    for ident, content in _pairs(records, word):
        head, parts = _numbers(ident, word)
        code, mode, form, width = (int(head[k]) for k in (1, 4, 8, 9))
        if code % 1000 != EIGENVECTORS:
            continue
        if code // 1000 > 1 or form != 1 or width != 8:
            raise FileError(
                "has eigenvectors that are complex or of SORT2; write real ones of SORT1", name
            )
        whole, real = _numbers(content, word)
        rows = len(whole) // 8
        whole, real = whole[: 8 * rows].reshape(-1, 8), real[: 8 * rows].reshape(-1, 8)
        grids = whole[:, 1] == GRID
        own = whole[grids, 0] // 10
        if numbers is not None and not np.array_equal(numbers, own):
            break  # of another subcase or a residual structure
        if mode in modes:
            break
        numbers = own
        modes.append(mode)
        values.append(parts[5])
        shapes.append(real[grids, 2:])
    if numbers is None:
        return None
    return np.array(values), numbers, np.array(modes, dtype=np.int64), np.array(shapes)
