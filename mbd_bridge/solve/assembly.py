"""Close the loops: a position, velocity and acceleration that satisfy every cut joint.

The position is the one nearest to an initial guess q*, in the sense of Lee94 (23), with a weight on
each coordinate: minimise (q - q*)ᵀ W (q - q*) / 2 subject to Φ(q) = 0. A step is

    Δq = -Φ_q⁺ Φ + N Nᵀ (q* - q)                       (26), with the pseudo-inverse for Φ_q

in coordinates scaled by W^(1/2); redundant rows do no harm to it (`closing` has what is tried where
these steps do not arrive). Velocities and accelerations are the nearest ones with Φ_q q̇ = 0 and
Φ_q q̈ = γ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, flag, known_name, name_list
from mbd_bridge.base.errors import SolveError, StateError, real_number, unknown_name
from mbd_bridge.base.options import with_options
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Across, Model
from mbd_bridge.model.cut_table import Coupled, Row
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.closing import Closing, largest
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.options import AssemblyOptions, BatchAssemblyOptions
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import CONSISTENT

InitialGuess = Mapping[str, float] | ArrayLike | None
"""Values by coordinate name, a whole vector, or nothing."""


TOLERANCE = "a number above 0 and below 1 (rad, or of the mechanism's size)"

FARTHEST, FASTEST = 1e6, 1e100
"""Guesses, rad or m and their rates: beyond them angles have lost the digits that loops are closed
to, and the squares of rates overflow."""

MODES_WEIGHT = 1e8
"""Weight of modal coordinates: a loop is closed by joints; links bend only if it cannot be."""

DEAREST = 1e12
"""Weight beyond which the others' digits are lost beside it."""

NAMED = 1e-3
"""Part of the largest residual from which on a loop is named: others only give way to it."""

