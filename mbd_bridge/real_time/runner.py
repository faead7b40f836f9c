"""A machine that moves as time goes by: a fixed step, begun when it is due.

Step k is due at t₀ + k h / rate of the clock. It takes the inputs as they are then, and its end is
the state of the machine until the next step ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import finite_numbers, flag, function_or_none
from mbd_bridge.errors import (
    MbdError,
    StateError,
    one_of,
    real_number,
    unknown_name,
    whole_number,
)
from mbd_bridge.forces.states import StartStates
from mbd_bridge.mechanism import Model
from mbd_bridge.named import Named
from mbd_bridge.real_time.pace import Collect, wait_until, without_pauses
from mbd_bridge.real_time.record import TIMED, Histogram, Rows
from mbd_bridge.real_time.run import RealTimeRun
from mbd_bridge.real_time.stepping import Stepping
from mbd_bridge.simulate.equations import Equations
from mbd_bridge.simulate.machine import HasModel
from mbd_bridge.simulate.steps.schemes import CompiledIntegrator, Scheme, compiled_scheme
from mbd_bridge.simulate.system import System
from mbd_bridge.simulate.variables import Inputs, check_names, output_variables, state_variables

Late: TypeAlias = Literal["catch up", "slip"]
"""After a step that was late: those that are due follow at once, or all are due later."""

Drive = Callable[[float, "Values"], Mapping[str, float] | None]
"""(t, values) -> inputs that change, by name, or nothing."""

Observe = Callable[[float, "Values"], object]
"""(t, values) -> False to end the run; what else it returns does not matter."""

PICTURES = 30.0
"""A second, that a window gets."""


class Values(Named[float], entries="variable"):
    """The variables of a machine now, by name; outputs are computed when one is asked for."""

    def __init__(self, stepping: Stepping, places: dict[str, tuple[str, int]]) -> None:
        self._stepping, self._places = stepping, places
        self._arrays: dict[str, Any] = {
            "q": stepping.q,
            "v": stepping.v,
            "z": stepping.z,
            "held": stepping.held,
        }
        self._fresh: Any = None

    @property
    def names(self) -> Collection[str]:
        """The variables."""
        return self._places.keys()

    def _entry(self, name: str) -> float:
        kind, place = self._places[name]
        if kind == "output":
            if self._fresh is None:
                self._fresh = self._stepping.outputs()
            return float(self._fresh[place])
        return float(self._arrays[kind][place])

    def changed(self) -> None:
        """Forget outputs: the state or an input has changed."""
        self._fresh = None


class RealTime:
    """A machine that is run at wall-clock pace, driven by named inputs.

    Parameters
    ----------
    machine : a `System` whose `Input`s are set from outside, or a mechanism
    step : s, fixed
    q, v, z : state to start from, as for `simulate`
    integrator : "rk4", or an implicit one as for `simulate`, with steps of fixed length

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

    def __init__(
        self,
        machine: HasModel | Model | System,
        *,
        step: float = 1e-3,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        z: StartStates | None = None,
        integrator: CompiledIntegrator | Scheme = "rk4",
    ) -> None:
        scheme = compiled_scheme(integrator)
        self.step = real_number("step", step, "a time step in s", positive=True)
        equations = Equations(machine, q=q, v=v, z=z)
        system = self.system = equations.system
        self._stepping = Stepping(system, equations.start, self.step, scheme)
        self._inputs = {one.name: list(one.places) for one in Inputs.of(system).inputs}
        self.values = Values(self._stepping, self._variables(equations.start))
        self._stepping.prepare()
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
        found = {one.name: ("held", one.places[0]) for one in (*held.inputs, *held.constants)}
        ends = (model.nq, model.nq + model.nv, len(states))
        for k, one in enumerate(states):
            kind = "q" if k < ends[0] else "v" if k < ends[1] else "z"
            found[one.name] = kind, k - {"q": 0, "v": ends[0], "z": ends[1]}[kind]
        return found | {one.name: ("output", k) for k, one in enumerate(outputs)}

    def set(self, values: Mapping[str, float]) -> None:
        """Set inputs by name, N and N m: the next step takes them, and those after it."""
        if not isinstance(values, Mapping):
            raise StateError(f"inputs: expected numbers by name, got {values!r:.60}")
        for name, value in values.items():
            if name not in self._inputs:
                raise StateError(unknown_name("input", name, self._inputs))
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
            record.status = f"interrupted at t = {float(self._stepping.t[0]):.6g} s"
        except MbdError as error:
            record.status = f"stopped at t = {float(self._stepping.t[0]):.6g} s: {error}"
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
            if drive is not None:
                changed = drive(float(stepping.t[0]), values)
                if changed is not None:
                    self.set(changed)
            stepping.advance()
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
                record.status = f"stopped at t = {float(stepping.t[0]):.6g} s"
                return

    def _window(self) -> Any:
        from mbd_bridge.view.live import LiveWindow

        return LiveWindow(self.system.model, finite_numbers("q", self._stepping.q))


class _Record:
    """What is kept of a run while it goes on."""

    def __init__(
        self, machine: RealTime, rate: float, late: Late, every: int, most: int | None
    ) -> None:
        stepping = machine._stepping
        self._model, self._step = stepping.model, machine.step
        self.rate, self.late, self.every = rate, late, every
        self._limits, self._held = stepping.limits, stepping.system.effort is not None
        widths = [1, len(stepping.q), len(stepping.v)]
        self._ends = np.cumsum(widths).tolist()
        widths += [] if self._limits is None else [len(stepping.v)]
        self._states, self._times = Rows(widths, most), Rows((1, 1), TIMED)
        self._histograms = Histogram(), Histogram()
        self.missed, self.slipped, self.status = 0, 0.0, "finished"

    def add(self, stepping: Stepping) -> None:
        """Keep the state."""
        parts = stepping.t, stepping.q, stepping.v
        if self._limits is None:
            self._states.add(*parts)
        else:
            self._states.add(*parts, stepping.given())

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
            self.status,
            notes,
        )
