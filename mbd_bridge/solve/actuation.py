"""Whether actuators can move a mechanism with loops, and whether its motion determines them.

With N a basis of the velocities that the loops allow (nv, degrees of freedom), and N_d its rows of
the actuated velocities:

    rank N_d < dof         something can move that no actuator moves: too few, or they stand at a
                           dead centre
    rank N_d < actuators   these can work against each other: how they share is not determined

The smallest singular value of N_d, with velocities in rad and in sizes of the mechanism, is the
distance from a dead centre: the smallest part of a motion that the actuators notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import ModelError, count, unknown_name
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.tolerances import SINGULAR


@dataclass(frozen=True, eq=False)
class Actuation:
    """What actuators do at one position.

    Attributes
    ----------
    actuated : actuated velocities, by name
    dof : of the closed mechanism, without spins that need no actuator (`spins`)
    moved : how many of the degrees of freedom the actuators move
    distance : from a dead centre, 0 to 1: the smallest part of a motion that the actuators notice
    still : velocity that is largest (the first of these) in a motion that no actuator moves, or
        None
    """

    actuated: tuple[str, ...]
    dof: int
    moved: int
    distance: float
    still: str | None

    def __str__(self) -> str:
        text = (
            f"{count(len(self.actuated), 'actuator')} ({', '.join(self.actuated)}) of "
            f"{count(self.dof, 'degree of freedom')}: {self.moved} moved, distance from a dead "
            f"centre "
            f"{self.distance:.3g}"
        )
        if self.too_few:
            text += f"; {self.still!r} moves without them"
        return text + (f"; {self.too_many} too many" if self.too_many else "")

    @property
    def too_few(self) -> int:
        """Degrees of freedom that no actuator moves."""
        return self.dof - self.moved

    @property
    def too_many(self) -> int:
        """Actuators whose share in the motion is not determined."""
        return len(self.actuated) - self.moved


def actuated_velocities(model: Model, actuated: Iterable[str] | str) -> Array:
    """Return which velocities (nv,) belong to the joints named.

    Those of modes that can move beside them do, too: a motion that the modes cannot make by
    themselves needs a force on them, which the results then show. Modes that the loops lock, such
    as bending out of the plane of a planar loop, have none: their equilibrium is one of the
    equations that determine the loops' loads.
    """
    active = np.zeros(model.nv, dtype=bool)
    known = _actuatable(model)
    cuts = {cut.name for cut in model.cuts}
    for name in (actuated,) if isinstance(actuated, str) else actuated:
        if name in cuts:
            raise ModelError(
                f"joint {name!r} is cut, and a cut joint has no actuator: choose cuts= so that it "
                f"is "
                f"in the tree. Joints that can be actuated: {', '.join(known)}"
            )
        if name not in known:
            raise ModelError(unknown_name("joint of the tree that can be actuated", name, known))
        active[known[name]] = True
    active[_moving_modes(model, active)] = True
    return active


def _moving_modes(model: Model, active: Array) -> list[int]:
    """Return the velocities of modes that the loops let move beside the active ones."""
    modes = [k for part in model.flexible for k in range(model.nv)[part.v]]
    if not modes or not model.has_loops:
        return modes
    choice, most = row_choice(model), list[int]()
    for J in closed_positions(model).phi_q:
        N = _motions(choice.exact(J))
        chosen = np.flatnonzero(active).tolist()
        rank, moving = np.linalg.matrix_rank(N[chosen], tol=SINGULAR) if chosen else 0, list[int]()
        for mode in modes:
            if np.linalg.matrix_rank(N[[*chosen, mode]], tol=SINGULAR) > rank:
                chosen, moving, rank = [*chosen, mode], [*moving, mode], rank + 1
        most = max(most, moving, key=len)
    return most


def actuation(model: Model, J: Array, active: Array) -> Actuation:
    """Return what actuators (nv,) do, from the dimensionless Φ_q (m, nv) at a position."""
    N = _motions(J)
    own = N[active]
    _, s, Vt = np.linalg.svd(own)
    moved = int(np.sum(s > SINGULAR))
    dof = N.shape[1]
    distance = float(s[dof - 1]) if 0 < dof <= len(s) else float(dof == 0)
    left = np.abs(N @ Vt[moved:].T).max(axis=1, initial=0.0)
    names = np.array(model.velocity_names)
    most = names[left >= (1.0 - SINGULAR) * left.max(initial=0.0)]
    still = str(most[0]) if moved < dof else None
    return Actuation(tuple(names[active].tolist()), dof, moved, distance, still)


def enough(model: Model, J: Array, active: Array) -> tuple[str, ...]:
    """Return joints whose actuators are as many as needed: some of those given, then others.

    Only joints that `actuated_velocities` takes; a joint with several velocities is taken if all of
    them are needed. Empty if no such joints move all that can move.
    """
    N = _motions(J)
    order = [k for group in (active, ~active) for k in _independent(N, group)]
    joints = _actuatable(model)
    owners = {k: name for name, place in joints.items() for k in range(place.start, place.stop)}
    names = list(dict.fromkeys(owners[k] for k in order if k in owners))
    names.sort(
        key=lambda name: (not active[joints[name]].any(), joints[name].stop - joints[name].start)
    )
    chosen: list[int] = []
    for name in [*names, *joints]:
        both = [*chosen, *range(joints[name].start, joints[name].stop)]
        if len(both) > len(chosen) and np.linalg.matrix_rank(N[both], tol=SINGULAR) == len(both):
            chosen = both
    if len(chosen) < N.shape[1]:
        return ()
    return tuple(dict.fromkeys(owners[k] for k in sorted(chosen)))


def _actuatable(model: Model) -> dict[str, slice]:
    """Return the velocities of each joint that can be actuated."""
    return {
        model.joints[body.joint].name: body.v
        for body in model.bodies
        if body.type.nv and not body.coupled
    }


def explain_actuators(model: Model, J: Array, active: Array) -> str:
    """Return what is wrong with actuators: how many there are, what they move, what to try."""
    found = actuation(model, J, active)
    named = ", ".join(found.actuated) if found.actuated else "none"
    dof = count(found.dof, "degree of freedom")
    better = enough(model, J, active)
    such_as = f", such as actuated={list(better)}" if better else ""
    one = "there is" if found.dof == 1 else "there are"
    if found.too_few and found.too_many:
        return (
            f"{one} {dof}, and the actuators ({named}) move {found.moved} of them here, a dead "
            f"centre: {found.still!r} moves, and no actuator with it. Leave this position out, or "
            f"actuate other joints{such_as}"
        )
    if found.too_few:
        return (
            f"{one} {dof}, and the actuators ({named}) move {found.moved} of them; "
            f"{found.still!r} moves without them. Name more joints in actuated=[...]{such_as}"
        )
    if found.too_many:
        return (
            f"{one} {dof} and {count(len(found.actuated), 'actuator')} ({named}): how they share "
            f"the work depends on their elasticity. Name as many as there are "
            f"degrees of freedom{such_as}"
        )
    return f"{one} {dof}, moved by {named}"


def _motions(J: Array) -> Array:
    _, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > SINGULAR * s.max(initial=0.0)))
    return np.asarray(Vt[rank:].T)


def _independent(N: Array, group: Array) -> list[int]:
    places = np.flatnonzero(group)
    found = pivoted(N[places].T)
    return [int(places[k]) for k in found.order[: found.rank]]
