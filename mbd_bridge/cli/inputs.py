"""Inputs of ``mbd simulate``: ``NAME=FORMULA`` or ``NAME=FILE[:COLUMN]``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, ItemsView, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mbd_bridge.cli import shared
from mbd_bridge.cli.shared import add_options
from mbd_bridge.simulation.options import GivenActsOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.model import Model
    from mbd_bridge.model.spatial import Array
    from mbd_bridge.simulation.system import System
    from mbd_bridge.solve import Assembly

FormulaOrTable: TypeAlias = "str | tuple[Array, Array]"
"""A formula, or a table."""

SUFFIXES = (".csv", ".txt", ".parquet", ".npz", ".h5", ".hdf5")
"""Endings of what is a file and no formula, whether it is there or not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of prescribed motions and forces."""
    pairs = {"nargs": "+", "action": "extend", "default": []}
    motions = {**pairs, "flag": "--prescribe", "dest": "prescribe"}
    names = ("prescribed", "torque", "effort_limits")
    add_options(parser, GivenActsOptions, names, prescribed=motions, torque=pairs)


def motions(robot: Mechanism, words: list[str]) -> dict[str, FormulaOrTable]:
    """Return what --prescribe prescribes by coordinate, in SI units."""
    from mbd_bridge.model.units import model_units

    of_q, _ = model_units(robot.model)
    measures = dict(zip(robot.coordinate_names, of_q, strict=True))
    found = {name: _what(name, text, measures) for name, text in _named(words, "prescribe")}
    return {name: _counted_on(name, what, robot.model) for name, what in found.items()}


def forces(robot: Mechanism, words: list[str]) -> dict[str, FormulaOrTable]:
    """Return what --torque gives by velocity, in SI units."""
    from mbd_bridge.model.units import FORCE_UNIT, model_units

    _, of_v = model_units(robot.model)
    units = [FORCE_UNIT[unit] for unit in of_v]
    measures = dict(zip(robot.model.velocity_names, units, strict=True))
    return {name: _what(name, text, measures) for name, text in _named(words, "torque")}


def names(words: list[str], option: str) -> tuple[str, ...]:
    """Return what the words NAME=WHAT of an option name."""
    return tuple(name for name, _ in _named(words, option))


def _named(words: list[str], option: str) -> ItemsView[str, str]:
    form = "NAME=WHAT such as crank=2*pi*t or crank=motion.csv"
    quotes = "in quotes if it has blanks or brackets"
    return shared.named(words, option, f"{form}, {quotes}").items()


def _what(name: str, text: str, measures: dict[str, str]) -> FormulaOrTable:
    path, column = _file(text)
    if path is None:
        return text
    from mbd_bridge.cli import screen
    from mbd_bridge.files.tables import read_table
    from mbd_bridge.motion.columns import times
    from mbd_bridge.motion.match_columns import Spellings
    from mbd_bridge.motion.warnings import ask_degrees, many_turns, without_unit

    written = read_table(path)
    table = Spellings(measures | {"time": "s"}).table(written)
    if column is None:
        others = [other for other in table.names if other != "time"]
        column = others[0] if name not in table.names and len(others) == 1 else name
    elif column not in table.names and column in written.names:
        column = table.names[written.names.index(column)]
    if name not in measures:  # a joint that is not there is told later
        return times(table), np.array(table.column(column))
    values = table.in_si(column, measures[name])
    unitless = measures[name] == "rad" and column in without_unit(table)
    if unitless and many_turns(float(values.min()), float(values.max())):
        screen.say(ask_degrees([column]))
    return times(table), values


def _counted_on(name: str, what: FormulaOrTable, model: Model) -> FormulaOrTable:
    """Return a table with its angle counted on where it begins again after a turn, and say so."""
    from mbd_bridge.cli import screen
    from mbd_bridge.files.table import Column
    from mbd_bridge.motion.named_source import Unwrapping

    if isinstance(what, str):
        return what
    columns = (Column(name, "rad"),)
    unwrapping = Unwrapping(columns, model, None)
    values = unwrapping.add(what[1][:, None], columns)[:, 0]
    for assumption in unwrapping.assumed:
        screen.say(assumption.text)
    return what[0], values


def _file(text: str) -> tuple[str | None, str | None]:
    """Return the file and the column that a text names, None where it is a formula."""
    from os.path import isfile

    path, _, column = text.rpartition(":")
    for name, wanted in ((text, None), (path, column)):
        if name and (isfile(name) or name.lower().endswith(SUFFIXES)):
            return name, wanted
    return None, None


def system_of(
    robot: Mechanism,
    options: argparse.Namespace,
    more: Callable[[Model, Sequence[str]], Mapping[str, Any]] | None = None,
) -> tuple[System, Assembly]:
    """Return the system that the options describe, and its initial state.

    Parameters
    ----------
    more : returns further torques of a model, of other coordinates than those named
    """
    from mbd_bridge.cli.assemble import say_start
    from mbd_bridge.cli.simulate import start_of
    from mbd_bridge.simulation.system import System

    every = [*robot.joint_names, *(cut.name for cut in robot.model.cuts)]
    moved = motions(robot, options.prescribe)
    torque: dict[str, Any] = dict(forces(robot, options.torque))
    if more is not None:
        torque |= more(robot.model, (*torque, *moved))
    system = System(
        robot,
        torque=torque or None,
        effort_limits=options.effort_limits,
        prescribed=moved or None,
        loads=every if options.joints == ["all"] else options.joints,
    )
    start = start_of(robot, options, moved)
    say_start(robot, options, start)
    return system, start
