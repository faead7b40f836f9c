"""Observed orders of the integrators, on a closed loop and on an open chain.

python -m tests.orders        prints the table of docs/papers/verification.md
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.integrators import KeptMatrix, NullSpace
from tests.machines import four_bar, turning
from tests.robots import own_urdfs

SECONDS = 0.4
STEPS = (4e-3, 2e-3, 1e-3)
TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)

FIXED = {  # integrator, method -> order
    ("rk4", "multipliers"): 4,
    ("rk4", "svd"): 4,
    ("rk4", "qr"): 4,
    ("rk4", "projection"): 4,
    ("newmark", "multipliers"): 2,
    ("hht", "multipliers"): 2,
    ("generalised_alpha", "multipliers"): 2,
    ("explicit_newmark", "multipliers"): 2,
    ("ab3", "multipliers"): 3,
    ("ab3", "qr"): 3,
}
ALONE = {"coordinates": "independent"}
FORMS = {  # of steps in the null space, with one matrix -> order on the closed loop
    "svd, z'": (NullSpace("svd", **ALONE), 4),
    "qr, z'": (NullSpace("qr", **ALONE), 4),
    "projection, z'": (NullSpace("projection", **ALONE), 4),
    "projection, z', as printed": (NullSpace("projection", form="printed", **ALONE), 1),
    "a kept matrix": (KeptMatrix(), 4),
    "a kept matrix, one correction": (KeptMatrix(1), 3),
}
VARIABLE = {  # integrator -> smallest and largest order of errors against the number of steps
    "abm": (5.5, 8.5),  # orders up to 7, chosen as it goes
    "scipy:RK23": (2.7, 3.3),
    "scipy:RK45": (4.5, 7.0),
    "scipy:DOP853": (7.0, 11.0),
    "scipy:Radau": (4.5, 6.0),
    "scipy:BDF": (4.5, 8.0),  # orders up to 5, chosen as it goes
    "scipy:LSODA": (5.0, 10.0),  # orders up to 12, chosen as it goes
}
MACHINES = ("four-bar (loop)", "iiwa (open)")


@cache
def machine(name: str) -> tuple[mbd.Mechanism, dict[str, Any], np.ndarray]:
    """Return a machine, its start, and its state after `SECONDS` with steps of 25 us."""
    if name == MACHINES[0]:
        found, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
        start = {"q": at.q, "v": at.v}
    else:
        found, start = mbd.load(own_urdfs()["kuka_iiwa"]), {"q": np.linspace(-0.5, 0.7, 7)}
    run = found.simulate(SECONDS, step=2.5e-5, every=16_000, **start)
    return found, start, np.concatenate(run.state())


def error(name: str, **options: Any) -> tuple[float, int]:
    """Return the error of the last state, rad and rad/s, and the number of steps."""
    found, start, exact = machine(name)
    run = found.simulate(SECONDS, **start, **options)
    return float(np.abs(np.concatenate(run.state()) - exact).max()), run.steps


def fixed(
    name: str, integrator: str | NullSpace | KeptMatrix, method: str = "multipliers"
) -> list[float]:
    """Return the orders observed as the step is halved."""
    options = {"integrator": integrator, "method": method, "every": 1000}
    errors = [error(name, step=h, **options)[0] for h in STEPS]
    return list(-np.diff(np.log2(errors)))


def variable(name: str, integrator: str) -> tuple[float, float]:
    """Return the order against the number of steps, and the power of the tolerance."""
    found = [error(name, step=SECONDS, integrator=integrator, tolerance=t) for t in TOLERANCES]
    errors, steps = np.log(np.array(found)).T
    power = np.polyfit(np.log(TOLERANCES), errors, 1)[0]
    return float(-np.polyfit(steps, errors, 1)[0]), float(power)


def main() -> None:
    """Print the tables."""
    for (integrator, method), order in FIXED.items():
        rows = [" ".join(f"{x:.2f}" for x in fixed(m, integrator, method)) for m in MACHINES]
        print(f"| {integrator} | {method} | {order} | {rows[0]} | {rows[1]} |")
    for form, (scheme, order) in FORMS.items():
        rows = [" ".join(f"{x:.2f}" for x in fixed(m, scheme)) for m in MACHINES]
        print(f"| rk4, compiled | {form} | {order} | {rows[0]} | {rows[1]} |")
    for integrator in VARIABLE:
        rows = ["{:.1f}, {:.2f}".format(*variable(m, integrator)) for m in MACHINES]
        print(f"| {integrator} | {rows[0]} | {rows[1]} |")


if __name__ == "__main__":
    main()
