"""Where motions start, checked or found, and by which rows of the constraints they go.

Rows are independent ones. In a singular position fewer rows are independent than beside it. A
motion that starts there keeps the rows that are independent a little further on; otherwise a loop
would come open unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import SolveError, StateError, count
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.model import Model
from mbd_bridge.model.model import once_a_model
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.messages import SHARE, named
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.system import System, agreed
from mbd_bridge.simulation.trajectory import Trajectory, prescribed
from mbd_bridge.solve import assemble
from mbd_bridge.solve.assembly import assemble_batch
from mbd_bridge.solve.check_states import unit_quaternions
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.solve.tolerances import ASSEMBLED, CONSISTENT, MASSLESS, SINGULAR

T = TypeVar("T")


def independent_rows(
    model: Model,
    q: Array,
    motions: PrescribedMotions | None = None,
    v: Array | None = None,
    loops: LoopChecker | None = None,
) -> tuple[int, ...]:
    """Return rows of the constraints that are independent at q, or beside it where it is singular.

    Rows that the model's choice (`solve.row_choice`) keeps in general position are preferred, so
    that they do not depend on where a motion starts. Prescribed coordinates are taken out of Φ_q:
    rows must be independent of them, too.

    Parameters
    ----------
    v : velocity (nv,) with which the motion goes on: it tells the branch that is followed
    loops : prepared already, or those of a variant of the model
    """
    if not model.has_loops:
        return ()
    loops = LoopChecker(model) if loops is None else loops
    choice = loops.choice(() if motions is None else motions.v)
    J = loops.at(q)[1]
    rows = choice.fitting(J)
    if rows is not None:
        return rows
    own = best = choice.local(J)
    for place in loops.beside(q, v):
        J = loops.at(place)[1]
        found = choice.fitting(J) or choice.local(J)
        best = found if len(found) > len(best) else best
        if len(best) > len(own):
            break
    return best


FLAT = 1e-6
"""rad between a wheel's axis and its plane's normal, below which it lies flat."""


def start_state(
    model: Model,
    q: ArrayLike | None,
    v: ArrayLike | None,
    motions: PrescribedMotions | None = None,
    t: float = 0.0,
    loops: LoopChecker | None = None,
) -> tuple[Array, Array]:
    """Return q and v at the start; the loops may be prepared already.

    What is not given is the neutral position at rest; with prescribed motions, what they prescribe
    and the nearest to that which closes the loops.

    Raises
    ------
    StateError
        A state that is given does not satisfy the loops or the prescribed motions, or the motions
        prescribe what the loops already decide.
    """
    q0 = _position(model, motions, t) if q is None else given_state("q", q, model)
    v0 = _velocity(model, q0, motions, t) if v is None else given_state("v", v, model)
    if model.has_loops and motions is not None and v is None:
        _check_independent(model, q0, motions)  # before loops that open for that reason
    if model.has_loops:
        key = "closed", q0.tobytes(), v0.tobytes()
        remembered(model, key, lambda: _check_closed(loops or LoopChecker(model), q0, v0))
    if motions is not None:
        _check_motions(model, q0, v0, motions, t)
    return q0, v0


def given_state(name: str, given: ArrayLike, model: Model) -> Array:
    """Return q, with unit quaternions, or v as they were given."""
    if name == "v":
        return finite_numbers("v", given, (model.nv,))
    return np.array(unit_quaternions(model, finite_numbers("q", given, (model.nq,))))


def _position(model: Model, motions: PrescribedMotions | None, t: float) -> Array:
    if motions is None:
        return model.neutral()
    guess = dict(zip(motions.names, motions.at(t)[0], strict=True))
    if model.has_loops:
        return assemble(model, guess, fixed=motions.names).q
    q = model.neutral()
    q[list(motions.q)] = list(guess.values())
    return q


def _velocity(model: Model, q: Array, motions: PrescribedMotions | None, t: float) -> Array:
    """Return the smallest velocity that follows the motions and keeps the loops closed."""
    v = np.zeros(model.nv)
    if motions is None:
        return v
    v[list(motions.v)] = motions.at(t)[1]
    if model.has_loops:
        loops, scale = LoopChecker(model), model.velocity_scale
        J = loops.at(q)[1]
        J = J[list(loops.choice().at(J))]
        free = np.setdiff1d(np.arange(model.nv), motions.v)
        rate = J @ (v / scale)
        v[free] = -scale[free] * np.linalg.lstsq(J[:, free], rate, rcond=SINGULAR)[0]
    return v


MOST_STARTS = 16
"""Answers about its starts that a model remembers."""


@once_a_model
def _answers(model: Model) -> dict[Hashable, Any]:
    return {}


def remembered(model: Model, key: Hashable, answer: Callable[[], T]) -> T:
    """Return what was found of a start of a model, found now if it is not known."""
    known = _answers(model)
    if key in known:
        again: T = known[key]
        return again
    if len(known) >= MOST_STARTS:
        known.clear()
    found = known[key] = answer()
    return found


def _check_closed(loops: LoopChecker, q: Array, v: Array) -> None:
    _check_wheels(loops.model, q)
    _check_loops(loops, q, v)


def _check_wheels(model: Model, q: Array) -> None:
    """Refuse wheels that lie flat on their planes: where they touch them is undefined."""
    wheels = [cut for cut in model.cuts if cut.type == "rolling"]
    bodies = state_vectors(model, q, np.zeros(model.nv)).bodies if wheels else []
    for cut in wheels:
        normal = bodies[cut.predecessor].rotation @ cut.a.rotation[:, 2]
        axis = bodies[cut.successor].rotation @ cut.b.rotation[:, 2]
        if float(np.linalg.norm(np.cross(axis, normal))) < FLAT:
            raise StateError(
                f"loop {cut.name!r}: the wheel lies flat on its plane at the start, so that it has "
                f"no lowest point on which to roll; start with its axis along the plane, or tilted"
            )


def _check_loops(loops: LoopChecker, q: Array, v: Array) -> None:
    model = loops.model
    phi, phi_q, _ = loops.values(q, v)
    rows, scaled = model.row_scale, model.scaled_jacobian(phi_q)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows keeps nothing closed
        speed, rate = np.abs(phi_q) @ np.abs(v), phi_q @ v
    choice = loops.choice()
    if not choice.closed(scaled[None], (phi / rows)[None]).all():
        raise StateError(
            f"the position at the start does not close the loops: {named(model, phi / rows)}. "
            f"Start from assemble(near=...).q"
        )
    terms = np.maximum(speed.max(), still(model, v) * rows)
    if not (np.isfinite(terms).all() and choice.closed(scaled[None], (rate / terms)[None]).all()):
        raise StateError(
            f"the velocity at the start does not keep the loops closed: "
            f"{named(model, rate / rows, '/s')}. Start from assemble(near=..., velocity=...).v"
        )


def still(model: Model, v: Array) -> Array:
    """Return the speed (..., 1), relative to each row's scale, that is rest beside velocities v."""
    fastest = np.abs(v / model.velocity_scale).max(axis=-1, initial=0.0)
    return np.asarray(np.maximum(ASSEMBLED, CONSISTENT * fastest))[..., None]


