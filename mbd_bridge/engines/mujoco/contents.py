"""What an MJCF becomes with the files that it names, before MuJoCo reads and makes all of it.

A short file can ask for any number of bodies (``<replicate>``, ``<composite>``, ``<flexcomp>``,
``<attach>`` of files that attach others), and MuJoCo opens whatever ``file=`` says.
"""

from __future__ import annotations

import os
from math import prod
from typing import NamedTuple

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.document import Document
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.whole_file import note_input
from mbd_bridge.files.xml_reader import MAX_ELEMENTS, Element, decode, parse, read_bytes

FACTORS = {"replicate": True, "composite": False, "flexcomp": False}
"""Elements with a `count`: whether it is one of all that is inside."""

FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Of ``<compiler>``: where files are."""

LARGEST_FILE = 2**28
"""Bytes of a mesh or an image."""

DEEPEST = 20
"""Files that include or attach each other."""

SIZES: dict[tuple[str, ...], int] = {
    ("hfield", "nrow", "ncol"): 2**25,
    ("texture", "width", "height"): 2**25,
    ("numeric", "size"): 2**20,
    ("size", "nkey"): 2**14,
    **{
        ("size", f"nuser_{kind}"): 2**10
        for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
    },
}
"""Element and attributes, and how large their product may be: so many numbers are made."""


class _Part(NamedTuple):
    """An element that is still to be looked at.

    Attributes
    ----------
    times : how many of it there will be
    file, model : in which it stands; the file of the model, which includes that one
    depth : of files in files
    """

    element: Element
    times: int
    file: str
    model: str
    depth: int


def check_contents(path: str, root: Element, max_bytes: int) -> None:
    """Refuse an MJCF that names what is no file, or becomes too large.

    Parameters
    ----------
    root : the file's outermost element
    max_bytes : largest size of the files that it includes or attaches
    """
    roots = {os.path.realpath(path): root}
    folders, models = {""}, dict[tuple[str, str], str]()
    waiting, elements = [_Part(root, 1, path, path, 0)], 0
    while waiting:
        part = waiting.pop()
        element, document = part.element, Document(part.file)
        tag, times = str(element.tag), part.times
        count = prod(_whole(text) for text in element.get("count", "").split())
        if FACTORS.get(tag):
            times *= count
        elements += times * (1 if tag not in FACTORS else count)
        if elements > MAX_ELEMENTS:
            raise document.error(
                element, f"the file becomes larger than {MAX_ELEMENTS} elements; ask for fewer"
            )
        _check_sizes(document, element, tag)
        if tag == "compiler":
            folders.update(element.get(folder, "") for folder in FOLDERS)
        named = [str(name) for key, name in element.items() if str(key).startswith("file")]
        for name in filter(None, named):
            found = _files(path, part.file, name, folders)
            if tag == "model":
                models.update(((part.model, element.get("name", name)), one) for one in found[:1])
        inside = found[:1] if tag == "include" and any(named) else []
        attached = models.get((part.model, element.get("model", "")))
        if tag == "attach" and attached is not None:
            inside = [attached]
        for file in inside:
            if part.depth == DEEPEST:
                message = f"files in files, deeper than {DEEPEST}; do they include each other?"
                raise document.error(element, message)
            place = os.path.realpath(file)
            if place not in roots:
                roots[place] = parse(decode(read_bytes(file, max_bytes), file), file, max_bytes)[0]
            model = file if tag == "attach" else part.model
            waiting.append(_Part(roots[place], times, file, model, part.depth + 1))
        waiting.extend(part._replace(element=kid, times=times) for kid in reversed(element))


def _files(path: str, naming: str, name: str, folders: set[str]) -> list[str]:
    """Return the files that MuJoCo may mean by a name, each checked."""
    found = []
    for file in dict.fromkeys((naming, path)):
        for folder in sorted(folders):
            place = os.path.join(os.path.dirname(file), folder, name)
            if file_beside(place, file) is None:
                continue
            if os.path.getsize(place) > LARGEST_FILE:
                raise FileError(f"the file has more than {LARGEST_FILE} bytes", place)
            note_input(place)
            found.append(place)
    return found


def _check_sizes(document: Document, element: Element, tag: str) -> None:
    for (kind, *keys), largest in SIZES.items():
        if kind == tag and prod(_whole(element.get(key, "")) for key in keys) > largest:
            what = " x ".join(keys)
            raise document.error(element, f"{what}: expected at most {largest}")


def _whole(text: str) -> int:
    """Return a number, 1 of what is none: that is for MuJoCo to refuse."""
    try:
        return max(int(float(text)), 1)
    except (ValueError, OverflowError):
        return 1
