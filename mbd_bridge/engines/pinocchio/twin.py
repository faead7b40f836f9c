"""One mechanism as two models: states and forces in our order and in pinocchio's.

pinocchio orders joints its own way, writes a continuous joint as (cos, sin), a planar joint as
(x, y, cos, sin) with velocities in the child's axes, and keeps joints that ``<mimic>`` another
as independent coordinates unless its reader is told ``mimic=True``. With
pinocchio's velocities v' = G(q) v, its forces τ' give ours:

    τ = Gᵀ τ',   M = Gᵀ M' G
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model import Body, Model
from mbd_bridge.model.description import Limits
from mbd_bridge.model.joint_table import Helical, Universal
from mbd_bridge.model.spatial import Array, Frame, Inertia


@dataclass(frozen=True)
class TwinPlace:
    """Where a body is in pinocchio's vectors.

    Attributes
    ----------
    body, name : the body and the joint that moves it
    q, v : its own coordinates and velocities in pinocchio's vectors
        (empty if pinocchio has it follow another joint, too)
    joint : number of pinocchio's joint
    turn : rotation from pinocchio's joint frame to the child link's frame
    """

    body: Body
    name: str
    q: slice
    v: slice
    joint: int
    turn: Array = field(default_factory=lambda: np.eye(3))

    @property
    def follows(self) -> bool:
        """Whether pinocchio has no coordinate for it: it mimics there as here."""
        return bool(self.v.start == self.v.stop)


class Twin:
    """A model of ours and a model of pinocchio's of the same mechanism.

    Attributes
    ----------
    ours, model, data : the two models and pinocchio's data
    places : for each moving body of ours, where it is in pinocchio's vectors
    """

    def __init__(self, ours: Model, model: pin.Model, places: tuple[TwinPlace, ...]) -> None:
        self.ours, self.model, self.places = ours, model, places
        self._own = tuple(at for at in places if not at.follows)
        self.data = model.createData()

    @staticmethod
    def by_name(ours: Model, model: pin.Model) -> Twin:
        """Match two readings of one file: joints with the same names are the same."""
        places = []
        for body in ours.bodies:
            joint = ours.joints[body.joint]
            if not joint.moving:
                continue
            if not model.existJointName(joint.name):
                raise ModelError(f"pinocchio's model has no joint {joint.name!r}")
            index = model.getJointId(joint.name)
            places.append(place(body, joint.name, model, index))
        if sum(p.v.stop - p.v.start for p in places) != model.nv:
            raise ModelError("pinocchio's model has joints that ours has not")
        model.armature = armature(places, model.nv)
        return Twin(ours, model, tuple(places))

    def q(self, q: ArrayLike) -> Array:
        """Return our coordinates (nq,) or (N, nq) in pinocchio's order and form."""
        q = np.asarray(q, dtype=np.float64)
        out = np.zeros((*q.shape[:-1], self.model.nq))
        for at in self._own:
            coordinates = at.body.ratio * q[..., at.body.q] + at.body.offset
            size = at.q.stop - at.q.start
            if coordinates.shape[-1] == size:
                out[..., at.q] = coordinates
            else:  # the last coordinate is an angle that pinocchio writes as (cos, sin)
                angle = coordinates[..., -1:]
                pair = [coordinates[..., :-1], np.cos(angle), np.sin(angle)]
                out[..., at.q] = np.concatenate(pair, axis=-1)
        return out

    def q_back(self, q: ArrayLike) -> Array:
        """Return pinocchio's coordinates in our order and form."""
        q = np.asarray(q, dtype=np.float64)
        out = np.zeros((*q.shape[:-1], self.ours.nq))
        for at in self._own:
            if at.body.coupled:
                continue
            coordinates = q[..., at.q]
            size = at.body.type.nq
            if coordinates.shape[-1] != size:
                angle = np.arctan2(coordinates[..., -1:], coordinates[..., -2:-1])
                coordinates = np.concatenate([coordinates[..., :-2], angle], axis=-1)
            out[..., at.body.q] = coordinates
        return out

    def v(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return our velocities at q in pinocchio's order and axes."""
        return self._rates(np.asarray(q, float), np.asarray(v, float), None)

    def a(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return our accelerations at q, v in pinocchio's order and axes."""
        return self._rates(np.asarray(q, float), np.asarray(a, float), np.asarray(v, float))

    def _rates(self, q: Array, rate: Array, v: Array | None) -> Array:
        out = np.zeros((*rate.shape[:-1], self.model.nv))
        for at in self._own:
            rates = at.body.ratio * rate[..., at.body.v]
            if at.body.type.name == "planar":
                rates = _into_child(q[..., at.body.q][..., 2], rates)
                if v is not None:  # d/dt of components along turning axes
                    w = v[..., at.body.v]
                    local = _into_child(q[..., at.body.q][..., 2], w)
                    rates[..., 0] += w[..., 2] * local[..., 1]
                    rates[..., 1] -= w[..., 2] * local[..., 0]
            out[..., at.v] = rates
        return out

    def G(self, q: Array) -> Array:
        """Return G (nv', nv) at one q: pinocchio's velocities are G times ours."""
        out = np.zeros((self.model.nv, self.ours.nv))
        for at in self._own:
            block = at.body.ratio * np.eye(at.body.type.nv)
            if at.body.type.name == "planar":
                block = _into_child(q[at.body.q][2], np.eye(3)).T
            out[at.v, at.body.v] = block
        return out

    def load(self, at: TwinPlace) -> Array:
        """Return the (6,) load of a joint from ``data.f``, in the child link's frame."""
        wrench = self.data.f[at.joint]
        return np.concatenate([at.turn @ wrench.linear, at.turn @ wrench.angular])

    def order(self) -> Array | None:
        """Return k with v' = v[k], where no joint needs more than a place; else None."""
        order = np.full(self.model.nv, -1)
        for at in self._own:
            if at.body.coupled or at.body.type.name == "planar":
                return None
            order[at.v] = np.arange(at.body.v.start, at.body.v.stop)
        return order


def armature(places: Sequence[TwinPlace], nv: int) -> Array:
    """Return the inertia of rotors along each of pinocchio's velocities (nv,)."""
    rotors = np.zeros(nv)
    for at in places:
        rotors[at.v] = at.body.rotor
    return rotors


def place(body: Body, name: str, model: Any, index: int) -> TwinPlace:
    """Return the place of a body that pinocchio's joint `index` moves."""
    q, v = model.idx_qs[index], model.idx_vs[index]
    twin_place = TwinPlace(
        body,
        name,
        slice(q, q + model.nqs[index]),
        slice(v, v + model.nvs[index]),
        index,
    )
    if not twin_place.follows and model.nvs[index] != body.type.nv:
        raise ModelError(
            f"joint {name!r} is {body.type.name} with {body.type.nv} degrees of freedom here, but "
            f"{model.joints[index].shortname()} with {model.nvs[index]} in pinocchio"
        )
    return twin_place


def _into_child(angle: Array, vectors: Array) -> Array:
    """Return (x, y, turn) vectors (..., 3) of the plane along axes turned by `angle`."""
    out = np.array(vectors, dtype=np.float64)
    c, s = np.cos(angle), np.sin(angle)
    out[..., 0] = c * vectors[..., 0] + s * vectors[..., 1]
    out[..., 1] = c * vectors[..., 1] - s * vectors[..., 0]
    return out


# A ``pinocchio.Model`` of our model, as pinocchio's own URDF reader would make it.
#
# Joints keep their names; a joint's frame is its child link's frame. Fixed joints and links become
# frames, with their inertia in the joint that moves them. Joints that ``<mimic>`` another are
# independent in pinocchio (see `Twin`).

ALIGNED = {
    "revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "continuous": (pin.JointModelRUBX, pin.JointModelRUBY, pin.JointModelRUBZ),
    "prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
SKEW = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "prismatic": pin.JointModelPrismaticUnaligned,
}


def to_pinocchio(ours: Model) -> Twin:
    """Return the twin of a model: ``.model`` is the ``pinocchio.Model``."""
    model = pin.Model()
    model.name = ours.name
    model.gravity = pin.Motion(np.concatenate([ours.gravity, np.zeros(3)]))
    numbers: dict[int, int] = {}  # body -> pinocchio joint
    frames: dict[int, Frame] = {}  # body -> pinocchio's joint frame in our body frame
    limits = {joint.name: joint.limits for joint in ours.description.joints}
    places: list[TwinPlace] = []
    for index, body in enumerate(ours.bodies):
        joint = ours.joints[body.joint]
        if not joint.moving:
            numbers[index], frames[index] = 0, Frame.identity()
            model.appendBodyToJoint(0, _inertia(body.inertia), _se3(body.placement))
            continue
        frames[index] = Frame.identity() if _needs_z(body, joint.frame) else joint.frame
        placed = body.placement @ frames[index]
        if body.parent >= 0:
            placed = frames[body.parent].inverse() @ placed
            if numbers[body.parent] == 0:
                placed = ours.bodies[body.parent].placement @ placed
        entry = _joint_model(body, frames[index].rotation.T @ np.array([0.0, 0.0, 1.0]), ours)
        carrier = numbers.get(body.parent, 0)
        number = model.addJoint(carrier, entry, _se3(placed), joint.name)
        inertia = body.inertia.seen_from(frames[index].inverse())
        model.appendBodyToJoint(number, _inertia(inertia), pin.SE3.Identity())
        numbers[index] = number
        turn = ours.links[joint.child].frame.rotation.T @ frames[index].rotation
        places.append(replace(place(body, joint.name, model, number), turn=turn))
        _limit(model, number, limits.get(joint.name))
    _frames(ours, model, numbers, frames)
    model.armature = armature(places, model.nv)
    return Twin(ours, model, tuple(places))


def _needs_z(body: Body, link: Frame) -> bool:
    """Return whether pinocchio has the joint only along z: then its frame is our body's.

    Its plane is always that of x and y, and its continuous joint about a skew axis cannot be made
    from Python.
    """
    skew = not np.any(link.rotation[2] == 1.0)
    return body.type.name == "planar" or (body.type.name == "continuous" and skew)


def _joint_model(body: Body, axis: Array, ours: Model) -> Any:
    kind = body.type.name
    if kind in ALIGNED:
        along = np.flatnonzero(axis == 1.0)
        return ALIGNED[kind][along[0]]() if len(along) else SKEW[kind](*axis)
    if kind == "cylindrical":
        both = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(*axis))
        both.addJoint(pin.JointModelPrismaticUnaligned(*axis), pin.SE3.Identity())
        return both
    if isinstance(body.type, Universal):
        second = ours.joints[body.joint].frame.rotation.T @ np.array(body.type.second)
        return pin.JointModelUniversal(axis, second)
    if isinstance(body.type, Helical):
        return pin.JointModelHelicalUnaligned(axis, body.type.pitch)
    simple = {
        "spherical": pin.JointModelSpherical,
        "floating": pin.JointModelFreeFlyer,
        "planar": pin.JointModelPlanar,
    }
    if kind not in simple:
        raise ModelError(f"pinocchio has no counterpart of the joint type {kind!r}")
    return simple[kind]()


def _frames(
    ours: Model, model: pin.Model, numbers: dict[int, int], frames: dict[int, Frame]
) -> None:
    """Add a frame for each link and each fixed joint."""
    ids: dict[int, int] = {}
    for joint in ours.joints:
        number = numbers[joint.body]
        inside = frames[joint.body].inverse() @ ours.links[joint.child].frame
        if number == 0:
            inside = ours.bodies[joint.body].placement @ inside
        before = ids.get(joint.parent, 0)
        if joint.moving:
            before = model.addJointFrame(number, before)
        elif joint.parent >= 0:
            kind = pin.FrameType.FIXED_JOINT
            before = model.addFrame(pin.Frame(joint.name, number, before, _se3(inside), kind))
        # The link's own inertia goes with its frame: pinocchio's joint has it lumped already.
        link = ours.links[joint.child]
        inertia = link.inertia.seen_from(link.frame.inverse())
        weight = pin.Inertia.Zero() if joint.moving else _inertia(inertia)
        frame = pin.Frame(link.name, number, before, _se3(inside), pin.FrameType.BODY, weight)
        ids[joint.child] = model.addFrame(frame, False)


def _limit(model: pin.Model, number: int, limits: Limits | None) -> None:
    if limits is None or model.nvs[number] != 1:
        return
    v, q = model.idx_vs[number], model.idx_qs[number]
    if limits.effort is not None:
        model.upperEffortLimit[v], model.lowerEffortLimit[v] = limits.effort, -limits.effort
    if limits.velocity is not None:
        model.upperVelocityLimit[v] = limits.velocity
        model.lowerVelocityLimit[v] = -limits.velocity
    if model.nqs[number] == 1 and limits.lower is not None and limits.upper is not None:
        model.lowerPositionLimit[q] = limits.lower
        model.upperPositionLimit[q] = limits.upper


def _se3(frame: Frame) -> pin.SE3:
    return pin.SE3(np.array(frame.rotation), np.array(frame.translation))


def _inertia(inertia: Inertia) -> pin.Inertia:
    # The constructor refuses inertias that no body has; files have them, and its reader takes them.
    out = pin.Inertia.Zero()
    out.mass, out.lever = inertia.mass, np.array(inertia.centre)
    out.inertia = np.array(inertia.central)
    return out
