"""A straight beam in a link: where it is, its material and its section along the length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.section import Section
from mbd_bridge.model.spatial import Frame
from mbd_bridge.model.spatial.rotation import clean

Floats = NDArray[np.float64]
Vector3 = tuple[float, float, float]

SAME = 1e-9
"""Places nearer than this part of the beam's length are one."""
PARALLEL = 1e-6
"""Sine of the angle to the beam below which a direction of y tells nothing."""


class Properties(NamedTuple):
    """Stiffness and mass per length at some places x (N,) of a beam.

    EA (N), EIy, EIz (N m²), GJ (N m²), mass (kg/m), and mass moments per length about y and z
    through the axis, ρ Iy and ρ Iz (kg m)
    """

    EA: Floats
    EIy: Floats
    EIz: Floats
    GJ: Floats
    mass: Floats
    rotary_y: Floats
    rotary_z: Floats


@dataclass(frozen=True)
class SectionTable:
    """Sections at places along a beam, with straight lines between them.

    Attributes
    ----------
    x : m from the start, increasing, from 0 to the beam's length
    sections : one for each
    """

    x: tuple[float, ...]
    sections: tuple[Section, ...]

    def __post_init__(self) -> None:
        x = finite_numbers("section table: x", self.x, error=ModelError)
        if x.ndim != 1 or len(x) < 2 or len(x) != len(self.sections) or (np.diff(x) <= 0.0).any():
            raise ModelError(
                f"section table: expected two or more increasing places x and a section for each, "
                f"got {len(self.x)} places and {len(self.sections)} sections"
            )
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "sections", tuple(self.sections))


@dataclass(frozen=True)
class Beam:
    """A straight beam.

    Attributes
    ----------
    start, end : m, ends of its axis in the link's frame
    E, G : Pa, Young's and the shear modulus
    density : kg/m³
    section : the same everywhere, or a `SectionTable`
    y : direction in the link's frame near which the section's y axis lies; None chooses
        the link's axis after the one that the beam is nearest to (x, y, z, x)
    rotary_inertia : whether cross sections have inertia against rotation (ρ Iy, ρ Iz); without it
        this is the beam of Bernoulli and Euler, which cannot twist
    """

    start: Vector3
    end: Vector3
    E: float
    G: float
    density: float
    section: Section | SectionTable
    y: Vector3 | None = None
    rotary_inertia: bool = True

    def __post_init__(self) -> None:
        for name in ("start", "end", "y"):
            value = getattr(self, name)
            if value is not None:
                vector = finite_numbers(f"beam: {name}", value, (3,), error=ModelError)
                object.__setattr__(self, name, tuple(vector.tolist()))
        for name in ("E", "G", "density"):
            number = float(finite_numbers(f"beam: {name}", getattr(self, name), error=ModelError))
            if not number > 0.0:
                raise ModelError(f"beam: {name}: expected a number above 0, got {number:g}")
            object.__setattr__(self, name, number)
        if not isinstance(self.section, Section | SectionTable):
            raise ModelError(
                f"beam: section: expected a Section, such as Section.tube(outer, inner), or a "
                f"SectionTable, got {self.section!r:.60}"
            )
        if not self.length > 0.0:
            raise ModelError(
                f"beam: its ends {self.start} and {self.end} coincide: it has no length"
            )
        if isinstance(self.section, SectionTable):
            x = self.section.x
            if abs(x[0]) > 1e-9 * self.length or abs(x[-1] - self.length) > 1e-9 * self.length:
                raise ModelError(
                    f"beam: its section table reaches from {x[0]:g} to {x[-1]:g} m, expected 0 to "
                    f"its length, {self.length:g} m"
                )

    @property
    def length(self) -> float:
        """Length, m."""
        return float(np.linalg.norm(np.subtract(self.end, self.start)))

    @property
    def breaks(self) -> Floats:
        """Places (m from the start) between which properties are smooth, ends included."""
        if isinstance(self.section, SectionTable):
            inner = np.asarray(self.section.x[1:-1])
            return np.concatenate([[0.0], inner, [self.length]])
        return np.array([0.0, self.length])

    def frame(self) -> Frame:
        """Return the beam's frame in the link: origin at the start, x along it, y as asked for."""
        along = np.subtract(self.end, self.start) / self.length
        near = np.asarray(self.y)
        if self.y is None:  # the link's axis after the one that the beam is nearest to
            near = np.eye(3)[(int(np.abs(along).argmax()) + 1) % 3]
        across = near - (along @ near) * along
        size = float(np.linalg.norm(across))
        if size <= PARALLEL * float(np.linalg.norm(near)):
            raise ModelError(f"beam: y = {self.y} is along the beam; give a direction across it")
        across = across / size
        rotation = np.column_stack([along, across, np.cross(along, across)])
        return Frame(clean(rotation), np.asarray(self.start))

    def place(self, point: ArrayLike) -> float:
        """Return the place on the beam next to a point of the link, m from its start."""
        x = float(self.frame().rotation[:, 0] @ (np.asarray(point) - np.asarray(self.start)))
        for end in (0.0, self.length):
            if self.same(x, end):
                return end
        return min(max(x, 0.0), self.length)

    def point(self, x: float) -> Floats:
        """Return a point (3,) of the axis in the link, not deformed; x m from the start."""
        if x == self.length:
            return np.asarray(self.end)
        return np.asarray(self.start) + x * self.frame().rotation[:, 0]

    def far_end(self, root: float) -> float:
        """Return the end; the start, if the link is held at the end."""
        return 0.0 if self.same(root, self.length) else self.length

    def same(self, x: float, y: float) -> bool:
        """Return whether two places are one."""
        return abs(x - y) <= SAME * self.length

    def check_place(self, where: str, x: float) -> None:
        """Refuse places beyond the ends."""
        if not 0.0 <= x <= self.length:
            raise ModelError(
                f"{where}: expected a place from 0 to the beam's length, {self.length:g} m, got "
                f"{x:g}"
            )

    def at(self, x: ArrayLike) -> Properties:
        """Return the properties at places x (N,), m from the start."""
        x = np.asarray(x, dtype=np.float64)
        if isinstance(self.section, SectionTable):
            at, sections = np.asarray(self.section.x), self.section.sections
            A, Iy, Iz, J = (
                np.interp(x, at, [getattr(one, name) for one in sections])
                for name in ("A", "Iy", "Iz", "J")
            )
        else:
            own = self.section
            A, Iy, Iz, J = (np.full(x.shape, value) for value in (own.A, own.Iy, own.Iz, own.J))
        rotary = self.density if self.rotary_inertia else 0.0
        return Properties(
            self.E * A,
            self.E * Iy,
            self.E * Iz,
            self.G * J,
            self.density * A,
            rotary * Iy,
            rotary * Iz,
        )
