"""The machine code of steps of a system, where they start, and one step by itself or in parts.

step(q, v, t, h, ...) -> q, v, t, a, risks, what the system's outputs tell, risk. Steps of implicit
schemes and of explicit Newmark have the inputs and outputs of the Runge-Kutta step, but that t
carries a memory behind z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.expression import TracingError
from mbd_bridge.kernels.march import March, OneStep, compile_march
from mbd_bridge.kernels.tracing import Traceable, shared
from mbd_bridge.model import address
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import NONE, Acting, Numbers, instant_in_step, kernel_of
from mbd_bridge.simulation.guards.energy import energy_kernel
from mbd_bridge.simulation.signals.tables import length_to
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.detour import detour_of
from mbd_bridge.simulation.steps.explicit import (
    ExplicitNewmarkStep,
    explicit_start,
    explicit_step,
    memory_size,
    own_number,
)
from mbd_bridge.simulation.steps.implicit import ImplicitStep
from mbd_bridge.simulation.steps.kept_matrix import KeptMatrixMemory
from mbd_bridge.simulation.steps.memory import Begin, Memory
from mbd_bridge.simulation.steps.null_space import NullSpaceMemory
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.runge_kutta import (
    OF_A_SLOPE,
    Accelerated,
    After,
    Correct,
    Slope,
    corrections,
    runge_kutta_step,
    slopes,
    staged_step,
)
from mbd_bridge.simulation.steps.schemes import (
    RK4,
    ExplicitNewmark,
    ImplicitScheme,
    Integrator,
    KeptMatrix,
    NullSpace,
    Scheme,
    scheme_name,
)
from mbd_bridge.simulation.steps.trusted_step import (
    CARRIED,
    WORK,
    Now,
    Step,
    StepResult,
    carried,
    fed_back,
    taken,
    whole_risk,
)
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.tolerances import STEP_RISK

NO_MEMORY = Memory(0, True, 0, 0)
"""Of steps that begin with the state alone."""

Outputs = tuple[Array, ...]
"""q, v, t, a, risks, what the system's outputs tell, risk."""


def passage_of(
    trajectory: Trajectory,
    rows: tuple[int, ...],
    h: float,
    march: March | None = None,
    most_strayed: float = STEP_RISK,
) -> Passage:
    """Return the way past singular positions in compiled steps, of the march if there is one."""
    model, system = trajectory.model, trajectory.system
    step: Step
    traced = True
    try:
        step = one_step(trajectory, march or SystemStep.of(system, rows).march())
    except TracingError:  # the same step, state by state
        plain, traced = runge_kutta_step(model, rows, *trajectory.stage), False

        def step(now: Now, h: float) -> StepResult:
            return taken(plain(now.q, now.v, now.fed_back, np.array([h])))

    kernel = energy_kernel(model)

    def energy(q: Array, v: Array) -> float:
        return float(kernel(q, v)[0][0])

    slow = partial(ReferenceStep, model, trajectory.stage, rows)
    return Passage(model, step, h, slow, energy, traced, most_strayed, trajectory.rates)


def one_step(trajectory: Trajectory, march: March) -> Step:
    """Return the step of a march for one trajectory, of any length from any state."""
    once = OneStep(march)

    def step(now: Now, h: float) -> StepResult:
        t, q, v, _ = now
        given = [q, v, now.fed_back, np.array([h]), *trajectory.more(t, q, v)]
        return taken(once(*given, stream=trajectory.stream(np.array([t, t + h]), h)))

    return step


Streamed = Callable[[float, float, float], Array | None]
"""What is streamed into a step from one time to another, of the length h."""


