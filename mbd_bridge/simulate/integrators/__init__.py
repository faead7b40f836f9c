"""Integrators of y' = f(t, y), driven from Python; the compiled Runge-Kutta step is in `step`.

To add one: a file with one final class that derives from `Integrator`, and its name in
`INTEGRATORS`.
"""

from mbd_bridge.simulate.integrators.adams import AdamsBashforthMoulton
from mbd_bridge.simulate.integrators.adams_bashforth import AdamsBashforth
from mbd_bridge.simulate.integrators.base import Integrator, Rate, Settle
from mbd_bridge.simulate.integrators.runge_kutta import RungeKutta

INTEGRATORS: dict[str, type[Integrator]] = {
    "rk4": RungeKutta,
    "ab3": AdamsBashforth,
    "abm": AdamsBashforthMoulton,
}
"""Name -> integrator."""

__all__ = [
    "INTEGRATORS",
    "AdamsBashforth",
    "AdamsBashforthMoulton",
    "Integrator",
    "Rate",
    "RungeKutta",
    "Settle",
]
