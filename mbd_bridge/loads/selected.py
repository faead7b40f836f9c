"""Loads of chosen joints, of the tree and cut, as one function to be traced.

The cut joints' multipliers act on both bodies as external wrenches; the tree's recursion then
gives every load:

    on the successor  -Σ λ_k w_k,   on the predecessor  +Σ λ_k w_k           (w: `equations.cuts`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.arguments import is_all
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.cuts import cut_wrenches
from mbd_bridge.equations.external import NOTHING, External, add, shift_to_link
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.reactions import at_body_origin
from mbd_bridge.equations.sections import JointSection, section_loads
from mbd_bridge.equations.state_vectors import BodyState, state_vectors
from mbd_bridge.kernels.tracing import fewest_operations
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.options import Formulation
from mbd_bridge.model import JointMotion, Model, ModelJoint
from mbd_bridge.model.spatial import Array, Inertia, is_zero, zeros

COUPLING = "coupling"
"""Type of cuts that are gears: their actuation is the generalised force on what follows."""


class JointPlace(NamedTuple):
    """A joint whose load is asked for: index of a joint of the tree, or of a cut."""

    cut: bool
    number: int


@dataclass(frozen=True)
class LoadSelection:
    """Which loads are formed.

    Attributes
    ----------
    joints : places of the joints
    convention : a point of it may be one of symbols
    reaction : whether the load without the actuation's part is formed as well
    """

    joints: tuple[JointPlace, ...]
    convention: Convention
    reaction: bool = False

    @property
    def tree_joints(self) -> list[int]:
        """The joints of the tree among them."""
        return [number for cut, number in self.joints if not cut]


class Sizes(NamedTuple):
    """What makes loads comparable, N m: the mechanism's size, and a factor (F,) of each
    actuator.
    """

    force: float
    actuations: Array

    @staticmethod
    def of(model: Model, asked: Sequence[JointPlace]) -> Sizes:
        """Return those of a mechanism: its size for a force, 1 for a moment."""
        out: list[float] = []
        for cut, k in asked:
            if cut and model.cuts[k].type == COUPLING:
                row = sum(len(other.rows) for other in model.cuts[:k])
                out.append(float(model.row_scale[row]))
            elif not cut and model.joints[k].moving:
                body = model.bodies[model.joints[k].body]
                out += model.velocity_scale[body.v].tolist()
        return Sizes(model.size, np.array(out))


def select_joints(
    model: Model, joints: Iterable[str | int] | str | None, *, cuts: bool
) -> tuple[tuple[str, ...], tuple[JointPlace, ...]]:
    """Return names and places of joints given by name (or index, of the tree).

    Parameters
    ----------
    joints : None or "all" for all but the root joint and those of stations; those that are cut
        last
    cuts : whether cut joints may be named
    """
    known = {cut.name: k for k, cut in enumerate(model.cuts)} if cuts else {}
    if joints is None or is_all(joints, (*model.joint_index, *known)):
        joints = [*model.joint_numbers(None), *known]
    elif isinstance(joints, str | int | np.integer):
        joints = (joints,)
    try:
        named = tuple(joints)
    except TypeError:
        raise ModelError(f"joints: expected names of joints, got {joints!r:.60}") from None
    places = []
    for name in named:
        if isinstance(name, str) and name in known:
            places.append(JointPlace(True, known[name]))
        elif isinstance(name, str) and name not in model.joint_index:
            raise ModelError(f"joints: {model.no_joint(name, known)}")
        else:
            places.append(JointPlace(False, model.joint_number(name)))
    if not places:
        raise ModelError("no joint was asked for; name at least one in joints=[...]")
    names = (model.cuts[k].name if cut else model.joints[k].name for cut, k in places)
    return tuple(names), tuple(places)


def actuation_names(
    model: Model, asked: Sequence[JointPlace]
) -> tuple[tuple[str, ...], tuple[slice, ...]]:
    """Return the names of all actuators of these joints, and which of them belong to each joint.

    A joint of the tree has one for each of its degrees of freedom, gears one; other cut joints have
    none.
    """
    names: list[str] = []
    places = []
    for cut, k in asked:
        start = len(names)
        if not cut and model.joints[k].moving:
            names += [model.joints[k].name + suffix for suffix in model.joints[k].type.velocities]
        elif cut and model.cuts[k].type == COUPLING:
            names.append(model.cuts[k].name)
        places.append(slice(start, len(names)))
    return tuple(names), tuple(places)


def selected_loads(
    model: Model,
    selection: LoadSelection,
    q: Array,
    v: Array,
    a: Array,
    external: External,
    lam: Array | None = None,
    within: Mapping[int, Array] = NOTHING,
    sections: Sequence[JointSection] | None = None,
) -> tuple[Array, ...]:
    """Return forces (J, 3), moments (J, 3), actuators (F,) and, if selected, the reactions.

    Parameters
    ----------
    lam : (m,) multipliers of the cuts' rows; None: the loops are left open
    within : by number of the cut, what of the external wrenches passes through the joint, on its
        successor, about the root frame's origin: it is part of its load, but not of the reaction
    sections : those of the selected joints of the tree, where M and h are formed anyway:
        the loads then follow without recursion, KimYou97 (30), (31), (36)
    """
    asked, convention, reaction = selection.joints, selection.convention, selection.reaction
    wrenches: list[Array] = []
    state = None if lam is None else state_vectors(model, q, v)
    if state is not None and lam is not None:
        wrenches = cut_wrenches(model, state, lam)
    numbers = selection.tree_joints
    if sections is not None:
        between = _at_root(model, wrenches)
        of_joints = section_loads(model, q, v, a, numbers, sections, external, between)
    else:
        if state is not None:
            external = _with_cuts(model, external, wrenches, state.bodies)
        of_joints = recursive_loads(model, q, v, a, numbers, external)[:2]
    of_tree = iter(zip(numbers, *of_joints, strict=True))
    motions = body_motions(model, q, v)
    whole, rest, actuations = [], [], [np.zeros(0)]
    for cut, k in asked:
        if cut:
            assert state is not None, "cuts are asked for with their multipliers"
            assert lam is not None
            own = wrenches[k] + within[k] if k in within else wrenches[k]
            found = convention.apply_cut(model, model.cuts[k], own, state, motions)
            whole.append(found)
            if k in within:
                found = convention.apply_cut(model, model.cuts[k], wrenches[k], state, motions)
            rest.append(found)  # a cut joint is not actuated, and what gears do is no load
            if model.cuts[k].type == COUPLING:  # Q = M q̈ + h + Φ_qᵀ λ: the gears act with -λ
                row = sum(len(other.rows) for other in model.cuts[:k])
                actuations.append(-lam[row : row + 1])
            continue
        j, wrench, actuation = next(of_tree)
        joint = model.joints[j]
        actuations.append(actuation)
        parts = [wrench]
        if reaction:
            parts.append(wrench - actuation_wrench(joint, motions[joint.body], actuation))
        for place, part in zip((whole, rest), parts, strict=False):
            at_link = shift_to_link(model, joint.child, part)
            place.append(convention.apply(model, joint, at_link, motions))
    load, along = _rows(whole), np.concatenate(actuations)
    if not reaction:
        return load[:, :3], load[:, 3:], along
    part = _rows(rest)
    return load[:, :3], load[:, 3:], along, part[:, :3], part[:, 3:]


def fewest_loads(
    formulation: Formulation,
    known: Sequence[Any],
    sections: Sequence[JointSection],
    loads: Callable[[Sequence[JointSection] | None], tuple[Array, ...]],
) -> tuple[Array, ...]:
    """Return the loads in a formulation, by `loads` of sections or of None: by recursion.

    Parameters
    ----------
    known : arrays that are computed in any case: with them operations are counted
    """
    if formulation == "auto":
        return fewest_operations(known, loads, {"non-recursive": sections, "recursive": None})
    return loads(sections if formulation == "non-recursive" else None)


def changes(
    model: Model, selection: LoadSelection, q: Array, multipliers: Sequence[Array]
) -> tuple[Array, ...]:
    """Return what some multipliers (m,) alone do to `selected_loads`, without weight or motion.

    Each result is the sum of squares over the multipliers: wrench (J, 6) and actuation (F,), N m (a
    force counts with the mechanism's size), and reaction (J, 6) if selected.
    """
    light, still = _weightless(model), np.zeros(model.nv)
    sizes = Sizes.of(model, selection.joints)
    squares: list[Array] = [np.zeros(1)] * (3 if selection.reaction else 2)
    for lam in multipliers:
        force, moment, actuation, *rest = selected_loads(light, selection, q, still, still, {}, lam)
        found = [np.hstack([force * sizes.force, moment]), actuation * sizes.actuations]
        if selection.reaction:
            found.append(np.hstack([rest[0] * sizes.force, rest[1]]))
        squares = [s + x * x for s, x in zip(squares, found, strict=True)]
    return tuple(squares)


def actuation_wrench(joint: ModelJoint, motion: JointMotion, actuation: Array) -> Array:
    """Return the (6,) wrench with which an actuator acts on the child, at its origin, in its axes.

    A rotation is actuated by a moment along its axis, a translation by a force along its way; for
    a screw the moment does the work.
    """
    if not joint.moving:
        return np.zeros(6)
    turns = [k for k in range(joint.type.nv) if not is_zero(motion.angular[:, k])]
    force = sum(
        (motion.linear[:, k] * actuation[k] for k in range(len(actuation)) if k not in turns),
        np.zeros(3),
    )
    moment = sum((motion.angular[:, k] * actuation[k] for k in turns), np.zeros(3))
    return np.concatenate([force, moment])


def _at_root(model: Model, wrenches: Sequence[Array]) -> list[tuple[int, Array]]:
    """Return what the cut joints do to the tree's links, about the root frame's origin."""
    return [
        (link, sign * wrench)
        for cut, wrench in zip(model.cuts, wrenches, strict=False)
        for link, sign in zip(cut.links, (-1.0, 1.0), strict=True)
    ]


def _with_cuts(
    model: Model, external: External, wrenches: Sequence[Array], bodies: Sequence[BodyState]
) -> External:
    """Return the external wrenches together with what the cut joints do to the tree's links."""
    pushes = dict(external)
    for link, wrench in _at_root(model, wrenches):
        own = shift_to_link(model, link, at_body_origin(bodies[model.links[link].body], wrench))
        add(pushes, {link: own})
    return pushes


def _weightless(model: Model) -> Model:
    """Return the mechanism without masses and gravity: loads are then those of the pushes alone."""
    nothing = Inertia.zero()
    return replace(
        model,
        bodies=tuple(replace(body, inertia=nothing) for body in model.bodies),
        links=tuple(replace(link, inertia=nothing) for link in model.links),
        joints=tuple(replace(joint, inertia=nothing) for joint in model.joints),
        gravity=np.zeros(3),
        flexible=(),
    )


def _rows(vectors: list[Array]) -> Array:
    out = zeros((len(vectors), 6), *vectors)
    for k, vector in enumerate(vectors):
        out[k] = vector
    return out
