"""Explicit steps of a system: an integrator that is a formula, whoever wrote it, and Newmark's.

Of a formula (`schemes.Integrator`)

    x = (q, v, z, work),   x' = f(c, x) = (q̇, q̈, ż, power) after the part c of the step

The end is put onto the constraints as that of a Runge-Kutta step, with the factors of the last
rate. The step has crossed a singular position if one lies between its first and its last rate, as
the one in the middle tells.

Explicit Newmark, β = 0, γ = 1/2, as Cho09 compares it with the implicit one:

    q' = q ⊕ (h v + h²/2 q̈),   q̈', ż' at (q', v + h q̈, z + h ż)
    v' = v + h/2 (q̈ + q̈'),     z' = z + h/2 (ż + ż')

Its end is put onto the constraints with the factors of q̈'. What it hands on, its memory, is q̈ and
ż, and the power P of what acts, for the work h (P + P') / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.steps.implicit import moved
from mbd_bridge.simulation.steps.memory import Begin, Memory
from mbd_bridge.simulation.steps.runge_kutta import (
    Accelerated,
    After,
    Correct,
    Slope,
    corrections,
    crossed,
    normalised,
    projected,
    slopes as slopes_of,
)
from mbd_bridge.simulation.steps.schemes import Integrator, scheme_name
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, whole_risk
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.tolerances import UNCLOSED_RISK

PARTS = (0.0, 0.5, 1.0)
"""Of a step, after which tables of forces and of motions are known."""

FEWEST = 2
"""StepRates beside the first one that tell whether a step has crossed a singular position."""


class StepRates:
    """The rates x' of a step, and what is known of the places at which they were taken.

    Parameters
    ----------
    slopes : at the start, in the middle and at the end of the step
    tables : whether some of what acts or moves is known at these times only
    """

    def __init__(
        self, model: Model, slopes: tuple[Slope, Slope, Slope], tables: bool, t: Any, h: Any
    ) -> None:
        self._ends = model.nq, model.nq + model.nv
        self._slopes, self._tables, self._t, self._h = slopes, tables, t, h
        self.closed: list[Accelerated] = []
        self._known: tuple[Array, Array] | None = None

    def begin(self, x: Array) -> None:
        """Take the rate at the start: it is reported, and known if the formula asks for it."""
        self._known = x, self(0.0, x)

    def __call__(self, c: float, x: Array) -> Array:
        """Return x'."""
        if self._known is not None and c == 0.0 and x is self._known[0]:
            return self._known[1]
        if c not in PARTS and self._tables:
            raise StateError(
                f"integrator: f({c!r}, x): tables are known at the start, in the middle and at the "
                f"end of a step: f(0.0, x), f(0.5, x), f(1.0, x). Give formulas of t in place of "
                f"tables, or take another integrator"
            )
        slope = self._slopes[PARTS.index(c) if c in PARTS else 1]
        q, v, z = np.split(x[:-1], self._ends)
        time = self._t if c == 0.0 else self._t + c * self._h
        dq, closed, power, dz = slope(q, v, time, z if len(z) else NO_STATES)
        self.closed.append(closed)
        rate = zeros(len(x), q, v, z, closed.a)
        rate[:-1] = np.concatenate([dq, closed.dv, dz])
        rate[-1] = power
        return rate


_numbers: dict[Integrator, int] = {}


def own_number(scheme: Integrator) -> int:
    """Return a number that no other formula of this process has: names do not tell them apart."""
    return _numbers.setdefault(scheme, len(_numbers))


def memory_size(scheme: Integrator, states: int) -> int:
    """Return the numbers in the memory of motions with so many states q, v, z."""
    if not scheme.remembers:
        return 0
    return len(scheme.start(lambda c, x: np.zeros_like(x), np.zeros(states + 1)))


def explicit_start(
    scheme: Integrator, model: Model, slope: Slope, q: Array, v: Array, t: Any, z: Array
) -> Array:
    """Return the memory of a motion that begins at a state."""
    x = zeros(len(q) + len(v) + len(z) + 1, q, v, z)
    x[:-1] = np.concatenate([q, v, z])
    return scheme.start(StepRates(model, (slope,) * 3, True, t, 0.0), x)


