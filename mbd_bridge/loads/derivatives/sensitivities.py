"""What changes the peak and the root mean square of loads along a motion.

With L the length of a force or moment (or the size of an actuation) at the N states of a motion,

    dL = (F · dF) / L,     d peak = dL at the peak's instant,     d rms = Σ F · dF / (N rms)

The peak's derivative is that at its instant: how the instant moves counts in second order only. Of
instants that tie the one that is largest after the change is not known: it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.errors import StateError, some
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.derivatives.request import DerivativeColumn, DerivativeRequest, per
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.solve.tolerances import ROUNDED

if TYPE_CHECKING:
    from mbd_bridge.loads.derivatives.result import LoadDerivatives
    from mbd_bridge.loads.derivatives.solver import DerivativeSolver

SHOWN = 6
"""How many numbers a note names before it counts."""

TIE = 1e-2
"""Part of a peak within which another instant may become the largest: a change of a hundredth."""


@dataclass(eq=False)
class LoadSensitivity:
    """How one quantity of a joint's load changes along a motion.

    Attributes
    ----------
    joint, quantity, unit : e.g. elbow, "force" (its length), "N"
    peak, time : the largest size and its instant, s
    d_peak : (K,) derivatives of the peak, per unit of each number
    rms, d_rms : root mean square over the states, and its derivatives (K,)
    ties : other instants, s, at which it is nearly as large
    """

    joint: str
    quantity: str
    unit: str
    peak: float = -1.0
    time: float = np.nan
    d_peak: Array = field(default_factory=lambda: np.zeros(0))
    ties: tuple[float, ...] = ()
    _squares: float = 0.0
    _slopes: Array | float = 0.0
    _count: int = 0
    _summits: list[tuple[float, float]] = field(default_factory=list)
    _last: tuple[Array, Array] = field(default_factory=lambda: (np.array([-1.0]), np.zeros(1)))

    @property
    def rms(self) -> float:
        """Root of the mean square."""
        return float(np.sqrt(self._squares / max(self._count, 1)))

    @property
    def d_rms(self) -> Array:
        """Its derivatives (K,)."""
        whole = np.full(len(self.d_peak), np.nan) if self._count == 0 else self._slopes
        return np.asarray(whole / (max(self._count, 1) * self.rms or np.nan))

    def add(self, time: Array, vectors: Array, slopes: Array) -> None:
        """Take in the next states: times (N,), vectors (N, n) and their derivatives (N, n, K)."""
        sizes = np.linalg.norm(vectors, axis=1)
        products = np.einsum("ni,nik->nk", vectors, slopes)
        self._squares += float(sizes @ sizes)
        self._slopes = self._slopes + products.sum(axis=0)
        self._count += len(sizes)
        row = int(np.argmax(sizes))
        around = np.concatenate([self._last[0], sizes])
        times = np.concatenate([self._last[1], time])
        tops = 1 + np.flatnonzero((around[1:-1] >= around[:-2]) & (around[1:-1] > around[2:]))
        self._summits += [(float(around[k]), float(times[k])) for k in tops]
        self._last = around[-2:], times[-2:]  # a top may be the last of a piece
        if sizes[row] > self.peak:
            self.peak, self.time = float(sizes[row]), float(time[row])
            self.d_peak = products[row] / (self.peak or np.nan)
        self._summits = [one for one in self._summits if one[0] > (1.0 - TIE) * self.peak]
        self.ties = tuple(when for _, when in self._summits if when != self.time)


def observe(mechanism: Any, request: Any, run: Any = None) -> SensitivityObserver | None:
    """Return what counts the changes that a `HistoryRequest` asks for, along a motion."""
    if request.sensitivity is None:
        return None
    if run is not None:
        raise StateError(
            "sensitivity: counted along a motion, not along a simulation, whose motion would "
            "change too; write the motion to a file and take it along that, or leave it out"
        )
    asked = request.request, request.sensitivity, request.external, request.threads
    return SensitivityObserver.of(mechanism.model, *asked)


ROWS = 1024
"""States whose derivatives are held at a time."""


class SensitivityObserver:
    """Observer of what changes the loads along a motion.

    Parameters
    ----------
    solver : of their derivatives
    external : forces on the links of its request
    """

    def __init__(
        self, solver: DerivativeSolver, external: ExternalForces | None = None, threads: int = 1
    ) -> None:
        self._solver, self._external, self._threads = solver, external, threads
        self._counter = SensitivityCounter()

    @staticmethod
    def of(
        model: Model,
        loads: LoadRequest,
        names: Iterable[str] | str,
        external: ExternalForces | None = None,
        threads: int = 1,
    ) -> SensitivityObserver:
        """Return what counts the changes by some numbers; none: by the masses of links."""
        from mbd_bridge.loads.derivatives.solver import DerivativeSolver

        by = name_list("sensitivity", names, "numbers of the machine")
        if not by:
            bent = {part.link for part in model.description.flexible}
            rigid = (link for link in model.description.links if link.name not in bent)
            by = tuple(f"{link.name}.mass" for link in rigid if link.inertia and link.inertia.mass)
        solver = DerivativeSolver(model, DerivativeRequest.of(model, loads, by))
        return SensitivityObserver(solver, external, threads)

    def needs(self) -> Needs:
        """Return that it needs no loads: derivatives come with their own."""
        return Needs(())

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        for start in range(0, len(motion.time), ROWS):
            part = motion.part(slice(start, start + ROWS))
            self._counter.add(self._solver.along(part, self._external, threads=self._threads))

    def result(self) -> LoadSensitivities:
        """Return what came of the pieces so far."""
        return self._counter.result()


class SensitivityCounter:
    """Takes in derivatives of loads along a motion, piece by piece."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], LoadSensitivity] = {}
        self._sure: dict[tuple[str, str], Array] = {}
        self._columns: tuple[DerivativeColumn, ...] = ()
        self._floors: dict[str, float] = {}

    def add(self, slopes: LoadDerivatives) -> None:
        """Take in the next piece: derivatives at N states, with their times."""
        self._columns, time = slopes.columns, slopes.loads.time
        for unit, floor in slopes.loads.round_off.floors.items():
            self._floors[unit] = max(floor, self._floors.get(unit, 0.0))
        times = np.arange(float(len(slopes.force))) if time is None else time
        for joint, quantity, unit, vectors, rates, sure in _quantities(slopes):
            place = joint, quantity
            row = self._rows.setdefault(place, LoadSensitivity(joint, quantity, unit))
            if not np.array_equal(self._sure.setdefault(place, sure), sure):
                rates = np.full_like(rates, np.nan)  # what is determined has changed
            kept = self._sure[place]
            if kept.any():
                row.add(times, vectors[:, kept], rates[:, kept])

    def result(self) -> LoadSensitivities:
        """Return what came of the pieces so far; what is rounding is zero, and has no slope."""
        rows = []
        for row in self._rows.values():
            if 0.0 <= row.peak <= self._floors.get(row.unit, 0.0):
                nothing = np.full(len(self._columns), np.nan)
                row = LoadSensitivity(row.joint, row.quantity, row.unit, 0.0, row.time, nothing)
            if row.peak >= 0.0:
                rows.append(row)
        return LoadSensitivities(tuple(rows), self._columns)


