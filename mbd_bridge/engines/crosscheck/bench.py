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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mbd_bridge.base.table import Series, Table
from mbd_bridge.engines.crosscheck.bench_rows import BenchRows
from mbd_bridge.engines.crosscheck.timing import Timing
from mbd_bridge.kernels import Cache
from mbd_bridge.model import Model
from mbd_bridge.solve import Dynamics
from mbd_bridge.solve.dynamics import prepare

NO_DIFFERENCE = (
    "no difference is given: joints that <mimic> others, and planar joints, have other coordinates "
    "in pinocchio than here"
)
"""Said where the results of both sides are not the same numbers in another order."""

PACKAGES = ("mbd_bridge", "numpy", "llvmlite", "pin")
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
            "", "ms", [1e3 * one.ours for one in self.compilations], shown="{:.1f}".format
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
