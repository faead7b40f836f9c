"""Apache Parquet as a table: a field a column, with its unit in the field's metadata.

The schema's metadata holds the attributes. What pandas keeps as ``DataFrame.attrs`` is there too:
the attributes and, under "units", the unit of each column.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.extras import needed
from mbd_bridge.files.table import (
    Block,
    Column,
    TableSource,
    check_width,
    named_column,
    no_numbers,
    reading,
)

UNIT = b"unit"
PANDAS = b"PANDAS_ATTRS"
OTHERS = (PANDAS, b"pandas", b"ARROW:schema")
"""Metadata that is no attribute: what pandas and Arrow keep for themselves."""
WHAT = "a Parquet file"


class ParquetSource(TableSource):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        arrow, parquet = packages(path)
        bad = (OSError, ValueError, arrow.ArrowException)
        with reading(path, bad, WHAT), parquet.ParquetFile(path) as file:
            check_width(file.metadata.num_columns, path)
            schema, rows = file.schema_arrow, file.metadata.num_rows
            self._fields = [item.name for item in schema]
        columns, kinds = [], arrow.types
        for item in schema:
            kind = item.type
            if not any(is_one(kind) for is_one in (kinds.is_integer, kinds.is_floating)):
                raise no_numbers(path, item.name, kind)
            unit = (item.metadata or {}).get(UNIT)
            columns.append(named_column(item.name, None if unit is None else _text(unit)))
        attributes = {
            _text(key): _text(value)
            for key, value in (schema.metadata or {}).items()
            if key not in OTHERS
        }
        super().__init__(path, columns, attributes, rows)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield batches of the row groups."""
        arrow, parquet = packages(self.path)
        share = os.stat(self.path).st_size / max(self.rows or 0, 1)
        fields = [self._fields[k] for k in places]
        bad = (OSError, ValueError, arrow.ArrowException)
        with (
            reading(self.path, bad, WHAT),
            parquet.ParquetFile(self.path, page_checksum_verification=True) as file,
        ):
            for batch in file.iter_batches(batch_size=rows, columns=fields):
                values = np.empty((batch.num_rows, len(fields)))
                for k, name in enumerate(fields):
                    column = batch.column(batch.schema.get_field_index(name))
                    values[:, k] = column.to_numpy(zero_copy_only=False)
                yield Block(values, None, share * len(values))


@contextlib.contextmanager
def parquet_rows(
    path: Path, columns: Sequence[Column], attributes: Mapping[str, str]
) -> Iterator[Callable[[Floats], object]]:
    """Give a function that writes rows to a Parquet file, a row group each time."""
    arrow, parquet = packages(str(path))
    units = {column.name: column.unit for column in columns if column.unit is not None}
    known = {key.encode(): value.encode() for key, value in attributes.items()}
    known[PANDAS] = json.dumps({**attributes, "units": units}, ensure_ascii=False).encode()
    fields = [
        arrow.field(
            column.name,
            arrow.float64(),
            nullable=False,
            metadata=None if column.unit is None else {UNIT: column.unit.encode()},
        )
        for column in columns
    ]
    schema = arrow.schema(fields, metadata=known)

    def append(values: Floats) -> None:
        arrays = [arrow.array(column) for column in np.ascontiguousarray(values.T)]
        writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

    with (
        open(path, "wb") as file,
        # Hardly a number stands twice: a dictionary of them is larger, and three times slower.
        parquet.ParquetWriter(
            file, schema, write_page_checksum=True, use_dictionary=False
        ) as writer,
    ):
        yield append


def _text(said: bytes) -> str:
    return said.decode(errors="replace")


def packages(path: str) -> tuple[Any, Any]:
    """Return pyarrow and its part for Parquet."""
    why = f"{path}: Parquet files need pyarrow"
    return needed("pyarrow", why, "mbd_bridge[files]"), needed(
        "pyarrow.parquet", why, "mbd_bridge[files]"
    )
