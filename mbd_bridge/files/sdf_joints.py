"""``<joint>`` of SDF: an edge between two links, in the tree or not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mbd_bridge.files.document import Document, LeftOut, quote, unknown
from mbd_bridge.files.elements import remark_reversed
from mbd_bridge.files.sdf_document import direction, flag, number, text
from mbd_bridge.files.sdf_scopes import MODEL, Scope
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.description import Joint, Limits, Mimic, Vector3, parallel
from mbd_bridge.model.spatial import Frame

TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
}
"""SDF's types, and ours. Two revolute joints in series through one point are a universal one."""

GEARBOX = "gearbox"
"""A joint that is no connection but gears between two others."""

UNLIMITED = 1e16
"""SDF's way to say that a coordinate has no limit."""

MODEL_AXES_BEFORE = (1, 5)
"""Version before which axes are along the model's frame, not the joint's."""

DEFAULT_AXIS: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Gearbox:
    """Gears: the turns of two links against a third, about their axes in the world."""

    name: str
    reference: str
    links: tuple[str, str]
    axes: tuple[np.ndarray, np.ndarray]
    ratio: float
    line: int | None
    source: str


def read_joint(scope: Scope, element: Element, left_out: LeftOut) -> Joint | Gearbox:
    """Return what a joint says; its frames are in the links that it joins."""
    document = scope.document
    kind = document.attribute(element, "type")
    if kind not in TYPES and kind != GEARBOX:
        raise document.error(element, unknown("joint type", kind, (*TYPES, GEARBOX)))
    name = scope.prefix + document.attribute(element, "name")
    ends = [scope.link(text(document, element, tag), element) for tag in ("parent", "child")]
    if ends[1] == "world":
        raise document.error(element, "the child is the world; swap <parent> and <child>")
    if ends[0] == ends[1]:
        raise document.error(element, f"parent and child are both {quote(ends[0])}; name two links")
    here = scope.frame_of(element)
    two = kind == GEARBOX or TYPES[kind] == "universal"
    axes = [_axis(document, scope, element, tag, here) for tag in ("axis", "axis2")[: 1 + two]]
    if kind == GEARBOX:
        return _gearbox(document, scope, element, name, (ends[0], ends[1]), axes, here)
    axis, axis2 = axes[0], axes[1] if two else None
    if axis2 is not None and parallel(axis, axis2):
        raise document.error(
            element, f"<axis> and <axis2> are parallel, {axis} and {axis2}; write two directions"
        )
    if element.find("physics") is not None:
        left_out.add("softness and solver settings of joints (<physics>)", name)
    first = element.find("axis")
    has_axis = TYPES[kind] in ("revolute", "continuous", "prismatic", "helical")
    dynamics = first.find("dynamics") if first is not None else None
    values = {"damping": 0.0, "friction": 0.0, "spring_stiffness": 0.0, "spring_reference": 0.0}
    if dynamics is not None:
        values = {tag: number(document, dynamics, tag, 0.0) for tag in values}
    stiffness = values["spring_stiffness"]
    if stiffness and not has_axis:
        left_out.add("springs of joints with several degrees of freedom", name)
        stiffness = 0.0
    if (
        not has_axis
        and TYPES[kind] != "fixed"
        and any(
            axis_element is not None and _limits(document, axis_element) != Limits()
            for axis_element in (first, element.find("axis2"))
        )
    ):
        left_out.add("limits of joints with several degrees of freedom", name)
    second = None if axis2 is None else element.find("axis2/dynamics")
    if second is not None and any(number(document, second, tag, 0.0) for tag in values):
        left_out.add("damping, friction and springs of second axes", name)
    mimic = None
    if first is not None and (asked := document.child(first, "mimic")) is not None:
        mimic = _mimic(document, scope, asked, name, has_axis, left_out)
    return Joint(
        name,
        TYPES[kind],
        ends[0],
        ends[1],
        _in_link(scope, ends[0]).inverse() @ here,
        axis,
        axis2,
        limits=_limits(document, first) if has_axis and first is not None else Limits(),
        mimic=mimic,
        damping=values["damping"],
        friction=values["friction"],
        stiffness=stiffness,
        rest=values["spring_reference"] if stiffness else 0.0,
        pitch=_pitch(document, element) if kind == "screw" else 0.0,
        line=line_of(element),
        child_frame=_in_link(scope, ends[1]).inverse() @ here,
        source=document.file,
    )


