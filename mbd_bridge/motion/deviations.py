"""Errors of smoothed motions: on loops, which noise leaves open, and in what is computed from them.

Smoothed motions of machines with loops are moved onto these. Each state goes to the nearest one
that closes the loops: positions first, then velocities and accelerations with Φ_q v = 0 and
Φ_q v̇ = γ. The coordinates thereby share what is known of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.model import Model
from mbd_bridge.motion.smoothing import BAND, Channel, MotionUncertainty
from mbd_bridge.motion.smoothing.spline import at_times
from mbd_bridge.motion.warnings import MotionWarnings
from mbd_bridge.solve.assembly import held_ones, weighted
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import CONSISTENT

if TYPE_CHECKING:
    from mbd_bridge.motion.motion import Motion


Move = Callable[[Floats, Floats, Floats], tuple[Floats, ...]]
"""Returns states for states (N, n)."""
MOVED = "smoothed states are moved to the nearest ones that close the loops"
FITTED = "derived rates are moved to the nearest ones that fit the loops, where they are off"
MOVES = 1e-9
"""Way, relative to the scale of the velocities, from which on a state was moved."""
SURE = 0.1
"""Share of what loops may be off in given states to which derived rates fit them."""
DERIVED = 0.01
"""Error of derived rates, relative to the largest, that interpolation may leave."""
APART = 3.0
"""Ratio of the squares of the ways onto the loops to what errors explain from which on they are
systematic."""
HELD = 0.95
"""Share of the errors that a band holds."""
WINDOW, ROWS = 0.02, 1000
"""Share of a motion over which these squares are averaged, and the rows, at most, that count."""


class OntoLoops:
    """Moves states of a machine with loops onto these."""

    def __init__(self, model: Model) -> None:
        self._kernel = kernel = prepare(model, "constraints")

        def constraints(q: Floats, v: Floats, numbers: NDArray[np.intp]) -> tuple[Floats, ...]:
            return kernel(q, v)

        self._model, self._scale = model, weighted(model, None)
        held, self._choice = held_ones(model, ()), row_choice(model)
        self._closing = Closing(model, constraints, held, self._scale, self._choice)

    def __call__(self, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the nearest states (N, n) that close the loops."""
        q, _ = self._closing.position(np.array(q))
        return q, *self.rates(q, v, a)

    def rates(self, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        """Return the nearest velocities and accelerations (N, nv) that fit the loops."""
        _, phi_q, _ = self._kernel(q, v)
        v = self._closing.rates(phi_q, v)
        _, phi_q, gamma = self._kernel(q, v)
        return v, self._closing.rates(phi_q, a, gamma)

    def near(self, q: Floats, v: Floats, a: Floats) -> Move:
        """Return what moves states near to these (N, n), which close the loops, onto the loops.

        To first order: P = 1 - S B⁺ B S⁻¹ with B = Φ_q S, S the scale of the velocities. How the
        loops turn with a displacement of q does not enter, which is small beside the errors of
        the velocities themselves.
        """
        model, scale = self._model, self._scale
        _, phi_q, _ = self._kernel(q, v)
        B = phi_q * scale / model.row_scale[:, None]
        inside = np.linalg.pinv(B, rcond=model.rank_tolerance) @ B
        project = np.eye(model.nv) - scale[:, None] * inside / scale

        def moved_near(q_off: Floats, v_off: Floats, a_off: Floats) -> tuple[Floats, ...]:
            ways = difference(model, q, q_off), v_off - v, a_off - a
            first, second, third = (np.einsum("nij,nj->ni", project, way) for way in ways)
            return moved(model, q, first), v + second, a + third

        return moved_near

    def unclosed(self, q: Floats, v: Floats, a: Floats) -> NDArray[np.intp]:
        """Return the states (N, n) of which velocities or accelerations do not fit the loops."""
        model = self._model
        _, phi_q, gamma = self._kernel(q, v)
        left = np.stack([np.einsum("nij,nj->ni", phi_q, x) for x in (v, a)])
        left[1] -= gamma
        squares = [np.sum((x / self._scale) ** 2, axis=1) for x in (v, a)]
        squares[1] += np.sum((gamma / model.row_scale) ** 2, axis=1)
        relative = left / model.row_scale / np.sqrt(1.0 + np.stack(squares))[:, :, None]
        closed = [self._choice.closed(phi_q, part, SURE * CONSISTENT) for part in relative]
        return np.flatnonzero(~(closed[0] & closed[1]))

    def unexplained(self, motion: Motion, ways: Floats) -> Floats | None:
        """Return how far (3, N) loops move states more than their errors explain, or None.

        In each direction, relative to the scale of the velocities, for positions, velocities and
        accelerations. What is open across the loops is taken to be as large along them.

        Parameters
        ----------
        motion : with its uncertainty, before it was moved
        ways : (3, N, nv) by which it was moved
        """
        from scipy.ndimage import uniform_filter1d
        from scipy.special import stdtrit

        model, scale = self._model, self._scale
        some = slice(None, None, -(-len(motion.time) // ROWS))
        states = motion.time[some], motion.q[some], motion.v[some], motion.a[some]
        assert motion.uncertainty is not None
        stated = np.stack(motion.uncertainty.standard_deviations(*states)) / scale
        _, phi_q, _ = self._kernel(states[1], states[2])
        B = phi_q * scale / model.row_scale[:, None]
        across = np.linalg.pinv(B, rcond=model.rank_tolerance) @ B
        explained = np.einsum("knj,nij->kn", stated**2, across**2)
        squares = np.sum((ways[:, some] / scale) ** 2, axis=2)
        if np.mean(squares[0]) <= APART * np.mean(explained[0]):
            return None
        directions = np.maximum(np.einsum("nii->n", across), 1.0)
        width = max(1, round(WINDOW * squares.shape[1]))
        more = uniform_filter1d(np.maximum(squares - explained, 0.0) / directions, width, axis=1)
        few = (
            stdtrit(directions.mean(), 0.5 * (1.0 + HELD)) / BAND
        )  # Student: seen in few directions
        sizes = few * np.sqrt(np.maximum(more, 0.0))
        return np.array([np.interp(motion.time, states[0], size) for size in sizes])


def onto_loops(motion: Motion, warnings: MotionWarnings, derived: bool) -> Motion:
    """Return a motion on the loops of its model, if this has any and the motion is not exact.

    Where the loops move it by more than its errors explain (a joint that lags, a length that is
    wrong), nobody knows which coordinates are off: all have wider bands, and it is said.

    Parameters
    ----------
    warnings : takes in what was moved farther than expected
    derived : whether rates were; interpolation leaves accelerations that are off a little
    """
    model = motion.model
    if model is None or not model.has_loops:
        return motion
    onto = OntoLoops(model)
    if motion.uncertainty is None:
        return _rates_onto_loops(onto, motion, warnings) if derived else motion
    q, v, a = onto(motion.q, motion.v, motion.a)
    ways = np.stack([difference(model, motion.q, q), v - motion.v, a - motion.a])
    closed, off = replace(motion, q=q, v=v, a=a), onto.unexplained(motion, ways)
    if off is not None:
        sizes = off[:, :, None] * model.velocity_scale
        channels = tuple(
            one.widened(motion.time, sizes) if isinstance(one, Channel) else one
            for one in motion.uncertainty.channels
        )
        doubt = warnings.add_unclosed(np.abs(ways[0]).max(axis=0))
        noise = motion.noise and replace(motion.noise, doubts=(*motion.noise.doubts, doubt))
        said = (*motion.assumed, Assumption("smoothing", doubt))
        uncertainty = MotionUncertainty(channels)
        closed = replace(closed, uncertainty=uncertainty, noise=noise, assumed=said)
    if not np.any(np.abs(ways / model.velocity_scale) > MOVES):
        return closed
    assumed = (*closed.assumed, Assumption("smoothing", MOVED))
    return replace(closed, notes=(*motion.notes, MOVED), assumed=assumed)


def _rates_onto_loops(onto: OntoLoops, motion: Motion, warnings: MotionWarnings) -> Motion:
    """Return an exact motion with rates that fit the loops, where these are nearly fitted."""
    rows = onto.unclosed(motion.q, motion.v, motion.a)
    if not len(rows):
        return motion
    v, a = onto.rates(motion.q[rows], motion.v[rows], motion.a[rows])
    shares = [
        float(np.abs(new - old[rows]).max() / max(np.abs(old).max(), np.finfo(float).tiny))
        for new, old in ((v, motion.v), (a, motion.a))
    ]
    if max(shares) > DERIVED:  # no error of an interpolation: loads along it are refused
        return motion
    warnings.add_moved_rates(len(rows), max(shares))
    closed = np.array(motion.v), np.array(motion.a)
    for whole, part in zip(closed, (v, a), strict=True):
        whole[rows] = part
    assumed = (*motion.assumed, Assumption("rates", FITTED))
    return replace(motion, v=closed[0], a=closed[1], assumed=assumed)


# What the noise of a recorded motion leaves open in whatever is computed from it.
#
# The errors of different degrees of freedom are independent, those of position, velocity and
# acceleration of one are not: their covariance is R Rᵀ (`smoothing.Channel`). Each
# column r of R is a direction in which the states may be off by one standard deviation, and
#
#     var(y) = Σ (y(states + r) - y(states - r))² / 4
#
# over the columns of all degrees of freedom: linear propagation, with differences as wide as the
# errors are. What is linear in accelerations needs one side only for columns of nothing else.

States = tuple[Floats, Floats, Floats]
Results = TypeVar("Results")

LOOP_ROWS = 1000
"""Rows of a motion, at most, at which the uncertainty of results in loops is computed; between them
it is linear. Closing loops takes a hundred times as long as the loads of a tree."""


class Displacement(NamedTuple):
    """States q, v, a (N, n) moved one standard deviation ahead and behind along one direction.

    `behind` is None where only accelerations are moved: what is linear in these changes as much.
    """

    ahead: States
    behind: States | None

    @property
    def scale(self) -> float:
        """By which a difference counts; from the motion's own results where `behind` is None."""
        return 1.0 if self.behind is None else 0.5


def displacements(motion: Motion) -> Iterator[Displacement]:
    """Yield the directions in which a motion may be off; nothing where it is taken as exact."""
    states = motion.q, motion.v, motion.a
    for channel in () if motion.uncertainty is None else motion.uncertainty.channels:
        roots = channel.roots(motion.time)
        for column in range(3):
            way = roots[:, :, column]
            back = None if column == 2 else channel.displaced(motion.time, *states, -way)
            yield Displacement(channel.displaced(motion.time, *states, way), back)


def is_uncertain(motion: Motion) -> bool:
    """Return whether something is known of a motion's errors."""
    return motion.uncertainty is not None and bool(motion.uncertainty.channels)


def noise_deviations(
    motion: Motion,
    closed: Model | None,
    answer: Callable[[Motion], Results],
    numbers: Callable[[Results], Callable[[Results], Sequence[Floats]]],
    base: Results,
) -> tuple[Floats, ...] | None:
    """Return the standard deviations of results along a motion; None: it is exact.

    Parameters
    ----------
    closed : the machine whose loops the displaced states close; None: they need not
    answer : gives the results along motions like this one
    numbers : of the results themselves, gives what makes arrays (N, ...) of others
    base : the results along the motion
    """
    if not is_uncertain(motion):
        return None
    step = 1 if closed is None else -(-len(motion.time) // LOOP_ROWS)
    part = motion if step == 1 else motion.part(slice(None, None, step))
    onto = None if closed is None else OntoLoops(closed).near(part.q, part.v, part.a)

    def at(states: States) -> Sequence[Floats]:
        q, v, a = states if onto is None else onto(*states)
        return of(answer(replace(part, q=q, v=v, a=a)))

    own = base if step == 1 else answer(part)
    of = numbers(own)
    there = of(own)
    total = [np.zeros_like(one) for one in there]
    for way in displacements(part):
        pair = at(way.ahead), there if way.behind is None else at(way.behind)
        for squares, ahead, behind in zip(total, *pair, strict=True):
            change = ahead - behind
            change *= way.scale
            change *= change
            squares += change
    known = tuple(np.sqrt(squares, out=squares) for squares in total)
    return known if step == 1 else tuple(at_times(motion.time, part.time, one) for one in known)
