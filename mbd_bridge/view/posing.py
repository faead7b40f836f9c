"""Posing a machine by sliders: one for each degree of freedom of its tree; its loops follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import assemble

TURN = np.pi
"""How far a joint without limits turns on its slider, either way, rad."""

BENT = 0.1
"""Part of that, or of the machine's size, by which a modal coordinate moves a link."""


@dataclass(frozen=True)
class Knob:
    """A slider of one velocity coordinate: rad or m from the neutral position.

    Attributes
    ----------
    index : of the coordinate among the velocities
    unit : rad or m
    """

    name: str
    index: int
    low: float
    high: float
    unit: str


class Poser:
    """A machine that is moved by knobs.

    Attributes
    ----------
    q : (nq,) where it stands: with its loops closed
    """

    def __init__(self, model: Model, q: Array) -> None:
        self.model = model
        self.q = np.array(q, dtype=np.float64)
        self.knobs = knobs(model)
        self._neutral = model.neutral()

    def values(self) -> list[float]:
        """Return where the knobs stand, for the position that is shown."""
        from_neutral = self.model.difference(self._neutral, self.q)
        return [float(from_neutral[knob.index]) for knob in self.knobs]

    def turn(self, values: Sequence[float], moved: int) -> bool:
        """Move to where the knobs stand; return whether the loops could be closed there.

        Parameters
        ----------
        moved : the knob that was turned last: it stays where it is, the others give way. Where
            that closes no loop, it gives way too
        """
        step = np.zeros(self.model.nv)
        for knob, value in zip(self.knobs, values, strict=True):
            step[knob.index] = value
        guess = self.model.integrate(self._neutral, step)
        if not self.model.has_loops:
            self.q = guess
            return True
        near, (coordinates, name) = np.array(self.q), self._moved(moved)
        near[coordinates] = guess[coordinates]
        for fixed in (name, ()):
            try:
                self.q = assemble(self.model, near, fixed=fixed).q
            except SolveError:
                continue
            return True
        return False

    def _moved(self, moved: int) -> tuple[slice, str]:
        """Return the coordinates that a knob moves (all four of a ball), and their name."""
        index = self.knobs[moved].index
        for body in self.model.bodies:
            if body.coupled or not body.v.start <= index < body.v.stop:
                continue
            if body.type.nq > body.type.nv:
                return body.q, self.model.joints[body.joint].name
            index_of_q = body.q.start + index - body.v.start
            return slice(index_of_q, index_of_q + 1), self.model.velocity_names[index]
        raise AssertionError(f"velocity {index} belongs to no body")


def knobs(model: Model) -> list[Knob]:
    """Return a knob for each degree of freedom, but for those of a floating base."""
    limits = {joint.name: joint.limits for joint in model.description.joints}
    sliders = []
    for body in model.bodies:
        if body.coupled or body.type.nv in (0, 6):
            continue
        joint = model.joints[body.joint]
        parts = zip(body.type.velocities, body.type.slides(), strict=True)
        for k, (suffix, slides) in enumerate(parts):
            index = body.v.start + k
            low, high = (-model.size, model.size) if slides else (-TURN, TURN)
            if joint.is_station:  # a deflection, not a way
                low, high = BENT * low, BENT * high
            joint_limits = limits.get(joint.name)
            if joint_limits is not None and body.type.nv == 1 and body.type.name != "continuous":
                low = low if joint_limits.lower is None else joint_limits.lower
                high = high if joint_limits.upper is None else joint_limits.upper
            if not low < high:
                low, high = low - 1e-3, low + 1e-3
            sliders.append(Knob(joint.name + suffix, index, low, high, "m" if slides else "rad"))
    return sliders
