"""What a user asks about the loops of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numpy.typing import ArrayLike

from mbd_bridge.arguments import finite_numbers, name_list
from mbd_bridge.loads.determined import undetermined
from mbd_bridge.mechanism import Model
from mbd_bridge.solve import LoopReport, assemble, report
from mbd_bridge.solve.assembly import within_reach


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
        """Return degrees of freedom, redundancy, nearness of a singularity, and loads that are left
        open.

        Parameters
        ----------
        q : (nq,) a position that closes the loops; None: the one nearest to zero
        actuated : actuated joints; None: those that the file names, if it does. Without
            actuators, what is reported as not determined is due to redundant rows alone
        """
        model = self._model
        place = (
            assemble(model).q
            if q is None
            else within_reach("q", finite_numbers("q", q, (model.nq,)))
        )
        actuators = model.description.actuated if actuated is None else actuated
        if actuators is not None:
            actuators = name_list("actuated", actuators, "joints")
        found = report(model, place, actuators if model.has_loops else None)
        return replace(found, undetermined=undetermined(model, place, actuators or ()))
