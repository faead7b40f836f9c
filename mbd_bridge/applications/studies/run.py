"""A study: all variants of a design, in parts, by one process or by thousands.

A part is a batch for the vector lanes, never a single run. It is named after what it is computed
from, so a study that was killed goes on, one that was made before is read, and one that shares
variants with another computes the others only.

What travels to the workers of a study.
"""

from __future__ import annotations

import functools
import io
import json
import pickle
import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, Unpack

import numpy as np

from mbd_bridge.applications.studies.design import Design
from mbd_bridge.applications.studies.digest import digest_of
from mbd_bridge.applications.studies.evaluate import (
    Columns,
    LoadsOfStates,
    Motions,
    Output,
    Variants,
    numbers_of,
)
from mbd_bridge.applications.studies.options import StudyOptions
from mbd_bridge.applications.studies.result import (
    FINISHED,
    STATUS,
    Endings,
    KindOfEnding,
    StudyResult,
    endings_of,
)
from mbd_bridge.base.arguments import (
    an_instance,
    by_name,
    file_path,
    flag,
    function_or_none,
    name_list,
)
from mbd_bridge.base.errors import (
    FileError,
    SolveError,
    StateError,
    count,
    real_number,
    warn,
    whole_number,
)
from mbd_bridge.base.options import part, with_options
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables.parquet import packages, parquet_rows
from mbd_bridge.files.whole_file import BLANK, END, is_sealed, seal, whole_path
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.options import GivenActsOptions
from mbd_bridge.simulation.system import HasModel, System

# The parts of a study: tables named after what they were computed from, whole or not there.
#
# Each is a Parquet file with a seal (`whole_file`): no bit of it that has changed is believed.

FORM = "2"
"""Of the parts; those of another one are computed anew."""
ENDINGS = "endings"
"""Attribute with the ways in which variants ended."""
ABANDONED = 3600.0
"""s after which a file that is still being written was left by a process that was killed."""


@dataclass(frozen=True, eq=False)
class StudyPart:
    """What was computed of some variants.

    Attributes
    ----------
    outputs : by name, (N,)
    endings : the ways in which they ended, by the numbers in the output "status"; () without one
    """

    outputs: dict[str, Array]
    endings: tuple[KindOfEnding, ...] = ()


@dataclass(frozen=True)
class Parts:
    """The folder with the parts of studies; it may hold several studies."""

    folder: Path

    def made(self) -> Parts:
        """Return it, with the folder made and what killed processes left taken away."""
        packages(str(self.folder))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f".*.parquet.*{END}"):
                if time.time() - left.stat().st_mtime > ABANDONED:
                    left.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(f"the folder of a study: {error}", str(self.folder)) from error
        return self

    def path(self, key: str) -> Path:
        """Return where a part is kept."""
        return self.folder / f"{key}.parquet"

    def holds(self, key: str) -> bool:
        """Return whether a part is there, whole or damaged."""
        return self.path(key).is_file()

    def load(self, key: str, number: int) -> StudyPart | None:
        """Return a part of so many variants; None if it is not there, or damaged."""
        arrow, parquet = packages(str(self.folder))
        try:
            file = io.BytesIO(self.path(key).read_bytes())
            if not is_sealed(file):
                return None
            found = parquet.read_table(file)
            said = found.schema.metadata or {}
            if said.get(b"key") != key.encode() or found.num_rows != number:
                return None
            columns = {
                name: np.asarray(found.column(name).to_numpy(), dtype=float)
                for name in found.column_names
            }
            endings = json.loads(said[ENDINGS.encode()])
            return StudyPart(columns, tuple(KindOfEnding(*one) for one in endings))
        except (OSError, ValueError, KeyError, TypeError, MemoryError, arrow.ArrowException):
            return None

    def store(self, key: str, part: StudyPart) -> None:
        """Keep a part; at any time the file is whole or not there."""
        columns = [Column(name, None) for name in part.outputs]
        attributes = {"key": key, ENDINGS: json.dumps(part.endings), "form": FORM}
        attributes["seal"] = BLANK.decode()
        with whole_path(self.path(key)) as path:
            with parquet_rows(path, columns, attributes) as append:
                append(np.stack(list(part.outputs.values()), axis=1))
            with path.open("r+b") as file:
                seal(file)


def key_of(digest: str, columns: Mapping[str, Array]) -> str:
    """Return the name of the part with these values of the factors."""
    return digest_of((FORM, digest, columns))[:32]


