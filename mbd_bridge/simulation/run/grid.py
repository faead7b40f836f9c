"""The times of a run: its steps and records, checked before the first one is taken."""

from __future__ import annotations

from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.model import Model
from mbd_bridge.simulation.run.problem import MOST_BYTES

MOST_STEPS = 200_000_000
"""A simulation of more steps is refused as a slip of the pen."""


def check_records(model: Model, steps: int, every: int) -> None:
    """Refuse more records than fit into memory, before the first step."""
    records = steps // every + 2
    needed = 2 * 8 * records * (1 + model.nq + 2 * model.nv)  # time, q, v, a; twice as they join
    if needed > MOST_BYTES:
        raise StateError(
            f"{records} records of {steps} steps need {needed / 2**30:.0f} GiB, more than "
            f"{MOST_BYTES / 2**30:.0f}; record less often, such as every={steps // 10**5}, or "
            f"simulate in parts"
        )


def check_start(start: float, h: float) -> float:
    """Return the start; refuse one from which no step of h seconds leads anywhere."""
    start = real_number("start", start, "a number of seconds")
    if start + h == start:
        raise StateError(f"start: t = {start:g} s and a step of {h:g} s later are the same number")
    return start


def number_of_steps(duration: float, step: float) -> int:
    """Return the steps, of about the length asked for, that make up the whole duration."""
    for name, value in (("duration", duration), ("step", step)):
        real_number(name, value, "a positive number of seconds", positive=True)
    steps = max(1, round(min(duration / step, 1e18)))
    if steps > MOST_STEPS:
        raise StateError(
            f"{steps:.3g} steps of {step:g} s are more than {MOST_STEPS:,}; choose a longer "
            f"step, or simulate in parts"
        )
    return steps
