"""Cassie of example-robot-data (SDF) and of the MuJoCo Menagerie (MJCF): where both say the same.

    python -m tests.formats.cassie path/to/mujoco_menagerie/agility_cassie/cassie.xml

prints, of every link and joint that both have, how far masses, centres, moments, places and axes of
joints, springs and closed points of rods are apart. The MJCF is not kept here.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import mbd_bridge as mbd

JOINTS = {
    "hip-roll": "roll-op",
    "hip-yaw": "yaw-op",
    "hip-pitch": "pitch-op",
    "knee": "knee-op",
    "shin": "knee-shin-joint",
    "tarsus": "shin-tarsus-joint",
    "heel-spring": "tarsus-spring-joint",
    "foot-crank": "tarsus-crank-joint",
    "foot": "foot-op",
}
"""Names of hinges in the MJCF and in the SDF, behind "left-" and "right-"."""

FEET = ("tarsus-crank-joint", "crank-rod-joint", "foot-op")
KNEES = ("knee-spring-joint", "knee-shin-joint")


def folder() -> Path:
    """Return where example-robot-data has Cassie."""
    found = next(one for one in files("example-robot-data") or [] if one.name == "cassie_v2.srdf")
    return Path(str(found.locate())).resolve().parents[1]


def path(name: str) -> Path:
    """Return where an SDF is: "v2" or "wo_gearbox_spring" or ..., "" for the whole one."""
    return folder() / "robots" / f"cassie{'_' if name else ''}{name}.sdf"


def load(name: str, file: Path | None = None) -> mbd.Mechanism:
    """Return one of the SDFs, or another file in its place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbd.MbdWarning)
        return mbd.load(file or path(name))


def standing() -> dict[str, float]:
    """Return the configuration of the SRDF: the joints that have one coordinate."""
    root = ElementTree.parse(folder() / "srdf" / "cassie_v2.srdf").getroot()
    state = next(one for one in root.iter("group_state") if one.get("name") == "standing")
    values = {one.get("name", ""): (one.get("value") or "").split() for one in state.iter("joint")}
    return {name: float(found[0]) for name, found in values.items() if len(found) == 1}


def with_hinges_across(name: str, folder: Path) -> Path:
    """Return a copy in which heels, plantar rods and cranks turn as in `wo_gearbox_spring`."""
    tree = ElementTree.parse(path(name))
    hinges = {"tarsus-spring-joint", "crank-rod-joint", "tarsus-crank-joint"}
    for joint in tree.getroot().iter("joint"):
        if joint.get("name", "").partition("-")[2] not in hinges:
            continue
        axis = joint.find("axis")
        assert axis is not None
        for old in axis.findall("xyz"):
            axis.remove(old)
        ElementTree.SubElement(axis, "xyz").text = "0 -1 0"
        ElementTree.SubElement(axis, "use_parent_model_frame").text = "1"
    copy = folder / f"{name}.sdf"
    tree.write(copy)
    return copy


def near_standing(name: str) -> dict[str, float]:
    """Return the configuration that a file is assembled from: the SRDF's where it is the file's.

    The whole Cassie's rotors follow its gears, and its knee springs stand at zero: with two
    parallel hinges and a slide each is a truss, whose one position is singular. The feet of v2
    stand at zero, where three hinges that are parallel to five digits close exactly.
    """
    robot = load(name)
    found = {one: standing().get(one, 0.0) for one in robot.coordinate_names}
    for coupling in robot.model.description.couplings:
        ((leader, ratio),) = coupling.follows
        found[leader] = found[coupling.joint] / ratio
    for one in found:
        if (name == "v2" and one.partition("-")[2] in FEET) or (
            not name and one.partition("-")[2] in KNEES
        ):
            found[one] = 0.0
    return found


def frames(robot: mbd.Mechanism, joint: str, link: str):
    """Yield point and axis of a hinge in `link` and in the other link; the sense may differ."""
    described = next(one for one in robot.model.description.joints if one.name == joint)
    sides = [described.child_frame, described.origin]
    for at in sides if described.child == link else sides[::-1]:
        yield at.translation, at.rotation @ np.array(described.axis)


def main() -> int:
    """Print the differences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbd.MbdWarning)
        theirs = mbd.load(sys.argv[1])
    bodies = {link.name: link for link in theirs.model.description.links}
    for name in ("v2", "wo_gearbox_spring", "simple", "reduced", ""):
        ours = load(name)
        worst = dict.fromkeys(("mass", "centre", "moments", "place", "axis"), 0.0)
        count = 0
        for link in ours.model.description.links:
            other = bodies.get({"pelvis": "cassie-pelvis"}.get(link.name, link.name))
            if other is None or other.inertia is None or link.inertia is None:
                continue
            one, two, count = link.inertia, other.inertia, count + 1
            scale = np.abs(two.central).max()
            for key, value in (
                ("mass", one.mass - two.mass),
                ("centre", np.abs(one.centre - two.centre).max()),
                ("moments", np.abs(one.central - two.central).max() / scale),
            ):
                worst[key] = max(worst[key], abs(value))
        known = {joint.name for joint in ours.model.description.joints}
        hinges = 0
        for side in ("left", "right"):
            for mjcf, sdf in JOINTS.items():
                if f"{side}-{sdf}" not in known:
                    continue
                hinges += 1
                link = f"{side}-{mjcf}"
                sides = zip(
                    frames(ours, f"{side}-{sdf}", link), frames(theirs, link, link), strict=True
                )
                for (point, axis), (at, about) in sides:
                    sine = float(np.linalg.norm(np.cross(axis, about)))
                    worst["place"] = max(worst["place"], float(np.abs(point - at).max()))
                    worst["axis"] = max(worst["axis"], sine)
        shown = ", ".join(f"{key} {value:.1e}" for key, value in worst.items())
        print(f"cassie {name or 'whole'}: {count} links, {hinges} hinges; apart at most: {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
