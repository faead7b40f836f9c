"""URDF to a description.

Everything that urdfdom and pinocchio accept in real files is read, and what pybullet adds to it.
What is odd but has one meaning is read as it stands and reported by one `MbdWarning` a kind;
what has no meaning is a `FileError` with file, line, element and advice.

``<visual>`` and ``<collision>``: shapes for pictures; faulty ones are left out and noted.

What a URDF says of the gears between motors and joints: ROS 1, PR2, ros2_control, Drake.

::

    <transmission name="t1">                              ROS 1; at the joint or the actuator
      <type>transmission_interface/SimpleTransmission</type>
      <joint name="elbow"/>
      <actuator name="elbow_motor">
        <mechanicalReduction>100</mechanicalReduction>
        <drake:rotor_inertia value="1e-5"/>               Drake; drake:gear_ratio value="100", too
      </actuator>
    </transmission>

    <ros2_control name="arm" type="system">               ROS 2
      <transmission name="t1">
        <plugin>transmission_interface/SimpleTransmission</plugin>
        <actuator name="elbow_motor" role="actuator1"/>
        <joint name="elbow" role="joint1">
          <mechanical_reduction>100</mechanical_reduction>
        </joint>
      </transmission>
    </ros2_control>

PR2's reduction stands in the transmission itself. A transmission that couples several joints or
motors (differentials) is kept with the reason why nothing is read of it. Nothing here is refused:
files carry such elements for other programs, and who asks for actuators is told of what is odd.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.base.forking import hold_over_forks
from mbd_bridge.files import loops
from mbd_bridge.files.checks import check_couplings, check_loops, check_mimics, check_tree
from mbd_bridge.files.document import REFUSED_MESH, Document, parse_number, quote
from mbd_bridge.files.elements import (
    SIZES,
    mesh_path,
    read_colour,
    read_inertial,
    read_joint,
    read_shapes,
)
from mbd_bridge.files.input_files import MeshFinder, regular_file
from mbd_bridge.files.loop_files import Sidecar, actuated_names, read_sidecar, told_by_others
from mbd_bridge.files.loops import read_couplings, read_loops
from mbd_bridge.files.sidecars import existing_sidecar
from mbd_bridge.files.whole_file import note_input
from mbd_bridge.files.xml_reader import (
    MAX_BYTES,
    Element,
    Format,
    decode,
    format_of,
    line_of,
    parse,
    read_bytes,
)
from mbd_bridge.model.description import Description, Geometry, Joint, Link, Transmission, Vector3

# ``.xacro`` files, expanded by the `xacro` package if it is installed.
#
# A xacro file is a program: it can read any file and environment variable of the user, and
# evaluates expressions. Expand only files that you trust.

PACKAGES = "ament_index_python.packages"
"""The part of ROS that xacro asks where a package is, for ``$(find PACKAGE)``."""

ONE_AT_A_TIME = threading.RLock()
"""xacro keeps the arguments of the file that it expands in its module."""

hold_over_forks(lambda: ONE_AT_A_TIME)


def expand_xacro(
    path: str | Path, arguments: Mapping[str, object] | None, packages: MeshFinder
) -> str:
    """Return the URDF text that a xacro file expands to.

    Parameters
    ----------
    path : of the file
    arguments : values of its ``<xacro:arg>``
    packages : finds packages without ROS, for ``$(find PACKAGE)``

    Raises
    ------
    MissingPackageError
        xacro is not installed.
    FileError
        The file cannot be expanded.
    """
    xacro = needed("xacro", f"{path}: xacro files need xacro", "mbd_bridge[xacro]")
    mappings = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        with ONE_AT_A_TIME, _found_by(packages), _regular_files_only(xacro):
            before = len(xacro.all_includes)  # of all files that this process expands
            expanded = xacro.process_file(str(path), mappings=mappings)
            for included in xacro.all_includes[before:]:
                note_input(included)
            return str(expanded.toprettyxml(indent="  "))
    except (Exception, SystemExit) as error:  # xacro raises whatever its expressions raise
        reason = str(error) or type(error).__name__
        raise FileError(
            f"xacro cannot expand the file: {reason}. Give its arguments (arguments=, NAME:=VALUE "
            f"on the command line), the folders of packages for $(find ...) (package_path=, "
            f"--package-path, ROS_PACKAGE_PATH), or expand it elsewhere",
            str(path),
        ) from error


@contextmanager
def _found_by(packages: MeshFinder) -> Iterator[None]:
    """Let xacro find packages in our folders first, then in the ROS workspace, if there is one."""
    before = {name: sys.modules.get(name) for name in (PACKAGES.partition(".")[0], PACKAGES)}
    try:
        ros = importlib.import_module(PACKAGES)
    except ImportError:
        ros = None

    def share_directory(package: str) -> str:
        homes = packages.packages(package)
        if homes:
            return homes[0]
        if ros is None:
            raise LookupError(f"the package {package!r} is in none of the folders")
        return str(ros.get_package_share_directory(package))

    here = ModuleType(PACKAGES)
    vars(here)["get_package_share_directory"] = share_directory
    sys.modules.setdefault(PACKAGES.partition(".")[0], ModuleType(PACKAGES.partition(".")[0]))
    sys.modules[PACKAGES] = here
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


@contextmanager
def _regular_files_only(xacro: Any) -> Iterator[None]:
    """Let xacro open no device and no pipe: reading them may never end."""

    def opened(path: str, *how: Any) -> Any:
        return open(regular_file(path) if os.path.exists(path) else path, *how)

    vars(xacro)["open"] = opened
    try:
        yield
    finally:
        del vars(xacro)["open"]


UNIT_SCALE: Vector3 = (1.0, 1.0, 1.0)


def _read_shapes(
    document: Document, link: Element, tag: str, meshes: MeshFinder
) -> tuple[Geometry, ...]:
    """Return the shapes of one link's ``<visual>`` or ``<collision>`` elements."""

    def read(element: Element) -> Geometry:
        shape, material = _read_shape(document, element, meshes), _material(element)
        if material is None:
            return shape
        rgba = material.find("color")
        colour = None if rgba is None else read_colour(rgba.get("rgba") or "", 4)
        return replace(shape, colour=colour, texture=_texture(document, material, meshes))

    return read_shapes(document, link, tag, read)


