"""Compare a mechanism's kernels with referees, state by state.

The loads of a mechanism with its loops closed, beside pybullet's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import (
    MissingPackageError,
    ModelError,
    SolveError,
    StateError,
    count,
    some,
    whole_number,
)
from mbd_bridge.base.table import Cell, Series, Table, Tabular
from mbd_bridge.equations.external import External
from mbd_bridge.forces.base import bound
from mbd_bridge.forces.files import file_elements
from mbd_bridge.forces.friction import JointFriction
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import ConstrainedDynamics, ForwardDynamics, prepare
from mbd_bridge.solve.assembly import assemble_batch
from mbd_bridge.solve.factor import pivots
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.tolerances import SINGULAR

# The outcome of a cross-check: a table of relative errors and a verdict.

OUTCOMES = {
    None: Cell("not compared", "doubt"),
    True: Cell("agrees", "good"),
    False: Cell("DISAGREES", "bad"),
}
"""How comparisons are shown, by whether they passed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity against one referee.

    Attributes
    ----------
    quantity : what was compared
    referee : who said otherwise, or the same
    error : largest difference over all states, relative to the largest entry of each state
    tolerance : what is allowed
    worst : the joint, coordinate or link with the largest difference
    passed : whether the error is within the tolerance
    note : why something was not compared, or what to know
    compared : False: there is nothing to compare here; error and verdict mean nothing
    """

    quantity: str
    referee: str
    error: float
    tolerance: float
    worst: str = ""
    passed: bool = True
    note: str = ""
    compared: bool = True


@dataclass(frozen=True, slots=True)
class Report(Tabular):
    """All rows, the referees that were asked, and those that could not be, with the reason.

    Attributes
    ----------
    open_loops : loops that nobody compared: the rows are about the open tree only
    where : at which states; "": random ones
    """

    mechanism: str
    states: int
    rows: tuple[Row, ...]
    providers: tuple[str, ...]
    absent: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    where: str = ""

    @property
    def at(self) -> str:
        """At which states, in words."""
        return self.where or count(self.states, "random state")

    @property
    def passed(self) -> bool:
        """Whether something was compared and every comparison passed."""
        compared = [row for row in self.rows if row.compared]
        return bool(compared) and all(row.passed for row in compared)

    @property
    def verdict(self) -> str:
        """The outcome in words: agreement or not, and how much of it was not looked at."""
        left_out = sum(not row.compared for row in self.rows)
        noun = "quantity" if left_out == 1 else "quantities"
        if left_out == len(self.rows):
            return "nothing compared"
        words = "agreement" if self.passed else "DISAGREEMENT"
        words += " of the open tree" if self.open_loops else ""
        words += f", {left_out} {noun} not compared" if left_out else ""
        return words + (f", loops not compared: {some(self.open_loops, 8)}" * bool(self.open_loops))

    def tables(self) -> tuple[Table, ...]:
        """Return errors, tolerances and outcomes, a table for each referee."""
        whole, each = self._table(), [row.referee for row in self.rows]
        return tuple(
            replace(
                whole.rows([name == referee for name in each]),
                title=f"against {referee}",
                caption=f"Against {referee}. {whole.caption}",
            )
            for referee in dict.fromkeys(each)
        )

    def _table(self) -> Table:
        """Return all comparisons below each other."""
        each = self.rows
        outcomes = [OUTCOMES[row.passed if row.compared else None] for row in each]
        errors = [row.error if row.compared else None for row in each]
        allowed = [row.tolerance if row.compared else None for row in each]
        texts, marks = (
            [outcome.text for outcome in outcomes],
            [outcome.mark for outcome in outcomes],
        )
        columns = [
            Series("against", "", [row.referee for row in each], listed=False),
            Series("error", "", errors, shown="{:.1e}".format),
            Series("allowed", "", allowed, shown="{:.0e}".format),
            Series("outcome", "", texts, marks=marks),
            Series("worst at", "", [row.worst for row in each]),
            Series("note", "", [row.note for row in each]),
        ]
        caption = f"{self.at}; the largest difference relative to the largest entry of its state."
        labels = Series("quantity", "", [row.quantity for row in each])
        title = f"{self.mechanism}: {self.verdict} at {self.at}"
        return Table(title, labels, columns, caption=caption)

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: {self.at}"]
        for table in self.tables():
            lines += [table.title, str(table), ""]
        return "\n".join([*lines, *(f"not asked: {x}" for x in self.absent), self.verdict])


# Random states at which models are compared.

TRIALS = 3
"""Guesses per state: some cannot be fulfilled, some end near a singular position."""

REGULAR = 0.05
"""Least singular value of the constraints at a position that is called regular, relative to the
largest: pybullet's solver relaxes row by row, and does not arrive nearer to a singular one."""


