"""How fast our kernels are beside pinocchio: the same states, one process, one thread each.

Every row times both sides in turns and keeps the best of several turns of each. Where both sides
give the same quantity, their largest relative difference is given with the row: a benchmark of
two different things is none.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.extras import versions
from mbd_bridge.base.table import Series, Table
from mbd_bridge.engines.crosscheck.compare import random_states
from mbd_bridge.engines.pinocchio import Twin, referee, to_pinocchio
from mbd_bridge.kernels import Cache, Kernel
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import Dynamics, prepare

# Timing several works in turns, so that a slow moment of the machine strikes none alone.

REPETITIONS = 5
"""Turns that each work has at least."""
SECONDS = 0.5
"""Time after which a work has no more turns than it must have."""
MOST = 200
"""Turns that each work has at most."""

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """One row.

    Attributes
    ----------
    what : was computed by us
    ours : s a state, or s for a compilation; the best turn
    peer : what pinocchio computed, "" for nothing
    theirs : s a state, or None
    difference : largest relative difference of the results, None where they are not the same
    """

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    difference: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster than pinocchio we are."""
        return None if self.theirs is None else self.theirs / self.ours


def in_turns(works: Sequence[Work], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the best time of each work, s, measured in turns.

    Parameters
    ----------
    clock : s; of works on one thread `time.process_time` counts only what they use themselves,
        which other programs do not disturb
    """
    best, spent = [float("inf")] * len(works), [0.0] * len(works)
    for work in works:  # touch the memory, fill the caches
        work()
    for turn in range(MOST):
        if turn >= REPETITIONS and min(spent) > SECONDS:
            break
        for k, work in enumerate(works):
            start = clock()
            work()
            took = clock() - start
            best[k], spent[k] = min(best[k], took), spent[k] + took
    return best


# The rows of a benchmark: each one a work of ours and one of pinocchio's on the same states.
#
# pinocchio's side is what its wheel offers from Python: ``rneaInParallel`` and ``abaInParallel``
# with one thread on arrays in its own order, ``crba`` and ``rnea`` once a state.

DIFFERENT = 2000
"""Different random states; larger batches repeat them."""
MATRIX_NUMBERS = 8_000_000
"""Entries in a batch of matrices: 64 MB, whatever the number of states."""
SINGLE_CALLS = 2000
"""Calls in one turn of a row that calls once a state."""

Call = Callable[[Array, Array, Array], object]


class BenchRows:
    """Kernels, states in both orders, and the rows to measure."""

    def __init__(self, model: Model, states: int, seed: int, joints: tuple[str, ...]) -> None:
        self.model, self.joints, self.count = model, joints, states
        if model.nv == 0:
            raise ModelError(
                f"{model.name!r} has no degrees of freedom: nothing to measure; try --floating"
            )
        q, v, a = random_states(model, min(states, DIFFERENT), np.random.default_rng(seed))
        twin: Twin = to_pinocchio(model)
        peer = twin.q(q), twin.v(q, v), twin.a(q, v, a)
        self.ours = tuple(np.resize(x, (states, x.shape[1])) for x in (q, v, a))
        # pinocchio wants a state a column: columns of contiguous memory are what it reads fastest
        self.peer = tuple(np.resize(x, (states, x.shape[1])).T for x in peer)
        self.twin = twin
        self.kernels: dict[Dynamics, Kernel] = {
            what: prepare(model, what)
            for what in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
        }
        self.solver = LoadSolver(model, LoadRequest.of(model, joints, open_tree=True))

    def rows(self) -> Iterator[tuple[str, Callable[[], Timing]]]:
        """Yield a title and the measuring of each row."""
        yield "inverse dynamics", self._inverse
        yield "forward dynamics", self._forward
        yield "mass matrix", self._mass
        yield "joint loads", self._loads
        yield "one state at a time", self._single
        yield "one state at a time, read and named", self._single_read

    def _inverse(self) -> Timing:
        kernel = self.kernels["inverse_dynamics"]
        out, tau = np.empty_like(self.ours[2]), np.empty_like(self.peer[2])
        return self._row(
            "inverse dynamics",
            partial(kernel, *self.ours, out=(out,)),
            "rneaInParallel",
            referee.rnea_in_parallel(self.twin, *self.peer, tau),
            lambda: (out, self._back(tau.T)),
        )

    def _forward(self) -> Timing:
        kernel = self.kernels["forward_dynamics"]
        out = tuple(np.empty((self.count, *shape)) for shape in kernel.shapes)
        a = np.empty_like(self.peer[2])
        return self._row(
            "forward dynamics",
            partial(kernel, *self.ours, out=out),
            "abaInParallel",
            referee.aba_in_parallel(self.twin, *self.peer, a),
            lambda: (out[0], self._back(a.T)),
        )

    def _mass(self) -> Timing:
        kernel, calls = self.kernels["mass_matrix"], min(self.count, SINGLE_CALLS)
        nv = self.model.nv
        count = min(self.count, max(1, MATRIX_NUMBERS // nv**2))
        out = np.empty((count, nv, nv))
        states = list(self.peer[0].T[:calls])
        ours = partial(kernel, self.ours[0][:count], out=(out,))
        best = in_turns([ours, referee.crba_each(self.twin, states)])
        apart, order = None, self.twin.order()
        if order is not None:
            other = referee.mass_matrix(self.twin, states[0])
            apart = float(np.abs(out[0][np.ix_(order, order)] - other).max() / np.abs(other).max())
        mine, others = best[0] / count, best[1] / calls
        return Timing("mass matrix", mine, "crba, a call a state", others, apart)

    def _loads(self) -> Timing:
        tau = np.empty_like(self.peer[2])
        return self._row(
            f"joint loads of {', '.join(self.joints)}: force, moment, actuation, new arrays",
            partial(self.solver, *self.ours),
            "rneaInParallel, torques only",
            referee.rnea_in_parallel(self.twin, *self.peer, tau),
        )

    def _single(self) -> Timing:
        return self._calls(
            f"one call from Python, prepared: loads of {', '.join(self.joints)}",
            self.solver.kernel.single().run,
            "rnea, data.f not read",
            referee.rnea_once(self.twin),
        )

    def _single_read(self) -> Timing:
        return self._calls(
            "one call from Python, checked and named: LoadSolver",
            self.solver,
            "rnea, then data.f of one joint",
            referee.rnea_and_load(self.twin, self.joints[0]),
        )

    def _calls(self, what: str, ours: Call, peer: str, theirs: Call) -> Timing:
        """Time calls with one state each."""
        calls = min(self.count, SINGLE_CALLS)
        sides = [(ours, self.ours), (theirs, [x.T for x in self.peer])]

        def work(call: Call, states: list[tuple[Array, Array, Array]]) -> None:
            for q, v, a in states:
                call(q, v, a)

        best = in_turns(
            [
                partial(work, call, list(zip(*(list(x[:calls]) for x in arrays), strict=True)))
                for call, arrays in sides
            ]
        )
        return Timing(what, best[0] / calls, peer, best[1] / calls)

    def _row(
        self,
        what: str,
        ours: Work,
        peer: str,
        theirs: Work,
        results: Callable[[], tuple[Array, Array | None]] | None = None,
    ) -> Timing:
        best = in_turns([ours, theirs])
        apart = None
        if results is not None:
            mine, others = results()
            if others is not None:
                apart = float(np.abs(mine - others).max() / np.abs(others).max())
        return Timing(what, best[0] / self.count, peer, best[1] / self.count, apart)

    def _back(self, values: Array) -> Array | None:
        """Return forces or accelerations of pinocchio in our order, None if that is not enough."""
        order = self.twin.order()
        if order is None:
            return None
        out = np.empty_like(values)
        out[:, order] = values
        return out


NO_DIFFERENCE = (
    "no difference is given: joints that <mimic> others, and planar joints, have other coordinates "
    "in pinocchio than here"
)
"""Said where the results of both sides are not the same numbers in another order."""

PACKAGES = ("numpy", "llvmlite", "pin")
COMPILED: tuple[Dynamics, ...] = ("inverse_dynamics", "forward_dynamics")
"""Kernels whose compilation is timed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """All rows, and what they were measured on.

    Attributes
    ----------
    mechanism, dof, states : its name, nv, and the states in a batch
    rows : batches and single calls, s a state
    compilations : s; the first ones without a cache, the last from it
    facts : processor, versions, threads, lanes, operations
    note : why a difference is not given, "" if all are
    """

    mechanism: str
    dof: int
    states: int
    rows: tuple[Timing, ...]
    compilations: tuple[Timing, ...]
    facts: dict[str, str]
    note: str = ""

    def compiled(self) -> Table:
        """Return how long compilations took."""
        times = Series(
            "", "ms", [1e3 * timing.ours for timing in self.compilations], shown="{:.1f}".format
        )
        return Table("compilations", Series("", "", [x.what for x in self.compilations]), [times])

    def measured_on(self) -> Table:
        """Return processor, versions and sizes."""
        return Table(
            "facts", Series("", "", [*self.facts]), [Series("", "", [*self.facts.values()])]
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain data, seconds everywhere."""
        out = asdict(self)
        for key in ("rows", "compilations"):
            for entry, row in zip(out[key], getattr(self, key), strict=True):
                entry["ratio"] = row.ratio
        return out


def bench(
    model: Model,
    *,
    states: int = 100_000,
    joints: Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    heard: Callable[[Timing], None] | None = None,
) -> Bench:
    """Measure our kernels and pinocchio's algorithms on one mechanism.

    Parameters
    ----------
    model : at least one degree of freedom
    states : in a batch
    joints : whose loads are asked for; None: the moving joint in the middle
    seed : of the random states
    progress : is told what comes next
    heard : is given each row as it comes
    """
    run = BenchRows(model, states, seed, tuple(joints) if joints else (_middle(model),))
    say = progress or (lambda text: None)
    rows = []
    for text, row in run.rows():
        say(text)
        rows.append(row())
        if heard is not None:
            heard(rows[-1])
    say("compiling")
    compilations = tuple(_compilations(model))
    note = "" if run.twin.order() is not None else NO_DIFFERENCE
    return Bench(model.name, model.nv, states, tuple(rows), compilations, _facts(run), note)


def _middle(model: Model) -> str:
    """Return the name of the moving joint in the middle of the list."""
    moving = [joint.name for joint in model.joints[1:] if joint.moving and joint.follows is None]
    return moving[len(moving) // 2] if moving else model.joints[0].name


def _compilations(model: Model) -> Iterator[Timing]:
    """Yield the times of compilations, without a cache and from one."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        for state in ("compile", "from the cache"):
            for what in COMPILED:
                start = time.perf_counter()
                prepare(model, what, cache=cache)
                took = time.perf_counter() - start
                yield Timing(f"{what.replace('_', ' ')}: {state}", took)


def _facts(run: BenchRows) -> dict[str, str]:
    """Return processor, versions and sizes."""
    facts = {"processor": _processor(), "python": platform.python_version()}
    facts |= versions(PACKAGES)
    facts["threads"] = "1 each"
    facts["lanes"] = str(run.solver.kernel.lanes)
    for what, kernel in run.kernels.items():
        facts[f"{what} operations"] = str(sum(kernel.counts.values()))
    return facts


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
