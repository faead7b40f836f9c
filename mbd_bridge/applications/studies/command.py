"""``mbd study``: thousands to millions of variants of a machine, from a file."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.applications.studies.design import Design, grid, latin_hypercube, saltelli, sobol
from mbd_bridge.applications.studies.evaluate import factor_unit
from mbd_bridge.applications.studies.options import StudyOptions
from mbd_bridge.applications.studies.run import Executor
from mbd_bridge.base.errors import MbdError, SolveError
from mbd_bridge.base.extras import needed
from mbd_bridge.base.units import find_unit, in_si, measured
from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import add_output, whole_number
from mbd_bridge.cli.shared import add_options, values
from mbd_bridge.files.yaml_text import Node, read_yaml
from mbd_bridge.forces.base import by_names
from mbd_bridge.model.units import FORCE_UNIT, model_units
from mbd_bridge.simulation.system import HasModel

GROUP = "close its loops, move it"
SUMMARY = "simulate thousands to millions of variants that a file describes"
DESCRIPTION = """\
Simulate the variants of a machine that a file describes, or compute their joint loads, and give a
table with a row for each: its factors, then the chosen outputs.

  machine: crank_rocker.urdf
  duration: 0.5
  near: {crank: 30deg}
  design: {kind: sobol, number: 4096, seed: 0}
  vary:
    coupler.mass: [0.5, 2.0]
    crank.vel: {mean: 5, deviation: 0.5}
  outputs:
    pin: peak coupler_pin.force

  mbd study coupler.yaml --workers 2 --folder parts -o coupler.parquet

With --folder parts are kept as they are done: a study that was killed goes on from them, and one
that was made before is read. Out comes a summary of each output, and with -o the table.
"""

MOST_TOLD = 8
"""Ways in which variants fail that are told on the screen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("study", metavar="FILE", help="study as YAML (see docs/guides/studies.md)")
    folder = {"help": "keep parts there, and go on from them"}
    add_options(parser, StudyOptions, ("folder", "batch"), folder=folder)
    parser.add_argument(
        "--workers", type=whole_number, default=1, metavar="N", help="processes (1: this one)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster that computes the parts"
    )
    add_output(parser, "table: .csv, .parquet, .npz or .h5")


def run(options: argparse.Namespace) -> int:
    """Compute, write the table, print the summary."""
    from mbd_bridge.api.load import load
    from mbd_bridge.applications.studies import study
    from mbd_bridge.cli import screen

    shared.check_table(options)
    file = read_study(options.study, load)
    with (
        executor_of(options.workers, options.scheduler) as executor,
        screen.progress("variants", len(file.design)) as progress,
    ):
        chosen = values(options, StudyOptions, executor=executor, progress=progress)
        result = study(file.machine, file.design, **{**file.options, **chosen})
    screen.show(screen.stdout(), result.spread())
    if result.reused:
        screen.say(f"{result.reused} of {len(result)} variants read from {options.folder}")
    trouble = result.trouble()
    for sentence in trouble[:MOST_TOLD]:
        screen.say(sentence, "warning")
    if len(trouble) > MOST_TOLD:
        screen.say(f"{len(trouble) - MOST_TOLD} more kinds of trouble; -o keeps all", "warning")
    if options.output is not None:
        result.save(options.output)
        screen.rows_written(len(result), options.output)
    return 0


# Where the parts of a study are computed: here, by processes of this machine, by a cluster.

SECONDS = 10.0
"""How long a cluster may take to answer, s."""


@contextlib.contextmanager
def executor_of(workers: int = 1, scheduler: str | None = None) -> Iterator[Executor | None]:
    """Give an executor, and end it afterwards.

    Parameters
    ----------
    workers : processes of this machine; 1: None, everything in this one
    scheduler : address of a Dask cluster, "tcp://host:8786", instead
    """
    if scheduler is not None:
        with _client(scheduler) as client:
            yield client
        return
    if workers == 1:
        yield None
        return
    # a fork of a process with threads may hang
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Executor]:
    dask = needed("distributed", "a cluster needs Dask", "mbd_bridge[studies]")
    try:
        client = dask.Client(scheduler, timeout=SECONDS)
    except (OSError, ValueError) as problem:
        raise SolveError(
            f"no Dask cluster answers at {scheduler!r} ({problem}); start one, such as "
            f"'dask scheduler' and 'dask worker {scheduler}'"
        ) from problem
    with client:
        yield client


