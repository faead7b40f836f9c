"""A spring, damper and constant force between two points.

    e = l - l0,   F = F0 + spring(e) + damper(l̇)        tension along the line between the points
    U = F0 e + ∫ spring de,   D = damper(l̇) l̇

A spring of free length 0 has the force k d at length 0, smooth; one of another free length has no
direction where its ends meet, and its force jumps there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, final

from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units, model_in, number
from mbd_bridge.forces.joints import CoordinateEffect
from mbd_bridge.forces.law import Damping, Stiffness, dissipated, restoring, stored
from mbd_bridge.forces.points import PointElement
from mbd_bridge.model import Model


@final
@dataclass(frozen=True, eq=False)
class PointSpring(PointElement):
    """A translational spring-damper between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    stiffness : N/m; coefficients of a polynomial, or a `functions.Table` of the extension (`law`)
    damping : N s/m; coefficients of a polynomial, or a `functions.Table` of the rate
    preload : N, constant tension beside
    free_length : m, at least 0; None for the length with all coordinates at zero, or see
        `relaxed_at`

    Examples
    --------
    >>> PointSpring(("ground", "bob"), ((0, 0, 0), (0, 0, 0)), stiffness=100.0)  # doctest: +SKIP
    """

    stiffness: Stiffness = 0.0
    damping: Damping = 0.0
    preload: Annotated[float, number("N")] = 0.0
    free_length: Annotated[float | None, number("m", 0.0)] = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its free length."""
        checked = self.checked(model)
        if self.free_length is not None:
            return checked
        if model.has_loops:
            raise StateError(
                f"{self.label}: free_length: expected a number, m, since with all coordinates at "
                f"zero the loops of this machine may be open; or give the configuration: "
                f"element.relaxed_at(robot, q)"
            )
        return replace(checked, free_length=checked.length_at(model, model.neutral()))

    def relaxed_at(self, machine: Any, q: ArrayLike) -> Self:
        """Return the element with the length that it has at coordinates q as its free length."""
        model_in(machine, "relaxed_at")
        return replace(self, free_length=self.length_at(machine, q))

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension, and the extension."""
        extension = length - self.free_length
        damping, dissipation = dissipated(self.damping, rate)
        force = self.preload + restoring(self.stiffness, extension) + damping
        energy = self.preload * extension + stored(self.stiffness, extension)
        return CoordinateEffect(force, energy, dissipation, {"extension": extension})

    def more_units(self) -> Units:
        """Return the unit of the extension."""
        return {"extension": "m"}
