"""Friction in a joint: Coulomb with the Stribeck effect, made smooth, and viscous.

    F = (F_c + (F_s - F_c) exp(-(ṡ/v_s)²)) tanh(ṡ/v_0) + c ṡ,   on the coordinate: -F
    U = 0,   D = F ṡ >= 0

The tanh makes it a function of the state. A joint does not stick but creeps: at a load F < F_c with
about v_0 artanh(F/F_c). Near rest it is a damper of F_s/v_0, which bounds the step of Runge-Kutta:
h < 2.78 m v_0/F_s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import number
from mbd_bridge.forces.joints import CoordinateEffect, JointElement
from mbd_bridge.functions import exp, tanh
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model

SMOOTHING = 0.01
"""rad/s or m/s: v_0 where none is given; three quarters of the friction act at this speed."""

STRIBECK = 10.0
"""v_s by v_0 where none is given: the static peak is then passed before it fades."""


@final
@dataclass(frozen=True, eq=False)
class JointFriction(JointElement):
    """Dry and viscous friction in a joint.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    coulomb : F_c, N m or N
    static : F_s, at least F_c; None for F_c
    viscous : c, N m s/rad or N s/m
    smoothing_velocity : v_0, rad/s or m/s
    stribeck_velocity : v_s, rad/s or m/s; None for ten times v_0
    """

    coulomb: Annotated[float, number("{f}", 0.0)] = 0.0
    static: float | None = None
    viscous: Annotated[float, number("{f} s/{s}", 0.0)] = 0.0
    smoothing_velocity: Annotated[float, number("{s}/s", positive=True)] = SMOOTHING
    stribeck_velocity: Annotated[float | None, number("{s}/s", positive=True)] = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its defaults."""
        bound = super().bind(model)
        force, static = self.place_units(model)["f"], self.static
        if static is not None:
            static = self.number("static", static, force, bound.coulomb)
        return replace(
            bound,
            static=bound.coulomb if static is None else static,
            stribeck_velocity=STRIBECK * bound.smoothing_velocity
            if self.stribeck_velocity is None
            else bound.stribeck_velocity,
        )

    @property
    def _has_peak(self) -> bool:
        """Whether the static friction may be more than Coulomb's."""
        if is_traced(self.static, self.coulomb):
            return self.static is not self.coulomb
        return self.static is not None and self.static > self.coulomb

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate."""
        if self.static is None or self.stribeck_velocity is None:
            raise StateError(f"{self.label}: bind(model) it first")
        dry: Any = self.coulomb
        if self._has_peak:
            part = rate * (1.0 / self.stribeck_velocity)
            dry = dry + (self.static - self.coulomb) * exp(-(part * part))
        force = dry * tanh(rate * (1.0 / self.smoothing_velocity)) + self.viscous * rate
        return CoordinateEffect(-force, 0.0, force * rate)

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's friction and damping of the joint, where it has some itself."""
        joint = self.coordinate(model).joint
        kinds = {"friction": self.coulomb, "damping": self.viscous}
        return frozenset(
            (kind, joint) for kind, number in kinds.items() if is_traced(number) or number
        )
