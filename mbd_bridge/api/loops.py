"""What a user asks about the loops of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import StateError
from mbd_bridge.loads.determined import undetermined
from mbd_bridge.mechanism import Model
from mbd_bridge.solve import LoopReport, assemble, report


class Loops:
    """The loops of one mechanism, as ``mechanism.loops``.

    Attributes
    ----------
    names : of the loop joints (those that are cut)
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.names = tuple(cut.name for cut in model.cuts)

    def report(
        self, q: ArrayLike | None = None, actuated: Iterable[str] | str | None = None
    ) -> LoopReport:
        """Return freedoms, redundancy, nearness of a singularity, and loads that are left open.

        Parameters
        ----------
        q : (nq,) a position that closes the loops; None: the one nearest to zero
        actuated : joints with a drive; None: those that the file names, if it does. Without
            drives, what is reported as not determined is due to redundant rows alone
        """
        model = self._model
        place = assemble(model).q if q is None else np.asarray(q, dtype=np.float64)
        if place.shape != (model.nq,) or not np.all(np.isfinite(place)):
            raise StateError(
                f"q: expected ({model.nq},) finite numbers, one position, got {place!r:.80}"
            )
        drives = model.description.actuated if actuated is None else actuated
        if drives is not None:
            drives = (drives,) if isinstance(drives, str) else tuple(drives)
        found = report(model, place, drives)
        return replace(found, undetermined=undetermined(model, place, drives or ()))
