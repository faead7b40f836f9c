"""States that stay: static equilibrium, and motions whose velocities do not change.

    f(q, v, a = 0, z, λ) = E τ,   Φ(q) = 0,   Φ̇(q, v) = 0,   Φ̈(q, v, 0) = 0,   ż(q, v, z) = 0

in q, z, λ, and for a steady motion in the velocities that are not prescribed and the forces τ that
drive it. Newton's steps with exact derivatives (`terms`), the smallest that the equations ask for:
a displacement that nothing resists stays as it is, and is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.linear.model import displacement_names, units_of
from mbd_bridge.base.arguments import by_name, known_name, name_list
from mbd_bridge.base.errors import SolveError, StateError, real_number
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.terms import Terms, Values
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve import assemble
from mbd_bridge.solve.tolerances import SINGULAR

ITERATIONS = 200
HALVINGS = 20
BALANCED = 1e-10
"""Residual that counts as none, of forces relative to weight and size of the machine, rad, ..."""

DONE = 1e-14
"""Residual at which nothing is left to be gained."""

LONGEST = 0.3
"""Longest step in positions, rad or sizes of the mechanism."""

SHARE = 1e-6
"""Part of a motion without stiffness from which on a displacement is named."""


@dataclass(frozen=True, eq=False)
class SteadyState:
    """A static equilibrium, or a motion whose velocities stay.

    Attributes
    ----------
    q, v, z : the state
    lam : multipliers of the independent rows of the loops, then of prescribed motions
    rows : these rows
    t : s
    forces : N m or N, that drive a steady motion, by velocity
    free : displacements that nothing resists: they stay where they were
    residual : what is left of the equations, relative to the machine's weight and size
    iterations : of Newton's method
    """

    q: Array
    v: Array
    z: Array
    lam: Array
    rows: tuple[int, ...]
    t: float
    forces: dict[str, float]
    free: tuple[str, ...]
    residual: float
    iterations: int


def equilibrium(
    machine: HasModel | Model | System,
    near: Mapping[str, float] | ArrayLike | None = None,
    *,
    z: StartStates | None = None,
    t: float = 0.0,
) -> SteadyState:
    """Return a position at which nothing moves: a static equilibrium on springs, tyres, stops.

    Parameters
    ----------
    machine : a `System`, or a mechanism (with the force elements of its file)
    near : initial guess, coordinates by name or (nq,); the loops are closed first. Where there are
        several equilibria it decides which is found, a stable one or not (see `linearise`)
    z : initial guess of the states of force elements
    t : s, at which forces and prescribed motions are taken; what they prescribe stands still

    Raises
    ------
    SolveError
        There is none nearby: which force is left.
    """
    problem = _Problem(machine, near, {}, (), z, t)
    return problem.solved("equilibrium")


def steady_motion(
    machine: HasModel | Model | System,
    velocity: Mapping[str, float],
    near: Mapping[str, float] | ArrayLike | None = None,
    *,
    drives: Sequence[str] | str | None = None,
    z: StartStates | None = None,
    t: float = 0.0,
) -> SteadyState:
    """Return a motion with these velocities at which no velocity of a joint changes.

    Such as a vehicle that runs straight at a constant speed, or round a circle.

    Parameters
    ----------
    machine, near, z, t : as for `equilibrium`
    velocity : prescribed velocities by name, rad/s or m/s
    drives : velocities along which forces drive the motion (an engine's torque), whatever it takes;
        None: the prescribed ones

    Raises
    ------
    SolveError
        There is none nearby: which force is left.
    """
    prescribed = {
        name: real_number(f"velocity[{name!r}]", value, "a finite number")
        for name, value in by_name("velocity", velocity, "{'rear_wheel': 10}").items()
    }
    named = tuple(prescribed) if drives is None else name_list("drives", drives, "velocities")
    return _Problem(machine, near, prescribed, named, z, t).solved("steady motion")


class _Problem:
    """The equations and their unknowns."""

    def __init__(
        self,
        machine: HasModel | Model | System,
        near: Mapping[str, float] | ArrayLike | None,
        velocity: Mapping[str, float],
        drives: Sequence[str],
        z: StartStates | None,
        t: float,
    ) -> None:
        t = real_number("t", t, "a number")
        system = machine if isinstance(machine, System) else System(machine)
        if system.number > 1:
            raise StateError("one state at a time; give one value of each")
        trajectory = Trajectory(system)
        self.model, motions = trajectory.model, trajectory.motions
        self.moves = bool(velocity)
        names = self.model.velocity_names
        for name in (*velocity, *drives):
            known_name("velocity", name, names, "velocity: ")
        if motions is not None:
            places = dict(zip(motions.names, motions.at(t)[0], strict=True))
            near = {**(near if isinstance(near, Mapping) else {}), **places}
        fixed = () if motions is None else motions.names
        at = assemble(self.model, near, fixed=fixed)
        if velocity:
            held = tuple(velocity)
            v = assemble(self.model, at.q, fixed=held, velocity=velocity, check=False).v
            v[[names.index(name) for name in held]] = list(velocity.values())
        else:
            v = np.zeros(self.model.nv)
        self.q, self.v, self.z = at.q, v, system.states.start(z)[0]
        rows = independent_rows(self.model, at.q, motions, v if velocity else None)
        self.terms = Terms(system, rows, t)
        self.lam = np.zeros(len(self.terms.positions))
        self.tau = np.zeros(len(drives))
        self.drives = [names.index(name) for name in drives]
        moving = [k for k, name in enumerate(names) if name not in velocity]
        self.loose = moving if velocity else []
        mass = float(sum(self.model.masses))
        weight = mass * max(float(np.linalg.norm(self.model.gravity)), 1.0) * self.model.size
        self.force = weight or 1.0
        scale = np.append(self.model.row_scale[list(rows)], np.ones(len(self.lam) - len(rows)))
        self.rows = scale
        self.velocities = self.model.velocity_scale

    def solved(self, what: str) -> SteadyState:
        """Return the state, or say what is left."""
        at = self._at(self.q, self.v, self.z, self.lam)
        r = self._residual(at, self.tau)
        iteration = 0
        while iteration < ITERATIONS and np.abs(r).max(initial=0.0) > DONE:
            iteration += 1
            step = np.linalg.lstsq(self._jacobian(at), -r, rcond=SINGULAR)[0]
            step *= min(1.0, LONGEST / max(np.abs(step[: len(self.velocities)]).max(), LONGEST))
            gained = self._taken(step, r)
            if gained is None:
                break
            at, r = gained
        left = float(np.abs(r).max(initial=0.0))
        if not left <= BALANCED:
            raise SolveError(self._complaint(what, r))
        names = [self.model.velocity_names[k] for k in self.drives]
        forces = {name: float(x) for name, x in zip(names, self.tau, strict=True)}
        free = self._free(at)
        rows, t = self.terms.rows, self.terms.t
        return SteadyState(self.q, self.v, self.z, self.lam, rows, t, forces, free, left, iteration)

    def _taken(self, step: Array, r: Array) -> tuple[Values, Array] | None:
        """Take a step, halved as long as it leads away; None if it leads nowhere."""
        before = np.linalg.norm(r)
        for _ in range(HALVINGS):
            state = self._moved(step)
            at = self._at(*state[:4])
            found = self._residual(at, state[4])
            if np.linalg.norm(found) < before:
                self.q, self.v, self.z, self.lam, self.tau = state
                return at, found
            step = 0.5 * step
        return None

    def _moved(self, step: Array) -> tuple[Array, Array, Array, Array, Array]:
        sizes = [len(self.velocities), len(self.loose), len(self.z), len(self.lam)]
        shift, change, dz, lam, tau = np.split(step, np.cumsum(sizes))
        v = self.v.copy()
        v[self.loose] += change * self.velocities[self.loose]
        q = self.model.integrate(self.q, shift * self.velocities)
        force = self.force / self.velocities[self.drives]
        return q, v, self.z + dz, self.lam + lam * self.force / self.rows, self.tau + tau * force

    def _at(self, q: Array, v: Array, z: Array, lam: Array) -> Values:
        return self.terms(q, v, np.zeros(len(v)), z, lam)

    def _residual(self, at: Values, tau: Array) -> Array:
        f = at.f.copy()
        f[self.drives] -= tau
        parts = [f * self.velocities / self.force, (at.phi / self.rows)[self.terms.positions]]
        if self.moves:
            parts += [at.phi_rate / self.rows, at.phi_acceleration / self.rows]
        return np.concatenate([*parts, at.z_rate])

    def _jacobian(self, at: Values) -> Array:
        """Return the derivatives of the residual by (δ, v, z, λ, τ), scaled."""
        s, m = self.velocities, self.rows[:, None]
        f, phi, positions = at.f_by, at.phi_by, self.terms.positions
        nz, loose = len(self.z), self.loose
        weigh = s[:, None] / self.force
        pull = weigh * at.rate_by.v.T * (self.force / self.rows)
        drive = -np.eye(len(s))[:, self.drives]  # scaled by its own velocity: the unit force is 1
        blocks = [
            np.hstack([weigh * f.q * s, (weigh * f.v * s)[:, loose], weigh * f.z, pull, drive])
        ]
        rest = len(self.lam) + len(self.drives)

        def more(q: Array, v: Array, z: Array) -> Array:
            return np.hstack([q * s, (v * s)[:, loose], z, np.zeros((len(q), rest))])

        none = np.zeros((len(self.lam), nz))
        still = np.zeros_like(at.rate_by.v)
        blocks.append(more(phi.q / m, still, none)[positions])
        if self.moves:
            for one in (at.rate_by, at.acceleration_by):
                blocks.append(more(one.q / m, one.v / m, none))
        return np.vstack([*blocks, more(at.z_by.q, at.z_by.v, at.z_by.z)])

    def _free(self, at: Values) -> tuple[str, ...]:
        """Return the displacements that nothing resists."""
        J = self._jacobian(at)
        first = len(self.velocities)
        J = np.delete(J, range(first, first + len(self.loose)), axis=1)  # velocities stay
        _, s, Vt = np.linalg.svd(J)
        null = Vt[int(np.sum(s > SINGULAR * s.max(initial=0.0))) :, : len(self.velocities)]
        part = np.linalg.norm(null, axis=0)
        named = zip(displacement_names(self.model), part, strict=True)
        return tuple(name for name, share in named if share > SHARE)

    def _complaint(self, what: str, r: Array) -> str:
        forces = r[: len(self.velocities)]
        worst = int(np.argmax(np.abs(forces)))
        name, left = self.model.velocity_names[worst], forces[worst] * self.force
        unit = FORCE_UNIT[units_of(self.model)[worst]]
        size = left / self.velocities[worst]
        if not np.abs(forces).max() > BALANCED:
            return f"no {what} was found: loops or states of force elements do not come to rest"
        return (
            f"no {what} was found nearby: a force of {size:.3g} {unit} is left along {name!r}. "
            f"Start from another near=, or add what holds it (a spring, a drive, prescribed=)"
        )
