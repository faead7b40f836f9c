"""Columns with numbers in the place of joints' names: ``actual_q_0`` ... ``actual_q_5``, ``q1``.

They are taken as the coordinates of a chain of joints with one degree of freedom each, from its
root on. Where a machine branches, nobody but its user knows the order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mbd_bridge.mechanism import Model

STEMS = {
    "": ("actual_q", "q", "joint", "j", "axis", "theta", "position", "positions", "pos"),
    ".vel": ("actual_qd", "qd", "dq", "qdot", "velocity", "velocities", "vel"),
    ".acc": ("qdd", "ddq", "acceleration", "accelerations", "acc"),
}
"""What stands before the number, the likeliest first, by what the columns are then called."""

_NUMBERED = re.compile(r"(?:.*[/.])?(?P<stem>[A-Za-z_]+?)[_.\[( ]?(?P<number>\d{1,3})[\])]?")


def numbered(names: Sequence[str], model: Model) -> dict[str, str]:
    """Return names of columns by number -> names here, if they are all of a chain's coordinates."""
    if not is_chain(model):
        return {}
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        said = _NUMBERED.fullmatch(name)
        if said:
            groups.setdefault(said["stem"].lower(), {}).setdefault(int(said["number"]), name)
    found: dict[str, str] = {}
    for suffix, stems in STEMS.items():
        for stem in stems:
            group = groups.get(stem, {})
            numbers = sorted(group)
            if numbers in (list(range(model.nv)), list(range(1, model.nv + 1))):
                each = zip(numbers, model.coordinate_names, strict=True)
                found |= {group[number]: name + suffix for number, name in each}
                break
        if not suffix and not found:
            return {}
    return found


def is_chain(model: Model) -> bool:
    """Return whether a machine is one chain of joints with a degree of freedom each."""
    joints = [joint for joint in model.joints if joint.moving and joint.follows is None]
    if model.has_loops or not joints or any(joint.type.nv != 1 for joint in joints):
        return False
    parents = [model.bodies[joint.body].parent for joint in joints]
    return len(set(parents)) == len(parents)
