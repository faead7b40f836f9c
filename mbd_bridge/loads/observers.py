"""One pass along a motion for all who look at it: the loads that they need are solved once a piece.

An observer says what it `needs`, sees each piece of the motion with these loads, and has a result
in the end. Where the motion is noisy, the states are displaced once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

import numpy as np

from mbd_bridge.base.arrays import Flags
from mbd_bridge.base.errors import some
from mbd_bridge.files.tables import TableWriter
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.export import load_attributes, load_columns, load_rows
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.selected import select_joints
from mbd_bridge.loads.uncertainty import LoadUncertainty, load_numbers, uncertain
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, Pieces
from mbd_bridge.motion.deviations import noise_deviations
from mbd_bridge.motion.table import COMPONENTS, TIME, attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbd_bridge.loads.request import LoadRequest


@dataclass(frozen=True)
class Needs:
    """What an observer needs of a motion's loads.

    Attributes
    ----------
    joints : names; None for all, () for none
    convention : on which body, at which point, in which axes
    reaction : also the loads without the actuations' part
    efforts : also what actuators do along all velocities (`JointLoads.efforts`)
    deviations : gives numbers (N, k) of a motion and such loads; how far the motion's noise leaves
        them open is in ``loads.uncertainty.needed``
    """

    joints: tuple[str, ...] | None = None
    convention: Convention = Convention()  # noqa: RUF009 - it is frozen
    reaction: bool = False
    efforts: bool = False
    deviations: Callable[[Motion, JointLoads], Array] | None = None

    @staticmethod
    def of(request: LoadRequest) -> Needs:
        """Return the need for what a request asks for."""
        return Needs(request.joints, request.convention, request.reaction)


class Observer(Protocol):
    """Sees a motion and the loads along it piece by piece, and has a result in the end.

    What the result says that it `assumed` is among the assumptions of a `LoadHistory`.
    """

    def needs(self) -> Needs:
        """Return which loads `add` is to get."""

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""

    def result(self) -> Any:
        """Return what came of the pieces so far."""


class LoadSystem(Protocol):
    """A machine with what acts on it: gives the loads at the states of a motion."""

    @property
    def model(self) -> Model:
        """The machine."""

    def loads(self, needs: Needs, motion: Motion, *, check: bool) -> JointLoads:
        """Return the loads; `check` those of the motion itself, and not those of displaced ones."""

    def efforts(self, motion: Motion, *, check: bool) -> Array:
        """Return what actuators do along the velocities, (N, nv)."""


def watch(
    pieces: Iterable[Motion], system: LoadSystem, observers: Mapping[str, Observer]
) -> dict[str, Any]:
    """Return the results of observers of a motion and of the loads along it, by name.

    Parameters
    ----------
    pieces : of the motion: a `Pieces` of a file, or a list of motions
    system : what acts along it
    """
    union = _Union(system, [one.needs() for one in observers.values()])
    for motion in pieces:
        for one, loads in zip(observers.values(), union.along(motion), strict=True):
            one.add(motion, loads)
    return {name: one.result() for name, one in observers.items()}


class _Solved(NamedTuple):
    """The loads along a motion by convention, and the actuators' efforts if these are needed."""

    motion: Motion
    loads: dict[Convention, JointLoads]
    efforts: Array | None


