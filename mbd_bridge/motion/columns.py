"""What the columns of a table say: times that grow, numbers in the units asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mbd_bridge.base.arguments import check_steps
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError, some, unknown_name
from mbd_bridge.base.readable import instant
from mbd_bridge.files.bags import CLOCK, HEADER
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import JOINT_TYPES, Body, JointType, Model, ModelJoint
from mbd_bridge.model.quaternions import quaternions_of_angles
from mbd_bridge.model.spatial import Frame, Inertia
from mbd_bridge.model.units import RATE, velocity_units
from mbd_bridge.motion.frames import Frames, is_frame
from mbd_bridge.motion.table import LOAD, is_load

FOLLOWS = 1e-3
"""How far, rad or m, the column of a ``<mimic>`` joint may be from what its leader makes it."""
CLOCK_JUMP = 1e4
"""A step of so many usual ones is no gap: another clock took over."""


def times(table: ColumnTable) -> Floats:
    """Return the times, s, which grow from row to row."""
    if "time" not in table.names and len(table.values) == 1:
        return np.zeros(1)  # a pose
    if "time" not in table.names:
        raise table.error(
            f"expected a column 'time' (or 't'), s; the header has: {', '.join(table.names[:20])}; "
            f"say which one holds the time, --rename NAME=time (rename={{'NAME': 'time'}})"
        )
    time = table.in_si("time", "s")
    steps = np.diff(time)
    advice = "sort the rows and keep one a time"
    if table.attributes.get(CLOCK) == HEADER:
        advice = 'take the times of the recording, clock="bag" (--clock bag)'
    bad = np.flatnonzero(steps <= 0.0)
    if len(bad):
        row = int(bad[0]) + 1
        what = f"comes after {instant(time[row - 1])} s"
        if time[row] == time[row - 1]:
            what = "stands twice"
            if CLOCK not in table.attributes:
                advice = "give finer time stamps, or leave such rows out, --gaps drop (gaps='drop')"
        raise table.error(
            f"expected times that grow from row to row, but {instant(time[row])} s {what}; "
            f"{advice}",
            row,
            "time",
        )
    try:
        check_steps(time)
    except StateError as error:
        raise table.error(str(error), 1, "time") from None
    if len(steps) and steps.max() > CLOCK_JUMP * np.median(steps):
        row = int(np.argmax(steps)) + 1
        raise table.error(
            f"the clock jumps by {steps[row - 1]:g} s (usual step {np.median(steps):g} s): these "
            f"are two recordings; cut the file here",
            row,
            "time",
        )
    return time


def compare_followers(table: ColumnTable, model: Model, q: Floats) -> None:
    """Complain of a coupled joint's column that contradicts its leader's, in q (N, nq)."""
    for joint in model.joints:
        if joint.follows is None or joint.name not in table.names:
            continue
        body = model.bodies[joint.body]
        leader = model.joints[joint.follows].name
        unit = "m" if joint.type.name == "prismatic" else "rad"
        own = table.in_si(joint.name, unit)
        apart = np.abs(own - (body.ratio * q[:, body.q.start] + body.offset))
        row = int(np.argmax(apart))
        if apart[row] > FOLLOWS:
            raise table.error(
                f"the joint follows {leader!r} (<mimic>): expected {body.ratio:g} * "
                f"{leader} + {body.offset:g}, which is {apart[row]:.3g} {unit} away; correct "
                f"the column, or leave it out",
                row,
                joint.name,
            )


def in_our_words(table: ColumnTable, model: Model) -> ColumnTable:
    """Return the table with ``t`` called time."""
    if "time" in table.names or "t" not in table.names or "t" in model.coordinate_names:
        return table
    columns = [replace(c, name="time") if c.name == "t" else c for c in table.columns]
    return replace(table, columns=tuple(columns))


def check_names(table: ColumnTable, model: Model) -> None:
    """Complain of columns that mean nothing."""
    known = ["time", *model.coordinate_names]
    known += [name + suffix for suffix in (".vel", ".acc") for name in model.velocity_names]
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    known += [name + suffix for name in followers for suffix in ("", ".vel", ".acc")]
    unknown = [name for name in table.names if name not in known]
    if LOAD in table.attributes:  # loads that were written beside the motion
        unknown = [name for name in unknown if not is_load(name, model)]
    if not unknown:
        return
    name = unknown[0]
    joint = model.joint_index.get(name)
    if joint is not None:
        own = [n for n in model.coordinate_names if n.startswith(f"{name}.")]
        instead = f"its coordinates are {', '.join(own)}" if own else "a fixed joint has none"
        message = f"this is a joint, not a coordinate: {instead}"
    else:
        message = unknown_name("coordinate or rate", name, known)
    more = f"; {len(unknown)} columns are unknown: {some(unknown)}" if len(unknown) > 1 else ""
    raise table.error(f"{message}{more}; rename or remove what is not known", column=name)


# The columns of a motion that gives a part of a machine's coordinates, or poses of frames.
#
#     <coordinate>, .vel, .acc         as in a whole motion (`motions.motion`)
#     <mimic joint>                    stands for the joint that it follows
#     <frame>.x, .y, .z                origin of a frame in the world, m; rates .x.vel, m/s
#     <frame>.qx, .qy, .qz, .qw        its orientation; rates .wx.vel, ... in the frame's axes
#     <frame>.roll, .pitch, .yaw       the same as URDF's angles, rad: Rz(yaw) Ry(pitch) Rx(roll)
#
# A frame is a link, a joint or one of the caller's. Floating and ball joints may have roll, pitch
# and yaw too. The columns are read as the motion of a stand-in model that has the joints that are
# given, three slides for the origin of each frame and a ball for its orientation.

ORIGIN = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
QUATERNION = ("qx", "qy", "qz", "qw")
TURNS = ("wx", "wy", "wz")
SUFFIXES = (".vel", ".acc")
TURN = 3
"""Stands for a frame's orientation, beside 0 to 2 for its origin."""


