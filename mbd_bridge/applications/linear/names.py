"""Names and units of displacements and velocities: states, inputs and outputs of linear models.

A displacement has the name of its coordinate; of a joint with a quaternion it is "frame.x" along
and "frame.rx" about an axis of the child, as "frame.vx" and "frame.wx" are its velocities. A
velocity that bears its coordinate's name becomes "steer.rate"; all accelerations end so:
"steer.acceleration", "frame.wx.acceleration".
"""

from __future__ import annotations

from mbd_bridge.model import Model
from mbd_bridge.model.units import model_units

RATE, ACCELERATION = ".rate", ".acceleration"
TURNS = {"wx": "rx", "wy": "ry", "wz": "rz", "vx": "x", "vy": "y", "vz": "z"}


def displacement_names(model: Model) -> tuple[str, ...]:
    """Return the names of displacements (nv,)."""
    names = []
    for name in model.velocity_names:
        stem, _, last = name.rpartition(".")
        plain = name in model.coordinate_names
        names.append(name if plain else f"{stem}.{TURNS.get(last, last)}")
    return tuple(names)


def rate_names(model: Model) -> tuple[str, ...]:
    """Return the names of velocities (nv,), other than those of displacements."""
    taken = set(displacement_names(model))
    return tuple(name + RATE if name in taken else name for name in model.velocity_names)


def acceleration_names(model: Model) -> tuple[str, ...]:
    """Return the names of accelerations (nv,)."""
    return tuple(name + ACCELERATION for name in model.velocity_names)


def units_of(model: Model) -> tuple[str, ...]:
    """Return "rad" or "m" of each displacement (nv,)."""
    return model_units(model)[1]
