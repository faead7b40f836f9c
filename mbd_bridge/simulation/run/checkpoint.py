"""A file from which a long run goes on after it was killed, to the same digits.

It holds the exact state, the counts and all records, and it is replaced in one move: at any time
the file is either the last checkpoint or the one before, whole, and sealed: a damaged one is
refused before anything in it is believed. A file of another problem (see `Identity`), or of machine
code that rounds differently, is refused. While a run goes on it holds a lock beside the file, which
the system takes away when the process ends in whatever way: two runs cannot write to one file.

What tells one simulation from all others is everything that its digits depend on. Numbers that a
simulation gives at a few times would not do: two torques that differ later on only would pass for
the same. Functions are told by what they compute, their traced graph.

Methods and integrators that remember more than the state start anew at every checkpoint, whether
the run was killed or not: so nothing but the state has to be kept, and the digits are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import FileError, MbdError, StateError
from mbd_bridge.base.systems import (
    PLAIN,
    WINDOWS,
    flags,
    lock as lock_file,
    read_start,
    write_start,
)
from mbd_bridge.files.whole_file import BLANK, is_sealed, parts_of, seal, whole_path
from mbd_bridge.forces.acts import Acts
from mbd_bridge.forces.varying import Sampled
from mbd_bridge.kernels.cache import source_fingerprint
from mbd_bridge.kernels.tracing import Traceable, trace
from mbd_bridge.model import Model, digest
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.run.problem import Problem
from mbd_bridge.simulation.signals.signal import (
    Constant,
    Signal,
    TracedSignal,
    jets,
)
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory

Identity = dict[str, str]
"""Digests by what they are of, in words for messages."""


class _UntoldError(Exception):
    """Something cannot be told from something else."""


def identity_of(problem: Problem, *method: object) -> Identity:
    """Return the identity of a problem, and of the options of the method that solves it.

    Raises
    ------
    StateError
        A function cannot be traced, and so not be told from another one.
    """
    start = np.concatenate([[problem.start], problem.q, problem.v, problem.z]).tobytes()
    return {
        "start": hashlib.sha256(start).hexdigest(),
        "duration, step or every": repr((problem.h, problem.steps, problem.every)),
        "method or integrator": repr(method),
        **acting_identity(problem.trajectory.system, "checkpoint", problem.trajectory),
    }


def acting_identity(system: System, option: str, trajectory: Trajectory | None = None) -> Identity:
    """Return the identity of a mechanism and of what acts on it, and of the program.

    Parameters
    ----------
    option : for which it is asked, "checkpoint" or "folder": messages name it
    trajectory : the one that is meant; None: all that the system has

    Raises
    ------
    StateError
        A function cannot be traced, and so not be told from another one.
    """
    model, numbers = system.model, system.parameters
    _, acts = system.machine() if trajectory is None else trajectory.machine
    values = () if numbers is None else (numbers.names, _sha(numbers.values))
    if numbers is not None and trajectory is not None:
        values = numbers.names, _sha(numbers.values[trajectory.number])
    try:
        elements = enumerate(acts.elements)
        effects = [one.identity or _effect(acts, k, model, system.nz) for k, one in elements]
        parts = [(name, _signal(model, signal)) for name, signal in system.signals]
    except _UntoldError as problem:
        raise StateError(
            f"{option}: {problem}. Give numbers, tables or formulas, or leave the {option} out"
        ) from problem
    prescribed = [part for part in parts if part[0].startswith("prescribed motion ")]
    given = [part for part in parts if part not in prescribed]
    pushed = [(part.link, part.reference, part.point) for part in system.wrenches]
    places = [part.places for part in system.torques], pushed
    return {
        "mechanism": digest(model),
        "torque, external or forces": repr((given, places, effects, system.effort)),
        "parameters": repr(values),
        "prescribed motions": repr((prescribed, system.prescribed_velocities)),
        "program": program(),
    }


def _signal(model: Model, signal: Signal) -> str:
    """Return what tells a signal from all others."""
    if isinstance(signal, Sampled):
        raise _UntoldError("a Sampled function cannot be told from another one afterwards")
    if isinstance(signal, TracedSignal):
        return _graph(signal, model)
    if isinstance(signal, PolynomialSignal):
        content = (
            signal.times.tobytes() + signal.pieces.tobytes() + repr(signal.pieces.shape).encode()
        )
    elif isinstance(signal, Constant):
        content = signal.values.tobytes()
    else:
        content = np.asarray(signal.value, dtype=np.float64).tobytes()
    return f"{type(signal).__name__} {hashlib.sha256(content).hexdigest()}"


def _sha(values: Array) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()


def differences(one: Identity, other: Identity) -> list[str]:
    """Return in what two simulations differ."""
    return [name for name in one if one[name] != other.get(name)]


def _effect(acts: Acts, number: int, model: Model, nz: int) -> str:
    """Return what tells a force element of another's class: the graph of its effect."""

    def effect(t: Array, q: Array, v: Array, z: Array) -> tuple[Array, ...]:
        found = acts.effect(number, model, t[0], q, v, z)
        parts = *found.forces.items(), *found.wrenches.items(), ("rates", found.rates)
        return tuple(np.asarray(part, dtype=object).reshape(-1) for _, part in parts)

    return _hash(effect, {"t": 1, "q": model.nq, "v": model.nv, "z": nz})


