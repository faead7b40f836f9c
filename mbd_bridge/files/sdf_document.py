"""Files of an SDF: the one that is read, and those that it includes.

A URI names a file, or a folder whose ``model.config`` names one for each version of SDF; the newest
that is known is read. ``model://NAME`` is looked for in the given folders, around the including
file, and in SDF_PATH, GZ_SIM_RESOURCE_PATH and GAZEBO_MODEL_PATH. Nothing is fetched.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.files.document import (
    Document,
    bounded,
    parse_number,
    parse_numbers,
    pose,
    quote,
    unit_vector,
)
from mbd_bridge.files.input_files import PACKAGE_SCHEMES, MeshFinder
from mbd_bridge.files.xml_reader import MAX_BYTES, MAX_ELEMENTS, Element, decode, parse, read_bytes
from mbd_bridge.model.description import Vector3
from mbd_bridge.model.spatial import Frame, quaternion_matrix

# Numbers, names and poses that stand as texts of elements.

FLAGS = {"1": True, "true": True, "0": False, "false": False}
"""What SDF writes for yes and no."""

SHORTEST = 1e-6
"""Of a quaternion's length: below it, it is no rotation."""


def text(document: Document, element: Element, tag: str, default: str | None = None) -> str:
    """Return the text of a child; without a default it must be there and not be blank."""
    child = document.child(element, tag)
    content = "" if child is None else (child.text or "").strip()
    if content:
        return content
    if default is None or (child is not None and not len(child)):
        what = "is missing" if child is None else "is empty"
        raise document.error(element, f"<{tag}> {what}; write it")
    return default


def number(document: Document, element: Element, tag: str, default: float) -> float:
    """Return the finite number that a child holds."""
    child = document.child(element, tag)
    if child is None:
        return default
    value = document.understood(child, "", parse_number, (child.text or "").strip())
    return document.understood(child, "", bounded, value)


def flag(document: Document, element: Element, tag: str, *, default: bool = False) -> bool:
    """Return whether a child says yes; the default where there is none."""
    child = document.child(element, tag)
    if child is None:
        return default
    word = (child.text or "").strip().lower()
    if word not in FLAGS:
        raise document.error(child, f"expected 1, 0, true or false, got {quote(word)}")
    return FLAGS[word]


def numbers(document: Document, element: Element, count: int) -> tuple[float, ...]:
    """Return the numbers that an element holds."""
    return document.understood(element, "", parse_numbers, element.text or "", count)


def direction(document: Document, element: Element, default: Vector3) -> Vector3:
    """Return the unit vector in a child ``<xyz>``."""
    child = document.child(element, "xyz")
    if child is None:
        return default
    return document.understood(child, "", unit_vector, numbers(document, child, 3))


def pose_of(document: Document, element: Element) -> tuple[Frame, str]:
    """Return the frame in an element's ``<pose>``, and what it is relative to ("" by default)."""
    child = document.child(element, "pose")
    if child is None:
        return Frame.identity(), ""
    relative = child.get("relative_to") or child.get("frame") or ""
    if not (child.text or "").strip():
        return Frame.identity(), relative
    form = child.get("rotation_format") or "euler_rpy"
    if form == "quat_xyzw":
        return _by_quaternion(document, child), relative
    if form != "euler_rpy":
        raise document.error(child, f"rotation_format is euler_rpy or quat_xyzw, got {quote(form)}")
    x, y, z, *rpy = numbers(document, child, 6)
    if FLAGS.get((child.get("degrees") or "false").lower(), False):
        rpy = [math.radians(angle) for angle in rpy]
    return document.understood(child, "", pose, (x, y, z), rpy), relative


def _by_quaternion(document: Document, child: Element) -> Frame:
    x, y, z, *quaternion = numbers(document, child, 7)
    turn = np.array(quaternion)
    largest = np.abs(turn).max()
    if largest < SHORTEST:
        raise document.error(child, "the quaternion is zero, which is no rotation; write 0 0 0 1")
    turn = turn / largest
    translation = [document.understood(child, "", bounded, value) for value in (x, y, z)]
    return Frame(quaternion_matrix(turn / np.linalg.norm(turn)), np.array(translation))


VERSIONS = (1, 4), (1, 12)
"""From which to which version SDF is read without a remark."""

UNIQUE_FROM = (1, 7)
"""Version from which a link and a joint of one model must not have the same name."""

CONFIG = "model.config"
"""The file that says which files a model's folder has."""

MOST = 1000
"""Models that are included, at most: files that include each other multiply."""

HERE = "file://"


@dataclass(frozen=True, eq=False)
class IncludedFile:
    """One file.

    Attributes
    ----------
    root : its outermost element
    meshes : finds what it names
    files : all that are read
    """

    document: Document
    root: Element
    version: tuple[int, int]
    meshes: MeshFinder
    files: Files

    @property
    def separate(self) -> bool:
        """Whether joints have names of their own, so that a link may have the same."""
        return self.version < UNIQUE_FROM


