"""Tables of times and values: how they may look, and which times they cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.arguments import as_floats, check_steps
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Array

JUMP = 64 * np.finfo(np.float64).eps
"""How long a jump takes, relative to the largest time: some roundings of times."""

FEWEST = 4
"""Rows that a cubic spline needs."""


def table_rows(
    where: str,
    given: tuple[Any, ...],
    fewest: int,
    size: int = 1,
    jumps: bool = False,
) -> tuple[Array, Array]:
    """Return times (n,) and values (n, N, size), checked.

    Parameters
    ----------
    given : (times, values), values (n,) for all trajectories or (N, n); with a size of more than
        one (n, size) or (N, n, size)
    jumps : a time may stand twice: there the values jump, from one row to the next
    """
    if len(given) != 2:
        raise StateError(f"{where}: a table is (times, values), got {len(given)} parts")
    times, values = given
    t, x = as_floats(f"{where}: times", times), as_floats(f"{where}: values", values)
    shape = x.shape
    wide = x[..., None] if size == 1 else x
    if wide.ndim == 2:
        wide = wide[None]
    if t.ndim != 1 or len(t) < fewest or wide.ndim != 3 or wide.shape[1:] != (len(t), size):
        rows = "(n,) or (N, n)" if size == 1 else f"(n, {size}) or (N, n, {size})"
        raise StateError(
            f"{where}: a table is (times, values) with {fewest} rows or more, times (n,), values "
            f"{rows}; got {t.shape} and {shape}"
        )
    if not wide.size:
        raise StateError(f"{where}: expected at least one trajectory, got none")
    if jumps:
        t = _apart(t)
    if not (np.isfinite(t).all() and np.isfinite(x).all() and (np.diff(t) > 0.0).all()):
        twice = " (a time that stands twice is a jump)" if jumps else ""
        raise StateError(f"{where}: times must grow{twice}, times and values be finite")
    try:
        check_steps(t)
    except StateError as error:
        raise StateError(f"{where}: {error}") from None
    return t, np.ascontiguousarray(wide.transpose(1, 0, 2))


def _apart(t: Array) -> Array:
    """Return times of which those that stand twice are a few roundings apart."""
    again = np.flatnonzero(np.diff(t) == 0.0) + 1
    if len(again):
        t = t.copy()
        t[again] += JUMP * max(float(np.abs(t).max()), 1e-300)
    return t


def check_covers(where: str, first: float, last: float, start: float, end: float) -> None:
    """Complain about a table from `first` to `last` that does not reach over a simulation."""
    slack = 1e-9 * max(1.0, abs(start), abs(end))
    if first > start + slack or last < end - slack:
        raise StateError(
            f"{where}: the table goes from {first:g} to {last:g} s, the simulation from "
            f"{start:g} to {end:g} s"
            if start < end
            else f"{where}: the table goes from {first:g} to {last:g} s and is asked for "
            f"t = {start:g} s. Give a longer one, or stop before"
        )
