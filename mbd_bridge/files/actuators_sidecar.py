"""``NAME.actuators.yaml`` beside ``NAME.urdf``: motors, gears, friction, limits.

::

    units: SI                        # N m, rad/s, kg m2; of slides and linear motors N, m/s, kg
    actuators:
      - joint: shoulder              # or joint.suffix of a joint with several degrees of freedom
        ratio: 100                   # motor by joint: rad/rad, rad/m of a slide
        rotor_inertia: 1.2e-5        # at the motor's shaft
        efficiency: {motoring: 0.8, braking: 0.7}        # or one number for both
        motor_friction: {coulomb: 0.01, viscous: 1e-5, load: 0.02}   # at the motor's shaft
        joint_friction: {coulomb: 2, viscous: 0.1}       # at the joint
        continuous: 1.2              # torque of the motor: a number, or over its speed:
        peak: {speed: [0, 300, 500], torque: [4, 4, 1]}  # or {file: m.csv, speed: w, torque: T}
        max_speed: 500
        effort: 150                  # allowed at the joint
        velocity: 3
    urdf: {transmissions: true, dynamics: true, limits: true}    # what the URDF says, used too

What an entry leaves out comes from the URDF, where it says so and `urdf` does not forbid it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mbd_bridge.files.yaml_text import Node, check_once, read_yaml

SUFFIX = ".actuators.yaml"

KEYS = ("units", "actuators", "urdf")
URDF_KEYS = ("transmissions", "dynamics", "limits")
NUMBERS = ("ratio", "rotor_inertia", "max_speed", "effort", "velocity")
FRICTIONS = ("motor_friction", "joint_friction")
CURVES = ("continuous", "peak")
ENTRY_KEYS = ("joint", *NUMBERS, "efficiency", *FRICTIONS, *CURVES)
FRICTION_KEYS = ("coulomb", "viscous", "load")
EFFICIENCY_KEYS = ("motoring", "braking")


class ActuatorEntry(NamedTuple):
    """An actuator as the file says it: the joint, the other keys, and the whole entry."""

    joint: Node
    fields: dict[str, Node]
    node: Node


class ActuatorsFile(NamedTuple):
    """What a file says; `urdf` holds what it mentions of the URDF."""

    entries: tuple[ActuatorEntry, ...]
    urdf: dict[str, bool]


def read_actuators_file(path: str | Path) -> ActuatorsFile:
    """Return the entries of a file of actuators.

    Raises
    ------
    FileError
        It cannot be read, or does not have the form above: file, line and element are named.
    """
    root = read_yaml(path)
    table = root.in_si(KEYS, "N m, rad/s, kg m2, of slides N, m/s, kg")
    entries = tuple(_entry(node) for node in root.listed("actuators"))
    named = ((one.joint.text(), one.node) for one in entries)
    check_once(named, "this joint has an actuator already", "remove one of them")
    said = table["urdf"].table(URDF_KEYS) if "urdf" in table else {}
    return ActuatorsFile(entries, {key: node.flag() for key, node in said.items()})


def _entry(node: Node) -> ActuatorEntry:
    table = node.table(ENTRY_KEYS)
    joint = node.required("joint")
    whole = node.named(f"actuator of {joint.text()!r}")
    fields = {key: one for key, one in table.items() if key != "joint"}
    return ActuatorEntry(joint, fields, whole)
