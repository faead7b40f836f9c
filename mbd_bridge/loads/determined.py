"""Which components of which joints' loads rigid-body mechanics determines at a position.

The readable twin of what `LoadSolver` does for many states: here every open multiplier is looked
at, one by one, by the functions that the kernels are made of.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.planar import Plane, out_of_plane
from mbd_bridge.loads.selected import LoadSelection, changes, select_joints
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.constrained import undetermined_multipliers
from mbd_bridge.solve.row_choice import row_choice


def undetermined(
    model: Model, q: Array, actuated: Iterable[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return by joint, tree or cut, the components of its load that are not determined.

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
