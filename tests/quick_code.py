"""Machine code made at LLVM's lowest level, in a third of the time, where a test does not time it.

LLVM may not reorder our arithmetic at any level, so the digits are those of the code that users
run: `tests/kernels/test_levels.py` shows it, to the last bit. The folders in `AS_SHIPPED` run that
code itself, as does every process that a test starts.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from mbd_bridge.kernels import machine

AS_SHIPPED = {"benchmarks", "cli", "docs", "fmu", "kernels", "oracles", "real_time"}
"""Folders of tests whose kernels are compiled as a user's: they are about code, speed and files."""

LEVEL = 0
"""LLVM's level that orders nothing, combines nothing and chooses registers by their first use."""

_shipped_host, _shipped_level = machine.host, machine.level


@contextlib.contextmanager
def quick_code() -> Iterator[None]:
    """Compile at `LEVEL`, and keep that code apart from what is compiled as shipped."""
    host = _shipped_host()
    quick = dataclasses.replace(host, compiler=f"{host.compiler} level {LEVEL}")
    machine.host, machine.level = lambda: quick, lambda text: LEVEL
    try:
        yield
    finally:
        machine.host, machine.level = _shipped_host, _shipped_level


def code_for(test: Path, root: Path) -> contextlib.AbstractContextManager[None]:
    """Return the context in which the tests of a file run."""
    folder = test.relative_to(root / "tests").parts[0]
    return contextlib.nullcontext() if folder in AS_SHIPPED else quick_code()
