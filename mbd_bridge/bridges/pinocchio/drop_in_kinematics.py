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

from mbd_bridge.bridges.pinocchio.drop_in import PreparedModel, nle
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import Reference, frame_kinematics
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.errors import ModelError, whole_number
from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.kinematics.frames import NamedFrame, prepare_centroid, prepare_frames
from mbd_bridge.mechanism import Model, digest, rebuilt
from mbd_bridge.spatial import Array, Frame

REFERENCES: dict[Any, Reference] = {
    pin.ReferenceFrame.LOCAL: "local",
    pin.ReferenceFrame.WORLD: "world",
    pin.ReferenceFrame.LOCAL_WORLD_ALIGNED: "local_world_aligned",
}


def computeFrameJacobian(
    model: PreparedModel,
    data: pin.Data | None,
    q: ArrayLike,
    frame_id: int,
    reference_frame: Any = pin.ReferenceFrame.LOCAL,
) -> Array:
    """Return the Jacobian (6, nv) or (N, 6, nv) of a frame, as ``pinocchio``'s function."""
    number, reference = _number(model, frame_id), REFERENCES[reference_frame]
    frame, own = _named(model, number), model.twin.q_back(q)
    if frame is None:
        return np.zeros((*own.shape[:-1], 6, model.twin.model.nv))
    kernel: Kernel = model.kept(
        f"frame {number} {reference}",
        lambda: prepare_frames(model.twin.ours, [frame], reference),
    )
    J = kernel(own, np.zeros((*own.shape[:-1], model.twin.ours.nv)))[2]
    return np.asarray(J[..., 0, :, :][..., model.order])


def framesForwardKinematics(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike
) -> tuple[Array, Array]:
    """Return the positions (F, 3) and rotations (F, 3, 3) of all frames; (N, F, ...) of N states.

    For one state ``data.oMf`` is filled, as by ``pinocchio``'s function.
    """
    kernel: Kernel = model.kept("placements", lambda: _placements(model))
    x, R = kernel(model.twin.q_back(q))
    if data is not None and x.ndim == 2:
        for number in range(model.twin.model.nframes):
            data.oMf[number] = pin.SE3(R[number], x[number])
    return x, R


def centerOfMass(model: PreparedModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the centre of mass (3,) or (N, 3), as ``pinocchio``'s function."""
    c = _centroid(model, q).position
    if data is not None and c.ndim == 1:
        data.com[0] = c
    return c


def jacobianCenterOfMass(model: PreparedModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the Jacobian (3, nv) or (N, 3, nv) of the centre of mass."""
    J = np.asarray(_centroid(model, q).jacobian[..., model.order])
    if data is not None and J.ndim == 2:
        data.Jcom = J
    return J


def ccrba(model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike) -> Array:
    """Return the matrix (6, nv) or (N, 6, nv) of the momentum about the centre of mass.

    For one state ``data.Ag`` and ``data.hg`` are filled.
    """
    found = _centroid(model, q, v)
    A = np.asarray(found.momentum_matrix[..., model.order])
    if data is not None and A.ndim == 2:
        data.Ag, data.hg = A, pin.Force(found.momentum)
    return A


def computeCentroidalMomentum(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Any:
    """Return the momentum about the centre of mass: a ``pinocchio.Force``, or (N, 6)."""
    h = _centroid(model, q, v).momentum
    if h.ndim > 1:
        return h
    if data is not None:
        data.hg = pin.Force(h)
    return pin.Force(h)


def computeKineticEnergy(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Any:
    """Return the kinetic energy, J: a number, or (N,)."""
    return _energy(data, "kinetic_energy", _centroid(model, q, v).energy[..., 0])


def computePotentialEnergy(model: PreparedModel, data: pin.Data | None, q: ArrayLike) -> Any:
    """Return the potential energy, J, zero at the world's origin: a number, or (N,)."""
    return _energy(data, "potential_energy", _centroid(model, q).energy[..., 1])


def computeMechanicalEnergy(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Any:
    """Return kinetic and potential energy together, J: a number, or (N,)."""
    return _energy(data, "mechanical_energy", _centroid(model, q, v).energy.sum(axis=-1))


def computeGeneralizedGravity(model: PreparedModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the torques (nv,) or (N, nv) that hold the mechanism at rest."""
    g = nle(model, None, q, np.zeros((*np.shape(q)[:-1], model.twin.model.nv)))
    if data is not None and g.ndim == 1:
        data.g = g
    return g


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


def _placements(model: PreparedModel) -> Kernel:
    """Return the kernel (q) -> positions (F, 3) and rotations (F, 3, 3) of all frames."""
    ours = model.twin.ours
    frames = [_named(model, number) for number in range(model.twin.model.nframes)]
    still = [_placement(frame) for frame in model.twin.model.frames]

    def function(q: Array) -> tuple[Array, Array]:
        state = state_vectors(ours, q, np.zeros(ours.nv), "world")
        places = []
        for one, rest in zip(frames, still, strict=True):
            if one is None:
                places.append((rest.translation, rest.rotation))
            else:
                at = frame_kinematics(ours, state, one.body, one.place)
                places.append((at.position, at.rotation))
        return np.array([x for x, _ in places]), np.array([R for _, R in places])

    return compile_kernel(
        function,
        {"q": ours.nq},
        outputs=("position", "rotation"),
        name="placements",
        identity=f"{digest(ours)} placements "
        + " ".join(
            repr((rest.translation.tolist(), rest.rotation.tolist()))
            if one is None
            else one.identity
            for one, rest in zip(frames, still, strict=True)
        ),
    )


def _named(model: PreparedModel, number: int) -> NamedFrame | None:
    """Return a frame of pinocchio's, where our body has it; None of one that stands still."""
    frame = model.twin.model.frames[number]
    at = [one for one in model.twin.places if one.joint == frame.parentJoint]
    if not at:
        return None
    joint = model.twin.ours.joints[at[-1].body.joint]
    turned = Frame(at[-1].turn, np.zeros(3))
    return NamedFrame(frame.name, joint.body, joint.frame @ turned @ _placement(frame))


def _placement(frame: Any) -> Frame:
    return Frame(frame.placement.rotation.copy(), frame.placement.translation.copy())


def _centroid(model: PreparedModel, q: ArrayLike, v: ArrayLike | None = None) -> Centroid:
    kernel: Kernel = model.kept(
        "centroid", lambda: prepare_centroid(_with_weightless_base(model.twin.ours))
    )
    own = model.twin.q_back(q)
    rates = np.zeros((*own.shape[:-1], model.twin.ours.nv)) if v is None else model.rates(v)
    return Centroid(*(np.asarray(part) for part in kernel(own, rates)))


def _with_weightless_base(model: Model) -> Model:
    if model.floating:
        return model
    root = model.links[0].name
    links = tuple(
        replace(link, inertia=None) if link.name == root else link
        for link in model.description.links
    )
    return rebuilt(model, replace(model.description, links=links))
