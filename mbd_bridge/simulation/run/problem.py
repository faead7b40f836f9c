"""What is to be simulated, and what came of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.knots import NO_KNOTS, Knots
from mbd_bridge.simulation.inputs.motions import PrescribedMotions
from mbd_bridge.simulation.results.history import Correction, History
from mbd_bridge.simulation.steps.runge_kutta import Rates, Torque
from mbd_bridge.simulation.steps.schemes import Scheme
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loop_values import LoopChecker

MOST_BYTES = 2**33
"""Records of more bytes are refused as a slip of the pen."""


class Problem(NamedTuple):
    """What is to be simulated: so many steps of h seconds, every `every`-th recorded.

    It starts from coordinates q, velocities v and states z of force elements.
    """

    trajectory: Trajectory
    q: Array
    v: Array
    z: Array
    start: float
    h: float
    steps: int
    every: int
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


MethodName: TypeAlias = Literal["projection", "svd", "qr", "projection-reference", "multipliers"]
"""Methods of `simulate`; see there."""

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


class RunOptions(NamedTuple):
    """How it is to be solved; see `simulate`."""

    method: str
    integrator: str
    tolerance: float
    evaluations: int
    correction: Correction = "state"
    history: bool = False
    scheme: Scheme | None = None


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
    status: str
    facts: dict[str, Any]
    history: History | None = None
    work: Array | None = None
    samples: Array | None = None
    reported: dict[str, Array] | None = None

    def until(self, last: int, message: str, problem: Problem) -> Records:
        """Return the records up to one of them, where the motion could not go on."""
        kept = slice(0, last + 1)
        t = float(self.time[last])
        return Records(
            self.time[kept],
            self.q[kept],
            self.v[kept],
            self.z[kept],
            round((t - problem.start) / problem.h),
            f"stopped at t = {t:.6g} s: {message}",
            self.facts,
            None if self.history is None else self.history.until(t),
            None if self.work is None else self.work[kept],
            None if self.samples is None else self.samples[kept],
            None if self.reported is None else {n: x[kept] for n, x in self.reported.items()},
        )
