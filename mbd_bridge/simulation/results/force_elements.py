"""What force elements did along a motion: forces, deflections, energy, dissipated power."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.named import Named
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.general_force import GeneralForce, is_sampled
from mbd_bridge.forces.states import effect_at
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Forces, system_kernel
from mbd_bridge.simulation.signals.parts import with_inputs
from mbd_bridge.simulation.system import System
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
    system = trajectory.system
    if system.sampled and samples is None:
        samples = trajectory.samples(time, q, v)
    held = np.tile(trajectory.held, (len(time), 1)) if samples is None else samples
    traced = _traced(system, time, q, v, z, held, trajectory.p)
    if any(is_sampled(element) for element in system.forces):
        traced |= _sampled(system, q, v, held)
    return ForceElements(time, {one.name: traced[one.name] for one in system.forces})


def _sampled(system: System, q: Array, v: Array, samples: Array) -> dict[str, ElementReport]:
    """Return the reports of elements whose function was called, from what it returned."""
    by_name = {element.name: element for element in system.forces}
    found = {}
    for part, place in system.layout.held.items():
        element = by_name.get(getattr(system.parts[part].signal, "element", ""))
        if isinstance(element, GeneralForce):
            each = zip(samples[:, place], q, v, strict=True)
            effects = [element.effect_of(x, system.model, *state) for x, *state in each]
            units = element.units(system.model) | ENERGY
            numbers = {
                name: np.array([one.report[name] for one in effects])
                for name in units
                if name not in ENERGY
            }
            numbers["energy"] = np.zeros(len(q))
            numbers["dissipation"] = np.array([one.dissipation for one in effects])
            found[element.name] = ElementReport(element.name, "GeneralForce", units, numbers)
    return found


def _traced(
    system: System, time: Array, q: Array, v: Array, z: Array, held: Array, p: Array | None
) -> dict[str, ElementReport]:
    """Return the reports of elements that are traced."""
    model = system.model
    elements = [element for element in system.forces if not is_sampled(element)]
    if not elements:
        return {}
    units = [element.units(model) | ENERGY for element in elements]
    inputs = {"q": model.nq, "v": model.nv, "t": 1 + system.nz}
    rows = [q, v, np.column_stack([time, z])]
    if any(part.field for part in system.torques):
        inputs["held"] = held.shape[1]
        rows.append(held)
    told = [one.identity for one in system.members if not is_sampled(one.element)]
    identity = None if None in told else f"force elements {told}"

    def of(own: Model, forces: Forces) -> Traceable:
        def report(q: Array, v: Array, t: Array, *held: Array) -> tuple[Array, ...]:
            found = with_inputs(system, forces, *held) if held else forces
            pairs = zip(found, system.states.places, strict=True)
            each = [(element, place) for element, place in pairs if not is_sampled(element)]
            return tuple(element_row(element, place, own, q, v, t) for element, place in each)

        return report

    names = tuple(f"element {k}" for k in range(len(elements)))
    kernel = system_kernel(system, of, inputs, names, "force_elements", identity)
    more = [] if p is None else [np.broadcast_to(p, (len(time), len(p)))]
    tables = kernel(*rows, *more)
    return {
        element.name: ElementReport(
            element.name,
            element.kind,
            unit,
            {name: table[:, k] for k, name in enumerate(unit)},
        )
        for element, unit, table in zip(elements, units, tables, strict=True)
    }


def element_row(
    element: ForceElement, place: slice, model: Model, q: Array, v: Array, t: Array
) -> Array:
    """Return report, energy and dissipation of one element; t holds the time, then z."""
    effect = effect_at(element, place, model, t[0], q, v, t[1:])
    values = [*(effect.report[name] for name in element.units(model))]
    values += [effect.energy, effect.dissipation]
    row = zeros(len(values), q, v)
    for k, value in enumerate(values):
        row[k] = value
    return row
