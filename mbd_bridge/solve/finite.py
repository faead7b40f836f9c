"""No quiet nan: find the state and the coordinate that a result is not finite for.

Kernels tell whether all that they wrote is finite; only then is there anything to look for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


def explain(model: Model, inputs: Mapping[str, ArrayLike], *results: Array) -> None:
    """Raise for results of which one is not finite.

    Raises
    ------
    StateError
        An input is not finite: which entry of which state.
    SolveError
        The inputs are finite, the results are not: which state.
    """
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in inputs.items()}
    for name, array in arrays.items():
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            *state, entry = (int(k) for k in bad[0])
            raise StateError(
                f"{_at(state)}{name}[{entry}]{_called(model, name, entry)} is "
                f"{float(array[tuple(bad[0])])}; {len(bad)} entries of {name} are not finite. "
                f"Remove these states, or pass check=False to have nan in their results"
            )
    for result in results:
        bad = np.argwhere(~np.isfinite(result))
        if len(bad):
            several = any(array.ndim > 1 for array in arrays.values())
            state = [int(bad[0][0])] if several else []
            raise SolveError(
                f"{_at(state)}the result is not finite although the state is: the mass matrix is "
                f"singular there, or numbers overflow. Pass check=False to have the results as "
                f"they are"
            )


def _at(state: list[int]) -> str:
    return f"state {state[0]}: " if state else ""


def _called(model: Model, name: str, entry: int) -> str:
    names = {"q": model.coordinate_names, "external": ()}.get(name, model.velocity_names)
    return f" ({names[entry]})" if entry < len(names) else ""
