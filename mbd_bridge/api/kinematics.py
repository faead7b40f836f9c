"""Where parts of a machine are and how they move, its loops closed, its worst poses: methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.base.options import with_options
from mbd_bridge.equations.cartesian import link_velocity, placement as placement_in
from mbd_bridge.equations.centroid import Centroid
from mbd_bridge.equations.frames import FrameKinematics, Reference
from mbd_bridge.kernels import is_traced
from mbd_bridge.loads.options import (
    WorkspaceOptions,
    WorstPoseOptions,
)
from mbd_bridge.loads.poses.workspace import Workspace
from mbd_bridge.loads.poses.worst import WorstPoses, worst_pose as search
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.frames import Frames, centroid_at, kinematics_of
from mbd_bridge.motion.inverse import InversePath
from mbd_bridge.motion.options import (
    InverseKinematicsOptions,
)
from mbd_bridge.motion.path import inverse_kinematics as nearest_path
from mbd_bridge.solve import Assembly, assembly
from mbd_bridge.solve.assembly import Assemblies, InitialGuess, InitialGuesses
from mbd_bridge.solve.options import AssemblyOptions, BatchAssemblyOptions


def placement(machine: Mechanism, q: ArrayLike, link: str, *, threads: int = 1) -> Array:
    """Return where a link is in the world, (4, 4) or (N, 4, 4).

    With P the result, x_world = P[:3, :3] @ x_link + P[:3, 3], in m: the columns of
    P[:3, :3] are the link's axes, P[:3, 3] is the origin of its frame. Symbols are taken as
    well: forces given to `simulate` as functions may ask where a link is.
    """
    if is_traced(q):
        return placement_in(machine.model, np.asarray(q), machine.model.link_number(link))
    (placed,) = machine.prepared.placement(link)(q, threads=threads)
    return placed


def velocity(
    machine: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    link: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    *,
    threads: int = 1,
) -> Array:
    """Return the velocity of a point of a link and the link's angular velocity.

    Parameters
    ----------
    q, v : one state or N states, or symbols as for `placement`
    point : (3,) m, in the link's frame

    Returns
    -------
    (6,) or (N, 6), in world axes: m/s, then rad/s.
    """
    inside = finite_numbers("point", point, (3,))
    if is_traced(q, v):
        number = machine.model.link_number(link)
        return link_velocity(machine.model, np.asarray(q), np.asarray(v), number, inside)
    (twist,) = machine.prepared.velocity(link)(q, v, inside, threads=threads)
    return twist


def frame_kinematics(
    machine: Mechanism,
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

    See Also
    --------
    placement, velocity, inverse_kinematics
    """
    return kinematics_of(machine.prepared, frame, q, v, reference, frames, threads)


def centroid(
    machine: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, threads: int = 1
) -> Centroid:
    """Return centre of mass, its Jacobian, momentum and energy at one state or at N states.

    Parameters
    ----------
    q, v : (nq,), (nv,) or (N, ...); None: at rest
    threads : share the states among this many threads
    """
    return centroid_at(machine.prepared, q, v, threads)


@with_options
def inverse_kinematics(
    machine: Mechanism,
    frame: str,
    position: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
    time: ArrayLike | None = None,
    **options: Unpack[InverseKinematicsOptions],
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
    **options : of the search

    See Also
    --------
    frame_kinematics, complete, assemble

    Examples
    --------
    >>> q = robot.inverse_kinematics("tool0", points).q                # doctest: +SKIP
    """
    return nearest_path(machine.model, frame, position, orientation, time, options)


@with_options
def assemble(
    machine: Mechanism, near: InitialGuess = None, **options: Unpack[AssemblyOptions]
) -> Assembly:
    """Return the state nearest to an initial guess that closes every loop; see
    `solve.assemble`.

    Parameters
    ----------
    near : given coordinates; those not named start from zero position
    **options : of the state

    See Also
    --------
    assemble_batch, inverse_kinematics, simulate

    Examples
    --------
    >>> q = bar.assemble(near={"crank": 1.0}, fixed="crank").q        # doctest: +SKIP
    """
    return assembly.assemble(machine.model, near, **options)


@with_options
def assemble_batch(
    machine: Mechanism, near: InitialGuesses = None, **options: Unpack[BatchAssemblyOptions]
) -> Assemblies:
    """Close the loops of many states, of one mechanism or of variants of it.

    Parameters
    ----------
    near : given coordinates by name, each one value or N of them, or an array (N, nq)
    **options : of the states
    """
    return assembly.assemble_batch(machine.prepared, near, **options)


@with_options
def worst_pose(
    machine: Mechanism,
    joints: Iterable[str | int] | str | None = None,
    *,
    payload: tuple[str, float] | tuple[str, float, ArrayLike] | None = None,
    samples: int = 2**17,
    refine: bool = True,
    threads: int = 1,
    **options: Unpack[WorstPoseOptions],
) -> WorstPoses:
    """Return the extremes of the loads of joints over all poses at rest, and the poses.

    Parameters
    ----------
    joints : names, of loop joints too; None for all
    payload : (link, mass in kg) or (link, mass, centre in the link's frame in m): a point mass
        more
    samples : poses of a Sobol sequence, rounded up to a power of two
    refine : go on from the best samples to the extremes
    threads : share the poses among this many threads
    **options : of the loads and of the poses

    See Also
    --------
    joint_loads, sample_poses, report

    Examples
    --------
    >>> worst = robot.worst_pose(["elbow"], payload=("tool0", 5.0))    # doctest: +SKIP
    >>> worst.worst("elbow", "actuation").q                            # doctest: +SKIP
    """
    robot = machine if payload is None else machine.with_payload(*_payload(payload))
    sampled = samples, refine, threads
    return search(robot.prepared, robot.forces, joints, *sampled, options)


@with_options
def sample_poses(
    machine: Mechanism, samples: int = 2**12, **options: Unpack[WorkspaceOptions]
) -> Array:
    """Return positions (N, nq) that are spread evenly over the workspace, loops closed.

    Parameters
    ----------
    samples : poses of a Sobol sequence, rounded up to a power of two; those that a machine with
        loops cannot take are left out
    **options : of the poses

    Examples
    --------
    >>> q = robot.sample_poses()                                       # doctest: +SKIP
    >>> reached = robot.frame_kinematics("tool0", q).position          # doctest: +SKIP
    """
    return Workspace.of(machine.prepared, options).sample(samples, options["seed"])


def _payload(payload: Any) -> tuple[str, float, ArrayLike]:
    """Return link, mass and centre of a payload."""
    match payload:
        case (str(link), mass):
            return link, real_number("payload", mass, "kg"), (0.0, 0.0, 0.0)
        case (str(link), mass, centre):
            return link, real_number("payload", mass, "kg"), finite_numbers("payload", centre, (3,))
    raise StateError(f"payload: expected (link, kg) or (link, kg, (x, y, z)), got {payload!r:.60}")
