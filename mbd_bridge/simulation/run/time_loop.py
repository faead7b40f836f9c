"""The one loop over the time of a motion: steps, records, checkpoints, progress, events, its end.

A `MotionRun` says how steps are taken: compiled (`run.compiled`), compiled and of variable length
(`run.variable`), or in Python by any method (`reference.run`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.errors import FunctionError, SolveError
from mbd_bridge.kernels.march import March
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.outcome import FINISHED, Outcome
from mbd_bridge.simulation.outputs import REPORTED, STATE, without_doubt
from mbd_bridge.simulation.run.checkpoint import Checkpoint, KeptRun, identity_of
from mbd_bridge.simulation.run.problem import History, Pace, Problem, Records
from mbd_bridge.simulation.steps.compiled import Start
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, Now, Step, carried
from mbd_bridge.simulation.system import System

if TYPE_CHECKING:
    from mbd_bridge.simulation.run.lookout import Lookout


class Log:
    """Records of a motion as they come.

    Parameters
    ----------
    nz : number of states of force elements; a memory behind them is not recorded
    reported : shapes of what steps report, by name
    """

    def __init__(self, nz: int, reported: Mapping[str, tuple[int, ...]] | None = None) -> None:
        self._end, self._nz, self._shapes = CARRIED + nz, nz, dict(reported or {})
        self._blocks: list[tuple[Array, ...]] = []
        self._seen = 0
        self.samples: list[Array] = []

    @staticmethod
    def of(system: System, code: March) -> Log:
        """Return where records of compiled steps go."""
        if system.outputs is None:
            return Log(system.nz)
        names, shapes = system.outputs.names[len(STATE) :], code.shapes[REPORTED + len(STATE) : -1]
        return Log(system.nz, dict(zip(names, shapes, strict=True)))

    def add(self, t: Array, q: Array, v: Array, *reported: Array) -> None:
        """Add records: t (K, ...) of `trusted_step`, q (K, nq), v (K, nv), what was reported."""
        if len(t):
            self._blocks.append((t[:, : self._end], q, v, *reported))

    def ends_at(self, time: float) -> bool:
        """Return whether the last record is of this time."""
        return bool(self._blocks) and float(self._blocks[-1][0][-1, 0]) == time

    def columns(self) -> tuple[Array, ...]:
        """Return t, q, v and what was reported, of all records."""
        if len(self._blocks) > 1:
            self._blocks = [tuple(map(np.concatenate, zip(*self._blocks, strict=True)))]
        return self._blocks[0]

    def fresh(self) -> tuple[Array, Array, Array]:
        """Return time, q and v of the records since the last call."""
        t, q, v, *_ = self.columns()
        new, self._seen = slice(self._seen, None), len(t)
        return t[new, 0], q[new], v[new]

    def restore(self, kept: KeptRun) -> None:
        """Go on behind the records of a checkpoint, which keeps none of what was reported."""
        silent = (np.full((len(kept.q), prod(shape)), np.nan) for shape in self._shapes.values())
        self._blocks = [(kept.time, kept.q, kept.v, *silent)]

    def records(
        self, steps: int, outcome: Outcome, facts: dict[str, Any], history: History | None = None
    ) -> Records:
        """Return all of it."""
        t, q, v, *columns = self.columns()
        reported = None
        if self._shapes:
            each = zip(self._shapes.items(), columns, strict=True)
            whole = {name: array.reshape(len(array), *shape) for (name, shape), array in each}
            reported = without_doubt(whole)
        samples = np.array(self.samples) if self.samples else None
        z, work = carried(t)[:, : self._nz], t[:, WORK]
        return Records(t[:, 0], q, v, z, steps, outcome, facts, history, work, samples, reported)


class MotionRun(ABC):
    """A motion on its way, by whatever steps.

    Attributes
    ----------
    done : steps of the grid
    detours : steps of the grid that were taken with more care
    begins_anew : whether it begins anew behind each checkpoint: digits depend on where these are
    """

    begins_anew = False

    def __init__(self, problem: Problem, log: Log) -> None:
        self.problem, self.log = problem, log
        self.done = self.detours = 0

    @property
    @abstractmethod
    def now(self) -> Now:
        """The state."""

    @abstractmethod
    def some(self, wanted: int) -> None:
        """Take about so many steps of the grid, and record what is to be recorded on the way.

        Raises
        ------
        SolveError
            The motion cannot be continued: why, and what to try.
        """

    @abstractmethod
    def record(self) -> None:
        """Record the state, if it is not yet."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what was counted."""

    def begin(self) -> None:  # noqa: B027 (most have nothing to prepare)
        """Prepare to go on from here."""

    @property
    def steps(self) -> int:
        """Steps of the integrator."""
        return self.done

    def records(self, outcome: Outcome) -> Records:
        """Return what there is."""
        return self.log.records(self.steps, outcome, self.facts())

    # -- checkpoints -----------------------------------------------------------------------------

    @abstractmethod
    def told_by(self) -> tuple[object, ...]:
        """Return by what this motion is told from others of the same problem."""

    @abstractmethod
    def probe(self) -> Array:
        """Return numbers that tell whether machine code rounds as it did."""

    @abstractmethod
    def state(self) -> Array:
        """Return all that it goes on from."""

    @abstractmethod
    def restore(self, state: Array, steps: int) -> None:
        """Go on from such a state, after so many steps of the integrator."""