FEW_DIGITS = 1e-3
"""Relative residual below which a file's digits are its likely cause."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """An assembled state.

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,)
    loops : residual of each loop by name, m or rad, the larger of both kinds relative to `size`
    rates : what is left of each loop's velocity by name, relative to the largest term of any:
        beyond 1e-6 the fixed velocities contradict each other
    reversed : loops closed with an axis against its own direction, or turned by π about it
    iterations : used for the position
    closed : whether every loop is closed, to the tolerance, and stays so at this velocity; rows
        that say what others say but for the file's digits may stay as open as these leave them
    """

    q: Array
    v: Array
    a: Array
    loops: dict[str, float]
    rates: dict[str, float]
    reversed: tuple[str, ...]
    iterations: int
    closed: bool


@with_options
def assemble(
    model: Model, near: InitialGuess = None, **options: Unpack[AssemblyOptions]
) -> Assembly:
    """Return the state nearest to an initial guess at which every loop is closed.

    Parameters
    ----------
    near : given coordinates; those not named start from zero position
    **options : of the state

    Raises
    ------
    SolveError
        Some loop cannot be closed, or fixed velocities open it: which, by how much, what to try.
    """
    tolerance = check_tolerance(options["tolerance"])
    check = flag("check", options["check"])
    fixed = name_list("fixed", options["fixed"], "coordinates")
    kernel = prepare(model, "constraints")
    guess = initial_position(model, near)
    held, scale = held_ones(model, fixed), weighted(model, options["weights"])
    choice = row_choice(model) if model.has_loops else None
    closing = Closing(model, lambda q, v, _: kernel(q, v), held, scale, choice, tolerance)
    (q,), iterations = closing.position(guess[None])
    still = np.zeros(model.nv)
    v = initial_values("velocity", still, model.velocity_names, options["velocity"])
    phi, phi_q, _ = kernel(q, v)
    (v,) = closing.rates(phi_q[None], v[None])
    _, _, gamma = kernel(q, v)
    a = initial_values("acceleration", still, model.velocity_names, options["acceleration"])
    (a,) = closing.rates(phi_q[None], a[None], gamma[None])
    loops = _residuals(model, phi / model.row_scale)
    openings = closing.openings(phi_q[None], v[None])
    rates = _residuals(model, openings[0])
    closed = bool(closing.satisfied(phi_q[None], (phi / model.row_scale)[None])[0])
    if check and not closed:
        _say_open(model, phi, fixed)
    kept = bool(closing.satisfied(phi_q[None], openings, CONSISTENT)[0])
    if check and not kept:
        raise SolveError(contradiction(fixed, rates))
    return Assembly(q, v, a, loops, rates, _reversed(model, q), iterations, closed and kept)


def check_tolerance(tolerance: float) -> float:
    """Return the tolerance of a closed loop; refuse what is none."""
    number = real_number("tolerance", tolerance, TOLERANCE)
    if not 0.0 < number < 1.0:
        raise StateError(f"tolerance: expected {TOLERANCE}, got {tolerance!r:.60}")
    return number


def initial_position(model: Model, near: InitialGuess) -> Array:
    """Return given coordinates (nq,), quaternions normalised."""
    guess = initial_values("near", model.neutral(), model.coordinate_names, near)
    for body in model.bodies:
        if not body.coupled:
            guess[body.q] = body.type.normalise(guess[body.q])
    return guess


def initial_values(what: str, start: Array, names: tuple[str, ...], guess: InitialGuess) -> Array:
    """Return a start with what is given by name, or a whole vector; `what` is the argument."""
    out = np.array(start)
    if isinstance(guess, Mapping):
        for name, value in by_name(what, guess, "{'crank': 1.0}").items():
            place = named_index(what, name, names)
            out[place] = real_number(f"{what}[{name!r}]", value, "a finite number")
    elif guess is not None:
        out = np.array(as_floats(what, guess))
        if out.shape != start.shape:
            raise StateError(f"{what}: expected {start.shape}, got {out.shape}")
    return within_reach(what, out)


def named_index(what: str, name: str, names: tuple[str, ...]) -> int:
    """Return the index of a name among those that can be given."""
    kind = "coordinate" if what == "near" else "velocity"
    return names.index(known_name(kind, name, names, f"{what}: "))


def within_reach(what: str, guess: Array) -> Array:
    """Return guesses that are finite and not beyond all measure."""
    most, worst = FARTHEST if what in ("near", "q") else FASTEST, np.abs(guess).max(initial=0.0)
    if not worst <= most:
        raise StateError(
            f"{what}: expected finite numbers of at most {most:g}, got {worst:.3g}; beyond it "
            f"{'angles have no digits left' if most == FARTHEST else 'their squares overflow'}"
        )
    return guess


def held_ones(model: Model, fixed: Iterable[str] | str) -> Array:
    """Return which velocities (nv,) are held."""
    held = np.zeros(model.nv, dtype=bool)
    known = {model.joints[body.joint].name: body for body in model.bodies if not body.coupled}
    for name in name_list("fixed", fixed, "coordinates"):
        if name in known:
            held[known[name].v] = True
        elif name in model.velocity_names:
            held[model.velocity_names.index(name)] = True
        else:
            raise StateError(f"fixed: {unknown_name('joint or velocity', name, [*known])}")
    return held


def weighted(model: Model, weights: Mapping[str, float] | None) -> Array:
    """Return W^(-1/2) (nv,): how far each velocity moves for a unit of cost."""
    scale = model.velocity_scale.copy()
    for part in model.flexible:
        scale[part.v] /= np.sqrt(MODES_WEIGHT)
    for name, weight in by_name("weights", weights, "{'crank': 10}").items():
        known_name("velocity", name, model.velocity_names, "weights: ")
        number = real_number(f"weight of {name!r}", weight, "a positive number", positive=True)
        if not 1.0 / DEAREST <= number <= DEAREST:
            raise StateError(
                f"weights: expected numbers from {1.0 / DEAREST:g} to {DEAREST:g}, got {number:g} "
                f"for {name!r}; to hold it, use fixed={name!r}"
            )
        index = model.velocity_names.index(name)
        scale[index] = model.velocity_scale[index] / np.sqrt(number)
    return scale


def _residuals(model: Model, values: Array, norm: float = np.inf) -> dict[str, float]:
    """Return the norm, by default the largest, of the rows' values (m,), by loop."""
    found, k = {}, 0
    for cut in model.cuts:
        part = slice(k, k + len(cut.rows))
        found[cut.name] = float(np.linalg.norm(values[part], norm)) if cut.rows else 0.0
        k = part.stop
    return found


