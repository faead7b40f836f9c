"""A mechanism as y' = f(t, y), for integrators that know nothing of mechanisms.

    y = (q, v, z),   q̇ from v,   v̇ = q̈ + Δ,   Φ_q Δ = -(2 α Φ̇ + α² Φ)           (Baumgarte)

Such integrators do not put the state back onto the constraints, so the acceleration pulls it: what
is open decays as exp(-α t) (1 + α t). α trades stiffness for closure: a fraction of 1/h is plenty,
0 lets the closure drift. What remains open is of the order of the integrator's tolerance.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import SolveError, StateError, real_number
from mbd_bridge.base.options import with_options
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.motion.warnings import warn_left_out
from mbd_bridge.simulation.acts import Acting, kernel_of
from mbd_bridge.simulation.options import RightHandSideOptions
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.tables import PolynomialSignal, check_covers
from mbd_bridge.simulation.start import check_inertia, independent_rows, start_state
from mbd_bridge.simulation.steps.runge_kutta import corrections, projected, residuals, slopes
from mbd_bridge.simulation.system import HasModel, System, system_of
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import Closed, correction
from mbd_bridge.solve.tolerances import CONTROLLED_RISK


class Rate:
    """y' = (q', v', z') of one trajectory.

    Parameters
    ----------
    rows : independent rows of the loops
    alpha : 1/s, with which open loops and prescribed motions are pulled closed
    """

    def __init__(self, trajectory: Trajectory, rows: tuple[int, ...], alpha: float = 0.0) -> None:
        self._trajectory, self._rows, self._alpha = trajectory, rows, alpha
        self._kernel = _rate_kernel(trajectory.system, rows, alpha)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rate, (self._trajectory, self._rows, self._alpha)

    def __call__(self, t: float, q: Array, v: Array, z: Array = NO_STATES) -> tuple[Array, float]:
        """Return y' (nq + nv + nz,), and the risk of being near a singular position."""
        rate, risk = self._kernel(q, v, *self._trajectory.now(t, q, v, z))
        return rate, float(risk[0])


class Settle:
    """Puts a state of one trajectory onto its constraints."""

    def __init__(self, trajectory: Trajectory, rows: tuple[int, ...]) -> None:
        self._trajectory = trajectory
        self._kernel = _settle_kernel(trajectory.system, rows)
        self._still = np.zeros(trajectory.system.nz)  # forces do not matter

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float, float]:
        """Return q and v, what was left open before the last correction, and the risk."""
        q, v, facts = self._kernel(q, v, *self._trajectory.now(t, q, v, self._still))
        return q, v, float(facts[0]), float(facts[1])


def _rate_kernel(system: System, rows: tuple[int, ...], alpha: float) -> Kernel:
    def function(acts: Acting, q: Array, v: Array, t: Any, z: Array) -> tuple[Array, ...]:
        model, stage = acts.model, acts.stage()
        dq, found, _, dz = slopes(model, rows, *stage)(q, v, t, z)
        a, risk = found.a, zeros(1, q, v)
        risk[0] = found.risk
        if alpha and found.inner is not None:
            a = a + _pull(model, rows, q, v, stage.motions, t, found, alpha)
        return np.concatenate([dq, a, dz]), risk

    return kernel_of(system, function, ("rate", "risk"), "rate", (rows, alpha))


def _settle_kernel(system: System, rows: tuple[int, ...]) -> Kernel:
    def function(acts: Acting, q: Array, v: Array, t: Any, z: Array) -> tuple[Array, ...]:
        model, motions = acts.model, acts.stage().motions
        found = slopes(model, rows, None, motions)(q, v, t, z)[1]
        q_on, v_on, left, _ = projected(corrections(model, rows, motions), q, v, t, found)
        facts = zeros(2, q, v)
        facts[0], facts[1] = left, found.risk
        return q_on, v_on, facts

    return kernel_of(system, function, ("q", "v", "facts"), "settle", rows)


def _pull(
    model: Model,
    rows: tuple[int, ...],
    q: Array,
    v: Array,
    motions: PrescribedMotions | None,
    t: Any,
    found: Closed,
    alpha: float,
) -> Array:
    phi, rate, _ = residuals(model, rows, q, v, motions, t)
    return correction(found, 2.0 * alpha * rate + alpha**2 * phi)


class RightHandSide:
    """f(t, y) of a mechanism, compiled; made by `right_hand_side`.

    Attributes
    ----------
    model : the mechanism
    start : (nq + nv + nz,) the state that it was made for
    """

    def __init__(self, trajectory: Trajectory, start: Array, rate: Rate) -> None:
        self.model, self.start, self._rate = trajectory.model, start, rate
        self._states, signals = trajectory.system.states, trajectory.system.signals
        self._spans = [
            (name, one.span) for name, one in signals if isinstance(one, PolynomialSignal)
        ]

    def __call__(self, t: float, y: Array) -> Array:
        """Return y' (nq + nv + nz,)."""
        for name, span in self._spans:
            check_covers(name, *span, t, t)
        nq, end = self.model.nq, self.model.nq + self.model.nv
        out, risk = self._rate(t, y[:nq], y[nq:end], y[end:])
        if not risk < CONTROLLED_RISK:
            raise SolveError(
                f"at t = {t:.6g} s the mechanism is in a singular position, or not closed; "
                f"simulate(...) with integrator='rk4' goes through isolated ones"
            )
        return out

    def split(self, y: Array) -> tuple[Array, Array]:
        """Return q and v of states (..., nq + nv + nz)."""
        nq, end = self.model.nq, self.model.nq + self.model.nv
        return y[..., :nq], y[..., nq:end]

    def states(self, y: Array) -> dict[str, Array]:
        """Return the states of force elements in states (..., nq + nv + nz), by name."""
        return self._states.by_name(y[..., self.model.nq + self.model.nv :])


@with_options
def right_hand_side(
    machine: HasModel | Model | System, **options: Unpack[RightHandSideOptions]
) -> RightHandSide:
    """Return a mechanism's y' = f(t, y), for example for `scipy.integrate.solve_ivp`.

    Parameters
    ----------
    machine : a `Mechanism`, its model, or a `System`
    **options : what acts, the state at the start, what is done about open loops

    Notes
    -----
    A `Sampled` function is called at every evaluation.

    Examples
    --------
    >>> f = right_hand_side(bar.model, prescribed={"crank": lambda t: 2 * t}) # doctest: +SKIP
    >>> solve_ivp(f, (0, 1), f.start, rtol=1e-9, atol=1e-9)                # doctest: +SKIP
    """
    begin, end = finite_numbers("span", options["span"], (2,)).tolist()
    alpha = real_number("stabilisation", options["stabilisation"], "a number")
    system = system_of(machine, begin, end, options)
    model = system.model
    warn_left_out(model, system.replaced)
    if system.number > 1:
        raise StateError("right_hand_side is that of one trajectory; give one value of each")
    trajectory = Trajectory(system)
    model, motions = trajectory.model, trajectory.motions
    q0, v0 = start_state(model, options["q"], options["v"], motions, begin)
    z0 = system.states.start(options["z"])[0]
    trajectory.try_at(begin, q0, v0, z0)
    check_inertia(model, q0, motions)
    rows = independent_rows(model, q0, motions, v0)
    with np.errstate(over="ignore", invalid="ignore"):  # constants are folded
        rate = Rate(trajectory, rows, alpha)
    return RightHandSide(trajectory, np.concatenate([q0, v0, z0]), rate)
