"""A machine that moves as time goes by: a fixed step, begun when it is due.

Step k is due at t₀ + k h / rate of the clock. It takes the inputs as they are then, and its end is
the state of the machine until the next step ends. A run returns the motion, and how punctual its
steps were.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, Unpack

import numpy as np

from mbd_bridge.applications.real_time.record import TIMED, DurationCounts, Rows
from mbd_bridge.base.arguments import finite_numbers, flag, function_or_none, known_name
from mbd_bridge.base.errors import (
    MbdError,
    StateError,
    one_of,
    real_number,
    whole_number,
)
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.named import Named
from mbd_bridge.base.options import part, with_options
from mbd_bridge.files.tables import Column, TableWriter
from mbd_bridge.kernels import Single, compile_kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import attributes, motion_columns
from mbd_bridge.simulation.equations import Equations
from mbd_bridge.simulation.options import OwnStepOptions, StateOptions
from mbd_bridge.simulation.outcome import FINISHED, MotionEnd, Outcome
from mbd_bridge.simulation.results.recorded import limits_of
from mbd_bridge.simulation.run.problem import check_records
from mbd_bridge.simulation.signals.effort import EffortLimits
from mbd_bridge.simulation.steps.schemes import compiled_scheme
from mbd_bridge.simulation.steps.source import inlined
from mbd_bridge.simulation.steps.stepping import Stepping
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.variables import (
    Inputs,
    check_names,
    given_function,
    inputs_of_state,
    output_variables,
    outputs_function,
    state_variables,
)

SPIN = 3e-4
"""s before a step is due, from which on the clock is read without sleeping: the system wakes a
sleeping process up to some 0.1 ms late."""

NEW = 2_000
"""Objects that may be in cycles, from which on they are looked through: some 0.1 ms."""

MOST = 200_000
"""The same, from which on they are looked through although a step is late: some 50 MB."""

FIRST_COST = 1e-4
"""s, that a collection takes, until one is measured."""

Collect = Callable[[float], None]
"""(s until the next step is due) -> nothing."""

SWITCH = 1e-4
"""s, after which another Python thread must let this one go on; Python's own is 5 ms."""


def wait_until(due: float) -> float:
    """Wait until a time of `time.monotonic`; return the time that it is then, s."""
    now = time.monotonic()
    while now < due:
        left = due - now
        if left > SPIN:
            time.sleep(left - SPIN)
        now = time.monotonic()
    return now


class Collector:
    """Collects cycles of objects where there is time for it: the garbage collector is off."""

    def __init__(self) -> None:
        self._times, self._costs = 0, [FIRST_COST] * 3

    def collect(self, left: float) -> None:
        """Collect, if there are new objects, and it takes less than what is left, s."""
        new = gc.get_count()[0]
        if new < NEW:
            return
        oldest = next(g for g, every in ((2, 100), (1, 10), (0, 1)) if self._times % every == 0)
        if 2.0 * self._costs[oldest] > left and new < MOST:
            self._costs[oldest] *= 0.99  # the last time may have been an exception
            return
        start = time.monotonic()
        gc.collect(oldest)
        self._costs[oldest] = time.monotonic() - start
        self._times += 1


@contextlib.contextmanager
def without_pauses() -> Iterator[Collect]:
    """Collect garbage only when told, and let other threads hold Python for a short time only.

    Gives the function that collects: `Collector.collect`. Objects that exist already are left out.
    """
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    frozen = gc.get_freeze_count() > 0
    gc.collect()
    gc.disable()
    if not frozen:
        gc.freeze()
    sys.setswitchinterval(SWITCH)
    try:
        yield Collector().collect
    finally:
        sys.setswitchinterval(interval)
        if not frozen:
            gc.unfreeze()
        if collecting:
            gc.enable()


PERCENT = (50.0, 99.0, 99.9, 100.0)
"""Percentiles of a report; the last one is the largest."""


