"""Steps of implicit schemes, and of explicit Newmark, for a system: their machine code, its start.

step(q, v, t, h, ...) -> q, v, t, a, risks, what the system's outputs tell, risk: inputs and outputs
are those of the Runge-Kutta step (`steps.compiled`), but that t carries a memory behind z.

One step of explicit Newmark, β = 0, γ = 1/2, as Cho09 compares it with the implicit one.

    q' = q ⊕ (h v + h²/2 q̈),   q̈', ż' at (q', v + h q̈, z + h ż)
    v' = v + h/2 (q̈ + q̈'),     z' = z + h/2 (ż + ż')

The end is put onto the constraints as that of a Runge-Kutta step, with the factors of q̈'. What it
hands on, its memory, is q̈ and ż, and the power P of what acts, for the work h (P + P') / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.kernels.run.march import March, compile_march
from mbd_bridge.model import digest
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acting import Acting, instant_in_step, kernel_of
from mbd_bridge.simulation.carried import CARRIED, WORK, carried, fed_back
from mbd_bridge.simulation.singular.trust import Now
from mbd_bridge.simulation.steps.compiled import NONE, Numbers
from mbd_bridge.simulation.steps.implicit import ImplicitStep, moved
from mbd_bridge.simulation.steps.memory import Begin, Memory
from mbd_bridge.simulation.steps.runge_kutta import corrections, projected, slopes
from mbd_bridge.simulation.steps.schemes import ImplicitScheme, Scheme
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import STRAYED_RISK, UNCLOSED_RISK


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
        _, found, power, dz = slopes(acting.model, self.rows, *acting.stage())(q, v, t, z)
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
        _, found, power, dz = slopes(model, self.rows, *stage)(
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


class SchemeStep:
    """The steps of a scheme for a system.

    Parameters
    ----------
    rows : independent rows of the loops
    velocity_rows : those of them that are constraints on velocities alone; None: the model's
    """

    def __init__(
        self,
        system: System,
        rows: tuple[int, ...],
        scheme: Scheme,
        velocity_rows: tuple[int, ...] | None = None,
    ) -> None:
        self.system, self.rows, self.scheme = system, rows, scheme
        if velocity_rows is None:
            velocity_rows = tuple(row for row in rows if system.model.velocity_rows[row])
        self._name = f"{scheme} {velocity_rows}"
        self._one: ImplicitStep | ExplicitNewmarkStep
        if isinstance(scheme, ImplicitScheme):
            self._one = ImplicitStep(system, rows, scheme, velocity_rows)
        else:
            self._one = ExplicitNewmarkStep(system, rows)
        self.memory = self._one.memory

    @property
    def fed_back(self) -> dict[str, int]:
        """What a step gives to the next one; see `carried`."""
        return fed_back(self.system.model, self.system.nz, self.memory.size)

    def traceable(self) -> tuple[Traceable, dict[str, int]]:
        """Return the step, of floats or symbols, and the sizes of its inputs."""
        system, one = self.system, self._one
        more, nz, asked = list(system.more), system.nz, system.outputs

        def step(q: Array, v: Array, t: Array, h: Array, *rest: Array) -> tuple[Array, ...]:
            own = dict(zip(more, rest, strict=True))
            p, held, stream = (own.get(name, NONE) for name in ("p", "held", "stream"))
            z, memory, last = carried(t)[:nz], carried(t)[nz:], zeros(1, t, h)
            last[0] = t[0] + h[0]
            instant = instant_in_step(system, stream, 2)
            found = one(Begin(q, v, z, memory, last, h, p, held, instant))
            q_end, v_end, z_end, memory_end, work, risks = found
            end, risk = zeros(len(t), t, h), zeros(1, t, h)
            end[0], end[WORK] = last[0], t[WORK] + work
            end[CARRIED:] = np.concatenate([z_end, memory_end])
            strayed = STRAYED_RISK * (risks[0] * risks[0] * risks[0]) * risks[2]
            risk[0] = risks[0] + risks[1] + strayed
            a = self.memory.acceleration(memory)[: system.model.nv]
            reported: tuple[Array, ...] = ()
            if asked is not None:
                first = Numbers(p, held, instant_in_step(system, stream, 0)).acting(system)
                there = slopes(first.model, self.rows, *first.stage())(q, v, t[0], z)[1]
                plain = t[: CARRIED + nz]
                reported = asked.values(first, self.rows, q, v, plain, there)
            return q_end, v_end, end, a, risks, *reported, risk

        return step, self.fed_back | {"h": 1} | system.more

    def march(self, lanes: int = 1) -> March:
        """Return the machine code, kept with the mechanism where it has an address."""
        identity = self.system.step_identity
        if identity is None:
            return self._compiled(lanes, None)
        key = f"{self._name} {lanes} {self.rows} {identity}"
        address = f"{digest(self.system.model)} {key}"
        return self.system.prepared.get(key, lambda: self._compiled(lanes, address))

    def _compiled(self, lanes: int, identity: str | None) -> March:
        step, inputs = self.traceable()
        return compile_march(
            step,
            inputs,
            len(self.fed_back),
            name="step",
            identity=identity,
            lanes=lanes,
            streamed="stream" in inputs,
            unrecorded=self.memory.size,
        )

    def start(self, acting: Acting, q: Array, v: Array, t: Any, z: Array) -> Array:
        """Return the memory of a motion that begins at a state, of floats or symbols."""
        return self._one.start(acting, q, v, t, z)

    def start_kernel(self) -> Kernel:
        """Return the kernel of the memory with which a motion begins: see `acting.kernel_of`."""

        def of(acting: Callable[[Array, Array], Acting]) -> Traceable:
            def function(
                q: Array, v: Array, t: Array, held: Array, now: Array
            ) -> tuple[Array, ...]:
                return (self.start(acting(held, now), q, v, t[0], t[1:]),)

            return function

        return kernel_of(self.system, of, ("memory",), "start", f"{self.rows} {self._name}")


class Start:
    """The memory of one trajectory where a motion begins, or where forces have jumped.

    Attributes
    ----------
    implicit : whether the scheme iterates
    """

    def __init__(self, trajectory: Trajectory, step: SchemeStep) -> None:
        self.implicit = isinstance(step.scheme, ImplicitScheme)
        self._trajectory, self._memory = trajectory, step.memory
        self._kernel, self._nz = step.start_kernel(), step.system.nz

    def begun(self, now: Now) -> Now:
        """Return a state with the memory of a motion that begins there."""
        z = now.carried[: self._nz]
        (memory,) = self._kernel(now.q, now.v, *self._trajectory.now(now.t, now.q, now.v, z))
        return now._replace(carried=np.concatenate([z, memory]))

    def jacobians(self, now: Now) -> int | None:
        """Return how many Jacobians have been formed since memories began; None: one a step."""
        factors = self._memory.factors(now.carried[self._nz :])
        return int(factors[0]) if len(factors) else None

    def like(self, now: Now, other: Now) -> Now:
        """Return a state with its memory, in which a is beside q̈ by what it is in another one.

        It has the other one's factors of Newton's matrix.
        """
        memory = self._memory.like(now.carried[self._nz :], other.carried[self._nz :])
        return now._replace(carried=np.concatenate([now.carried[: self._nz], memory]))

    def stretched(self, now: Now, ratio: float) -> Now:
        """Return a state with the memory for steps that are longer by this ratio."""
        memory: Any = self._memory.stretched(now.carried[self._nz :], ratio)
        return now._replace(carried=np.concatenate([now.carried[: self._nz], memory]))
