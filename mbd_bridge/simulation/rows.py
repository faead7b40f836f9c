"""Which rows of the constraints a motion keeps: independent ones, wherever it starts.

In a singular position fewer rows are independent than beside it. A motion that starts there keeps
the rows that are independent a little further on; otherwise a loop would come open unseen.
"""

from __future__ import annotations

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.motions import PrescribedMotions
from mbd_bridge.solve.loop_values import LoopChecker


def independent_rows(
    model: Model,
    q: Array,
    motions: PrescribedMotions | None = None,
    v: Array | None = None,
    loops: LoopChecker | None = None,
) -> tuple[int, ...]:
    """Return rows of the constraints that are independent at q, or beside it where it is singular.

    Rows that the model's choice (`solve.row_choice`) keeps in general position are preferred, so
    that they do not depend on where a motion starts. Prescribed coordinates are taken out of Φ_q:
    rows must be independent of them, too.

    Parameters
    ----------
    v : velocity (nv,) with which the motion goes on: it tells the branch that is followed
    loops : prepared already, or those of a variant of the model
    """
    if not model.has_loops:
        return ()
    loops = LoopChecker(model) if loops is None else loops
    choice = loops.choice(() if motions is None else motions.v)
    J = loops.at(q)[1]
    rows = choice.fitting(J)
    if rows is not None:
        return rows
    own = best = choice.local(J)
    for place in loops.beside(q, v):
        J = loops.at(place)[1]
        found = choice.fitting(J) or choice.local(J)
        best = found if len(found) > len(best) else best
        if len(best) > len(own):
            break
    return best