@dataclass(frozen=True, eq=False)
class RealTimeRun:
    """A motion at wall-clock pace.

    Attributes
    ----------
    model : of the machine
    time, q, v : (K,) s, (K, nq), (K, nv) records
    step, rate : s, and seconds of the motion in a second
    steps : N
    late : (N,) s, by which each step began after it was due; of runs of more than a million steps
        that of the last million (`record.TIMED`)
    took : (N,) s, from the beginning of each step to its end, inputs and outputs included; as many
    histograms : of `late` and `took`, of all steps
    missed : steps that ended after the next one was due
    slipped : s, by which the motion was let fall behind the clock
    outcome : how it ended; `status` is the sentence
    notes : whether given forces were beyond the effort limits of the file at the records
    """

    model: Model
    time: Array
    q: Array
    v: Array
    step: float
    rate: float
    steps: int
    late: Array
    took: Array
    histograms: tuple[DurationCounts, DurationCounts]
    missed: int
    slipped: float
    outcome: Outcome
    notes: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether it went to its end."""
        return self.outcome.finished

    @property
    def status(self) -> str:
        """How it ended: "finished", or why before."""
        return str(self.outcome)

    def percentiles(self) -> dict[str, dict[str, float]]:
        """Return 50 %, 99 %, 99.9 % and the maximum of `late` and `took` of all steps, s."""
        names = [*(f"{p:g} %" for p in PERCENT[:-1]), "max"]
        percentiles = {}
        kinds = zip(("late", "took"), (self.late, self.took), self.histograms, strict=True)
        for kind, values, histogram in kinds:
            numbers = [math.nan] * len(PERCENT)
            if len(values) == self.steps > 0:
                numbers = np.percentile(values, PERCENT).tolist()
            elif len(values):
                numbers = histogram.percentiles(PERCENT)
            percentiles[kind] = dict(zip(names, numbers, strict=True))
        return percentiles

    def report(self) -> str:
        """Return the percentiles and missed deadlines as a table of text."""
        rows = self.percentiles()
        names = list(rows["late"])
        lines = [" " * 12 + "".join(f"{name:>13}" for name in names)]
        for what, label in (("late", "begins late"), ("took", "takes")):
            numbers = "".join(f" {1e6 * rows[what][name]:>9.0f} µs" for name in names)
            lines.append(f"{label:<12}{numbers}")
        share = 100.0 * self.missed / max(self.steps, 1)
        lines.append(f"{self.missed} of {self.steps} deadlines missed ({share:.3g} %)")
        return "\n".join([*lines, *self.notes])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write time, coordinates and velocities as a table: CSV, or what the suffix says."""
        columns: list[Column] = [
            column for column in motion_columns(self.model) if not column.name.endswith(".acc")
        ]
        about = attributes(f"motion of {self.model.name}", [f"at wall-clock pace, {self.status}"])
        with TableWriter(os.fspath(path), columns, about) as out:
            out.append(np.column_stack([self.time, self.q, self.v]))

    def __repr__(self) -> str:
        end = float(self.time[-1]) if len(self.time) else 0.0
        return (
            f"RealTimeRun({self.model.name!r}: {self.steps} steps of {self.step:g} s to "
            f"t = {end:.6g} s, {self.missed} deadlines missed, {self.status})"
        )


Late: TypeAlias = Literal["catch up", "slip"]
"""After a step that was late: those that are due follow at once, or all are due later."""

Drive = Callable[[float, "MachineValues"], Mapping[str, float] | None]
"""(t, values) -> inputs that change, by name, or nothing."""

Observe = Callable[[float, "MachineValues"], object]
"""(t, values) -> False to end the run; what else it returns does not matter."""

PICTURES = 30.0
"""A second, that a window gets."""


class MachineValues(Named[float], entries="variable"):
    """The variables of a machine now, by name; outputs are computed when one is requested.

    Parameters
    ----------
    places : by name, what an entry is of ("q", "v", "z", "held", "output"), and its number there
    """

    def __init__(self, stepping: Stepping, places: dict[str, tuple[str, int]]) -> None:
        self._stepping, self._places = stepping, places
        self._system = inlined(stepping.system)
        self._arguments = tuple(inputs_of_state(self._system))
        self._fresh: Array | None = None

    @property
    def names(self) -> Collection[str]:
        """The variables."""
        return self._places.keys()

    def _entry(self, name: str) -> float:
        kind, number = self._places[name]
        if kind == "output":
            if self._fresh is None:
                self._fresh = self._computed(self._outputs, self._stepping.held)
            return float(self._fresh[number])
        return float(self._state(self._stepping.held)[kind][number])

    def changed(self) -> None:
        """Forget outputs: the state or an input has changed."""
        self._fresh = None

    def prepare(self) -> None:
        """Compile all."""
        _ = self._outputs
        if self.limits is not None:
            _ = self._given_forces

    def given_forces(self) -> Array:
        """Return the forces (nv,) that are given: the next call overwrites them."""
        return self._computed(self._given_forces, self._stepping.held_now)

    @cached_property
    def limits(self) -> EffortLimits | None:
        """The effort limits of the joints along which forces are given, or none."""
        return limits_of(self._stepping.system)

    def _state(self, held: Array) -> dict[str, Array]:
        stepping = self._stepping
        return {"q": stepping.q, "v": stepping.v, "t": stepping.t, "z": stepping.z, "held": held}

    def _computed(self, function: Single, held: Array) -> Array:
        arguments: dict[str, Any] = {**self._state(held), "p": self._stepping.trajectory.p}
        (values,) = function.run(*(arguments[name] for name in self._arguments))
        return values

    @cached_property
    def _outputs(self) -> Single:
        return self._single(outputs_function(self._system, self._stepping.rows), "outputs")

    @cached_property
    def _given_forces(self) -> Single:
        return self._single(given_function(self._system), "given")

    def _single(self, function: Traceable, name: str) -> Single:
        return compile_kernel(function, inputs_of_state(self._system), name=name).single()


