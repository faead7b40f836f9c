"""Paths that load a joint least: by gradient, and by differential evolution.

The problems are those of example 31, which runs as it stands.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from scipy.optimize import differential_evolution

from mbd_bridge.loads import derivatives
from tests.robots import OWN

GENERATIONS = {21: 239, 6: 60}
"""By how many numbers a path has: three knots of seven joints, or of two."""

PEOPLE = {21: 15, 6: 10}
"""Paths of a generation, for each number."""


def run() -> dict[str, Any]:
    """Print and return the smallest peaks, tries and seconds of both."""
    by_gradient, results = derivatives.smallest_peak, dict[str, Any]()

    def both(rows: Callable[..., Any], start: Any, bounds: Sequence[Any], **options: Any) -> Any:
        begun = time.perf_counter()
        best = by_gradient(rows, start, bounds, **options)
        between = time.perf_counter()
        count = len(bounds)
        other = differential_evolution(
            lambda x: np.abs(rows(x)[0]).max(),
            bounds,
            popsize=PEOPLE[count],
            maxiter=GENERATIONS[count],
            tol=0.0,
            seed=0,
            polish=False,
        )
        ended = time.perf_counter()
        name = f"{count} numbers"
        results[name] = {"gradient": best.fun, "evolution": other.fun, "tries": other.nfev}
        print(
            f"{name}: {best.fun:.1f} in {best.nit} steps, {between - begun:.2g} s; evolution "
            f"{other.fun:.1f} in {other.nfev:,} tries, {ended - between:.3g} s"
        )
        return best

    matplotlib.use("Agg")
    words, sys.argv = sys.argv, sys.argv[:1]  # the example draws into folders that it is given
    derivatives.smallest_peak = both
    try:
        runpy.run_path(str(OWN.parent / "examples" / "31_paths_that_load_least.py"))
    finally:
        sys.argv, derivatives.smallest_peak = words, by_gradient
    return results
