"""Cross sections of beams: area and second moments, from dimensions.

x is along the beam, y and z are principal axes of the section:

    A = ∫ dA,   Iy = ∫ z² dA  (bending along z),   Iz = ∫ y² dA  (bending along y)
    J: torsion constant; the twist per length is T / (G J)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mbd_bridge.base.arguments import finite_numbers, flag
from mbd_bridge.base.errors import ModelError

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