def _graph(signal: TracedSignal, model: Model) -> str:
    """Return what tells an expression: its graph, of a prescribed motion with its rates."""
    state = {"t": 1, "q": model.nq, "v": model.nv}

    def force(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        return (np.asarray(signal.function(t[0], q, v)).reshape(-1),)

    def motion(t: Array) -> tuple[Array, ...]:
        jet = jets(signal, t[0])
        out = np.empty(3, dtype=object)
        out[:] = jet.value, jet.first, jet.second
        return (out,)

    return _hash(motion, {"t": 1}) if signal.of_time else _hash(force, state)


def _hash(function: Traceable, inputs: dict[str, int]) -> str:
    """Return what tells the graph of a function from others."""
    try:
        graph = trace(function, inputs)
    except (MbdError, ValueError, ArithmeticError, LookupError) as problem:
        raise _UntoldError(
            f"what cannot be traced cannot be told from something else afterwards ({problem})"
        ) from problem
    content = repr((graph.nodes, graph.outputs, graph.shapes))
    return hashlib.sha256(content.encode()).hexdigest()


def program() -> str:
    """Return what the program is; its source is not known everywhere."""
    from mbd_bridge.base.extras import versions

    source = source_fingerprint() or b""
    return f"{source.hex()} {versions(('numpy', 'scipy'))}"


END = ".mbd_bridge-lock"
"""Of the lock's name, which begins with a dot: ``poetry.lock`` beside ``poetry`` is not ours."""


WORDS = "mbd_bridge holds this lock in process "
"""What a lock says, before a number; a file that says anything else is not ours."""


_OURS = re.compile(rf"({WORDS}(\d+)\n)?")


_FLAGS = os.O_RDWR | os.O_CREAT | PLAIN


def lock_of(path: Path) -> Path:
    """Return where the lock of a file is: beside what a symbolic link leads to."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}{END}")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others from a file.

    Raises
    ------
    FileError
        Another one, in this process or elsewhere, has it; or something that is not ours is where
        the lock goes, which is left alone.
    """
    lock = lock_of(path)
    handle = _taken(path, lock)
    try:
        write_start(handle, f"{WORDS}{os.getpid()}\n".encode())
        yield
    finally:
        ours = _is_at(handle, lock)
        if ours and not WINDOWS:
            lock.unlink(missing_ok=True)
        os.close(handle)
        if ours and WINDOWS:  # which removes nothing that is open
            with contextlib.suppress(OSError):
                lock.unlink()


def _taken(path: Path, lock: Path) -> int:
    """Return the handle of the lock file, which nobody else holds."""
    while True:
        try:
            handle = os.open(lock, _FLAGS, 0o644)
        except OSError as problem:
            raise FileError(
                f"its lock {lock.name} cannot be made: {problem.strerror}; choose another place",
                str(path),
            ) from None
        try:
            _said(handle, path, lock)
            lock_file(handle)
        except BlockingIOError:
            said = _said(handle, path, lock)
            os.close(handle)
            raise FileError(
                f"another run is writing to this checkpoint (process {said or 'unknown'}). Wait "
                f"for its end, or name another file",
                str(path),
            ) from None
        except BaseException:
            os.close(handle)
            raise
        if _is_at(handle, lock):
            return handle
        os.close(handle)  # its owner has removed it meanwhile: this is nobody's lock


def _said(handle: int, path: Path, lock: Path) -> str:
    """Return the process that a lock names, nothing if it is new; refuse what is no lock."""
    facts = os.fstat(handle)
    ours = None
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1:
        ours = _OURS.fullmatch(read_start(handle, 200).decode(errors="replace"))
    if ours is None:
        raise FileError(
            f"{lock.name}, where its lock goes, is not ours, and is left alone. Remove it, or name "
            f"another checkpoint",
            str(path),
        )
    return ours[2] or ""


def _is_at(handle: int, lock: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        there = os.lstat(lock)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


FORM = 4
"""Of the file; another one cannot be read."""


DAMAGE = (
    *(KeyError, ValueError, OSError, EOFError, RuntimeError, OverflowError, TypeError),
    *(zipfile.BadZipFile, zlib.error, MemoryError),
)
"""What reading a file with a forged seal can end in."""


class KeptRun(NamedTuple):
    """What a file keeps of a run.

    Attributes
    ----------
    done, steps, detours : steps of the problem, steps of the integrator, steps taken with care
    state : t, what goes along with it, q and v behind each other
    time, q, v : of the records; times with what goes along with them, if something does
    """

    done: int
    steps: int
    detours: int
    state: Array
    time: Array
    q: Array
    v: Array


@dataclass(eq=False)
class Checkpoint:
    """Where and how often a run is kept.

    Attributes
    ----------
    path : of the file, ``.npz``
    every : steps between checkpoints
    """

    path: Path
    every: int

    def __post_init__(self) -> None:
        if not self.path.parent.is_dir():
            raise FileError("the folder of the checkpoint is not there", str(self.path))
        if self.path.is_dir():
            raise FileError("this is a folder; name a file for the checkpoint", str(self.path))
        self._probe = np.zeros(0)
        self._identity: Identity = {}

    def left(self, done: int, every: int) -> int:
        """Return the steps up to the next checkpoint, which is at a record."""
        stride = every * max(1, self.every // every)
        return stride - done % stride

    def is_due(self, done: int, steps: int, every: int) -> bool:
        """Return whether the run is to be kept now."""
        return done == steps or self.left(done, every) == self.left(0, every)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs from this file.

        Raises
        ------
        FileError
            Another run, of this process or another one, has it.
        """
        with locked(self.path):
            for part in parts_of(self.path):
                with contextlib.suppress(OSError):
                    part.unlink()  # of a run that was killed while it wrote
            yield

    def read(self, identity: Identity, probe: Array) -> KeptRun | None:
        """Return what the file keeps, None if there is no file.

        Parameters
        ----------
        identity : of the problem; kept for writing, as is the probe
        probe : numbers that the machine code gives, which rounds as that of the file does
        """
        self._identity, self._probe = identity, probe
        try:
            # a pipe would wait for its other end
            handle = os.open(self.path, os.O_RDONLY | flags("O_NONBLOCK", "O_CLOEXEC"))
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._no_checkpoint(problem.strerror or str(problem)) from None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise self._no_checkpoint("it is no plain file")
            if not is_sealed(file):
                raise self._no_checkpoint("it is damaged, or of another version")
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    data = {name: arrays[name] for name in arrays.files}
                form, done, steps, detours = (int(x) for x in data["counts"])
                columns = (data[name] for name in ("state", "time", "q", "v"))
                kept = KeptRun(done, steps, detours, *columns)
                theirs = json.loads(data["identity"].tobytes())
                other = differences(identity, theirs)
                if not other and not np.array_equal(data["probe"], probe):
                    other = ["machine code, which rounds differently here"]
            except DAMAGE as problem:
                raise self._no_checkpoint(str(problem)) from None
        if form != FORM:
            raise self._no_checkpoint("it is of another version")
        if other:
            raise FileError(
                f"this checkpoint is of another simulation: {'; '.join(other)} must be the same. "
                f"Remove it to start afresh, or name another file",
                str(self.path),
            )
        return kept

    def _no_checkpoint(self, why: str) -> FileError:
        return FileError(
            f"this is no checkpoint of a simulation ({why}); remove it, or name another",
            str(self.path),
        )

    def write(self, kept: KeptRun) -> None:
        """Replace the file, in one move."""
        columns = {name: getattr(kept, name) for name in ("state", "time", "q", "v")}
        columns["identity"] = np.frombuffer(json.dumps(self._identity).encode(), np.uint8)
        counts = np.array([FORM, kept.done, kept.steps, kept.detours])
        with whole_path(self.path) as name, name.open("w+b") as file:
            np.savez(file, counts=counts, probe=self._probe, **columns)
            file.write(BLANK)
            seal(file)