def _reversed(model: Model, q: Array) -> tuple[str, ...]:
    """Return the loops that are closed, but half a turn from how their frames are described.

    Rows are products of axes, zero for both directions. A universal joint has no direction: its
    frames may be turned by any two angles.
    """
    state = state_vectors(model, q, np.zeros(model.nv))
    found = []
    for cut in model.cuts:
        turns = {(row.i, row.j) for row in cut.rows if isinstance(row, Across)}
        if not turns or cut.type == "universal":
            continue
        a = state.bodies[cut.predecessor].rotation @ cut.a.rotation
        b = state.bodies[cut.successor].rotation @ cut.b.rotation
        along = np.einsum("ki,ki->i", a, b)  # cosines between each axis of a and the same of b
        kept = [k for k in range(3) if sum(j == k for _, j in turns) == 2]  # parallel in a and b
        about = [pair for pair in turns if pair[1] not in kept]  # no turn from i to j
        if (along[kept] < 0.0).any() or any(max(along[i], along[j]) < 0.0 for i, j in about):
            found.append(cut.name)
    return tuple(found)


def _say_open(model: Model, phi: Array, fixed: Iterable[str] | str) -> None:
    loops = _residuals(model, phi / model.row_scale)
    lengths = np.array([_is_length(model, row) for cut in model.cuts for row in cut.rows])
    gaps = _residuals(model, np.where(lengths, phi, 0.0), norm=2)
    turns = _residuals(model, np.where(lengths, 0.0, phi), norm=2)
    worst = max(loops.values())
    still_open = [name for name, left in loops.items() if left > NAMED * worst]
    shown = ", ".join(_opening(name, gaps[name], turns[name]) for name in still_open)
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    raise SolveError(
        f"loops that cannot be closed: {shown} at the smallest residual that was reached. "
        f"{advice(worst, held)}",
        in_python="check=False returns what was reached",
    )


def _is_length(model: Model, row: Row) -> bool:
    if isinstance(row, Coupled):
        body = model.bodies[row.own.body]
        motion = body.type.motion(body.type.neutral(), np.zeros(body.type.nv))
        return not np.any(motion.angular[:, row.own.coordinate] != 0.0)
    return not isinstance(row, Across)


def _opening(name: str, gap: float, turn: float) -> str:
    """Return by how much a loop is open; what is rounding beside the rest is left out."""
    parts = [f"{gap:.3g} m"] if gap > NAMED * turn else []
    parts += [f"{turn:.3g} rad"] if turn > NAMED * gap else []
    return f"{name} by {' and '.join(parts)}"


def advice(worst: float, held: list[str]) -> str:
    """Return what to try where a relative residual is left."""
    if worst < FEW_DIGITS:
        enough = 10.0 ** math.ceil(math.log10(2.0 * worst))
        return (
            f"So little points to lengths or axes of the file that are rounded: give them more "
            f"digits, or accept it with tolerance={enough:.0e}"
        )
    release = f" release one of fixed={held}," if held else ""
    return f"Try{release} another near=, or check lengths and axes of these loops"


def contradiction(fixed: Iterable[str] | str, rates: Mapping[str, float]) -> str:
    """Return what is wrong with fixed velocities that open loops at these relative rates."""
    held = [fixed] if isinstance(fixed, str) else list(fixed)
    worst = max(rates.values())
    named = ", ".join(repr(name) for name, rate in rates.items() if rate > NAMED * worst)
    return (
        f"the velocities of fixed={held} cannot be together: they open {named}, {worst:.3g} of the "
        f"velocities is left. Release one of them, or give velocities that agree; check=False "
        f"returns what was reached"
    )


# Close the loops of many states together, of one mechanism or of variants of it.

InitialGuesses: TypeAlias = Mapping[str, ArrayLike] | ArrayLike | None
"""By name one value or N of them; whole vectors (n,) or (N, n); or nothing."""


@dataclass(frozen=True, eq=False)
class Assemblies:
    """N assembled states.

    Attributes
    ----------
    q, v : (N, nq), (N, nv)
    residual : (N,) of the loops, relative to the mechanism's size (rad for angles)
    rate : (N,) what is left of the loops' velocities, relative to the largest term: beyond 1e-6
        the fixed velocities contradict each other
    closed : (N,) whether every loop is closed, to the tolerance, and stays so at this velocity
    """

    q: Array
    v: Array
    residual: Array
    rate: Array
    closed: Array


