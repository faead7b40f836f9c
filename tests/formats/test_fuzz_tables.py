"""However the structure of a table's file is damaged: read or refused, soon, in little memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.tables import read_table
from tests.bounds import bounded
from tests.formats.mutation import mutate_bytes
from tests.formats.table_files import BINARY, numbers, write

MUTANTS = 400
"""Of each kind: files of three rows are nearly all structure."""


@pytest.mark.parametrize("kind", BINARY)
def test_damaged_structure_is_read_or_refused_soon_and_in_little_memory(tmp_path, kind):
    warnings.simplefilter("error")  # pytest puts it back
    path = write(tmp_path / f"t.{kind}", numbers(3))
    data, rng = path.read_bytes(), np.random.default_rng(23)
    seen, told = {"read": 0, "refused": 0}, list[FileError]()
    with bounded(seconds=60, megabytes=1000):
        for _ in range(MUTANTS):
            path.write_bytes(mutate_bytes(data, rng))
            try:
                with bounded(seconds=2, megabytes=500):
                    table = read_table(path)
            except FileError as error:
                seen["refused"] += 1
                told.append(error)
            else:
                seen["read"] += 1
                assert np.isfinite(table.values).all()
    assert all(error.file == str(path) and len(str(error)) < 1200 for error in told)
    assert min(seen.values()) > 5, seen
