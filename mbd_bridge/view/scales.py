"""Loads and deflections as they are drawn: where they act, and one round scale for a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.base.readable import quantity
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model import Model, ModelLink
from mbd_bridge.model.spatial import Array, Frame
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve.closing import largest, newton
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.moves import moved
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.view.bending import BentLink

# Where joints are and how their loads point in the world, for each state of a motion.

TURNS = ("revolute", "continuous", "helical")
SLIDES = ("prismatic",)


@dataclass(frozen=True, eq=False)
class ShownLoad:
    """The load of one joint in the world's axes along N states, for drawing.

    Attributes
    ----------
    point : (N, 3) m, where it acts
    force, moment : (N, 3) N, N m: their determined components
    open_force, open_moment : (N, 3) the rest, which is one solution of many
    axis : (N, 3) of the actuation, or None where no single actuation can be drawn
    actuation : (N,) N m about the axis, or N along it
    turns : whether the actuation turns
    """

    joint: str
    point: Array
    force: Array
    moment: Array
    open_force: Array
    open_moment: Array
    axis: Array | None = None
    actuation: Array | None = None
    turns: bool = True


def load_frames(model: Model, name: str, bodies: Array) -> Array:
    """Return the frames (N, 4, 4) in which a joint's load is given, in the world.

    They have the joint's origin and the axes of the child link.

    Parameters
    ----------
    name : of a joint of the tree, or of a cut
    bodies : (N, B, 4, 4)
    """
    if name in model.joint_index:
        joint = model.joints[model.joint_index[name]]
        if joint.turned:  # its load is given on what was described as its child
            carrier = model.links[joint.parent]
            return _on_link(carrier, carrier.frame @ joint.parent_frame, bodies)
        return _on_link(model.links[joint.child], joint.frame, bodies)
    for cut in model.cuts:
        if cut.name == name:
            return _on_link(model.links[cut.links[1]], cut.described, bodies)
    raise ModelError(f"no joint named {name!r}")


def _on_link(link: ModelLink, joint: Frame, bodies: Array) -> Array:
    """Return where the origin of a joint on a link is, with the link's axes, in the world."""
    at_joint = Frame(link.frame.rotation, joint.translation)
    return np.asarray(bodies[:, link.body] @ at_joint.matrix())


def shown_loads(model: Model, loads: JointLoads, bodies: Array) -> list[ShownLoad]:
    """Return the loads of N states as they are drawn.

    Parameters
    ----------
    loads : on the child, at the joint, in the child's axes, of N states
    bodies : (N, B, 4, 4) where the bodies are in these states
    """
    convention = loads.convention
    if (convention.on, convention.at, convention.in_) != ("child", "joint", "child"):
        raise ModelError(
            f"loads are drawn that are given on='child', at='joint', in_='child'; got {convention}"
        )
    shown = []
    for k, name in enumerate(loads.joints):
        frames = load_frames(model, name, bodies)
        unique = np.broadcast_to(loads.unique[..., k, :], (len(bodies), 6))
        force, moment = loads.force[:, k], loads.moment[:, k]
        determined, loose, turn, loose_turn = (
            np.einsum("nij,nj->ni", frames[:, :3, :3], np.where(flags, part, 0.0))
            for part, flags in (
                (force, unique[:, :3]),
                (force, ~unique[:, :3]),
                (moment, unique[:, 3:]),
                (moment, ~unique[:, 3:]),
            )
        )
        found_actuation, axis = single_actuation(model, loads, k), None
        actuation, turns = (None, True) if found_actuation is None else found_actuation
        if found_actuation is not None:
            axis = joint_axes(model, name, bodies)
        point = frames[:, :3, 3]
        shown.append(
            ShownLoad(name, point, determined, turn, loose, loose_turn, axis, actuation, turns)
        )
    return shown


def joint_axes(model: Model, name: str, bodies: Array) -> Array:
    """Return the axis (N, 3) of a tree joint in the world, as its coordinate counts."""
    joint = model.joints[model.joint_index[name]]
    if joint.parent < 0:
        carried = np.broadcast_to(np.eye(3), (len(bodies), 3, 3))
    else:
        link = model.links[joint.parent]
        carried = bodies[:, link.body, :3, :3] @ link.frame.rotation
    axis = joint.parent_frame.rotation @ np.array(joint.axis)
    return np.asarray(carried @ (-axis if joint.turned else axis))


