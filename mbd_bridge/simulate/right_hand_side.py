"""A mechanism as y' = f(t, y), for integrators that know nothing of mechanisms.

    y = (q, v),   q̇ from v,   v̇ = q̈ + Δ,   Φ_q Δ = -(2 α Φ̇ + α² Φ)           (Baumgarte)

Such integrators do not put the state back onto the constraints, so the acceleration pulls it: what
is open decays as exp(-α t) (1 + α t). α trades stiffness for closure: a fraction of 1/h is plenty,
0 lets the closure drift. What remains open is of the order of the integrator's tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import an_instance, finite_numbers
from mbd_bridge.errors import SolveError, real_number
from mbd_bridge.kernels import Kernel, compile_kernel
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.given.external import Push, all_forces, given_wrenches
from mbd_bridge.simulate.given.forces import Drive, given_forces, lines_of
from mbd_bridge.simulate.given.motions import Prescribed, PrescribedMotions, check_drives, prescribe
from mbd_bridge.simulate.given.table import Table, check_covers
from mbd_bridge.simulate.rows import independent_rows
from mbd_bridge.simulate.start import check_inertia, start_state
from mbd_bridge.simulate.step import Torque, lacks, projected, slopes
from mbd_bridge.solve.closed import Closed, correction
from mbd_bridge.spatial import Array, zeros

STABILISATION = 20.0
"""α, 1/s: what is open is a millionth after 0.8 s."""

RISK = 1e12
"""Sum of S_kk / pivot_k above which a step is not trusted: a millionth from a singular position."""

State = Callable[..., tuple[Array, ...]]


class RightHandSide:
    """f(t, y) of a mechanism, compiled; made by `right_hand_side`.

    Attributes
    ----------
    model : the mechanism
    start : (nq + nv,) the state that it was made for

    Parameters
    ----------
    spans : s, from where to where the tables in it go, by name
    """

    def __init__(
        self,
        model: Model,
        start: Array,
        kernel: Kernel,
        spans: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.model, self.start, self._kernel = model, start, kernel
        self._spans = spans or {}

    def __call__(self, t: float, y: Array) -> Array:
        """Return y' (nq + nv,)."""
        for name, (first, last) in self._spans.items():
            check_covers(name, first, last, t, t)
        nq = self.model.nq
        out, risk = self._kernel(y[:nq], y[nq:], np.array([t]))
        if not risk[0] < RISK:
            raise SolveError(
                f"at t = {t:.6g} s the mechanism is in a singular position, or not closed; "
                f"simulate(...) with integrator='rk4' goes through isolated ones"
            )
        return out

    def split(self, y: Array) -> tuple[Array, Array]:
        """Return q and v of states (..., nq + nv)."""
        return y[..., : self.model.nq], y[..., self.model.nq :]


def right_hand_side(
    model: Model,
    *,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    torque: Drive = None,
    external: Mapping[str, Push] | None = None,
    external_in: str = "link",
    drives: Mapping[str, Prescribed] | None = None,
    span: tuple[float, float] = (0.0, 0.0),
    stabilisation: float = STABILISATION,
) -> RightHandSide:
    """Return a mechanism's y' = f(t, y), for example for `scipy.integrate.solve_ivp`.

    Parameters
    ----------
    model : the mechanism's, ``mechanism.model``
    q, v, torque, external, external_in, drives : as for `simulate`
    span : s, from start to end (a table must cover it; a time beyond a table is refused)
    stabilisation : α, 1/s, with which open loops and drives are closed

    Examples
    --------
    >>> f = right_hand_side(bar.model, drives={"crank": lambda t: 2 * t})  # doctest: +SKIP
    >>> solve_ivp(f, (0, 1), f.start, rtol=1e-9, atol=1e-9)                # doctest: +SKIP
    """
    an_instance("model", model, Model, "mechanism.model")
    begin, end = finite_numbers("span", span, (2,)).tolist()
    alpha = real_number("stabilisation", stabilisation, "a number")
    check_drives(drives)
    motions = prescribe(model, drives, begin, end) if drives else None
    q0, v0 = start_state(model, q, v, motions, begin)
    check_inertia(model, q0, motions)
    rows, forces = independent_rows(model, q0, motions, v0), given_forces(model, torque, begin, end)
    wrenches = given_wrenches(model, external, external_in, begin, q0, v0)
    whole = all_forces(model, forces, wrenches)
    with np.errstate(over="ignore", invalid="ignore"):  # constants are folded
        kernel = rate_kernel(model, rows, whole, motions, alpha)
    spans = _spans(model, forces, motions)
    return RightHandSide(model, np.concatenate([q0, v0]), kernel, spans)


def _spans(
    model: Model, forces: Torque | None, motions: PrescribedMotions | None
) -> dict[str, tuple[float, float]]:
    """Return from where to where the tables of forces and motions go, s."""
    names = model.velocity_names
    spans = {f"torque {names[k]!r}": table.span for k, table in lines_of(forces).items()}
    if motions is not None:
        pairs = zip(motions.names, motions.functions, strict=True)
        spans |= {f"drive {name!r}": one.span for name, one in pairs if isinstance(one, Table)}
    return spans


def rate_kernel(
    model: Model,
    rows: tuple[int, ...],
    torque: Torque | None,
    motions: PrescribedMotions | None,
    alpha: float = 0.0,
) -> Kernel:
    """Return the kernel (q, v, t) -> (y', risk) with closure pulled at the rate alpha."""
    slope = slopes(model, rows, torque, motions)

    def function(q: Array, v: Array, t: Array) -> tuple[Array, ...]:
        dq, found, _ = slope(q, v, t[0])
        a, risk = found.a, zeros(1, q, v)
        risk[0] = found.risk
        if alpha and found.inner is not None:
            a = a + _pull(model, rows, q, v, motions, t, found, alpha)
        return np.concatenate([dq, a]), risk

    return _compiled(model, function, ("rate", "risk"), "rate")


def settle_kernel(model: Model, rows: tuple[int, ...], motions: PrescribedMotions | None) -> Kernel:
    """Return the kernel (q, v, t) -> (q, v, left, risk) that puts a state onto the constraints."""
    slope = slopes(model, rows, None, motions)

    def function(q: Array, v: Array, t: Array) -> tuple[Array, ...]:
        found = slope(q, v, t[0])[1]
        q_on, v_on, left, _ = projected(model, rows, q, v, found, motions, t[0])
        facts = zeros(2, q, v)
        facts[0], facts[1] = left, found.risk
        return q_on, v_on, facts

    return _compiled(model, function, ("q", "v", "facts"), "settle")


def _pull(
    model: Model,
    rows: tuple[int, ...],
    q: Array,
    v: Array,
    motions: PrescribedMotions | None,
    t: Array,
    found: Closed,
    alpha: float,
) -> Array:
    phi, rate, _ = lacks(model, rows, q, v, motions, t[0])
    return correction(found, 2.0 * alpha * rate + alpha**2 * phi)


def _compiled(model: Model, function: State, outputs: tuple[str, ...], name: str) -> Kernel:
    inputs = {"q": model.nq, "v": model.nv, "t": 1}
    return compile_kernel(function, inputs, outputs=outputs, name=name)
