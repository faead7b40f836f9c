"""The tree of a model's joints, drawn as text.

A joint that alone is carried by the one above it stands in the same column, so that an arm of
sixty joints is a list; only where the tree branches does it move to the right.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

import numpy as np

from mbd_bridge.files import Joint, Limits
from mbd_bridge.model import Model, ModelJoint
from mbd_bridge.model.units import FORCE_UNIT, velocity_units

LEGEND = "A joint is carried by the one above it in its column; ├ and └ are branches."
LOOP_LEGEND = "cut rank: of the joint in the distance matrix that chooses the cuts (Lee94, Table 1)"

STRAIGHT = 1e-9
"""How far from a coordinate direction an axis is still called x, y or z."""


def legend(model: Model) -> str:
    """Return what is not plain in the table."""
    return f"{LEGEND}\n{LOOP_LEGEND}" if model.loops else LEGEND


def rows(model: Model) -> tuple[list[str], list[list[str]]]:
    """Return headings (">" before those of numbers) and the joints, row by row.

    They say type, axis, limits, child link and mass. The largest effort and velocity are there if
    the file has any, the rank among cuts if it has loops.
    """
    described = {joint.name: joint for joint in model.description.joints}
    bent = {part.link: part.integrals.mass for part in model.flexible}
    found = []
    for drawing, joint in walk(model):
        link = model.links[joint.child]
        found.append(
            (
                drawing + joint.name,
                _type(model, joint),
                _axis(joint),
                _limits(joint, described.get(joint.name)),
                link.name,
                f"{link.inertia.mass + bent.get(joint.child, 0.0):.6g}",
                *_largest(joint, described.get(joint.name)),
                f"{joint.type.weight:g}" if joint.moving else "",
            )
        )
    headings = "joint", "type", "axis", "limits", "link", ">kg", ">effort", ">velocity", ">cut rank"
    kept = [True] * 6 + [any(row[k] for row in found) for k in (6, 7)] + [bool(model.loops)]
    return list(compress(headings, kept)), [list(compress(row, kept)) for row in found]


def _largest(joint: ModelJoint, described: Joint | None) -> tuple[str, str]:
    """Return the file's limits of effort and velocity; 0 and 0 stand for none in many files."""
    if described is None or joint.type.nq != 1:
        return "", ""
    (unit,) = velocity_units(joint.type)
    limits = described.limits
    effort = f"{limits.effort:.4g} {FORCE_UNIT[unit]}" if limits.effort else ""
    return effort, f"{limits.velocity:.4g} {unit}/s" if limits.velocity else ""


def walk(model: Model) -> Iterator[tuple[str, ModelJoint]]:
    """Yield each joint with the lines drawn before its name, depth first."""
    outward: list[list[ModelJoint]] = [[] for _ in model.links]
    for joint in model.joints[1:]:
        outward[joint.parent].append(joint)
    stack = [("", "", model.joints[0])]
    while stack:
        drawing, below, joint = stack.pop()
        yield drawing, joint
        carried = outward[joint.child]
        if len(carried) == 1:
            stack.append((below, below, carried[0]))
            continue
        for place, child in reversed(list(enumerate(carried, start=1))):
            last = place == len(carried)
            branch, passed = ("└─ ", "   ") if last else ("├─ ", "│  ")
            stack.append((below + branch, below + passed, child))


def _type(model: Model, joint: ModelJoint) -> str:
    if joint.follows is None:
        return joint.type.name
    body = model.bodies[joint.body]
    offset = f" {'-' if body.offset < 0 else '+'} {abs(body.offset):g}" if body.offset else ""
    return f"{joint.type.name} = {body.ratio:g} {model.joints[joint.follows].name}{offset}"


def _axis(joint: ModelJoint) -> str:
    if joint.is_station:
        return ""
    if joint.type.name in ("fixed", "floating", "spherical"):
        return ""
    axis = np.array(joint.axis)
    place = int(np.argmax(np.abs(axis)))
    if abs(abs(axis[place]) - 1.0) < STRAIGHT:
        return ("-" if axis[place] < 0 else "") + "xyz"[place]
    return " ".join(f"{x:.4g}" for x in axis)


def _limits(joint: ModelJoint, described: Joint | None) -> str:
    if described is None or joint.type.nq != 1:
        return ""
    limits: Limits = described.limits
    if limits.lower is None and limits.upper is None:
        return ""
    ends = ["-∞" if limits.lower is None else f"{limits.lower:.4g}"]
    ends.append("∞" if limits.upper is None else f"{limits.upper:.4g}")
    return f"{ends[0]} .. {ends[1]} {velocity_units(joint.type)[0]}"
