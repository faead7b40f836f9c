"""Joint loads as signals with names: components, resultants and drives, one column each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.errors import StateError
from mbd_bridge.loads.export import FORCES, MOMENTS
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.units import DRIVE, drive_units
from mbd_bridge.mechanism import Model

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COMPONENTS = (*FORCES, *MOMENTS)
RESULTANTS = ("force", "moment")
"""Quantities that are lengths of vectors: never negative, so that their cycles are not the
components' ones."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One quantity of one joint's load.

    Attributes
    ----------
    joint, quantity, unit : "elbow", "fx" ... "mz", "force" and "moment" (lengths), "drive", "N"
    """

    joint: str
    quantity: str
    unit: str

    @property
    def name(self) -> str:
        """Joint and quantity: ``elbow.fx``."""
        return f"{self.joint}.{self.quantity}"

    @property
    def resultant(self) -> bool:
        """Whether it is the length of a vector."""
        return self.quantity in RESULTANTS


class Signals:
    """The signals of the loads of some joints.

    Attributes
    ----------
    entries : in the order of the columns: of each joint six components, the lengths of force and
        moment, its drives
    """

    def __init__(self, model: Model, loads: JointLoads) -> None:
        self._loads = loads
        entries: list[Signal] = []
        for joint, place in zip(loads.joints, loads.drive_of, strict=True):
            entries += [Signal(joint, name, "N") for name in FORCES]
            entries += [Signal(joint, name, "N m") for name in MOMENTS]
            entries += [Signal(joint, "force", "N"), Signal(joint, "moment", "N m")]
            names = loads.drive_names[place]
            units = drive_units(model, joint) if names else ()
            for name, unit in zip(names, units, strict=True):
                entries.append(Signal(joint, f"drive{name.removeprefix(joint)}", DRIVE[unit]))
        self.entries = tuple(entries)

    def columns(self, loads: JointLoads) -> Floats:
        """Return the signals of N states, (N, entries)."""
        if loads.force.ndim != 3:
            raise StateError(
                f"expected loads of N states along time, got one state: {loads!r}; give (N, n) "
                f"arrays q, v, a"
            )
        parts = []
        for k, place in enumerate(loads.drive_of):
            force, moment = loads.force[:, k], loads.moment[:, k]
            lengths = [np.sqrt(np.einsum("ij,ij->i", x, x)) for x in (force, moment)]
            parts += [force, moment, np.stack(lengths, axis=1), loads.drive[:, place]]
        return np.hstack(parts)

    def determined(self, unique: Flags) -> Flags:
        """Return whether each signal is determined, (entries,), if the components (J, 6) are.

        A length is determined if its three components are. Drives always are: they do the work.
        """
        found: list[bool] = []
        for flags, place in zip(unique, self._loads.drive_of, strict=True):
            found += [*flags.tolist(), bool(flags[:3].all()), bool(flags[3:].all())]
            found += [True] * (place.stop - place.start)
        return np.array(found, dtype=bool)
