"""One document while it is read: where we are, what was odd, and how to complain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from mbd_bridge.base.errors import (
    FileError,
    MbdWarning,
    MissingMeshWarning,
    some,
    unknown_name,
    warn,
)
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.spatial import Frame

T = TypeVar("T")

SHOWN = 3
"""How many places a warning names before it says how many more there are."""

NO_MESH = "meshes not found (pass package_path, or set ROS_PACKAGE_PATH)"
REFUSED_MESH = (
    "meshes not read, being devices or behind links out of the folder (copy them there, or pass "
    "package_path)"
)
PICTURES = (NO_MESH, REFUSED_MESH)
"""Kinds of remarks that concern pictures only."""

QUOTED = 80
"""How much of a faulty value or name a message repeats, characters."""

COMPARED = 1000
"""With how many names an unknown one is compared: comparing takes time."""

LARGEST = 1e40
"""Largest length (m), mass (kg) and moment (kg m²): no machine is larger, and products of a few
such numbers do not overflow."""


def quote(text: str) -> str:
    """Return a value as messages show it: in quotes, and not too long."""
    return repr(text if len(text) <= QUOTED else text[:QUOTED] + "...")


def unknown(kind: str, name: str, available: Iterable[str]) -> str:
    """Say that a name is unknown and what there is, in bounded time whatever the names are."""
    short = (other for other in available if len(other) <= QUOTED)
    return unknown_name(kind, name[:QUOTED], islice(short, COMPARED))


def describe(element: Element) -> str:
    """Return how a message names an element: ``<axis> of <joint name='elbow'>``."""
    name = element.get("name")
    here = f"<{element.tag} name={quote(name)}>" if name is not None else f"<{element.tag}>"
    if name is None and element.tag != "robot":
        for ancestor in element.iterancestors():
            if ancestor.get("name") is not None and ancestor.tag != "robot":
                return f"{here} of <{ancestor.tag} name={quote(ancestor.get('name') or '')}>"
    return here


def parse_number(text: str) -> float:
    """Return a finite decimal number; ValueError with advice if the text is none."""
    try:
        if "_" in text or not text.isascii():
            raise ValueError
        value = float(text)
    except ValueError:
        if "$" in text:
            hint = "this is an xacro expression: expand the file with xacro first"
        elif "," in text:
            hint = "separate numbers by blanks, not by commas"
        elif not text.strip():
            hint = "it is empty: write 0, or leave the attribute out"
        else:
            hint = "write it like 0.5, -1 or 2e-3"
        raise ValueError(f"expected a number, got {quote(text)}; {hint}") from None
    if not math.isfinite(value):
        raise ValueError(
            f"expected a finite number, got {quote(text)}; where there is no bound, leave it out"
        )
    return value


def parse_numbers(text: str, count: int) -> tuple[float, ...]:
    """Return `count` finite numbers separated by blanks; ValueError with advice otherwise."""
    parts = text.split()
    if len(parts) != count:
        for part in parts[: 2 * count]:
            parse_number(part)  # a bad number is the better complaint
        raise ValueError(
            f"expected {count} numbers separated by blanks, got {len(parts)} in {quote(text)}; "
            "write them like '0 0 1'"
        )
    return tuple(parse_number(part) for part in parts)


def bounded(value: float) -> float:
    """Return a length, mass or moment whose products do not overflow; ValueError otherwise."""
    if abs(value) > LARGEST:
        raise ValueError(
            f"expected a size below {LARGEST:g}, got {value:g}; check units and digits"
        )
    return value


def pose(xyz: tuple[float, float, float], rpy: tuple[float, float, float]) -> Frame:
    """Return the frame of xyz (m) and rpy (rad); ValueError if it is nowhere near."""
    return Frame.from_rpy([bounded(value) for value in xyz], rpy)


@dataclass(slots=True)
class Document:
    """The file under the reader's eyes: its name, and remarks that end as warnings."""

    file: str
    remarks: dict[str, list[str]] = field(default_factory=dict)

    def error(self, element: Element, message: str) -> FileError:
        """Return the error that names this file, the element and its line."""
        return FileError(message, self.file, line_of(element), describe(element))

    def understood(self, element: Element, what: str, read: Callable[..., T], *values: Any) -> T:
        """Return what a function reads of some values; a `ValueError` of it gets this place.

        Parameters
        ----------
        what : the attribute concerned, "" for the element's own text
        """
        try:
            return read(*values)
        except ValueError as error:
            raise self.error(element, f"{what}: {error}" if what else str(error)) from None

    def remark(self, kind: str, place: str) -> None:
        """Note that something of this kind is unusual there."""
        self.remarks.setdefault(kind, []).append(place)

    def remark_at(self, kind: str, element: Element, detail: str = "") -> None:
        """Note that something of this kind is unusual at this element."""
        where = f"line {line_of(element)} {describe(element)}"
        self.remark(kind, f"{where} ({detail})" if detail else where)

    def warn(self) -> tuple[str, ...]:
        """Issue one warning a kind of remark, and return the messages."""
        messages = []
        for kind, places in self.remarks.items():
            messages.append(f"{self.file}: {kind}: {some(places, SHOWN, '; ')}")
            warn(messages[-1], MissingMeshWarning if kind in PICTURES else MbdWarning)
        return tuple(messages)

    def child(self, element: Element, tag: str) -> Element | None:
        """Return the first child of that name, or None; a second one is remarked on."""
        children = element.findall(tag)
        if len(children) > 1:
            self.remark_at(f"more than one <{tag}>, the first is used", children[1])
        return children[0] if children else None

    def needed_child(self, element: Element, tag: str, example: str) -> Element:
        """Return the only child of that name."""
        children = element.findall(tag)
        if len(children) != 1:
            have = ", ".join(f"<{kid.tag}>" for kid in element) or "nothing"
            raise self.error(
                element,
                f"expected one <{tag}>, got {len(children)} (inside there is {have[:200]}); "
                f"write {example}",
            )
        return children[0]

    def attribute(self, element: Element, name: str) -> str:
        """Return an attribute that must be there and not be blank."""
        value = element.get(name)
        if value is None or not value.strip():
            have = ", ".join(map(str, element.attrib)) or "none"
            what = "is missing" if value is None else "is empty"
            raise self.error(
                element, f"the attribute {name!r} {what} (attributes here: {have[:200]}); add it"
            )
        return value

    def number(self, element: Element, name: str) -> float:
        """Return an attribute that must be a finite number."""
        return self.understood(element, name, parse_number, self.attribute(element, name))

    def quantity(self, element: Element, name: str) -> float:
        """Return an attribute that must be a mass or moment of a possible size."""
        return self.understood(element, name, bounded, self.number(element, name))

    def optional_number(self, element: Element, name: str) -> float | None:
        """Return a finite number, or None where the attribute is left out."""
        return None if element.get(name) is None else self.number(element, name)

    def vector(
        self, element: Element, name: str, default: tuple[float, float, float] | None = None
    ) -> tuple[float, float, float]:
        """Return three finite numbers, or the default where the attribute is left out."""
        text = element.get(name)
        if text is None:
            if default is not None:
                return default
            text = self.attribute(element, name)
        x, y, z = self.understood(element, name, parse_numbers, text, 3)
        return x, y, z

    def direction(
        self, element: Element, name: str, default: tuple[float, float, float] | None = None
    ) -> tuple[float, float, float]:
        """Return three numbers made a unit vector; a zero vector is an error."""
        return self.understood(element, name, unit_vector, self.vector(element, name, default))

    def origin(self, element: Element, tag: str = "origin") -> Frame:
        """Return the frame of a child ``<origin xyz rpy>``; identity where there is none."""
        origin = self.child(element, tag)
        if origin is None:
            return Frame.identity()
        return self.frame(origin)

    def frame(self, element: Element) -> Frame:
        """Return the frame that an element's own xyz and rpy say (m, rad)."""
        xyz, rpy = (self.vector(element, name, (0.0, 0.0, 0.0)) for name in ("xyz", "rpy"))
        return self.understood(element, "xyz", pose, xyz, rpy)


