"""The energy of a motion whose steps are taken one by one: in other loops, in real time."""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.checks.balance import SLANTED, BalanceTerms, gives, lift, no_motion
from mbd_bridge.simulation.checks.stored import stored_energies
from mbd_bridge.simulation.results.energy import energy_kernel
from mbd_bridge.simulation.steps.schemes import Scheme
from mbd_bridge.simulation.trajectory import Trajectory

EACH = 20
"""Steps between two looks at the energy."""


class Account:
    """Energy and work of a motion whose steps are taken one by one, in somebody else's loop.

    Parameters
    ----------
    trajectory : whose motion it is
    scheme : of the steps; None: of Runge-Kutta
    open_by : how far its loops may be open, relative to its size
    """

    def __init__(
        self, trajectory: Trajectory, scheme: Scheme | None = None, open_by: float = 0.0
    ) -> None:
        self._trajectory, self._terms = trajectory, BalanceTerms.of(trajectory.system, scheme)
        self._bodies, self._nothing = energy_kernel(trajectory.model), no_motion(trajectory.model)
        self._lifted = SLANTED * open_by * lift(trajectory.model)
        self._reached: tuple[Array, Array] | None = None
        self._steps, self._sources = 0, False
        self._work = self._start = self._scale = 0.0
        self._potential = self._worked = (0.0, 0.0)

    def begin(self, q: Array, v: Array, z: Array) -> None:
        """Open the account anew, if these are not the state that the last step came to."""
        if self._reached is not None:
            same = zip(self._reached, (q, v), strict=True)
            if all(np.array_equal(one, two) for one, two in same):
                return
        self.open(q, v, z)

    def open(self, q: Array, v: Array, z: Array) -> None:
        """Open the account at a state."""
        self._start, still = self._energies(q, v, z)
        self._work, self._steps, self._sources = 0.0, 0, False
        self._scale, self._potential, self._worked = self._start - still, (still, still), (0.0, 0.0)

    def enter(self, q: Array, v: Array, z: Array, work: float, h: float) -> None:
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
        whole, still = self._energies(q, v, z)
        self._potential = min(self._potential[0], still), max(self._potential[1], still)
        self._worked = min(self._worked[0], self._work), max(self._worked[1], self._work)
        ranges = (high - low for low, high in (self._potential, self._worked))
        self._scale = max(self._scale, whole - still, *ranges)
        imbalance = whole - self._start - self._work
        if self._terms.grows and imbalance < 0.0:
            self._start += imbalance
            imbalance = 0.0
        allowed = self._terms.allowed * self._scale + self._lifted
        if self._sources or not self._nothing:
            return
        if self._scale > self._nothing and not abs(imbalance) <= allowed:
            self._reached = None
            when = f"within {self._steps} steps"
            raise SolveError(self._terms.said(imbalance, self._scale, when, h))

    def _energies(self, q: Array, v: Array, z: Array) -> tuple[float, float]:
        """Return the energy at a state and the part that is not kinetic, J."""
        whole, still = (float(x[0]) for x in self._bodies(q, v))
        if not self._terms.elements:
            return whole, still
        at = np.zeros(1), (q[None], v[None], z[None])
        (stored,), lost = stored_energies(self._trajectory.system, *at, self._trajectory.p)
        self._sources |= bool(gives(lost))
        return whole + float(stored), still + float(stored)
