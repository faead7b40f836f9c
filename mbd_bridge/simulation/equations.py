"""The equations of a system, as functions of floats or of symbols.

    x = (q, v, z)      state (nq + nv + nz,); z are states of force elements
    u                  what varies and is no function of t and x: held numbers, then tables at t
    p                  parameters
    λ                  multipliers of independent rows of the loops, then of prescribed motions

    x' = rate(t, x, u, p)
    0 = residual(t, x, x', λ, u, p) = (q̇ - Q(q) v,  M q̈ + h + Φ_qᵀ λ - τ,  ż - rates)
    0 = constraints(t, x, u, p) = (Φ, Φ̇)

Loops make some rows of the constraints redundant, so that the equations belong to a choice of
independent rows: that of a state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.forces.acts import StartStates
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.outputs import STATE
from mbd_bridge.simulation.start import independent_rows, start_state
from mbd_bridge.simulation.steps.runge_kutta import residuals, slopes
from mbd_bridge.simulation.steps.trusted_step import CARRIED
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import Closed

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfEquations as Extended
else:
    from mbd_bridge.base.extensions import Extended


class Equations(Extended):
    """What a `System` integrates, to be called, traced, compiled and differentiated.

    Parameters
    ----------
    machine : a `System`, or a mechanism on which nothing acts
    q, v, z : a state, as for `simulate`: independent rows of the constraints are chosen there
    t : s, the time of that state

    Attributes
    ----------
    system, rows : whose equations, and which rows of the loops' constraints they keep
    start, time : (nq + nv + nz,) the state; s
    sizes : of x, u, p and lam, as `kernels.compile_kernel` and `kernels.jacobian` take them

    Notes
    -----
    Every function takes floats or symbols. Without u and p it takes those of the system at t;
    symbols of a system that has tables need them as inputs.

    Examples
    --------
    >>> equations = mbd.Equations(system, q=start.q)                    # doctest: +SKIP
    >>> A = jacobian(lambda x: (equations.rate(0.0, x),), {"x": equations.sizes["x"]})
    """

    def __init__(
        self,
        machine: HasModel | Model | System,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        z: StartStates | None = None,
        t: float = 0.0,
    ) -> None:
        self.system = machine if isinstance(machine, System) else System(machine)
        if self.system.number > 1:
            raise StateError("equations are those of one trajectory; give one value of each")
        self.time = t = real_number("t", t, "a number")
        self.system.warn_left_out()
        self._trajectory = Trajectory(self.system)
        model, motions = self._trajectory.model, self._trajectory.motions
        q0, v0 = start_state(model, q, v, motions, t)
        self.rows = independent_rows(model, q0, motions, v0)
        self.start = np.concatenate([q0, v0, self.system.states.start(z)[0]])
        held, _, instant = self.system.layout.sizes
        p = 0 if self.system.parameters is None else self.system.parameters.size
        count = len(self.rows) + len(self.system.prescribed_velocities)
        self.sizes = {"x": len(self.start), "u": held + instant, "p": p, "lam": count}

    def u(self, t: float, x: ArrayLike) -> Array:
        """Return the numbers (u,) that the system has at a time; Python functions are called."""
        time = real_number("t", t, "a number")
        self.system.check_covers(time, time)
        state = finite_numbers("x", x, (self.sizes["x"],))
        q, v, _ = self._parts(state)
        instant = self._trajectory.instants(np.array([time]))[0]
        return np.concatenate([self._trajectory.sampled(time, q, v), instant])

    @property
    def held(self) -> Array:
        """The first numbers of u: constants and inputs, which stay during a step."""
        return self._trajectory.held

    def rate(self, t: Any, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """Return x' (nq + nv + nz,)."""
        with quiet():
            dq, found, dz = self._solved(t, x, u, p)
            return real(np.concatenate([dq, found.a, dz]))

    def multipliers(
        self, t: Any, x: Array, u: Array | None = None, p: Array | None = None
    ) -> Array:
        """Return λ (rows + prescribed,): generalised forces of the constraints are -Φ_qᵀ λ."""
        with quiet():
            return real(self._solved(t, x, u, p)[1].lam)

    def residual(
        self,
        t: Any,
        x: Array,
        rate: Array,
        lam: Array,
        u: Array | None = None,
        p: Array | None = None,
    ) -> Array:
        """Return what q̇, the equations of motion and ż leave (nq + nv + nz,).

        In rad/s or m/s, N m or N, and the states' units per second. It needs no mass matrix and no
        factors: for implicit integrators.
        """
        rate = entries("rate", rate, self.sizes["x"])
        lam = entries("lam", lam, self.sizes["lam"])
        with quiet():
            q, v, z, acts = self._at(t, x, u, p)
            dq, a, dz = self._parts(rate)
            forces = acts.residual(self.rows, t, q, v, z, a, lam)
            states = dz - acts.rates(t, q, v, z)
            return real(np.concatenate([dq - coordinate_rates(acts.model, q, v), forces, states]))

    def constraints(
        self, t: Any, x: Array, u: Array | None = None, p: Array | None = None
    ) -> tuple[Array, Array]:
        """Return Φ and Φ̇ (rows + prescribed,) of what is kept: rad or m, rad/s or m/s."""
        with quiet():
            q, v, _, acts = self._at(t, x, u, p)
            phi, rate, _ = residuals(acts.model, self.rows, q, v, acts.stage().motions, t)
            return real(phi), real(rate)

    def outputs(
        self, t: Any, x: Array, u: Array | None = None, p: Array | None = None
    ) -> dict[str, Array]:
        """Return accelerations, energies, and the loads and functions asked of the system."""
        asked = self.system.outputs
        if asked is None:
            raise StateError(
                "this system has no outputs: mbd.System(robot, loads=[...], outputs={...})"
            )
        with quiet():
            q, v, z, acts = self._at(t, x, u, p)
            found = slopes(acts.model, self.rows, *acts.stage())(q, v, t, z)[1]
            now = zeros(CARRIED + len(z), np.asarray(t), z)
            now[0], now[CARRIED:] = t, z
            values = asked.values(acts, self.rows, q, v, now, found)
        shapes = asked.load_shapes(self.system.model)
        named = list(zip(asked.names, values, strict=True))[len(STATE) :]
        return {name: real(value).reshape(shapes.get(name, value.shape)) for name, value in named}

    def _solved(
        self, t: Any, x: Array, u: Array | None, p: Array | None
    ) -> tuple[Array, Closed, Array]:
        q, v, z, acts = self._at(t, x, u, p)
        dq, found, _, dz = slopes(acts.model, self.rows, *acts.stage())(q, v, t, z)
        return dq, found, dz

    def _parts(self, x: Array) -> list[Array]:
        """Return q, v and z, or their rates."""
        model = self.system.model
        return np.split(x, [model.nq, model.nq + model.nv])

    def _at(
        self, t: Any, x: Array, u: Array | None, p: Array | None
    ) -> tuple[Array, Array, Array, Acting]:
        """Return q, v, z and what acts."""
        system, sizes = self.system, self.sizes
        x = entries("x", x, sizes["x"])
        if not is_traced(t):
            t = real_number("t", t, "a number")
        if u is not None:
            u = entries("u", u, sizes["u"])
        elif not is_traced(t, x):
            u = self.u(t, x)
        elif system.layout.instant or system.sampled:
            raise StateError(
                "u: a system with tables or sampled functions has numbers that vary; trace "
                "them as an input, of the size equations.sizes['u']"
            )
        else:
            u = self.held
        machine = self._trajectory.machine
        if p is not None:
            machine = system.machine(entries("p", p, sizes["p"]))
        held = system.layout.sizes[0]
        acts = Acting.at(system, machine, u[:held], u[held:])
        q, v, z = self._parts(x)
        return q, v, z, acts


def entries(name: str, value: Any, size: int) -> Array:
    """Return a vector of so many finite floats, or of symbols."""
    if not is_traced(value):
        return finite_numbers(name, value, (size,))
    array = np.asarray(value)
    if array.shape != (size,):
        raise StateError(f"{name}: expected ({size},) numbers or symbols, got {array.shape}")
    return array


def quiet() -> np.errstate:
    """Return the silence in which `real` refuses what is not finite, in our words."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def real(found: Any) -> Array:
    """Return a result that holds symbols or finite floats; refuse another one."""
    array = np.asarray(found)
    if is_traced(array) or np.isfinite(array.astype(np.float64)).all():
        return array
    raise StateError(
        "t, x, rate, lam, u, p: the equations give what is not finite: the numbers are so large "
        "that forces overflow, or the state is a singular position"
    )
