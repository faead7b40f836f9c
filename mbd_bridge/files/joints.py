"""``<joint>``: an edge of the file's tree."""

from __future__ import annotations

from mbd_bridge.files.document import Document, unknown
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.axes import parallel
from mbd_bridge.model.description import Joint, Limits, Mimic, Vector3

JOINT_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
    "spherical",
    "universal",
    "cylindrical",
)
"""URDF's own types, pybullet's `spherical`, and two of ours."""

TYPES_WITH_AXIS = frozenset(
    {"revolute", "continuous", "prismatic", "planar", "universal", "cylindrical"}
)

ONE_FREEDOM = frozenset({"revolute", "continuous", "prismatic"})

DEFAULT_AXIS: Vector3 = (1.0, 0.0, 0.0)
"""URDF's default."""


def read_joint(document: Document, element: Element) -> Joint:
    """Return what one ``<joint>`` says; its links are checked later, all together."""
    name = document.attribute(element, "name")
    kind = document.attribute(element, "type")
    if kind not in JOINT_TYPES:
        raise document.error(element, unknown("joint type", kind, JOINT_TYPES))
    parent = document.needed_child(element, "parent", '<parent link="..."/>')
    child = document.needed_child(element, "child", '<child link="..."/>')
    axis, axis2 = _read_axes(document, element, kind)
    dynamics = document.child(element, "dynamics")
    damping = friction = 0.0
    if dynamics is not None:
        damping = document.optional_number(dynamics, "damping") or 0.0
        friction = document.optional_number(dynamics, "friction") or 0.0
    return Joint(
        name=name,
        type=kind,
        parent=document.attribute(parent, "link"),
        child=document.attribute(child, "link"),
        origin=document.origin(element),
        axis=axis,
        axis2=axis2,
        limits=_read_limits(document, element),
        mimic=_read_mimic(document, element, kind),
        damping=damping,
        friction=friction,
        line=line_of(element),
    )


def _read_axes(document: Document, joint: Element, kind: str) -> tuple[Vector3, Vector3 | None]:
    """Return the unit axes; as urdfdom does, <axis> is not looked at where the type has none."""
    if kind not in TYPES_WITH_AXIS:
        return DEFAULT_AXIS, None
    element = document.child(joint, "axis")
    axis = DEFAULT_AXIS if element is None else document.direction(element, "xyz", DEFAULT_AXIS)
    second = document.child(joint, "axis2") if kind == "universal" else None
    if second is None:
        return axis, None
    axis2 = document.direction(second, "xyz")
    if parallel(axis, axis2):
        raise document.error(
            joint,
            f"the two axes of a universal joint must differ, got {axis} and {axis2}; "
            'write <axis xyz="1 0 0"/> and <axis2 xyz="0 1 0"/>',
        )
    return axis, axis2


def _read_limits(document: Document, joint: Element) -> Limits:
    """Return the limits; lower > upper is remarked on (pybullet's files mean "free" by it)."""
    element = document.child(joint, "limit")
    if element is None:
        return Limits()
    lower, upper, effort, velocity = (
        document.optional_number(element, name) for name in ("lower", "upper", "effort", "velocity")
    )
    if lower is not None and upper is not None and lower > upper:
        kind = "limits are reversed, read as they stand (swap lower and upper, or leave them out)"
        document.remark_at(kind, element, f"lower {lower:g} > upper {upper:g}")
    return Limits(lower, upper, effort, velocity)


def _read_mimic(document: Document, joint: Element, kind: str) -> Mimic | None:
    element = document.child(joint, "mimic")
    if element is None:
        return None
    multiplier = document.optional_number(element, "multiplier")
    offset = document.optional_number(element, "offset")
    mimic = Mimic(
        document.attribute(element, "joint"),
        1.0 if multiplier is None else multiplier,
        0.0 if offset is None else offset,
    )
    if kind == "fixed":
        document.remark_at("a fixed joint cannot mimic, its <mimic> is ignored", joint)
        return None
    if kind not in ONE_FREEDOM:
        raise document.error(
            joint,
            f"a {kind} joint cannot mimic: only {', '.join(sorted(ONE_FREEDOM))} joints can; "
            "remove the <mimic> or change the type",
        )
    return mimic