def random_states(model: Model, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return q (count, nq), v and a (count, nv).

    Angles and turns go all the way round, slides half a metre; rates are of order one.
    """
    steps = rng.uniform(-np.pi, np.pi, (count, model.nv))
    for body in model.bodies:
        if body.type.name == "prismatic" and not body.coupled:
            steps[:, body.v] = rng.uniform(-0.5, 0.5, (count, 1))
    neutral = model.neutral()
    q = np.array([model.integrate(neutral, step) for step in steps]).reshape(count, model.nq)
    return q, rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


def closed_states(model: Model, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return q (K, nq) and v (K, nv) that satisfy the loops, K at most `count`.

    They are the nearest to random ones, singular positions and their neighbourhood left out.
    """
    constraints = prepare(model, "constraints")
    scale = model.velocity_scale
    guesses, rates, _ = random_states(model, TRIALS * count, rng)
    reached = assemble_batch(Prepared(model), guesses, check=False)
    states: list[tuple[int, Array, Array]] = []
    for q, v in zip(reached.q[reached.closed], rates[reached.closed], strict=True):
        J = model.scaled_jacobian(constraints(q, v)[1])
        sizes, basis = np.linalg.svd(J, full_matrices=False)[1:]
        rank = int(np.sum(sizes > SINGULAR * sizes[0]))
        if sizes[rank - 1] < REGULAR * sizes[0]:
            continue
        rows = basis[:rank]
        states.append((rank, q, v - scale * (rows.T @ (rows @ (v / scale)))))
    highest = max((rank for rank, *_ in states), default=0)
    kept = [(q, v) for rank, q, v in states if rank == highest][:count]
    return (
        np.array([q for q, _ in kept]).reshape(-1, model.nq),
        np.array([v for _, v in kept]).reshape(-1, model.nv),
    )


TOLERANCE = 1e-6
"""Of loads relative to the largest: pybullet turns inertias to principal axes, its loops close to
1e-12, and its solver iterates; it was found 1e-11 to 4e-8 off."""


def closed_loop_rows(model: Model, states: int, seed: int) -> tuple[list[Row], str]:
    """Compare determined loads of tree and loop joints, in motion and under random forces.

    What a planar declaration alone determines is compared with nobody: others know nothing of it.

    Returns
    -------
    rows, and the referee's name

    Raises
    ------
    ModelError
        pybullet cannot be asked about this mechanism.
    """
    from mbd_bridge.engines.pybullet.referee import PybulletLoopReferee

    referee = PybulletLoopReferee(model)
    model = replace(model, description=replace(model.description, planar=False))
    try:
        rng = np.random.default_rng(seed)
        qs, vs = closed_states(model, states, rng)
        if not len(qs):
            raise ModelError("no random position closes the loops, or only singular ones")
        dynamics = ConstrainedDynamics(model, (), ())
        names = (*referee.joints, *referee.cuts)
        solver = LoadSolver(model, LoadRequest.of(model, names, actuated=()))
        (bias,) = prepare(model, "bias_forces")(qs, vs)
        worst: dict[str, tuple[float, str]] = {}
        for q, v, size in zip(qs, vs, np.abs(bias).max(axis=-1), strict=True):
            tau = rng.normal(size=model.nv) * size
            theirs = referee.loads(q, v, tau)
            q, v = theirs.q, theirs.v
            a, lam = dynamics.forward(q, v, tau, check=False)
            loads = solver(q, v, a, lam=lam)
            ours, unique = loads.wrench, loads.unique
            difference = ours - np.vstack([theirs.joints, theirs.cuts])
            relative = np.where(unique, np.abs(difference), 0.0)
            relative = relative.max(axis=-1) / max(np.abs(ours[unique]).max(initial=0.0), 1e-300)
            tree = len(referee.joints)
            for what, part in (("joint loads", slice(tree)), ("loop loads", slice(tree, None))):
                if not unique[part].any():
                    continue
                k = int(np.argmax(relative[part]))
                error = float(relative[part][k])
                if not error <= worst.get(what, (-1.0, ""))[0]:
                    worst[what] = error, names[part][k]
    finally:
        referee.close()
    note = f"loops closed, {len(qs)} states, determined components"
    rows = [
        Row(what, referee.name, error, TOLERANCE, name, bool(error <= TOLERANCE), note)
        for what, (error, name) in worst.items()
    ]
    return rows, referee.name


SENSED = 5
"""States at which pybullet's force sensors are asked, at most: it takes a step for each."""

SINGULAR_MASS = 1e-13
"""A pivot of M below this, relative to M's own diagonal entry, is rounding error: M is singular."""


STATES = 20
"""Random states unless a number is given."""

MOST_STATES = 100_000
"""Random states: more are a slip of the pen."""


class Referee(Protocol):
    """What a referee can be asked at one state."""

    name: str
    joints: tuple[str, ...]
    tolerance: float

    def inverse(
        self, q: Array, v: Array, a: Array, wrenches: External = ...
    ) -> tuple[Array, Array]:
        """Return generalised forces (nv,) and the loads of `joints` (J, 6) under wrenches."""

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv)."""


class Sensing(Referee, Protocol):
    """A referee with force sensors in its joints."""

    def sensed(self, q: Array, v: Array, a: Array) -> Array:
        """Return the loads (J, 6) that they tell."""


class Passive(Referee, Protocol):
    """A referee that knows the springs and the damping of a file."""

    def passive(self, q: Array, v: Array) -> Array:
        """Return their generalised forces (nv,)."""


class FullReferee(Referee, Protocol):
    """A referee that knows accelerations and the motion of each link as well."""

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Return accelerations (nv,)."""

    def link_loads(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return what each link's motion needs (L, 6), and the links' placements (L, 4, 4)."""


def crosscheck(
    model: Model, *, states: int | None = None, seed: int = 0, pybullet: bool | None = None
) -> Report:
    """Compare loads, actuators, M, bias and forward dynamics with other engines.

    Of a machine from an MJCF file MuJoCo is asked too, about springs and damping as well.

    Parameters
    ----------
    states : number of random states; None: 20
    seed : of the random numbers
    pybullet : ask pybullet too; None: if it is installed and the mechanism is one for it

    Returns
    -------
    Report
        Rows of relative errors; ``passed`` is the verdict. A disagreement is reported, not
        raised.
    """
    seed = whole_number("seed", seed, least=0)
    pybullet = None if pybullet is None else flag("pybullet", pybullet)
    states = STATES if states is None else whole_number("states", states)
    if states > MOST_STATES:
        raise StateError(f"states: expected 1 to {MOST_STATES}, got {states!r:.60}")
    sample = _Sample(model, states, seed)
    rows: list[Row | None] = []
    names: list[str] = []
    absent: list[str] = []
    try:
        rows += _ask_pinocchio(model, sample, names)
    except MissingPackageError as reason:
        absent.append(str(reason))
    if pybullet is not False:
        try:
            rows += _ask_pybullet(model, sample, names)
        except (MissingPackageError, ModelError) as reason:
            if pybullet:
                raise
            absent.append(str(reason))
    if model.description.format == "MJCF":
        try:
            rows += _ask_mujoco(model, sample, names)
        except (MissingPackageError, ModelError) as reason:
            absent.append(str(reason))
    open_loops: tuple[str, ...] = ()
    if model.has_loops:
        reasons = _about_loops(model, int(states), seed, pybullet, rows, names)
        absent += reasons
        open_loops = tuple(cut.name for cut in model.cuts) if reasons else ()
    compared = tuple(row for row in rows if row is not None)
    return Report(model.name, states, compared, tuple(names), tuple(absent), open_loops)


def _ask_pinocchio(model: Model, sample: _Sample, names: list[str]) -> list[Row | None]:
    from mbd_bridge.engines.pinocchio.referee import PinocchioReferee

    main = PinocchioReferee(model)
    names.append(main.name)
    return [*sample.against(main), sample.forward(main), sample.free_bodies(main)]


def _ask_pybullet(model: Model, sample: _Sample, names: list[str]) -> list[Row]:
    from mbd_bridge.engines.pybullet import PybulletReferee

    other = PybulletReferee(model)
    try:
        names.append(other.name)
        sensed = () if other.sensors is None else other.sensors.joints
        return [*sample.against(other), *sample.sensed(other, sensed)]
    finally:
        other.close()


def _ask_mujoco(model: Model, sample: _Sample, names: list[str]) -> list[Row]:
    from mbd_bridge.engines.mujoco.twin import MujocoReferee

    referee = MujocoReferee(model)
    names.append(referee.name)
    rows = sample.against(referee)
    return (
        [*rows, sample.passive(referee)] if model.description.joint_dynamics and model.nv else rows
    )


def _about_loops(
    model: Model,
    states: int,
    seed: int,
    pybullet: bool | None,
    rows: list[Row | None],
    names: list[str],
) -> list[str]:
    """Add rows with the loops closed; return why there are none."""
    loops = ", ".join(cut.name for cut in model.cuts)
    alone = f"nothing about the loops ({loops}) at random states: those are of the open tree"
    if pybullet is False:
        return [alone]
    try:
        loop_rows, name = closed_loop_rows(model, states, seed)
    except (MissingPackageError, ModelError) as reason:
        return [f"{alone}; {reason}"]
    rows += loop_rows
    names.append(name)
    return []


class _Sample:
    """Our answers at random states."""

    def __init__(self, model: Model, states: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.model = model
        self.q, self.v, self.a = random_states(model, states, rng)
        (self.tau,) = prepare(model, "inverse_dynamics")(self.q, self.v, self.a)
        (self.bias,) = prepare(model, "bias_forces")(self.q, self.v)
        (self.M,) = prepare(model, "mass_matrix")(self.q)
        every = range(len(model.joints))
        solver = LoadSolver(model, LoadRequest.of(model, every, open_tree=True))
        self.loads = solver(self.q, self.v, self.a).wrench
        self.joints = solver.joints
        # Actuators of the size that the motion needs, so that no joint is thrown about.
        size = np.abs(self.tau).max(axis=-1, keepdims=True, initial=0.0)
        self.applied = rng.normal(size=self.tau.shape) * size

    def against(self, referee: Referee) -> list[Row]:
        """Compare what every referee knows."""
        places = [self.joints.index(name) for name in referee.joints]
        names = self.model.velocity_names
        still = np.zeros(self.model.nv)
        tau, loads, bias, M = [], [], [], []
        for q, v, a in zip(self.q, self.v, self.a, strict=True):
            forces, wrenches = referee.inverse(q, v, a)
            tau.append(forces)
            loads.append(wrenches)
            bias.append(referee.inverse(q, v, still)[0])
            M.append(referee.mass_matrix(q))
        rows = []
        if places:
            theirs = np.array(loads)
            ours = self.loads[:, places]
            rows.append(_row("joint loads", referee, ours - theirs, _size(theirs), referee.joints))
        if self.model.nv:
            forces, matrices = np.array(tau), np.array(M)
            # Without gravity and at rest there is no bias: the actuators tell what is small.
            largest = np.maximum(_size(forces), _size(np.array(bias)))
            rows += [
                _row("generalised forces", referee, self.tau - forces, _size(forces), names),
                _row("bias forces", referee, self.bias - np.array(bias), largest, names),
                _row("mass matrix", referee, self.M - matrices, _size(matrices), names),
            ]
        return rows

    def sensed(self, referee: Sensing, joints: Sequence[str]) -> list[Row]:
        """Compare the loads of joints with what a referee's force sensors tell."""
        if not joints:
            return []
        places = [self.joints.index(name) for name in joints]
        states = list(zip(self.q, self.v, self.a, strict=True))[:SENSED]
        theirs = np.array([referee.sensed(q, v, a) for q, v, a in states])
        difference = self.loads[: len(states), places] - theirs
        row = _row("joint loads", referee, difference, _size(theirs), joints)
        return [replace(row, note=f"its force sensors, in {len(states)} of the states")]

    def passive(self, referee: Passive) -> Row:
        """Compare the springs and damping of the file; dry friction has other laws elsewhere."""
        elements = [
            replace(element, coulomb=0.0) if isinstance(element, JointFriction) else element
            for element in file_elements(self.model)
        ]
        theirs = np.array([referee.passive(q, v) for q, v in zip(self.q, self.v, strict=True)])
        ours = np.zeros_like(theirs)
        for element in bound(self.model, elements):
            for k, (q, v) in enumerate(zip(self.q, self.v, strict=True)):
                for index, force in element.effect(self.model, 0.0, q, v).forces.items():
                    ours[k, index] += force
        names = self.model.velocity_names
        row = _row("springs and damping", referee, ours - theirs, _size(theirs), names)
        dry = [joint for joint in self.model.description.joints if joint.friction]
        note = f"dry friction of {count(len(dry), 'joint')} is not compared" if dry else ""
        return replace(row, note=note)

    def forward(self, referee: FullReferee) -> Row | None:
        """Compare accelerations under random actuators, unless M is singular.

        Solving with M loses as many digits as its condition number has; at a state where this is
        more than the tolerance leaves, that much is allowed, and said.
        """
        quantity = "forward dynamics"
        if not self.model.nv:
            return None
        try:
            ours = ForwardDynamics(self.model)(self.q, self.v, self.applied)
        except SolveError as problem:
            return _not_compared(quantity, referee, str(problem))
        scale = np.abs(np.diagonal(self.M, axis1=1, axis2=2))
        floor = SINGULAR_MASS * np.maximum(scale, np.finfo(float).tiny)
        weak = ~(np.abs(pivots(self.M)) > floor).all(axis=0)
        if weak.any():
            which = ", ".join(np.array(self.model.velocity_names)[weak][:4])
            reason = f"no inertia resists {which}; the mass matrix is singular"
            return _not_compared(quantity, referee, reason)
        states = zip(self.q, self.v, self.applied, strict=True)
        theirs = np.array([referee.forward(q, v, tau) for q, v, tau in states])
        names = self.model.velocity_names
        strict = _row(quantity, referee, ours - theirs, _size(theirs), names)
        if strict.passed:
            return strict
        condition = np.linalg.cond(self.M)
        allowed = np.maximum(referee.tolerance, np.finfo(float).eps * condition)
        scale = _size(theirs) * (allowed / referee.tolerance)[:, None]
        passed = _row(quantity, referee, ours - theirs, scale, names).passed
        note = f"M is nearly singular: condition number up to {condition.max():.0e}"
        return replace(strict, passed=passed, tolerance=float(allowed.max()), note=note)

    def free_bodies(self, referee: FullReferee) -> Row:
        """Cut every link free: the loads of all its joints, fixed too, must move it as it moves."""
        residuals, scales = [], []
        for q, v, a, loads in zip(self.q, self.v, self.a, self.loads, strict=True):
            needed, placements = referee.link_loads(q, v, a)
            applied = np.zeros_like(needed)
            for k, joint in enumerate(self.model.joints):
                child, parent, origin = joint.child, joint.parent, joint.child_frame.translation
                if joint.turned:  # the load is in the described sense (`model.recut`)
                    child, parent, origin = parent, child, joint.parent_frame.translation
                load = _moved(np.eye(3), origin, loads[k])
                applied[child] += load
                if parent >= 0:
                    step = np.linalg.solve(placements[parent], placements[child])
                    applied[parent] -= _moved(step[:3, :3], step[:3, 3], load)
            residuals.append(applied - needed)
            scales.append(np.abs(loads).max())
        links = [link.name for link in self.model.links]
        largest = np.array(scales).reshape(-1, 1, 1)
        row = _row("free body of each link", referee, np.array(residuals), largest, links)
        return replace(row, referee=f"Newton-Euler, moved by {referee.name}")


def _moved(rotation: Array, position: Array, wrench: Array) -> Array:
    """Return a wrench given in a child frame, in its parent frame."""
    force = rotation @ wrench[:3]
    moment = rotation @ wrench[3:] + np.cross(position, force)
    return np.concatenate([force, moment])


def _size(values: Array) -> Array:
    """Return the largest entry of each state, with axes of length 1 to divide by."""
    axes = tuple(range(1, values.ndim))
    return np.asarray(np.abs(values).max(axis=axes, keepdims=True, initial=0.0))


def _not_compared(quantity: str, referee: Referee, reason: str) -> Row:
    nothing = float("nan")
    return Row(quantity, referee.name, nothing, referee.tolerance, note=reason, compared=False)


def _row(
    quantity: str, referee: Referee, difference: Array, scale: Array, names: Sequence[str]
) -> Row:
    """Return the largest difference over states, relative to each state's scale."""
    relative = np.abs(difference) / np.where(scale > 0.0, scale, 1.0)
    error = float(relative.max(initial=0.0))
    passed = bool(error <= referee.tolerance)  # false for nan
    worst = ""
    if relative.size and error != 0.0:
        worst = names[int(np.unravel_index(np.argmax(relative), relative.shape)[1])]
    return Row(quantity, referee.name, error, referee.tolerance, worst, passed)
