"""Named frames: links, joints and frames of the caller's, and the kernels of their kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, finite_numbers
from mbd_bridge.base.errors import ModelError, StateError, one_of, unknown_name
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import FrameKinematics, Reference, frame_kinematics
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model, address
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.solve.check_states import unit_quaternions
from mbd_bridge.solve.dynamics import Traceable
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import Prepared

Placed: TypeAlias = "str | tuple[str, ArrayLike] | tuple[str, ArrayLike, ArrayLike]"
"""A link or joint by name, and a frame in it: (name, xyz) or (name, xyz, rpy), m and rad."""

Frames: TypeAlias = Mapping[str, Placed] | None
"""Frames by names of the caller's."""

EXAMPLE = "{'tool': ('wrist', (0, 0, 0.1))}"


@dataclass(frozen=True, eq=False)
class NamedFrame:
    """A frame that is fixed to a body.

    Attributes
    ----------
    name : as the caller calls it
    body : index of the body that carries it
    place : the frame in the body's
    """

    name: str
    body: int
    place: Frame


def find_frame(model: Model, name: str, frames: Frames = None) -> NamedFrame:
    """Return a frame by its name: one of `frames`, else a link, else a joint (on its child)."""
    given = by_name("frames", frames, EXAMPLE)
    if not isinstance(name, str) or name not in given:
        return NamedFrame(name, *_carried(model, name, tuple(given)))
    placed = given[name]
    if isinstance(placed, str):
        return NamedFrame(name, *_carried(model, placed, ()))
    where = f"frames[{name!r}]"
    if not isinstance(placed, tuple | list) or not 2 <= len(placed) <= 3:
        raise ModelError(f"{where}: expected a link, or as {EXAMPLE}, got {placed!r:.60}")
    link, xyz = placed[0], finite_numbers(f"{where}: xyz", placed[1], (3,), error=ModelError)
    rpy = np.zeros(3)
    if len(placed) == 3:
        rpy = finite_numbers(f"{where}: rpy", placed[2], (3,), error=ModelError)
    body, place = _carried(model, link, ())
    return NamedFrame(name, body, place @ Frame.from_rpy(xyz, rpy))


def is_frame(model: Model, name: str, frames: Frames = None) -> bool:
    """Return whether a name is that of a frame."""
    return name in (frames or {}) or name in model.link_index or name in model.joint_index


def _carried(model: Model, name: object, more: tuple[str, ...]) -> tuple[int, Frame]:
    if isinstance(name, str) and name in model.link_index:
        link = model.links[model.link_index[name]]
        return link.body, link.frame
    if isinstance(name, str) and name in model.joint_index:
        joint = model.joints[model.joint_index[name]]
        return joint.body, joint.frame
    known = dict.fromkeys([*more, *model.link_index, *model.joint_index])
    raise ModelError(unknown_name("frame (link or joint)", name, known))


def prepare_frames(
    model: Model,
    frames: Sequence[NamedFrame],
    reference: Reference = "local_world_aligned",
) -> Kernel:
    """Return the kernel (q, v) -> position (F, 3), rotation (F, 3, 3), jacobian, drift (F, 6)."""

    def function(q: Array, v: Array) -> tuple[Array, ...]:
        state = state_vectors(model, q, v, "world")
        each = [frame_kinematics(model, state, one.body, one.place, reference) for one in frames]
        return tuple(np.array([kin[k] for kin in each]) for k in range(4))

    inputs, outputs = {"q": model.nq, "v": model.nv}, ("position", "rotation", "jacobian", "drift")
    what = reference, [(frame.body, frame.place) for frame in frames]
    return model_kernel(model, "frames", inputs, outputs, function, what)


def traceable_frame(
    model: Model,
    name: str,
    reference: Reference = "local_world_aligned",
    frames: Frames = None,
) -> Traceable:
    """Return a frame's kinematics and its twist J v as a function of q and v."""
    frame = find_frame(model, name, frames)

    def function(q: Array, v: Array) -> tuple[Array, ...]:
        state = state_vectors(model, q, v, "world")
        found = frame_kinematics(model, state, frame.body, frame.place, reference)
        return *found, found.jacobian @ v

    outputs = *FrameKinematics._fields, "twist"
    return Traceable({"q": model.nq, "v": model.nv}, outputs, function)


def kinematics_of(
    prepared: Prepared,
    name: str,
    q: ArrayLike,
    v: ArrayLike | None,
    reference: Reference,
    frames: Frames,
    threads: int,
) -> FrameKinematics:
    """Return how a frame is placed and moves; see `Mechanism.frame_kinematics`."""
    reference = one_of("reference", reference, get_args(Reference), StateError)
    frame = find_frame(prepared.model, name, frames)
    key = "frame", address(frame.body, frame.place), reference
    kernel = prepared.get(key, lambda: prepare_frames(prepared.model, [frame], reference))
    outputs = kernel(*_states(prepared.model, q, v), threads=threads)
    single = np.ndim(outputs[0]) == 2
    return FrameKinematics(*(array[0] if single else array[:, 0] for array in outputs))


def centroid_at(prepared: Prepared, q: ArrayLike, v: ArrayLike | None, threads: int) -> Centroid:
    """Return centre of mass, its Jacobian, momentum and energy; see `Mechanism.centroid`."""
    kernel = prepared.kernel("centroid")
    return Centroid(*kernel(*_states(prepared.model, q, v), threads=threads))


def _states(model: Model, q: ArrayLike, v: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    """Return q with unit quaternions, and v, zero where it is not given."""
    positions = unit_quaternions(model, as_floats("q", q))
    return positions, np.zeros((*np.shape(positions)[:-1], model.nv)) if v is None else v
