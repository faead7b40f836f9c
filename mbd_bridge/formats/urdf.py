"""URDF to a description.

Everything that urdfdom and pinocchio accept in real files is read, and what pybullet adds to it.
What is odd but has one meaning is read as it stands and reported by one `MbdWarning` a kind;
what has no meaning is a `FileError` with file, line, element and advice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mbd_bridge.errors import FileError
from mbd_bridge.formats.checks import check_couplings, check_loops, check_mimics, check_tree
from mbd_bridge.formats.description import Description, Joint, Link
from mbd_bridge.formats.document import Document
from mbd_bridge.formats.geometry import read_shapes
from mbd_bridge.formats.inertial import read_inertial
from mbd_bridge.formats.joints import read_joint
from mbd_bridge.formats.kinds import Format, format_of
from mbd_bridge.formats.loop_dialects import told_by_others, urdf_plus
from mbd_bridge.formats.loops import read_couplings, read_loops
from mbd_bridge.formats.meshes import MeshFinder
from mbd_bridge.formats.sidecar import Sidecar, actuated_names, existing_sidecar, read_sidecar
from mbd_bridge.formats.transmissions import commanded_joints, read_transmissions
from mbd_bridge.formats.xacro import expand_xacro
from mbd_bridge.formats.xml_reader import MAX_BYTES, Element, decode, line_of, parse, read_bytes

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
) -> Description:
    """Return what a URDF or xacro file, and its sidecar ``NAME.loops.yaml``, say.

    Parameters
    ----------
    path : of the file
    package_path : where packages or meshes are, besides the file's surroundings and the ROS
        and Gazebo path variables
    arguments : values of a xacro file's arguments
    max_bytes : largest size that is read

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
            "Mechanism.build(mbd_bridge.formats.read_urdf_text(text))"
        )
    data = read_bytes(name, max_bytes)
    is_xacro = format_of(name, max_bytes) == "xacro"
    packages = MeshFinder.around(name, package_path)
    if arguments and not is_xacro:
        raise FileError(
            f"arguments ({', '.join(arguments)}) are for xacro files, and this is none", name
        )
    text = expand_xacro(name, arguments, packages) if is_xacro else decode(data, name)
    return _read(
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
    return _read(
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


def _read(
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
        *urdf_plus.read_loops(document, robot),
        *beside.loops,
    )
    others = told_by_others(document, path, links, joints, known=bool(own_loops))
    joints = others.joints
    check_mimics(joints, file)
    all_loops = (*own_loops, *others.loops)
    all_couplings = (
        *read_couplings(document, robot),
        *urdf_plus.read_couplings(document, robot, joints),
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
    for named in ([one.joint for one in read_transmissions(robot)], commanded_joints(robot)):
        found = [name for name in dict.fromkeys(named) if name in free]
        if found:
            return tuple(found)
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
        visuals=read_shapes(document, element, "visual", meshes),
        collisions=read_shapes(document, element, "collision", meshes),
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
            place = f"line {joint.line} {joint.name!r} mimics {joint.mimic.joint!r}"
            document.remark(kind, place)
            joint = replace(joint, mimic=None)
        kept.append(joint)
    return tuple(kept)