class _Union:
    """What several observers need together."""

    def __init__(self, system: LoadSystem, needs: Sequence[Needs]) -> None:
        self._system, model = system, system.model
        self._needs = list[Needs]()
        self._wholes: dict[Convention, Needs] = {}
        for one in needs:
            if one.joints is None:
                one = replace(one, joints=select_joints(model, None, cuts=model.has_loops)[0])
            self._needs.append(one)
            if one.joints:
                known = self._wholes.get(one.convention, Needs((), one.convention))
                joints = tuple(dict.fromkeys((*(known.joints or ()), *one.joints)))
                reaction = known.reaction or one.reaction
                self._wholes[one.convention] = Needs(joints, one.convention, reaction)

    def along(self, motion: Motion) -> list[JointLoads]:
        """Return the loads along a piece for each observer."""
        solved = self._solve(motion)
        asked = [k for k, one in enumerate(self._needs) if one.deviations is not None]

        def numbers(base: _Solved) -> Callable[[_Solved], list[Array]]:
            each = [load_numbers(loads) for loads in base.loads.values()]

            def of(other: _Solved) -> list[Array]:
                pairs = zip(each, other.loads.values(), strict=True)
                parts = [part for f, loads in pairs for part in f(loads)]
                for k in asked:
                    of_piece = self._needs[k].deviations
                    assert of_piece is not None
                    parts.append(of_piece(other.motion, self._seen(k, other)))
                return parts

            return of

        known = None
        if self._wholes or asked:
            closed = self._system.model if self._system.model.has_loops else None
            answer = partial(self._solve, check=False)
            known = noise_deviations(motion, closed, answer, numbers, solved)
        if known is None:
            return [self._seen(k, solved) for k in range(len(self._needs))]
        parts = iter(known)
        wholes = {how: uncertain(loads, motion, parts) for how, loads in solved.loads.items()}
        seen = [self._seen(k, solved._replace(loads=wholes)) for k in range(len(self._needs))]
        for k in asked:
            deviations = seen[k].uncertainty or _nothing(len(motion.time))
            seen[k] = replace(seen[k], uncertainty=replace(deviations, needed=next(parts)))
        return seen

    def _solve(self, motion: Motion, *, check: bool = True) -> _Solved:
        loads = {
            how: self._system.loads(one, motion, check=check) for how, one in self._wholes.items()
        }
        if not any(one.efforts for one in self._needs):
            return _Solved(motion, loads, None)
        known = [one.efforts for one in loads.values() if one.efforts is not None]
        efforts = known[0] if known else self._system.efforts(motion, check=check)
        return _Solved(motion, loads, efforts)

    def _seen(self, k: int, solved: _Solved) -> JointLoads:
        """Return what an observer sees of the loads."""
        one = self._needs[k]
        if not one.joints:
            none = _nothing(len(solved.motion.time))
            flags = np.zeros((len(none.force), 0, 6), dtype=bool), none.actuation.astype(bool)
            return JointLoads(
                (),
                *(none.force, none.moment, none.actuation),
                *((), ()),
                *flags,
                one.convention,
                model=self._system.model,
                time=solved.motion.time,
                efforts=solved.efforts if one.efforts else None,
            )
        loads = solved.loads[one.convention].among(one.joints, reaction=one.reaction)
        return replace(loads, efforts=solved.efforts) if one.efforts else loads


def _nothing(rows: int) -> LoadUncertainty:
    """Return the deviations of no loads."""
    vectors, lengths = np.zeros((rows, 0, 3)), np.zeros((rows, 0))
    return LoadUncertainty(vectors, vectors, lengths, lengths, lengths, lengths)


class Written(NamedTuple):
    """What was written of loads.

    Attributes
    ----------
    rows : states
    name : of the file; None: a stream
    lost : notes on columns that are not determined throughout, though their names do not say so
    """

    rows: int
    name: str | None
    lost: tuple[str, ...]


class LoadWriter:
    """Observer that writes times and loads into a table; its ``with`` block makes the file whole.

    Parameters
    ----------
    output : .parquet, .csv, .npz or .h5 file, or a stream for CSV
    pieces : of the motion, which are told of in the file
    digits : significant digits in a text; None for all
    more : attributes of the file, beside those of all such files
    """

    def __init__(
        self,
        output: str | PathLike[str] | TextIO,
        needs: Needs,
        pieces: Pieces,
        digits: int | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._output, self._needs, self._pieces = output, needs, pieces
        self._digits, self._more, self._stack = digits, more, ExitStack()
        self._rows, self._bands = 0, False
        self._writer: TableWriter | None = None
        self._joints: tuple[str, ...] = ()
        self._named: Flags = np.zeros((0, 6), dtype=bool)
        self._sure = self._named

    def __enter__(self) -> LoadWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def needs(self) -> Needs:
        """Return which loads are written."""
        return self._needs

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Write the next piece."""
        if self._writer is None:
            pieces, title = self._pieces, "joint loads of"
            said = attributes(f"{title} {pieces.model.name} along {pieces.name}", pieces.notes)
            said |= {**self._more, **load_attributes(loads)}
            columns = [TIME, *load_columns(loads)]
            writer = TableWriter(self._output, columns, said, digits=self._digits)
            self._writer = self._stack.enter_context(writer)
            self._joints, self._bands = loads.joints, loads.uncertainty is not None
            self._named = self._sure = loads.determined
        self._sure = self._sure & loads.determined
        self._writer.append(np.column_stack([motion.time, load_rows(loads, self._bands)]))
        self._rows += len(motion.time)

    def result(self) -> Written:
        """Return what was written."""
        name = fspath(self._output) if isinstance(self._output, str | PathLike) else None
        places = np.argwhere(self._named & ~self._sure)
        lost = [f"{self._joints[j]}.{COMPONENTS[k]}" for j, k in places]
        said = "not determined throughout, though the names of their columns do not say so"
        return Written(self._rows, name, (f"{said}: {some(lost, 6)}",) if lost else ())
