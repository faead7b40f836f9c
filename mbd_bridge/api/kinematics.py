"""Positions, velocities and accelerations of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.dynamics import MechanismDynamics
from mbd_bridge.base.arguments import as_floats, by_name, finite_numbers, flag
from mbd_bridge.base.errors import StateError, one_of, real_number, whole_number
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import FrameKinematics, Reference
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.loads import LoadRequest
from mbd_bridge.loads.convention import Point
from mbd_bridge.loads.options import At, In, On
from mbd_bridge.loads.poses.static import static_loads
from mbd_bridge.loads.poses.workspace import CLEARANCE, Ranges, Workspace
from mbd_bridge.loads.poses.worst import WorstPoses, worst_poses
from mbd_bridge.loads.selected import actuation_names, select_joints
from mbd_bridge.model import Model, rebuilt
from mbd_bridge.model.builder import with_payload
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import CompletionOptions, Motion, Reading
from mbd_bridge.motion.frames import Frames, find_frame, prepare_centroid, prepare_frames
from mbd_bridge.motion.inverse import InversePath
from mbd_bridge.motion.partial import completed_motion
from mbd_bridge.motion.path import inverse_path, moving_targets, pose_targets
from mbd_bridge.motion.reading import REACHED
from mbd_bridge.solve.assembly import InitialGuess
from mbd_bridge.solve.check_states import unit_quaternions
from mbd_bridge.solve.constrained import actuated_joints


class MechanismKinematics(MechanismDynamics):
    """Motions of a mechanism that are known in part, and named configurations."""

    @property
    def configurations(self) -> dict[str, Array]:
        """Named configurations of the file by name, each q (nq,): an MJCF's keyframes, group states
        of ``NAME.srdf``. Joints that one does not name stand at their neutral position.

        They are as the file says: loops that they leave open are closed by `assemble`.
        """
        model, found = self.model, dict[str, Array]()
        for name, values in model.description.configurations.items():
            q = model.neutral()
            for body in model.bodies:
                given = values.get(model.joints[body.joint].name, ())
                if len(given) == body.type.nq and not body.coupled:  # a fixed base has none
                    q[body.q] = body.type.normalise(np.array(given))
            found[name] = q
        return found

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
        if not columns:
            raise StateError("recorded: expected columns by name, {'crank': angles}, got none")
        times = finite_numbers("time", time)
        if times.ndim != 1 or not len(times):
            raise StateError(f"time: expected (N,) s, got the shape {times.shape}")
        values = [
            finite_numbers(f"recorded[{name!r}]", own, times.shape) for name, own in columns.items()
        ]
        heads = (Column("time", "s"), *(Column(name) for name in columns))
        table = ColumnTable(heads, np.column_stack([times, *values]), None, "recorded")
        options = CompletionOptions(near, frames, given, tolerance)
        reading = Reading(flag("rest", rest), completion=options)
        return completed_motion(table, self.model, reading, check=flag("check", check))

    def frame_kinematics(
        self,
        frame: str,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        reference: Reference = "local_world_aligned",
        frames: Frames = None,
        threads: int = 1,
    ) -> FrameKinematics:
        """Return position, rotation, Jacobian J and J̇ q̇ of a frame at one state or at N states.

        The twist is J v, linear part first; its derivative J a + J̇ v. Singular values of J:
        ``numpy.linalg.svd(found.jacobian, compute_uv=False)``.

        Parameters
        ----------
        frame : a link, a joint (the frame of its child) or one of `frames`
        q, v : (nq,), (nv,) or (N, ...); v counts for J̇ v only; None: at rest
        reference : "local_world_aligned": velocity of the frame's origin, world axes; "local": in
            the frame's own axes; "world": of the body's point at the world's origin. As pinocchio's
        frames : frames by name: a link, or (link, xyz) or (link, xyz, rpy)
        threads : share the states among this many threads
        """
        reference = one_of("reference", reference, get_args(Reference), StateError)
        own = find_frame(self.model, frame, frames)
        kernel = self.prepared.get(
            ("frame", own.identity, reference), lambda: prepare_frames(self.model, [own], reference)
        )
        x, R, J, drift = kernel(*_states(self.model, q, v), threads=threads)
        one = np.ndim(x) == 2
        each = (np.asarray(part)[0] if one else np.asarray(part)[:, 0] for part in (x, R, J, drift))
        return FrameKinematics(*each)

    def centroid(self, q: ArrayLike, v: ArrayLike | None = None, *, threads: int = 1) -> Centroid:
        """Return centre of mass, its Jacobian, momentum and energy at one state or at N states.

        Parameters
        ----------
        q, v : (nq,), (nv,) or (N, ...); None: at rest
        threads : share the states among this many threads
        """
        kernel = self.prepared.get("centroid", lambda: prepare_centroid(self.model))
        return Centroid(*kernel(*_states(self.model, q, v), threads=threads))

    def sample_poses(
        self,
        samples: int = 2**12,
        *,
        ranges: Ranges = None,
        near: InitialGuess = None,
        actuated: Iterable[str] | str | None = None,
        clearance: float = CLEARANCE,
        seed: int = 0,
    ) -> Array:
        """Return positions (N, nq) that are spread evenly over the workspace, loops closed.

        Parameters
        ----------
        samples : poses of a Sobol sequence, rounded up to a power of two; those that a machine with
            loops cannot take are left out
        ranges, near, actuated, clearance, seed : as for `worst_pose`

        Examples
        --------
        >>> q = robot.sample_poses()                                       # doctest: +SKIP
        >>> reached = robot.frame_kinematics("tool0", q).position          # doctest: +SKIP
        """
        model = self.model
        actuators = actuated_joints(model, actuated) if model.has_loops else None
        clear = real_number("clearance", clearance, "a number from 0 to 1")
        workspace = Workspace(self.prepared, ranges, near, actuators, clear)
        return workspace.sample(whole_number("samples", samples), whole_number("seed", seed, 0))

    def worst_pose(
        self,
        joints: Iterable[str | int] | str | None = None,
        *,
        payload: tuple[str, float] | tuple[str, float, ArrayLike] | None = None,
        samples: int = 2**17,
        ranges: Ranges = None,
        near: InitialGuess = None,
        on: On = "child",
        at: At | Point = "joint",
        in_: In = "child",
        actuated: Iterable[str] | str | None = None,
        clearance: float = CLEARANCE,
        refine: bool = True,
        seed: int = 0,
        threads: int = 1,
    ) -> WorstPoses:
        """Return the extremes of the loads of joints over all poses at rest, and the poses.

        Parameters
        ----------
        joints : names, of loop joints too; None for all
        payload : (link, kg) or (link, kg, centre in the link's frame in m): a point mass more
        samples : poses of a Sobol sequence, rounded up to a power of two
        ranges : (lowest, highest) by coordinate, or one value; others: the limits of the file
        near : coordinates that are not sampled, such as those of a base; in a machine with loops
            where the others are looked for
        on, at, in_ : see `joint_loads`
        actuated : of a machine with loops, the actuated joints, which are sampled; None: those
            that the file names
        clearance : of a machine with loops, poses nearer to a singular position or a dead centre
            are left out: there loads have no bound. 0 is singular, 1 as far as can be
        refine : go on from the best samples to the extremes
        seed : of the sequence
        threads : share the poses among this many threads

        Examples
        --------
        >>> worst = robot.worst_pose(["elbow"], payload=("tool0", 5.0))    # doctest: +SKIP
        >>> worst.worst("elbow", "actuation").q                            # doctest: +SKIP
        """
        mechanism: MechanismKinematics = self
        if payload is not None:
            described = with_payload(self.model.description, *_payload(payload))
            mechanism = MechanismKinematics(rebuilt(self.model, described), self.forces)
        model = mechanism.model
        actuators = actuated_joints(model, actuated) if model.has_loops else None
        request = LoadRequest.of(
            model, joints, on=on, at=at, in_=in_, actuated=actuators, forces=mechanism.forces
        )
        names, asked = select_joints(model, request.joints, cuts=model.has_loops)
        return worst_poses(
            model,
            names,
            actuation_names(model, asked),
            static_loads(model, request, whole_number("threads", threads)),
            Workspace(
                mechanism.prepared,
                ranges,
                near,
                actuators,
                real_number("clearance", clearance, "a number from 0 to 1"),
            ),
            samples=whole_number("samples", samples),
            seed=whole_number("seed", seed, 0),
            refine=flag("refine", refine),
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


def _states(model: Model, q: ArrayLike, v: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    """Return q with unit quaternions, and v, zero where it is not given."""
    places = unit_quaternions(model, as_floats("q", q))
    return places, np.zeros((*np.shape(places)[:-1], model.nv)) if v is None else v


def _payload(payload: Any) -> tuple[str, float, ArrayLike]:
    """Return link, mass and centre of a payload."""
    match payload:
        case (str(link), mass):
            return link, real_number("payload", mass, "kg"), (0.0, 0.0, 0.0)
        case (str(link), mass, centre):
            return link, real_number("payload", mass, "kg"), finite_numbers("payload", centre, (3,))
    raise StateError(f"payload: expected (link, kg) or (link, kg, (x, y, z)), got {payload!r:.60}")
