"""Angles that begin again after each turn, as encoders give them: counted on from turn to turn.

An angle is wrapped where it jumps by more than half a turn from one row to the next. That of a
continuous joint is unwrapped where all of its values so far are within one turn, as those of an
encoder are; a joint whose turns are counted leaves that range before it matters. It makes no
difference to the machine's position, and is said. Of other joints a jump is one, unless
`Naming.unwrap` names them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import count, some
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Column
from mbd_bridge.model import Model
from mbd_bridge.model.units import model_units

Floats = NDArray[np.float64]

WITHIN = 1.01
"""Turns within which the values of an encoder are: one, and its noise."""
ALL, NONE = "all", "none"


@dataclass
class _Angle:
    """What is known of a column's values so far, in its unit."""

    turn: float
    always: bool
    last: float = math.nan
    lowest: float = math.inf
    highest: float = -math.inf
    turns: int = 0
    jumps: int = 0

    def unwrapped(self, values: Floats) -> Floats:
        """Return the next values, counted on."""
        lowest = np.minimum(np.fmin.accumulate(values), self.lowest)
        highest = np.maximum(np.fmax.accumulate(values), self.highest)
        steps = np.diff(values, prepend=self.last)
        wrapped = np.abs(steps) > 0.5 * self.turn
        if not self.always:
            wrapped &= highest - lowest <= WITHIN * self.turn
        turns = self.turns - np.cumsum(np.where(wrapped, np.round(steps / self.turn), 0.0))
        self.last, self.lowest, self.highest = values[-1], float(lowest[-1]), float(highest[-1])
        self.turns, self.jumps = int(turns[-1]), self.jumps + int(np.count_nonzero(wrapped))
        return np.asarray(values + turns * self.turn)


class Unwrapping:
    """Unwraps the columns of a table, block by block.

    Parameters
    ----------
    columns : by the names that they have here
    names : joints whose angles are unwrapped, wherever they jump; "all", or "none"; None:
        continuous joints, as far as their angles are within one turn
    """

    def __init__(
        self, columns: Sequence[Column], model: Model, names: tuple[str, ...] | None
    ) -> None:
        continuous = {joint.name for joint in model.joints if joint.type.name == "continuous"}
        of_q, _ = model_units(model)
        angles = {n for n, unit in zip(model.coordinate_names, of_q, strict=True) if unit == "rad"}
        chosen = continuous if names is None else angles | continuous if names == (ALL,) else names
        for name in () if names in ((ALL,), (NONE,)) else chosen:
            known = [*sorted(angles | continuous), ALL, NONE]
            known_name("angle of a joint", name, known, "unwrap: ")
        self._always, self._chosen, self._columns = names is not None, chosen, columns
        self.begin()

    def begin(self) -> None:
        """Forget all rows: the first one is next."""
        self._angles: dict[str, _Angle] = {}
        for column in self._columns:
            unit = find_unit(column.unit or "rad")
            if column.name in self._chosen and unit is not None and unit.measures == "rad":
                self._angles[column.name] = _Angle(2.0 * math.pi / unit.factor, self._always)

    def add(self, values: Floats, columns: Sequence[Column]) -> Floats:
        """Return the next rows (n, columns) with their angles unwrapped."""
        places = [k for k, column in enumerate(columns) if column.name in self._angles]
        if not places or not len(values):
            return values
        found = values.copy()
        for k in places:
            found[:, k] = self._angles[columns[k].name].unwrapped(values[:, k])
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about what was unwrapped so far, and what else can be done."""
        advice = "with --unwrap none (unwrap='none') they are taken as they are"
        return tuple(f"{assumption.text}; {advice}" for assumption in self.assumed)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was unwrapped so far, for results along the motion."""
        jumps = {name: angle.jumps for name, angle in self._angles.items() if angle.jumps}
        if not jumps:
            return ()
        named = some([f"{name} ({count(n, 'jump')})" for name, n in jumps.items()])
        text = f"angles that begin again after a turn are counted on: {named}"
        return (Assumption("completed", text),)