def _read_shape(document: Document, element: Element, meshes: MeshFinder) -> Geometry:
    geometry = document.child(element, "geometry")
    if geometry is None:
        raise document.error(element, "expected a <geometry>")
    shape = next((kid for kid in geometry if kid.tag != "material"), None)
    if shape is None:
        raise document.error(geometry, "expected a shape, such as <box>, <sphere> or <mesh>")
    kind = str(shape.tag)
    origin = document.origin(element)
    if kind == "mesh":
        uri = document.attribute(shape, "filename")
        path = mesh_path(document, uri, meshes)
        return Geometry("mesh", origin, (), uri, path, _scale(document, shape))
    if kind == "box":
        return Geometry(kind, origin, document.vector(shape, "size"))
    if kind in SIZES:
        return Geometry(kind, origin, tuple(document.number(shape, n) for n in SIZES[kind]))
    return Geometry(kind, origin, (), shape.get("filename"))


def _scale(document: Document, mesh: Element) -> Vector3:
    """Return a mesh's scale: three numbers, or one for all directions."""
    text = mesh.get("scale")
    if text is None:
        return UNIT_SCALE
    if len(text.split()) == 1:
        scale = document.number(mesh, "scale")
        return scale, scale, scale
    return document.vector(mesh, "scale")


def _material(element: Element) -> Element | None:
    """Return a shape's material: its own, or the one that it names in the file."""
    look = element.find("material")
    if (
        look is None
        or look.find("color") is not None
        or look.find("texture[@filename]") is not None
    ):
        return look
    named = (m for m in element.getroottree().getroot().iterfind("material"))
    return next((m for m in named if m.get("name") == look.get("name")), None)


def _texture(document: Document, material: Element, meshes: MeshFinder) -> str | None:
    """Return the path of a material's image; its name if it is nowhere."""
    texture = material.find("texture")
    uri = None if texture is None else texture.get("filename")
    if not uri:
        return None
    path = meshes.find(uri)
    if path is None and meshes.refusal(uri):
        document.remark(REFUSED_MESH, uri)
        return None
    return path or uri


REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
GEAR_RATIO = "gear_ratio"
ROTOR_INERTIA = "rotor_inertia"


def read_transmissions(robot: Element) -> tuple[Transmission, ...]:
    """Return what the ``<transmission>`` elements of a robot say, of each joint in each of them."""
    transmissions: list[Transmission] = []
    for path in ("transmission", "ros2_control/transmission"):
        for element in robot.iterfind(path):
            transmissions += _read(element)
    return tuple(transmissions)


def commanded_joints(robot: Element) -> list[str]:
    """Return the joints that ``<ros2_control>`` commands."""
    names = [
        joint.get("name")
        for joint in robot.iterfind("ros2_control/joint")
        if joint.find("command_interface") is not None
    ]
    return [name for name in names if name]


