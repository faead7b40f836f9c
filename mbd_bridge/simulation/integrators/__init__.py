"""Integrators of y' = f(t, y), run from Python; the compiled Runge-Kutta step is in `steps`.

To add one: a file with one final class that derives from `Integrator`, and its name in
`INTEGRATORS` and in `run.problem.IntegratorName`.
"""

from mbd_bridge.simulation.integrators.adams import AdamsBashforthMoulton
from mbd_bridge.simulation.integrators.adams_bashforth import AdamsBashforth
from mbd_bridge.simulation.integrators.base import BudgetError, Integrator, Rate, Settle
from mbd_bridge.simulation.integrators.runge_kutta import RungeKutta
from mbd_bridge.simulation.integrators.scipy_integrator import SCIPY, ScipyIntegrator

INTEGRATORS: dict[str, type[Integrator]] = {
    "rk4": RungeKutta,
    "ab3": AdamsBashforth,
    "abm": AdamsBashforthMoulton,
}
"""Name -> integrator; SciPy's are called ``scipy:NAME``."""

__all__ = [
    "INTEGRATORS",
    "SCIPY",
    "AdamsBashforth",
    "AdamsBashforthMoulton",
    "BudgetError",
    "Integrator",
    "Rate",
    "RungeKutta",
    "ScipyIntegrator",
    "Settle",
]
