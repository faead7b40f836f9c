"""What is given to the trajectories of a batch from outside: forces and prescribed motions.

Constant forces are an input of the step; formulas of the state are compiled into it; what is a
course of time is streamed into it, as the numbers that its three times need:

    forces τ at t, t + h/2, t + h;   of each motion f'' at these, and f, f' at t + h

So a table may have any number of rows, and each trajectory its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbd_bridge.errors import StateError
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.given.courses import Constant, Course, Formula, Rows, course
from mbd_bridge.simulate.given.forces import (
    checked_forces,
    constant_forces,
    forces_along,
    velocity_place,
)
from mbd_bridge.simulate.given.formula import Formula as TextFormula
from mbd_bridge.simulate.given.jet import Jet
from mbd_bridge.simulate.given.knots import Knots
from mbd_bridge.simulate.given.motions import (
    PrescribedMotions,
    check_drives,
    fully_driven,
    prescribe,
)
from mbd_bridge.simulate.step import Stage, Torque
from mbd_bridge.spatial import Array, zeros

OF_FORCE, OF_MOTION = 3, 5
"""Numbers that a step takes of each."""


@dataclass(frozen=True, eq=False)
class Signals:
    """Forces and prescribed motions of N trajectories.

    Attributes
    ----------
    model : the mechanism
    constant : (N, nv) or (nv,) forces that stay, or none
    formula : forces as a function of (t, q, v), or none
    courses : forces along velocities (indices) that are courses of time
    drives : prescribed motions by coordinate name
    motions : their places; None without any
    """

    model: Model
    constant: Array | None = None
    formula: Torque | None = None
    courses: dict[int, Course] = field(default_factory=dict)
    drives: dict[str, Course] = field(default_factory=dict)
    motions: PrescribedMotions | None = None

    @staticmethod
    def of(
        model: Model, torque: Any, drives: Mapping[str, Any] | None, start: float, end: float
    ) -> Signals:
        """Return what a caller gives, checked."""
        constant, formula, courses = _forces(model, torque, start, end)
        check_drives(drives)
        driven = {
            name: course("drive", name, given, Rows.spline, start, end)
            for name, given in (drives or {}).items()
        }
        if not all(one.number for one in (*courses.values(), *driven.values())):
            raise StateError("torque, drives: expected at least one trajectory, got none")
        # one of each, to check names and functions and to know the places
        motions = prescribe(model, {n: c.of(0) for n, c in driven.items()}, start, end)
        return Signals(model, constant, formula, courses, driven, motions if driven else None)

    @property
    def numbers_of(self) -> dict[str, int]:
        """For how many trajectories each of them is given, where that is more than one."""
        names = self.model.velocity_names
        found = {f"torque {names[k]!r}": force for k, force in self.courses.items()}
        found |= {f"drive {name!r}": c for name, c in self.drives.items()}
        return {name: c.number for name, c in found.items() if c.number > 1}

    @property
    def driven(self) -> tuple[int, ...]:
        """Velocities that are prescribed."""
        return () if self.motions is None else self.motions.v

    @property
    def common(self) -> bool:
        """Whether the stream is the same for all trajectories."""
        return not self.numbers_of

    @property
    def size(self) -> int:
        """Numbers that a step takes from the stream."""
        return OF_FORCE * len(self.courses) + OF_MOTION * len(self.drives)

    @property
    def identity(self) -> str:
        """What of the step's code depends on these, without the formula."""
        constant = self.constant is not None
        return f"constant {constant} courses {[*self.courses]} driven {self.driven}"

    def stages(self, tau: Array | None, stream: Array) -> tuple[Stage, Stage, Stage]:
        """Return what is given at the start, the middle and the end of a step, of symbols."""
        count = len(self.courses)
        split = OF_FORCE * count
        of_motion = stream[split:].reshape(OF_MOTION, -1)

        def stage(k: int) -> Stage:
            return Stage(
                self._torque(tau, stream[count * k : count * (k + 1)]),
                self._at_stage(of_motion, k),
            )

        return stage(0), stage(1), stage(2)

    def _torque(self, tau: Array | None, forces: Array) -> Torque | None:
        if self.formula is not None or (tau is None and not len(forces)):
            return self.formula
        out = zeros(self.model.nv, *(() if tau is None else (tau,)), forces)
        if tau is not None:
            out[:] = tau
        out[list(self.courses)] = forces
        return lambda *_: out

    def _at_stage(self, stream: Array, k: int) -> PrescribedMotions | None:
        if self.motions is None:
            return None

        def jet(d: int) -> Any:
            f, f1 = (stream[3, d], stream[4, d]) if k == 2 else (0.0, 0.0)
            return lambda _: Jet(f, f1, stream[k, d])

        return replace(self.motions, functions=tuple(jet(d) for d in range(len(self.drives))))

    def numbers(self, times: Array, h: float, own: Array) -> Array:
        """Return (steps, size, lanes) for the steps between times (steps + 1,)."""
        steps, count, split = len(times) - 1, len(self.courses), OF_FORCE * len(self.courses)
        at = np.empty(2 * steps + 1)
        at[0::2], at[1::2] = times, times[:-1] + 0.5 * h
        out = np.empty((steps, self.size, len(own)))
        for k, force in enumerate(self.courses.values()):
            value = force.along(at, own)[0]
            for moment, part in enumerate((value[:-1:2], value[1::2], value[2::2])):
                out[:, moment * count + k] = part
        many = len(self.drives)
        for d, drive in enumerate(self.drives.values()):
            value, first, second = drive.along(at, own, 2)
            parts = second[:-1:2], second[1::2], second[2::2], value[2::2], first[2::2]
            for moment, part in enumerate(parts):
                out[:, split + moment * many + d] = part
        return out

    def knots(self, start: float, h: float) -> Knots:
        """Return where steps of h from `start` have to end, since tables of forces jump there."""
        tables = [one for one in self.courses.values() if isinstance(one, Rows)]
        return Knots.of([(one.times, one.values) for one in tables], start, h)

    def prescribed(self, time: float, number: int) -> tuple[Array, Array]:
        """Return f and f' (N, D) at one time."""
        f, f1 = np.empty((2, number, len(self.drives)))
        for d, drive in enumerate(self.drives.values()):
            value, first = drive.along(np.array([time]), np.arange(number), 1)
            f[:, d], f1[:, d] = value[0], first[0]
        return f, f1

    def accelerations(self, time: Array, own: Array) -> Array:
        """Return f'' (L, K, D) of some trajectories at many times."""
        out = np.empty((len(own), len(time), len(self.drives)))
        for d, drive in enumerate(self.drives.values()):
            out[:, :, d] = drive.along(time, own, 2)[2].T
        return out

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """Joints all of whose freedoms are prescribed."""
        return () if self.motions is None else fully_driven(self.model, self.motions)

    def torque_of(self, number: int) -> Any:
        """Return the forces of one trajectory, as `simulate` takes them."""
        if self.formula is not None:
            return self.formula
        names = self.model.velocity_names
        given: dict[str, Any] = {}
        if self.constant is not None:
            given = dict(zip(names, self.constant[number].tolist(), strict=True))
        given |= {names[place]: force.of(number) for place, force in self.courses.items()}
        return given or None

    def drives_of(self, number: int) -> dict[str, Any] | None:
        """Return the prescribed motions of one trajectory, as `simulate` takes them."""
        return {name: drive.of(number) for name, drive in self.drives.items()} or None

    def tau(self, time: Array, q: Array, v: Array, own: Array) -> Array:
        """Return the forces (L, K, nv) of some trajectories at records q, v (L, K, ...)."""
        out = np.zeros_like(v)
        if self.formula is not None:
            for k in range(len(own)):
                out[k] = forces_along(self.model, self.formula, time, q[k], v[k])
        if self.constant is not None:
            out[:] = self.constant[own][:, None]
        for place, force in self.courses.items():
            out[:, :, place] = force.along(time, own)[0].T
        return out


