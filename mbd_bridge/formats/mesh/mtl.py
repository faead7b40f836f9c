"""Wavefront MTL: the materials of an OBJ file, their diffuse colours and textures."""

from __future__ import annotations

from pathlib import Path

from mbd_bridge.errors import FileError
from mbd_bridge.formats.input_files import file_beside
from mbd_bridge.formats.mesh.surface import Colour, Material
from mbd_bridge.formats.mesh.texture import Texture
from mbd_bridge.formats.xml_reader import read_bytes

MAX_BYTES = 2**22
"""Largest material file that is read: about 20,000 materials."""

OPTIONS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-bm": 1, "-cc": 1, "-clamp": 1,
           "-imfchan": 1, "-mm": 2, "-texres": 1, "-type": 1}  # fmt: skip
"""Options before the name of an image, and how many words each has."""

TURNED = ("-o", "-s", "-t")
"""Options with one to three numbers."""


def read_mtl(path: Path, naming: str) -> dict[str, Material]:
    """Return the materials of a file that another one names, by name; none if it is not there."""
    try:
        file_beside(path, naming)
        text = read_bytes(path, MAX_BYTES).decode("utf-8", "replace")
    except FileError:
        return {}
    found: dict[str, Material] = {}
    name = ""
    for line in text.splitlines():
        word, *rest = line.split() or [""]
        material = found.get(name, Material())
        if word == "newmtl":
            name = " ".join(rest)
        elif word == "Kd" and (colour := _colour(rest)) is not None:
            found[name] = material._replace(colour=colour)
        elif word == "map_Kd" and (image := _image(line.strip()[len(word) :])):
            found[name] = material._replace(texture=Texture(str(path.parent / image), str(path)))
    return found


def _colour(words: list[str]) -> Colour | None:
    try:
        red, green, blue = (min(max(float(word), 0.0), 1.0) for word in words[:3])
    except ValueError:
        return None
    return red, green, blue, 1.0


def _image(text: str) -> str:
    """Return the name of an image behind its options, which are not obeyed."""
    text = text.strip()
    while text.startswith("-"):
        option, _, rest = text.partition(" ")
        words, count = rest.split(), OPTIONS.get(option)
        if option in TURNED:
            count = next((k for k, word in enumerate(words[:3]) if not _is_number(word)), 3)
        if count is None:
            break
        for _ in range(count):
            rest = rest.lstrip().partition(" ")[2]
        text = rest.strip()
    return text.replace("\\", "/")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
