"""Motions that are linear in some numbers, such as the knots of a spline: loads by these numbers.

With functions of time B_k and factors c (K, n) of n coordinates

    q = Σ B_k c_k,     v = Σ B'_k c_k,     a = Σ B''_k c_k

so that what is derived by q, v and a is derived by c: Σ_t (B_k ∂/∂q + B'_k ∂/∂v + B''_k ∂/∂a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.derivatives.request import STATE, DerivativeColumn
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.derivatives import DEGREE, degree


class KnotStates(NamedTuple):
    """Coordinates, velocities and accelerations (N, n)."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class KnotMotion:
    """How the states of a motion depend on its knots.

    Attributes
    ----------
    time : (N,) s
    basis : (3, N, K) B, B', B'' at these times: of a spline, of polynomials, of sines

    Examples
    --------
    >>> path = KnotMotion.spline([0, 0.5, 1], np.linspace(0, 1, 101), rest=True)  # doctest: +SKIP
    >>> found = solver.gradient("elbow.moment")(*path(knots))                     # doctest: +SKIP
    >>> path.gradient(found.columns, weights[:, None] * found.gradient)           # doctest: +SKIP
    """

    time: Array
    basis: Array

    @staticmethod
    def spline(knots: ArrayLike, time: ArrayLike, *, rest: bool = False) -> KnotMotion:
        """Return the interpolating spline through positions at the times of the knots.

        Of degree 5, of fewer than 6 knots 3: that which gives a recorded motion its velocities.

        Parameters
        ----------
        knots, time : times (K,) and (N,), s
        rest : of degree 5, at rest and without acceleration at both ends, with 2 knots or more
        """
        from scipy.interpolate import make_interp_spline

        own, at = as_floats("knots", knots), as_floats("time", time)
        least = 2 if rest else 4
        if own.ndim != 1 or len(own) < least or not (np.diff(own) > 0.0).all():
            raise StateError(f"knots: expected {least} or more increasing times, got {knots!r:.60}")
        still = [(1, np.zeros(len(own))), (2, np.zeros(len(own)))]
        ends: Any  # of SciPy's types only words and numbers are known
        k, ends = (DEGREE, (still, still)) if rest else (degree(len(own)), None)
        spline = make_interp_spline(own, np.eye(len(own)), k=k, bc_type=ends)
        return KnotMotion(at, np.stack([spline(at, nu=order) for order in range(3)]))

    def __call__(self, knots: ArrayLike) -> KnotStates:
        """Return the states (N, n) with knots (K, n)."""
        factors = as_floats("knots", knots)
        if factors.ndim != 2 or len(factors) != self.basis.shape[2]:
            raise StateError(
                f"knots: expected ({self.basis.shape[2]}, n), a row for each, got {factors.shape}"
            )
        return KnotStates(*(self.basis @ factors))

    def gradient(self, columns: Sequence[DerivativeColumn], slopes: ArrayLike) -> Array:
        """Return derivatives of a sum over the states by the knots (K, n).

        Parameters
        ----------
        columns, slopes : of a load's derivatives by q, v and a of n coordinates (N, C), those of
            each state multiplied by its weight in the sum; other columns are passed over
        """
        rates = as_floats("slopes", slopes)
        places = [[k for k, one in enumerate(columns) if one.input == name] for name in STATE]
        if len({len(own) for own in places}) != 1 or not places[0]:
            raise StateError(
                f"columns: expected as many by q, by v and by a, got "
                f"{', '.join(str(len(own)) for own in places)}; derive by ['q', 'v', 'a']"
            )
        if rates.shape != (len(self.time), len(columns)):
            raise StateError(
                f"slopes: expected {(len(self.time), len(columns))}, the states and the columns, "
                f"got {rates.shape}"
            )
        parts = [rates[:, own] for own in places]
        return np.asarray(sum(B.T @ part for B, part in zip(self.basis, parts, strict=True)))
