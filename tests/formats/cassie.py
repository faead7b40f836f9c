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


def folder() -> Path:
    """Return where example-robot-data has Cassie."""
    found = next(one for one in files("example-robot-data") or [] if one.name == "cassie_v2.srdf")
    return Path(str(found.locate())).resolve().parents[1]


def load(name: str) -> mbd.Mechanism:
    """Return one of the SDFs, "v2" or "wo_gearbox_spring" or ..., "" for the whole one."""
    path = folder() / "robots" / f"cassie{'_' if name else ''}{name}.sdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbd.MbdWarning)
        return mbd.load(path)


def standing() -> dict[str, float]:
    """Return the configuration of the SRDF: the joints that have one coordinate."""
    root = ElementTree.parse(folder() / "srdf" / "cassie_v2.srdf").getroot()
    state = next(one for one in root.iter("group_state") if one.get("name") == "standing")
    values = {one.get("name", ""): (one.get("value") or "").split() for one in state.iter("joint")}
    return {name: float(found[0]) for name, found in values.items() if len(found) == 1}


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
