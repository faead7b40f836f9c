"""A file from which a long run goes on after it was killed, to the same digits.

It holds the exact state, the counts and all records, and it is replaced in one move: at any time
the file is either the last checkpoint or the one before, whole. A file of another problem, or of
machine code that rounds differently, is refused.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mbd_bridge.errors import FileError, StateError
from mbd_bridge.spatial import Array

FORM = 1
"""Of the file; another one cannot be read."""

Kept: TypeAlias = tuple[int, int, Array, Array, Array, Array]
"""Steps done, detours, the state (t, q, v), and time, q, v of the records."""


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
        if self.every < 1:
            raise StateError(f"checkpoint_every: expected a whole number from 1, got {self.every}")
        if not self.path.parent.is_dir():
            raise FileError("the folder of the checkpoint is not there", str(self.path))
        self._probe = np.zeros(0)

    def read(self, probe: Array) -> Kept | None:
        """Return what the file keeps, None if there is no file; keep the probe for writing."""
        self._probe = probe
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                data = {name: file[name] for name in file.files}
            form, done, detours = (int(x) for x in data["counts"])
            kept = done, detours, data["state"], data["time"], data["q"], data["v"]
            same = form == FORM and np.array_equal(data["probe"], probe)
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as problem:
            raise FileError(
                f"this is no checkpoint of a simulation ({problem}); remove it, or name another",
                str(self.path),
            ) from None
        if not same:
            raise FileError(
                "this checkpoint is of another simulation: mechanism, start, duration, step, "
                "every, torque, drives and the program must be the same. Remove it to start afresh",
                str(self.path),
            )
        return kept

    def write(self, done: int, detours: int, state: Array, time: Array, q: Array, v: Array) -> None:
        """Replace the file, in one move."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                counts = np.array([FORM, done, detours])
                np.savez(file, counts=counts, probe=self._probe, state=state, time=time, q=q, v=v)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
