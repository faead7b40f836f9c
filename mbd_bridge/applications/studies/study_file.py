"""The file of a study: machine, design, factors and outputs (YAML)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.applications.studies.design import Design, grid, latin_hypercube, saltelli, sobol
from mbd_bridge.applications.studies.evaluate import factor_unit
from mbd_bridge.base.errors import MbdError
from mbd_bridge.base.units import find_unit, in_si, measured
from mbd_bridge.files.yaml_text import Node, read_yaml
from mbd_bridge.forces.base import by_names
from mbd_bridge.model.units import FORCE_UNIT, model_units
from mbd_bridge.simulation.system import HasModel

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
