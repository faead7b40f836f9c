"""Close the loops of many states together, of one mechanism or of variants of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, flag, name_list
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model.parameters import Parameters, ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.assembly import (
    advice,
    check_tolerance,
    contradiction,
    held_ones,
    named_index,
    weighted,
    within_reach,
)
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.newton import largest
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import ASSEMBLED, CONSISTENT

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


def assemble_batch(
    prepared: Prepared,
    near: InitialGuesses = None,
    *,
    fixed: Iterable[str] | str = (),
    weights: Mapping[str, float] | None = None,
    velocity: InitialGuesses = None,
    parameters: ParameterValues | Parameters | None = None,
    tolerance: float = ASSEMBLED,
    check: bool = True,
) -> Assemblies:
    """Return the states nearest to N guesses at which every loop is closed.

    Parameters
    ----------
    prepared : the model, with the machine code that is kept from call to call
    near, velocity : given coordinates and rates by name, each one value or N of them; or (n,),
        (N, n); zero where not named
    fixed, weights : as for `assemble`, the same for all
    parameters : numbers of the mechanism in which the N variants differ (`mechanism.parameters`)
    tolerance : residual at which a loop counts as closed, as for `assemble`
    check : raise if a loop stays open; False returns what was reached

    Raises
    ------
    SolveError
        Some state cannot be closed: how many, the first one, and what to try.
    """
    tolerance, check = check_tolerance(tolerance), flag("check", check)
    fixed = name_list("fixed", fixed, "coordinates")
    model = prepared.model
    if parameters is not None and not isinstance(parameters, Parameters):
        parameters = Parameters.of(model, parameters)
    guess = _guesses("near", model.neutral(), model.coordinate_names, near)
    rate = _guesses("velocity", np.zeros(model.nv), model.velocity_names, velocity)
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

    held, scale = held_ones(model, fixed), weighted(model, weights)
    choice = row_choice(model) if model.has_loops else None
    closing = Closing(model, constraints, held, scale, choice, tolerance)
    q, _ = closing.position(guess)
    phi, phi_q, _ = constraints(q, rate, np.arange(number))
    v = closing.rates(phi_q, -np.einsum("nij,nj->ni", phi_q, rate), rate)
    residual = largest(phi / model.row_scale)
    closed = closing.satisfied(phi_q, phi / model.row_scale)
    if check and not closed.all():
        first = int(np.argmin(closed))
        names = [fixed] if isinstance(fixed, str) else list(fixed)
        raise SolveError(
            f"{int((~closed).sum())} of {number} states cannot be closed, the first is number "
            f"{first}: a loop stays open by {residual[first]:.3g} of the mechanism's size. "
            f"{advice(float(residual[first]), names)}; check=False returns what was reached"
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