def step_in_parts(
    march: March,
    stage: Array,
    start: float,
    knots: Sequence[float],
    h: float,
    numbers: Streamed,
    renew: Callable[[], None] | None = None,
) -> Array:
    """Take one step of h in parts; return which lanes (lanes,) have taken it.

    The others are where they were.

    Parameters
    ----------
    renew : is called between the parts, for steps with a memory
    """
    lanes, before = march.lanes, stage.copy()
    at, length = march.place_of("t"), march.place_of("h")
    nowhere = np.zeros((len(march.shapes), lanes), dtype=np.int64)
    took = np.ones(lanes, dtype=bool)
    a, end = start, start + h
    for b in (*knots, end):
        part = length_to(a, b)
        if renew is not None and a != start:
            renew()
        stage[at : at + lanes], stage[length : length + lanes] = a, part
        taken = march.advance_into(stage, 1, 2, nowhere, STEP_RISK, numbers(a, b, part))
        took &= march.steps_of(stage) > 0 if lanes > 1 else bool(taken)
        a = b
    stage[at : at + lanes], stage[length : length + lanes] = end, h
    size = sum(march.inputs.values()) * lanes
    columns, old = stage[:size].reshape(-1, lanes), before[:size].reshape(-1, lanes)
    columns[:, ~took] = old[:, ~took]
    return took


MOST_STEPS = 16
"""Steps that a system keeps, each with its machine code."""


