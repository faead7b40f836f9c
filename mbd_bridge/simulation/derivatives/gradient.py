"""The gradient of one number that is made of a motion, by the discrete adjoint of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import function_or_none
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.kernels import Kernel, compile_kernel, gradient
from mbd_bridge.kernels.march import March
from mbd_bridge.loads.derivatives.request import DerivativeColumn
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.derivatives.marched import DerivedMotion, EqualSteps
from mbd_bridge.simulation.derivatives.result import untrusted
from mbd_bridge.simulation.derivatives.steps import STATE
from mbd_bridge.simulation.derivatives.until import Turn

if TYPE_CHECKING:
    from mbd_bridge.forces.acts import StartStates
    from mbd_bridge.simulation.derivatives.solver import SimulationDerivativeSolver


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
        for part, states in motion.backward():
            if end is None:
                end = [x[-1] for x in states]
                value, *weights = self._at_end(end, turn)
                rest = [np.zeros(size) for size in list(march.inputs.values())[2 : march.state]]
                march.put(stage, *weights, *rest, np.zeros(1), *motion.constant)
            value += self._back(march, stage, motion, part, states, by_rows)
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
