"""Events of a motion: times at which a function of time and state changes its sign.

Between records the sign is looked for by bisection on the dense output, so that a time is as good
as `interpolation` is. A function that changes its sign twice between two records goes unseen:
record more often.
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TypeAlias

import numpy as np

from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Array

Watch: TypeAlias = Callable[[float, Array, Array], float]
"""g(t, q, v): an event is where it changes its sign. What touches zero has no event; nor has what
starts there, or goes on from there after an action, until it crosses zero later.

With an attribute ``terminal = True`` the motion ends at the first one. With an attribute
``action``, a function (t, q, v) -> (q, v), it goes on from the state that this returns; of several
at one time, in the order in which they are given, each takes what the one before it returned.
``direction = 1`` or -1: only where it grows, or falls."""

EXAMPLE = "{'top': lambda t, q, v: v[0]}"

HALVINGS = 60
"""Of the time between two records: to the last digit."""


@dataclass(frozen=True, eq=False)
class Events:
    """Where one function changed its sign.

    Attributes
    ----------
    time : (E,) s
    q, v : (E, nq), (E, nv)
    rising : (E,) whether the function grew
    """

    time: Array
    q: Array
    v: Array
    rising: Array

    def __len__(self) -> int:
        return len(self.time)

    def until(self, end: float) -> Events:
        """Return the events up to a time."""
        kept = self.time <= end
        return Events(self.time[kept], self.q[kept], self.v[kept], self.rising[kept])


def check_watches(name: str, watches: Mapping[str, Watch] | None) -> Mapping[str, Watch]:
    """Return functions by name; `name` is the argument that they are given as."""
    for key, watch in by_name(name, watches, EXAMPLE).items():
        if not callable(watch):
            raise StateError(
                f"{name}[{key!r}]: expected a function of (t, q, v), got {watch!r:.60}"
            )
        with contextlib.suppress(ValueError):  # some functions written in C tell no arguments
            try:
                signature(watch).bind(0.0, None, None)
            except TypeError as error:
                raise StateError(
                    f"{name}[{key!r}]: expected a function of (t, q, v): {error}"
                ) from None
        direction_of(watch, f"{name}[{key!r}]")
    return watches or {}


def crossings(
    name: str,
    watch: Watch,
    time: Array,
    q: Array,
    v: Array,
    state: Callable[[float], tuple[Array, Array, Array]],
    leaves_zero: bool = False,
) -> Events:
    """Return the events of one function along a motion.

    Parameters
    ----------
    state : dense output
    leaves_zero : the motion begins at an event of it, where its sign is one of rounding
    """
    returned = [value_of(watch, name, t, *at) for t, *at in zip(time, q, v, strict=True)]
    signs = np.sign(np.array(returned))
    signs[:1] *= not leaves_zero
    times, rising = [], []
    there = np.flatnonzero(signs)  # a zero on the way belongs to the change around it
    for a, b in zip(there[:-1].tolist(), there[1:].tolist(), strict=True):
        if signs[a] == signs[b] or direction_of(watch) * signs[b] < 0.0:
            continue
        if b > a + 1:
            times.append(float(time[a + 1]))
        else:
            times.append(_bisect(watch, state, float(time[a]), float(time[b]), signs[a]))
        rising.append(signs[b] > 0.0)
    found = [state(t) for t in times]
    return Events(
        np.array(times),
        np.array([at[0] for at in found]).reshape(-1, q.shape[1]),
        np.array([at[1] for at in found]).reshape(-1, v.shape[1]),
        np.array(rising, dtype=bool),
    )


def value_of(watch: Watch, name: str, time: float, q: Array, v: Array) -> float:
    """Return what a function says of a record, one finite number; the record stays as it is."""
    returned = watch(time, q.copy(), v.copy())
    try:
        value = float(returned)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise StateError(
            f"event {name!r}: expected one finite number at t = {time:.6g} s, got {returned!r:.60}"
        )
    return value


def is_terminal(watch: Watch) -> bool:
    """Return whether the motion ends at the first event."""
    return bool(getattr(watch, "terminal", False))


def direction_of(watch: Watch, name: str = "event") -> float:
    """Return 1 for events at which the function grows only, -1 where it falls, 0 for all."""
    direction = getattr(watch, "direction", 0.0)
    if not isinstance(direction, numbers.Real) or direction not in (-1, 0, 1):
        raise StateError(f"{name}: direction: expected 1, -1 or 0, got {direction!r:.60}")
    return float(direction)


def first_end(events: Mapping[str, Events], watches: Mapping[str, Watch]) -> float:
    """Return the time of the first of these events, infinity if there is none."""
    ends = [events[name].time[0] for name in watches if len(events[name])]
    return float(min(ends, default=np.inf))


def _bisect(
    watch: Watch,
    state: Callable[[float], tuple[Array, Array, Array]],
    before: float,
    after: float,
    sign: float,
) -> float:
    for _ in range(HALVINGS):
        middle = 0.5 * (before + after)
        if not before < middle < after:
            break
        q, v, _ = state(middle)
        if np.sign(watch(middle, q, v)) == sign:
            before = middle
        else:
            after = middle
    return after