class RealTime:
    """A machine that is run at wall-clock pace, driven by named inputs.

    Parameters
    ----------
    machine : a `System` whose `Input`s are set from outside, or a mechanism
    **options : the step, the state to start from, the integrator

    Attributes
    ----------
    values : all variables now, by name: inputs, q.NAME, v.NAME, loads and other outputs
    last : what came of the last run, also of one that an error has ended; None before

    Notes
    -----
    All machine code is compiled here, before the first step. Another thread may call `set`, `stop`
    and read `values` while `run` goes on.

    Examples
    --------
    >>> machine = mbd.RealTime(system, q=start.q)                       # doctest: +SKIP
    >>> run = machine.run(10.0, inputs=lambda t, now: {"motor": -now["v.crank"]})  # doctest: +SKIP
    >>> print(run.report())                                             # doctest: +SKIP
    """

    @with_options
    def __init__(
        self, machine: HasModel | Model | System, **options: Unpack[OwnStepOptions]
    ) -> None:
        scheme = compiled_scheme(options["integrator"], options["method"], options["coordinates"])
        self.step = real_number("step", options["step"], "a time step in s", positive=True)
        equations = Equations(machine, **part(StateOptions, options))
        system = self.system = equations.system
        self._stepping = Stepping(system, equations.start, self.step, scheme)
        inputs = Inputs.of(system).inputs
        self._inputs = {variable.name: list(variable.places) for variable in inputs}
        self.values = MachineValues(self._stepping, self._variables(equations.start))
        self._stepping.prepare()
        self.values.prepare()
        self._stopped = False
        self.last: RealTimeRun | None = None

    def _variables(self, start: Any) -> dict[str, tuple[str, int]]:
        system, model = self.system, self.system.model
        held = Inputs.of(system)
        states = state_variables(system, start)
        sizes = {}
        for name, function in () if system.outputs is None else system.outputs.functions:
            sizes[name] = np.size(function(0.0, self._stepping.q, self._stepping.v))
        outputs = output_variables(system, sizes)
        check_names((*held.inputs, *held.constants, *states, *outputs))
        numbers = (*held.inputs, *held.constants)
        places = {variable.name: ("held", variable.places[0]) for variable in numbers}
        sizes_of = {"q": model.nq, "v": model.nv, "z": system.nz}
        entries = [(kind, k) for kind, size in sizes_of.items() for k in range(size)]
        places |= {variable.name: entries[k] for k, variable in enumerate(states)}
        return places | {variable.name: ("output", k) for k, variable in enumerate(outputs)}

    def set(self, values: Mapping[str, float]) -> None:
        """Set inputs by name, N and N m: the next step takes them, and those after it."""
        if not isinstance(values, Mapping):
            raise StateError(f"inputs: expected numbers by name, got {values!r:.60}")
        for name, value in values.items():
            known_name("input", name, self._inputs)
            number = real_number(f"input {name!r}", value, "a finite number")
            for place in self._inputs[name]:
                self._stepping.held[place] = number
        self.values.changed()

    def __reduce__(self) -> NoReturn:
        raise StateError(
            "a RealTime runs here and now, and cannot be pickled or copied; send its System "
            "(machine.system) and the state, and make one there"
        )

    def stop(self) -> None:
        """End the run after the step that goes on now."""
        self._stopped = True

    def run(
        self,
        duration: float | None = None,
        *,
        inputs: Drive | Mapping[str, float] | None = None,
        outputs: Observe | None = None,
        rate: float = 1.0,
        late: Late = "catch up",
        every: int = 1,
        keep: int | None = None,
        window: bool = False,
    ) -> RealTimeRun:
        """Run from the first state, until a time, `stop`, or Ctrl-C.

        Parameters
        ----------
        duration : s of the motion; None: until it is stopped
        inputs : called before each step, gives inputs that change; or numbers to begin with
        outputs : called after each `every`-th step; to return False ends the run
        rate : seconds of the motion in a second
        late : what follows a step that ended after the next one was due: "catch up", those that are
            due at once, or "slip", the clock waits and all that follow are due later
        every : steps from one record to the next
        keep : records that are kept at most, the last ones; None: all. Runs of days need it
        window : show the machine as it moves, in a window of pybullet

        Notes
        -----
        Errors of a step, and inputs that are no numbers, end the run with a status that tells.
        What `inputs` and `outputs` raise themselves goes through; `last` has the run until then.
        """
        steps = math.inf
        if duration is not None:
            steps = round(real_number("duration", duration, "s", positive=True) / self.step)
        rate = real_number("rate", rate, "seconds of the motion in a second", positive=True)
        late = one_of("late", late, ("catch up", "slip"), StateError)
        every, window = whole_number("every", every), flag("window", window)
        most = None if keep is None else whole_number("keep", keep)
        if most is None and steps < math.inf:
            check_records(self.system.model, int(steps), every)
        observe = function_or_none("outputs", outputs, "a function of (t, values)")
        drive = inputs if callable(inputs) else None
        if inputs is not None and drive is None:
            if not isinstance(inputs, Mapping):
                raise StateError("inputs: expected numbers by name or a function of (t, values)")
            self.set(inputs)
        self._stepping.restart(0.0)
        self.values.changed()
        self._stopped = False
        record = _Record(self, rate, late, every, most)
        show = self._window() if window else None
        try:
            with without_pauses() as collect:
                self._loop(steps, record, drive, observe, show, collect)
        except KeyboardInterrupt:
            record.outcome = Outcome(MotionEnd.INTERRUPTED, float(self._stepping.t[0]))
        finally:
            if show is not None:
                show.close()
            self.last = record.run()
        return self.last

    def _loop(
        self,
        steps: float,
        record: _Record,
        drive: Drive | None,
        observe: Observe | None,
        show: Any,
        collect: Collect,
    ) -> None:
        stepping, values, every = self._stepping, self.values, record.every
        period, slips = self.step / record.rate, record.late == "slip"
        between, next_picture = 1.0 / PICTURES, 0.0
        record.add(stepping)
        k, first = 0, time.monotonic()
        while k < steps:
            due = first + k * period
            begun = wait_until(due)
            changed = None if drive is None else drive(float(stepping.t[0]), values)
            try:
                if changed is not None:
                    self.set(changed)
                stepping.advance()
            except MbdError as error:
                record.outcome = Outcome.stopped(stepping.t[0], error)
                return
            values.changed()
            k += 1
            if k % every == 0:
                record.add(stepping)
                if observe is not None and observe(float(stepping.t[0]), values) is False:
                    self._stopped = True
            if show is not None and begun >= next_picture:
                next_picture = begun + between
                if not show.put(float(stepping.t[0]), stepping.q):
                    self._stopped = True
            ended = time.monotonic()
            record.timed(begun - due, ended - begun, ended > due + period)
            if slips and ended > due + period:
                first += ended - due - period
                record.slipped += ended - due - period
            collect(first + k * period - ended)
            if self._stopped:
                record.outcome = Outcome.stopped(stepping.t[0], "")
                return

    def _window(self) -> Any:
        from mbd_bridge.view.show import LiveWindow

        return LiveWindow(self.system.model, finite_numbers("q", self._stepping.q))


