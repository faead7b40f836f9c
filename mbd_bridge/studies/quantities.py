"""What is kept of each variant: numbers that a phrase, or a function, takes from its motion.

    [STATISTIC] QUANTITY        peak coupler_pin.force

STATISTIC, over the records of a motion: final (default), initial, peak (the largest size), minimum,
maximum, mean, rms, range. QUANTITY:

    crank, crank.vel, crank.acc                 a coordinate, its rates; rad or m, s
    pin.force, pin.moment                       N, N m: sizes; components .force.x, .moment.z
    crank.actuation                             N m or N; of several degrees of freedom the size
    energy                                      J, kinetic and potential
    closure                                     residual of the loops, relative to the size
    strut.length                                a state z of a force element, "element.state"

Components of a load that rigid-body mechanics does not determine do not count in its size; asked
for alone they are nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.units import FORCE_UNIT, RATE, actuation_units, model_units
from mbd_bridge.spatial import Array

AXES = "xyz"
UNITS = {"force": "N", "moment": "N m", "energy": "J", "closure": ""}
LOADS = ("force", "moment", "actuation")

STATISTICS: dict[str, Callable[[Array], Array]] = {
    "final": lambda values: values[..., -1],
    "initial": lambda values: values[..., 0],
    "peak": lambda values: np.abs(values).max(axis=-1),
    "minimum": lambda values: values.min(axis=-1),
    "maximum": lambda values: values.max(axis=-1),
    "mean": lambda values: values.mean(axis=-1),
    "rms": lambda values: np.sqrt(np.mean(values**2, axis=-1)),
    "range": lambda values: np.ptp(values, axis=-1),
}
"""Of values (..., K) over K records; nan where a motion stopped."""


class Quantity(NamedTuple):
    """A phrase, read.

    Attributes
    ----------
    statistic : one of `STATISTICS`
    kind : "q", "v", "a", "force", "moment", "actuation", "energy", "closure" or "z"
    name : of the joint or state; "" where there is none
    place : column of q, v, a; component of a load, or None for its size
    """

    statistic: str
    kind: str
    name: str = ""
    place: int | None = None

    @property
    def of_load(self) -> bool:
        """Whether it is of the load of a joint."""
        return self.kind in LOADS

    def unit(self, model: Model, states: Mapping[str, str]) -> str:
        """Return its unit, of which that of a state is given by name."""
        if self.kind == "actuation":
            units = {FORCE_UNIT[unit] for unit in actuation_units(model, self.name)}
            return units.pop() if len(units) == 1 else ""
        if self.place is None or self.kind in LOADS:
            return UNITS[self.kind] if self.kind in UNITS else states[self.name]
        of_q, of_v = model_units(model)
        unit = of_q[self.place] if self.kind == "q" else of_v[self.place]
        return f"{unit}{RATE['qva'.index(self.kind)]}"

    def of(self, values: Array) -> Array:
        """Return the statistic of values (N, K)."""
        return STATISTICS[self.statistic](values)

    def sizes(self, vectors: Array, unique: Array) -> Array:
        """Return the component, or the size, of vectors (..., n); what is not determined is nan.

        Parameters
        ----------
        unique : (n,) or (..., n) which components are determined; sizes are of these alone, as in
            `BatchLoads.peaks`, and nan where none is
        """
        if self.place is not None:
            return np.where(unique[..., self.place], vectors[..., self.place], np.nan)
        if vectors.shape[-1] == 1:
            return np.where(unique[..., 0], vectors[..., 0], np.nan)
        size = np.linalg.norm(np.where(unique, vectors, 0.0), axis=-1)
        return np.where(unique.any(axis=-1), size, np.nan)


def quantity_of(phrase: str, model: Model, states: tuple[str, ...] = ()) -> Quantity:
    """Return what a phrase asks for.

    Raises
    ------
    StateError
        It asks for nothing that the machine has.
    """
    words = phrase.split()
    statistic = words[0] if len(words) == 2 else "final"
    if not 1 <= len(words) <= 2:
        raise StateError(
            f"output {phrase!r}: expected a statistic and a quantity, such as 'peak elbow.moment'"
        )
    if statistic not in STATISTICS:
        raise StateError(unknown_name("statistic", statistic, STATISTICS))
    return _quantity(statistic, words[-1], phrase, model, states)


def _quantity(
    statistic: str, asked: str, phrase: str, model: Model, states: tuple[str, ...]
) -> Quantity:
    if asked in ("energy", "closure"):
        return Quantity(statistic, asked)
    if asked in states:
        return Quantity(statistic, "z", asked)
    if asked in model.coordinate_names:
        return Quantity(statistic, "q", asked, model.coordinate_names.index(asked))
    stem, _, last = asked.rpartition(".")
    if last in ("vel", "acc") and stem in model.velocity_names:
        return Quantity(statistic, last[0], stem, model.velocity_names.index(stem))
    place = None
    if last in AXES and stem.rpartition(".")[2] in LOADS[:2]:
        place, (stem, _, last) = AXES.index(last), stem.rpartition(".")
    loaded = [*(joint.name for joint in model.joints), *(loop.name for loop in model.loops)]
    if last in LOADS and stem in loaded:
        return Quantity(statistic, last, stem, place)
    known = [*model.coordinate_names, *states, "energy", "closure"]
    known += [f"{name}.force" for name in loaded]
    raise StateError(f"output {phrase!r}: {unknown_name('quantity', asked, known)}")
