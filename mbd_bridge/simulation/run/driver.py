"""Simulate a mechanism, with or without loops: from what is asked to a motion.

By default the steps are compiled (`run.compiled`); other methods and integrators are
run from Python (`reference.run`).

The options of a run, checked together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import file_path, flag, function_or_none
from mbd_bridge.base.errors import (
    FunctionError,
    SolveError,
    StateError,
    one_of,
    real_number,
    some,
    warn,
    whole_number,
)
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.states import StartStates
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.warnings import warn_left_out
from mbd_bridge.simulation.guards.energy import unbalanced
from mbd_bridge.simulation.guards.loops import first_open
from mbd_bridge.simulation.reference.integrators import INTEGRATORS, SCIPY
from mbd_bridge.simulation.reference.methods import METHODS
from mbd_bridge.simulation.reference.run import run_in_python
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.run.checkpoint import Checkpoint
from mbd_bridge.simulation.run.compiled import run_compiled
from mbd_bridge.simulation.run.events import Watch, check_watches
from mbd_bridge.simulation.run.lookout import Lookout, raised, with_events
from mbd_bridge.simulation.run.problem import (
    Correction,
    IntegratorName,
    MethodName,
    Problem,
    Records,
    RunOptions,
    check_correction,
    check_records,
    check_start,
    number_of_steps,
)
from mbd_bridge.simulation.run.variable import run_variable
from mbd_bridge.simulation.signals.parts import External, Torque
from mbd_bridge.simulation.signals.prescribed import Prescribed
from mbd_bridge.simulation.signals.signal import StateFunction
from mbd_bridge.simulation.start import check_inertia, dof, start_state
from mbd_bridge.simulation.steps.schemes import RK4, SCHEMES, ImplicitScheme, Scheme, scheme_name
from mbd_bridge.simulation.system import HasModel, System, model_of, system_of
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loop_values import LoopChecker
from mbd_bridge.solve.wrenches import Axes


def run_options(
    method: str,
    integrator: str | Scheme,
    tolerance: float,
    evaluations: int,
    correction: str,
    history: bool,
    kept: bool,
) -> RunOptions:
    """Return the options of a run, or say what does not go together."""
    one_of("method", method, METHODS, StateError)
    if isinstance(integrator, Scheme):
        name, scheme = scheme_name(integrator), integrator
    else:
        known = dict.fromkeys((*INTEGRATORS, *SCHEMES, *(f"scipy:{one}" for one in SCIPY)))
        name = one_of("integrator", integrator, known, StateError)
        scheme = SCHEMES.get(name, RK4)
    corrected, history = check_correction(correction), flag("history", history)
    tolerance = real_number("tolerance", tolerance, "a positive number", positive=True)
    options = RunOptions(method, name, tolerance, evaluations, corrected, history, scheme)
    if name not in INTEGRATORS and method != "projection":
        raise StateError(f"integrator={name!r} goes with method='projection' only")
    if history and (name not in INTEGRATORS or kept):
        ours = ", ".join(INTEGRATORS)
        raise StateError(f"history=True goes with integrator= one of {ours}, without checkpoint=")
    if correction != "state" and method == "projection":
        others = ", ".join(METHODS[1:])
        raise StateError(f"correction={correction!r} goes with method= one of {others}")
    return options


TOLERANCE = 1e-8
"""Error of a step that is allowed where steps are variable, relative and absolute."""

EVALUATIONS = 10_000
"""Evaluations of variable steps in a place that needs many: a second or two."""

PLAIN = RunOptions("projection", "rk4", TOLERANCE, EVALUATIONS)
"""Compiled steps."""

CHECKPOINT, CHECKPOINT_BY_HAND = 100_000, 2_000
"""Steps between checkpoints: compiled ones take a moment, others a second."""


def simulate(
    machine: HasModel | Model | System,
    duration: float,
    *,
    step: float = 1e-3,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    z: StartStates | None = None,
    torque: Torque = None,
    effort_limits: bool = False,
    external: External | None = None,
    external_in: Axes = "link",
    forces: Iterable[ForceElement] | None = None,
    prescribed: Mapping[str, Prescribed] | None = None,
    parameters: ParameterValues | None = None,
    inputs: Mapping[str, Any] | None = None,
    loads: Sequence[str] | str | None = None,
    outputs: Mapping[str, StateFunction] | None = None,
    method: MethodName = "projection",
    integrator: IntegratorName | Scheme = "rk4",
    tolerance: float = TOLERANCE,
    most_evaluations: int = EVALUATIONS,
    correction: Correction = "state",
    history: bool = False,
    every: int = 1,
    start: float = 0.0,
    check: bool = True,
    progress: Callable[[int], None] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    events: Mapping[str, Watch] | None = None,
) -> Simulation:
    """Return the motion of a mechanism from a state that satisfies its loops.

    Parameters
    ----------
    duration, step : s; the last step ends at start + duration
    q, v : state at the start; if not given, zero position and rest, or what is prescribed
        and the nearest to it that closes the loops
    z : states of force elements at the start, (nz,) or by name {"tyre.deflection": 0.01}; zero
        where none is given
    torque : generalised forces by velocity name, each a number, a formula of t ("5*sin(t)", see
        `formula`), a table (times, values) of any length with straight lines from row to row, which
        jumps where a time stands twice (steps end where it bends or jumps), or a function of
        (t, q, v); or a vector (nv,); or a function of (t, q, v) that returns one.
        Functions are traced, and so made of + - * / and those of `mbd_bridge.functions`; any other
        Python is called step by step as `mbd.Sampled(function)`; `mbd.Input(name)` is what
        `inputs` gives
    effort_limits : hold the forces of `torque` at the ``<limit effort>`` of the file; the motion's
        notes say where they are held, and without this option where they are beyond
    external : link name -> wrench that acts on it from outside, (6,): force (N), then moment (N m),
        at the origin of the link's frame; or a table (times, (n, 6)), a function of (t, q, v), a
        `Sampled` one, an `Input`. A function may ask `Mechanism.placement` and
        `Mechanism.velocity` where the link is and how it moves. The loads of the motion count
        these wrenches
    external_in : these are given in the axes of their "link" or of the "world"
    forces : force elements: springs, bushings, friction, stops, drag (see `mbd_bridge.forces`);
        None: those of the mechanism (`Mechanism.forces`), () none.
        `Simulation.force_elements` reports what they did
    prescribed : motions prescribed by coordinate name, whatever force they take: a number (0 locks
        the joint), a formula of t as a text or as a function made like that of the torque, or a
        table (times, values), through which a cubic spline goes. `Simulation.prescribed_forces` has
        the forces
    parameters : masses, lengths, gravity of this run by name (see `mechanism.parameters`), numbers
        of force elements, "spring.stiffness": the machine code is the same for all values
    inputs : what each `mbd.Input` of torque and external gets, whatever may be given there itself
    loads : joints, tree or cut, whose loads the steps tell while they run: `Simulation.loads`
    outputs : functions of (t, q, v) by name, traced into the step: `Simulation.outputs`
    method : "projection"; or, to compare, "svd" (LeeJoo90), "qr", "projection-reference"
        (KimYoo97), "multipliers" (Lee94), which are run from Python: some 1000 times slower
    integrator : "rk4" is compiled with the method projection, and so are the implicit "newmark",
        "hht" and "generalised_alpha" for stiff machines, and "explicit_newmark"; their numbers are
        given as `mbd.HHT(alpha=-0.1)` in place of the name. "ab3" has fixed steps; "abm" and
        SciPy's ("scipy:RK45", "scipy:LSODA", ...) choose their own, with records every
        `every` * `step` seconds
    tolerance : error of a step, relative and absolute, where steps are variable
    most_evaluations : of accelerations, beside 200 for each `step` seconds, where steps are
        variable: the run ends where it needs more, such as at dry friction
    correction : what is put back onto loops and prescribed motions after each step: "state",
        position and velocity; to compare, "velocity" or "none" (methods run from Python, our
        integrators): what stays open then drifts
    history : keep length, order and residual of every step in `Simulation.history` (our
        integrators, run from Python: some hundred microseconds a step)
    every : record every so many steps (the start and the end are always recorded)
    check : raise if the motion cannot be continued; False returns what there is, with a status
    progress : is called with the number of steps taken since the last call
    checkpoint, checkpoint_every : file that the run is kept in every so many steps, and from which
        it goes on if it is there, to the same digits. A file of anything else than this very
        problem is refused; functions are told by what they compute, so they must be traceable
    events : functions (t, q, v) -> number by name, any Python, looked at as records come;
        `Simulation.events` tells where they change their signs. One with an attribute
        ``terminal = True`` ends the motion there; one with an attribute ``action``, a function
        (t, q, v) -> (q, v), has it go on from the state that this returns (the time stands twice
        then); ``direction = 1`` or -1 minds only where it grows or falls
    """
    whole_number("most_evaluations", most_evaluations)
    numbers = tolerance, most_evaluations
    options = run_options(method, integrator, *numbers, correction, history, checkpoint is not None)
    steps, every = number_of_steps(duration, step), whole_number("every", every)
    duration = float(duration)
    start, check = check_start(start, duration / steps), flag("check", check)
    progress = function_or_none("progress", progress, "of the number of steps")
    events = check_watches("events", events)
    check_records(model_of(machine, "simulate"), steps, every)
    system = system_of(
        machine,
        start,
        start + duration,
        torque=torque,
        effort_limits=effort_limits,
        external=external,
        external_in=external_in,
        forces=forces,
        prescribed=prescribed,
        parameters=parameters,
        inputs=inputs,
        loads=loads,
        outputs=outputs,
    )
    model = system.model
    warn_left_out(model, system.replaced)
    if system.number > 1:
        listed = ", ".join(f"{name} for {count}" for name, count in system.numbers_of.items())
        raise StateError(
            f"simulate follows one trajectory ({listed}): mbd.simulate_batch takes many"
        )
    run = _Single(
        Trajectory(system),
        step,
        every,
        options,
        progress,
        _checkpoint(checkpoint, checkpoint_every, options, events),
    )
    states = system.states.start(z)[0]
    if events:
        found = with_events(run.part, events, start, duration, q, v, states)
    else:
        found = run.part(duration, q, v, states, start)
    return raised(found) if check else found


@dataclass(frozen=True)
class _Single:
    """How one trajectory is run, in one part or in several between events."""

    trajectory: Trajectory
    step: float
    every: int
    options: RunOptions = PLAIN
    progress: Callable[[int], None] | None = None
    checkpoint: Checkpoint | None = None

    def part(
        self,
        duration: float,
        q: ArrayLike | None,
        v: ArrayLike | None,
        z: Array,
        start: float,
        lookout: Lookout | None = None,
    ) -> Simulation:
        """Return the motion over a time, whatever its status."""
        trajectory, options = self.trajectory, self.options
        model, motions = trajectory.model, trajectory.motions
        steps = number_of_steps(duration, self.step)
        loops = LoopChecker(model) if model.has_loops else None
        q0, v0 = start_state(model, q, v, motions, start, loops)
        trajectory.try_at(start, q0, v0, z)
        left = dof(model, q0, motions, loops)
        if not left and motions is None:
            warn(
                f"{model.name!r} has no degree of freedom where it starts: its loops "
                f"({some([cut.name for cut in model.cuts], 5)}) hold everything, and nothing will "
                f"move. Remove one, or let one forbid less"
            )
        h = duration / steps
        knots = trajectory.system.knots(start, h, options.scheme)
        problem = Problem(trajectory, q0, v0, z, start, h, steps, self.every, loops, knots)
        found = _run(problem, options, self.progress, self.checkpoint, lookout)
        method = {"method": options.method, "integrator": options.integrator}
        facts = {**method, "dof": left, **found.facts}
        detours = int(facts.pop("detours", 0))
        return Simulation(
            trajectory,
            found.time,
            found.q,
            found.v,
            found.z,
            found.steps,
            problem.h,
            found.status,
            detours,
            facts,
            samples=found.samples,
            reported=found.reported,
            history=found.history,
        )


def simulate_one(
    trajectory: Trajectory,
    duration: float,
    state: tuple[Array, Array, Array],
    start: float,
    step: float,
    every: int,
    scheme: Scheme = RK4,
) -> Simulation:
    """Return the motion of one trajectory in compiled steps, whatever its status.

    Parameters
    ----------
    state : q, v, z at the start
    """
    options = PLAIN._replace(integrator=scheme_name(scheme), scheme=scheme)
    return _Single(trajectory, step, every, options).part(duration, *state, start)


def _checkpoint(
    path: str | PathLike[str] | None,
    steps: int | None,
    options: RunOptions,
    events: Mapping[str, Watch],
) -> Checkpoint | None:
    """Return where the run is kept every so many steps, None for nowhere."""
    if steps is None:
        steps = CHECKPOINT if options.compiled and options.scheme == RK4 else CHECKPOINT_BY_HAND
    apart = whole_number("checkpoint_every", steps)
    if path is None:
        return None
    if any(hasattr(watch, "action") for watch in events.values()):
        raise StateError("events that act do not go with checkpoint=")
    return Checkpoint(Path(file_path("checkpoint", path)), apart)


def _run(
    problem: Problem,
    options: RunOptions,
    progress: Callable[[int], None] | None,
    checkpoint: Checkpoint | None,
    lookout: Lookout | None,
) -> Records:
    """Run a problem by the method and integrator named."""
    kept = contextlib.nullcontext() if checkpoint is None else checkpoint.locked()
    with kept, np.errstate(over="ignore", invalid="ignore"):  # the status says it
        try:
            check_inertia(problem.model, problem.q, problem.motions)
            if options.compiled:
                found = _compiled(problem, options.scheme, progress, checkpoint, lookout)
            else:
                found = run_in_python(problem, options, progress, checkpoint, lookout)
        except (SolveError, FunctionError) as met:
            found = _not_begun(problem, str(met))
    if options.correction != "state":
        return found
    opened = first_open(problem.model, problem.loops, found.time, found.q, found.v)
    if opened is not None:
        found = found.until(max(0, opened[0] - 1), opened[1], problem)
    part, lost = unbalanced(problem.trajectory, found, problem.h, options.scheme)
    found.facts["balance"] = part
    if lost is None:
        return found
    last, why = lost
    if found.status != "finished":  # it is known already what was wrong
        why = found.status.partition(": ")[2]
    return found.until(last, why, problem)


def _compiled(
    problem: Problem,
    scheme: Scheme,
    progress: Callable[[int], None] | None,
    checkpoint: Checkpoint | None,
    lookout: Lookout | None,
) -> Records:
    """Run a problem in compiled steps."""
    if isinstance(scheme, ImplicitScheme) and scheme.tolerance is not None:
        if checkpoint is not None:
            raise StateError("checkpoint= goes with steps of fixed length, without tolerance=")
        return run_variable(problem, scheme, progress, lookout)
    return run_compiled(problem, progress, checkpoint, lookout, scheme)


def _not_begun(problem: Problem, message: str) -> Records:
    """Return the records of a motion that cannot take its first step."""
    status = f"stopped at t = {problem.start:.6g} s: {message}"
    start = np.array([problem.start]), problem.q[None], problem.v[None], problem.z[None]
    return Records(*start, 0, status, {})
