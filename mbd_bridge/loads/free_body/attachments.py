"""Where joints hold a link: the tree's joints, fixed ones too, and those that close loops.

A link is what the file calls a link, not the body that it moves with. Gears are not among them:
they act along coordinates, between each joint's own two links, so their force is part of the loads
of these joints.
"""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.errors import ModelError
from mbd_bridge.mechanism import GROUND, Cut, Model, ModelJoint
from mbd_bridge.spatial import Array


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """A joint that holds a link.

    Attributes
    ----------
    joint : its name
    other : the link at its other side, or "ground"
    child : index of the link that the joint's load acts on, in whose axes it is given
    child_origin : (3,) m of the joint on that link, in that link's frame
    here : (3,) m of the joint on the link in question, in its frame
    is_child : whether that link is the one in question; else the opposite acts on it
    """

    joint: str
    other: str
    child: int
    child_origin: Array
    here: Array
    is_child: bool


def attachments(model: Model, link: str) -> tuple[Attachment, ...]:
    """Return the joints that hold a link: the tree's in their order, then those of loops."""
    number = model.link_number(link)
    found = [_of_tree(model, joint, number) for joint in model.joints]
    found += [_of_loop(model, cut, number) for cut in model.cuts if _holds(cut)]
    held = tuple(one for one in found if one is not None)
    if not held:
        raise ModelError(f"no joint holds the link {link!r}: it has no free body to cut out")
    return held


def _of_tree(model: Model, joint: ModelJoint, link: int) -> Attachment | None:
    child, parent = joint.child, joint.parent
    own, other = joint.child_frame.translation, joint.parent_frame.translation
    if joint.turned:  # the load is in the described sense (`mechanism.recut`)
        child, parent = parent, child
        own, other = other, own
    return _seen_from(model, joint.name, (child, own), (parent, other), link)


def _of_loop(model: Model, cut: Cut, link: int) -> Attachment | None:
    before, behind = cut.links
    on_behind = (model.links[behind].frame.inverse() @ cut.described).translation
    on_before = (model.links[before].frame.inverse() @ cut.a).translation
    return _seen_from(model, cut.name, (behind, on_behind), (before, on_before), link)


def _holds(cut: Cut) -> bool:
    """Return whether a cut joint exerts wrenches: gears and free joints do not."""
    return bool(cut.rows) and cut.type != "coupling"


def _seen_from(
    model: Model, name: str, child: tuple[int, Array], parent: tuple[int, Array], link: int
) -> Attachment | None:
    if link == child[0]:
        other = GROUND if parent[0] < 0 else model.links[parent[0]].name
        return Attachment(name, other, *child, child[1], True)
    if link == parent[0]:
        return Attachment(name, model.links[child[0]].name, *child, parent[1], False)
    return None
