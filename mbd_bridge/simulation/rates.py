"""A mechanism as y' = f(t, y), for integrators that know nothing of mechanisms.

    y = (q, v, z),   q̇ from v,   v̇ = q̈ + Δ,   Φ_q Δ = -(2 α Φ̇ + α² Φ)           (Baumgarte)

Such integrators do not put the state back onto the constraints, so the acceleration pulls it: what
is open decays as exp(-α t) (1 + α t). α trades stiffness for closure: a fraction of 1/h is plenty,
0 lets the closure drift. What remains open is of the order of the integrator's tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Unpack

import numpy as np

from mbd_bridge.base.arguments import finite_numbers, flag
from mbd_bridge.base.errors import SolveError, StateError, real_number
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.options import with_options
from mbd_bridge.equations.motions import joint_coordinates
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Body, Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting, kernel_of
from mbd_bridge.simulation.options import RightHandSideOptions
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.tables import PolynomialSignal, check_covers
from mbd_bridge.simulation.start import check_inertia, independent_rows, start_state
from mbd_bridge.simulation.steps.runge_kutta import corrections, projected, residuals, slopes
from mbd_bridge.simulation.system import HasModel, System, system_of
from mbd_bridge.simulation.terms import Terms
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import Closed
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

    def many(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, float]:
        """Return y' (K, nq + nv + nz) of K states at one time, and the largest risk."""
        trajectory, times = self._trajectory, np.full(len(q), t)
        _, held, *rest = trajectory.now(t, q[0], v[0], z[0])
        if trajectory.system.sampled:
            held = trajectory.samples(times, q, v)
        rate, risk = self._kernel(q, v, np.column_stack([times, z]), held, *rest)
        return rate, float(risk.max())


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
    return found.correction(2.0 * alpha * rate + alpha**2 * phi)


@dataclass(frozen=True)
class LimitEvent:
    """How far a coordinate is inside of a limit of its file, as an event of `solve_ivp`.

    Attributes
    ----------
    joint, side : the joint's name, and which of its limits: "lower" or "upper"
    limit : where it is, rad or m
    terminal : whether the integration ends there
    """

    joint: str
    side: Literal["lower", "upper"]
    limit: float
    terminal: bool
    body: Body = field(repr=False)
    direction: ClassVar[float] = -1.0

    def __call__(self, t: float, y: Array) -> float:
        """Return the distance, rad or m; it is negative beyond the limit."""
        beyond = float(joint_coordinates(self.body, y)[0]) - self.limit
        return beyond if self.side == "lower" else -beyond


class RightHandSide:
    """f(t, y) of a mechanism, compiled; made by `right_hand_side`.

    Attributes
    ----------
    model : the mechanism
    start : (nq + nv + nz,) the state that it was made for
    """

    def __init__(
        self, trajectory: Trajectory, start: Array, rows: tuple[int, ...], alpha: float
    ) -> None:
        self.model, self.start, self._alpha = trajectory.model, start, alpha
        self._rate = Rate(trajectory, rows, alpha)
        self._system, self._rows = trajectory.system, rows
        self._spans = [
            (name, one.span)
            for name, one in self._system.signals
            if isinstance(one, PolynomialSignal)
        ]

    def __call__(self, t: float, y: Array) -> Array:
        """Return y' (nq + nv + nz,), of y (nq + nv + nz, K) that of each (``vectorized=True``)."""
        for name, span in self._spans:
            check_covers(name, *span, t, t)
        y = np.asarray(y)
        q, v, z = self._parts(y)
        if y.ndim == 2:
            out, risk = self._rate.many(t, q.T, v.T, z.T)
        else:
            out, risk = self._rate(t, q, v, z)
        if not risk < CONTROLLED_RISK:
            raise SolveError(
                f"at t = {t:.6g} s the mechanism is in a singular position, or not closed; "
                f"simulate(...) with integrator='rk4' goes through isolated ones"
            )
        return out.T

    def jac(self, t: float, y: Array) -> Array:
        """Return ∂f/∂y (n, n), n = nq + nv + nz, exact, for ``solve_ivp(f, ..., jac=f.jac)``.

        The accelerations' part follows from the derivatives of the equations that they satisfy,

            M a + h + Φ_qᵀ λ - τ = 0,   Φ̈ + 2 α Φ̇ + α² Φ = 0
        """
        (q, v, z), nq, nv, alpha = self._parts(y), self.model.nq, self.model.nv, self._alpha
        out, terms = np.zeros((len(y), len(y))), self._terms
        a = self(t, y)[nq : nq + nv]
        lam = np.zeros(len(terms.positions))
        values, (f, phi, rate, second, q_rate, z_rate) = terms.derived(t, q, v, a, z, lam)
        if len(lam):
            lam = np.linalg.lstsq(second.a.T, -values[0], rcond=None)[0]
            f = terms.derived(t, q, v, a, z, lam)[1][0]
        of_rows = [
            x + 2.0 * alpha * x1 + alpha**2 * x0
            for x, x1, x0 in zip(second, rate, phi, strict=True)
        ]
        still = np.zeros((len(lam), len(lam)))
        whole = np.block([[f.a, second.a.T], [second.a, still]])
        by_state = [np.vstack(x) for x in zip(f, of_rows, strict=True)]
        out[:nq], out[nq + nv :] = (np.hstack([x.q, x.v, x.z]) for x in (q_rate, z_rate))
        out[nq : nq + nv] = -np.linalg.solve(
            whole, np.hstack([by_state[0], by_state[1], by_state[3]])
        )[:nv]
        return out

    @cached_property
    def _terms(self) -> Terms:
        return Terms(self._system, self._rows)

    def limit_events(self, *, terminal: bool = True) -> tuple[LimitEvent, ...]:
        """Return events at the position limits of the file, for ``solve_ivp(events=...)``.

        Joints of one coordinate have them, those that mimic others too.

        Parameters
        ----------
        terminal : whether the integration ends at the first one
        """
        limits = {joint.name: joint.limits for joint in self.model.description.joints}
        ends = flag("terminal", terminal)
        found = []
        for body in self.model.bodies:
            name = self.model.joints[body.joint].name
            if body.type.nq != 1 or name not in limits:
                continue
            if (low := limits[name].lower) is not None:
                found.append(LimitEvent(name, "lower", low, ends, body))
            if (high := limits[name].upper) is not None:
                found.append(LimitEvent(name, "upper", high, ends, body))
        return tuple(found)

    def split(self, y: Array) -> tuple[Array, Array]:
        """Return q and v of states (..., nq + nv + nz)."""
        nq, end = self.model.nq, self.model.nq + self.model.nv
        return y[..., :nq], y[..., nq:end]

    def states(self, y: Array) -> dict[str, Array]:
        """Return the states of force elements in states (..., nq + nv + nz), by name."""
        return self._system.states.by_name(y[..., self.model.nq + self.model.nv :])

    def _parts(self, y: Array) -> tuple[Array, Array, Array]:
        """Return q, v and z of y (nq + nv + nz, ...)."""
        nq, end = self.model.nq, self.model.nq + self.model.nv
        return y[:nq], y[nq:end], y[end:]


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
    >>> solve_ivp(f, (0, 1), f.start, "Radau", jac=f.jac, events=f.limit_events()) # doctest: +SKIP
    """
    begin, end = finite_numbers("span", options["span"], (2,)).tolist()
    alpha = real_number("stabilisation", options["stabilisation"], "a number")
    system = system_of(machine, begin, end, options)
    model = system.model
    system.warn_left_out()
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
        return RightHandSide(trajectory, np.concatenate([q0, v0, z0]), rows, alpha)