WORKERS_REMEMBER = 8
"""Studies whose machine code a worker keeps from part to part."""

TRIED = 17
"""Variants all over a design that are tried where the first one fails."""
CHECKED = 2**16
"""Variants whose numbers are checked at a time."""
AHEAD = 64
"""Parts that are handed to an executor before the first of them is done, if not said otherwise."""

Evaluate: TypeAlias = Callable[[Columns], Mapping[str, Array]]
"""Computes numbers (N,) by name from the values (N,) of the factors."""


def packed(evaluate: Callable[[Mapping[str, Array]], Any]) -> bytes:
    """Return what computes the parts, ready to travel to another process.

    Raises
    ------
    StateError
        It holds a function that cannot travel.
    """
    try:
        return pickle.dumps(evaluate, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        try:
            import cloudpickle  # comes with Dask
        except ImportError:
            raise StateError(
                f"what the study computes cannot go to another process ({problem}): define its "
                f"functions at the top of a module, or install cloudpickle"
            ) from None
        return bytes(cloudpickle.dumps(evaluate, protocol=5))


@functools.lru_cache(maxsize=WORKERS_REMEMBER)
def unpacked(content: bytes) -> Callable[[Mapping[str, Array]], Any]:
    """Return what computes the parts, in a worker: the same one for all parts of a study."""
    found: Callable[[Mapping[str, Array]], Any] = pickle.loads(content)
    return found


class Future(Protocol):
    """What an executor returns: of `concurrent.futures`, of Dask, of others like them."""

    def result(self) -> Any:
        """Return what the call returned, or raise what it raised."""

    def add_done_callback(self, fn: Callable[[Any], Any]) -> Any:
        """Call `fn` with the future when it is done."""

    def cancel(self) -> Any:
        """Do not begin, if it was not begun."""


class Executor(Protocol):
    """What runs calls elsewhere."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future:
        """Run a call, and return its future."""


@with_options
def study(
    machine: HasModel | System | Evaluate, design: Design, **options: Unpack[StudyOptions]
) -> StudyResult:
    """Return chosen numbers of all variants of a design.

    Parameters
    ----------
    machine : a mechanism or `System`, whose variants are simulated (`duration`) or whose joint
        loads are computed at one state each; or a function of the factors' values (N,) by name that
        returns numbers (N,) by name
    design : the factors and their values, such as ``mbd.studies.sobol({...}, 4096)``. A factor is
        a coordinate or rate at the start (``crank``, ``crank.vel``), an input of the system, or a
        number of the mechanism or of a force element (``coupler.mass``, ``spring.stiffness``)
    **options : what acts on all variants, what is computed of them, and where

    Notes
    -----
    Trouble of one variant is not raised: its outputs are nan, `StudyResult.statuses` counts why. If
    the first one fails some others are tried, and the study stops where all of them fail.
    """
    an_instance("design", design, Design, "mbd.studies.grid({...})")
    batch, ahead = whole_number("batch", options["batch"]), options["ahead"]
    ahead = None if ahead is None else whole_number("ahead", ahead)
    progress = function_or_none("progress", options["progress"], "of the number of variants")
    variables = function_or_none(
        "variables", options["variables"], "of the factors' values by name"
    )
    folder, duration = options["folder"], options["duration"]
    parts_folder = None if folder is None else Path(file_path("folder", folder))
    acts: dict[str, Any] = {**part(GivenActsOptions, options)}
    acts["effort_limits"] = flag("effort_limits", options["effort_limits"]) or None
    if options["external"] is None:
        acts["external_in"] = None
    acting = {name: value for name, value in acts.items() if value is not None}
    evaluate: Evaluate
    if isinstance(machine, System) or hasattr(machine, "model"):
        named = _named(options["outputs"])
        mechanism, acting = _held(machine, acting)
        start = {
            name: real_number(f"near: {name}", value, "a number")
            for name, value in by_name("near", options["near"], "{'crank': 0.5}").items()
        }
        shared = mechanism, acting, named, start, variables
        if duration is None:
            evaluate = LoadsOfStates(*shared)
        else:
            seconds = real_number("duration", duration, "s, more than 0", positive=True)
            how = options["step"], options["every"], options["integrator"], options["threads"]
            evaluate = Motions(*shared, seconds, *how)
    elif callable(machine):
        if acting or options["outputs"] or options["near"] or duration is not None:
            raise StateError(
                "a function computes its outputs itself: leave duration, outputs, near and what "
                "acts out, or give a mechanism"
            )
        evaluate = machine
    else:
        raise StateError(
            f"machine: expected a Mechanism, a System or a function, got {type(machine).__name__}"
        )
    parts = None if parts_folder is None else Parts(parts_folder).made()
    digest = "" if parts is None else digest_of(evaluate)
    _check_numbers(evaluate, design)
    _try_some(evaluate, design)
    runner = _Runner(
        evaluate, design, parts, digest, batch, *_usable(options["executor"], ahead), progress
    )
    return runner.result()


def _usable(executor: Any, ahead: int | None) -> tuple[int, Executor | None]:
    """Return how many parts wait in an executor, and what runs them there."""
    client = getattr(executor, "get_executor", None)  # of a Dask client
    if not (executor is None or callable(client) or callable(getattr(executor, "submit", None))):
        raise StateError(
            f"executor: expected one of concurrent.futures, a Dask client or what has their "
            f"submit(), got {type(executor).__name__}"
        )
    if not callable(client):
        return ahead or AHEAD, executor
    return ahead or max(AHEAD, 2 * sum(executor.ncores().values())), client()


def _named(outputs: Mapping[str, Output] | Sequence[str] | None) -> dict[str, Output]:
    """Return the outputs by name; phrases in a list are their own names."""
    if isinstance(outputs, Mapping):
        chosen = dict(outputs)
    else:
        phrases = () if outputs is None else name_list("outputs", outputs, "outputs")
        chosen = dict(zip(phrases, phrases, strict=True))
    for name, phrase in chosen.items():
        if not (isinstance(name, str) and (isinstance(phrase, str) or callable(phrase))):
            raise StateError(
                f"outputs: expected phrases such as 'peak elbow.moment', or functions, by name; "
                f"got {phrase!r:.60} as {name!r:.30}"
            )
        if name in (FINISHED, STATUS):
            raise StateError(f"outputs: {name!r} is there anyway, and says how a variant ended")
    if not chosen:
        raise StateError("outputs: expected one or more, such as ['peak elbow.moment']")
    return chosen


def _held(machine: Any, given: dict[str, Any]) -> tuple[HasModel | Model, dict[str, Any]]:
    """Return the mechanism, and what acts on it."""
    if not isinstance(machine, System):
        return machine, given
    if given:
        raise StateError(f"{next(iter(given))}: a System has its own; give it there")
    if machine.made_of is None:
        raise StateError("a System from another process: make it here, mbd.System(robot, ...)")
    return machine.made_of


def _check_numbers(evaluate: Evaluate, design: Design) -> None:
    """Refuse values that a mechanism cannot have before the first variant is computed."""
    if isinstance(evaluate, Variants):
        for start in range(0, len(design), CHECKED):
            evaluate.check(design.columns(start, start + CHECKED))


def _try_some(evaluate: Evaluate, design: Design) -> None:
    """Compute the first variant: its mistakes show here, and workers find its machine code.

    Raises
    ------
    StateError
        Nothing comes of it, nor of others all over the design.
    """
    if not len(design):
        return
    first = _part(evaluate, design.columns(0, 1)).endings
    if not first or first[0].kind == FINISHED:
        return
    others = np.unique(np.linspace(0, len(design) - 1, TRIED).astype(int))
    values = design.values[others]
    names = zip(design.names, values.T, strict=True)
    endings = _part(evaluate, {name: np.ascontiguousarray(x) for name, x in names}).endings
    if any(one.kind == FINISHED for one in endings):
        return
    factors = ", ".join(f"{n} = {x:g}" for n, x in zip(design.names, values[0], strict=True))
    raise StateError(
        f"none of the {count(len(others), 'variant')} tried first, all over the design, comes to "
        f"its end. That of {factors}: {first[0].example}"
    )


def _part(
    evaluate: Evaluate, columns: Columns, progress: Callable[[float], None] | None = None
) -> StudyPart:
    """Return the outputs of some variants; `progress` gets how many more of them are computed."""
    if isinstance(evaluate, Variants):
        found, sentences = evaluate.with_status(columns, progress)
        found[STATUS], endings = endings_of(sentences)
        return StudyPart(found, endings)
    number = len(next(iter(columns.values())))
    made = by_name("what the function returns", evaluate(columns), "{'y': numbers}")
    if not made:
        raise StateError("what the function returns: expected numbers by name, got none")
    return StudyPart({n: numbers_of(f"output {n!r}", values, number) for n, values in made.items()})


def _part_elsewhere(content: bytes, columns: Columns) -> StudyPart:
    """Return the outputs of some variants, in a worker."""
    return _part(unpacked(content), columns)


class _Runner:
    """The parts of one study on their way."""

    def __init__(
        self,
        evaluate: Evaluate,
        design: Design,
        kept: Parts | None,
        digest: str,
        batch: int,
        ahead: int,
        executor: Executor | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.evaluate, self.design, self.kept, self.batch = evaluate, design, kept, batch
        self.ahead, self.executor, self.progress = ahead, executor, progress
        self.digest = digest
        self.outputs: dict[str, Array] = {}
        self.endings = Endings(len(design))
        self.reused = self.damaged = self._told = 0
        self._within_part = 0.0

    def result(self) -> StudyResult:
        """Return the outputs of all variants."""
        missing = self._missing()
        if self.executor is None:
            for start, key in missing:
                columns = self._columns(start)
                self._take(start, _part(self.evaluate, columns, self._within), key)
        else:
            self._elsewhere(self.executor, missing)
        if self.kept is not None and self.damaged:
            warn(
                f"{count(self.damaged, 'part')} of the study in {str(self.kept.folder)!r} had been "
                f"damaged, and was computed again"
            )
        names, endings = self.design.names, list[KindOfEnding]()
        units = dict.fromkeys((*names, *self.outputs), "")
        if isinstance(self.evaluate, Variants):
            units |= self.evaluate.units(names)
            self.outputs[STATUS], endings = self.endings.whole()
        return StudyResult(self.design, self.outputs, tuple(endings), units, self.reused)

    def _columns(self, start: int) -> dict[str, Array]:
        return self.design.columns(start, start + self.batch)

    def _missing(self) -> Iterator[tuple[int, str]]:
        """Yield the starts and names of the parts that are to be computed; take the others."""
        for start in range(0, len(self.design), self.batch):
            if self.kept is None:
                yield start, ""
                continue
            columns = self._columns(start)
            key = key_of(self.digest, columns)
            number = min(self.batch, len(self.design) - start)
            found = self.kept.load(key, number)
            if found is None:
                self.damaged += self.kept.holds(key)
                yield start, key
            else:
                self.reused += number
                self._take(start, found, None)

    def _take(self, start: int, part: StudyPart, key: str | None) -> None:
        """Take in what was computed or read of a part; keep it if it has a name."""
        if self.kept is not None and key:
            self.kept.store(key, part)
        if not self.outputs:
            self.outputs = {name: np.full(len(self.design), np.nan) for name in part.outputs}
        elif list(self.outputs) != list(part.outputs):
            raise StateError(
                f"what the function returns: expected the same names of all variants, got "
                f"{', '.join(part.outputs)} from variant {start} on, elsewhere "
                f"{', '.join(self.outputs)}"
            )
        number = 0
        for name, values in part.outputs.items():
            number = len(values)
            self.outputs[name][start : start + number] = values
        if part.endings:
            self.endings.take(start, part.outputs[STATUS], part.endings)
        if self.progress is not None:
            self.progress(number - self._told)
        self._within_part, self._told = 0.0, 0

    def _within(self, more: float) -> None:
        """Tell the whole variants of a part that is being computed."""
        self._within_part += more
        whole = int(self._within_part) - self._told
        if self.progress is not None and whole > 0:
            self._told += whole
            self.progress(whole)

    def _elsewhere(self, executor: Executor, missing: Iterator[tuple[int, str]]) -> None:
        """Have the parts computed by an executor, some ahead of what is done."""
        content = packed(self.evaluate)
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        going: dict[int, tuple[Future, int, str]] = {}
        try:
            while True:
                while len(going) < self.ahead and (part := next(missing, None)) is not None:
                    future = executor.submit(_part_elsewhere, content, self._columns(part[0]))
                    going[id(future)] = future, *part
                    future.add_done_callback(done.put)
                if not going:
                    return
                future, start, key = going.pop(id(done.get()))
                self._take(start, self._of(future, start), key)
        finally:
            for future, _, _ in going.values():
                future.cancel()

    def _of(self, future: Future, start: int) -> StudyPart:
        """Return what a worker computed; say so if it died."""
        from concurrent.futures import BrokenExecutor

        try:
            found: StudyPart = future.result()
        except BrokenExecutor as problem:
            raise SolveError(
                f"a worker died while it computed the variants from {start} on ({problem}); parts "
                f"that were done are in the folder, if one was given: call again to go on"
            ) from problem
        return found
