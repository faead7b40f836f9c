"""Loads in a mechanism with loops: of tree joints and of cut ones, with what is determined.

The cut joints' multipliers act on both bodies as external wrenches; the tree's recursion then
gives every load:

    on the successor  -Σ λ_k w_k,   on the predecessor  +Σ λ_k w_k           (w: `equations.cuts`)

A component of a load is determined if no multiplier that the equations leave open changes it
(Wojtyra 2005; Wojtyra and Fraczek 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.external import shift_to_link
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.reactions import at_body_origin
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.kernels.trace import Traceable
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.mechanism import Cut, Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.constrained import ConstrainedDynamics
from mbd_bridge.solve.dynamics import external_on
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.spatial import Array, cross, zeros

COUPLING = "coupling"
"""Type of cuts that are gears: their drive is the generalised force on what follows."""
UNDETERMINED = 1e-7
"""Share of a load, relative to the largest that an open multiplier makes anywhere, from which on it
depends on that multiplier."""


class LoopLoadSolver:
    """Force, moment and drive of chosen joints, tree or cut, of one mechanism with loops.

    Parameters
    ----------
    model : with at least one cut
    joints : names of tree joints and loops; None for all of both
    actuated : joints with a drive; None if multipliers are given with each call
    on, at, in_ : see `Convention`; a cut joint's parent is its predecessor, and its load is at the
        joint's frame on the successor, in that frame's axes
    links : names of links that carry external wrenches
    parameters : of variants: the kernel's last input are theirs
    """

    def __init__(
        self,
        model: Model,
        joints: Iterable[str | int] | str | None = None,
        *,
        actuated: Iterable[str] | None = None,
        on: str = "child",
        at: str | Sequence[float] = "joint",
        in_: str = "child",
        links: Sequence[str] = (),
        parameters: Parameters | None = None,
    ) -> None:
        self.model = model
        self.convention = Convention.of(on, at, in_)
        self.links = tuple(model.link_number(name) for name in links)
        cuts = {cut.name: k for k, cut in enumerate(model.cuts)}
        if joints is None:
            joints = [*(joint.name for joint in model.joints[1:]), *cuts]
        asked = (joints,) if isinstance(joints, str) else tuple(joints)
        self.joints = tuple(
            model.joints[model.joint_number(x)].name if isinstance(x, int | np.integer) else x
            for x in asked
        )
        for name in self.joints:
            if name not in model.joint_index and name not in cuts:
                raise ModelError(unknown_name("joint", name, [*model.joint_index, *cuts]))
        if any(name in cuts for name in self.joints) and (in_ != "child" or at != "joint"):
            raise ModelError("loads of cut joints are given at='joint', in_='child' for now")
        self.tree = [n for n in self.joints if n in model.joint_index]
        self.cut = [cuts[n] for n in self.joints if n in cuts]
        self.dynamics = ConstrainedDynamics(model, self.links, actuated)
        self._drive_names: list[str] = []
        self._places: list[slice] = []
        for name in self.joints:
            start = len(self._drive_names)
            if name in model.joint_index and model.joint(name).moving:
                self._drive_names += [name + s for s in model.joint(name).type.velocities]
            elif name in cuts and model.cuts[cuts[name]].type == COUPLING:
                self._drive_names.append(name)
            self._places.append(slice(start, len(self._drive_names)))
        rows = sum(len(cut.rows) for cut in model.cuts)
        inputs = {"q": model.nq, "v": model.nv, "a": model.nv, "lam": rows}
        # Names have no part in the digest, so they must not choose the kernel either.
        places = [(n in cuts, cuts[n] if n in cuts else model.joint_index[n]) for n in self.joints]
        if self.links:
            inputs["external"] = 6 * len(self.links)
        outputs = ("force", "moment", "drive")
        what = f"{places} {self.convention!r} {self.links}"
        wanted = Wanted(self._function_of, inputs, outputs, "loop_loads", what)
        self.kernel = wanted.kernel(model, parameters)

    def __call__(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *external: ArrayLike
    ) -> JointLoads:
        """Return the loads of a motion that satisfies the loops, at one state or at N states."""
        found = self.dynamics.inverse(q, v, a, *external)
        rows = sum(len(cut.rows) for cut in self.model.cuts)
        places = np.broadcast_to(np.atleast_2d(q), (len(found), self.model.nq))
        flags = [self.unique(qk, d.open) for qk, d in zip(places, found, strict=True)]
        unique = np.array(flags, dtype=bool).reshape(-1, len(self.joints), 6)
        lam = np.array([drives.lam for drives in found]).reshape(-1, rows)
        if max(np.ndim(x) for x in (q, v, a, *external)) == 1:
            lam, unique = lam[0], unique[0]
        return self.result(q, v, a, lam, unique, *external)

    def result(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        lam: ArrayLike,
        unique: Array,
        *external: ArrayLike,
    ) -> JointLoads:
        """Return the loads for given multipliers."""
        return self.named(self.kernel(q, v, a, lam, *external), unique)

    def named(self, outputs: tuple[Array, ...], unique: Array) -> JointLoads:
        """Return the kernel's outputs with their names and convention."""
        force, moment, drive = outputs
        names, places = tuple(self._drive_names), tuple(self._places)
        return JointLoads(
            self.joints,
            force,
            moment,
            drive,
            names,
            places,
            unique,
            self.convention,
            model=self.model,
        )

    def left_open(self, q: ArrayLike) -> Array:
        """Return the multipliers that the equations leave open at q (columns, m)."""
        return self.dynamics.left_open(np.asarray(q, dtype=np.float64))

    def unique(self, q: ArrayLike, left_open: Array, *more: Array) -> Array:
        """Return which components (J, 6) no open multiplier (columns, m) changes at q.

        Parameters
        ----------
        more : the parameters of the variant, where the solver was made for variants
        """
        out = np.ones((len(self.joints), 6), dtype=bool)
        still = np.zeros(self.model.nv)
        for column in left_open.T:
            force, moment, _ = self._change(q, still, column, *more)
            change = np.concatenate([force, moment / self.model.size], axis=-1)
            out &= np.abs(change) <= UNDETERMINED * np.abs(change).max(initial=1e-300)
        return out

    def _change(self, q: ArrayLike, still: Array, lam: Array, *more: Array) -> tuple[Array, ...]:
        """Return what multipliers alone do: the loads with them less the loads without."""
        zero = np.zeros_like(lam)
        external = [np.zeros(6 * len(self.links))] if self.links else []
        with_it = self.kernel(q, still, still, lam, *external, *more)
        without = self.kernel(q, still, still, zero, *external, *more)
        return tuple(x - y for x, y in zip(with_it, without, strict=True))

    def _function_of(self, model: Model) -> Traceable:
        def function(q: Array, v: Array, a: Array, lam: Array, *rest: Array) -> tuple[Array, ...]:
            return self._loads(model, q, v, a, lam, *rest)

        return function

    def _loads(
        self, model: Model, q: Array, v: Array, a: Array, lam: Array, *rest: Array
    ) -> tuple[Array, ...]:
        state = state_vectors(model, q, v)
        wrenches = cut_wrenches(model, state, lam)
        pushes = dict(external_on(self.links, *rest))
        for cut, wrench in zip(model.cuts, wrenches, strict=True):
            for link, sign in zip(cut.links, (-1.0, 1.0), strict=True):
                body = state.bodies[model.links[link].body]
                own = shift_to_link(model, link, at_body_origin(body, sign * wrench))
                pushes[link] = pushes[link] + own if link in pushes else own
        numbers = [model.joint_index[name] for name in self.tree]
        loads = recursive_loads(model, q, v, a, numbers, pushes)
        motions = body_motions(model, q, v)
        found: dict[str, Array] = {}
        drives: dict[str, Array] = {}
        for name, j, wrench, drive in zip(
            self.tree, numbers, loads.wrench, loads.drive, strict=True
        ):
            joint = model.joints[j]
            own = shift_to_link(model, joint.child, wrench)
            found[name] = self.convention.apply(model, joint, own, motions)
            drives[name] = drive
        sign = -1.0 if self.convention.on == "parent" else 1.0
        row = 0
        for cut in model.cuts:
            if cut.type == COUPLING:  # Q = M q̈ + h + Φ_qᵀ λ: the gears drive with -λ
                drives[cut.name] = -lam[row : row + 1]
            row += len(cut.rows)
        by_name = {cut.name: w for cut, w in zip(model.cuts, wrenches, strict=True)}
        for cut in (model.cuts[k] for k in self.cut):
            found[cut.name] = sign * _at_successor(state, cut, by_name[cut.name])
        out = zeros((len(self.joints), 6), *found.values())
        for k, name in enumerate(self.joints):
            out[k] = found[name]
        none = np.zeros(0)
        along: Array = np.concatenate([none, *(drives.get(n, none) for n in self.joints)])
        return out[:, :3], out[:, 3:], along


def cut_wrenches(model: Model, state: MechanismState, lam: Array) -> list[Array]:
    """Return the (6,) wrench of predecessor on successor of each cut, about the root's origin."""
    found = constraints(model, state)
    wrenches, k = [], 0
    for cut in model.cuts:
        total: Array = np.zeros(6)
        for row in range(k, k + len(cut.rows)):
            total = total - lam[row] * found.wrenches[row]
        wrenches.append(total)
        k += len(cut.rows)
    return wrenches


def _at_successor(state: MechanismState, cut: Cut, wrench: Array) -> Array:
    """Return a wrench about the root frame's origin, at the cut's frame on the successor."""
    body = state.bodies[cut.successor]
    own = at_body_origin(body, wrench)
    moment = own[3:] - cross(cut.described.translation, own[:3])
    turn = cut.described.rotation.T
    return np.concatenate([turn @ own[:3], turn @ moment])
