"""What force elements did along a motion: forces, deflections, energy, dissipated power."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.named import Named
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import system_kernel
from mbd_bridge.simulation.trajectory import Trajectory

ENERGY = {"energy": "J", "dissipation": "W"}
"""Unit of each number that all elements report."""


@dataclass(frozen=True, eq=False)
class ElementReport(Named[Array], entries="number of {0.kind}"):
    """Numbers of one element along time, by name.

    Attributes
    ----------
    name, kind : of the element
    units : by name
    numbers : (K,) by name; `energy` is stored, J, `dissipation` is the power lost in it, W
    """

    name: str
    kind: str
    units: dict[str, str]
    numbers: dict[str, Array]

    @property
    def names(self) -> Collection[str]:
        """Names of the numbers."""
        return self.numbers.keys()

    def _entry(self, name: str) -> Array:
        return self.numbers[name]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {unit}" for name, unit in self.units.items())
        return f"ElementReport({self.kind} {self.name!r}: {numbers})"


@dataclass(frozen=True, eq=False)
class ForceElements(Named[ElementReport], entries="force element"):
    """Reports of all force elements of a motion, by name.

    Attributes
    ----------
    time : (K,) s
    reports : by name of the element
    """

    time: Array
    reports: dict[str, ElementReport]

    @property
    def names(self) -> Collection[str]:
        """Names of the elements."""
        return self.reports.keys()

    def _entry(self, name: str) -> ElementReport:
        return self.reports[name]

    @property
    def energy(self) -> Array:
        """Energy (K,) stored in all of them, J."""
        return self._sum("energy")

    @property
    def dissipation(self) -> Array:
        """Power (K,) lost in all of them, W."""
        return self._sum("dissipation")

    def _sum(self, name: str) -> Array:
        rows = [report[name] for report in self.reports.values()]
        return np.asarray(np.array(rows).reshape(-1, len(self.time)).sum(axis=0))

    def __repr__(self) -> str:
        return f"ForceElements({len(self.time)} states; {', '.join(self.reports) or 'none'})"


def force_elements(
    trajectory: Trajectory,
    time: Array,
    q: Array,
    v: Array,
    z: Array,
    samples: Array | None = None,
) -> ForceElements:
    """Return what the force elements of a system did at states (K, nq), (K, nv), (K, nz).

    Parameters
    ----------
    samples : (K, H) what steps held, where Python was called; None where it is not known
    """
    system, model = trajectory.system, trajectory.system.model
    if system.sampled and samples is None:
        samples = trajectory.samples(time, q, v)
    held = trajectory.held if samples is None else samples
    known = [held] if trajectory.p is None else [held, trajectory.p]
    more = [np.broadcast_to(x, (len(time), x.shape[-1])) for x in known]
    names = tuple(f"element {k}" for k in range(len(system.forces)))
    told = system.element_identities
    what = None if None in told else (told, system.layout)
    inputs = {"q": model.nq, "v": model.nv, "t": 1 + system.nz, "held": system.layout.sizes[0]}

    def report(q: Array, v: Array, t: Array, held: Array, *p: Array) -> tuple[Array, ...]:
        own, acts = system.machine(*p)
        acts = system.holding(acts, held)
        return tuple(acts.row(number, own, q, v, t) for number in range(len(names)))

    reports: dict[str, ElementReport] = {}
    if names:
        kernel = system_kernel(system, report, inputs, names, "force_elements", what)
        tables = kernel(q, v, np.column_stack([time, z]), *more)
        for element, table in zip(system.forces, tables, strict=True):
            units = element.units(model) | ENERGY
            numbers = {name: table[:, k] for k, name in enumerate(units)}
            reports[element.name] = ElementReport(element.name, element.kind, units, numbers)
    return ForceElements(time, reports)