class GivenColumns:
    """What the columns of a table give.

    Attributes
    ----------
    joints : indices of joints of which a coordinate is given
    origins : frames and which of x, y and z of them is given
    orientations : frames of which the orientation is given
    notes : what was taken for granted
    stand_in : the model whose motion they are
    sources : of each of its independent joints: the joint's index, or a frame and one of x, y, z
        (0 to 2) or its orientation (TURN)
    """

    def __init__(self, model: Model, table: ColumnTable, frames: Frames) -> None:
        self.model, self._frames = model, frames
        self._coordinates = _owners(model)
        self._by_angles: dict[str, tuple[str, ...]] = {}
        self._followed: dict[str, int] = {}
        self._followers: list[int] = []
        self.joints: set[int] = set()
        self.origins: dict[str, list[int]] = {}
        self.orientations: list[str] = []
        self.notes: list[str] = []
        self.sources: list[int | tuple[str, int]] = []
        rates: list[tuple[str, str]] = []
        for name in table.names:
            base, rate = _split(name)
            if base in ("time", "t") or (LOAD in table.attributes and is_load(name, model)):
                continue
            if rate:
                rates.append((name, base))
            elif not self._position(base, table):
                raise table.error(self._unknown(base), column=name)
        self._check_rates(table, rates)
        self.stand_in = self._stand_in()

    def of(self, table: ColumnTable) -> ColumnTable:
        """Return the columns of the stand-in model."""
        columns, values = list[Column](), list[Floats]()
        angles = {f"{base}.{part}" for base, parts in self._by_angles.items() for part in parts}
        for column in table.columns:
            base, rate = _split(column.name)
            if base in angles or (LOAD in table.attributes and is_load(column.name, self.model)):
                continue
            if base in self._followed:
                value, new = self._of_leader(table, base, rate)
            else:
                value, new = table.column(column.name), column
            columns.append(replace(new, name="time") if base == "t" else new)
            values.append(value)
        for base, parts in self._by_angles.items():
            quaternion = quaternions_of_angles(
                *(
                    table.in_si(f"{base}.{part}", "rad")
                    if part in parts
                    else np.zeros(len(table.values))
                    for part in ANGLES
                )
            )
            columns += [Column(f"{base}.{part}") for part in QUATERNION]
            values += list(quaternion.T)
        return replace(table, columns=tuple(columns), values=np.column_stack(values))

    def _position(self, name: str, table: ColumnTable) -> bool:
        """Take in a column of positions; return whether it is one."""
        model = self.model
        if name in self._coordinates:
            self.joints.add(self._coordinates[name])
            return True
        follower = model.joint_index.get(name)
        if follower is not None and model.joints[follower].follows is not None:
            self._follow(name, follower, table)
            return True
        base, _, part = name.rpartition(".")
        joint = model.joint_index.get(base)
        if part in ANGLES and joint is not None and model.joints[joint].type.nq > 3:
            self.joints.add(joint)
        elif not is_frame(model, base, self._frames):
            return False
        elif part in ORIGIN:
            self.origins.setdefault(base, []).append(ORIGIN.index(part))
        elif part in (*QUATERNION, *ANGLES):
            if base not in self.orientations:
                self.orientations.append(base)
        else:
            return False
        if part in ANGLES:
            self._by_angles[base] = (*self._by_angles.get(base, ()), part)
        return True

    def _follow(self, name: str, number: int, table: ColumnTable) -> None:
        """Take in the column of a joint that follows another: in its place, or to compare."""
        model = self.model
        leader = model.joints[number].follows
        assert leader is not None
        names = [
            model.joints[leader].name + suffix for suffix in model.joints[leader].type.coordinates
        ]
        first = leader not in self.joints and not set(names) & set(table.names)
        if first and model.bodies[model.joints[number].body].ratio:
            self._followed[name] = leader
            self.joints.add(leader)
        else:
            self.joints.add(leader)
            self._followers.append(number)

    def _of_leader(self, table: ColumnTable, base: str, rate: str) -> tuple[Floats, Column]:
        """Return a column of a joint that follows as one of its leader."""
        leader = self.model.joints[self._followed[base]]
        body = self.model.bodies[self.model.joint(base).body]
        unit = velocity_units(leader.type)[0] + RATE[("", *SUFFIXES).index(rate)]
        value = table.in_si(base + rate, unit) - (0.0 if rate else body.offset)
        return value / body.ratio, Column(leader.name + rate)

    def _check_rates(self, table: ColumnTable, rates: Sequence[tuple[str, str]]) -> None:
        """Refuse rates of what is not given; say which angles are taken to be zero."""
        for base, parts in self._by_angles.items():
            missing = [part for part in ANGLES if part not in parts]
            if missing:
                self.notes.append(f"{base}: {' and '.join(missing)} taken to be zero")
        known = {*self._followed, *(self.model.joints[k].name for k in self._followers)}
        for number in self.joints:
            joint = self.model.joints[number]
            known |= {joint.name + suffix for suffix in joint.type.velocities}
        known |= {f"{name}.{ORIGIN[k]}" for name, own in self.origins.items() for k in own}
        known |= {f"{name}.{part}" for name in self.orientations for part in TURNS}
        for column, base in rates:
            if base in known:
                continue
            name, _, part = base.rpartition(".")
            if part in ANGLES:
                message = (
                    f"rates of angles are not read: give {', '.join(f'{name}.{w}' for w in TURNS)} "
                    f"(rad/s in the frame's own axes), or leave them out"
                )
            elif base in self.model.velocity_names:
                message = "there is a column for the rate, but none for the position; add it"
            else:
                message = self._unknown(base)
            raise table.error(message, column=column)

    def _unknown(self, name: str) -> str:
        frames = [*(self._frames or {}), *self.model.link_index]
        known = [*self._coordinates, *(f"{frame}.x" for frame in frames)]
        return unknown_name("coordinate, rate or pose of a frame", name, known)

    def _stand_in(self) -> Model:
        model, bodies, joints = self.model, list[Body](), list[ModelJoint]()
        q = v = 0

        def add(joint: ModelJoint, kind: JointType) -> None:
            nonlocal q, v
            own = Body(
                -1,
                len(joints),
                kind,
                Frame.identity(),
                Inertia.zero(),
                slice(q, q + kind.nq),
                slice(v, v + kind.nv),
            )
            joints.append(replace(joint, body=len(bodies), type=kind, follows=None))
            bodies.append(own)
            q, v = q + kind.nq, v + kind.nv

        for number in sorted(self.joints):
            add(model.joints[number], model.joints[number].type)
            self.sources.append(number)
        some = model.joints[0]
        for name, own in self.origins.items():
            for k in own:
                add(replace(some, name=f"{name}.{ORIGIN[k]}"), JOINT_TYPES["prismatic"]())
                self.sources.append((name, k))
        for name in self.orientations:
            add(replace(some, name=name), JOINT_TYPES["spherical"]())
            self.sources.append((name, TURN))
        for number in self._followers:
            joint = model.joints[number]
            assert joint.follows is not None
            leader = self.sources.index(joint.follows)
            body = model.bodies[joint.body]
            places = bodies[leader].q, bodies[leader].v
            joints.append(replace(joint, body=len(bodies), follows=leader))
            bodies.append(replace(body, parent=-1, q=places[0], v=places[1]))
        return replace(
            model,
            bodies=tuple(bodies),
            joints=tuple(joints),
            links=(),
            loops=(),
            cuts=(),
            nq=q,
            nv=v,
        )


def is_partial(table: ColumnTable, model: Model, frames: Frames) -> bool:
    """Return whether a table has poses of frames, or a part of the coordinates of closed loops."""
    names = {_split(name)[0] for name in table.names}
    if any(_is_pose(model, name, frames) for name in names):
        return True
    missing = [name for name in model.coordinate_names if name not in names]
    followers = {joint.name for joint in model.joints if joint.follows is not None}
    return model.has_loops and bool(missing) and bool(names & {*model.coordinate_names, *followers})


def _is_pose(model: Model, name: str, frames: Frames) -> bool:
    base, _, part = name.rpartition(".")
    known = name in model.coordinate_names or name in model.velocity_names
    return not known and part in (*ORIGIN, *QUATERNION, *ANGLES) and is_frame(model, base, frames)


def _owners(model: Model) -> dict[str, int]:
    """Return the joint of each coordinate by the coordinate's name."""
    return {
        joint.name + suffix: k
        for k, joint in enumerate(model.joints)
        if joint.moving and joint.follows is None
        for suffix in joint.type.coordinates
    }


def _split(name: str) -> tuple[str, str]:
    """Return the name of a column without ``.vel`` or ``.acc``, and which of these it had."""
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix), suffix
    return name, ""
