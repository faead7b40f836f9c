"""The units of a model's coordinates, velocities and actuators."""

from __future__ import annotations

from functools import lru_cache

from mbd_bridge.model import JointType, Model

RATE = ("", "/s", "/s^2")
"""What follows the unit of a coordinate in those of its first and second derivative."""

KEPT = 256
"""Joints whose units are remembered: they are asked for column by column."""

FORCE_UNIT = {"rad": "N m", "m": "N"}
"""Unit of the generalised force along a coordinate."""


def state_units(model: Model) -> dict[str, str]:
    """Return the units of coordinates and of their rates by name: ``crank``, ``crank.vel``, ..."""
    of_q, of_v = model_units(model)
    units = dict(zip(model.coordinate_names, of_q, strict=True))
    for name, unit in zip(model.velocity_names, of_v, strict=True):
        units |= {f"{name}.vel": unit + RATE[1], f"{name}.acc": unit + RATE[2]}
    return units


@lru_cache(maxsize=KEPT)
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
