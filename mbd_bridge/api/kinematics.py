"""Positions, velocities and accelerations of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.dynamics import MechanismDynamics
from mbd_bridge.arguments import by_name, finite_numbers, flag
from mbd_bridge.errors import StateError
from mbd_bridge.formats.table import Column, Table
from mbd_bridge.kinematics.frames import Frames
from mbd_bridge.kinematics.inverse import InversePath
from mbd_bridge.kinematics.paths import inverse_path, pose_targets
from mbd_bridge.motions import CompletionOptions, Motion
from mbd_bridge.motions.partial import REACHED, completed_motion
from mbd_bridge.motions.path import moving_targets
from mbd_bridge.solve.assembly import InitialGuess


class MechanismKinematics(MechanismDynamics):
    """Motions of a mechanism that are known in part."""

    def complete(
        self,
        recorded: Mapping[str, ArrayLike],
        time: ArrayLike,
        *,
        near: InitialGuess = None,
        frames: Frames = None,
        given: Iterable[str] | str | None = None,
        rest: bool = False,
        tolerance: float = REACHED,
        check: bool = True,
    ) -> Motion:
        """Return the whole motion that recorded coordinates or poses determine.

        Parameters
        ----------
        recorded : (N,) numbers by the names that columns of a motion have: coordinates ("crank"),
            their rates ("crank.vel", "crank.acc"), poses of a link or frame in the world
            ("tool.x", ..., "tool.roll", ... or "tool.qx", ...); rad, m and s. Rates that are not
            there are derived
        time : (N,) s
        near : the first position is the one nearest to these coordinates
        frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
        given : joints and frames that determine the motion; the others are compared; None: all
        rest : hold what the recorded columns leave open where `near` has it
        tolerance : residual, rad or sizes of the mechanism, at which a position is reached
        check : raise at the first time that cannot be reached; False leaves nan there

        Examples
        --------
        >>> motion = robot.complete({"crank": angles}, time)               # doctest: +SKIP
        """
        columns = by_name("recorded", recorded, "{'crank': angles}")
        times = finite_numbers("time", time)
        if times.ndim != 1 or not len(times):
            raise StateError(f"time: expected (N,) s, got the shape {times.shape}")
        values = [
            finite_numbers(f"recorded[{name!r}]", own, times.shape) for name, own in columns.items()
        ]
        heads = (Column("time", "s"), *(Column(name) for name in columns))
        table = Table(heads, np.column_stack([times, *values]), None, "recorded")
        options = CompletionOptions(near, frames, given, tolerance)
        return completed_motion(
            table, self.model, rest=flag("rest", rest), options=options, check=flag("check", check)
        )

    def inverse_kinematics(
        self,
        frame: str,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        time: ArrayLike | None = None,
        *,
        near: InitialGuess = None,
        frames: Frames = None,
        limits: bool = True,
        weights: Mapping[str, float] | None = None,
        tolerance: float = REACHED,
        check: bool = True,
    ) -> InversePath:
        """Return positions of the joints at which a frame is where it is to be, for N rows.

        They are the nearest to `near` that can be reached, and follow each other along a path.

        Parameters
        ----------
        frame : a link, a joint (the frame of its child) or one of `frames`
        position : (3,) or (N, 3) m, of its origin in the world; None: anywhere
        orientation : (4,) or (N, 4) quaternions x, y, z, w, or (3, 3) or (N, 3, 3) rotation
            matrices; None: any
        time : (N,) s, of a path: the frame's rates are derived, and v and a follow from them
            exactly; None: at rest
        near : the reference, by coordinate name or (nq,); of a redundant machine the position
            nearest to it
        frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
        limits : keep joints within the limits of the file
        weights : cost of moving a coordinate away from the reference, 1 where not named
        tolerance : residual, rad or sizes of the mechanism, at which a row is reached
        check : raise at the first row that cannot be reached; False returns the positions of least
            residual

        Examples
        --------
        >>> q = robot.inverse_kinematics("tool0", points).q                # doctest: +SKIP
        """
        rows, given = pose_targets(self.model, frame, position, orientation, frames)
        if time is not None:
            given = moving_targets(self.model, rows, given, time)
        return inverse_path(
            self.model,
            rows,
            given,
            near=near,
            limits=flag("limits", limits),
            weights=weights,
            tolerance=tolerance,
            check=flag("check", check),
        )
