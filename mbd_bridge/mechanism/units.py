"""The units of a model's coordinates, velocities and actuators, and those that a file may use."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from mbd_bridge.mechanism import JointType, Model

RATE = ("", "/s", "/s^2")
"""What follows the unit of a coordinate in those of its first and second derivative."""

FORCE_UNIT = {"rad": "N m", "m": "N"}
"""Unit of the generalised force along a coordinate."""


class Unit(NamedTuple):
    """What a unit measures, named after its SI unit, and how many of these it is."""

    measures: str
    factor: float


def _accepted() -> dict[str, Unit]:
    lengths = {"rad": ("rad", 1.0), "deg": ("rad", math.pi / 180), "°": ("rad", math.pi / 180)}
    lengths |= {"m": ("m", 1.0), "cm": ("m", 0.01), "mm": ("m", 0.001)}
    table = {"s": Unit("s", 1.0), "ms": Unit("s", 1e-3), "us": Unit("s", 1e-6)}
    table |= {"ns": Unit("s", 1e-9), "1": Unit("1", 1.0), "-": Unit("1", 1.0), "": Unit("1", 1.0)}
    table |= {"N": Unit("N", 1.0), "kN": Unit("N", 1e3), "N m": Unit("N m", 1.0)}
    table |= {"Nm": Unit("N m", 1.0), "N mm": Unit("N m", 1e-3), "kN m": Unit("N m", 1e3)}
    for name, (base, factor) in lengths.items():
        table[name] = Unit(base, factor)
        table[f"{name}/s"] = Unit(f"{base}/s", factor)
        for square in ("s^2", "s2", "s²", "s**2"):
            table[f"{name}/{square}"] = Unit(f"{base}/s^2", factor)
    return table


UNITS = _accepted()
"""The units that a file may use, as written between [ and ]."""


_MEASURED = re.compile(r"(?P<number>.+?)\s*(?P<unit>(?![eE][-+]?\d)[a-zA-Z°/]*)")


def measured(text: str) -> tuple[float, str]:
    """Return the number and the unit of a text such as "30deg" or "0.5"; ValueError if it is none.

    The unit is "" where none is written.
    """
    match = _MEASURED.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a number such as 0.5 or 30deg, got {text!r}")
    return float(match["number"]), match["unit"]


def in_si(name: str, number: float, unit: str, measures: str) -> float:
    """Return a number in the SI unit `measures` of what has this name.

    A number without a unit is in it; ValueError where the unit measures something else.
    """
    if not unit:
        return number
    known = UNITS.get(unit)
    if known is None or known.measures != measures:
        kind = f"is in {measures}" if measures else "has no unit"
        raise ValueError(
            f"{name} {kind}, which {unit!r} is not a unit of; give the number in "
            f"{measures or 'its own'}"
        )
    return number * known.factor


def state_units(model: Model) -> dict[str, str]:
    """Return the units of coordinates and of their rates by name: ``crank``, ``crank.vel``, ..."""
    of_q, of_v = model_units(model)
    found = dict(zip(model.coordinate_names, of_q, strict=True))
    for name, unit in zip(model.velocity_names, of_v, strict=True):
        found |= {f"{name}.vel": unit + RATE[1], f"{name}.acc": unit + RATE[2]}
    return found


def velocity_units(kind: JointType) -> tuple[str, ...]:
    """Return "rad" or "m" for each velocity of a joint: what it is the rate of."""
    return tuple("m" if slides else "rad" for slides in kind.slides())


def coordinate_units(kind: JointType) -> tuple[str, ...]:
    """Return "rad", "m" or, for the parts of a quaternion, "1" for each coordinate of a joint."""
    units = velocity_units(kind)
    if kind.nq == kind.nv:
        return units
    return (*units[: kind.nq - 4], "1", "1", "1", "1")


def model_units(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the units of q, and what v is the rate of, entry by entry."""
    coordinates: list[str] = []
    velocities: list[str] = []
    for joint in model.joints:
        if joint.moving and joint.follows is None:
            coordinates += coordinate_units(joint.type)
            velocities += velocity_units(joint.type)
    return tuple(coordinates), tuple(velocities)


def actuation_units(model: Model, name: str) -> tuple[str, ...]:
    """Return "rad" or "m" for each actuator of a joint, or of what gears do to the one they
    move.
    """
    moved = {coupling.name: coupling.joint for coupling in model.description.couplings}
    if name not in moved:
        return velocity_units(model.joint(name).type)
    of_q, _ = model_units(model)
    return (of_q[model.coordinate_names.index(moved[name])],)


def model_notes(model: Model) -> str:
    """Return the coordinates in their order and their units, for the head of a file."""
    of_q, of_v = model_units(model)
    lines = [f"Mechanism {model.name}, {'floating' if model.floating else 'fixed'} base.", ""]
    for k, (name, unit) in enumerate(zip(model.coordinate_names, of_q, strict=True)):
        lines.append(f"q[{k}]  {name}  {'part of a unit quaternion' if unit == '1' else unit}")
    lines.append("")
    for k, (name, unit) in enumerate(zip(model.velocity_names, of_v, strict=True)):
        lines.append(f"v[{k}], a[{k}], tau[{k}]  {name}  {unit}/s, {unit}/s^2, {FORCE_UNIT[unit]}")
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    return "\n".join([*lines, "", f"SI units; gravity ({gravity}) m/s^2 in the world's axes."])