def check_inertia(model: Model, q: Array, motions: PrescribedMotions | None) -> None:
    """Complain of motions that loops and prescribed motions allow and that move nothing with
    inertia.
    """
    names = weightless(model, q, motions) if needs_support(model) else []
    if names:
        raise SolveError(
            f"masses vanish: nothing with inertia moves when {', '.join(map(repr, names))} "
            f"{'moves' if len(names) == 1 else 'move together'}. Give a link beyond inertia, weld "
            f"the joint, or prescribe it"
        )


def weightless(model: Model, q: Array, motions: PrescribedMotions | None = None) -> list[str]:
    """Return the velocities of a motion that is allowed at q and moves nothing with inertia."""
    J = np.zeros((0, model.nv))
    if model.has_loops:
        loops = LoopChecker(model)
        J = loops.at(q)[1]
        J = J[list(loops.choice().at(J))]
    if motions is not None:
        J = np.vstack([J, np.eye(model.nv)[list(motions.v)]])
    _, s, Vt = np.linalg.svd(J)
    free = Vt[int(np.sum(s > SINGULAR * s.max(initial=0.0))) :].T
    scale = model.velocity_scale
    M = mass_matrix_by_bodies(model, q).astype(np.float64) * np.outer(scale, scale)
    sizes, ways = np.linalg.eigh(free.T @ M @ free)
    if not len(sizes) or sizes[0] > MASSLESS * max(np.abs(M).max(), 1e-300):
        return []
    share = np.abs(free @ ways[:, 0])
    named = zip(model.velocity_names, share, strict=True)
    return [name for name, part in named if part > SHARE * share.max()]


