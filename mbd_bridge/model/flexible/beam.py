"""A straight beam in a link: where it is, its material and its section along the length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, flag
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.spatial import Frame, clean

# Cross sections of beams: area and second moments, from dimensions.
#
# x is along the beam, y and z are principal axes of the section:
#
#     A = ∫ dA,   Iy = ∫ z² dA  (bending along z),   Iz = ∫ y² dA  (bending along y)
#     J: torsion constant; the twist per length is T / (G J)

SERIES = 40
"""Terms of the series for the torsion of a rectangle: the next one is below 1e-9 of the first."""


@dataclass(frozen=True)
class Section:
    """A cross section.

    Attributes
    ----------
    A : m², area
    Iy, Iz : m⁴, ∫ z² dA and ∫ y² dA
    J : m⁴, torsion constant
    half_y, half_z : m, distances of the outermost fibres along y and z, for stresses; None where
        they are not known
    round : whether the outline is a circle (of radius half_y); else it has corners
    """

    A: float
    Iy: float
    Iz: float
    J: float
    half_y: float | None = None
    half_z: float | None = None
    round: bool = False

    def __post_init__(self) -> None:
        for name in ("A", "Iy", "Iz", "J"):
            _positive(f"section: {name}", getattr(self, name))
        for name in ("half_y", "half_z"):
            if getattr(self, name) is not None:
                _positive(f"section: {name}", getattr(self, name))
        object.__setattr__(self, "round", flag("section: round", self.round))
        if self.round and (self.half_y is None or self.half_y != self.half_z):
            raise ModelError(
                f"section: a round one has one radius, got half_y = {self.half_y}, "
                f"half_z = {self.half_z}"
            )

    @staticmethod
    def rectangle(width_y: float, width_z: float) -> Section:
        """Return a solid rectangle with sides along y and z, m."""
        b, h = _positive("section: width_y", width_y), _positive("section: width_z", width_z)
        long, short = max(b, h), min(b, h)
        odd = range(1, 2 * SERIES, 2)  # Saint-Venant
        tail = sum(math.tanh(0.5 * n * math.pi * long / short) / n**5 for n in odd)
        J = long * short**3 * (1.0 / 3.0 - 64.0 / math.pi**5 * short / long * tail)
        return Section(b * h, b * h**3 / 12.0, h * b**3 / 12.0, J, b / 2.0, h / 2.0)

    @staticmethod
    def circle(diameter: float) -> Section:
        """Return a solid circle, m."""
        return Section.tube(diameter, 0.0)

    @staticmethod
    def tube(outer: float, inner: float) -> Section:
        """Return a round tube of two diameters, m."""
        outer = _positive("section: outer", outer)
        inner = float(finite_numbers("section: inner", inner, (), error=ModelError))
        if not 0.0 <= inner < outer:
            raise ModelError(
                f"section: expected an inner diameter from 0 to below the outer one, "
                f"{outer:g} m, got {inner:g}; both are diameters, in m"
            )
        second = math.pi * (outer**4 - inner**4) / 64.0
        area = math.pi * (outer**2 - inner**2) / 4.0
        return Section(area, second, second, 2.0 * second, outer / 2.0, outer / 2.0, True)

    @staticmethod
    def i_profile(height: float, width: float, flange: float, web: float) -> Section:
        """Return an I profile: height along y, flanges along z, thicknesses of both, m.

        J is that of thin strips, Σ b t³ / 3.
        """
        h, b = _positive("section: height", height), _positive("section: width", width)
        f, w = _positive("section: flange", flange), _positive("section: web", web)
        inside = h - 2.0 * f
        if inside <= 0.0 or w >= b:
            raise ModelError(
                f"section: flanges of {f:g} m in a height of {h:g} m and a web of {w:g} m in a "
                f"width of {b:g} m leave no I profile; give thicknesses in m"
            )
        Iz = (b * h**3 - (b - w) * inside**3) / 12.0
        Iy = (2.0 * f * b**3 + inside * w**3) / 12.0
        J = (2.0 * b * f**3 + inside * w**3) / 3.0
        return Section(2.0 * b * f + inside * w, Iy, Iz, J, h / 2.0, b / 2.0)


def _positive(name: str, value: float) -> float:
    number = float(finite_numbers(name, value, (), error=ModelError))
    if not number > 0.0:
        raise ModelError(f"{name}: expected a number above 0, got {value!r:.60}")
    return number


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
                np.interp(x, at, [getattr(item, name) for item in sections])
                for name in ("A", "Iy", "Iz", "J")
            )
        else:
            section = self.section
            A, Iy, Iz, J = (
                np.full(x.shape, value) for value in (section.A, section.Iy, section.Iz, section.J)
            )
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