# A study as a file, for the command line.
#
# ::
#
#     machine: crank_rocker.urdf          # beside this file
#     duration: 0.5                       # s; without it: joint loads at one state each
#     step: 1ms                           # numbers may have units, 0.001 is in s as well
#     every: 5                            # record every 5th step
#     near: {crank: 30deg}                # start, where loops are closed from
#     torque: {crank: 0.2}                # numbers or formulas of t, by velocity
#     prescribed: {crank: 2*pi*t}         # formulas of t, by coordinate
#     design: {kind: sobol, number: 10000, seed: 0}
#     vary:
#       coupler.mass: [0.5, 2.0]          # all values in between are equally likely
#       rocker.xyz.x: [390mm, 410mm]      # one number of a vector
#       crank.vel: {mean: 5, deviation: 0.1}                # a normal distribution
#     outputs:
#       pin: peak coupler_pin.force       # or a list of phrases
#
# `design` has a kind, grid, latin_hypercube, sobol or saltelli (`number` is then its base). Of a
# grid the factors have a list of levels, or ``{from: 0, to: 1, levels: 11}``.

KEYS = (
    *("machine", "duration", "step", "every", "near", "torque", "prescribed"),
    *("design", "vary", "outputs"),
)
SAMPLED: dict[str, Callable[..., Design]] = {
    "latin_hypercube": latin_hypercube,
    "sobol": sobol,
    "saltelli": saltelli,
}
"""Designs of so many variants, by kind."""


class StudyFile(NamedTuple):
    """What a file says.

    Attributes
    ----------
    machine : loaded
    design : the factors and their values
    options : of `study`, as they are called there
    """

    machine: HasModel
    design: Design
    options: dict[str, Any]


class _Numbers:
    """Numbers in SI units, of what a machine calls so."""

    def __init__(self, machine: HasModel) -> None:
        self._model = machine.model
        self._elements = by_names(getattr(machine, "forces", ()))
        for element in self._elements.values():
            element.bind(self._model)  # which tells the units of its numbers

    def of(self, name: str, node: Node) -> float:
        """Return a number of a coordinate, a rate or a parameter, "30deg" or plain."""
        unit = factor_unit(self._model, self._elements, name)
        known = unit or name.rpartition(".")[0] in self._elements
        return in_unit(name, node, unit) if known else unchecked(node)

    def acting(self, key: str, name: str, node: Node) -> float | str:
        """Return a torque or a prescribed motion: a number with a unit, or else a formula of t."""
        of_q, of_v = model_units(self._model)
        units = dict(zip(self._model.coordinate_names, of_q, strict=True))
        if key == "torque":
            pairs = zip(self._model.velocity_names, of_v, strict=True)
            units = {name: FORCE_UNIT[unit] for name, unit in pairs}
        try:
            unit = measured(node.text())[1]
        except ValueError:
            unit = ""
        if unit and find_unit(unit) is not None and name in units:
            return in_unit(name, node, units[name])
        return node.text()


def unchecked(node: Node) -> float:
    """Return a number of what does not exist: the study says so, and what does."""
    try:
        number, unit = measured(str(node.value))
    except ValueError:
        return node.number()
    known = find_unit(unit)
    return number if known is None else number * known.factor


def in_unit(name: str, node: Node, expected: str) -> float:
    """Return a number in its SI unit, as "0.5", which is in it, or with a unit of its own."""
    try:
        number, unit = measured(str(node.value))
    except ValueError:
        unit = ""
    if not unit:
        return node.number()
    with node.placed(ValueError):
        return in_si(name, number, unit, expected)


