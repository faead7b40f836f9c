"""A mechanism as rows: a joint each."""

from __future__ import annotations

from math import nan

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.tabular import Rows, Series, of_units
from mbd_bridge.files import Limits
from mbd_bridge.model.units import FORCE_UNIT, velocity_units
from mbd_bridge.reports.outline import rows as outline, walk


def rows_of(mechanism: Mechanism) -> Rows:
    """Return links, axis, mass and limits of the joints; a notebook shows what ``mbd info`` does.

    Limits that the file does not give are NaN; an effort or velocity of 0 stands for none.
    """
    model = mechanism.model
    heads, cells = outline(model)
    shown = tuple(
        Series(head.removeprefix(">"), "", [row[k] for row in cells])
        for k, head in enumerate(heads)
    )
    bent = {part.link: part.integrals.mass for part in model.flexible}
    joints = [joint for _, joint in walk(model)]
    described = {joint.name: joint.limits for joint in model.description.joints}
    single = [joint.type.nq == 1 for joint in joints]
    limits = [
        described.get(joint.name, Limits()) if one else Limits()
        for joint, one in zip(joints, single, strict=True)
    ]
    units = [
        velocity_units(joint.type)[0] if one else ""
        for joint, one in zip(joints, single, strict=True)
    ]
    columns = [
        *shown[1:3],
        Series("parent", "", ["" if j.parent < 0 else model.links[j.parent].name for j in joints]),
        shown[4],
        Series(
            "mass", "kg", [model.links[j.child].inertia.mass + bent.get(j.child, 0) for j in joints]
        ),
    ]
    of = {
        "lower": ([nan if one.lower is None else one.lower for one in limits], units),
        "upper": ([nan if one.upper is None else one.upper for one in limits], units),
        "effort": ([one.effort or nan for one in limits], [FORCE_UNIT.get(u, "") for u in units]),
        "velocity": (
            [one.velocity or nan for one in limits],
            [f"{u}/s" if u else "" for u in units],
        ),
    }
    for name, (values, each) in of.items():
        numbers, words = of_units(name, values, (), each)
        columns += [numbers, words] if numbers.unit == f"see {words.name}" else [numbers]
    if model.loops:
        columns.append(Series("cut rank", "", [j.type.weight if j.moving else nan for j in joints]))
    labels = Series("joint", "", [joint.name for joint in joints])
    return Rows(repr(mechanism), labels, tuple(columns), shown=shown)
