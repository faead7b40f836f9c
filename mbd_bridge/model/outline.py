"""What a model is, as tables: the tree of its joints, coordinates, loops, gears, links that bend.


A joint that alone is carried by the one above it stands in the same column, so that an arm of
sixty joints is a list; only where the tree branches does it move to the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import numpy as np

from mbd_bridge.base.table import Series, Table
from mbd_bridge.model import JOINT_TYPES, Model, ModelJoint
from mbd_bridge.model.description import Limits
from mbd_bridge.model.units import FORCE_UNIT, model_units, velocity_units

LEGEND = "A joint is carried by the one above it in its column; ├ and └ are branches."
LOOP_LEGEND = "cut rank: chooses the joint at which a loop is cut"  # Lee94, Table 1

STRAIGHT = 1e-9
"""How far from a coordinate direction an axis is still called x, y or z."""


def joint_table(model: Model) -> Table:
    """Return the joints with type, axis, limits, child link and mass.

    Limits that the file does not give are left out; an effort or velocity of 0 stands for none. The
    rank among cuts is there if the model has loops.
    """
    joints = [joint for _, joint in walk(model)]
    described = {joint.name: joint.limits for joint in model.description.joints}
    limits = [described.get(x.name, Limits()) if x.type.nq == 1 else Limits() for x in joints]
    units = [velocity_units(x.type)[0] if x.type.nq == 1 else "" for x in joints]
    bent = {part.link: part.integrals.mass for part in model.flexible}
    masses = [model.links[j.child].inertia.mass + bent.get(j.child, 0.0) for j in joints]
    parents = ["" if j.parent < 0 else model.links[j.parent].name for j in joints]
    forces, rates = [FORCE_UNIT.get(x, "") for x in units], [f"{x}/s" if x else "" for x in units]
    columns = [
        Series("type", "", [_type(model, joint) for joint in joints]),
        Series("axis", "", [_axis(joint) for joint in joints]),
        Series("lower", units, [limit.lower for limit in limits], shown="{:.4g}".format),
        Series("upper", units, [limit.upper for limit in limits], shown="{:.4g}".format),
        Series("link", "", [model.links[joint.child].name for joint in joints]),
        Series("parent", "", parents, listed=False),
        Series("mass", "kg", masses, shown="{:.6g}".format),
        Series("effort", forces, [limit.effort or None for limit in limits]),
        Series("velocity", rates, [limit.velocity or None for limit in limits]),
    ]
    for name, power in (("acceleration", "²"), ("deceleration", "²"), ("jerk", "³")):
        values = [getattr(limit, name) or None for limit in limits]
        if any(values):
            columns.append(Series(name, [f"{x}{power}" if x else "" for x in rates], values))
    if model.loops:
        ranks = [joint.type.weight if joint.moving else None for joint in joints]
        columns.append(Series("cut rank", "", ranks, shown="{:g}".format))
    drawn = [drawing + joint.name for drawing, joint in walk(model)]
    labels = Series("joint", "", [joint.name for joint in joints], shown=drawn, marks="tree")
    notes = (LEGEND, LOOP_LEGEND) if model.loops else (LEGEND,)
    return Table(model.name, labels, columns, notes=notes)


def coordinate_table(model: Model) -> Table:
    """Return the coordinates and the velocities by name, in the order of q and v."""
    of_q, of_v = model_units(model)
    q = zip(model.coordinate_names, ("" if unit == "1" else unit for unit in of_q), strict=True)
    v = zip(model.velocity_names, (f"{unit}/s" for unit in of_v), strict=True)
    rows = list(zip_longest(q, v, fillvalue=(None, None)))
    columns = [
        Series("q", "", [name for (name, _), _ in rows]),
        Series("unit", "", [unit for (_, unit), _ in rows]),
        Series("v", "", [name for _, (name, _) in rows]),
        Series("unit", "", [unit for _, (_, unit) in rows]),
    ]
    return Table("coordinates", Series("", "", range(len(rows))), columns)


def loop_table(
    model: Model,
    redundant: Mapping[str, int] | None = None,
    residuals: Mapping[str, float] | None = None,
) -> Table:
    """Return the joints that close loops with their links and rows.

    Parameters
    ----------
    redundant, residuals : of the rows of each, if they are known
    """
    cuts = [cut for cut in model.cuts if cut.type != "coupling"]
    names = [cut.name for cut in cuts]
    held = {loop.name: "".join(map(str, loop.rows or ())) for loop in model.loops}
    ends = [[model.links[link].name for link in cut.links] for cut in cuts]
    ranks = [JOINT_TYPES.get("prismatic" if x.type == "translational" else x.type) for x in cuts]
    columns = [
        Series("type", "", [f"{cut.type} {held.get(cut.name, '')}".rstrip() for cut in cuts]),
        Series("predecessor", "", [before for before, _ in ends]),
        Series("successor", "", [behind for _, behind in ends]),
        Series("rows", "", [len(cut.rows) for cut in cuts]),
        Series("cut rank", "", [kind and kind.weight for kind in ranks], shown="{:g}".format),
    ]
    if redundant is not None:
        columns.append(Series("share in redundancy", "", [redundant.get(x, 0) for x in names]))
    if residuals is not None:
        each = [residuals[name] for name in names]
        columns.append(Series("residual", "", each, shown="{:.1e}".format))
    title = "loop joints: cut here, as the file says"
    return Table(title, Series("loop joint", "", names), columns)


def gear_table(model: Model) -> Table:
    """Return what gears and locks demand of coordinates."""
    texts = []
    for gears in model.description.couplings:
        terms = [(ratio, " " + leader) for leader, ratio in gears.follows]
        if gears.offset or not terms:
            terms.append((gears.offset, ""))
        (first, what), *others = terms
        rest = "".join(f" {'-' if x < 0 else '+'} {abs(x):g}{of}" for x, of in others)
        texts.append(f"{gears.joint} = {first:g}{what}{rest}")
    names = [gears.name for gears in model.description.couplings]
    return Table("gears", Series("gears", "", names), [Series("constraint", "", texts)])


def flexible_table(model: Model) -> Table:
    """Return the links that bend."""
    parts = model.flexible
    hertz = [", ".join(f"{f:.4g}" for f in part.frequencies()) for part in parts]
    columns = [
        Series("mass", "kg", [part.integrals.mass for part in parts], shown="{:.6g}".format),
        Series("natural frequencies, link held at its joint", "Hz", hertz),
        Series("damped", "", [part.damped for part in parts]),
        Series("stiffening", "", [bool(part.integrals.pairs) for part in parts]),
    ]
    labels = Series("link", "", [model.links[part.link].name for part in parts])
    return Table("links that bend", labels, columns)


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
        for number, child in reversed(list(enumerate(carried, start=1))):
            last = number == len(carried)
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
    largest = int(np.argmax(np.abs(axis)))
    if abs(abs(axis[largest]) - 1.0) < STRAIGHT:
        return ("-" if axis[largest] < 0 else "") + "xyz"[largest]
    return " ".join(f"{x:.4g}" for x in axis)
