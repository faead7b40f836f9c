"""Tables of times and values: how they may look, what they give, and where steps must end.

A Runge-Kutta step over a jump of the force is of the first order only. Two steps, one up to the
jump and one from it on, are of the fourth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class PolynomialSignal:
    """Pieces of polynomials between times.

    Attributes
    ----------
    times : (n,) s
    pieces : (d + 1, n - 1, N or 1, size), highest power first
    """

    times: Array
    pieces: Array

    @property
    def number(self) -> int:
        """N, or 1."""
        return int(self.pieces.shape[2])

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time of the table, s."""
        return float(self.times[0]), float(self.times[-1])

    @staticmethod
    def spline(where: str, given: tuple[Any, ...]) -> PolynomialSignal:
        """Return cubic splines (continuous f, f', f''), as prescribed motions take."""
        from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

        t, x = table_rows(where, given, FEWEST)
        return PolynomialSignal(t, np.asarray(CubicSpline(t, x).c))

    @staticmethod
    def lines(where: str, given: tuple[Any, ...], size: int = 1) -> PolynomialSignal:
        """Return straight lines from row to row, as forces take."""
        t, x = table_rows(where, given, 2, size, jumps=True)
        return PolynomialSignal(
            t, np.stack([np.diff(x, axis=0) / np.diff(t)[:, None, None], x[:-1]])
        )

    def at(self, time: Array, members: Array, orders: int = 0) -> list[Array]:
        """Return the value and its first derivatives, (T, L, size) each, or (T, 1, size) for all.

        Parameters
        ----------
        time : (T,) s
        members : (L,) numbers of trajectories
        """
        c = self.pieces if self.number == 1 else self.pieces[:, :, members]
        piece = np.clip(np.searchsorted(self.times, time, "right") - 1, 0, c.shape[1] - 1)
        u = (time - self.times[piece])[:, None, None]
        found = []
        for order in range(orders + 1):
            powers = range(len(c) - 1, order - 1, -1)
            factors = [float(np.prod(range(p - order + 1, p + 1))) for p in powers]
            total: Any = 0.0
            for row, factor in zip(c, factors, strict=False):
                total = total * u + (factor * row).take(piece, axis=0)
            found.append(np.broadcast_to(total, (len(time), *c.shape[2:])))
        return found


SHARP = 1e-2
"""Of a step: a piece of a table that is shorter is a jump."""


ON_GRID = 1e-6
"""Of a step: a bend so near to the end of a step costs it nothing."""


STRAIGHT = 1e-12
"""Change of force over a step, relative to the table's largest, that is no bend."""


ALL = 2**62
"""More steps than there are."""


def on_grid(time: Any, start: float, h: float) -> Any:
    """Return whether times are ends of steps of h from `start`."""
    phase = (time - start) / h
    return abs(phase - np.round(phase)) <= ON_GRID


@dataclass(frozen=True, eq=False)
class Knots:
    """Times, growing, at which steps have to end.

    Attributes
    ----------
    times : (n,) s
    sharp : (n,) whether it is where a jump begins or ends; steps that control their own error mind
        no other
    """

    times: Array
    sharp: Array

    @staticmethod
    def of(tables: Iterable[PolynomialSignal], start: float, h: float) -> Knots:
        """Return those of tables of forces, for steps of h from `start`."""
        found: dict[float, bool] = {}
        for table in tables:
            times, lengths = table.times, np.diff(table.times)
            slope, values = table.pieces.reshape(*table.pieces.shape[:2], -1).transpose(0, 2, 1)
            rise = np.abs(slope * lengths)
            largest = max(float(np.abs(values).max()), float(rise.max()), 1e-300)
            moved = (rise > STRAIGHT * largest).any(axis=0)
            jump = (lengths < SHARP * h) & moved
            sharp = jump[:-1] | jump[1:]
            bent = (np.abs(np.diff(slope)) * h > STRAIGHT * largest).any(axis=0)
            bent &= ~on_grid(times[1:-1], start, h)
            for time, hard in zip(times[1:-1][sharp | bent], sharp[sharp | bent], strict=True):
                found[float(time)] = found.get(float(time), False) or bool(hard)
        order = sorted(found)
        return Knots(np.array(order), np.array([found[time] for time in order], dtype=bool))

    def within(self, start: float, end: float, sharp: bool = False) -> list[float]:
        """Return the times between two others; with `sharp` those of jumps only."""
        if not len(self.times):
            return []
        inside = (self.times > start) & (self.times < end)
        return [float(time) for time in self.times[inside & self.sharp if sharp else inside]]

    @property
    def jumps(self) -> Knots:
        """Those of jumps: steps of the second order need not end at bends."""
        return Knots(self.times[self.sharp], self.sharp[self.sharp])

    def at(self, time: float, h: float) -> bool:
        """Return whether one of them is at a time, on a grid of h seconds."""
        return bool((np.abs(self.times - time) <= ON_GRID * h).any())

    def jump_after(self, time: float) -> float:
        """Return the next time at which a jump begins or ends, inf if there is none."""
        if not len(self.times):
            return np.inf
        later = self.times[self.sharp & (self.times > time)]
        return float(later[0]) if len(later) else np.inf

    def steps_before(self, time: float, h: float) -> int:
        """Return how many steps of h, at least, end before the next of them."""
        next_one = int(np.searchsorted(self.times, time, "right")) if len(self.times) else 0
        if next_one == len(self.times):
            return ALL
        return max(0, int((float(self.times[next_one]) - time) / h - ON_GRID))


NO_KNOTS = Knots(np.zeros(0), np.zeros(0, dtype=bool))


def length_to(start: float, end: float) -> float:
    """Return the length h of a step for which start + h, rounded, is not beyond the end."""
    h = end - start
    while start + h > end:
        h = float(np.nextafter(h, -np.inf))
    return h