def _in_link(scope: Scope, link: str) -> Frame:
    """Return where a link is in the world, by its full name."""
    outermost = scope
    while outermost.outer is not None:
        outermost = outermost.outer
    return outermost.frame(link, scope.model)


def _axis(
    document: Document,
    scope: Scope,
    joint: Element,
    tag: str,
    here: Frame,
) -> Vector3:
    """Return an axis in the joint's frame."""
    element = document.child(joint, tag)
    if element is None:
        if tag == "axis2":
            message = (
                f"a {joint.get('type')} joint has two axes, and SDF has no default for the second"
            )
            raise document.error(joint, message + "; write <axis2><xyz>1 0 0</xyz></axis2>")
        return DEFAULT_AXIS
    axis = direction(document, element, DEFAULT_AXIS)
    xyz = element.find("xyz")
    expressed = "" if xyz is None else xyz.get("expressed_in") or ""
    old = element.find("use_parent_model_frame") is None
    old = old and scope.source.version < MODEL_AXES_BEFORE
    if not expressed and (old or flag(document, element, "use_parent_model_frame")):
        expressed = MODEL
    if not expressed:
        return axis
    seen = scope.frame(expressed, element).rotation @ np.array(axis)
    x, y, z = (here.rotation.T @ seen).tolist()
    return x, y, z


def _limits(document: Document, axis: Element) -> Limits:
    limit = document.child(axis, "limit")
    if limit is None:
        return Limits()
    lower = _bound(document, limit, "lower", -UNLIMITED)
    upper = _bound(document, limit, "upper", UNLIMITED)
    effort, velocity = (_bound(document, limit, tag, -1.0) for tag in ("effort", "velocity"))
    remark_reversed(document, limit, lower, upper)
    return Limits(
        lower if lower > -UNLIMITED else None,
        upper if upper < UNLIMITED else None,
        effort if 0.0 <= effort < UNLIMITED else None,
        velocity if 0.0 <= velocity < UNLIMITED else None,
    )


def _bound(document: Document, limit: Element, tag: str, default: float) -> float:
    """Return a limit; SDF writes inf where there is none."""
    child = limit.find(tag)
    word = "" if child is None else (child.text or "").strip().lower()
    if word in ("inf", "+inf", "-inf"):
        return math.copysign(UNLIMITED, -1.0 if word.startswith("-") else 1.0)
    return number(document, limit, tag, default)


def _mimic(
    document: Document,
    scope: Scope,
    element: Element,
    name: str,
    has_axis: bool,
    left_out: LeftOut,
) -> Mimic | None:
    """Return q = multiplier (leader - reference) + offset."""
    leader = document.attribute(element, "joint")
    if not has_axis or element.get("axis", "axis") != "axis":
        left_out.add("mimicking of one axis of several", name)
        return None
    multiplier = number(document, element, "multiplier", 1.0)
    offset = number(document, element, "offset", 0.0)
    reference = number(document, element, "reference", 0.0)
    return Mimic(scope.prefix + leader, multiplier, offset - multiplier * reference)


def _pitch(document: Document, element: Element) -> float:
    """Return the advance of a screw, m/rad: SDF has it by turn, and an older inverse of it."""
    if element.find("screw_thread_pitch") is not None:
        return number(document, element, "screw_thread_pitch", 0.0) / (2.0 * math.pi)
    old = number(document, element, "thread_pitch", 0.0)
    if not old:
        raise document.error(element, "a screw needs <screw_thread_pitch> (m a turn); write it")
    return -1.0 / old


def _gearbox(
    document: Document,
    scope: Scope,
    element: Element,
    name: str,
    links: tuple[str, str],
    axes: list[Vector3],
    here: Frame,
) -> Gearbox:
    reference = scope.link(text(document, element, "gearbox_reference_body"), element)
    first, second = (here.rotation @ np.array(axis) for axis in axes)
    ratio = number(document, element, "gearbox_ratio", 1.0)
    if not ratio:
        raise document.error(element, "expected a <gearbox_ratio> other than 0")
    return Gearbox(name, reference, links, (first, second), ratio, line_of(element), document.file)