def explicit_step(
    scheme: Integrator,
    model: Model,
    slopes: tuple[Slope, Slope, Slope],
    correct: Correct,
    nz: int,
    tables: bool,
    report: Callable[..., tuple[Array, ...]] | None = None,
    after: After | None = None,
) -> Callable[..., tuple[Array, ...]]:
    """Return step(q, v, t, h) of a scheme, as `runge_kutta.staged_step` does."""

    def step(q: Array, v: Array, t: Array, h: Array) -> tuple[Array, ...]:
        states, nq, end = len(q) + len(v) + nz, len(q), zeros(len(t), t, h)
        last = t[0] + h[0]
        x, memory = zeros(states + 1, q, v, t), t[CARRIED + nz :]
        x[:-1] = np.concatenate([q, v, t[CARRIED : CARRIED + nz]])
        x[-1] = t[WORK]
        f = StepRates(model, slopes, tables, t[0], h[0])
        f.begin(x)
        x_end, memory = scheme.step(f, x, h[0], memory)
        if np.shape(x_end) != x.shape or len(memory) != len(t) - CARRIED - nz:
            raise StateError(
                f"integrator: {scheme_name(scheme)}.step: expected x of shape {x.shape} and a "
                f"memory of {len(t) - CARRIED - nz} numbers, got {np.shape(x_end)} and "
                f"{len(memory)}"
            )
        first, *others = f.closed
        near = others[-1] if others else first
        q_end, v_end = normalised(model, x_end[:nq]), x_end[nq : nq + len(v)]
        q_end, v_end, left, strayed = projected(correct, q_end, v_end, last, near)
        risks = zeros(3, q, v)
        total = sum((one.risk for one in others), first.risk)
        over: Any = 0.0
        if len(others) >= FEWEST:
            over = crossed(first, others[(len(others) - 1) // 2], near)
        risks[0], risks[1], risks[2] = total, over + left * UNCLOSED_RISK, strayed
        end[0], end[WORK] = last, x_end[-1]
        end[CARRIED:] = np.concatenate([x_end[nq + len(v) : -1], memory])
        if after is not None:
            end = np.concatenate([end, after(q_end, v_end, last, near)])
        reported = () if report is None else report(q, v, t, first, (q_end, v_end, end))
        return q_end, v_end, end, first.a, risks, *reported, whole_risk(risks)

    return step


class ExplicitNewmarkStep:
    """One step of a system by explicit Newmark.

    Parameters
    ----------
    rows : independent rows of the loops
    """

    def __init__(self, system: System, rows: Sequence[int]) -> None:
        self.system, self.rows = system, tuple(rows)
        self.memory = Memory(system.model.nv + system.nz, True, 0, 1)

    def start(self, acting: Acting, q: Array, v: Array, t: Any, z: Array) -> Array:
        """Return the memory of a motion that begins at a state."""
        _, found, power, dz = slopes_of(acting.model, self.rows, *acting.stage())(q, v, t, z)
        return self._memory(np.concatenate([found.a, dz]), power)

    def __call__(self, begin: Begin) -> tuple[Array, Array, Array, Array, Any, Array]:
        """Return q', v', z', the memory, the work of the step, J, and its risks (3,).

        Risks : of being near a singular position, of having come off the loops; the square of what
        the first correction took back.
        """
        acting, nv = begin.acting(self.system), self.system.model.nv
        model, stage, h = acting.model, acting.stage(), begin.h[0]
        a = self.memory.acceleration(begin.memory)
        q = moved(model, begin.q, h * begin.v + (0.5 * h * h) * a[:nv])
        far = h * a
        _, found, power, dz = slopes_of(model, self.rows, *stage)(
            q, begin.v + far[:nv], begin.t[0], begin.z + far[nv:]
        )
        after = np.concatenate([found.a, dz])
        change = (0.5 * h) * (a + after)
        v, correct = begin.v + change[:nv], corrections(model, self.rows, stage.motions)
        q, v, left, strayed = projected(correct, q, v, begin.t[0], found)
        work = (0.5 * h) * (self.memory.force(begin.memory)[0] + power)
        risks = zeros(3, begin.q, begin.v)
        risks[0], risks[1], risks[2] = found.risk, left * UNCLOSED_RISK, strayed
        return q, v, begin.z + change[nv:], self._memory(after, power), work, risks

    def _memory(self, a: Array, power: Any) -> Array:
        last = zeros(1, a)
        last[0] = power
        return self.memory.packed(a, a, np.zeros(0), last)
