"""The parts of a study: tables named after what they were computed from, whole or not there."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.table import Column
from mbd_bridge.formats.tables.parquet import packages, parquet_rows
from mbd_bridge.formats.whole_file import END, whole_path
from mbd_bridge.spatial import Array

FORM = "1"
"""Of the parts; those of another one are computed anew."""
STATUS = "status"
"""Attribute with the number of motions by the way they ended."""
ABANDONED = 3600.0
"""s after which a file that is still being written was left by a process that was killed."""


@dataclass(frozen=True, eq=False)
class Part:
    """What was computed of some variants.

    Attributes
    ----------
    outputs : by name, (N,)
    statuses : how many motions ended in which way; empty where there were none
    """

    outputs: dict[str, Array]
    statuses: Mapping[str, int]


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

    def load(self, key: str, number: int) -> Part | None:
        """Return a part of so many variants; None if it is not there, or damaged."""
        arrow, parquet = packages(str(self.folder))
        try:
            found = parquet.read_table(self.path(key))
            said = found.schema.metadata or {}
            if said.get(b"key") != key.encode() or found.num_rows != number:
                return None
            columns = {
                name: np.asarray(found.column(name).to_numpy(), dtype=float)
                for name in found.column_names
            }
            return Part(columns, json.loads(said[STATUS.encode()]))
        except (OSError, ValueError, KeyError, arrow.ArrowException):
            return None

    def store(self, key: str, part: Part) -> None:
        """Keep a part; at any time the file is whole or not there."""
        columns = [Column(name, None) for name in part.outputs]
        attributes = {"key": key, STATUS: json.dumps(dict(part.statuses)), "form": FORM}
        with whole_path(self.path(key)) as path, parquet_rows(path, columns, attributes) as append:
            append(np.stack(list(part.outputs.values()), axis=1))


def key_of(digest: str, columns: Mapping[str, Array]) -> str:
    """Return the name of the part with these values of the factors."""
    content = hashlib.sha256(f"{FORM} {digest}".encode())
    for name, values in columns.items():
        content.update(f"{name} {len(values)} ".encode())
        content.update(np.ascontiguousarray(values).tobytes())
    return content.hexdigest()[:32]
