"""Inputs of ``mbd simulate``: ``NAME=FORMULA`` or ``NAME=FILE[:COLUMN]``."""

from __future__ import annotations

import argparse
from collections.abc import ItemsView
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mbd_bridge.cli import shared

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.formats.table import Table
    from mbd_bridge.spatial import Array

FormulaOrTable: TypeAlias = "str | tuple[Array, Array]"
"""A formula, or a table."""

FORCE_UNITS = {"N m": 1.0, "Nm": 1.0, "N": 1.0, "kN": 1e3, "kN m": 1e3, "kNm": 1e3, "": 1.0}
"""Units of forces and moments that a column may have, as written between [ and ]."""

SUFFIXES = (".csv", ".txt", ".parquet", ".npz", ".h5", ".hdf5")
"""Endings of what is a file and no formula, whether it is there or not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of prescribed motions and forces."""
    parser.add_argument(
        "--prescribe",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=WHAT",
        help="prescribed motions, whatever force they take: a formula of t (crank=2*pi*t, "
        "slide=20mm*sin(3t)), a number, or a table with a column 'time' (crank=motion.csv, or "
        "crank=motion.csv:COLUMN)",
    )
    parser.add_argument(
        "--torque",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=WHAT",
        help="forces along velocities, N m or N, given in the same ways (crank=5)",
    )
    parser.add_argument(
        "--effort-limits",
        action="store_true",
        help="hold the forces of --torque at the <limit effort> of the file",
    )


def motions(robot: Mechanism, words: list[str]) -> dict[str, FormulaOrTable]:
    """Return what --prescribe prescribes by coordinate, in SI units."""
    from mbd_bridge.mechanism.units import UNITS, model_units

    of_q, _ = model_units(robot.model)
    units = dict(zip(robot.coordinate_names, of_q, strict=True))
    factors = {
        name: {word: unit.factor for word, unit in UNITS.items() if unit.measures == measure}
        for name, measure in units.items()
    }
    return {name: _what(name, text, factors.get(name)) for name, text in _named(words, "prescribe")}


def forces(words: list[str]) -> dict[str, FormulaOrTable]:
    """Return what --torque gives by velocity, in SI units."""
    return {name: _what(name, text, FORCE_UNITS) for name, text in _named(words, "torque")}


def _named(words: list[str], option: str) -> ItemsView[str, str]:
    form = "NAME=WHAT such as crank=2*pi*t or crank=motion.csv"
    quotes = "in quotes if it has blanks or brackets"
    return shared.named(words, option, f"{form}, {quotes}").items()


def _what(name: str, text: str, factors: dict[str, float] | None) -> FormulaOrTable:
    path, column = _file(text)
    if path is None:
        return text
    from mbd_bridge.formats.tables import read_table

    table = read_table(path)
    times = _si(table, "time" if "time" in table.names else "t", {"s": 1.0, "ms": 1e-3})
    if column is None:
        others = [other for other in table.names if other not in ("time", "t")]
        column = others[0] if name not in table.names and len(others) == 1 else name
    values = _si(table, column, factors)
    return times, values


def _file(text: str) -> tuple[str | None, str | None]:
    """Return the file and the column that a text names, None where it is a formula."""
    from os.path import isfile

    path, _, column = text.rpartition(":")
    for name, wanted in ((text, None), (path, column)):
        if name and (isfile(name) or name.lower().endswith(SUFFIXES)):
            return name, wanted
    return None, None


def _si(table: Table, name: str, factors: dict[str, float] | None) -> Array:
    values, unit = table.column(name), table.columns[table.names.index(name)].unit
    if unit is None or factors is None:  # a joint that is not there is told later
        return np.array(values)
    if unit not in factors:
        known = ", ".join(word for word in factors if word)
        raise table.error(f"expected a unit among {known}, got [{unit}]", column=name)
    return np.asarray(values * factors[unit])
