"""Friction in joints: Coulomb with the Stribeck effect, made smooth, and viscous; or by the load.

    F = (F_c + (F_s - F_c) exp(-(ṡ/v_s)²)) tanh(ṡ/v_0) + c ṡ,   on the coordinate: -F
    U = 0,   D = F ṡ >= 0

The tanh makes it a function of the state. A joint does not stick but creeps: at a load F < F_c with
about v_0 artanh(F/F_c). Near rest it is a damper of F_s/v_0, which bounds the step of Runge-Kutta:
h < 2.78 m v_0/F_s.

Friction that grows with the force that the joint carries:

    F = (F_c + μ r N) tanh(ṡ/v_0),   on the coordinate: -F,   D = F ṡ >= 0
    N = |force across the axis| of the joint's load at accelerations zero

r is 1 where the joint slides. N holds weights and what comes from velocities; what accelerations
and force elements add to the load is left out, since friction would then depend on itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, final

import numpy as np

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, number
from mbd_bridge.forces.joints import (
    CoordinateEffect,
    JointElement,
    TreeCoordinate,
    joint_coordinate,
)
from mbd_bridge.forces.points import SMALLEST
from mbd_bridge.functions import exp, maximum, sqrt, tanh
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

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
    static: Annotated[float | None, number("{f}")] = None
    viscous: Annotated[float, number("{f} s/{s}", 0.0)] = 0.0
    smoothing_velocity: Annotated[float, number("{s}/s", positive=True)] = SMOOTHING
    stribeck_velocity: Annotated[float | None, number("{s}/s", positive=True)] = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its defaults."""
        bound = super().bind(model)
        static = self.static
        if static is not None:
            unit = self.unit_of("static", model)
            static = self.number("static", static, unit, bound.coulomb)
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


@final
@dataclass(frozen=True, eq=False)
class LoadFriction(ForceElement):
    """Dry friction by the load of a joint of the tree, in a machine without loops.

    Parameters
    ----------
    joint : name of a joint that turns or slides about one axis
    coefficient : μ
    radius : r of the bearing, m; of a joint that slides it has no part
    coulomb : F_c without load, N m or N
    smoothing_velocity : v_0, rad/s or m/s
    """

    joint: str
    coefficient: Annotated[float, number("", 0.0)] = 0.0
    radius: Annotated[float, number("m", 0.0)] = 0.0
    coulomb: Annotated[float, number("{f}", 0.0)] = 0.0
    smoothing_velocity: Annotated[float, number("{s}/s", positive=True)] = SMOOTHING

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        self._place(model)
        if model.has_loops:
            raise ModelError(
                f"{self.label}: the load of a joint depends on the accelerations where a machine "
                f"has loops; use a JointFriction"
            )
        return self.checked(model)

    def place_units(self, model: Model) -> Units:
        """Return the units of its coordinate."""
        place = self._place(model)
        return {"s": place.unit, "f": place.force_unit}

    def _place(self, model: Model) -> TreeCoordinate:
        place = joint_coordinate(self, model, self.joint)
        if not isinstance(place, TreeCoordinate) or place.joint != self.joint:
            raise ModelError(
                f"{self.label}: joint {self.joint!r}: expected a joint of the tree with one degree "
                f"of freedom; use a JointFriction"
            )
        return place

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the friction, and the force across the axis."""
        place = self._place(model)
        number = model.joint_index[self.joint]
        (wrench,) = recursive_loads(model, q, v, np.zeros(model.nv), [number]).wrench
        across = sqrt(maximum(wrench[0] * wrench[0] + wrench[1] * wrench[1], SMALLEST))
        at = place.at(model, q, v)
        arm = self.radius if place.unit == "rad" else 1.0
        dry = self.coulomb + self.coefficient * arm * across
        force = dry * tanh(at.rate * (1.0 / self.smoothing_velocity))
        report = {"force": -force, "load": across, "rate": at.rate}
        return Effect(at.exerts(-force).forces, {}, 0.0, force * at.rate, report)

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is that on the coordinate."""
        place = self._place(model)
        return {"force": place.force_unit, "load": "N", "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the joint."""
        return self._place(model).velocities

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's friction of the joint."""
        return frozenset({("friction", self.joint)})
