"""Joint loads as signals with names: components, resultants and actuators, one column each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.table import PART, Series
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.table import ACTUATION, COMPONENTS, FORCES

RESULTANTS = ("force", "moment")
"""Quantities that are lengths of vectors: never negative, so that their cycles are not the
components' ones."""


@dataclass(frozen=True, slots=True)
class LoadSignal:
    """One quantity of one joint's load.

    Attributes
    ----------
    joint, quantity, unit : "elbow", "fx" ... "mz", "force" and "moment" (lengths), "actuation", "N"
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


class OfJoint(Protocol):
    """Something of one joint, such as a signal or its peak."""

    joint: str
    quantity: str


def signal_labels(signals: Iterable[LoadSignal | OfJoint]) -> tuple[Series, Series]:
    """Return what the rows of a table of signals stand for: joint and quantity."""
    pairs = [(one.joint, one.quantity) for one in signals]
    joints, quantities = zip(*pairs, strict=True) if pairs else ((), ())
    return Series("joint", "", joints), Series(PART, "", quantities)


class Signals:
    """The signals of the loads of some joints.

    Attributes
    ----------
    entries : in the order of the columns: of each joint six components, the lengths of force and
        moment, its actuators
    """

    def __init__(self, loads: JointLoads) -> None:
        model = loads.model
        assert model is not None
        entries: list[LoadSignal] = []
        for joint, place in zip(loads.joints, loads.actuation_of, strict=True):
            entries += [LoadSignal(joint, x, "N" if x in FORCES else "N m") for x in COMPONENTS]
            entries += [LoadSignal(joint, "force", "N"), LoadSignal(joint, "moment", "N m")]
            names = loads.actuation_names[place]
            units = actuation_units(model, joint) if names else ()
            for name, unit in zip(names, units, strict=True):
                entries.append(
                    LoadSignal(joint, f"{ACTUATION}{name.removeprefix(joint)}", FORCE_UNIT[unit])
                )
        self.entries = tuple(entries)

    def columns(self, loads: JointLoads) -> Floats:
        """Return the signals of N states, (N, entries)."""
        parts = []
        for k, place in enumerate(loads.actuation_of):
            force, moment = loads.force[:, k], loads.moment[:, k]
            lengths = [np.sqrt(np.einsum("ij,ij->i", x, x)) for x in (force, moment)]
            parts += [force, moment, np.stack(lengths, axis=1), loads.actuation[:, place]]
        return np.hstack(parts)

    def deviations(self, loads: JointLoads) -> Floats | None:
        """Return the standard deviations of `columns`, None where nothing is known of them."""
        known = loads.uncertainty
        if known is None:
            return None
        parts = []
        for k, place in enumerate(loads.actuation_of):
            lengths = np.stack([known.force_length[:, k], known.moment_length[:, k]], axis=1)
            parts += [known.force[:, k], known.moment[:, k], lengths, known.actuation[:, place]]
        return np.hstack(parts)

    def determined(self, loads: JointLoads) -> Flags:
        """Return whether each signal is determined at all of these states, (entries,).

        A length is determined if its three components are.
        """
        actuations = np.asarray(np.atleast_2d(loads.actuation_unique).all(axis=0), dtype=bool)
        found: list[bool] = []
        for flags, place in zip(loads.determined, loads.actuation_of, strict=True):
            found += [*flags.tolist(), bool(flags[:3].all()), bool(flags[3:].all())]
            found += actuations[place].tolist()
        return np.array(found, dtype=bool)


def times_of(loads: JointLoads, time: Floats | None = None) -> Floats:
    """Return the times (N,) s of loads along a motion: those given, or their own."""
    if loads.force.ndim != 3:
        raise StateError(f"expected loads along a motion, (N, joints, 3), got one state: {loads}")
    times = loads.time if time is None else time
    if times is None:
        raise StateError("the times of these loads are not known; give time=(N,) s")
    if times.shape != loads.force.shape[:1]:
        raise StateError(
            f"expected {len(loads.force)} times, one a state, got the shape {times.shape}"
        )
    if not len(times):
        raise StateError("there are no states: a motion has at least one")
    return times
