"""The linear equations of small motions about a state of a system, exact.

With independent displacements ξ, velocities η (`independent`) and states z of force elements, the
derivatives of the equations of motion (`terms`) along motions that stay on the constraints are

    Φ_q δa = -(∂Φ̈/∂q δ + ∂Φ̈/∂v δv)                        δa = T_v η̇ + A_q ξ + A_v η
    M_r η̇ + C_r η + K_r ξ + Z_r z = T_vᵀ δτ                 multiplied by T_vᵀ: λ is gone
    ξ̇ = (δv + L δ) at the independent places
    ż = ∂ż/∂q δ + ∂ż/∂v δv + ∂ż/∂z z + ∂ż/∂u u

so that x = (ξ, η, z) has x' = A x + B u, y = C x + D u. A is constant along the motion if that is
steady: if no acceleration changes the velocities of the joints.

Independent coordinates of a state: what is displaced freely, and what follows.

With J the constraints' rows and those of positions among them J_p (wheels have rows that constrain
velocities only), displacements δ and changes δv of the velocity that stay on the constraints are

    δ = T_p ξ,   J_p T_p = 0          δv = T_v η + S ξ,   J T_v = 0,   J S = -∂Φ̇/∂q T_p

ξ and η being those of chosen velocities' places: T_p, T_v are unit matrices there, S is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.linear.model import (
    LinearModel,
    acceleration_names,
    displacement_names,
    rate_names,
    units_of,
)
from mbd_bridge.applications.linear.steady import SteadyState
from mbd_bridge.base.arguments import chosen_names, known_name, name_list
from mbd_bridge.base.errors import StateError, count, unknown_name
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT
from mbd_bridge.simulation.equations import Equations
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.terms import Terms, Values
from mbd_bridge.solve.tolerances import SINGULAR

RELUCTANT = 1e-6
"""Weight of the columns of requested coordinates where dependent ones are looked for."""


class IndependentPart(NamedTuple):
    """Independent places, dependent ones, and T: what follows from the independent ones (nv, n)."""

    free: tuple[int, ...]
    dependent: tuple[int, ...]
    T: Array

    def following(self, J: Array, right: Array) -> Array:
        """Return x (nv, n), zero at the independent places, for which J x = right."""
        out = np.zeros((J.shape[1], right.shape[1]))
        if self.dependent:
            out[list(self.dependent)] = np.linalg.solve(J[:, list(self.dependent)], right)
        return out


class Independent(NamedTuple):
    """Independent coordinates of positions and of velocities, and S (nv, positions)."""

    positions: IndependentPart
    velocities: IndependentPart
    S: Array


def independent(
    model: Model,
    at: Values,
    positions: Array,
    of_positions: Sequence[int] = (),
    of_velocities: Sequence[int] = (),
) -> Independent:
    """Return independent coordinates at a state.

    Parameters
    ----------
    positions : (m,) which rows constrain positions
    of_positions, of_velocities : places that are to be among the independent ones; those of the one
        are preferred for the other
    """
    J = at.rate_by.v
    preferred = {*of_positions, *of_velocities}
    p = _part(model, J[positions], of_positions, preferred, "positions")
    v = _part(model, J, of_velocities, preferred, "velocities")
    return Independent(p, v, v.following(J, -at.rate_by.q @ p.T))


def _part(
    model: Model, J: Array, requested: Sequence[int], preferred: set[int], what: str
) -> IndependentPart:
    from scipy.linalg import qr  # here, so that importing the package does not load SciPy

    rows, nv = J.shape
    if not rows:
        return IndependentPart(tuple(range(nv)), (), np.eye(nv))
    weights = np.where(np.isin(np.arange(nv), list(preferred)), RELUCTANT, 1.0)
    scaled = J * model.velocity_scale
    scaled = scaled / np.linalg.norm(scaled, axis=1)[:, None]
    order = qr(scaled * weights, pivoting=True)[2]
    dependent = tuple(sorted(int(k) for k in order[:rows]))
    taken = [model.velocity_names[k] for k in dependent if k in requested]
    least = np.linalg.svd(scaled[:, list(dependent)], compute_uv=False)[-1]
    if taken or least < SINGULAR:
        named = ", ".join(taken) or "the constraints"
        raise StateError(
            f"coordinates: {named} cannot be chosen: the constraints leave "
            f"{count(nv - rows, 'degree of freedom')} of {what}, and these depend on each other"
        )
    free = tuple(k for k in range(nv) if k not in dependent)
    T = np.zeros((nv, len(free)))
    T[list(free)] = np.eye(len(free))
    part = IndependentPart(free, dependent, T)
    return part._replace(T=T + part.following(J, -J @ T))


def linearise(
    machine: HasModel | Model | System,
    q: ArrayLike | SteadyState | None = None,
    v: ArrayLike | None = None,
    z: StartStates | None = None,
    *,
    t: float = 0.0,
    coordinates: Sequence[str] | str = (),
    inputs: Sequence[str] | str | None = None,
    outputs: Sequence[str] | str | None = None,
) -> LinearModel:
    """Return the linear model of small motions about a state.

    Parameters
    ----------
    machine : a `System`, or a mechanism (with the force elements of its file)
    q, v, z : the state, on the constraints; neutral and at rest where not given. Or an
        `equilibrium` or a `steady_motion` alone, whose driving forces go on as they are
    t : s
    coordinates : names of displacements ("steer", "frame.rx") and of velocities ("steer.rate",
        "frame.wx") that are to be independent; the other ones are chosen, preferably the
        velocities of these displacements
    inputs : generalised forces by the names of velocities, and the system's inputs
        (`mbd.Input`) by theirs; None: the latter, and forces along the independent velocities
    outputs : displacements, velocities and accelerations by name (see `linear.names`), states of
        force elements; None: the states

    Raises
    ------
    StateError
        A name that there is none of, coordinates that depend on each other, a state off the
        constraints, or Python functions that cannot be differentiated.
    """
    if isinstance(q, SteadyState):
        state, t = q, q.t
        system = machine if isinstance(machine, System) else System(machine)
        terms, a0 = Terms(system, state.rows, t), np.zeros(len(state.v))
        q0, v0, z0, lam = state.q, state.v, state.z, state.lam
    else:
        equations = Equations(machine, q=q, v=v, z=z, t=t)
        system, x = equations.system, equations.start
        terms = Terms(system, equations.rows, t)
        q0, v0, z0 = np.split(x, np.cumsum([system.model.nq, system.model.nv]))
        a0 = equations.rate(t, x)[len(q0) : len(q0) + len(v0)]
        lam = equations.multipliers(t, x)
    model = system.model
    at = terms(q0, v0, a0, z0, lam)
    requested = _places(model, name_list("coordinates", coordinates, "displacements"))
    parts = independent(model, at, terms.positions, *requested)
    reduced = _Own(at, parts)
    B, of_inputs = _inputs(system, at, reduced, inputs)
    states = _state_names(system, parts)
    A, acceleration = reduced.A(), reduced.accelerations()
    rows = _rows(system, reduced, A, B, acceleration)
    chosen = list(states)
    if outputs is not None:
        chosen = list(
            chosen_names("outputs", outputs, rows, "output", kinds="displacements, velocities")
        )
    C, D = (np.array([rows[name][k] for name in chosen]) for k in (0, 1))
    return LinearModel(
        name=model.name,
        A=A,
        B=B,
        C=C.reshape(len(chosen), len(A)),
        D=D.reshape(len(chosen), B.shape[1]),
        states=tuple(states),
        inputs=tuple(of_inputs),
        outputs=tuple(chosen),
        state_units=tuple(states.values()),
        input_units=tuple(of_inputs.values()),
        output_units=tuple(rows[name][2] for name in chosen),
        mass=reduced.mass,
        damping=reduced.damping,
        stiffness=reduced.stiffness,
        q=q0,
        v=v0,
        z=z0,
        displacements=np.hstack([parts.positions.T, np.zeros((model.nv, len(A) - reduced.np))]),
        unsteady=float(np.abs(a0 / model.velocity_scale).max(initial=0.0)),
        model=model,
    )


class _Own:
    """The reduced equations in x = (ξ, η, z)."""

    def __init__(self, at: Values, parts: Independent) -> None:
        p, v, S = parts
        self.at, self.parts = at, parts
        self.np, self.nz = len(p.free), len(at.z_rate)
        self.n = self.np + len(v.free) + self.nz
        f, second, J = at.f_by, at.acceleration_by, at.rate_by.v
        # δ, δv and what of δa follows, as matrices over x
        self.shift, self.change = np.zeros((len(S), self.n)), np.zeros((len(S), self.n))
        self.shift[:, : self.np] = p.T
        self.change[:, : self.np] = S
        self.change[:, self.np : self.n - self.nz] = v.T
        self.follows = v.following(J, -(second.q @ self.shift + second.v @ self.change))
        self.reduce = v.T.T
        forces = f.q @ self.shift + f.v @ self.change + f.a @ self.follows
        forces[:, self.n - self.nz :] += f.z
        self.forces = self.reduce @ forces
        self.mass = self.reduce @ f.a @ v.T

    @property
    def damping(self) -> Array:
        """C_r."""
        return np.asarray(self.forces[:, self.np : self.n - self.nz])

    @property
    def stiffness(self) -> Array:
        """K_r."""
        return np.asarray(self.forces[:, : self.np])

    def A(self) -> Array:
        """Return A."""
        z = self.at.z_by
        carried = self.change + self.at.L @ self.shift
        rates = z.q @ self.shift + z.v @ self.change
        rates[:, self.n - self.nz :] += z.z
        moving = carried[list(self.parts.positions.free)]
        return np.vstack([moving, -np.linalg.solve(self.mass, self.forces), rates])

    def B(self, forces: Array, rates: Array) -> Array:
        """Return B for generalised forces (nv, inputs) and rates of z (nz, inputs)."""
        pushed = np.linalg.solve(self.mass, self.reduce @ forces)
        return np.vstack([np.zeros((self.np, forces.shape[1])), pushed, rates])

    def accelerations(self) -> Array:
        """Return δa less T_v η̇ over x."""
        return np.asarray(self.follows)


def _places(model: Model, names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return places of displacements and of velocities that are requested by name."""
    known = displacement_names(model), rate_names(model)
    places: tuple[list[int], list[int]] = ([], [])
    for name in names:
        known_name("displacement", name, [*known[0], *known[1]], "coordinates: ")
        for one, found in zip(known, places, strict=True):
            found += [one.index(name)] if name in one else []
    return places