class Files:
    """All files that one SDF consists of; each is read once.

    Parameters
    ----------
    package_path : where models and meshes are, besides the surroundings of each file
    max_bytes : largest size of each
    """

    def __init__(
        self, package_path: Iterable[str | os.PathLike[str]] = (), max_bytes: int = MAX_BYTES
    ) -> None:
        self._package_path, self._max_bytes = list(package_path), max_bytes
        self._read: dict[str, IncludedFile] = {}
        self._models, self._elements = 0, 0

    def open(self, file: str) -> IncludedFile:
        """Return a file as SDF."""
        real = os.path.realpath(file)
        if real not in self._read:
            root, remarks = self._parsed(file)
            document = Document(file)
            for remark in remarks:
                document.remark("odd XML", remark)
            meshes = MeshFinder.around(file, self._package_path)
            self._read[real] = IncludedFile(document, root, _version(document, root), meshes, self)
        return self._read[real]

    def warn(self) -> tuple[str, ...]:
        """Issue the warnings of all files, and return their messages."""
        return tuple(
            message for source in self._read.values() for message in source.document.warn()
        )

    def find(self, source: IncludedFile, include: Element) -> str | None:
        """Return the file that an ``<include>`` names, None if there is none."""
        uri = text(source.document, include, "uri")
        if uri.startswith(HERE) and not os.path.isabs(uri[len(HERE) :]):
            uri = uri[len(HERE) :]
        if "://" in uri and not uri.startswith((*PACKAGE_SCHEMES, HERE)):
            raise source.document.error(
                include,
                f"nothing is fetched from {quote(uri)}; download the model, name it "
                f"model://NAME, and give its folder's folder as package_path (--package-path)",
            )
        places = list(source.meshes.candidates(uri))
        if "://" not in uri:
            places += source.meshes.candidates(PACKAGE_SCHEMES[-1] + uri)
        for candidate in places:
            file = candidate.file()
            if file is not None:
                return file
            config = candidate.file(CONFIG)
            if config is not None:
                name = self._newest(config)
                return candidate.file(name) or os.path.join(os.path.dirname(config), name)
        return None

    def include(
        self, source: IncludedFile, include: Element, above: Iterable[IncludedFile]
    ) -> IncludedFile:
        """Return the file that an ``<include>`` names; `above` are those that include this one."""
        document, uri = source.document, text(source.document, include, "uri")
        file = self.find(source, include)
        if file is None:
            raise document.error(
                include,
                f"there is no {quote(uri)}; give the folder that has it as package_path "
                f"(--package-path), or set GZ_SIM_RESOURCE_PATH",
            )
        included = self.open(file)
        if any(included is includer for includer in above):
            raise document.error(include, f"{quote(uri)} includes itself; break the circle")
        self._models += 1
        self._elements += sum(1 for _ in included.root.iter())
        if self._models > MOST or self._elements > MAX_ELEMENTS:
            raise document.error(
                include,
                f"more than {MOST} models or {MAX_ELEMENTS} elements are included; use fewer",
            )
        return included

    def _parsed(self, file: str) -> tuple[Element, list[str]]:
        content = decode(read_bytes(file, self._max_bytes), file)
        return parse(content, file, self._max_bytes)

    def _newest(self, config: str) -> str:
        """Return the name of the file of the newest version that is known, by a model.config."""
        root, _ = self._parsed(config)
        document = Document(config)
        known: list[tuple[tuple[int, int], str]] = []
        for element in root.iter("sdf"):
            name = (element.text or "").strip()
            version = _numbers(element.get("version") or "") or VERSIONS[0]
            if name and version <= VERSIONS[1]:
                known.append((version, name))
        if not known:
            raise document.error(
                root,
                "it names no file of a known version; write <sdf version='1.9'>model.sdf</sdf>",
            )
        return max(known)[1]


def only_model(source: IncludedFile, include: Element, includer: IncludedFile) -> Element:
    """Return the one model in an included file."""
    models = source.root.findall("model")
    if len(models) != 1:
        names = ", ".join(quote(model.get("name") or "") for model in models[:10]) or "none"
        raise includer.document.error(
            include,
            f"expected one <model> in {quote(source.document.file)}, got {len(models)} ({names}); "
            f"include a file with one",
        )
    return models[0]


def _version(document: Document, root: Element) -> tuple[int, int]:
    if root.tag == "robot":
        raise document.error(
            root, "a URDF is included; make it SDF: mbd convert NAME.urdf NAME.sdf"
        )
    if root.tag not in ("sdf", "gazebo"):
        raise document.error(root, f"expected <sdf version=...> outermost, got <{root.tag}>")
    number = root.get("version")
    if number is None:
        raise document.error(root, 'the version is missing; write <sdf version="1.9">')
    version = _numbers(number)
    if version is None:
        raise document.error(root, f"the version is a number such as 1.9, got {quote(number)}")
    if not VERSIONS[0] <= version <= VERSIONS[1]:
        document.remark_at("SDF of another version than 1.4 to 1.12, read all the same", root)
    return version


def _numbers(version: str) -> tuple[int, int] | None:
    major, _, minor = version.partition(".")
    if not (major.isdecimal() and minor.isdecimal() and version.isascii() and len(version) < 10):
        return None
    return int(major), int(minor)