class _Record:
    """What is kept of a run while it goes on."""

    def __init__(
        self, machine: RealTime, rate: float, late: Late, every: int, most: int | None
    ) -> None:
        stepping = machine._stepping
        self._model, self._step = stepping.model, machine.step
        self.rate, self.late, self.every = rate, late, every
        self._values, self._held = machine.values, stepping.system.effort is not None
        self._limits = self._values.limits
        widths = [1, len(stepping.q), len(stepping.v)]
        self._ends = np.cumsum(widths).tolist()
        widths += [] if self._limits is None else [len(stepping.v)]
        self._states, self._times = Rows(widths, most), Rows((1, 1), TIMED)
        self._histograms = DurationCounts(), DurationCounts()
        self.missed, self.slipped, self.outcome = 0, 0.0, FINISHED

    def add(self, stepping: Stepping) -> None:
        """Keep the state."""
        parts = stepping.t, stepping.q, stepping.v
        if self._limits is None:
            self._states.add(*parts)
        else:
            self._states.add(*parts, self._values.given_forces())

    def timed(self, late: float, took: float, missed: bool) -> None:
        """Keep how punctual a step was."""
        self._times.add(late, took)
        self._histograms[0].add(late)
        self._histograms[1].add(took)
        self.missed += missed

    def run(self) -> RealTimeRun:
        """Return what was kept."""
        time, q, v, given = np.split(self._states.array(), self._ends, axis=1)
        notes: tuple[str, ...] = ()
        if self._limits is not None:
            notes = self._limits.note(self._held, time[:, 0], given)
        late, took = self._times.array().T.copy()
        return RealTimeRun(
            self._model,
            time[:, 0],
            q,
            v,
            self._step,
            self.rate,
            self._times.count,
            late,
            took,
            self._histograms,
            self.missed,
            self.slipped,
            self.outcome,
            notes,
        )
