"""Whether a motion keeps its energy: what it has more than at the start is the work done on it.

    E(t) - E(0) = W(t) = ∫ v·τ - λ_d·v_d dt

with the forces τ and the forces of prescribed motions -λ_d, summed up by the steps themselves. What
is left is the error of the steps; a motion that is off by more than `LOST_ENERGY` is none.

A start may be given with lost digits, and redundant rows are as open as a file's rounded numbers
leave them: putting such a state onto its loops lifts the machine a little, which no force did.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.known import once_a_model
from mbd_bridge.simulate.checks.diagnosis import step_too_long
from mbd_bridge.simulate.checks.watch import spread
from mbd_bridge.simulate.results.energy import energy_kernel
from mbd_bridge.simulate.rows import LoopChecker
from mbd_bridge.simulate.run.problem import Records
from mbd_bridge.solve.tolerances import LOST_ENERGY
from mbd_bridge.spatial import Array, Inertia

LOOKS = 500
"""Records that are looked at, if there are more."""

FEW = 6
"""Records of a trajectory of a batch that are looked at: what seems wrong is run again alone."""

EACH = 20
"""Steps between two looks at the energy, where steps are taken one by one."""

REST = 1e-10
"""Energy that is no motion, relative to what lifting the machine by its own size takes."""

SLANTED = 10.0
"""How much further a projection may move a machine than the shortest way onto its loops."""

STILL = 1e-8
"""1/s: a machine that moves by so many of its sizes a second, or rad, is at rest."""


Energy = Callable[[Array, Array], tuple[Array, Array]]
"""Of motions at records q, v (N, K, ...): their energy (N, K) and its potential part, J."""


def unbalanced(
    model: Model, found: Records, h: float, damped: bool = False
) -> tuple[float, tuple[int, str] | None]:
    """Return the largest relative imbalance, and the record from which on it is too large.

    The second result has the last record that is good, and what is to be said.

    Parameters
    ----------
    damped : whether the integrator takes energy away by itself: only what it adds is counted
    """
    if found.work is None or len(found.time) < 2:
        return 0.0, None
    looks = spread(len(found.time), LOOKS)
    energy = energies(model, found, looks)
    imbalance, scale = _imbalance(*energy, found.work[looks])
    nothing = no_motion(model)
    if not nothing or not scale > nothing:  # nothing has inertia, or nothing moves
        return 0.0, None
    if damped:
        imbalance = np.maximum(imbalance, 0.0)
    with np.errstate(invalid="ignore"):  # energies beyond all numbers: nan is bad
        part = np.abs(imbalance) / scale
    bad = np.flatnonzero(~(part <= LOST_ENERGY))
    if len(bad) and model.has_loops:
        part = np.maximum(np.abs(imbalance) - lifted(model, found.q[looks]), 0.0) / scale
        bad = np.flatnonzero(~(part <= LOST_ENERGY))
    if not len(bad):
        return float(part.max()), None
    first = bad[0]
    return float(part[first]), (
        int(looks[max(0, first - 1)]),
        _from_nowhere(imbalance[first], scale, f"by t = {found.time[looks[first]]:.6g} s", h),
    )


def keep_energy(
    model: Model,
    energy: Energy,
    q: Array,
    v: Array,
    work: Array,
    damped: bool = False,
) -> Array:
    """Return which of many motions (N,) keep their energy, as a few of their records tell.

    Parameters
    ----------
    energy : and its potential part, J at states (..., nq), (..., nv) of the motions
    q, v : (N, K, nq), (N, K, nv)
    work : (N,) J done on each in all
    damped : as for `unbalanced`
    """
    looks = spread(q.shape[1], FEW)
    whole, still = energy(q[:, looks], v[:, looks])
    scale = np.maximum((whole - still).max(axis=1), np.ptp(still, axis=1))
    scale = np.maximum(scale, np.abs(work))
    gained = whole[:, -1] - whole[:, 0] - work
    imbalance = np.maximum(gained, 0.0) if damped else np.abs(gained)
    nothing = no_motion(model)
    return np.asarray((imbalance <= LOST_ENERGY * scale) | (not nothing) | (scale <= nothing))


class Account:
    """Energy and work of a motion whose steps are taken one by one, in somebody else's loop.

    Parameters
    ----------
    energy : at q and v, J
    open_by : how far its loops may be open, relative to its size
    lost : energy that may come from nowhere, by what moves
    grows : whether only what it has more counts, since the integrator or force elements whose
        energy is counted take some away
    """

    def __init__(
        self,
        model: Model,
        energy: Callable[[Array, Array], float],
        open_by: float,
        lost: float = LOST_ENERGY,
        grows: bool = False,
    ) -> None:
        self._lost, self._grows = lost, grows
        self._energy, self._nothing = energy, no_motion(model)
        self._lifted = SLANTED * open_by * _lift(model)
        self._reached: tuple[Array, Array] | None = None
        self._steps = 0
        self._work = self._start = self._scale = 0.0
        self._potential = self._worked = (0.0, 0.0)

    def begin(self, q: Array, v: Array) -> None:
        """Open the account anew, if these are not the state that the last step came to."""
        if self._reached is not None:
            same = zip(self._reached, (q, v), strict=True)
            if all(np.array_equal(one, two) for one, two in same):
                return
        still = self._energy(q, np.zeros_like(v))
        self._start, self._work, self._steps = self._energy(q, v), 0.0, 0
        self._scale, self._potential, self._worked = self._start - still, (still, still), (0.0, 0.0)

    def enter(self, q: Array, v: Array, work: float, h: float) -> None:
        """Enter a step of h seconds that came to a state.

        Raises
        ------
        SolveError
            The machine has more energy, or less, than was worked.
        """
        self._reached = q.copy(), v.copy()
        self._work += work
        self._steps += 1
        if self._steps % EACH:
            return
        whole, still = self._energy(q, v), self._energy(q, np.zeros_like(v))
        self._potential = min(self._potential[0], still), max(self._potential[1], still)
        self._worked = min(self._worked[0], self._work), max(self._worked[1], self._work)
        ranges = (high - low for low, high in (self._potential, self._worked))
        self._scale = max(self._scale, whole - still, *ranges)
        imbalance = whole - self._start - self._work
        if self._grows and imbalance < 0.0:
            self._start += imbalance
            imbalance = 0.0
        allowed = self._lost * self._scale + self._lifted
        if self._nothing and self._scale > self._nothing and not abs(imbalance) <= allowed:
            self._reached = None
            raise SolveError(
                _from_nowhere(imbalance, self._scale, f"within {self._steps} steps", h)
            )


def _from_nowhere(imbalance: float, scale: float, when: str, h: float) -> str:
    return (
        f"energy comes from nowhere: {imbalance:.3g} J where {scale:.3g} J move, {when}; "
        f"{step_too_long(h)}"
    )


def energies(model: Model, found: Records, looks: Array) -> tuple[Array, Array]:
    """Return kinetic and potential energy (L,) at some records, J; the steps may have reported
    them.
    """
    if found.reported is not None and np.isfinite(found.reported["energy"][looks]).all():
        kinetic, potential = found.reported["energy"][looks].T
        return kinetic, potential
    whole, still = (x[:, 0] for x in energy_kernel(model)(found.q[looks], found.v[looks]))
    return whole - still, still


def _imbalance(kinetic: Array, potential: Array, work: Array) -> tuple[Array, float]:
    scale = max(float(kinetic.max()), float(np.ptp(potential)), float(np.ptp(work)))
    whole = kinetic + potential
    return (whole - whole[0]) - (work - work[0]), scale


def lifted(model: Model, q: Array) -> float:
    """Return the energy, J, that putting records q (K, nq) onto their loops may make.

    That of the way from the start, given with lost digits, onto its loops, and of the ways between
    the positions at which imprecise rows are closed in turn.
    """
    loops = LoopChecker(model)
    phi, J = loops.at(q[0])
    if not np.isfinite(J).all():
        return 0.0
    way = float(np.linalg.norm(np.linalg.pinv(J, rcond=model.rank_tolerance) @ phi))
    open_by = np.abs(loops.values(q, np.zeros((len(q), model.nv)))[0] / model.row_scale)
    between = min(float(np.nan_to_num(open_by, nan=0.0).max()), loops.choice().leeway)
    return SLANTED * (way + between) * _lift(model)


@once_a_model
def no_motion(model: Model) -> float:
    """Return the energy, J, that is no motion of a machine."""
    mass = float(sum(model.masses))
    turning = sum(_trace(body.inertia) for body in model.bodies)
    return max(REST * _lift(model), STILL**2 * (mass * model.size**2 + turning))


@once_a_model
def _lift(model: Model) -> float:
    """Return the energy, J, that lifting a machine by its own size takes."""
    mass = float(sum(model.masses))
    return mass * float(np.linalg.norm(model.gravity)) * model.size


def _trace(inertia: Inertia) -> float:
    return float(np.trace(inertia.central))
