"""What a user calls by name: load a file or a motion, simulate, ask the referees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from mbd_bridge.api.histories import HistoryOptions, HistoryRequest
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.sources import describe
from mbd_bridge.base.arguments import file_path, finite_numbers, flag
from mbd_bridge.base.errors import ModelError, warn
from mbd_bridge.base.extensions import extension, of_applications
from mbd_bridge.base.options import part, with_options
from mbd_bridge.engines.crosscheck import Report, crosscheck as compare
from mbd_bridge.files import flex_sidecar
from mbd_bridge.files.forces_sidecar import SUFFIX
from mbd_bridge.files.loops_sidecar import existing_sidecar, unread_sidecars
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.whole_file import inputs_kept
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads import JointLoads, loads_from_table
from mbd_bridge.loads.convention import Plane, Point
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.model import RANK_TOLERANCE, Cuts, build_model
from mbd_bridge.model.flexible import FlexibleLink
from mbd_bridge.model.flexible_links import with_flexible
from mbd_bridge.model.parameters import Parameters, ParameterValues
from mbd_bridge.motion import Motion, Reading, motion_from_file, pieces_from_file
from mbd_bridge.motion.external import (
    ExternalForces,
    Reads,
    external_from_file,
)
from mbd_bridge.motion.external.files import ForceNaming, How
from mbd_bridge.motion.external.force import Direction, Outside
from mbd_bridge.motion.options import ReadingOptions
from mbd_bridge.solve.assembly import Assemblies, InitialGuesses, assemble_batch as assemble_states
from mbd_bridge.solve.tolerances import ASSEMBLED
from mbd_bridge.solve.wrenches import Axes, check_axes

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import Actuator, Actuators, BearingsGiven

CORE_SIDECARS = ("loops", "forces", "flex")
"""Words of the sidecars of every machine; applications have more."""


def load(
    path: str | PathLike[str],
    *,
    floating: bool = False,
    gravity: ArrayLike | None = None,
    cuts: Cuts = "authored",
    rank_tolerance: float = RANK_TOLERANCE,
    package_path: Sequence[str | PathLike[str]] = (),
    arguments: Mapping[str, object] | None = None,
    forces: str | PathLike[str] | Iterable[ForceElement] | None = None,
    actuators: str | PathLike[str] | Actuators | Iterable[Actuator] | None = None,
    bearings: str | PathLike[str] | BearingsGiven | None = None,
    flexible: str | PathLike[str] | Iterable[FlexibleLink] | None = None,
    joint_dynamics: bool | None = None,
) -> Mechanism:
    """Read a mechanism from a URDF, SDF, xacro (extra ``xacro``) or MJCF file (extra ``mjcf``).

    Parameters
    ----------
    path : the file, whose content tells its format; ``NAME.loops.yaml``, ``NAME.forces.yaml``,
        ``NAME.actuators.yaml``, ``NAME.bearings.yaml`` and ``NAME.flex.yaml`` beside it are read
        too
    floating : give the root link six degrees of freedom instead of welding it to the ground
    gravity : (3,) m/s², in the world's axes; None: the file's, (0, 0, -9.81) where it says none
    cuts : which joints are cut where loops close: "authored", as the file says; "weighted", so that
        the tree is shallow (Lee94); or their names. Motion and loads do not depend on it
    rank_tolerance : how far (rad, or parts of the mechanism's size) rounded numbers in the file may
        put a redundant constraint off; beyond it the constraint counts, and may hold the machine.
        ``loops.report()`` names what was taken for redundant, and by how much it is off
    package_path : folders with packages, models and meshes: of ``package://``, ``model://``,
        relative meshes, ``$(find PACKAGE)`` in xacro, ``<include>`` in SDF; the file's
        surroundings, ROS_PACKAGE_PATH and GZ_SIM_RESOURCE_PATH are searched too
    arguments : values of the arguments of a xacro file, ``{"payload": 7}``
    forces : the mechanism's force elements, or the file with them; None for ``NAME.forces.yaml``,
        if it is there, and what acts in the file's joints (see `joint_dynamics`); () for none. They
        act by default (`Mechanism.forces`)
    actuators : motors and gears, or the file with them; None for ``NAME.actuators.yaml``, if it is
        there, () for none. They have no part in the dynamics (`Mechanism.motors`)
    bearings : rolling bearings by joint, or the file with them; None for ``NAME.bearings.yaml``, if
        it is there, {} for none (`Mechanism.bearings`)
    flexible : links that bend, or the file with them; None for ``NAME.flex.yaml``, if it is there,
        () for none: a rigid machine
    joint_dynamics : whether what the file says of its joints acts: springs, damping and friction as
        force elements, rotor inertia (MJCF: armature) in the mass matrix. None: as in the program
        that the format belongs to, which is yes for MJCF and SDF; a URDF belongs to none
    """
    description = describe(path, package_path=package_path, arguments=arguments)
    if joint_dynamics is not None:
        acts = flag("joint_dynamics", joint_dynamics)
        description = replace(description, joint_dynamics=acts)
    if flexible is None:
        flexible = existing_sidecar(path, flex_sidecar.SUFFIX) or ()
    if isinstance(flexible, str | PathLike):
        flexible = flex_sidecar.read_flexible(fsdecode(flexible))
    description = with_flexible(description, flexible)
    model = build_model(
        description,
        floating=floating,
        gravity=gravity,
        cuts=cuts,
        rank_tolerance=rank_tolerance,
    )
    from_file = forces is None
    if forces is None:
        forces = existing_sidecar(path, SUFFIX) or ()
    if isinstance(forces, str | PathLike):
        from mbd_bridge.forces.files import load_forces  # it imports all elements

        forces = load_forces(forces, model)
    if from_file and model.description.joint_dynamics:
        from mbd_bridge.forces.urdf import file_elements  # it imports elements

        forces = (*file_elements(model, forces), *forces)
    given = {"actuators": actuators, "bearings": bearings}
    stated: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
    readers = of_applications("sidecars")
    for name in {**readers, **stated}:
        one = stated.get(name)
        if one is None:
            one = existing_sidecar(path, f".{name}.yaml")
        if isinstance(one, str | PathLike):
            one = extension("sidecars", name).read(one, model)
        stated[name] = one
    for file in unread_sidecars(path, (*CORE_SIDECARS, *readers)):
        warn(f"{file} is not read: no application that is installed reads such files")
    return Mechanism(model, forces, stated)


@with_options
def load_motion(
    path: str | PathLike[str],
    mechanism: Mechanism,
    **options: Unpack[ReadingOptions],
) -> Motion:
    """Read a motion of a mechanism: a table with time and coordinates, or joint states in a bag.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5 or .hdf5, columns named after coordinates; or a ROS bag: a
        rosbag2 folder, .mcap, .db3, .bag. Rates that it does not have come from splines, smoothing
        ones where the data are noisy (``.notes`` says so)
    **options : see `ReadingOptions`
    """
    _check(mechanism, "load_motion", "motion.csv")
    return motion_from_file(path, mechanism.model, Reading.of(**options))


def load_external(
    path: str | PathLike[str],
    mechanism: Mechanism,
    *,
    axes: Axes | None = None,
    point: Point | None = None,
    outside: Outside | None = None,
    direction: Direction | None = None,
    sensors: Mapping[str, str] | None = None,
    reads: Reads = "environment",
    rename: Mapping[str, str | None] | None = None,
    unit: Sequence[str] | str = (),
) -> ExternalForces:
    """Read external forces on the links of a mechanism: a process force, a sensor's recording.

    The first column is ``time``, a coordinate, or ``<link>.x`` (.y, .z) where the link's origin is
    in the world; the others are ``<link>.fx [N]`` ... ``<link>.mz [N m]``, with ``<link>.px [m]``
    ... the point of action. What is not said here may be said by the file's attributes of the same
    names (in CSV ``# outside: zero``). It is linear between rows.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5 or .hdf5
    axes : of columns that do not say them: "link" (the default), or "world" as ``<link>.world.fx``
    point : (x, y, z) m in the link's frame where forces act; None: its origin
    outside : beyond the table's ends: "zero", "hold" (the end's value) or "repeat" (a table over a
        whole turn); None: zero where it ends with zero, else a motion that goes there is refused
    direction : "rising" or "falling": it acts only while the coordinate grows, or falls
    sensors : link -> prefix of the columns of a force/torque sensor in its frame, compensated for
        the weight and inertia of what is behind it; then nothing else is read of the file
    reads : what sensors read: the force of the "environment" on the link, or that of its "parent"
    rename : names of columns there -> here, {"F1": "ram.fz"}; None leaves a column out
    unit : of columns that do not say theirs, such as ["mm", "kN"]: of angles, lengths, forces and
        moments

    Examples
    --------
    >>> press = mbd.load_external("stroke.csv", machine)                    # doctest: +SKIP
    >>> machine.joint_loads(motion, external=press)                         # doctest: +SKIP
    """
    _check(mechanism, "load_external", "forces.csv")
    at: tuple[float, float, float] | None = None
    if point is not None:
        x, y, z = finite_numbers("point", point, (3,)).tolist()
        at = x, y, z
    how = How(None if axes is None else check_axes(axes), at, outside, direction)
    name = file_path("path", path)
    naming = ForceNaming.of(rename, unit)
    return external_from_file(
        name, mechanism.model, how=how, sensors=sensors, reads=reads, naming=naming
    )


@with_options
def load_history(
    path: str | PathLike[str],
    mechanism: Mechanism,
    joints: Iterable[str] | str | None = None,
    *,
    output: str | PathLike[str] | None = None,
    plane: Plane | None = None,
    progress: Callable[[float], None] | None = None,
    threads: int = 1,
    **options: Unpack[HistoryOptions],
) -> LoadHistory:
    """Read a motion of any length piece by piece; return what is kept of the loads along it.

    Parameters
    ----------
    path : a table or a bag, as `load_motion` reads it
    joints : names; None for all
    output : write the loads there, too: .parquet, .csv, .npz or .h5
    plane : of the spectra; see `loads.durability.LoadSpectraCounter`
    progress : is called with the bytes read since the last call
    threads : share the rows of a piece among this many threads
    **options : of the motion and its loads
    """
    _check(mechanism, "load_history", "motion.parquet")
    asked = HistoryRequest.of(mechanism, joints, options, plane=plane, threads=threads)
    reading = Reading.of(**part(ReadingOptions, options))
    with inputs_kept(() if output is None else (output,)):
        pieces = pieces_from_file(path, mechanism.model, reading, progress)
        return asked.along(mechanism, pieces, output=output)


def load_loads(path: str | PathLike[str], mechanism: Mechanism) -> JointLoads:
    """Read joint loads along time back from a file that `JointLoads.save` or ``mbd`` wrote.

    Parameters
    ----------
    path : a .csv, .parquet, .npz, .h5 or .hdf5 file; also one that holds the motion too
    """
    _check(mechanism, "load_loads", "loads.parquet")
    return loads_from_table(read_table(path), mechanism.model)


def _check(mechanism: Mechanism, function: str, file: str = "") -> None:
    if not isinstance(mechanism, Mechanism):
        call = f'"{file}", mbd.load("robot.urdf")' if file else 'mbd.load("robot.urdf"), ...'
        raise ModelError(
            f"expected a Mechanism, got {type(mechanism).__name__}; load it first: "
            f"mbd.{function}({call})"
        )


def assemble_batch(
    mechanism: Mechanism,
    near: InitialGuesses = None,
    *,
    fixed: Iterable[str] | str = (),
    weights: Mapping[str, float] | None = None,
    velocity: InitialGuesses = None,
    parameters: ParameterValues | Parameters | None = None,
    tolerance: float = ASSEMBLED,
    check: bool = True,
) -> Assemblies:
    """Close the loops of many states, of one mechanism or of variants of it.

    Parameters
    ----------
    near : given coordinates by name, each one value or N of them, or an array (N, nq)
    fixed, weights, velocity, parameters, tolerance, check : see
        `mbd_bridge.solve.assembly.assemble_batch`
    """
    _check(mechanism, "assemble_batch")
    return assemble_states(
        mechanism.prepared,
        near,
        fixed=fixed,
        weights=weights,
        velocity=velocity,
        parameters=parameters,
        tolerance=tolerance,
        check=check,
    )


def crosscheck(
    mechanism: Mechanism, *, states: int = 20, seed: int = 0, pybullet: bool | None = None
) -> Report:
    """Compare a mechanism's loads and dynamics with those of other engines on random states.

    See `mbd_bridge.engines.crosscheck.crosscheck` for the options.
    """
    _check(mechanism, "crosscheck")
    return compare(mechanism.model, states=states, seed=seed, pybullet=pybullet)
