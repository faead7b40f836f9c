"""States that do not satisfy the loops, found and named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.loop_terms import LoopTerms, open_loop
from mbd_bridge.solve.row_choice import RowChoice

AT_ONCE = 256
"""Doubtful states that are looked at together: the first may be the one."""


def refuse_open(
    model: Model,
    choice: RowChoice,
    doubtful: Array,
    terms: Callable[[Array], LoopTerms],
    last: int,
) -> None:
    """Raise for the first of some states that does not satisfy the loops.

    Parameters
    ----------
    choice : of the model, nothing prescribed
    doubtful : numbers of states (N,)
    terms : returns the terms of some of them
    last : what is looked at: POSITION, VELOCITY or ACCELERATION, and those before

    Raises
    ------
    StateError
        Which state, which loop, how far it is open.
    """
    for start in range(0, len(doubtful), AT_ONCE):
        some = doubtful[start : start + AT_ONCE]
        found = terms(some)
        phi_q = np.swapaxes(found.A, -1, -2).reshape(len(some), len(model.row_scale), model.nv)
        left = found.left[..., : last + 1, :].reshape(len(some), last + 1, -1)
        size = found.size[..., : last + 1].reshape(len(some), last + 1)
        with np.errstate(invalid="ignore", over="ignore"):
            relative = left / np.sqrt(1.0 + size)[:, :, None]
        closed = [choice.closed(phi_q, relative[:, which]) for which in range(last + 1)]
        off = np.argwhere(~np.stack(closed, axis=1))
        if len(off):
            k, which = map(int, off[0])
            raise open_loop(model, int(some[k]), which, left[k, which])
