"""First answers: modules, operations, and seconds of tracing, ordering, text and LLVM.

Seconds of the processor, nothing else running or not; from nothing (a new cache), then from that
cache in the same process.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import mbd_bridge as mbd
from mbd_bridge.kernels import cache, compile as batch, instructions, kernel, machine, march
from mbd_bridge.kernels.ops import ROUTINE_CALLS
from tests.benchmarks.dof import chain
from tests.benchmarks.planar import spent
from tests.machines import four_bar, n_four_bar


@dataclass
class Work:
    """What was done for a first answer.

    Attributes
    ----------
    modules : pieces of machine code that LLVM made
    operations : traced, each routine once
    code : bytes of machine code
    trace, order, text, llvm, total : s
    """

    modules: int = 0
    operations: int = 0
    code: int = 0
    trace: float = 0.0
    order: float = 0.0
    text: float = 0.0
    llvm: float = 0.0
    total: float = 0.0


def traced_operations(graph: Any) -> int:
    """Return the operations of a graph, those of each routine once."""
    routines = {id(node[-1]): node[-1].graph for node in graph.nodes if node[0] in ROUTINE_CALLS}
    return len(graph.nodes) + sum(len(one.nodes) for one in routines.values())


@contextlib.contextmanager
def measured() -> Iterator[Work]:
    """Count and time what is compiled in the meantime."""
    work = Work()

    def timed(place: Any, name: str, what: str) -> Any:
        plain = getattr(place, name)

        def instead(*arguments: Any, **options: Any) -> Any:
            start = spent()
            result = plain(*arguments, **options)
            setattr(work, what, getattr(work, what) + spent() - start)
            if what == "llvm":
                work.modules += 1
                work.code += len(result)
            if what == "trace":
                work.operations += traced_operations(result)
            return result

        return mock.patch.object(place, name, instead)

    with contextlib.ExitStack() as stack:
        for place, name, what in (
            (instructions, "trace", "trace"),
            (instructions, "lower", "order"),
            (instructions, "depth_first", "order"),
            (march, "by_time", "order"),
            (batch, "batch_module", "text"),
            (march, "march_module", "text"),
            (kernel, "single_module", "text"),
            (machine, "emit", "llvm"),
        ):
            stack.enter_context(timed(place, name, what))
        start = spent()
        yield work
        work.total = spent() - start


def first(answer: Callable[[], Any]) -> Work:
    """Return the work of an answer in a process that remembers no machine code."""
    with mock.patch.object(cache, "_RECENT", {}), measured() as work:
        answer()
    return work


def simulated(machine_of: Callable[[], mbd.Mechanism], **options: Any) -> Callable[[], Any]:
    """Return what simulates a machine, built anew, for three steps."""

    def answer() -> Any:
        robot = machine_of()
        return robot.simulate(3e-3, step=1e-3, check=False, **options)

    return answer


def forty_four_bars() -> Any:
    """Simulate a row of four-bars from upright cranks that turn, the bars level."""
    row = n_four_bar(40)
    turning = [1.0 if name.startswith("crank") else -1.0 for name in row.model.velocity_names]
    return row.simulate(3e-3, step=1e-3, v=turning, check=False)


ANSWERS: dict[str, Callable[[], Any]] = {
    "simulate a four-bar": simulated(four_bar),
    "the same with loads": simulated(four_bar, loads=["crank", "pin"]),
    "simulate stewart.urdf": simulated(lambda: mbd.load("urdf/stewart.urdf")),
    "simulate 40 four-bars": forty_four_bars,
    "M of a chain of 120": lambda: mbd.Mechanism(chain(120)).compile("mass_matrix"),
}
"""First answers by name."""


def run() -> list[dict[str, Any]]:
    """Print the table."""
    rows = []
    machine.host()
    print(f"{'':24s} modules operations  MB code   trace   order    text    LLVM     all  cached")
    for name, answer in ANSWERS.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, MBD_BRIDGE_CACHE=folder),
        ):
            cold, again = (first(answer) for _ in range(2))
        row = {"answer": name, **asdict(cold), "cached": again.total}
        rows.append(row)
        print(
            f"{name:24s} {cold.modules:7d} {cold.operations:10d} {cold.code / 1e6:8.3f} "
            f"{cold.trace:7.3f} {cold.order:7.3f} {cold.text:7.3f} {cold.llvm:7.3f} "
            f"{cold.total:7.3f} {again.total:7.3f}",
            flush=True,
        )
    return rows