def undetermined(columns: Sequence[DerivativeColumn], rates: Iterable[Any]) -> tuple[str, ...]:
    """Return a note that names the numbers by which no derivative is known; none without any."""
    known = [np.isfinite(np.asarray(values, dtype=float)) for values in rates]
    names = [one.name for one, *sure in zip(columns, *known, strict=True) if not any(sure)]
    if not names or not known:
        return ()
    return (f"no derivative is determined here by {some(names, SHOWN)}",)


def _quantities(
    slopes: LoadDerivatives,
) -> Iterator[tuple[str, str, str, Array, Array, Array]]:
    """Yield joint, quantity, unit, vectors (N, n), derivatives (N, n, K) and what is determined."""
    loads = slopes.loads
    for k, (joint, place) in enumerate(zip(loads.joints, loads.actuation_of, strict=True)):
        sure = loads.determined[k]
        yield joint, "force", "N", loads.force[:, k], slopes.force[:, k], sure[:3]
        yield joint, "moment", "N m", loads.moment[:, k], slopes.moment[:, k], sure[3:]
        model = loads.model if place.stop > place.start else None
        units = () if model is None else actuation_units(model, joint)
        for n, unit in zip(range(place.start, place.stop), units, strict=False):
            name = "actuation" + loads.actuation_names[n].removeprefix(joint)
            own = loads.actuation[:, n : n + 1], slopes.actuation[:, n : n + 1]
            known = np.array([loads.actuation_unique[:, n].all()])
            yield joint, name, FORCE_UNIT[unit], *own, known