def _read(element: Element) -> list[Transmission]:
    joints = [item for item in element.findall("joint") if item.get("name")]
    actuators = element.findall("actuator")
    name = element.get("name") or "transmission"
    problem = ""
    if len(joints) > 1 or len(actuators) > 1:
        problem = (
            f"it couples {len(joints)} joints and {len(actuators)} actuators, and only simple "
            f"transmissions are read"
        )
    read = []
    for joint in joints:
        numbers: dict[str, float | None] = {"reduction": None, ROTOR_INERTIA: None}
        reason = problem
        if not problem:
            reason = _numbers(numbers, [element, joint, *actuators])
        read.append(
            Transmission(
                name,
                joint.get("name") or "",
                numbers["reduction"],
                numbers[ROTOR_INERTIA],
                reason,
                line_of(element),
            )
        )
    return read


def _numbers(numbers: dict[str, float | None], elements: list[Element]) -> str:
    """Take the numbers that stand in some elements; return what is wrong with one, or nothing."""
    reductions: list[float] = []
    for element in elements:
        for kind, text in _values(element):
            try:
                number = parse_number(text)
                if kind == ROTOR_INERTIA and number < 0.0:
                    raise ValueError(f"expected an inertia from 0 kg m², got {quote(text)}")
                if kind == "reduction" and number == 0.0:
                    raise ValueError("expected a reduction other than 0")
            except ValueError as error:
                return str(error)
            if kind == "reduction":
                reductions.append(number)
            else:
                numbers[kind] = number
    if reductions:  # the joint's and the actuator's are in series
        product = 1.0
        for reduction in reductions:
            product *= reduction
        numbers["reduction"] = product
    return ""


