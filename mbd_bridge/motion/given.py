"""What is given of a motion: coordinates of joints, and positions and orientations of frames.

Each is a row r(q) = 0 with a rate, as those of a loop:

    coordinates             difference(given, q)                 rate: the velocity
    positions of a frame    x - x_given, world axes              ẋ
    orientation of a frame  log(R R_givenᵀ), world axes          ω
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.frames import NamedFrame, prepare_frames
from mbd_bridge.solve.moves import (
    difference,
    exponential,
    logarithm,
    matrices_of,
    moved,
    quaternion_of,
)


@dataclass(frozen=True, eq=False)
class FrameRows:
    """A frame of which something is given.

    Attributes
    ----------
    frame : which one
    rows : of its six, x, y, z and the three turns, those that are given
    """

    frame: NamedFrame
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class GivenMotion:
    """Values of what is given, at N times.

    Attributes
    ----------
    time : (N,) s
    q, v, a : (N, nq), (N, nv): coordinates that are given; the others mean nothing
    position, rotation : (N, F, 3) m, (N, F, 3, 3) of the frames
    twist, change : (N, F, 6) [ẋ; ω] and [ẍ; ω̇] in world axes
    """

    time: Array
    q: Array
    v: Array
    a: Array
    position: Array
    rotation: Array
    twist: Array
    change: Array

    def part(self, rows: slice) -> GivenMotion:
        """Return some of the times."""
        return GivenMotion(*(getattr(self, name)[rows] for name in NAMES))

    def followed_by(self, other: GivenMotion) -> GivenMotion:
        """Return the times of both."""
        both = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in NAMES)
        return GivenMotion(*both)

    def between(self, start: int, end: int, parts: tuple[float, ...], model: Model) -> GivenMotion:
        """Return what is given on the straight way from one time to another, at parts of it."""
        k = np.array(parts)[:, None]
        n = len(parts)
        first, last = np.full(n, start), np.full(n, end)
        q = moved(model, self.q[first], k * difference(model, self.q[first], self.q[last]))
        position = self.position[first] + k[..., None] * (
            self.position[last] - self.position[first]
        )
        count = self.position.shape[1]
        R = self.rotation[first].reshape(-1, 3, 3)
        turned = self.rotation[last].reshape(-1, 3, 3) @ np.swapaxes(R, 1, 2)
        turn = logarithm(quaternion_of(turned)) * np.repeat(k, count, axis=0)
        rotation = (matrices_of(exponential(turn)) @ R).reshape(n, count, 3, 3)
        return GivenMotion(
            self.time[first],
            q,
            self.v[first],
            self.a[first],
            position,
            rotation,
            self.twist[first],
            self.change[first],
        )


NAMES = tuple(own.name for own in fields(GivenMotion))


class GivenRows:
    """The rows of what is given, without dimension.

    Parameters
    ----------
    columns : velocities whose coordinates are given
    frames : of which something is given

    Attributes
    ----------
    names : of the rows, such as "crank" and "tool.x"
    scale : (rows,) what they are divided by: the mechanism's size for lengths, 1 for angles
    """

    def __init__(
        self, model: Model, columns: tuple[int, ...], frames: tuple[FrameRows, ...]
    ) -> None:
        self.model, self.columns, self.frames = model, columns, frames
        self._of_frames = np.array(
            [6 * f + row for f, own in enumerate(frames) for row in own.rows], dtype=int
        )
        self._kernel: Kernel | None = None
        sizes = [model.size if row % 6 < 3 else 1.0 for row in self._of_frames]
        self.scale = np.concatenate([model.velocity_scale[list(columns)], sizes])
        turns = ("x", "y", "z", "turn about x", "turn about y", "turn about z")
        self.names = tuple(model.velocity_names[k] for k in columns) + tuple(
            f"{own.frame.name}.{turns[row]}" for own in frames for row in own.rows
        )

    def __len__(self) -> int:
        return len(self.names)

    def place(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return positions, rotations, Jacobians and drifts of the frames at states (n, ...)."""
        if not self.frames:
            n = len(q)
            empty = np.zeros((n, 0, 3)), np.zeros((n, 0, 3, 3))
            return *empty, np.zeros((n, 0, 6, self.model.nv)), np.zeros((n, 0, 6))
        if self._kernel is None:
            self._kernel = prepare_frames(self.model, [own.frame for own in self.frames])
        x, R, J, drift = self._kernel(q, v)
        return x, R, J, drift

    def residual(self, q: Array, x: Array, R: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return the rows (n, rows) at positions, for the times with these numbers."""
        own = difference(self.model, given.q[numbers], q)[:, list(self.columns)]
        return self._joined(own, x - given.position[numbers], R, given.rotation[numbers])

    def steps(self, given: GivenMotion, start: Array, end: Array) -> Array:
        """Return by how much what is given changes between times (n, rows)."""
        own = difference(self.model, given.q[start], given.q[end])[:, list(self.columns)]
        way = given.position[end] - given.position[start]
        return self._joined(own, way, given.rotation[end], given.rotation[start])

    def jacobian(self, J: Array) -> Array:
        """Return the rows' derivatives (n, rows, nv) for dimensionless velocities."""
        n, nv = len(J), self.model.nv
        out = np.zeros((n, len(self), nv))
        count = len(self.columns)
        out[:, np.arange(count), list(self.columns)] = 1.0
        scaled = (
            J.reshape(n, 6 * len(self.frames), nv)[:, self._of_frames] * self.model.velocity_scale
        )
        out[:, count:] = scaled / self.scale[count:, None]
        return out

    def rates(self, given: GivenMotion) -> Array:
        """Return the rows' rates (N, rows)."""
        return self._of(given.v, given.twist)

    def changes(self, given: GivenMotion, drift: Array) -> Array:
        """Return the rows' accelerations (N, rows), less those that velocities make."""
        return self._of(given.a, given.change - drift)

    def _of(self, own: Array, frames: Array) -> Array:
        of_frames = frames.reshape(len(own), 6 * len(self.frames))[:, self._of_frames]
        return np.asarray(np.hstack([own[:, list(self.columns)], of_frames]) / self.scale)

    def _joined(self, own: Array, way: Array, R: Array, R_given: Array) -> Array:
        n, count = way.shape[:2]
        turned = np.einsum("nfij,nfkj->nfik", R, R_given).reshape(n * count, 3, 3)
        turn = logarithm(quaternion_of(turned)).reshape(n, count, 3)
        both = np.concatenate([way, turn], axis=2).reshape(n, 6 * count)[:, self._of_frames]
        return np.asarray(np.hstack([own, both]) / self.scale)
