"""Loads of joints that the steps of a motion told, as its user gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.selected import changes, drive_names
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.outputs import Outputs
from mbd_bridge.solve.actuation import driven_velocities
from mbd_bridge.solve.constrained import left_open
from mbd_bridge.solve.loop_terms import PROBES, probes
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.spatial import Array

SAMPLES = 9
"""Records at which is looked which load components are determined."""


def told_loads(
    model: Model,
    outputs: Outputs,
    told: Mapping[str, Array],
    q: Array,
    rows: Sequence[int],
    driven: Sequence[str],
) -> JointLoads:
    """Return the loads at all records.

    Parameters
    ----------
    rows : independent ones that the motion has kept: if these are all, all is determined
    driven : joints all of whose motions are prescribed

    Notes
    -----
    A component counts as determined if it is so at all of the records that are looked at.
    """
    asked = outputs.joints
    names, places = drive_names(model, asked)
    force, moment, drive = told["force"], told["moment"], told["drive"]
    flags: list[Array] = [np.ones((), dtype=bool)] * 3
    if len(rows) < len(model.row_scale):
        each = [_determined(model, outputs, at, driven) for at in some_of(q)]
        flags = [np.logical_and.reduce(column) for column in zip(*each, strict=True)]
    whole = np.broadcast_to(flags[0], (*force.shape[:-1], 6))
    drives = np.broadcast_to(flags[1], drive.shape)
    reaction = np.broadcast_to(flags[2], (*force.shape[:-1], 6)) if outputs.reaction else None
    return JointLoads(
        outputs.joint_names(model),
        force,
        moment,
        drive,
        names,
        places,
        whole,
        drives,
        outputs.convention,
        told.get("reaction_force"),
        told.get("reaction_moment"),
        reaction,
        model,
    )


def some_of(records: Array) -> Array:
    """Return `SAMPLES` of the records, at most, from the first to the last."""
    count = len(records)
    return np.asarray(records[np.linspace(0, count - 1, min(SAMPLES, count)).astype(int)])


def _determined(
    model: Model, outputs: Outputs, q: Array, driven: Sequence[str]
) -> tuple[Array, ...]:
    """Return which components (J, 6), drives (F,) and reactions are determined at a position."""
    scale = model.row_scale
    phi_q = constraints(model, state_vectors(model, q, np.zeros(model.nv))).phi_q
    basis = left_open(model, phi_q, driven_velocities(model, tuple(driven)))
    free = np.linalg.qr(basis * scale[:, None])[0]
    opened = probes(len(scale)) @ free @ free.T / scale
    each = list(opened.reshape(PROBES, len(scale)))
    squares = changes(model, outputs.selection, q, each)
    noticed = row_choice(model).noticed
    return tuple(~(np.asarray(square, dtype=np.float64) > noticed**2) for square in squares)
