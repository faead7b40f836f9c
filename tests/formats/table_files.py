"""Files of tables that tests write: one table of numbers, in each kind."""

from __future__ import annotations

import numpy as np

from mbd_bridge.files.tables import Column, TableWriter

KINDS = ("csv", "parquet", "npz", "h5")
BINARY = KINDS[1:]
COLUMNS = (Column("time", "s"), Column("elbow.fx", "N"), Column("wrist (undetermined)", "N m"))
ATTRIBUTES = {"content": "loads: of an arm", "notes": "one\ntwo: ü"}


def numbers(rows=5000):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(rows, 3)) * 10.0 ** rng.integers(-300, 300, size=(rows, 3))
    values[:, 0] = np.arange(rows) / 3.0
    return values


def write(path, values, columns=COLUMNS, attributes=ATTRIBUTES, pieces=1, gaps=None):
    with TableWriter(path, columns, attributes, gaps=gaps) as out:
        for block in np.array_split(values, pieces):
            out.append(block)
    return path