@with_options
def assemble_batch(
    prepared: Prepared, near: InitialGuesses = None, **options: Unpack[BatchAssemblyOptions]
) -> Assemblies:
    """Return the states nearest to N guesses at which every loop is closed.

    Parameters
    ----------
    prepared : the model, with the machine code that is kept from call to call
    near : given coordinates by name, each one value or N of them; or (nq,), (N, nq); zero where not
        named
    **options : of the states, those of `assemble` the same for all

    Raises
    ------
    SolveError
        Some state cannot be closed: how many, the first one, and what to try.
    """
    tolerance = check_tolerance(options["tolerance"])
    check = flag("check", options["check"])
    fixed = name_list("fixed", options["fixed"], "coordinates")
    model, parameters = prepared.model, options["parameters"]
    if parameters is not None and not isinstance(parameters, Parameters):
        parameters = Parameters.of(model, parameters)
    guess = _guesses("near", model.neutral(), model.coordinate_names, near)
    rate = _guesses("velocity", np.zeros(model.nv), model.velocity_names, options["velocity"])
    numbers = {len(guess), len(rate), 1 if parameters is None else len(parameters)}
    number = max(numbers - {1}, default=1)
    if not numbers <= {1, number}:
        raise StateError(f"expected the same N everywhere, or one for all, got {sorted(numbers)}")
    guess = np.array(np.broadcast_to(guess, (number, model.nq)))
    rate = np.array(np.broadcast_to(rate, (number, model.nv)))
    for body in model.bodies:
        if not body.coupled and body.type.nq > body.type.nv and number:
            guess[:, body.q] = [body.type.normalise(own) for own in guess[:, body.q]]
    if parameters is None:
        kernel = prepared.kernel("constraints")

        def constraints(q: Array, v: Array, numbers: Array) -> tuple[Array, ...]:
            return kernel(q, v)
    else:
        variants = prepared.variants(parameters, "constraints")
        inputs = parameters.repeated(number).inputs

        def constraints(q: Array, v: Array, numbers: Array) -> tuple[Array, ...]:
            return variants(q, v, inputs[numbers])

    held, scale = held_ones(model, fixed), weighted(model, options["weights"])
    choice = row_choice(model) if model.has_loops else None
    closing = Closing(model, constraints, held, scale, choice, tolerance)
    q, _ = closing.position(guess)
    phi, phi_q, _ = constraints(q, rate, np.arange(number))
    v = closing.rates(phi_q, rate)
    residual = largest(phi / model.row_scale)
    closed = closing.satisfied(phi_q, phi / model.row_scale)
    if check and not closed.all():
        first = int(np.argmin(closed))
        names = list(fixed)
        raise SolveError(
            f"{int((~closed).sum())} of {number} states cannot be closed, the first is number "
            f"{first}: a loop stays open by {residual[first]:.3g} of the mechanism's size. "
            f"{advice(float(residual[first]), names)}",
            in_python="check=False returns what was reached",
        )
    openings = closing.openings(phi_q, v)
    left, kept = largest(openings), closing.satisfied(phi_q, openings, CONSISTENT)
    if check and not kept.all():
        first = int(np.argmin(kept))
        text = contradiction(fixed, {"a loop": float(left[first])})
        raise SolveError(f"state {first}: {text}")
    return Assemblies(q, v, residual, left, closed & kept)


def _guesses(what: str, start: Array, names: tuple[str, ...], guess: InitialGuesses) -> Array:
    """Return guesses (N, n) or (1, n); `what` is the argument."""
    if guess is None:
        return start[None]
    if isinstance(guess, Mapping):
        given = {
            named_index(what, name, names): np.atleast_1d(as_floats(f"{what}[{name!r}]", value))
            for name, value in by_name(what, guess, "{'crank': 1.0}").items()
        }
        numbers = {len(column) for column in given.values()} | {1}
        if len(numbers - {1}) > 1 or any(column.ndim > 1 for column in given.values()):
            shapes = ", ".join(f"{names[k]}: {column.shape}" for k, column in given.items())
            raise StateError(f"{what}: expected one value or N of them, got {shapes}")
        out = np.tile(start, (max(numbers - {1}, default=1), 1))
        for place, column in given.items():
            out[:, place] = column
    else:
        out = np.atleast_2d(np.array(as_floats(what, guess)))
        if out.ndim != 2 or out.shape[1] != len(start):
            raise StateError(
                f"{what}: expected {start.shape} or (N, {len(start)}), got {out.shape}"
            )
    return within_reach(what, out)
