"""The derivatives of a simulation, prepared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import function_or_none
from mbd_bridge.base.errors import SolveError, StateError, count, whole_number
from mbd_bridge.base.options import part, with_options
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.kernels import Kernel, compile_kernel, gradient
from mbd_bridge.kernels.march import March
from mbd_bridge.loads.derivatives.request import DerivativeColumn, per, places_named
from mbd_bridge.loads.derivatives.result import OfColumns
from mbd_bridge.loads.derivatives.sensitivities import undetermined
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import state_units
from mbd_bridge.simulation.derivatives.marched import (
    DerivedMotion,
    EqualSteps,
    StepGrid,
    Turn,
    Until,
)
from mbd_bridge.simulation.derivatives.start import StartColumns
from mbd_bridge.simulation.derivatives.steps import STATE, StepDerivatives
from mbd_bridge.simulation.options import GivenActsOptions, SimulationDerivativeOptions
from mbd_bridge.simulation.run.events import direction_of
from mbd_bridge.simulation.run.problem import check_records, check_start, number_of_steps
from mbd_bridge.simulation.start import given_state, rows_and_dof, start_state
from mbd_bridge.simulation.steps.schemes import NullSpace, compiled_scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker

if TYPE_CHECKING:
    from mbd_bridge.forces.acts import StartStates


class SimulationDerivativeSolver:
    """Derivatives of a simulation by its start and by numbers of the machine, prepared once.

    Parameters
    ----------
    mechanism : a `Mechanism`, or its model
    duration, by, along : see `Mechanism.compile_simulation_derivatives`
    **options : what acts, and how steps are taken

    Attributes
    ----------
    columns : the K numbers that are derived by
    grid : times of the steps and of the records
    """

    @with_options
    def __init__(
        self,
        mechanism: HasModel,
        duration: float,
        by: Iterable[str] | str,
        along: Iterable[str] | str | None = None,
        **options: Unpack[SimulationDerivativeOptions],
    ) -> None:
        if options["parameters"] is not None:
            raise StateError(
                "parameters: name them in by=, and give their values where the derivatives are "
                "asked for: solver(q, v, parameters={'rod.mass': 2.0})"
            )
        method = options["integrator"], options["method"], options["coordinates"]
        self._scheme = compiled_scheme(*method)
        if isinstance(self._scheme, NullSpace):
            raise StateError(
                "method: derivatives are those of steps by method='multipliers', not in a null "
                "space, whose basis is decomposed between steps"
            )
        steps, every = number_of_steps(duration, options["step"]), options["every"]
        self._start = check_start(options["start"], float(duration) / steps)
        end = self._start + float(duration)
        acts = part(GivenActsOptions, options)
        given = System(mechanism, start=self._start, end=end, **acts)
        given.warn_left_out()
        if given.sampled:
            raise StateError(
                "mbd.Sampled: a function that Python calls has no derivative here; write it of "
                "the functions of mbd_bridge.functions, without Sampled"
            )
        if given.number > 1:
            raise StateError(f"derivatives are of one simulation, got {given.number}: one each")
        self._columns = StartColumns(given, by, along)
        self.columns, self.model = self._columns.columns, given.model
        self._trajectory = Trajectory(self._columns.system)
        self._known: dict[tuple[int, ...], StepDerivatives] = {}
        check_records(self.model, steps, whole_number("every", every))
        grid = self._start, float(duration) / steps, steps, every, self._columns
        self.grid = StepGrid.of(self._trajectory, self._scheme, *grid)
        self._until = self._ending(options["until"])
        if "stream" in self._columns.moving and (self._until or self._scheme.remembers):
            raise StateError(
                "by: rows of tables go with explicit integrators without a memory, such as 'rk4', "
                "and without until="
            )

    def _ending(self, given: StateNumber | None) -> Until | None:
        """Return where motions end, None at the end of the last step."""
        kernel = number_kernel(self.model, "until", given)
        if kernel is None or given is None:
            return None
        if self._scheme.remembers:
            raise StateError(
                "until: goes with explicit integrators without a memory, such as 'rk4', whose last "
                "step is as long as it takes; leave it out, or simulate for a fixed time"
            )
        return Until(kernel, direction_of(given, "until"), self._trajectory)

    def __call__(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        z: StartStates | None = None,
        *,
        parameters: ParameterValues | ArrayLike | None = None,
    ) -> SimulationDerivatives:
        """Return the motion and its derivatives at the records, formed forward with it.

        Parameters
        ----------
        q, v, z : the start; see `simulate`
        parameters : other values of the numbers that are derived by, by name, or an array of all
            of them but q and v. All values share the machine code
        """
        motion, turn = self.motion(q, v, z, parameters)
        march, moved, model = motion.steps.forward, motion.rates, self.model
        lanes, number = march.lanes, len(self.columns)
        shape = len(motion.grid.records), number
        d_q, d_v = np.empty((shape[0], model.nq, number)), np.empty((shape[0], model.nv, number))
        for first in range(0, number, lanes):
            some = slice(first, min(first + lanes, number))
            count = some.stop - first
            lane_rates = {
                name: np.pad(moved[name][:, some], ((0, 0), (0, lanes - count))).T
                for name in (*STATE, *self._columns.moving, "stream")
            }
            stage = march.start()
            start = [*motion.state, *(lane_rates[name] for name in STATE)]
            others = [lane_rates[name] for name in self._columns.moving if name != "stream"]
            march.put(stage, *start, np.zeros(1), *motion.constant, *others)
            records = motion.recorded(march, stage, lane_rates["stream"])
            found = [np.concatenate(x) for x in zip(*records, strict=True)]
            q_all, v_all, d_q_all, d_v_all = found
            d_q[..., some] = d_q_all[:, :count].transpose(0, 2, 1)
            d_v[..., some] = d_v_all[:, :count].transpose(0, 2, 1)
        d_end, trusted = np.zeros(number), motion.trusted
        if turn is not None:
            d_end = -(turn.by_q @ d_q[-1] + turn.by_v @ d_v[-1]) / turn.rate
            d_q[-1] += np.outer(turn.rate_q, d_end)
            d_v[-1] += np.outer(turn.rate_v, d_end)
            trusted = trusted & np.isfinite(d_end)
        return SimulationDerivatives(
            model,
            self.columns,
            motion.grid.times[motion.grid.records],
            q_all[:, 0],
            v_all[:, 0],
            untrusted(d_q, trusted),
            untrusted(d_v, trusted),
            untrusted(d_end, trusted),
            self._columns.held,
            trusted,
        )

    def gradient(
        self, final: StateNumber | None = None, records: StateNumber | None = None
    ) -> SimulationGradientSolver:
        """Return what gives one number made of the motion, and its derivatives by the K numbers.

        Parameters
        ----------
        final : function (t, q, v) -> number, of the state at the end, made of + - * / and
            `mbd_bridge.functions`
        records : such a function; its values at all records (`every`) are summed up

        Examples
        --------
        >>> height = solver.gradient(lambda t, q, v: q[2])          # doctest: +SKIP
        >>> height(q, v).gradient                                   # doctest: +SKIP
        """
        return SimulationGradientSolver(self, final, records)

    def motion(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        z: StartStates | None,
        parameters: ParameterValues | ArrayLike | None,
    ) -> tuple[DerivedMotion, Turn | None]:
        """Return the motion from such a start, and its end if that is where `until` is zero."""
        system = self._columns.system
        held, p, changes = self._columns.values(self._trajectory.held, parameters)
        q0, v0, rows = self._started(q, v, p)
        steps = self._known.get(rows)
        if steps is None:
            steps = StepDerivatives(system, rows, self._scheme, self._columns.moving)
            self._known[rows] = steps
        t = np.zeros(steps.sizes["t"])
        t[0] = self._start
        behind = CARRIED + system.nz
        t[CARRIED:behind] = system.states.start(z)[0]
        rates, trusted = self._columns.rates(rows, q0, v0, p)
        rates["t"] = np.zeros((len(t), len(self.columns)))
        if len(t) > behind:
            now = np.append(t[0], t[CARRIED:behind])
            instant = self._trajectory.instants(t[:1])[0]
            more = [p] if "p" in steps.sizes else []
            t[behind:], slopes = steps.memory(q0, v0, now, held, instant, *more)
            names = [name for name in ("q", "v", *steps.moving) if name != "stream"]
            moved = np.concatenate([rates[name] for name in names])
            rates["t"][behind:] = slopes @ moved
        pieces = tuple(piece.moved(changes) for piece in self.grid.pieces)
        grid = self.grid._replace(pieces=pieces)
        whole = DerivedMotion(steps, held, p, (q0, v0, t), rates, trusted, grid)
        return (whole, None) if self._until is None else self._until.cut(whole)

    def _started(
        self, q: ArrayLike | None, v: ArrayLike | None, p: Array
    ) -> tuple[Array, Array, tuple[int, ...]]:
        """Return q and v at the start, and the rows of the loops."""
        model, motions = self.model, self._trajectory.motions
        if q is not None and v is not None and motions is None and model.has_loops:
            q0, v0 = given_state("q", q, model), given_state("v", v, model)
            quick = self._columns.rows(q0, v0, p)
            if quick is not None:
                return q0, v0, quick
        variants = self._columns.system.parameters
        if model.has_loops and variants is not None:
            model = variants.with_numbers(p).variant(0)
        loops = LoopChecker(model) if model.has_loops else None
        q0, v0 = start_state(model, q, v, motions, self._start, loops)
        return q0, v0, rows_and_dof(model, q0, v0, motions, loops)[0]


# The gradient of one number that is made of a motion, by the discrete adjoint of its steps.

StateNumber = Callable[[Any, Array, Array], Any]
"""(t, q, v) -> one number, made of + - * / and `mbd_bridge.functions`."""


def number_kernel(model: Model, name: str, given: StateNumber | None) -> Kernel | None:
    """Return the kernel of a number and its derivatives by t, q and v; None without a function.

    Parameters
    ----------
    name : of the argument, for messages
    """
    function = function_or_none(name, given, "of (t, q, v)")
    if function is None:
        return None
    sizes = {"t": 1, "q": model.nq, "v": model.nv}

    def number(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        found = np.asarray(function(t[0], q, v)).reshape(-1)
        if len(found) != 1:
            raise StateError(
                f"{name}: expected a function that returns one number, got {len(found)}"
            )
        return (found,)

    outputs = ("value", *(f"by_{one}" for one in sizes))
    return compile_kernel(gradient(number, sizes), sizes, outputs=outputs)


@dataclass(frozen=True, eq=False)
class SimulationGradient:
    """A number made of a motion, and its derivatives by K others.

    Attributes
    ----------
    value : the number
    gradient : (K,), nan where it is not `trusted`
    columns : the K numbers: name, unit
    time, q, v : the end of the motion, (), (nq,), (nv,)
    trusted : (K,); see `SimulationDerivatives`
    """

    value: float
    gradient: Array
    columns: tuple[DerivativeColumn, ...]
    time: float
    q: Array
    v: Array
    trusted: Array


class SimulationGradientSolver:
    """Value and gradient of one number made of a motion, prepared once.

    Parameters
    ----------
    solver : of the derivatives of the simulation
    final, records : see `SimulationDerivativeSolver.gradient`
    """

    def __init__(
        self,
        solver: SimulationDerivativeSolver,
        final: StateNumber | None = None,
        records: StateNumber | None = None,
    ) -> None:
        if final is None and records is None:
            raise StateError("gradient: expected final= or records=, a function of (t, q, v)")
        self._solver, self.columns = solver, solver.columns
        self._final = number_kernel(solver.model, "final", final)
        self._records = number_kernel(solver.model, "records", records)

    def __call__(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        z: StartStates | None = None,
        *,
        parameters: ParameterValues | ArrayLike | None = None,
    ) -> SimulationGradient:
        """Return the number and its gradient for one motion; see `SimulationDerivativeSolver`."""
        motion, turn = self._solver.motion(q, v, z, parameters)
        march, value, end = motion.steps.backward, 0.0, None
        stage, by_rows = march.start(), np.zeros(len(motion.rates["stream"]))
        for steps, states in motion.backward():
            if end is None:
                end = [x[-1] for x in states]
                value, *weights = self._at_end(end, turn)
                rest = [np.zeros(size) for size in list(march.inputs.values())[2 : march.state]]
                march.put(stage, *weights, *rest, np.zeros(1), *motion.constant)
            value += self._back(march, stage, motion, steps, states, by_rows)
        assert end is not None, "a motion has steps"
        names = (*STATE, *(name for name in motion.steps.moving if name != "stream"), "stream")
        each = zip(names, [*march.state_of(stage), by_rows], strict=True)
        total = sum(motion.rates[name].T @ weight for name, weight in each)
        trusted = motion.trusted & np.isfinite(total)
        at_end = float(end[2][0]), end[0].copy(), end[1].copy()
        found = untrusted(np.asarray(total), trusted)
        return SimulationGradient(value, found, self.columns, *at_end, trusted)

    def _at_end(self, end: list[Array], turn: Turn | None) -> tuple[float, Array, Array]:
        """Return what the final state adds to the number, and the weights of its q and v.

        Parameters
        ----------
        turn : at which the motion ends, if it does: the weights are those of a fixed length
        """
        q, v, t = end
        value, by_t, by_q, by_v = 0.0, np.zeros(1), np.zeros(len(q)), np.zeros(len(v))
        for kernel in (self._final, self._records):
            if kernel is not None:
                found, *slopes = kernel(t[:1], q, v)
                value += float(found[0])
                by_t, by_q, by_v = by_t + slopes[0], by_q + slopes[1], by_v + slopes[2]
        if turn is not None:
            share = (by_q @ turn.rate_q + by_v @ turn.rate_v + by_t[0]) / turn.rate
            by_q, by_v = by_q - share * turn.by_q, by_v - share * turn.by_v
        return value, by_q, by_v

    def _back(
        self,
        march: March,
        stage: Array,
        motion: DerivedMotion,
        part: EqualSteps,
        states: list[Array],
        by_rows: Array,
    ) -> float:
        """Go back over the steps of a part; return what records at their starts add.

        Parameters
        ----------
        by_rows : (T,) derivatives by the rows of tables, which are added up
        """
        before = [x[:-1] for x in states]
        columns = before if part.stream is None else [*before, part.stream[:, :, 0]]
        count, width = len(before[0]), march.inputs["record"]
        record, place = np.zeros((count, width, 1)), 0
        for x in columns:
            record[:, place : place + x.shape[1], 0] = x[::-1]
            place += x.shape[1]
        value = 0.0
        if self._records is not None:
            rows = motion.grid.records - part.first
            rows = rows[(rows >= 0) & (rows < count)]
            q, v, t = (x[rows] for x in before)
            found, _, by_q, by_v = self._records(t[:, :1], q, v)
            value = float(found.sum())
            record[count - 1 - rows, place:, 0] = np.concatenate([by_q, by_v], axis=1)
        stage[march.place_of("h")] = part.h
        places = np.zeros((len(march.shapes), 1), dtype=np.int64)
        tables = np.empty((count, 0 if part.slopes is None else part.slopes.shape[1]))
        if part.slopes is not None:
            places[march.state] = tables.ctypes.data
        taken = march.advance_into(stage, count, 1, places, np.inf, record)
        if taken < count and np.isfinite(march.state_of(stage)[0]).all():
            time = float(before[2][count - 1 - taken, 0])
            raise SolveError(
                f"the step from t = {time:.6g} s has no finite derivative: what acts has an "
                f"infinite slope there, such as sqrt(x) at 0"
            )
        if part.slopes is not None:
            by_rows += np.einsum("ns,nsk->k", tables[::-1], part.slopes)
        return value


# Derivatives of a motion as a user gets them, with names and units of every column.


@dataclass(frozen=True, eq=False)
class SimulationDerivatives(OfColumns, Tabular):
    """A motion and its derivatives by K numbers, at R records.

    Attributes
    ----------
    model : whose motion it is
    columns : the K numbers: name, unit
    time : (R,) s
    q, v : (R, nq), (R, nv)
    d_q, d_v : (R, nq, K), (R, nv, K): by each number, per unit of its column
    d_end : (K,) of the time of the last record, s per unit of the column: 0 but where the motion
        ends `until` a function is zero
    held : of a machine with loops, the velocities that are independent at the start: the others
        follow them there, and by numbers of the machine the loops close anew. None: all are
    trusted : (K,) False, with nan beside it, by numbers whose change would open loops that are
        redundant; of all where the motion only touches the end of `until`
    """

    model: Model
    columns: tuple[DerivativeColumn, ...]
    time: Array
    q: Array
    v: Array
    d_q: Array
    d_v: Array
    d_end: Array
    held: tuple[str, ...] | None
    trusted: Array

    def by(self, name: str) -> SimulationDerivatives:
        """Return the derivatives by some of the numbers: "q", "v.crank", "rod.xyz", "rod.xyz.x"."""
        places = places_named(self.columns, name)
        columns = tuple(self.columns[k] for k in places)
        names = ("d_q", "d_v", "d_end", "trusted")
        chosen = {name: getattr(self, name)[..., places] for name in names}
        return replace(self, columns=columns, **chosen)

    def tables(self) -> tuple[Table, ...]:
        """Return the derivatives of the final state: a row for each number."""
        units, names = state_units(self.model), self.model.velocity_names
        final = [*zip(self.model.coordinate_names, self.d_q[-1], strict=True)]
        final += [*zip((f"{name}.vel" for name in names), self.d_v[-1], strict=True)]
        series = [
            Series(name, [per(units[name], column.unit) for column in self.columns], row)
            for name, row in final
        ]
        numbers = Series("by", "", self.column_names)
        title = f"derivatives of the state at {self.time[-1]:.6g} s"
        notes = undetermined(self.columns, [one.values for one in series])
        return (Table(title, numbers, series, notes=notes),)

    def __repr__(self) -> str:
        records = count(len(self.time), "record")
        return f"SimulationDerivatives({records}; by {count(len(self.columns), 'number')})"


def untrusted(array: Array, trusted: Array) -> Array:
    """Return derivatives (..., K) with nan where nothing is known of them."""
    return array if trusted.all() else np.where(trusted, array, np.nan)
