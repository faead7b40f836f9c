"""pinocchio's calls for frames, centre of mass, momentum and energy, run by our kernels.

As in `drop_in`: q and v are pinocchio's, one state or (N, n) arrays of states, and so are the
results. For one state the field of `data` that pinocchio's function fills is filled too. As in
pinocchio, a base that stands on the ground does not count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, whole_number
from mbd_bridge.engines.pinocchio.drop_in import (
    AnyModel,
    PreparedModel,
    give,
    nle,
    prepared,
)
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import Reference
from mbd_bridge.model import Model, rebuilt
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.motion.frames import NamedFrame, prepare_frames
from mbd_bridge.solve import prepare
from mbd_bridge.solve.prepared import quick

REFERENCES: dict[Any, Reference] = {
    pin.ReferenceFrame.LOCAL: "local",
    pin.ReferenceFrame.WORLD: "world",
    pin.ReferenceFrame.LOCAL_WORLD_ALIGNED: "local_world_aligned",
}


def computeFrameJacobian(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    frame_id: int,
    reference_frame: Any = pin.ReferenceFrame.LOCAL,
) -> Array:
    """Return the Jacobian (6, nv) or (N, 6, nv) of a frame, as ``pinocchio``'s function."""
    model = prepared(model)
    number, reference = _number(model, frame_id), REFERENCES[reference_frame]
    coordinates = model.coordinates(q)
    frame = model.kept(f"frame {number}", lambda: _frame(model, number))
    if frame is None:
        return np.zeros((*coordinates.shape[:-1], 6, model.twin.model.nv))
    kernel = model.kept(
        f"frame {number} {reference}",
        lambda: quick(model.twin.ours, prepare_frames(model.twin.ours, [frame], reference)),
    )
    J = kernel(coordinates, np.zeros((*coordinates.shape[:-1], model.twin.ours.nv)))[2]
    return np.asarray(J[..., 0, :, :][..., model.order])


def forwardKinematics(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
) -> Array | None:
    """Return where the joints are, (njoints, 4, 4) or (N, njoints, 4, 4): ``data.oMi``.

    For one state with data pinocchio itself fills them, with v and a ``data.v`` and ``data.a``
    too, and returns nothing.
    """
    model = prepared(model)
    if _fills(data, q):
        more = [model.checked(x, name) for x, name in ((v, "v"), (a, "a")) if x is not None]
        pin.forwardKinematics(model.twin.model, data, model.checked(q, "q"), *more)
        return None
    x, R = _joints(model, q)[:2]
    return _placed(x, R)


