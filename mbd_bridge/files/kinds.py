"""Which format a file has, by what stands in it: its name decides for xacro only."""

from __future__ import annotations

import re
from typing import Literal

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.xml_reader import decode

Format = Literal["URDF", "xacro", "MJCF", "SDF"]
"""What `mbd.load` reads."""

ROOTS: dict[str, Format] = {
    "robot": "URDF",
    "mujoco": "MJCF",
    "mujocoinclude": "MJCF",
    "sdf": "SDF",
    "gazebo": "SDF",
}
"""The outermost elements, and what they tell."""

BEFORE = {"<!--": "-->", "<?": "?>"}
"""What may stand before the outermost element, and what ends it."""

TAG = re.compile(r"<([A-Za-z_][\w:.\-]*)")


def format_of(path: str, data: bytes) -> Format:
    """Return the format of a file by its content; what is not known is URDF's reader's to refuse.

    A xacro file is a program, so its name has to say that it is to be run.
    """
    root = _root(decode(data, path))
    form = ROOTS.get(root, "URDF")
    if form == "URDF" and path.endswith(".xacro"):
        return "xacro"
    if root == "mujocoinclude":
        raise FileError(
            "this is a part of an MJCF model, to be included by another file; load that one", path
        )
    return form


def _root(text: str) -> str:
    """Return the name of the outermost element, "" if none is found.

    Step by step: one regular expression for all takes exponential time on texts made to hurt it.
    """
    start = 0
    while True:
        while start < len(text) and (text[start].isspace() or text[start] == "\ufeff"):
            start += 1
        for opening, closing in BEFORE.items():
            if text.startswith(opening, start):
                end = text.find(closing, start + len(opening))
                if end < 0:
                    return ""
                start = end + len(closing)
                break
        else:
            tag = TAG.match(text, start)
            return tag.group(1) if tag else ""
