"""A file from which a long run goes on after it was killed, to the same digits.

It holds the exact state, the counts and all records, and it is replaced in one move: at any time
the file is either the last checkpoint or the one before, whole. A file of another problem, or of
machine code that rounds differently, is refused. While a run goes on it holds a lock beside the
file, which the system takes away when the process ends in whatever way: two runs cannot write to
one file.

Methods and integrators that remember more than the state start anew at every checkpoint, whether
the run was killed or not: so nothing but the state has to be kept, and the digits are the same.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.whole_file import parts_of, whole_path
from mbd_bridge.spatial import Array

FORM = 2
"""Of the file; another one cannot be read."""


class Kept(NamedTuple):
    """What a file keeps of a run.

    Attributes
    ----------
    done, steps, detours : steps of the problem, steps of the integrator, steps taken with care
    state : t, q and v behind each other
    time, q, v : of the records
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
        lock = self.path.with_name(self.path.name + ".lock")
        handle = self._taken(lock)
        try:
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            for part in parts_of(self.path):
                part.unlink(missing_ok=True)  # of a run that was killed while it wrote
            yield
        finally:
            lock.unlink(missing_ok=True)
            os.close(handle)

    def _taken(self, lock: Path) -> int:
        """Return the handle of the lock file, which nobody else holds."""
        import fcntl  # here: it is not on every system

        while True:
            try:
                handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as problem:
                raise FileError(
                    f"no checkpoint can be written here: {problem.strerror}", str(self.path)
                ) from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(handle, 20).decode(errors="replace").strip() or "unknown"
                os.close(handle)
                raise FileError(
                    f"another run is writing to this checkpoint (process {owner}). Wait for its "
                    f"end, or name another file",
                    str(self.path),
                ) from None
            try:
                if os.fstat(handle).st_ino == lock.stat().st_ino:
                    return handle
            except FileNotFoundError:
                pass
            os.close(handle)  # its owner has removed it meanwhile: this is nobody's lock

    def read(self, probe: Array) -> Kept | None:
        """Return what the file keeps, None if there is no file; keep the probe for writing."""
        self._probe = probe
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                data = {name: file[name] for name in file.files}
            form, done, steps, detours = (int(x) for x in data["counts"])
            columns = (data[name] for name in ("state", "time", "q", "v"))
            kept = Kept(done, steps, detours, *columns)
            same = form == FORM and np.array_equal(data["probe"], probe)
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as problem:
            raise FileError(
                f"this is no checkpoint of a simulation ({problem}); remove it, or name another",
                str(self.path),
            ) from None
        if not same:
            raise FileError(
                "this checkpoint is of another simulation: mechanism, start, duration, step, "
                "every, torque, drives, method, integrator and the program must be the same. "
                "Remove it to start afresh",
                str(self.path),
            )
        return kept

    def write(self, kept: Kept) -> None:
        """Replace the file, in one move."""
        columns = {name: getattr(kept, name) for name in ("state", "time", "q", "v")}
        counts = np.array([FORM, kept.done, kept.steps, kept.detours])
        with whole_path(self.path) as name, name.open("wb") as file:
            np.savez(file, counts=counts, probe=self._probe, **columns)