def march(
    run: MotionRun,
    progress: Callable[[int], None] | None = None,
    checkpoint: Checkpoint | None = None,
    lookout: Lookout | None = None,
) -> Records:
    """Return the motion up to its end, or to where it cannot go on.

    Parameters
    ----------
    progress : is called with the number of steps since the last call
    checkpoint : where it is kept, and from where it goes on if it is there
    lookout : says whether it need not go on
    """
    problem, outcome = run.problem, FINISHED
    if checkpoint is not None:
        _resume(run, checkpoint)
    pace, begins = Pace(problem.every), True
    while run.done < problem.steps:
        before = run.done
        wanted = min(pace.steps(before), problem.steps - before)
        if checkpoint is not None:
            wanted = min(wanted, checkpoint.left(before, problem.every))
        try:
            if begins:
                run.begin()
            run.some(wanted)
        except (SolveError, FunctionError, np.linalg.LinAlgError) as met:
            outcome = Outcome.stopped(run.now.t, met)
            break
        pace.took(run.done - before)
        begins = checkpoint is not None and checkpoint.is_due(
            run.done, problem.steps, problem.every
        )
        if checkpoint is not None and begins:
            kept, (t, q, v, *_) = run.state(), run.log.columns()
            checkpoint.write(KeptRun(run.done, run.steps, run.detours, kept, t, q, v))
        if progress is not None:
            progress(run.done - before)
        if lookout is not None and lookout.sees(*run.log.fresh()):
            break
    run.record()
    return run.records(outcome)


def _resume(run: MotionRun, checkpoint: Checkpoint) -> None:
    """Go on from where a checkpoint was written, if there is one."""
    method = (*run.told_by(), checkpoint.every) if run.begins_anew else run.told_by()
    kept = checkpoint.read(identity_of(run.problem, *method), run.probe())
    if kept is None:
        return
    run.done, run.detours = kept.done, kept.detours
    run.restore(kept.state, kept.steps)
    run.log.restore(kept)


def probe(problem: Problem, step: Step, begin: Start) -> Array:
    """Return numbers of two single steps from the start, one of them at a time halfway."""
    p = problem
    numbers = [np.array([p.start, p.h, p.steps, p.every], dtype=np.float64), p.q, p.v]
    for t in (p.start, p.start + 0.5 * p.steps * p.h):
        one = step(begin.begun(Now(t, p.q, p.v, p.z)), p.h)
        numbers += [one.q, one.v, one.carried]
    return np.concatenate(numbers)
