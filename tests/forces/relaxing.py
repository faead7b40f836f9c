"""Force elements with states of their own, and machines that they act on."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import expm

import mbd_bridge as mbd
from mbd_bridge.forces import Effect, ForceElement
from mbd_bridge.forces.joints import joint_coordinate
from tests.machines import four_bar, turning


@dataclass(frozen=True, eq=False)
class Maxwell(ForceElement):
    """A spring in a joint, in series with a damper whose stroke is the state.

    F = -k (s - z),   c ż = k (s - z),   U = k (s - z)²/2,   D = c ż²
    """

    joint: str
    stiffness: float = 50.0
    damping: float = 4.0

    def bind(self, model):
        return replace(self, stiffness=self.number("stiffness", self.stiffness, "N/m", 0.0))

    def effect(self, model, t, q, v, z):
        at = joint_coordinate(self, model, self.joint).at(model, q, v)
        force = self.stiffness * (at.s - z[0])
        rate = force / self.damping
        energy = 0.5 * force * force / self.stiffness
        return Effect(
            *at.exerts(-force)[:2], energy, force * rate, {"force": -force}, rates=(rate,)
        )

    def units(self, model):
        return {"force": "N"}

    def states(self, model):
        return {"stroke": "m"}

    def velocity_numbers(self, model):
        return joint_coordinate(self, model, self.joint).velocities

    def link_numbers(self, model):
        return joint_coordinate(self, model, self.joint).links

    def cut_numbers(self, model):
        return joint_coordinate(self, model, self.joint).cuts

    def within_cuts(self, model, t, q, v, z):
        at = joint_coordinate(self, model, self.joint).at(model, q, v)
        return at.exerts(-self.stiffness * (at.s - z[0])).within


@dataclass(frozen=True, eq=False)
class Filter(ForceElement):
    """A coordinate that is measured with delay: T ż = s - z; it exerts nothing."""

    joint: str
    delay: float = 0.05

    def bind(self, model):
        return self

    def effect(self, model, t, q, v, z):
        s = joint_coordinate(self, model, self.joint).at(model, q, v).s
        return Effect({}, {}, 0.0, 0.0, {"seen": z[0]}, rates=[(s - z[0]) / self.delay])

    def units(self, model):
        return {"seen": "rad"}

    def states(self, model):
        return {"seen": "rad"}


@functools.cache
def slider() -> mbd.Mechanism:
    """Return a mass of 2 kg on a horizontal rail."""
    builder = (
        mbd.Builder("slider", root="base")
        .link("base", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
        .link("block", 2.0, (0, 0, 0), (0.1, 0.1, 0.1))
        .joint("rail", "prismatic", "base", "block", axis=(1, 0, 0))
    )
    return mbd.Mechanism.build(builder)


@functools.cache
def bar() -> tuple[mbd.Mechanism, np.ndarray, np.ndarray]:
    """Return a four-bar linkage and a state of it."""
    robot, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return robot, at.q, at.v


ON_BAR = [Maxwell("crank", 30.0, 2.0, name="mount"), Filter("crank", 0.05, name="gauge")]
Z_BAR = {"mount.stroke": 0.3, "gauge.seen": 0.5}


def exact(element: Maxwell, t: float, x: float, v: float, z: float) -> np.ndarray:
    """Return (x, v, z) of the slider at t, from the exponential of its matrix."""
    k, c, m = element.stiffness, element.damping, 2.0
    A = np.array([[0, 1, 0], [-k / m, 0, k / m], [k / c, 0, -k / c]])
    return expm(t * A) @ np.array([x, v, z])
