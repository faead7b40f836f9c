"""The derivatives of a simulation, prepared once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError, whole_number
from mbd_bridge.base.options import part, with_options
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.warnings import warn_left_out
from mbd_bridge.simulation.derivatives.gradient import (
    SimulationGradientSolver,
    StateNumber,
    number_kernel,
)
from mbd_bridge.simulation.derivatives.marched import DerivedMotion, StepGrid
from mbd_bridge.simulation.derivatives.result import SimulationDerivatives, untrusted
from mbd_bridge.simulation.derivatives.start import StartColumns
from mbd_bridge.simulation.derivatives.steps import STATE, StepDerivatives
from mbd_bridge.simulation.derivatives.until import Turn, Until
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
        warn_left_out(given.model, given.replaced)
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
        return Until(kernel, direction_of(given), self._trajectory)

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
