"""Simulate a mechanism, with or without loops: from what is asked to a motion.

By default the steps are compiled (`run.compiled`); other methods and integrators are
run from Python (`reference.run`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

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
from mbd_bridge.base.extensions import extensions
from mbd_bridge.base.options import part, with_options
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.energy import unbalanced
from mbd_bridge.simulation.guards.loops import first_open
from mbd_bridge.simulation.options import MethodOptions, SingleOptions
from mbd_bridge.simulation.outcome import Outcome
from mbd_bridge.simulation.reference.integrators import INTEGRATORS, SCIPY
from mbd_bridge.simulation.reference.run import PythonRun
from mbd_bridge.simulation.results.simulation import Simulation
from mbd_bridge.simulation.run.checkpoint import Checkpoint
from mbd_bridge.simulation.run.compiled import CompiledRun, VariableRun
from mbd_bridge.simulation.run.events import Watch, check_watches
from mbd_bridge.simulation.run.lookout import Lookout, raised, with_events
from mbd_bridge.simulation.run.problem import (
    Problem,
    Records,
    SolutionMethod,
    check_correction,
    check_records,
    check_start,
    number_of_steps,
)
from mbd_bridge.simulation.run.time_loop import MotionRun, march
from mbd_bridge.simulation.start import check_inertia, rows_and_dof, start_state
from mbd_bridge.simulation.steps.schemes import (
    METHODS,
    RK4,
    SCHEMES,
    Integrator,
    NullSpace,
    Scheme,
    scheme_name,
    scheme_of,
    with_method,
)
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker


def solution_method(options: MethodOptions, kept: bool) -> SolutionMethod:
    """Return how a run is solved, or say what does not go together.

    Parameters
    ----------
    kept : whether it has checkpoints
    """
    method = one_of("method", options["method"], METHODS, StateError)
    integrator = options["integrator"]
    scheme = scheme_of(integrator)
    if scheme is None:
        names = (*INTEGRATORS, *SCHEMES, *(f"scipy:{name}" for name in SCIPY))
        known = dict.fromkeys((*names, *extensions("integrators")))
        name = one_of("integrator", integrator, known, StateError)
    else:
        name = scheme_name(scheme)
    in_python = name in INTEGRATORS or (scheme and isinstance(scheme.formula, Integrator))
    correction = check_correction(options["correction"])
    history = flag("history", options["history"])
    tolerance = real_number("tolerance", options["tolerance"], "a positive number", positive=True)
    if scheme is None and not in_python and method != "multipliers":
        raise StateError(f"integrator={name!r} goes with method='multipliers' only")
    reference = flag("reference", options["reference"])
    if (reference or correction != "state") and not in_python:
        asked = "reference=True" if reference else f"correction={correction!r}"
        ours = ", ".join(INTEGRATORS)
        raise StateError(f"{asked} goes with integrator= one of {ours}, or one that is a formula")
    if history and (not in_python or kept):
        ours = ", ".join(INTEGRATORS)
        raise StateError(f"history=True goes with integrator= one of {ours}, without checkpoint=")
    evaluations = whole_number("most_evaluations", options["most_evaluations"])
    if not (isinstance(scheme, Integrator) and scheme.remembers):  # else it is run in Python
        scheme = with_method(scheme or RK4, method, options["coordinates"])
    coordinates = options["coordinates"]
    if isinstance(scheme, NullSpace):
        method, coordinates = scheme.basis, scheme.coordinates
    given = method, name, tolerance, evaluations, correction, history, scheme, reference
    solution = SolutionMethod(*given)
    if coordinates != "all" and not solution.compiled:
        raise StateError(
            f"coordinates={coordinates!r} goes with compiled steps, as of "
            f"integrator='rk4', without reference=, history= and correction="
        )
    return solution


CHECKPOINT, CHECKPOINT_BY_HAND = 100_000, 2_000
"""Steps between checkpoints: compiled ones take a moment, others a second."""


@with_options
def simulate_single(
    system: System, duration: float, **options: Unpack[SingleOptions]
) -> Simulation:
    """Return the motion of one trajectory of a system; see `simulate`.

    Parameters
    ----------
    duration : s; the last step ends at start + duration
    **options : what acts, where it starts, how it goes
    """
    method = solution_method(part(MethodOptions, options), options["checkpoint"] is not None)
    step = options["step"]
    steps, every = number_of_steps(duration, step), whole_number("every", options["every"])
    duration = float(duration)
    start = check_start(options["start"], duration / steps)
    check = flag("check", options["check"])
    progress = function_or_none("progress", options["progress"], "of the number of steps")
    events = check_watches("events", options["events"])
    check_records(system.model, steps, every)
    system.warn_left_out()
    checkpoint = _checkpoint(options, method, events)
    run = _Single(Trajectory(system), step, every, method, progress, checkpoint)
    state = options["q"], options["v"], system.states.start(options["z"])[0]
    if events:
        motion = with_events(run.part, events, start, duration, *state)
    else:
        motion = run.part(duration, *state, start)
    return raised(motion) if check else motion


@dataclass(frozen=True)
class _Single:
    """How one trajectory is run, in one part or in several between events."""

    trajectory: Trajectory
    step: float
    every: int
    method: SolutionMethod
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
        trajectory, method = self.trajectory, self.method
        model, motions = trajectory.model, trajectory.motions
        steps = number_of_steps(duration, self.step)
        loops = LoopChecker(model) if model.has_loops else None
        q0, v0 = start_state(model, q, v, motions, start, loops)
        trajectory.try_at(start, q0, v0, z)
        rows, left = rows_and_dof(model, q0, v0, motions, loops)
        if not left and motions is None:
            warn(
                f"{model.name!r} has no degree of freedom where it starts: its loops "
                f"({some([cut.name for cut in model.cuts], 5)}) hold everything, and nothing will "
                f"move. Remove one, or let one forbid less"
            )
        h = duration / steps
        knots = trajectory.system.knots(start, h, method.scheme)
        problem = Problem(trajectory, q0, v0, z, start, h, steps, self.every, rows, loops, knots)
        found = _run(problem, method, self.progress, self.checkpoint, lookout)
        names = {"method": method.method, "integrator": method.integrator}
        facts = {**names, "dof": left, **found.facts}
        detours = int(facts.pop("detours", 0))
        return Simulation(
            trajectory,
            found.time,
            found.q,
            found.v,
            found.z,
            found.steps,
            problem.h,
            found.outcome,
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
    method = SolutionMethod.by_scheme(scheme)
    return _Single(trajectory, step, every, method).part(duration, *state, start)


def _checkpoint(
    options: SingleOptions, method: SolutionMethod, events: Mapping[str, Watch]
) -> Checkpoint | None:
    """Return where the run is kept every so many steps, None for nowhere."""
    path, steps = options["checkpoint"], options["checkpoint_every"]
    if steps is None:
        steps = (
            CHECKPOINT if method.compiled and not method.scheme.remembers else CHECKPOINT_BY_HAND
        )
    apart = whole_number("checkpoint_every", steps)
    if path is None:
        return None
    if any(hasattr(watch, "action") for watch in events.values()):
        raise StateError("events that act do not go with checkpoint=")
    return Checkpoint(Path(file_path("checkpoint", path)), apart)


def _run(
    problem: Problem,
    method: SolutionMethod,
    progress: Callable[[int], None] | None,
    checkpoint: Checkpoint | None,
    lookout: Lookout | None,
) -> Records:
    """MotionRun a problem by the method and integrator named."""
    kept = contextlib.nullcontext() if checkpoint is None else checkpoint.locked()
    with kept, np.errstate(over="ignore", invalid="ignore"):  # the status says it
        try:
            check_inertia(problem.model, problem.q, problem.motions)
            found = march(_begun(problem, method), progress, checkpoint, lookout)
        except (SolveError, FunctionError) as met:
            found = _not_begun(problem, str(met))
    if method.correction != "state":
        return found
    opened = first_open(problem.model, problem.loops, found.time, found.q, found.v)
    if opened is not None:
        found = found.until(max(0, opened[0] - 1), opened[1], problem)
    part, lost = unbalanced(problem.trajectory, found, problem.h, method.scheme)
    found.facts["balance"] = part
    if lost is None:
        return found
    last, why = lost
    if not found.outcome.finished:  # it is known already what was wrong
        why = found.outcome.reason
    return found.until(last, why, problem)


def _begun(problem: Problem, method: SolutionMethod) -> MotionRun:
    """Return a problem on its way, by the method and integrator named."""
    scheme = method.scheme
    if not method.compiled:
        return PythonRun(problem, method)
    if scheme.varies:
        return VariableRun(problem, scheme)
    return CompiledRun(problem, scheme)


def _not_begun(problem: Problem, message: str) -> Records:
    """Return the records of a motion that cannot take its first step."""
    start = np.array([problem.start]), problem.q[None], problem.v[None], problem.z[None]
    return Records(*start, 0, Outcome.stopped(problem.start, message), {})