class SystemStep:
    """The steps of a system by a scheme.

    Parameters
    ----------
    rows : independent rows of the loops
    velocity_rows : those of them that are constraints on velocities alone; None: the model's
    """

    def __init__(
        self,
        system: System,
        rows: tuple[int, ...],
        scheme: Scheme = RK4,
        velocity_rows: tuple[int, ...] | None = None,
    ) -> None:
        self.system, self.rows, self.scheme = system, rows, scheme
        self.basis: NullSpaceMemory | None = None
        self._name = str(scheme)
        if isinstance(scheme, NullSpace):
            if rows or system.prescribed:
                self.basis = NullSpaceMemory(system, rows, scheme)
            scheme = scheme.integrator
        self._remembering: ImplicitStep | ExplicitNewmarkStep | None = None
        self.implicit = isinstance(scheme, ImplicitScheme)
        if isinstance(scheme, ImplicitScheme):
            if velocity_rows is None:
                velocity_rows = tuple(row for row in rows if system.model.velocity_rows[row])
            self._name = f"{self._name} {velocity_rows}"
            self._remembering = ImplicitStep(system, rows, scheme, velocity_rows, self.basis)
        elif isinstance(scheme, ExplicitNewmark):
            self._remembering = ExplicitNewmarkStep(system, rows)
        self.memory = NO_MEMORY if self._remembering is None else self._remembering.memory
        self._formula = scheme if isinstance(scheme, Integrator) and scheme != RK4 else None
        if self._formula is not None:
            self._name = f"{self._name} formula {own_number(self._formula)}"
            size = memory_size(self._formula, system.model.nq + system.model.nv + system.nz)
            self.memory = Memory(0, True, 0, size)
        self.matrix: KeptMatrixMemory | None = None
        if isinstance(scheme, KeptMatrix):
            self.matrix = KeptMatrixMemory(system, rows, scheme)
        self.beside = self.matrix if self.basis is None or self.implicit else self.basis
        if self.beside is not None:
            self.memory = Memory(0, True, 0, self.beside.size)

    @staticmethod
    def of(system: System, rows: tuple[int, ...], scheme: Scheme = RK4) -> SystemStep:
        """Return the steps of a system, which are kept with it, and with them their code."""
        step: SystemStep | None = system.kept.get((rows, scheme))
        if step is None:
            if len(system.kept) >= MOST_STEPS:
                system.kept.clear()
            step = system.kept[rows, scheme] = SystemStep(system, rows, scheme)
        return step

    @cached_property
    def _marches(self) -> dict[int, March]:
        return {}

    @property
    def fed_back(self) -> dict[str, int]:
        """What a step gives to the next one; see `trusted_step`."""
        return fed_back(self.system.model, self.system.nz, self.memory.size)

    def traceable(self) -> tuple[Traceable, dict[str, int]]:
        """Return the step, of floats or symbols, and the sizes of its inputs.

        t holds the time, the work that has been done, states of force elements and the memory (see
        `trusted_step`); the further inputs are those of `System.more`.
        """
        sizes = self.fed_back | {"h": 1} | self.system.more
        if self._remembering is None:
            return self._runge_kutta, sizes
        return partial(self._with_memory, self._remembering), sizes

    def _inputs(self, rest: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        """Return p, held and stream."""
        given = dict(zip(self.system.more, rest, strict=True))
        p, held, stream = (given.get(name, NONE) for name in ("p", "held", "stream"))
        return p, held, stream

    def _runge_kutta(self, q: Array, v: Array, t: Array, h: Array, *rest: Array) -> Outputs:
        system, rows, asked = self.system, self.rows, self.system.outputs
        p, held, stream = self._inputs(rest)
        basis, matrix, memory = self.basis, self.matrix, NONE
        after: After | None = None
        if self.beside is not None:
            t, memory = np.split(t, [len(t) - self.memory.size])

        def slope_at(
            numbers: Numbers, q: Array, v: Array, t: Any, z: Array
        ) -> tuple[Array, Accelerated, Any, Array]:
            acting = numbers.acting(system)
            solve: Callable[..., Any] | None = None
            if basis is not None:
                solve = partial(closed_acceleration, by=basis.solver(numbers.basis))
                v = basis.velocity(numbers, acting, q, v, t)
            return slopes(acting.model, rows, *acting.stage(), solve)(q, v, t, z)

        def correct_at(
            numbers: Numbers, q: Array, v: Array, t: Any, near: Accelerated
        ) -> tuple[Array, Array, Any, Any]:
            acting = numbers.acting(system)
            return corrections(acting.model, rows, acting.stage().motions)(q, v, t, near)

        used = NONE if basis is None else memory
        at = [Numbers(p, held, instant_in_step(system, stream, k), used) for k in range(3)]
        if basis is not None:
            after = partial(basis.after, at[2])
        first, slope = at[0].acting(system), shared(slope_at)
        slopes_at: tuple[Slope, Slope, Slope]
        slopes_at = partial(slope, at[0]), partial(slope, at[1]), partial(slope, at[2])
        correct: Correct = partial(shared(correct_at, OF_A_SLOPE), at[2])
        if matrix is not None:
            slopes_at, judged, after = matrix.slopes(slope, at, memory, h)
            correct = judged(correct)
        begun, report = v, None
        if basis is not None:
            begun = basis.begun(memory, v)
        if asked is not None:

            def report(q: Array, _: Array, t: Array, one: Any, beside: Outputs) -> Outputs:
                return asked.values(first, rows, q, v, t, one, beside)

        if self._formula is not None:
            given = slopes_at, correct, system.nz, bool(system.layout.sizes[1])
            step = explicit_step(self._formula, first.model, *given, report, after)
        else:
            step = staged_step(first.model, slopes_at, correct, report, after)
        return step(q, begun, t, h)

    def _with_memory(
        self,
        step: ImplicitStep | ExplicitNewmarkStep,
        q: Array,
        v: Array,
        t: Array,
        h: Array,
        *rest: Array,
    ) -> Outputs:
        system, nz, asked = self.system, self.system.nz, self.system.outputs
        p, held, stream = self._inputs(rest)
        z, memory, last = carried(t)[:nz], carried(t)[nz:], zeros(1, t, h)
        last[0] = t[0] + h[0]
        instant = instant_in_step(system, stream, 2)
        q_end, v_end, z_end, memory_end, work, risks = step(
            Begin(q, v, z, memory, last, h, p, held, instant)
        )
        end = zeros(len(t), t, h)
        end[0], end[WORK] = last[0], t[WORK] + work
        end[CARRIED:] = np.concatenate([z_end, memory_end])
        a = self.memory.acceleration(memory)[: system.model.nv]
        reported: Outputs = ()
        if asked is not None:
            first = Numbers(p, held, instant_in_step(system, stream, 0)).acting(system)
            closed = slopes(first.model, self.rows, *first.stage())(q, v, t[0], z)[1]
            state, beside = (q, v, t[: CARRIED + nz]), (q_end, v_end, end)
            reported = asked.values(first, self.rows, *state, closed, beside)
        return q_end, v_end, end, a, risks, *reported, whole_risk(risks)

    @property
    def _passes(self) -> bool:
        """Whether machine code can lead the step past singular positions."""
        system = self.system
        called = system.sampled or "stream" in system.more
        return bool(self.rows) and not (called or self.scheme.remembers or self.beside is not None)

    def march(self, lanes: int = 1) -> March:
        """Return the machine code, kept with the mechanism where it has an address.

        It leads past singular positions where it can, and where it is to (see `detour.Passing`).
        """
        if lanes not in self._marches:
            self._marches[lanes] = self._shared(lanes)
        return self._marches[lanes]

    def _shared(self, lanes: int) -> March:
        key = self.identity(lanes)
        if key is None:
            return self._compiled(lanes, None)
        return self.system.prepared.get(key, lambda: self._compiled(lanes, self.told(key)))

    def identity(self, *more: object) -> str | None:
        """Return what tells machine code of the step from other's; None where only its graph does.

        Parameters
        ----------
        more : what the code is of beside the step
        """
        own = self.system.step_identity
        if own is None:
            return None
        return address(self.system.model, self._name, *more, self.rows, own)

    def told(self, identity: str | None) -> str | None:
        """Return the same for code that is kept on disk: of a user's formula its graph tells."""
        return identity if self._formula is None else None

    def _compiled(self, lanes: int, key: str | None) -> March:
        system = self.system
        step, inputs = self.traceable()
        detour = detour_of(system, inputs) if self._passes else None
        return compile_march(
            step,
            inputs,
            len(self.fed_back),
            name="step",
            identity=key,
            lanes=lanes,
            streamed="stream" in inputs,
            unrecorded=self.memory.size,
            detour=detour,
        )

    def start(self, acting: Acting, q: Array, v: Array, t: Any, z: Array) -> Array:
        """Return what `begun` makes the memory of a motion of that begins at a state."""
        if self.beside is not None:
            return self.beside.start(acting, q)
        if self._formula is not None:
            slope = slopes(acting.model, self.rows, *acting.stage())
            return explicit_start(self._formula, acting.model, slope, q, v, t, z)
        if self._remembering is None:
            return NONE
        start = self._remembering.start(acting, q, v, t, z)
        if self.basis is None:
            return start
        return np.concatenate([start[: self._own], self.basis.start(acting, q)])

    def begun(self, start: Array, before: Array | None = None) -> Array:
        """Return memories from what the kernel of the start gives: of bases by LAPACK.

        Parameters
        ----------
        before : a memory that goes on
        """
        kept, own = self.basis or self.beside, self._own
        if kept is None:
            return start
        before = None if before is None or not len(before) else before[own:]
        return np.concatenate([start[..., :own], kept.first(start[..., own:], before)], axis=-1)

    @property
    def _own(self) -> int:
        """Numbers of an implicit step in front of those of a basis."""
        return self.memory.size - self.memory.kept if self.implicit else 0

    @cached_property
    def start_kernel(self) -> Kernel:
        """The kernel of the memory with which a motion begins: see `acts.kernel_of`."""

        def function(*state: Any) -> tuple[Array, ...]:
            return (self.start(*state),)

        what = None if self._formula is not None else (self.rows, self._name)
        return kernel_of(self.system, function, ("memory",), "start", what)


class Start:
    """The memory of one trajectory where a motion begins, or where forces have jumped.

    Attributes
    ----------
    implicit, explicit : whether the scheme iterates; its name if not
    makes_memory : whether steps begin with more than the state
    remembers : whether a memory begins anew where forces jump
    beside : what steps in a null space, or with a kept matrix, keep
    """

    def __init__(self, trajectory: Trajectory, step: SystemStep) -> None:
        self.implicit = step.implicit
        self.explicit = None if self.implicit else scheme_name(step.scheme)
        self._trajectory, self._memory, self._step = trajectory, step.memory, step
        self.beside = step.beside
        self.remembers, self._nz = step.scheme.remembers, step.system.nz
        self._kernel = step.start_kernel if step.memory.size else None
        self.makes_memory = self._kernel is not None
        # a user's memory is of steps of one length, with one kind of forces
        self._anew = isinstance(step.scheme, Integrator)

    def begun(self, now: Now, before: Now | None = None) -> Now:
        """Return a state with the memory of a motion that begins there.

        Parameters
        ----------
        before : a state with a memory; directions of a basis go on from there, if not from `now`
        """
        if self._kernel is None:
            return now
        z, memory = np.split(now.carried, [self._nz])
        if before is not None:
            memory = before.carried[self._nz :]
        (start,) = self._kernel(now.q, now.v, *self._trajectory.now(now.t, now.q, now.v, z))
        memory = self._step.begun(start, memory if len(memory) else None)
        return now._replace(carried=np.concatenate([z, memory]))

    def bare(self, now: Now) -> Now:
        """Return a state without what is kept beside, for steps past singular positions."""
        return now if self.beside is None else now._replace(carried=now.carried[: self._nz])

    def behind(self, now: Now, before: Now, anew: bool) -> Now:
        """Return a bare state on the way past a singular position with what is kept beside.

        Parameters
        ----------
        before : the state before that, with a memory
        anew : whether steps go on from there, so that it is decomposed
        """
        if self.beside is None:
            return now
        if anew:
            return self.begun(now, before)
        return now._replace(carried=np.concatenate([now.carried, before.carried[self._nz :]]))

    def counted(self, now: Now) -> dict[str, int]:
        """Return how often constraints have been decomposed, or matrices factorised, where kept."""
        step, memory = self._step, now.carried[self._nz :]
        if step.basis is None and self.beside is None:
            return {}
        kind = "factorisations" if step.basis is None else "decompositions"
        return {kind: int(memory[-step.basis.size if step.basis else 0])}

    def jacobians(self, now: Now) -> int | None:
        """Return how many Jacobians have been formed since memories began; None: one a step."""
        factors = self._memory.factors(now.carried[self._nz :])
        return int(factors[0]) if len(factors) and self._step.basis is None else None

    def like(self, now: Now, other: Now) -> Now:
        """Return a state with its memory, in which a is beside q̈ by what it is in another one.

        It has the other one's factors of Newton's matrix.
        """
        if self._anew:
            return self.begun(now)
        memory = self._memory.like(now.carried[self._nz :], other.carried[self._nz :])
        return now._replace(carried=np.concatenate([now.carried[: self._nz], memory]))

    def stretched(self, now: Now, ratio: float) -> Now:
        """Return a state with the memory for steps that are longer by this ratio."""
        if self._anew:
            return self.begun(now)
        memory: Any = self._memory.stretched(now.carried[self._nz :], ratio)
        return now._replace(carried=np.concatenate([now.carried[: self._nz], memory]))


def independent_velocities(trajectory: Trajectory, places: Sequence[Now]) -> Array:
    """Return z' = V2ᵀ q' (K, dof) along a motion (LeeJoo90 (45)), without dimension.

    V2 is decomposed at each place, and turned as little as can be from one to the next.
    """
    first, system = places[0], trajectory.system
    rows = independent_rows(trajectory.model, first.q, trajectory.motions, first.v)
    step = SystemStep(system, rows, NullSpace("svd"))
    if step.basis is None:
        return np.array([now.v / trajectory.model.velocity_scale for now in places])
    start, found, last = Start(trajectory, step), [], None
    for now in places:
        last = start.begun(now, last)
        found.append(step.basis.independent(last.carried[system.nz :], now.v))
    return np.array(found)


class Continued:
    """The memory where the last step ended, and for which forces."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self._last: Now | None = None
        self._held = np.zeros(0)

    def at(self, now: Now, held: Array, jumps: bool = False) -> Now:
        """Return a state, without memory, with that of the step that begins there.

        Parameters
        ----------
        held : what is held during the step
        jumps : whether a table of forces jumps there
        """
        last, before = self._last, self._held
        self._held = held.copy()
        if last is None or jumps or not _same(last, now):
            return self.start.begun(now)
        if np.array_equal(before, held):
            return now._replace(carried=last.carried)
        return self.start.like(self.start.begun(now), last)

    def reached(self, now: Now) -> None:
        """Keep the end of a step, with its memory."""
        self._last = now


def _same(last: Now, now: Now) -> bool:
    z = last.carried[: len(now.carried)]
    pairs = (last.q, now.q), (last.v, now.v), (z, now.carried)
    return all(np.array_equal(one, other) for one, other in pairs)