@dataclass(frozen=True, eq=False)
class LoadSensitivities(
    Tabular, Named[tuple[LoadSensitivity, ...]], entries="joint in these sensitivities"
):
    """What changes the loads along a motion: peaks and root mean squares, by K numbers.

    Attributes
    ----------
    rows : one for each quantity of each joint
    columns : the numbers: name, unit, the machine's own value
    """

    rows: tuple[LoadSensitivity, ...]
    columns: tuple[DerivativeColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return tuple(dict.fromkeys(row.joint for row in self.rows))

    def _entry(self, name: str) -> tuple[LoadSensitivity, ...]:
        return tuple(row for row in self.rows if row.joint == name)

    def percent(self, slopes: Array, size: float) -> Array:
        """Return derivatives (K,) of something of a size in % per % of each number; nan where the
        number is zero, or of a state.
        """
        values = np.array([column.value for column in self.columns])
        return np.asarray(np.where(values == 0.0, np.nan, slopes * values) / (size or np.nan))

    def tables(self) -> tuple[Table, ...]:
        """Return for each joint a row for each number."""
        return tuple(self._rows_of(name) for name in self.names)

    def _rows_of(self, joint: str) -> Table:
        columns, notes, said = [], [], []
        for row in self[joint]:
            units = [per(row.unit, column.unit) for column in self.columns]
            columns.append(Series(row.quantity, units, row.d_peak))
            for what, slopes, size in (
                ("peak", row.d_peak, row.peak),
                ("rms", row.d_rms, row.rms),
            ):
                percent = self.percent(slopes, size)
                shown = ["" if np.isnan(x) else f"{x:+.3g}" for x in percent]
                columns.append(Series(f"{what} %/%", "", percent.tolist(), shown=shown))
            said.append(f"{row.quantity} {row.peak:.5g} {row.unit} at {instant(row.time)} s")
            if row.ties:
                when = some(list(map(instant, row.ties)), SHOWN)
                notes.append(
                    f"{row.quantity}: nearly as large at {when} s; which instant is the peak may "
                    f"change"
                )
        title = f"what changes the peaks of {joint}: {', '.join(said)}"
        slopes = np.abs([row.d_peak for row in self[joint] if row.peak > 0.0])
        largest = slopes.max(initial=0.0, where=np.isfinite(slopes))
        matters = (~(slopes <= ROUNDED * largest)).reshape(-1, len(self.columns)).any(axis=0)
        idle = [c.name for c, counts in zip(self.columns, matters, strict=True) if not counts]
        notes += [f"changes nothing here: {some(idle, SHOWN)}"] if idle else []
        notes += undetermined(self.columns, [row.d_peak for row in self[joint]])
        names = Series("by", "", [column.name for column in self.columns])
        return Table(title, names, columns, notes=tuple(notes)).rows(matters.tolist())

    def __repr__(self) -> str:
        return f"LoadSensitivities({', '.join(self.names)}; by {len(self.columns)} numbers)"
