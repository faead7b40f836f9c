"""Load a machine from its file, whatever its format, with the sidecars beside it; sample models."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from os import PathLike, fsdecode
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import FileError, MissingPackageError, warn
from mbd_bridge.base.extensions import extension, extensions, of_applications
from mbd_bridge.files import read
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.loop_files import with_sidecar
from mbd_bridge.files.sidecars import (
    FLEXIBLE,
    FORCES,
    existing_sidecar,
    misnamed_sidecars,
    unread_sidecars,
    with_configurations,
)
from mbd_bridge.files.xml_reader import format_of, read_bytes
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.model import RANK_TOLERANCE, Cuts, build_model
from mbd_bridge.model.description import Description
from mbd_bridge.model.flexible_links import with_flexible

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import Actuator, Actuators, BearingsGiven
    from mbd_bridge.model.flexible import FlexibleLink


SUFFIXES = ("", ".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")
"""Of files whose content tells their format; others may be a plugin's."""
USD = (".usd", ".usda", ".usdc", ".usdz")


def describe(
    path: str | os.PathLike[str],
    *,
    package_path: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, object] | None = None,
) -> Description:
    """Return what a robot's file says; what stands in it tells its format.

    Parameters
    ----------
    path : of the file
    package_path : folders with packages and meshes
    arguments : values of the arguments of a xacro file
    """
    data: bytes | None = None
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else "<"
    if not name.lstrip().startswith("<"):
        suffix = os.path.splitext(name)[1].lower()
        if suffix in USD:
            from mbd_bridge.files.usd import read_usd

            return with_configurations(with_sidecar(read_usd(name)))
        if suffix not in SUFFIXES and (plugin := extensions("formats").get(suffix[1:])) is not None:
            return with_configurations(with_sidecar(plugin.load().read(regular_file(name))))
        data = read_bytes(name)
        form = format_of(name, data)
        if arguments and form in ("MJCF", "SDF"):
            raise FileError(f"arguments are for xacro files, and this is {form}", name)
        if form == "MJCF":
            from mbd_bridge.engines.mujoco import read_mjcf

            return with_sidecar(read_mjcf(path))
        if form == "SDF":
            from mbd_bridge.files.sdf import read_sdf

            return with_configurations(with_sidecar(read_sdf(path, package_path=package_path)))
    description = read(path, package_path=package_path, arguments=arguments, data=data)
    return with_configurations(description)


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
    """Read a mechanism from a URDF, SDF, xacro, MJCF or USD file (extras xacro, mjcf, usd).

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
        flexible = existing_sidecar(path, FLEXIBLE) or ()
    if isinstance(flexible, str | PathLike):
        from mbd_bridge.files.modal import read_flexible  # it imports readers of modes

        flexible = read_flexible(fsdecode(flexible))
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
        forces = existing_sidecar(path, FORCES) or ()
    if isinstance(forces, str | PathLike):
        from mbd_bridge.forces.files import load_forces  # it imports all elements

        forces = load_forces(forces, model)
    if from_file and model.description.joint_dynamics:
        from mbd_bridge.forces.files import file_elements  # it imports elements

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
    words = (*CORE_SIDECARS, *readers)
    for file in unread_sidecars(path, words):
        warn(f"{file} is not read: no application that is installed reads such files")
    for file, name in misnamed_sidecars(path, words).items():
        warn(f"{file} is not read: beside {os.path.basename(fsdecode(path))} it is called {name}")
    return Mechanism(model, forces, stated)


# The sample models that come with the package: files to try things with.

FOLDER = "urdf"
"""The folder with the models, beside the package in a clone."""
SHARE = Path("share", "mbd_bridge", FOLDER)
"""Where it is when installed, in the environment's folder for data."""
KINDS = (".urdf", ".csv")
"""Endings of the files with a name of their own: machines, and motions of them."""


@functools.cache
def models() -> Mapping[str, Path]:
    """Return the paths of the sample models and motions, by name.

    A file ``NAME.urdf`` is called NAME, any other by its whole name. Sidecars (loops, force
    elements) are in the same folder and are found by `load`.

    >>> import mbd_bridge as mbd
    >>> robot = mbd.load(mbd.models()["kuka_iiwa"])
    >>> motion = robot.read_motion(mbd.models()["kuka_iiwa_motion.csv"])
    """
    found = {}
    for path in sorted(_folder().iterdir()):
        if path.suffix in KINDS:
            found[path.stem if path.suffix == ".urdf" else path.name] = path
    return MappingProxyType(found)


def _folder() -> Path:
    """Return the folder with the sample models."""
    here = Path(__file__).parents[2]
    places = [here / FOLDER] if (here / "pyproject.toml").is_file() else []
    places += [*_recorded(), here / SHARE]  # the last for ``pip install --target``
    for place in places:
        if (place / "kuka_iiwa.urdf").is_file():
            return place
    raise MissingPackageError(
        "the sample models were not found: this installation of mbd_bridge has none; install it "
        "from its wheel or from a clone ('pip install .')"
    )


def _recorded() -> Iterator[Path]:
    """Yield the folder of the first sample model in the record of what was installed."""
    try:
        files = metadata.files("mbd_bridge") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "kuka_iiwa.urdf":
            yield Path(str(file.locate())).resolve().parent