def rows_and_dof(
    model: Model,
    q: Array,
    v: Array,
    motions: PrescribedMotions | None,
    loops: LoopChecker | None,
) -> tuple[tuple[int, ...], int]:
    """Return the rows that a motion keeps (see `independent_rows`), and the degrees of freedom that
    loops and prescribed motions leave where it starts.
    """
    prescribed_velocities = () if motions is None else motions.v
    free = model.nv - len(prescribed_velocities)
    if loops is None:
        return (), free

    def found() -> tuple[tuple[int, ...], int]:
        choice, J = loops.choice(prescribed_velocities), loops.at(q)[1]
        rows = choice.fitting(J)
        if rows is not None:
            return rows, free - len(rows)
        return independent_rows(model, q, motions, v, loops), free - len(choice.at(J))

    return remembered(model, ("rows", prescribed_velocities, q.tobytes(), v.tobytes()), found)


def _check_motions(model: Model, q: Array, v: Array, motions: PrescribedMotions, t: float) -> None:
    f, f1, _ = motions.at(t)
    for what, have, want, scale in (
        ("position", q[list(motions.q)], f, motions.scale),
        ("velocity", v[list(motions.v)], f1, np.maximum(motions.scale, np.abs(f1))),
    ):
        wrong = np.flatnonzero(np.abs(have - want) > CONSISTENT * scale)
        if len(wrong):
            k = int(wrong[0])
            raise StateError(
                f"prescribed motion {motions.names[k]!r}: its {what} at t = {t:g} s is "
                f"{want[k]:.9g}, that of "
                f"the start {have[k]:.9g}; leave q and v out, or start from what it prescribes"
            )
    if model.has_loops:
        _check_independent(model, q, motions)


def _check_independent(model: Model, q: Array, motions: PrescribedMotions) -> None:
    loops = LoopChecker(model)
    whole, left = len(loops.rows(q)), len(loops.rows(q, motions.v))
    if left == whole:
        return
    names = ", ".join(map(repr, motions.names))
    if any(len(loops.rows(p)) == len(loops.rows(p, motions.v)) for p in loops.beside(q)):
        raise StateError(
            f"the start is a dead centre for the prescribed motions {names}: there they move "
            f"nothing, or "
            f"against the loops. Start beside it, or prescribe another joint"
        )
    raise StateError(
        f"the prescribed motions {names} are not independent at the start: the loops leave "
        f"{count(model.nv - whole, 'degree of freedom')}, and prescribed motions prescribe "
        f"{whole - left} of what the "
        f"loops already decide. Prescribe fewer joints, or others"
    )


AT_ONCE = 2**22
"""Entries of constraint Jacobians looked at together, so that memory is bounded."""


GOOD, NOT_FINITE, NOT_CLOSED, MOVING_APART, OFF_COURSE = range(5)
"""What a start may be."""


Constraints = Callable[[Array, Array, Any], tuple[Array, ...]]
"""Φ, Φ_q and γ of some trajectories: their q and v, and which ones they are."""


RowSets = list[tuple[tuple[int, ...], Array]]
"""Choices of rows, each with the trajectories (numbers) that go by it; who fits none goes alone."""


def constraints_of(
    model: Model, variants: Parameters | None, prepared: Prepared
) -> Constraints | None:
    """Return Φ, Φ_q and γ of some trajectories, each with its own parameters."""
    if not model.has_loops:
        return None
    if variants is None:
        kernel = prepared.kernel("constraints")
        return lambda q, v, part: kernel(q, v)
    own, inputs = prepared.variants(variants, "constraints"), variants.inputs
    return lambda q, v, part: own(q, v, inputs[part])


def start_states(
    system: System,
    q: ArrayLike | None,
    v: ArrayLike | None,
    number: int,
    start: float,
) -> tuple[Array, Array]:
    """Return q (N, nq) and v (N, nv), given or found as `simulate` finds them."""
    model, parts = system.model, system.prescribed
    follows = prescribed(system, np.array([start]), np.arange(number))[0]
    search = bool(parts) and model.has_loops and (q is None or v is None)
    q0, v0 = np.empty((number, model.nq)), np.empty((number, model.nv))
    q0[:] = model.neutral() if q is None else q
    v0[:] = 0.0 if v is None else v
    if q is None:
        q0[:, [part.q for part in parts]] = follows[:, :, 0]
    if v is None:
        v0[:, list(system.prescribed_velocities)] = follows[:, :, 1]
    if not search:
        return q0, v0
    found = assemble_batch(
        system.prepared,
        q0,
        fixed=[part.name for part in parts],
        velocity=v0,
        parameters=system.parameters,
        check=False,
    )
    return (q0 if q is not None else found.q), (v0 if v is not None else found.v)