def _values(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of the numbers that stand in an element."""
    for child in element:
        if not isinstance(child.tag, str):
            continue  # a comment
        tag = child.tag.rpartition("}")[2].rpartition(":")[2]
        text = child.get("value") or child.text or ""
        if tag in REDUCTIONS or tag == GEAR_RATIO:
            yield "reduction", text.strip()
        elif tag == ROTOR_INERTIA:
            yield ROTOR_INERTIA, text.strip()


TEXT = "<text>"
"""What messages call a text that has no file."""

OTHER_FORMATS = {
    "sdf": "SDF, which mbd_bridge.load reads",
    "mujoco": "MJCF, which mbd_bridge.load reads",
    "COLLADA": "COLLADA, which is not read; convert it",
}


def read(
    path: str | os.PathLike[str],
    *,
    package_path: Iterable[str | os.PathLike[str]] = (),
    arguments: Mapping[str, object] | None = None,
    max_bytes: int = MAX_BYTES,
    data: bytes | None = None,
) -> Description:
    """Return what a URDF or xacro file, and its sidecar ``NAME.loops.yaml``, say.

    Parameters
    ----------
    path : of the file
    package_path : where packages or meshes are, besides the file's surroundings and the ROS
        and Gazebo path variables
    arguments : values of a xacro file's arguments
    max_bytes : largest size that is read
    data : its content, where that was read already

    Raises
    ------
    FileError
        The file cannot be read, or says something that no mechanism can be.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise FileError(
            f"expected the path of a file, got {type(path).__name__}; for a pinocchio.Model "
            f"use Mechanism.from_pinocchio(model), for a Builder Mechanism.build(builder)"
        )
    name = os.fsdecode(path)
    if name.lstrip().startswith("<"):
        raise FileError(
            "this looks like XML text, not the name of a file; write it to a file, or use "
            "Mechanism.build(mbd_bridge.files.read_urdf_text(text))"
        )
    data = read_bytes(name, max_bytes) if data is None else data
    is_xacro = format_of(name, data) == "xacro"
    packages = MeshFinder.around(name, package_path)
    if arguments and not is_xacro:
        raise FileError(
            f"arguments ({', '.join(arguments)}) are for xacro files, and this is none", name
        )
    text = expand_xacro(name, arguments, packages) if is_xacro else decode(data, name)
    return _urdf_read(
        text,
        file=name,
        meshes=packages,
        max_bytes=max_bytes,
        path=Path(name),
        source=name,
        form="xacro" if is_xacro else "URDF",
    )


def read_urdf_text(
    text: str,
    *,
    source: str | None = None,
    base_directory: str | os.PathLike[str] | None = None,
    package_path: Iterable[str | os.PathLike[str]] = (),
    max_bytes: int = MAX_BYTES,
) -> Description:
    """Return what a URDF text says; messages call it `source`.

    Parameters
    ----------
    text : XML
    source : name for messages
    base_directory : where relative mesh names start; without it they are not looked for
    package_path, max_bytes : as for `read`
    """
    return _urdf_read(
        text,
        file=source or TEXT,
        meshes=MeshFinder(
            None if base_directory is None else os.fspath(base_directory), package_path
        ),
        max_bytes=max_bytes,
        path=None,
        source=source,
        form="URDF",
    )


def _urdf_read(
    text: str,
    *,
    file: str,
    meshes: MeshFinder,
    max_bytes: int,
    path: Path | None,
    source: str | None,
    form: Format,
) -> Description:
    robot, remarks = parse(text, file, max_bytes)
    _check_root(robot, file)
    document = Document(file)
    for remark in remarks:
        document.remark("odd XML", remark)
    links = tuple(_read_link(document, e, meshes) for e in robot.findall("link"))
    joints = tuple(read_joint(document, e) for e in robot.findall("joint"))
    check_tree(links, joints, file)
    joints = _without_unknown_mimics(document, joints)
    sidecar = None if path is None else existing_sidecar(path)
    beside = Sidecar() if sidecar is None else read_sidecar(sidecar)
    own_loops = (
        *read_loops(document, robot),
        *loops.read_urdf_plus_loops(document, robot),
        *beside.loops,
    )
    others = told_by_others(document, path, links, joints, known=bool(own_loops))
    joints = others.joints
    check_mimics(joints, file)
    all_loops = (*own_loops, *others.loops)
    all_couplings = (
        *read_couplings(document, robot),
        *loops.read_urdf_plus_couplings(document, robot, joints),
        *beside.couplings,
    )
    check_loops(all_loops, links, joints, file)
    check_couplings(all_couplings, all_loops, joints, file)
    return Description(
        name=_robot_name(document, robot, source),
        links=links,
        joints=joints,
        loops=all_loops,
        couplings=all_couplings,
        source=source,
        notes=document.warn(),
        actuated=others.actuated or _actuated(robot, joints)
        if beside.actuated is None
        else actuated_names(beside.actuated, joints, all_loops),
        transmissions=read_transmissions(robot),
        planar=beside.planar,
        format=form,
    )


def _actuated(robot: Element, joints: tuple[Joint, ...]) -> tuple[str, ...] | None:
    """Return the joints that the file's ``<transmission>`` elements act on, or those that
    ``<ros2_control>`` commands; None if it has neither.

    What they say of joints that cannot have an actuator, or are not there, is for other programs.
    """
    free = {joint.name for joint in joints if joint.type != "fixed" and joint.mimic is None}
    for named in (
        [item.joint for item in read_transmissions(robot)],
        commanded_joints(robot),
    ):
        actuated = [name for name in dict.fromkeys(named) if name in free]
        if actuated:
            return tuple(actuated)
    return None


def _check_root(robot: Element, file: str) -> None:
    if robot.tag != "robot":
        other = OTHER_FORMATS.get(str(robot.tag))
        hint = f"this looks like {other}" if other else "is it URDF?"
        message = f'expected <robot name="..."> as the outermost element, got <{robot.tag}>; {hint}'
        raise FileError(message, file, line_of(robot), f"<{robot.tag}>")


def _robot_name(document: Document, robot: Element, source: str | None) -> str:
    name = robot.get("name")
    if name:
        return name
    stem = Path(source).stem if source else "robot"
    document.remark_at("the robot has no name", robot, f"it is called {stem!r}")
    return stem


def _read_link(document: Document, element: Element, meshes: MeshFinder) -> Link:
    return Link(
        name=document.attribute(element, "name"),
        inertia=read_inertial(document, element),
        visuals=_read_shapes(document, element, "visual", meshes),
        collisions=_read_shapes(document, element, "collision", meshes),
        line=line_of(element),
    )


def _without_unknown_mimics(document: Document, joints: tuple[Joint, ...]) -> tuple[Joint, ...]:
    """Return the joints with those free that mimic a joint that is not there.

    Published robots have such joints, and every other reader treats them as free.
    """
    names = {joint.name for joint in joints}
    kept = []
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            kind = "joints mimic an unknown joint and stay free (correct the name in <mimic>)"
            where = f"line {joint.line} {joint.name!r} mimics {joint.mimic.joint!r}"
            document.remark(kind, where)
            joint = replace(joint, mimic=None)
        kept.append(joint)
    return tuple(kept)
