"""What a user asks about the loops of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, finite_numbers, name_list
from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.planar import Plane, out_of_plane
from mbd_bridge.loads.selected import LoadSelection, changes, select_joints
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.solve import LoopReport, assemble, report
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.assembly import within_reach
from mbd_bridge.solve.constrained import undetermined_multipliers
from mbd_bridge.solve.row_choice import row_choice


class Loops:
    """The loops of one mechanism, as ``mechanism.loops``.

    Attributes
    ----------
    names : of the loop joints (those that are cut)
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.names = tuple(cut.name for cut in model.cuts)

    def contact_forces(self, lam: ArrayLike) -> dict[str, Array]:
        """Return the forces of planes on rolling wheels by loop (..., 3): normal, along, across.

        Along is k × n for a wheel with the axis k on a plane with the normal n, across n × along.

        Parameters
        ----------
        lam : (..., m) multipliers of all rows, such as ``run.lam``
        """
        multipliers = as_floats("lam", lam)
        count = len(self._model.row_scale)
        if multipliers.shape[-1:] != (count,):
            raise StateError(f"lam: expected (..., {count}) multipliers, got {multipliers.shape}")
        found, k = {}, 0
        for cut in self._model.cuts:
            if cut.type == "rolling":
                found[cut.name] = -multipliers[..., k : k + len(cut.rows)]
            k += len(cut.rows)
        return found

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


def undetermined(
    model: Model, q: Array, actuated: Iterable[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return by joint, tree or cut, the components of its load that are not determined.

    The Python reference of what `LoadSolver` does for many states: here every open multiplier is
    looked at, one by one, by the functions that the kernels are made of.

    Parameters
    ----------
    q : (nq,) a position that closes the loops
    actuated : actuated joints; without any, what is left open is due to redundant rows alone
    """
    if not model.has_loops:
        return {}
    names, asked = select_joints(model, None, cuts=True)
    phi_q = constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q
    columns = undetermined_multipliers(model, phi_q, actuated_velocities(model, actuated)).T
    if not len(columns):
        return {}
    wrench, _ = changes(model, LoadSelection(asked, Convention()), q, list(columns))
    found, least = {}, row_choice(model).noticed ** 2
    plane = Plane(model) if model.description.planar else None
    for name, squares in zip(names, wrench, strict=True):
        left = squares > least
        if plane is not None and name in plane.joints:
            left &= ~np.concatenate(out_of_plane(plane.normal_in(name, "child")))
        lost = tuple(c for c, x in zip(COMPONENTS, left, strict=True) if x)
        if lost:
            found[name] = lost
    return found