def on_course(system: System, q: Array, v: Array, start: float) -> Array:
    """Return which trajectories start as their prescribed motions do (N,)."""
    if not system.prescribed:
        return np.ones(len(q), dtype=bool)
    follows = prescribed(system, np.array([start]), np.arange(len(q)))[0]
    scale, f1 = system.model.velocity_scale[list(system.prescribed_velocities)], follows[:, :, 1]
    off = np.abs(q[:, [part.q for part in system.prescribed]] - follows[:, :, 0]) / scale
    rate = np.abs(v[:, list(system.prescribed_velocities)] - f1) / np.maximum(scale, np.abs(f1))
    return np.asarray((off <= CONSISTENT).all(axis=1) & (rate <= CONSISTENT).all(axis=1))


def sorted_starts(
    model: Model,
    constraints: Constraints | None,
    q: Array,
    v: Array,
    prescribed_velocities: tuple[int, ...] = (),
) -> tuple[Array, RowSets]:
    """Return what each start (N,) is, and the choices of rows for those that are good.

    Parameters
    ----------
    constraints : returns Φ, Φ_q and γ of some trajectories; none without loops
    q, v : (N, nq), (N, nv)
    prescribed_velocities : velocities that are prescribed: rows must be independent of them, too
    """
    kind = np.where(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1), GOOD, NOT_FINITE)
    if constraints is None:
        return kind, [((), np.flatnonzero(kind == GOOD))]
    rows, choice = model.row_scale, row_choice(model, prescribed_velocities)
    share = max(1, AT_ONCE // (len(rows) * model.nv))
    # prescribed motions that prescribe what the loops decide: `simulate` says so
    sets: dict[tuple[int, ...], list[int]] = {}
    if choice.rank == row_choice(model).rank:
        sets = {chosen: [] for chosen in choice.sets}
    for first in range(0, len(q), share):
        part = slice(first, first + share)
        phi, phi_q, _ = constraints(q[part], v[part], part)
        scaled = model.scaled_jacobian(phi_q)
        _judge(model, kind[part], phi, phi_q, v[part], scaled)
        _share(sets, choice, scaled, first, kind[part] == GOOD)
    return kind, [(chosen, np.array(members)) for chosen, members in sets.items() if members]


def moves_inertia(system: System, q: Array, first: int) -> bool:
    """Return whether all that moves at a start has inertia; alone a trajectory tells."""
    one = Trajectory(system, first)
    return not (needs_support(one.model) and weightless(one.model, q[first], one.motions))


def _judge(model: Model, kind: Array, phi: Array, phi_q: Array, v: Array, scaled: Array) -> None:
    """Mark starts that are not on the constraints, as `simulate` asks."""
    speed = np.einsum("nij,nj->ni", np.abs(phi_q), np.abs(v)).max(axis=1)[:, None]
    residual = np.abs(np.einsum("nij,nj->ni", phi_q, v))
    rows, choice = model.row_scale, row_choice(model)
    with np.errstate(invalid="ignore"):
        terms = np.maximum(speed, still(model, v) * rows)
        slow = choice.closed(scaled, residual / terms)
        closed = choice.closed(scaled, phi / rows)
    kind[(kind == GOOD) & ~closed] = NOT_CLOSED
    kind[(kind == GOOD) & ~slow] = MOVING_APART


def _share(
    sets: dict[tuple[int, ...], list[int]], choice: RowChoice, phi_q: Array, first: int, good: Array
) -> None:
    """Put trajectories to the first choice of rows that fits; a variant's rows may be imprecise."""
    left = np.flatnonzero(good)
    slack = max(choice.slack, choice.tolerance)
    for rows in list(sets):
        fit = choice.spanned(phi_q[left], rows, slack=slack)
        sets[rows] += (first + left[fit]).tolist()
        left = left[~fit]


def number_of(
    system: System, q: ArrayLike | None, v: ArrayLike | None, z: StartStates | None
) -> int:
    """Return the number of trajectories that all that is given agrees on."""
    numbers = system.numbers_of | system.states.numbers(z)
    for name, value, size in (("q", q, system.model.nq), ("v", v, system.model.nv)):
        if value is None:
            continue
        shape = np.shape(value)
        if shape[-1:] != (size,) or len(shape) > 2:
            raise StateError(
                f"{name}: expected ({size},) or (N, {size}) with the same N everywhere, got {shape}"
            )
        if shape[0] == 0:
            raise StateError(f"{name}: expected at least one trajectory, got none")
        numbers |= {name: shape[0]} if len(shape) == 2 else {}
    return agreed(numbers)
