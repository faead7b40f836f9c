"""How fast our kernels are beside pinocchio: the same states, one process, one thread each.

Every row times both sides in turns and keeps the best of several repetitions of each, so that a
slow moment of the machine strikes neither alone. Where both sides give the same quantity, their
largest relative difference is given with the row: a benchmark of two different things is none.

pinocchio's side is what its wheel offers from Python: ``rneaInParallel`` and ``abaInParallel``
with one thread on arrays in its own order, ``crba`` and ``rnea`` once a state.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.bridges.pinocchio import Twin, to_pinocchio
from mbd_bridge.crosscheck.states import random_states
from mbd_bridge.errors import ModelError
from mbd_bridge.kernels import Cache, Kernel, compile_kernel
from mbd_bridge.loads import LoadSolver
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.solve import Dynamics, prepare
from mbd_bridge.solve.dynamics import traceable
from mbd_bridge.spatial import Array

DIFFERENT = 2000
"""Different random states; larger batches repeat them."""
REPETITIONS = 5
"""Turns that each side has at least."""
SECONDS = 0.5
"""Time after which a side has no more turns than it must have."""
MOST = 200
"""Turns that each side has at most."""
SINGLE_CALLS = 2000
"""Calls in one turn of a row that calls once a state."""

PACKAGES = ("mbd_bridge", "numpy", "llvmlite", "pin")

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


@dataclass(frozen=True, slots=True)
class Bench:
    """All rows, and what they were measured on.

    Attributes
    ----------
    mechanism, freedoms, states : its name, nv, and the states in a batch
    rows : batches and single calls, s a state
    compilations : s; the first ones without a cache, the last from it
    facts : processor, versions, threads, lanes, operations
    """

    mechanism: str
    freedoms: int
    states: int
    rows: tuple[Timing, ...]
    compilations: tuple[Timing, ...]
    facts: dict[str, str]

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
) -> Bench:
    """Measure our kernels and pinocchio's algorithms on one mechanism.

    Parameters
    ----------
    model : at least one freedom
    states : in a batch
    joints : whose loads are asked for; None: the moving joint in the middle
    seed : of the random states
    progress : is told what comes next
    """
    run = _Run(model, states, seed, tuple(joints) if joints else (_middle(model),))
    say = progress or (lambda text: None)
    rows = []
    for text, row in run.rows():
        say(text)
        rows.append(row())
    say("compiling")
    return Bench(
        model.name, model.nv, states, tuple(rows), tuple(_compilations(model)), _facts(run)
    )


def in_turns(works: Sequence[Work]) -> list[float]:
    """Return the best time of each work, s, measured in turns."""
    best, spent = [float("inf")] * len(works), [0.0] * len(works)
    for work in works:  # touch the memory, fill the caches
        work()
    for turn in range(MOST):
        if turn >= REPETITIONS and min(spent) > SECONDS:
            break
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            took = time.perf_counter() - start
            best[k], spent[k] = min(best[k], took), spent[k] + took
    return best


class _Run:
    """Kernels, states in both orders, and the rows to measure."""

    def __init__(self, model: Model, states: int, seed: int, joints: tuple[str, ...]) -> None:
        self.model, self.joints, self.count = model, joints, states
        if model.nv == 0:
            raise ModelError(f"{model.name!r} has no freedoms: nothing to measure; try --floating")
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
        self.solver = LoadSolver(model, joints)

    def rows(self) -> Iterator[tuple[str, Callable[[], Timing]]]:
        """Yield a title and the measuring of each row."""
        yield "inverse dynamics", self._inverse
        yield "forward dynamics", self._forward
        yield "mass matrix", self._mass
        yield "joint loads", self._loads
        yield "one state at a time", self._single

    def _inverse(self) -> Timing:
        import pinocchio as pin

        kernel, pool = self.kernels["inverse_dynamics"], pin.ModelPool(self.twin.model, 1)
        out, tau = np.empty_like(self.ours[2]), np.empty_like(self.peer[2])
        return self._row(
            "inverse dynamics",
            partial(kernel, *self.ours, out=(out,)),
            "rneaInParallel",
            partial(pin.rneaInParallel, 1, pool, *self.peer, tau),
            lambda: (out, self._back(tau.T)),
        )

    def _forward(self) -> Timing:
        import pinocchio as pin

        kernel, pool = self.kernels["forward_dynamics"], pin.ModelPool(self.twin.model, 1)
        out = tuple(np.empty((self.count, *shape)) for shape in kernel.shapes)
        a = np.empty_like(self.peer[2])
        return self._row(
            "forward dynamics",
            partial(kernel, *self.ours, out=out),
            "abaInParallel",
            partial(pin.abaInParallel, 1, pool, *self.peer, a),
            lambda: (out[0], self._back(a.T)),
        )

    def _mass(self) -> Timing:
        import pinocchio as pin

        kernel, calls = self.kernels["mass_matrix"], min(self.count, SINGLE_CALLS)
        out = np.empty((self.count, self.model.nv, self.model.nv))
        states, model, data = list(self.peer[0].T[:calls]), self.twin.model, self.twin.data

        def theirs() -> None:
            for q in states:
                pin.crba(model, data, q)

        ours = partial(kernel, self.ours[0], out=(out,))
        best = in_turns([ours, theirs])
        return Timing("mass matrix", best[0] / self.count, "crba, a call a state", best[1] / calls)

    def _loads(self) -> Timing:
        import pinocchio as pin

        pool, tau = pin.ModelPool(self.twin.model, 1), np.empty_like(self.peer[2])
        return self._row(
            f"joint loads of {', '.join(self.joints)}: force, moment, drive, new arrays",
            partial(self.solver, *self.ours),
            "rneaInParallel, torques only",
            partial(pin.rneaInParallel, 1, pool, *self.peer, tau),
        )

    def _single(self) -> Timing:
        import pinocchio as pin

        calls = min(self.count, SINGLE_CALLS)
        ours = list(zip(*(list(x[:calls]) for x in self.ours), strict=True))
        peer = list(zip(*(list(x.T[:calls]) for x in self.peer), strict=True))
        model, data = self.twin.model, self.twin.data
        call = self.solver.kernel.single().run

        def run_ours() -> None:
            for q, v, a in ours:
                call(q, v, a)

        def run_peer() -> None:
            for q, v, a in peer:
                pin.rnea(model, data, q, v, a)

        best = in_turns([run_ours, run_peer])
        return Timing(
            f"one call from Python: loads of {', '.join(self.joints)}",
            best[0] / calls,
            "rnea, data.f not read",
            best[1] / calls,
        )

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


def _middle(model: Model) -> str:
    """Return the name of the moving joint in the middle of the list."""
    moving = [joint.name for joint in model.joints[1:] if joint.moving and joint.follows is None]
    return moving[len(moving) // 2] if moving else model.joints[0].name


def _compilations(model: Model) -> Iterator[Timing]:
    """Yield the times of compilations, without a cache and from one."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        for state in ("compile", "from the cache"):
            for what in ("inverse_dynamics", "forward_dynamics"):
                start = time.perf_counter()
                wanted = traceable(model, what)
                compile_kernel(
                    wanted.function,
                    wanted.inputs,
                    outputs=wanted.outputs,
                    name=what,
                    identity=f"{digest(model)} {what}",
                    cache=cache,
                )
                took = time.perf_counter() - start
                yield Timing(f"{what.replace('_', ' ')}: {state}", took)


def _facts(run: _Run) -> dict[str, str]:
    """Return processor, versions and sizes."""
    facts = {"processor": _processor(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            from mbd_bridge import __version__

            facts[package] = __version__
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
