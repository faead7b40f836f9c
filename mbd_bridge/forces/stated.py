"""Whether an element does what it states: its power is what its energy loses and it dissipates.

P + dU/dt + D = 0,   dU/dt = (U(q + ε q̇, z + ε ż) - U(q - ε q̇, z - ε ż)) / 2 ε
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import MbdError
from mbd_bridge.equations.newton_euler import external_forces
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

TRIES = 5
"""States at which it is tried."""

FAR, EPSILON = 0.3, 1e-6
"""rad, m and 1/s from zero; s, of the differences."""

ALIKE = 1e-5
"""Part of the powers that may be left: differences of floats."""


def does_as_stated(element: ForceElement, model: Model) -> bool:
    """Return whether a bound element exerts the power that it states, at some states.

    One that exerts none there cannot be told, nor one whose energy depends on velocities.
    """
    random = np.random.default_rng(0)
    some = False
    for _ in range(TRIES):
        q = model.integrate(model.neutral(), FAR * random.standard_normal(model.nv))
        v = FAR * random.standard_normal(model.nv)
        z = FAR * random.standard_normal(len(element.states(model)))
        try:
            with np.errstate(all="ignore"):
                powers = _powers(element, model, q, v, z)
        except (MbdError, ArithmeticError, ValueError, LookupError, TypeError):
            return False  # it is not made for such a state, or for floats
        if not np.isfinite(powers).all():
            return False
        if not abs(powers.sum()) <= ALIKE * np.abs(powers).sum():
            return False
        some |= bool(powers[0] != 0.0)
    return some


def _powers(element: ForceElement, model: Model, q: Array, v: Array, z: Array) -> Array:
    """Return P, dU/dt and D, W; nan where U depends on velocities."""
    now = element.effect(model, 0.0, q, v, z)
    tau = external_forces(model, q, dict(in_link_axes(model, q, v, now)))
    tau = np.asarray(tau, dtype=float).copy()
    for place, force in now.forces.items():
        tau[place] += force
    rates = np.array(now.rates, dtype=float).reshape(len(z))

    def energy(ahead: float, velocity: Array) -> float:
        there, state = model.integrate(q, ahead * v), z + ahead * rates
        return float(element.effect(model, 0.0, there, velocity, state).energy)

    stored = (energy(EPSILON, v) - energy(-EPSILON, v)) / (2.0 * EPSILON)
    if energy(0.0, v) != energy(0.0, -v):
        stored = np.nan
    return np.array([tau @ v, stored, float(now.dissipation)])
