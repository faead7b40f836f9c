"""Named configurations in an SRDF: ``<group_state name="home">`` with values of joints.

The file is ``NAME.srdf`` beside ``NAME.urdf``, or in a folder ``srdf`` beside the robot's folder,
as in example-robot-data. Groups, end effectors and pairs that may touch are not read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mbd_bridge.files.document import Document, LeftOut, parse_number, quote
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.sidecars import sidecar_path
from mbd_bridge.files.xml_reader import decode, parse, read_bytes
from mbd_bridge.model import ROOT_JOINT
from mbd_bridge.model.description import Configurations, Description

SUFFIX, FOLDER = ".srdf", "srdf"


COUNTS = {"universal": 2, "cylindrical": 2, "planar": 3, "spherical": 4, "floating": 7}
"""How many coordinates joints have that have not one."""


def with_configurations(description: Description) -> Description:
    """Return a description with the named configurations of its SRDF, if there is one."""
    path = _srdf_of(Path(description.source or ""))
    if path is None:
        return description
    configurations, notes = read_srdf(path, description)
    return replace(description, configurations=configurations, notes=(*description.notes, *notes))


def read_srdf(path: Path, description: Description) -> tuple[Configurations, tuple[str, ...]]:
    """Return the values of joints by configuration, and what is not read.

    States of several groups with one name are one configuration.

    Raises
    ------
    FileError
        The file cannot be read, or a value is no number.
    """
    file = str(path)
    root, _ = parse(decode(read_bytes(file), file), file)
    document, left_out = Document(file), LeftOut(file, "SRDF")
    joints = {joint.name: joint for joint in description.joints}
    counts = {name: COUNTS.get(joint.type, 1) for name, joint in joints.items()}
    counts.setdefault(ROOT_JOINT, COUNTS["floating"])
    others = {loop.name for loop in description.loops}
    others |= {coupling.name for coupling in description.couplings}
    configurations: dict[str, dict[str, tuple[float, ...]]] = {}
    for state in root.findall("group_state"):
        name = document.attribute(state, "name")
        values = configurations.setdefault(name, {})
        for element in state.findall("joint"):
            joint = document.attribute(element, "name")
            words = document.attribute(element, "value").split()
            numbers = tuple(
                document.understood(element, "value", parse_number, word) for word in words
            )
            if joint in others or (joint in joints and joints[joint].type == "fixed"):
                continue  # a cut joint's coordinate follows from the tree, a fixed one has none
            if joint != ROOT_JOINT and joint not in joints:
                left_out.add("values of joints that the robot has not", joint)
            elif len(numbers) != counts[joint]:
                left_out.add("values of joints with another number of coordinates", joint)
            elif values.setdefault(joint, numbers) != numbers:
                raise document.error(
                    element, f"{quote(joint)} has two values in {quote(name)}; leave one out"
                )
    return configurations, left_out.warn()


def _srdf_of(source: Path) -> Path | None:
    if not source.name:
        return None
    name = sidecar_path(source, SUFFIX).name  # a.urdf.xacro and a.urdf have a.srdf, as a.sdf has
    if not source.name.endswith((".urdf", ".xacro")):
        name = source.stem + SUFFIX
    places = source.parent / name, source.parent.parent / FOLDER / name
    return next((file for file in places if file_beside(file, source) is not None), None)
