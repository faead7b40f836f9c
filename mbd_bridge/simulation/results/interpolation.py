"""A motion between its records: dense output.

    q   the quintic that has q, q̇ and q̈ of both records
    v   its derivative where q̇ = v; elsewhere (quaternions) the cubic that has v and a of both
    a   the derivative of v

With records Δ apart q is off by O(Δ⁶), v by O(Δ⁵) (O(Δ⁴) for the velocities of quaternions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.signals.prescribed import plain_places
from mbd_bridge.simulation.steps.runge_kutta import normalised
from mbd_bridge.simulation.steps.trusted_step import Now

QUINTIC = np.linalg.inv(
    np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
            [0, 0, 2, 0, 0, 0],
            [1, 1, 1, 1, 1, 1],
            [0, 1, 2, 3, 4, 5],
            [0, 0, 2, 6, 12, 20],
        ],
        dtype=np.float64,
    )
)
"""From x, x', x'' at s = 0 and at s = 1 to the coefficients of s⁰ ... s⁵."""

CUBIC = np.linalg.inv(
    np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 1, 2, 3]], dtype=np.float64)
)
"""From x, x' at s = 0 and at s = 1 to the coefficients of s⁰ ... s³."""

DIFFERENCE = 1e-5
"""s; step of the difference that gives q̈ of quaternions: their rates are quadratic in q and v, so
that only rounding is left, 1e-11."""


class State(NamedTuple):
    """A state of a motion: q (nq,), v (nv,), a (nv,)."""

    q: Array
    v: Array
    a: Array


class Between:
    """The polynomials between two records of a motion."""

    def __init__(self, model: Model, start: State, end: State, length: Any) -> None:
        self.model, self._length = model, length
        dq0, ddq0 = _rates(model, start)
        dq1, ddq1 = _rates(model, end)
        h = length
        self._q = np.array([start.q, h * dq0, h * h * ddq0, end.q, h * dq1, h * h * ddq1])
        self._v = np.array([start.v, h * start.a, end.v, h * end.a])
        places = plain_places(model).values()
        self._plain_q = [q for q, _ in places]
        self._plain_v = [v for _, v in places]

    def at(self, passed: Any) -> State:
        """Return the state `passed` seconds after the first record."""
        h, s = self._length, passed / self._length
        share, rate, bend = (powers @ QUINTIC for powers in _powers(s, 6))
        q, dq, ddq = share @ self._q, rate @ self._q / h, bend @ self._q / h**2
        share, rate, _ = (powers @ CUBIC for powers in _powers(s, 4))
        v, a = share @ self._v, rate @ self._v / h
        v[self._plain_v], a[self._plain_v] = dq[self._plain_q], ddq[self._plain_q]
        return State(normalised(self.model, q), v, a)


def _powers(s: Any, count: int) -> tuple[Array, Array, Array]:
    """Return s^k and its derivatives."""
    k, powers = np.arange(count), np.array([1.0, *[s] * (count - 1)])
    powers = np.multiply.accumulate(powers)
    first = np.append(0.0, k[1:] * powers[:-1])
    second = np.append([0.0, 0.0], k[2:] * (k[2:] - 1) * powers[:-2])
    return powers, first, second


def _rates(model: Model, at: State) -> tuple[Array, Array]:
    """Return q̇ and q̈."""
    if model.nq == model.nv:
        return at.v, at.a
    dq = coordinate_rates(model, at.q, at.v)
    d = DIFFERENCE
    ahead = coordinate_rates(model, at.q + d * dq, at.v + d * at.a)
    behind = coordinate_rates(model, at.q - d * dq, at.v - d * at.a)
    return dq, (ahead - behind) / (2 * d)


class Bridge:
    """The way from one state to another, across what lies between."""

    def __init__(
        self,
        model: Model,
        start: Now,
        first: Array,
        end: Now,
        last: Array,
        rates: Callable[[Now], Array] | None = None,
    ) -> None:
        self.start, self.end = start, end
        self._rates = None if rates is None else (rates(start), rates(end))
        ends = State(start.q, start.v, first), State(end.q, end.v, last)
        self._between = Between(model, *ends, end.t - start.t)

    def at(self, time: float) -> Now:
        """Return the state at a time between."""
        if time >= self.end.t:
            return self.end._replace(t=time)
        found = self._between.at(time - self.start.t)
        return Now(time, found.q, found.v, self._carried(time))

    def _carried(self, time: float) -> Array:
        """Return the cubics of states of force elements, straight lines of what else is carried."""
        one, two = self.start.carried, self.end.carried
        length = self.end.t - self.start.t
        s = (time - self.start.t) / length
        out = np.asarray(one + s * (two - one))
        if self._rates is not None:
            first, last = self._rates
            nz = len(first)
            out[:nz] = cubic(one[:nz], first, two[:nz], last, length, s)
        return out


def cubic(one: Array, first: Array, two: Array, last: Array, length: Any, s: Any) -> Array:
    """Return the cubic through two values with their rates, at the part s of the length."""
    ends = np.array([one, length * first, two, length * last])
    return np.asarray(_powers(s, 4)[0] @ CUBIC @ ends)


def between(
    rates: Callable[[Now], Array], times: Array, q: Array, v: Array, z: Array, time: float
) -> Array:
    """Return states z (nz,) of force elements between records, by the cubic of z and ż of both.

    Parameters
    ----------
    rates : ż of a state
    times, q, v, z : of the records
    """
    k = int(np.clip(np.searchsorted(times, time, "right") - 1, 0, max(0, len(times) - 2)))
    if not z.shape[1] or time == times[k]:
        return np.asarray(z[k].copy())
    one, two = (Now(float(times[j]), q[j], v[j], z[j]) for j in (k, k + 1))
    length = two.t - one.t
    part = (time - one.t) / length
    return cubic(one.carried, rates(one), two.carried, rates(two), length, part)
