"""What is to be simulated, over which times, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from mbd_bridge.base.errors import StateError, one_of, real_number
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.options import EVALUATIONS, TOLERANCE
from mbd_bridge.simulation.outcome import Outcome
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.tables import NO_KNOTS, Knots
from mbd_bridge.simulation.steps.runge_kutta import Rates, Torque
from mbd_bridge.simulation.steps.schemes import RK4, MethodName, NullSpace, Scheme, scheme_name
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker

Correction: TypeAlias = Literal["state", "velocity", "none"]


CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
"""What is put back onto loops and prescribed motions after a step: position and velocity, velocity,
nothing."""


@dataclass(frozen=True, eq=False)
class History:
    """All steps of a motion.

    Attributes
    ----------
    time : (S,) s, the end of each step
    size : (S,) s, its length
    order : (S,) of the integrator in it
    left : (S,) largest residual of loops and prescribed motions that it left, before it was
        corrected, relative to the mechanism's size
    """

    time: Array
    size: Array
    order: Array
    left: Array

    def __len__(self) -> int:
        return len(self.time)

    def until(self, end: float) -> History:
        """Return the steps that end before a time, or at it."""
        kept = self.time <= end
        return History(self.time[kept], self.size[kept], self.order[kept], self.left[kept])


def check_correction(correction: str) -> Correction:
    """Return what is corrected, or say which there are."""
    return one_of("correction", correction, CORRECTIONS, StateError)


MOST_BYTES = 2**33
"""Records of more bytes are refused as a slip of the pen."""


class Problem(NamedTuple):
    """What is to be simulated: so many steps of h seconds, every `every`-th recorded.

    It starts from coordinates q, velocities v and states z of force elements, and keeps so many
    rows of the constraints.
    """

    trajectory: Trajectory
    q: Array
    v: Array
    z: Array
    start: float
    h: float
    steps: int
    every: int
    rows: tuple[int, ...]
    loops: LoopChecker | None = None
    knots: Knots = NO_KNOTS

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.trajectory.model

    @property
    def forces(self) -> Torque | None:
        """What acts, in floats."""
        return self.trajectory.stage.torque

    @property
    def rates(self) -> Rates | None:
        """Rates of the states of force elements, in floats; None if they have none."""
        return self.trajectory.stage.rates

    @property
    def motions(self) -> PrescribedMotions | None:
        """What is prescribed, in floats."""
        return self.trajectory.motions


IntegratorName: TypeAlias = Literal[
    "rk4",
    "ab3",
    "abm",
    "newmark",
    "hht",
    "generalised_alpha",
    "explicit_newmark",
    "scipy:RK23",
    "scipy:RK45",
    "scipy:DOP853",
    "scipy:Radau",
    "scipy:BDF",
    "scipy:LSODA",
]
"""Integrators of `simulate`; see there."""


@dataclass(frozen=True)
class SolutionMethod:
    """How it is to be solved; see `simulate`.

    Attributes
    ----------
    scheme : of compiled steps
    reference : whether it is to be run in Python
    """

    method: MethodName = "multipliers"
    integrator: str = "rk4"
    tolerance: float = TOLERANCE
    evaluations: int = EVALUATIONS
    correction: Correction = "state"
    history: bool = False
    scheme: Scheme = RK4
    reference: bool = False

    @property
    def compiled(self) -> bool:
        """Whether steps are compiled: those of the `scheme`."""
        more = self.reference or self.history or self.correction != "state"
        whole = self.method == "multipliers" or isinstance(self.scheme, NullSpace)
        return self.integrator == scheme_name(self.scheme) and whole and not more

    @staticmethod
    def by_scheme(scheme: Scheme) -> SolutionMethod:
        """Return that of compiled steps of a scheme."""
        method = scheme.basis if isinstance(scheme, NullSpace) else "multipliers"
        return SolutionMethod(method, scheme_name(scheme), scheme=scheme)


class Records(NamedTuple):
    """Times (K,), coordinates (K, nq), velocities (K, nv), states of force elements (K, nz).

    Attributes
    ----------
    work : (K,) J that forces and prescribed motions have done; None where it is not known
    samples : (K, H) what steps from the records held, where Python was called
    reported : by name (K, ...) what steps from the records reported, nan where they did not
    """

    time: Array
    q: Array
    v: Array
    z: Array
    steps: int
    outcome: Outcome
    facts: dict[str, Any]
    history: History | None = None
    work: Array | None = None
    samples: Array | None = None
    reported: dict[str, Array] | None = None

    def until(self, last: int, message: object, problem: Problem) -> Records:
        """Return the records up to one of them, where the motion could not go on."""
        kept = slice(0, last + 1)
        t = float(self.time[last])
        return Records(
            self.time[kept],
            self.q[kept],
            self.v[kept],
            self.z[kept],
            round((t - problem.start) / problem.h),
            Outcome.stopped(t, message),
            self.facts,
            None if self.history is None else self.history.until(t),
            None if self.work is None else self.work[kept],
            None if self.samples is None else self.samples[kept],
            None if self.reported is None else {n: x[kept] for n, x in self.reported.items()},
        )


MOST_STEPS = 200_000_000
"""A simulation of more steps is refused as a slip of the pen."""


def check_records(model: Model, steps: int, every: int) -> None:
    """Refuse more records than fit into memory, before the first step."""
    records = steps // every + 2
    needed = 2 * 8 * records * (1 + model.nq + 2 * model.nv)  # time, q, v, a; twice as they join
    if needed > MOST_BYTES:
        raise StateError(
            f"{records} records of {steps} steps need {needed / 2**30:.0f} GiB, more than "
            f"{MOST_BYTES / 2**30:.0f}; record less often, such as every={steps // 10**5}, or "
            f"simulate in parts"
        )


def check_start(start: float, h: float) -> float:
    """Return the start; refuse one from which no step of h seconds leads anywhere."""
    start = real_number("start", start, "a number of seconds")
    if start + h == start:
        raise StateError(f"start: t = {start:g} s and a step of {h:g} s later are the same number")
    return start


def number_of_steps(duration: float, step: float) -> int:
    """Return the steps, of about the length asked for, that make up the whole duration."""
    for name, value in (("duration", duration), ("step", step)):
        real_number(name, value, "a positive number of seconds", positive=True)
    steps = max(1, round(min(duration / step, 1e18)))
    if steps > MOST_STEPS:
        raise StateError(
            f"{steps:.3g} steps of {step:g} s are more than {MOST_STEPS:,}; choose a longer "
            f"step, or simulate in parts"
        )
    return steps


class Clock(NamedTuple):
    """So many steps of h seconds from the start, every `every`-th recorded."""

    start: float
    h: float
    steps: int
    every: int

    def times(self) -> Array:
        """Return the times of the records, with the roundings of the steps that add them up."""
        at = self.of_steps(self.start, self.steps)
        times = at[:: self.every]
        return times if self.steps % self.every == 0 else np.append(times, at[-1])

    def of_steps(self, start: float, count: int) -> Array:
        """Return the times (count + 1,) of steps that begin at `start`."""
        return np.add.accumulate(np.concatenate([[start], np.full(count, self.h)]))


BLOCK = 20_000
"""Records that one call of the machine code makes, at most: memory is taken for them."""


REPORT_INTERVAL = 0.1
"""s, about: how often progress is told, and Ctrl-C is listened to."""


FIRST = 64
"""Steps of the first call; each next one takes at most twice as many."""


class Pace:
    """How many steps are taken at once: some `REPORT_INTERVAL` seconds of them, whole records if
    they fit.

    Parameters
    ----------
    every : steps between records
    """

    def __init__(self, every: int) -> None:
        self._every, self._steps = every, FIRST
        self._last = time.perf_counter()

    def steps(self, done: int) -> int:
        """Return the steps to take after so many; those that begin between records end at one."""
        every, beyond = self._every, done % self._every
        most = min(self._steps, BLOCK * every)
        if beyond:
            return min(most, every - beyond)
        return most - most % every if most >= every else most

    def took(self, steps: int) -> None:
        """Learn from the time that steps have taken."""
        now = time.perf_counter()
        each = (now - self._last) / max(steps, 1)
        self._last = now
        self._steps = max(1, min(2 * self._steps, int(REPORT_INTERVAL / max(each, 1e-9))))