def read_study(path: str | Path, load: Callable[[Path], HasModel]) -> StudyFile:
    """Return what a file says of a study of the machine that `load` returns for its path.

    Raises
    ------
    FileError
        With the line, what is wrong there.
    """
    root = read_yaml(path)
    entries = root.table(KEYS)
    for key in ("machine", "vary", "outputs"):
        if key not in entries:
            raise root.error(f"expected the key {key!r}, it is not there; see mbd study --help")
    machine = load(Path(path).parent / entries["machine"].text())
    numbers = _Numbers(machine)
    options: dict[str, Any] = {
        key: in_unit(key, entries[key], "s") for key in ("duration", "step") if key in entries
    }
    if "every" in entries:
        options["every"] = entries["every"].whole_number(0)
    if "near" in entries:
        options["near"] = {
            name: numbers.of(name, one) for name, one in _named(entries["near"]).items()
        }
    for key in ("torque", "prescribed"):
        if key in entries:
            options[key] = {
                name: numbers.acting(key, name, one) for name, one in _named(entries[key]).items()
            }
    outputs = entries["outputs"]
    options["outputs"] = (
        [one.text() for one in outputs.items()]
        if isinstance(outputs.value, list)
        else {name: one.text() for name, one in _named(outputs).items()}
    )
    design = _design(entries.get("design"), entries["vary"], numbers)
    return StudyFile(machine, design, options)


def _design(node: Node | None, vary: Node, numbers: _Numbers) -> Design:
    """Return the design with these factors."""
    kind, number, seed = "grid", None, 0
    if node is not None:
        table = node.table(("kind", "number", "seed"))
        kind = table["kind"].text() if "kind" in table else kind
        number = table["number"].whole_number(0) if "number" in table else None
        seed = table["seed"].whole_number(0) if "seed" in table else seed
        if kind not in ("grid", *SAMPLED):
            raise node.error(f"kind: expected grid, {', '.join(SAMPLED)}, got {kind!r}")
        if (number is None) != (kind == "grid"):
            wants = "takes no number" if kind == "grid" else "needs a number"
            raise node.error(f"design: {kind} {wants} of variants")
    try:
        read = _levels if number is None else _factor
        factors = {
            name: read(values, partial(numbers.of, name)) for name, values in _named(vary).items()
        }
        return grid(factors) if number is None else SAMPLED[kind](factors, number, seed=seed)
    except MbdError as problem:
        if getattr(problem, "line", None) is not None:
            raise
        raise vary.error(str(problem)) from problem


def _levels(node: Node, number: Callable[[Node], float]) -> Any:
    """Return the levels of a factor of a grid."""
    if isinstance(node.value, dict):
        table = node.table(("from", "to", "levels"))
        if len(table) < 3:
            raise node.error("expected {from: 0, to: 1, levels: 11} or a list of levels")
        return np.linspace(
            number(table["from"]), number(table["to"]), table["levels"].whole_number(2)
        )
    if isinstance(node.value, list):
        return [number(one) for one in node.items()]
    return [number(node)]


def _factor(node: Node, number: Callable[[Node], float]) -> Any:
    """Return the range of a factor, or its distribution."""
    if isinstance(node.value, dict):
        from scipy.stats import norm

        table = node.table(("mean", "deviation"))
        if len(table) < 2:
            raise node.error("expected [low, high] or {mean: 5, deviation: 0.1}")
        if (deviation := number(table["deviation"])) <= 0.0:
            raise node.error("deviation: expected a number more than 0")
        return norm(number(table["mean"]), deviation)
    ends = [number(one) for one in node.items()]
    if len(ends) != 2:
        raise node.error(f"expected [low, high], got {len(ends)} numbers")
    return ends[0], ends[1]


def _named(node: Node) -> dict[str, Node]:
    """Return a table whose keys are names."""
    if not isinstance(node.value, dict) or not node.value:
        raise node.error("expected a table of names, such as {crank: 0.5}")
    return node.value
