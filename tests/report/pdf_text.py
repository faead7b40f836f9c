"""The text on each page of a PDF that Chromium printed, for tests: fonts with /ToUnicode, Flate."""

from __future__ import annotations

import re
import zlib

OBJECT = re.compile(rb"(\d+) 0 obj\b(.*?)\bendobj", re.S)
SHOWN = re.compile(rb"/(\w+) [\d.]+ Tf|<([0-9A-Fa-f]+)>(?=[^\[\]]*(?:\]\s*TJ|\s*Tj))|(\bET\b)")


def pages(pdf: bytes) -> list[str]:
    """Return the text of each page, in the order in which it is drawn."""
    objects = {int(m[1]): m[2] for m in OBJECT.finditer(pdf)}
    fonts = {number: _letters(objects, body) for number, body in objects.items()}
    found = []
    for body in objects.values():
        if not re.search(rb"/Type /Page\b", body):
            continue
        names = {
            name: fonts[int(number)]
            for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", _resources(objects, body))
        }
        content = re.search(rb"/Contents (\d+) 0 R", body)
        assert content
        found.append(_shown(_stream(objects[int(content[1])]), names))
    return found


def _resources(objects: dict[int, bytes], page: bytes) -> bytes:
    place = re.search(rb"/Resources (\d+) 0 R", page)
    return objects[int(place[1])] if place else page


def _stream(body: bytes) -> bytes:
    head, _, rest = body.partition(b"stream")
    data = rest.lstrip(b"\r\n")
    return zlib.decompressobj().decompress(data) if b"/FlateDecode" in head else data


def _letters(objects: dict[int, bytes], font: bytes) -> dict[int, str]:
    """Return the letters of a font by glyph."""
    place = re.search(rb"/ToUnicode (\d+) 0 R", font)
    if not place:
        return {}
    table = _stream(objects[int(place[1])])
    found: dict[int, str] = {}
    for part in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.S):
        for glyph, letter in re.findall(rb"<(\w+)> <(\w+)>", part):
            found[int(glyph, 16)] = bytes.fromhex(letter.decode()).decode("utf-16-be")
    for part in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.S):
        for first, last, letter in re.findall(rb"<(\w+)> <(\w+)> <(\w+)>", part):
            for k in range(int(first, 16), int(last, 16) + 1):
                found[k] = chr(int(letter, 16) + k - int(first, 16))
    return found


def _shown(content: bytes, fonts: dict[bytes, dict[int, str]]) -> str:
    text, font = [], dict[int, str]()
    for name, glyphs, end in SHOWN.findall(content):
        if name:
            font = fonts.get(name, {})
        elif end:
            text.append("\n")
        else:
            codes = (int(glyphs[k : k + 4], 16) for k in range(0, len(glyphs), 4))
            text.append("".join(font.get(code, "") for code in codes))
    return "".join(text)