def framesForwardKinematics(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Array | None:
    """Return where the frames are, (nframes, 4, 4) or (N, nframes, 4, 4): ``data.oMf``.

    For one state with data pinocchio itself fills them, and returns nothing.
    """
    model = prepared(model)
    if _fills(data, q):
        pin.framesForwardKinematics(model.twin.model, data, model.checked(q, "q"))
        return None
    frames = model.twin.model.frames
    carriers = [frame.parentJoint for frame in frames]
    placements = np.array([frame.placement.homogeneous for frame in frames])
    placed = forwardKinematics(model, None, q)
    assert placed is not None
    return np.asarray(placed[..., carriers, :, :] @ placements)


def computeJointJacobians(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return each joint's own columns (6, nv) or (N, 6, nv), at the world's origin: ``data.J``.

    For one state with data pinocchio itself fills them, so that `getFrameJacobian` can go on.
    """
    model = prepared(model)
    pinned = model.twin.model
    if _fills(data, q):
        return np.asarray(pin.computeJointJacobians(pinned, data, model.checked(q, "q")))
    jacobians = _joints(model, q)[2][..., model.order]
    columns = np.zeros((*jacobians.shape[:-3], *jacobians.shape[-2:]))
    for number in range(1, pinned.njoints):
        columns_of_joint = slice(pinned.idx_vs[number], pinned.idx_vs[number] + pinned.nvs[number])
        columns[..., columns_of_joint] = jacobians[..., number, :, columns_of_joint]
    return columns


def _fills(data: pin.Data | None, q: ArrayLike) -> bool:
    """Return whether pinocchio's data are to be filled: those of one state."""
    return data is not None and np.ndim(q) == 1


def getFrameJacobian(
    model: AnyModel,
    data: pin.Data,
    frame_id: int,
    reference_frame: Any = pin.ReferenceFrame.LOCAL,
) -> Array:
    """Return the Jacobian (6, nv) of a frame from what `computeJointJacobians` left in `data`."""
    model = prepared(model)
    number = _number(model, frame_id)
    return np.asarray(pin.getFrameJacobian(model.twin.model, data, number, reference_frame))


def centerOfMass(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike | None = None,
) -> Array:
    """Return the centre of mass (3,) or (N, 3); for one state with v also ``data.vcom[0]``."""
    model = prepared(model)
    centroid = _centroid(model, q)
    if data is not None and centroid.position.ndim == 1:
        data.com[0] = centroid.position
        if v is not None:
            data.vcom[0] = centroid.jacobian @ model.rates(v)
    return centroid.position


def jacobianCenterOfMass(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the Jacobian (3, nv) or (N, 3, nv) of the centre of mass: ``data.Jcom``."""
    model = prepared(model)
    centroid = _centroid(model, q)
    J = np.asarray(centroid.jacobian[..., model.order])
    if data is not None and J.ndim == 2:
        data.Jcom, data.com[0] = J, centroid.position
    return J


def ccrba(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike | None = None,
) -> Array:
    """Return the matrix (6, nv) or (N, 6, nv) of the momentum about the centre of mass.

    For one state ``data.Ag`` and ``data.com[0]`` are filled, with v also ``data.hg``.
    """
    model = prepared(model)
    centroid = _centroid(model, q, v)
    A = np.asarray(centroid.momentum_matrix[..., model.order])
    if data is not None and A.ndim == 2:
        data.Ag, data.com[0] = A, centroid.position
        if v is not None:
            data.hg = pin.Force(centroid.momentum)
    return A


computeCentroidalMap = ccrba  # noqa: N816 - pinocchio's name
"""It takes no velocity in pinocchio."""


def computeCentroidalMomentum(
    model: AnyModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Any:
    """Return the momentum about the centre of mass: a ``pinocchio.Force``, or (N, 6)."""
    model = prepared(model)
    centroid = _centroid(model, q, v)
    h = centroid.momentum
    if h.ndim > 1:
        return h
    if data is not None:
        data.hg, data.com[0] = pin.Force(h), centroid.position
    return pin.Force(h)


def computeKineticEnergy(model: AnyModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike) -> Any:
    """Return the kinetic energy, J: a number, or (N,)."""
    model = prepared(model)
    return _energy(data, "kinetic_energy", _centroid(model, q, v).energy[..., 0])


def computePotentialEnergy(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Any:
    """Return the potential energy, J, zero at the world's origin: a number, or (N,)."""
    model = prepared(model)
    return _energy(data, "potential_energy", _centroid(model, q).energy[..., 1])


def computeMechanicalEnergy(
    model: AnyModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Any:
    """Return kinetic and potential energy together, J: a number, or (N,).

    For one state both are filled, too.
    """
    model = prepared(model)
    energy = _centroid(model, q, v).energy
    _energy(data, "kinetic_energy", energy[..., 0])
    _energy(data, "potential_energy", energy[..., 1])
    return _energy(data, "mechanical_energy", energy.sum(axis=-1))


def computeGeneralizedGravity(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the torques (nv,) or (N, nv) that hold the mechanism at rest."""
    model = prepared(model)
    still = np.zeros((*np.shape(q)[:-1], model.twin.model.nv))
    return give(data, "g", nle(model, None, q, still))


def _energy(data: pin.Data | None, field: str, value: Array) -> Any:
    if value.ndim:
        return value
    if data is not None:
        setattr(data, field, float(value))
    return float(value)


def _number(model: PreparedModel, frame_id: int) -> int:
    number, count = whole_number("frame_id", frame_id, least=0), model.twin.model.nframes
    if number >= count:
        raise ModelError(f"frame_id: the model has {count} frames, there is no number {number}")
    return number


def _joints(
    model: PreparedModel, q: ArrayLike, v: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return positions, rotations, Jacobians and drifts ("world") of pinocchio's joints, the
    universe's with them.
    """
    moving = model.kept(
        "moving",
        lambda: [
            named_frame(model, number, Frame.identity())
            for number in range(model.twin.model.njoints)
        ],
    )
    kernel = model.kept(
        "joints",
        lambda: prepare_frames(model.twin.ours, [frame for frame in moving if frame], "world"),
    )
    coordinates = model.coordinates(q)
    rates = np.zeros((*coordinates.shape[:-1], model.twin.ours.nv)) if v is None else model.rates(v)
    outputs = kernel(coordinates, rates)
    still = np.zeros(3), np.eye(3), np.zeros((6, model.twin.ours.nv)), np.zeros(6)
    lead = coordinates.ndim - 1
    rows = np.cumsum([frame is not None for frame in moving])
    rows[[frame is None for frame in moving]] = 0  # row 0 is what stands still
    x, R, J, drift = (
        np.concatenate(
            [np.broadcast_to(rest, (*coordinates.shape[:-1], 1, *rest.shape)), part], axis=lead
        ).take(rows, axis=lead)
        for part, rest in zip(outputs, still, strict=True)
    )
    return x, R, J, drift


def _placed(x: Array, R: Array) -> Array:
    """Return homogeneous matrices (..., 4, 4)."""
    out = np.zeros((*x.shape[:-1], 4, 4))
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = R, x, 1.0
    return out


def _frame(model: PreparedModel, number: int) -> NamedFrame | None:
    """Return pinocchio's frame of a number; None of one that stands still."""
    theirs = model.twin.model.frames[number]
    pose = Frame(theirs.placement.rotation.copy(), theirs.placement.translation.copy())
    return named_frame(model, theirs.parentJoint, pose)


def named_frame(model: PreparedModel, joint: int, pose: Frame) -> NamedFrame | None:
    """Return a frame on one of pinocchio's joints, where our body has it; None on the universe."""
    at = [item for item in model.twin.places if item.joint == joint]
    if not at:
        return None
    model_joint = model.twin.ours.joints[at[-1].body.joint]
    turned = Frame(at[-1].turn, np.zeros(3))
    return NamedFrame(
        model.twin.model.names[joint], model_joint.body, model_joint.frame @ turned @ pose
    )


def _centroid(model: PreparedModel, q: ArrayLike, v: ArrayLike | None = None) -> Centroid:
    ours = model.twin.ours
    kernel = model.kept(
        "centroid", lambda: quick(ours, prepare(_with_weightless_base(ours), "centroid"))
    )
    coordinates = model.coordinates(q)
    rates = np.zeros((*coordinates.shape[:-1], ours.nv)) if v is None else model.rates(v)
    return Centroid(*(np.asarray(part) for part in kernel(coordinates, rates)))


def _with_weightless_base(model: Model) -> Model:
    if model.floating:
        return model
    still = {link.name for link in model.links if link.body == 0}  # welded to it, too
    links = tuple(
        replace(link, inertia=None) if link.name in still else link
        for link in model.description.links
    )
    return rebuilt(model, replace(model.description, links=links))