def _state_names(system: System, parts: Independent) -> dict[str, str]:
    """Return names and units of x."""
    model, units = system.model, units_of(system.model)
    names = {displacement_names(model)[k]: units[k] for k in parts.positions.free}
    names |= {rate_names(model)[k]: units[k] + "/s" for k in parts.velocities.free}
    return names | dict(zip(system.states.names, system.states.units, strict=True))


def _inputs(
    system: System, at: Values, reduced: _Own, requested: Sequence[str] | str | None
) -> tuple[Array, dict[str, str]]:
    """Return B, and names and units of the inputs."""
    model, held = system.model, system.inputs_by_name
    if requested is None:
        names = [*held, *(model.velocity_names[k] for k in reduced.parts.velocities.free)]
    else:
        names = list(name_list("inputs", requested, "velocities or inputs of the system"))
    forces, rates, units = [], [], {}
    for name in names:
        if name in held:
            each = [np.arange(place.start, place.stop) for place in held[name]]
            if len({len(places) for places in each}) > 1:
                raise StateError(
                    f"inputs: mbd.Input({name!r}) is one number in one place and six in another; "
                    f"give them two names"
                )
            for k, places in enumerate(np.array(each).T):  # it acts in all of them
                forces.append(-at.f_by.u[:, places].sum(axis=1))
                rates.append(at.z_by.u[:, places].sum(axis=1))
                units[name if len(each[0]) == 1 else f"{name}[{k}]"] = "input"
        elif name in model.velocity_names:
            k = model.velocity_names.index(name)
            forces.append(np.eye(model.nv)[k])
            rates.append(np.zeros(reduced.nz))
            units[name] = FORCE_UNIT[units_of(model)[k]]
        else:
            known = [*held, *model.velocity_names]
            raise StateError(f"inputs: {unknown_name('input', name, known)}")
    pushes = np.array(forces).reshape(len(forces), model.nv).T
    return reduced.B(pushes, np.array(rates).reshape(len(rates), reduced.nz).T), units


class _Row(NamedTuple):
    C: Array
    D: Array
    unit: str


def _rows(system: System, reduced: _Own, A: Array, B: Array, follows: Array) -> dict[str, _Row]:
    """Return what can be an output, by name."""
    model, none = system.model, np.zeros(B.shape[1])
    T, rates = reduced.parts.velocities.T, slice(reduced.np, reduced.n - reduced.nz)
    rows = {}
    for k, unit in enumerate(units_of(model)):
        rows[displacement_names(model)[k]] = _Row(reduced.shift[k], none, unit)
        rows[rate_names(model)[k]] = _Row(reduced.change[k], none, unit + "/s")
        C, D = T[k] @ A[rates] + follows[k], T[k] @ B[rates]
        rows[acceleration_names(model)[k]] = _Row(C, D, unit + "/s^2")
    for k, name in enumerate(system.states.names):
        rows[name] = _Row(
            np.eye(reduced.n)[reduced.n - reduced.nz + k], none, system.states.units[k]
        )
    return rows
