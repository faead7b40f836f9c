"""Damage to files: of bytes, of words and of XML's elements; and what reading a robot's file gives.

`mutate` is for robots' files, `mutate_bytes` for files of any kind, `mutate_words` for texts of
numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from mbd_bridge.api.load import describe
from mbd_bridge.base.errors import FileError
from mbd_bridge.model.description import Description
from tests.bounds import soon

PATIENCE = 2.0
"""No file of this size may take longer, s; they take some milliseconds."""

NUMBERS = (
    "nan", "inf", "-inf", "", " ", "x", "1e400", "-1e308", "1e308", "1e-320", "-0", "0", "-1",
    "1 2", "1,2", "${x}", "0x10", "1_0", "１", "true", "9" * 5000, "+-1",
)  # fmt: skip
"""What is written where a number stood."""

NAMES = ("", " ", "base", "world", "a b", "<", "&amp;", "ü", "n" * 10_000, "../..", "\t", "None")

BYTES = (b"\0", b"<", b">", b'"', b"&", b"\xff", b"]]>", b"<!--", b"<?xml?>", b"<!DOCTYPE a>")

WORDS = (b"1e30", b"-1", b"0", b"9" * 30, b"nan", b"1e999", b"", b"\xff", b"2000000000")

LENGTHS = (b"\xff" * 8, b"\xff\xff\xff\x7f", b"\0" * 8, b"\x80\x80\x80\x80\x08", b"9" * 12)
"""What is written over lengths, places and counts."""

ELEMENT = re.compile(r"<(\w+)\b[^<>]*?/>|<(link|joint|inertial|visual)\b[^<>]*>.*?</\2>", re.DOTALL)
ATTRIBUTE = re.compile(r'\s(\w+)\s*=\s*"([^"]*)"')
NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")


def outcome(path: Path) -> str:
    """Return whether a file is a "description", or an "error" that explains; both soon."""
    refusal: FileError | None = None
    with soon(PATIENCE):
        try:
            description = describe(path)
        except FileError as error:
            refusal = error
    if refusal is not None:
        assert refusal.file is not None
        assert len(refusal.message) > 20
        return "error"
    assert isinstance(description, Description)
    for link in description.links:
        if link.inertia is not None:
            assert np.isfinite(link.inertia.mass)
            assert np.all(np.isfinite(link.inertia.central))
    return "description"


def mutate(text: str, rng: np.random.Generator) -> bytes:
    """Return the text after one to three pieces of damage."""
    for _ in range(rng.integers(1, 4)):
        text = STRUCTURE[rng.integers(len(STRUCTURE))](text, rng)
    data = text.encode()
    return mutate_bytes(data, rng, 1) if rng.random() < 0.3 else data


def mutate_bytes(data: bytes, rng: np.random.Generator, most: int = 3) -> bytes:
    """Return a file after one to so many pieces of damage."""
    for _ in range(rng.integers(1, most + 1)):
        data = BINARY[rng.integers(len(BINARY))](data, rng)
    return data


def mutate_words(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a text with one to four of its words and pieces changed, doubled or dropped."""
    words = data.split(b" ")
    for _ in range(rng.integers(1, 5)):
        place, other = rng.integers(len(words), size=2)
        kind = rng.integers(4)
        if kind == 0:
            words[place] = words[other]
        elif kind == 1:
            words[place] = WORDS[rng.integers(len(WORDS))]
        elif kind == 2:
            words[place:other] = words[place:other] * 2
        else:
            del words[place : place + 3]
            words.append(b"")
    return b" ".join(words)


def pick(pattern: re.Pattern[str], text: str, rng: np.random.Generator) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[rng.integers(len(found))] if found else None


def put(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def drop_element(text: str, rng: np.random.Generator) -> str:
    match = pick(ELEMENT, text, rng)
    return put(text, match.span(), "") if match else text


def double_element(text: str, rng: np.random.Generator) -> str:
    match = pick(ELEMENT, text, rng)
    return put(text, match.span(), match.group() * 2) if match else text


def move_element(text: str, rng: np.random.Generator) -> str:
    one, other = pick(ELEMENT, text, rng), pick(ELEMENT, text, rng)
    return put(text, other.span(), one.group()) if one and other else text


def drop_attribute(text: str, rng: np.random.Generator) -> str:
    match = pick(ATTRIBUTE, text, rng)
    return put(text, match.span(), "") if match else text


def double_attribute(text: str, rng: np.random.Generator) -> str:
    match = pick(ATTRIBUTE, text, rng)
    return put(text, match.span(), match.group() * 2) if match else text


def swap_attribute_values(text: str, rng: np.random.Generator) -> str:
    one, other = pick(ATTRIBUTE, text, rng), pick(ATTRIBUTE, text, rng)
    return put(text, other.span(2), one.group(2)) if one and other else text


def change_value(text: str, rng: np.random.Generator) -> str:
    match = pick(ATTRIBUTE, text, rng)
    choices = (*NUMBERS, *NAMES)
    return put(text, match.span(2), choices[rng.integers(len(choices))]) if match else text


def change_number(text: str, rng: np.random.Generator) -> str:
    match = pick(NUMBER, text, rng)
    return put(text, match.span(), NUMBERS[rng.integers(len(NUMBERS))]) if match else text


def rename_everywhere(text: str, rng: np.random.Generator) -> str:
    match = pick(ATTRIBUTE, text, rng)
    if not match or not match.group(2):
        return text
    return text.replace(f'"{match.group(2)}"', f'"{NAMES[rng.integers(len(NAMES))]}"')


def change_type(text: str, rng: np.random.Generator) -> str:
    kinds = ("spherical", "universal", "cylindrical", "planar", "floating", "fixed", "screw")
    match = pick(re.compile(r'type\s*=\s*"(\w+)"'), text, rng)
    return put(text, match.span(1), kinds[rng.integers(len(kinds))]) if match else text


STRUCTURE = (
    drop_element,
    double_element,
    move_element,
    drop_attribute,
    double_attribute,
    swap_attribute_values,
    change_value,
    change_number,
    change_number,
    rename_everywhere,
    change_type,
)


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for place in rng.integers(len(out), size=3) if out else ():
        out[place] ^= 1 << rng.integers(8)
    return bytes(out)


def change_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    return overwrite(data, rng, rng.bytes(int(rng.integers(1, 3))))


def change_length(data: bytes, rng: np.random.Generator) -> bytes:
    return overwrite(data, rng, LENGTHS[rng.integers(len(LENGTHS))])


def copy_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start = rng.integers(len(data) + 1)
    return overwrite(data, rng, data[start : start + 8])


def overwrite(data: bytes, rng: np.random.Generator, new: bytes) -> bytes:
    place = rng.integers(len(data) + 1)
    return data[:place] + new + data[place + len(new) :]


def insert_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(data) + 1)
    return data[:place] + BYTES[rng.integers(len(BYTES))] + data[place:]


def drop_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start, count = rng.integers(len(data) + 1), rng.integers(100)
    return data[:start] + data[start + count :]


def repeat_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start = rng.integers(len(data) + 1)
    return data[:start] + data[start : start + 500] * 5 + data[start:]


BINARY = (
    truncate, flip_bits, flip_bits, change_bytes, change_bytes, change_length, copy_bytes,
    insert_bytes, drop_bytes, repeat_bytes,
)  # fmt: skip