def _forces(
    model: Model, torque: Any, start: float, end: float
) -> tuple[Array | None, Torque | None, dict[int, Course]]:
    """Return constant forces (N, nv), a formula, and courses of time, as far as they are given."""
    if torque is None:
        return None, None, {}
    if callable(torque):
        return None, checked_forces(model, torque), {}
    if not isinstance(torque, Mapping):
        return constant_forces(torque), None, {}
    given = {
        velocity_place(model, name): course("torque", name, value, Rows.lines, start, end)
        for name, value in torque.items()
    }
    for place, one in given.items():
        if isinstance(one, Formula) and not isinstance(one.function, TextFormula):
            raise StateError(
                f"torque {model.velocity_names[place]!r}: a function gives the forces along all "
                f"velocities, torque=f(t, q, v); by name give numbers or tables (times, values)"
            )
    still = {place: one for place, one in given.items() if isinstance(one, Constant)}
    moving = {place: one for place, one in given.items() if place not in still}
    number = max((one.number for one in still.values()), default=1)
    constant = np.zeros((number, model.nv))
    for place, one in still.items():
        if one.number not in (1, number):
            raise StateError(
                f"torque: expected the same number of trajectories everywhere, got {number} and "
                f"{one.number}"
            )
        constant[:, place] = one.values
    return (constant if still else None), None, moving