def unit_vector(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the vector at length 1, untouched where rounding would be all that changes."""
    x, y, z = vector
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ValueError("expected a direction, got the zero vector; write one like '0 0 1'")
    if math.hypot(x, y, z) == 1.0:
        return vector
    x, y, z = x / largest, y / largest, z / largest  # so that tiny and huge ones do not under-
    length = math.hypot(x, y, z)  # or overflow
    return x / length, y / length, z / length


# What one format says and another has no place for: listed in one warning, never dropped.

NAMED = 4
"""How many names of a kind the list shows before it says how many more there are."""


@dataclass(slots=True)
class LeftOut:
    """Collects what a reader or a writer leaves out, by kind.

    Parameters
    ----------
    file : for the message
    format : what the file is, such as MJCF
    words : of the message, before the list
    """

    file: str
    format: str
    words: str = "says more than is read here; left out"
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str = "") -> None:
        """Note a thing that is not read; `name` says which one."""
        names = self.kinds.setdefault(kind, [])
        if name and name not in names:
            names.append(name)

    def warn(self) -> tuple[str, ...]:
        """Issue the one warning, and return its message as a note; nothing if all was read."""
        if not self.kinds:
            return ()
        parts = [
            f"{kind} ({some(names, NAMED)})" if names else kind
            for kind, names in self.kinds.items()
        ]
        message = f"{self.file}: {self.format} {self.words}: {'; '.join(parts)}"
        warn(message)
        return (message,)