def single_actuation(model: Model, loads: JointLoads, k: int) -> tuple[Array, bool] | None:
    """Return a joint's only actuation (N,), N m or N, and whether it turns; None if it has no
    such.
    """
    name = loads.joints[k]
    kind = model.joints[model.joint_index[name]].type.name if name in model.joint_index else ""
    if kind not in (*TURNS, *SLIDES):
        return None
    return loads.actuation[:, loads.actuation_of[k]][:, 0], kind in TURNS


# External forces as they are drawn: wrenches at their points of action, along states.


@dataclass(frozen=True, eq=False)
class AppliedWrench:
    """An external wrench on one link along N states.

    Attributes
    ----------
    link : name of the link on which it acts
    point : (N, 3) m, where it acts, in the link's frame
    wrench : (N, 6) force, N, and moment about that point, N m, in the link's axes
    """

    link: str
    point: Array
    wrench: Array

    @staticmethod
    def about(link: str, point: Array, on_link: Array) -> AppliedWrench:
        """Return wrenches (N, 6) about the link's origin as those about points (N, 3) of it."""
        force = on_link[:, :3]
        moment = on_link[:, 3:] - np.cross(point, force)
        return AppliedWrench(link, point, np.hstack([force, moment]))

    def records(self, rows: Array) -> AppliedWrench:
        """Return it in some of the states."""
        return replace(self, point=self.point[rows], wrench=self.wrench[rows])

    def between(self, rows: Array, part: Array) -> AppliedWrench:
        """Return it between states and the next ones, on the straight way in the link's axes."""
        share = part[:, None]
        point, wrench = (
            (1.0 - share) * values[rows] + share * values[rows + 1]
            for values in (self.point, self.wrench)
        )
        return replace(self, point=point, wrench=wrench)

    def in_world(self, model: Model, bodies: Array) -> tuple[Array, Array, Array]:
        """Return its points, forces and moments (N, 3) in the world.

        Parameters
        ----------
        bodies : (N, B, 4, 4) where the bodies are in these states
        """
        link = model.links[model.link_number(self.link)]
        frames = bodies[:, link.body] @ link.frame.matrix()
        turns = frames[:, :3, :3]
        point, force, moment = (
            np.einsum("nij,nj->ni", turns, vectors)
            for vectors in (self.point, self.wrench[:, :3], self.wrench[:, 3:])
        )
        return point + frames[:, :3, 3], force, moment


def applied_along(
    model: Model, motion: Motion, external: ExternalForces | None
) -> tuple[AppliedWrench, ...]:
    """Return external forces along a motion, each at its point of action."""
    prepared = Prepared(model)
    return tuple(
        AppliedWrench.about(
            force.link,
            force.acts_at(prepared, motion.time, motion.q),
            force.on_link(prepared, motion.time, motion.q, motion.v),
        )
        for force in external or ()
    )


def applied_in(run: Simulation) -> tuple[AppliedWrench, ...]:
    """Return the external wrenches of a simulation, one a link.

    Several on one link are drawn as their sum: at their point if it is the same, else at the
    link's origin, as is one whose file has columns of its point.
    """
    applied = []
    for link, on_link in run.external.items():
        numbers = run.system.external_links[link]
        points = {run.system.wrenches[k].point for k in numbers}
        point = points.pop() if len(points) == 1 else (0.0, 0.0, 0.0)
        places = np.broadcast_to(np.array(point), (len(on_link), 3))
        applied.append(AppliedWrench.about(link, places, on_link))
    return tuple(applied)


class Scale(NamedTuple):
    """Lengths of arrows: m/N and m/(N m), and parts of the largest arc a N m."""

    force: float
    moment: float
    actuation: float

    @staticmethod
    def of(
        model: Model,
        loads: JointLoads | None,
        longest: float,
        applied: Sequence[AppliedWrench] = (),
    ) -> Scale:
        """Return round scales at which the largest load (determined or not) has a long arrow.

        Parameters
        ----------
        loads : of all states
        longest : m, not reached by any
        applied : external wrenches, drawn at the same scale
        """
        force = moment = actuation = 0.0
        if loads is not None:
            force, moment = _largest(loads.force), _largest(loads.moment)
            for k in range(len(loads.joints)):
                single = single_actuation(model, loads, k)
                if single is None:
                    continue
                size, turns = (
                    float(np.abs(single[0]).max(initial=0.0)),
                    single[1],
                )
                actuation, force = (
                    (max(actuation, size), force) if turns else (actuation, max(force, size))
                )
        for wrench in applied:
            force = max(force, _largest(wrench.wrench[:, :3]))
            moment = max(moment, _largest(wrench.wrench[:, 3:]))
        least = RoundOff.of(model, force, max(moment, actuation))
        return Scale(
            round_number(longest / force) if force > least.force else 0.0,
            round_number(longest / moment) if moment > least.moment else 0.0,
            1.0 / actuation if actuation > least.moment else 0.0,
        )

    def shorter(self, other: Scale) -> Scale:
        """Return the smaller of both scales, of which either may be none (0)."""
        both = zip(self, other, strict=True)
        return Scale(*(min(a, b) if a and b else max(a, b) for a, b in both))


