"""The parts of a study: tables named after what they were computed from, whole or not there.

Each is a Parquet file with a seal (`whole_file`): no bit of it that has changed is believed.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbd_bridge.applications.studies.digest import digest_of
from mbd_bridge.applications.studies.endings import KindOfEnding
from mbd_bridge.base.errors import FileError
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables.parquet import packages, parquet_rows
from mbd_bridge.files.whole_file import BLANK, END, is_sealed, seal, whole_path
from mbd_bridge.model.spatial import Array

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
