"""Loads of joints that the steps of a motion reported, as its user gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.selected import actuation_names, changes
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import ACTUATION, COMPONENTS
from mbd_bridge.simulation.outputs import CONVENTION, Outputs
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.constrained import undetermined_multipliers
from mbd_bridge.solve.loop_terms import PROBES, probes
from mbd_bridge.solve.row_choice import row_choice

SAMPLES = 9
"""Records at which is looked which load components are determined."""


def reported_loads(
    model: Model,
    outputs: Outputs,
    reported: Mapping[str, Array],
    q: Array,
    rows: Sequence[int],
    prescribed_joints: Sequence[str],
) -> JointLoads:
    """Return the loads at all records.

    Parameters
    ----------
    rows : independent ones that the motion has kept: if these are all, all is determined
    prescribed_joints : joints all of whose motions are prescribed

    Notes
    -----
    A component counts as determined if it is so at all of the records that are looked at.
    """
    asked = outputs.joints
    names, places = actuation_names(model, asked)
    force, moment, actuation = reported["force"], reported["moment"], reported["actuation"]
    flags: list[Array] = [np.ones((), dtype=bool)] * 2
    if len(rows) < len(model.row_scale):
        each = [_determined(model, outputs, at, prescribed_joints) for at in some_of(q)]
        flags = [np.logical_and.reduce(column) for column in zip(*each, strict=True)]
    whole = np.broadcast_to(flags[0], (*force.shape[:-1], 6))
    actuation_unique = np.broadcast_to(flags[1], actuation.shape)
    return JointLoads(
        outputs.joint_names(model),
        force,
        moment,
        actuation,
        names,
        places,
        whole,
        actuation_unique,
        CONVENTION,
        model=model,
        request=LoadRequest.of(model, outputs.joint_names(model)),
    )


def undetermined_loads(system: System, rows: Sequence[int], q: Array) -> tuple[str, ...]:
    """Return the reported load components that rigid-body mechanics does not determine at q.

    Named as variables are, without "load.": ``pin.fy``, ``crank.actuation``. `rows` are the
    independent ones that the steps keep.
    """
    model, outputs = system.model, system.outputs
    if outputs is None or not outputs.joints or len(rows) == len(model.row_scale):
        return ()
    wrench, actuation = _determined(model, outputs, q, system.prescribed_joints)[:2]
    names, places = actuation_names(model, outputs.joints)
    found = []
    for joint, sure, place in zip(outputs.joint_names(model), wrench, places, strict=True):
        found += [f"{joint}.{name}" for name, one in zip(COMPONENTS, sure, strict=True) if not one]
        found += [
            f"{joint}.{ACTUATION}{name.removeprefix(joint)}"
            for name, one in zip(names[place], actuation[place], strict=True)
            if not one
        ]
    return tuple(found)


def some_of(records: Array) -> Array:
    """Return `SAMPLES` of the records, at most, from the first to the last."""
    count = len(records)
    return np.asarray(records[np.linspace(0, count - 1, min(SAMPLES, count)).astype(int)])


def _determined(
    model: Model, outputs: Outputs, q: Array, prescribed_joints: Sequence[str]
) -> tuple[Array, ...]:
    """Return which components (J, 6) and actuators (F,) are determined at a position."""
    scale = model.row_scale
    phi_q = constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q
    basis = undetermined_multipliers(
        model, phi_q, actuated_velocities(model, tuple(prescribed_joints))
    )
    free = np.linalg.qr(basis * scale[:, None])[0]
    opened = probes(len(scale)) @ free @ free.T / scale
    each = list(opened.reshape(PROBES, len(scale)))
    squares = changes(model, outputs.selection, q, each)
    noticed = row_choice(model).noticed
    return tuple(~(np.asarray(square, dtype=np.float64) > noticed**2) for square in squares)
