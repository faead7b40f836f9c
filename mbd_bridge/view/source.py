"""What may be shown: a simulation, a motion of a mechanism, or a mechanism at a position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import is_all, name_list
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces import ForceElement
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve import assemble
from mbd_bridge.solve.check_states import unit_quaternions
from mbd_bridge.view.scales import AppliedWrench, applied_along, applied_in

OF_STATES = ("force", "moment", "actuation", "unique", "actuation_unique")
"""Arrays of loads that have a row for each state."""


@dataclass(frozen=True, eq=False)
class Source:
    """States of a machine along time, and the loads of chosen joints in them.

    Attributes
    ----------
    time, q : (N,) s and (N, nq)
    loads : of N states on the child, at the joint, in its axes; None if none are asked for
    forces : force elements that act, bound to the model
    applied : external wrenches of N states
    """

    model: Model
    time: Array
    q: Array
    loads: JointLoads | None = None
    forces: tuple[ForceElement, ...] = ()
    applied: tuple[AppliedWrench, ...] = ()

    def records(self, rows: Array) -> Source:
        """Return some of the states."""
        loads = _chosen(self.loads, rows)
        applied = tuple(wrench.records(rows) for wrench in self.applied)
        return replace(self, time=self.time[rows], q=self.q[rows], loads=loads, applied=applied)

    def at(self, times: Array) -> Source:
        """Return the states and loads at other times, between records by straight ways."""
        k = np.clip(np.searchsorted(self.time, times, "right") - 1, 0, max(len(self.time) - 2, 0))
        if len(self.time) < 2:
            return replace(self.records(np.zeros(len(times), dtype=int)), time=times)
        part = np.clip((times - self.time[k]) / (self.time[k + 1] - self.time[k]), 0.0, 1.0)
        rows = []
        for first, share in zip(k, part, strict=True):
            start, end = self.q[first], self.q[first + 1]
            way = self.model.difference(start, end)
            rows.append(self.model.integrate(start, share * way))
        loads = self.loads
        if loads is not None:
            loads = _mixed(_chosen(loads, k), _chosen(loads, k + 1), part)
        applied = tuple(wrench.between(k, part) for wrench in self.applied)
        return replace(self, time=times, q=np.array(rows), loads=loads, applied=applied)


def of_simulation(run: Simulation, loads: Iterable[str] | str = ()) -> Source:
    """Return a simulation as it is shown, with the loads of joints (of all of them: "all")."""
    names = _names(run.model, loads)
    joint_loads = run.joint_loads(names) if names else None
    return Source(run.model, run.time, run.q, joint_loads, run.system.forces, applied_in(run))


def of_motion(
    model: Model,
    motion: Motion,
    loads: Iterable[str] | str = (),
    actuated: Iterable[str] | None = None,
    forces: tuple[ForceElement, ...] = (),
    external: ExternalForces | None = None,
) -> Source:
    """Return a motion as it is shown; for `actuated` ... see `Mechanism.joint_loads`."""
    if tuple(motion.coordinates) != model.coordinate_names:
        raise StateError(
            f"the motion is one of the coordinates {', '.join(motion.coordinates[:6])}, the "
            f"mechanism has {', '.join(model.coordinate_names[:6])}; load it for this mechanism"
        )
    solver = _solver(model, loads, actuated, forces, () if external is None else external.links)
    joint_loads = None if solver is None else solver.along(motion, external)
    if joint_loads is not None:
        joint_loads = replace(joint_loads, time=None, speed=None)  # the source has its own times
    applied = applied_along(model, motion, external)
    return Source(model, motion.time, motion.q, joint_loads, forces, applied)


@dataclass(frozen=True, eq=False)
class Rest:
    """A machine at rest under gravity, wherever it stands.

    Attributes
    ----------
    loads : names of joints whose loads are shown, or "all"
    actuated : of a machine with loops, the actuated joints
    forces : force elements that act, bound to the model, at t = 0
    """

    model: Model
    loads: tuple[str, ...] | str = ()
    actuated: tuple[str, ...] | None = None
    forces: tuple[ForceElement, ...] = ()

    def at(self, q: Array) -> Source:
        """Return the machine at q (nq,)."""
        still = np.zeros((1, self.model.nv))
        solver, start = self._solver, np.zeros(1)
        joint_loads = None if solver is None else solver(q[None], still, still, t=start)
        return Source(self.model, start, q[None], joint_loads, self.forces)

    def start(self, q: ArrayLike | None = None) -> Source:
        """Return the machine at q, or where it is assembled nearest to zero."""
        if q is None:
            model = self.model
            return self.at(assemble(model).q if model.has_loops else model.neutral())
        position = np.asarray(unit_quaternions(self.model, q), dtype=np.float64)
        if position.shape != (self.model.nq,):
            raise StateError(f"q: expected ({self.model.nq},) for one state, got {position.shape}")
        return self.at(position)

    @cached_property
    def _solver(self) -> LoadSolver | None:
        return _solver(self.model, self.loads, self.actuated, self.forces)

    def __getstate__(self) -> dict[str, Any]:
        """Return what was asked for: machine code does not travel, it is found or made again."""
        kept = "model", "loads", "actuated", "forces"
        return {k: v for k, v in self.__dict__.items() if k in kept}


def _names(model: Model, loads: Iterable[str] | str) -> list[str]:
    """Return the names of joints asked for: "all" stands for those of the tree and the cut ones."""
    known = [*(j.name for j in model.joints[1:]), *(cut.name for cut in model.cuts)]
    return known if is_all(loads, known) else [*name_list("loads", loads, "joints")]


def _solver(
    model: Model,
    loads: Iterable[str] | str,
    actuated: Iterable[str] | None,
    forces: tuple[ForceElement, ...],
    links: tuple[str, ...] = (),
) -> LoadSolver | None:
    """Return what computes the loads asked for; None if there are none."""
    names = _names(model, loads)
    if not names:
        return None
    return LoadSolver(
        model, LoadRequest.of(model, names, actuated=actuated, forces=forces, links=links)
    )


def _chosen(loads: JointLoads | None, rows: Sequence[int] | Array) -> JointLoads | None:
    """Return the loads of some states."""
    if loads is None:
        return None
    index = np.asarray(rows, dtype=int)
    return replace(loads, **{name: getattr(loads, name)[index] for name in OF_STATES})


def _mixed(first: JointLoads | None, second: JointLoads | None, part: Array) -> JointLoads:
    """Return loads between two, on the straight way; determined is what is so at both."""
    assert first is not None
    assert second is not None
    between = {}
    for name in OF_STATES:
        start, end = getattr(first, name), getattr(second, name)
        share = part.reshape(-1, *[1] * (start.ndim - 1))
        between[name] = start & end if start.dtype == bool else (1.0 - share) * start + share * end
    return replace(first, **between)
