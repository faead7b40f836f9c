"""The numbers with which the largest of many loads is smallest.

A peak is not smooth: where two loads are the largest its slope jumps. With a bound s it is

    minimise s over (x, s),     -s <= y_i(x) <= s,

which is, and SciPy's SLSQP solves it, with the slopes of all loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

LoadRows = Callable[[Array], tuple[ArrayLike, ArrayLike]]
"""Loads (N,) of all states and joints that count, and their slopes (N, K), at numbers (K,)."""


def smallest_peak(
    rows: LoadRows,
    start: ArrayLike,
    bounds: Sequence[tuple[float, float]],
    *,
    tolerance: float = 1e-8,
    most: int = 200,
) -> OptimizeResult:
    """Return SciPy's result: ``x`` (K,) with the smallest peak that is near, ``fun``, its peak.

    Parameters
    ----------
    rows : gives loads and their derivatives
    start : (K,) numbers to begin with
    bounds : least and largest of each; they also say how large changes are
    tolerance : change of the peak, as a part of it, at which it ends
    most : iterations

    Examples
    --------
    >>> smallest_peak(lambda x: (y(x), dy(x)), [1.0, 0.2], [(0, 2), (0, 1)]).x  # doctest: +SKIP
    """
    from scipy import optimize

    x0, limits = as_floats("start", start), as_floats("bounds", bounds)
    if x0.ndim != 1 or limits.shape != (len(x0), 2) or not (limits[:, 0] < limits[:, 1]).all():
        raise StateError(
            f"bounds: expected (least, largest) for each of {x0.size} numbers, got {bounds!r:.60}"
        )
    unit = limits[:, 1] - limits[:, 0]
    known: list[Any] = [None, None, None]

    def scaled(z: Array) -> tuple[Array, Array]:
        """Return loads (N,) and slopes (N, K) by the scaled numbers; once for each place."""
        if known[0] is None or not np.array_equal(known[0], z):
            y, slopes = rows(z * unit)
            known[:] = z.copy(), as_floats("loads", y), as_floats("slopes", slopes) * unit
        if known[2].shape != (*known[1].shape, len(z)) or known[1].ndim != 1:
            raise StateError(
                f"rows: expected loads (N,) and slopes (N, {len(z)}), got {known[1].shape} and "
                f"{known[2].shape}"
            )
        return known[1], known[2]

    size = float(np.abs(scaled(x0 / unit)[0]).max(initial=0.0)) or 1.0

    def room(z: Array) -> Array:
        y = scaled(z[:-1])[0] / size
        return np.concatenate([z[-1] - y, z[-1] + y])

    def slopes_of_room(z: Array) -> Array:
        slopes = scaled(z[:-1])[1] / size
        return np.column_stack([np.concatenate([-slopes, slopes]), np.ones(2 * len(slopes))])

    last = np.eye(len(x0) + 1)[-1]
    minimize: Any = optimize.minimize  # its types know fewer constraints than it
    found = minimize(
        lambda z: (z[-1], last),
        np.append(x0 / unit, 1.0),
        jac=True,
        method="SLSQP",
        bounds=[*(limits / unit[:, None]), (0.0, None)],
        constraints={"type": "ineq", "fun": room, "jac": slopes_of_room},
        options={"maxiter": most, "ftol": tolerance},
    )
    found.x = np.clip(found.x[:-1] * unit, *limits.T)
    found.fun = float(np.abs(as_floats("loads", rows(found.x)[0])).max(initial=0.0))
    found.jac = None  # SciPy's is of the bound
    result: OptimizeResult = found
    return result
