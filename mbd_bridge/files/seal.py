"""A seal: the SHA-256 of a file, inside of it, so that no bit that has changed is believed.

It stands near the end of a file, where its format has a place for a text, and covers all bytes of
the file but its own 64 digits.
"""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

MARK = b"mbd_bridge, sealed: "
DIGITS = 2 * hashlib.sha256().digest_size
BLANK = MARK + b"0" * DIGITS
"""What is written into a file that is to be sealed; the last one is filled in."""

TAIL = 2**24
"""Bytes at the end of a file among which the seal is."""
BLOCK = 2**20


def seal(file: BinaryIO) -> None:
    """Fill in the blank seal of a file that was written."""
    place = _place(file)
    assert place is not None, "it holds BLANK"
    digest = _digest(file, place)
    file.seek(place)
    file.write(digest)


def is_sealed(file: BinaryIO) -> bool:
    """Return whether nothing of a file was changed; go back to its start."""
    place = _place(file)
    good = place is not None and _digest(file, place) == _read(file, place)
    file.seek(0)
    return good


def _place(file: BinaryIO) -> int | None:
    """Return where the digits of the seal begin."""
    size = file.seek(0, os.SEEK_END)
    first = file.seek(max(0, size - TAIL))
    found = file.read().rfind(MARK)
    place = first + found + len(MARK)
    return None if found < 0 or place + DIGITS > size else place


def _read(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.read(DIGITS)


def _digest(file: BinaryIO, place: int) -> bytes:
    """Return the digits that belong there."""
    digest = hashlib.sha256()
    left = file.seek(0) + place
    while left > 0 and (block := file.read(min(left, BLOCK))):
        digest.update(block)
        left -= len(block)
    file.seek(place + DIGITS)
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest().encode()
