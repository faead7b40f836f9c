"""The derivatives of a simulation, prepared once: forward, and the march that both ways share.

The motion is that of `simulate` with the same options: the same steps, of the same numbers. Its
derivatives are those of the steps as they are computed, exact to rounding.

Backward the states are needed in reverse. They are kept if they are few; of long motions only the
states between segments are, and each segment is marched once more: memory grows with the root of
the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import SolveError, StateError, whole_number
from mbd_bridge.base.options import part, with_options
from mbd_bridge.kernels.march import March
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.warnings import warn_left_out
from mbd_bridge.simulation.derivatives.gradient import SimulationGradientSolver, StateNumber
from mbd_bridge.simulation.derivatives.result import SimulationDerivatives, untrusted
from mbd_bridge.simulation.derivatives.start import StartColumns
from mbd_bridge.simulation.derivatives.steps import STATE, StepDerivatives
from mbd_bridge.simulation.options import GivenActsOptions, SimulationDerivativeOptions
from mbd_bridge.simulation.run.problem import check_records, check_start, number_of_steps
from mbd_bridge.simulation.signals.tables import length_to
from mbd_bridge.simulation.start import given_state, rows_and_dof, start_state
from mbd_bridge.simulation.steps.schemes import NullSpace, compiled_scheme
from mbd_bridge.simulation.steps.trusted_step import CARRIED
from mbd_bridge.simulation.system import HasModel, System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.tolerances import STEP_RISK

if TYPE_CHECKING:
    from mbd_bridge.forces.acts import StartStates

KEPT = 2**22
"""Numbers of states that are kept at a time (32 MiB)."""


class EqualSteps(NamedTuple):
    """Steps of one length: the first one, the one behind the last, their length, tables there."""

    first: int
    stop: int
    h: float
    stream: Array | None

    def parts(self, most: int) -> Iterator[EqualSteps]:
        """Yield parts of so many steps at most."""
        for first in range(self.first, self.stop, most):
            stop, stream = min(first + most, self.stop), self.stream
            if stream is not None:
                stream = stream[first - self.first : stop - self.first]
            yield EqualSteps(first, stop, self.h, stream)


class DerivedStart(NamedTuple):
    """A motion that begins.

    Attributes
    ----------
    steps : its marches
    held, p : what stays as it is
    state : q, v, t at the start
    rates : (n, K) of these by the K numbers, by name
    trusted : (K,) which of them are sound
    """

    steps: StepDerivatives
    held: Array
    p: Array
    state: tuple[Array, Array, Array]
    rates: dict[str, Array]
    trusted: Array

    @property
    def constant(self) -> list[Array]:
        """What steps take beside state and length."""
        known = {"held": self.held, "p": self.p}
        return [known[name] for name in known if name in self.steps.sizes]


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
    times : (M + 1,) s, of the steps
    records : which of these are recorded
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
        self._h = float(duration) / steps
        self._start = check_start(options["start"], self._h)
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
        self._grid(steps)
        self.records = np.append(self._ends[:-1][::every], self._ends[-1])

    def _grid(self, steps: int) -> None:
        """Lay out the times of the steps, which end where tables bend or jump."""
        start, h = self._start, self._h
        times = np.add.accumulate(np.concatenate([[start], np.full(steps, h)]))
        knots = self._columns.system.knots(start, h, self._scheme)
        inside = [x for x in knots.times.tolist() if start < x < times[-1] and x not in times]
        if self._scheme.remembers and len(knots.times):
            raise StateError(
                "integrator: its steps begin anew where a table jumps; take 'rk4', or a formula"
            )
        self.times = np.sort(np.append(times, inside))
        self._ends = np.searchsorted(self.times, times)
        lengths, grid = np.full(len(self.times) - 1, h), np.isin(self.times, times)
        for k in np.flatnonzero(~(grid[:-1] & grid[1:])).tolist():
            lengths[k] = length_to(float(self.times[k]), float(self.times[k + 1]))
        edges = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]
        self._pieces = []
        for first, stop in pairwise(edges):
            own = float(lengths[first])
            stream = self._trajectory.stream(self.times[first : stop + 1], own)
            self._pieces.append(EqualSteps(first, stop, own, stream))

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
        begun = self.begun(q, v, z, parameters)
        march, moved, model = begun.steps.forward, begun.rates, self.model
        lanes, number = march.lanes, len(self.columns)
        shape = len(self.records), number
        d_q, d_v = np.empty((shape[0], model.nq, number)), np.empty((shape[0], model.nv, number))
        for first in range(0, number, lanes):
            some = slice(first, min(first + lanes, number))
            count = some.stop - first
            lane_rates = {
                name: np.pad(moved[name][:, some], ((0, 0), (0, lanes - count))).T
                for name in (*STATE, *self._columns.moving)
            }
            stage = march.start()
            start = [*begun.state, *(lane_rates[name] for name in STATE)]
            others = [lane_rates[name] for name in self._columns.moving]
            march.put(stage, *start, np.zeros(1), *begun.constant, *others)
            found = [np.concatenate(x) for x in zip(*self._recorded(march, stage), strict=True)]
            q_all, v_all, d_q_all, d_v_all = found
            d_q[..., some] = d_q_all[:, :count].transpose(0, 2, 1)
            d_v[..., some] = d_v_all[:, :count].transpose(0, 2, 1)
        trusted = begun.trusted
        return SimulationDerivatives(
            model,
            self.columns,
            self.times[self.records],
            q_all[:, 0],
            v_all[:, 0],
            untrusted(d_q, trusted),
            untrusted(d_v, trusted),
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

    # -- what forward and backward share ---------------------------------------------------------

    def begun(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        z: StartStates | None,
        parameters: ParameterValues | ArrayLike | None,
    ) -> DerivedStart:
        """Return the motion from such a start."""
        system = self._columns.system
        held, p = self._columns.values(self._trajectory.held, parameters)
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
            moved = np.concatenate([rates[name] for name in ("q", "v", *steps.moving)])
            rates["t"][behind:] = slopes @ moved
        return DerivedStart(steps, held, p, (q0, v0, t), rates, trusted)

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

    def _recorded(self, march: March, stage: Array) -> Iterator[list[Array]]:
        """Yield q, v, dq and dv (records, lanes, size), from the start to the end."""
        places = (0, 1, len(STATE), len(STATE) + 1)

        def now() -> list[Array]:
            state = march.state_of(stage)
            return [np.atleast_2d(state[k])[None] for k in places]

        yield now()
        every = int(self.records[1] - self.records[0]) if len(self._pieces) == 1 else 1
        wanted = set(self.records.tolist())
        for piece in self._pieces:
            count = piece.stop - piece.first
            self._set(march, stage, piece)
            stream = None
            if piece.stream is not None:
                stream = np.repeat(piece.stream, march.lanes, axis=2)
            taken, out = march.advance(stage, count, every, STEP_RISK, stream)
            if taken < count or (march.steps_of(stage) < count).any():
                raise self._stopped(piece.first + int(march.steps_of(stage).min()))
            at = piece.first + every * np.arange(1, count // every + 1)
            kept = np.array([k in wanted for k in at.tolist()], dtype=bool)
            yield [out[k].reshape(len(at), march.lanes, -1)[kept] for k in places]
        if len(self._pieces) == 1 and count % every:
            yield now()

    def _set(self, march: March, stage: Array, piece: EqualSteps) -> None:
        """Write time and length of a piece's steps into a stage."""
        for name, value in (("t", self.times[piece.first]), ("h", piece.h)):
            place = march.place_of(name)
            stage[place : place + march.lanes] = value

    def states(self, begun: DerivedStart) -> Iterator[tuple[EqualSteps, list[Array]]]:
        """Yield parts of the motion, the last one first, with q, v, t (steps + 1, size) there.

        Raises
        ------
        SolveError
            A step is not trusted.
        """
        march = begun.steps.run
        stage, now = march.start(), [*begun.state]
        march.put(stage, *now, np.zeros(1), *begun.constant)
        most = max(isqrt(len(self.times)), KEPT // sum(map(len, now)))
        parts = [part for piece in self._pieces for part in piece.parts(most)]
        begins = []
        for piece in parts[:-1]:
            begins.append(march.state_of(stage))
            self._marched(march, stage, piece, [None] * len(STATE))
        for k in reversed(range(len(parts))):
            if k < len(begins):
                march.put(stage, *begins[k])
            now = march.state_of(stage)
            rows = parts[k].stop - parts[k].first + 1
            kept = [np.empty((rows, len(x))) for x in now]
            for array, x in zip(kept, now, strict=True):
                array[0] = x
            self._marched(march, stage, parts[k], kept)
            yield parts[k], kept

    def _marched(
        self, march: March, stage: Array, piece: EqualSteps, kept: Sequence[Array | None]
    ) -> None:
        """Take the steps of a piece; what they come to is written behind the first rows kept."""
        self._set(march, stage, piece)
        places = np.zeros((len(march.shapes), 1), dtype=np.int64)
        for k, array in enumerate(kept):
            places[k] = 0 if array is None else array[1:].ctypes.data
        count, stream = piece.stop - piece.first, piece.stream
        taken = march.advance_into(stage, count, 1, places, STEP_RISK, stream)
        if taken < count:
            raise self._stopped(piece.first + taken)

    def _stopped(self, step: int) -> SolveError:
        return SolveError(
            f"the step from t = {self.times[step]:.6g} s is not trusted: a singular position is "
            f"near, the step is too long, or not finite. Derivatives end there; take shorter ones "
            f"(step=), a shorter duration, or see what simulate tells"
        )