def in_words(scale: float, unit: str, longest: float) -> str:
    """Return a scale in words: how long a round load is drawn."""
    size = round_number(longest / scale)
    return f"{size * scale:.3g} m = {quantity(size, unit)}"


def round_number(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, 20, ... (and of 0.5, 0.2, ...) that is not above."""
    power = 10.0 ** np.floor(np.log10(value))
    digit = max((k for k in (1.0, 2.0, 5.0) if k * power <= value * (1.0 + 1e-9)), default=1.0)
    return float(digit * power)


def _largest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=-1).max(initial=0.0))


# Deflections drawn larger than they are: modal coordinates times a factor, loops closed again.
#
# What hangs on a link that bends moves with its deflection, so the whole machine is placed anew.
# The joints of its loops turn as far as the exaggerated deflections need (the shortest way, in the
# velocities' scale); the modal coordinates stay as they are.

STEPS = 30
"""Newton steps until a loop counts as one that cannot be closed."""

CLOSED = 1e-6
"""How far loops may be open, in parts of the machine's size: nothing of it is seen."""

ARRIVED = 1e-9
"""rad, or sizes of the machine: a Newton step of this length is the last one."""

LARGEST = 1e6
"""Factor."""

VISIBLE = 0.1
"""Deflection, in parts of what the machine spans, that is well seen."""


def check_factor(model: Model, value: float) -> float:
    """Return the factor on deflections; refuse what is none, and any on a rigid machine."""
    factor = float(finite_numbers("exaggerate", value, (), error=StateError))
    if not 0.0 <= factor <= LARGEST:
        raise StateError(f"exaggerate: expected a factor from 0 to {LARGEST:g}, got {factor:g}")
    if factor != 1.0 and not model.flexible:
        raise StateError("exaggerate: no link of this machine bends; leave it out")
    return factor


def exaggerated(model: Model, q: Array, factor: float) -> tuple[Array, Array]:
    """Return coordinates (N, nq) with deflections times a factor, and which loops stay open (N,).

    Where the loops cannot be closed, the other coordinates are as they were.
    """
    out, stay = np.array(q), np.zeros(len(q), dtype=bool)
    if factor == 1.0 or not model.flexible:
        return out, stay
    held = np.zeros(model.nv, dtype=bool)
    for part in model.flexible:
        out[:, part.q] *= factor
        held[part.v] = True
    if not model.has_loops:
        return out, stay
    constraints, still = prepare(model, "constraints"), np.zeros((len(q), model.nv))

    def residuals(q: Array, some: Array) -> tuple[Array, Array]:
        phi, phi_q, _ = constraints(q, still[some])
        return phi / model.row_scale, model.scaled_jacobian(phi_q) * ~held

    def step(q: Array, way: Array) -> Array:
        return moved(model, q, way * model.velocity_scale)

    found = newton(residuals, step, out, np.arange(len(q)), STEPS, done=ARRIVED)
    stay = ~(largest(found.r) < CLOSED)
    return np.where(stay[:, None], out, found.q), stay


def visible_factor(model: Model, bent: Sequence[BentLink], q: Array, span: float) -> float:
    """Return a round factor at which the largest deflection is well seen, and loops are closed.

    1 where nothing bends, or deflections are seen as they are.

    Parameters
    ----------
    q : (N, nq)
    span : of the machine, m
    """
    moves = (np.einsum("kin,sn->ski", link.displacement, q[:, link.q]) for link in bent)
    largest = max((float(np.linalg.norm(move, axis=2).max()) for move in moves), default=0.0)
    if not largest > VISIBLE * span / LARGEST:
        return 1.0
    factor = round_number(VISIBLE * span / largest) if largest < VISIBLE * span else 1.0
    while factor > 1.0 and exaggerated(model, q, factor)[1].any():
        factor = round_number(0.5 * factor)
    return max(factor, 1.0)
