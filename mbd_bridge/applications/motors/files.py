"""Actuators from and to ``NAME.actuators.yaml`` beside the URDF: motors, gears, friction, limits.

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

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mbd_bridge.applications.motors.actuator import (
    Actuator,
    Efficiency,
    Friction,
    MotorCurve,
    TorqueCurve,
)
from mbd_bridge.base.arguments import file_path
from mbd_bridge.base.errors import StateError
from mbd_bridge.files.sidecars import Entry, EntryList, StatedParts, table_points
from mbd_bridge.files.whole_file import whole_file
from mbd_bridge.files.yaml_text import Node, yaml_text
from mbd_bridge.forces.base import ForceElement, model_in, replaced_by
from mbd_bridge.model import Model
from mbd_bridge.model.description import Joint, Transmission

# What a URDF says of actuators: reductions, rotors, ``<dynamics>`` and ``<limit>`` of joints.
#
# A file's zero friction is not a statement: exporters write it where nothing is known. Its
# friction counts where it is not zero, or where a force element stands for it.

Replaced = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class FromFile:
    """What of a URDF is used where an actuator does not say it.

    Parameters
    ----------
    transmissions : reductions and rotors
    dynamics : damping and friction, at the joint
    limits : effort and velocity, at the joint
    """

    transmissions: bool = True
    dynamics: bool = True
    limits: bool = True


def actuated_coordinates(model: Model, actuated: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the degrees of freedom that can have a motor, by name.

    Parameters
    ----------
    actuated : joints of a machine with loops that are actuated; None: those of the file
    """
    if model.has_loops:
        named = actuated if actuated is not None else model.description.actuated or ()
        joints = set(named)
    else:
        joints = {joint.name for joint in model.joints}
    names: list[str] = []
    for joint in model.joints[1:]:
        quaternion = joint.type.nq > joint.type.nv
        if joint.moving and joint.follows is None and joint.name in joints and not quaternion:
            names += [joint.name + suffix for suffix in joint.type.velocities]
    return tuple(names)


def completed(
    model: Model,
    given: Sequence[Actuator],
    names: Sequence[str],
    elements: Iterable[ForceElement] = (),
    use: FromFile = FromFile(),
) -> tuple[Actuator, ...]:
    """Return the actuators of some degrees of freedom, completed by what the file says.

    Parameters
    ----------
    given : bound actuators; of others that are named the file alone speaks
    elements : force elements that act: friction among them is part of the joint's actuation
        already, and not counted twice
    """
    by_name = {actuator.joint: actuator for actuator in given}
    owners = _owners(model)
    described = {joint.name: joint for joint in model.description.joints}
    gears = {actuator.joint: actuator for actuator in model.description.transmissions}
    acting = replaced_by(model, elements)
    actuators = []
    for name in names:
        owner = owners[name]
        actuator = by_name.get(name, Actuator(name))
        actuator = _with_friction(actuator, described.get(owner), owner, acting, use)
        if use.transmissions and name == owner and owner in gears:
            actuator = _with_gears(actuator, gears[owner])
        if use.limits and name in described:
            limits = described[name].limits
            actuator = replace(
                actuator,
                effort=actuator.effort if actuator.effort is not None else limits.effort or None,
                velocity=actuator.velocity
                if actuator.velocity is not None
                else limits.velocity or None,
            )
        actuators.append(actuator.bind(model))
    return tuple(actuators)


def _owners(model: Model) -> Mapping[str, str]:
    """Return the joint of each degree of freedom."""
    return {
        joint.name + suffix: joint.name
        for joint in model.joints
        if joint.moving
        for suffix in joint.type.velocities
    }


def _with_friction(
    actuator: Actuator, joint: Joint | None, owner: str, acting: Replaced, use: FromFile
) -> Actuator:
    elements = [kind for kind in ("friction", "damping") if (kind, owner) in acting]
    if elements and actuator.joint_friction:
        raise StateError(
            f"actuator of {actuator.joint!r}: joint_friction: a force element is friction in this "
            f"joint too, and it would count twice; remove one of them"
        )
    if elements:
        actuator = replace(
            _sourced(actuator, "friction", "by force elements"), friction_elements=True
        )
    if actuator.joint_friction is not None or joint is None or not use.dynamics:
        return actuator
    coulomb = 0.0 if "friction" in elements else joint.friction
    viscous = 0.0 if "damping" in elements else joint.damping
    if not coulomb and not viscous:
        return actuator
    kinds = [kind for kind, x in (("friction", coulomb), ("damping", viscous)) if x]
    source = f"{' and '.join(kinds)} of the file's <dynamics>"
    return replace(
        _sourced(actuator, "friction", source), joint_friction=Friction(coulomb, viscous)
    )


def _with_gears(actuator: Actuator, gears: Transmission) -> Actuator:
    transmission = f"transmission {gears.name!r}"
    if gears.problem:
        problem = f"{transmission} not read: {gears.problem}"
        return _sourced(actuator, "rotors", problem)
    ratio, inertia, used = actuator.ratio, actuator.rotor_inertia, list[str]()
    if ratio is None and gears.reduction is not None:
        ratio = gears.reduction
        used.append(f"ratio {ratio:g}")
    if inertia is None and gears.rotor_inertia is not None:
        inertia = gears.rotor_inertia
        used.append(f"rotor inertia {inertia:g} kg m²")
    if not used:
        return actuator
    source = f"{' and '.join(used)} of {transmission}"
    return replace(_sourced(actuator, "rotors", source), ratio=ratio, rotor_inertia=inertia)


def _sourced(one: Actuator, topic: str, text: str) -> Actuator:
    return replace(one, sources=(*one.sources, (topic, text)))


NUMBERS = ("ratio", "rotor_inertia", "max_speed", "effort", "velocity")
FRICTIONS = ("motor_friction", "joint_friction")
CURVES = ("continuous", "peak")
FRICTION_KEYS = ("coulomb", "viscous", "load")
EFFICIENCY_KEYS = ("motoring", "braking")
URDF_KEYS = ("transmissions", "dynamics", "limits")

ACTUATORS_FILE = EntryList(
    "actuators",
    "N m, rad/s, kg m2, of slides N, m/s, kg",
    "joint",
    "actuator of",
    (*NUMBERS, "efficiency", *FRICTIONS, *CURVES),
    ("urdf",),
    ("this joint has an actuator already", "remove one of them"),
)
"""The form of such a file."""


@dataclass(frozen=True)
class Actuators:
    """Actuators of a machine as they are given, and what of its URDF completes them.

    Attributes
    ----------
    entries : bound to the model
    use : what of the URDF is used where an entry does not say it, and of joints without an entry
    """

    entries: tuple[Actuator, ...] = ()
    use: FromFile = FromFile()

    @staticmethod
    def of(machine: Any, given: Actuators | Iterable[Actuator] | None) -> Actuators:
        """Return actuators bound to a machine."""
        model = model_in(machine, "actuators")
        use = given.use if isinstance(given, Actuators) else FromFile()
        expected = "actuators: expected a list, actuators=[mbd.actuators.Actuator(...)]"
        entries: tuple[Any, ...] = ()
        try:
            if isinstance(given, Actuator | str):
                raise TypeError
            entries = () if given is None else tuple(given)
        except TypeError:  # also of arrays without a dimension
            raise StateError(f"{expected}, got {given!r:.60}") from None
        by_joint: dict[str, Actuator] = {}
        for actuator in entries:
            if not isinstance(actuator, Actuator):
                raise StateError(f"{expected}, got {actuator!r:.60} in it")
            if actuator.joint in by_joint:
                raise StateError(f"actuators: {actuator.joint!r} has two; remove one of them")
            by_joint[actuator.joint] = actuator.bind(model)
        return Actuators(tuple(by_joint.values()), use)

    def __iter__(self) -> Iterator[Actuator]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def load_actuators(path: str | os.PathLike[str], machine: Any) -> Actuators:
    """Return the actuators in a file, bound to a machine.

    Parameters
    ----------
    path : ``NAME.actuators.yaml``
    machine : a `Mechanism`, or its model

    Raises
    ------
    FileError
        The file cannot be read, or an entry does not fit the machine: file, line, element.
    """
    model = model_in(machine, "actuators.load")
    entries, beside = ACTUATORS_FILE.read(file_path("path", path))
    use = beside["urdf"].table(URDF_KEYS) if "urdf" in beside else {}
    urdf = {key: node.flag() for key, node in use.items()}
    return Actuators(tuple(_actuator(entry, model) for entry in entries), FromFile(**urdf))


def save_actuators(path: str | os.PathLike[str], actuators: Actuators | Iterable[Actuator]) -> None:
    """Write actuators to a file that `load_actuators` reads, numbers to the last digit."""
    path = file_path("path", path)
    use = actuators.use if isinstance(actuators, Actuators) else FromFile()
    content = {
        "units": "SI",
        "actuators": [_plain(one) for one in actuators],
        "urdf": asdict(use),
    }
    with whole_file(path) as out:
        out.write(yaml_text(content))


def _plain(actuator: Actuator) -> dict[str, Any]:
    """Return what an entry of a file says of an actuator."""
    if not isinstance(actuator, Actuator):
        raise StateError(f"actuators: expected actuators, got {actuator!r:.60}")
    entry: dict[str, Any] = {"joint": actuator.joint}
    values = {name: getattr(actuator, name, None) for name in (*NUMBERS, "efficiency", *FRICTIONS)}
    values |= {name: getattr(actuator.curve, name) for name in (*CURVES, "max_speed")}
    for name, value in values.items():
        if isinstance(value, Efficiency):
            value = {key: x for key, x in asdict(value).items() if x is not None}
        elif isinstance(value, Friction):
            value = asdict(value)
        elif isinstance(value, TorqueCurve):
            value = {"speed": list(value.speed), "torque": list(value.torque)}
        if value is not None:
            entry[name] = value
    return entry


def _actuator(entry: Entry, model: Model) -> Actuator:
    name = entry.name.text()
    actuator = _checked(Actuator(name), model, entry.name, entry.node.name)
    curve: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for key, node in entry.fields.items():
        here = node.named(f"{entry.node.name}, {key}")
        alone: dict[str, Any] = {key: _torque(here) if key in CURVES else _value(key, here)}
        if key in CURVES or key == "max_speed":
            curve |= alone
            alone = {"curve": MotorCurve(**alone)}
        else:
            fields |= alone
        _checked(Actuator(name, **alone), model, here, here.name)
    return replace(actuator, **fields, curve=MotorCurve(**curve)).bind(model)


def _checked(one: Actuator, model: Model, node: Node, name: str) -> Actuator:
    with node.named(name).placed():
        return one.bind(model)


def _value(key: str, node: Node) -> Any:
    if key in FRICTIONS:
        return Friction(**_numbers(node, FRICTION_KEYS))
    if key == "efficiency" and isinstance(node.value, dict):
        numbers = _numbers(node, EFFICIENCY_KEYS)
        if "motoring" not in numbers:
            raise node.error("the key 'motoring' is missing; add it")
        return Efficiency(**numbers)
    return node.number()


def _numbers(node: Node, keys: tuple[str, ...]) -> dict[str, float]:
    return {key: one.named(f"{node.name}, {key}").number() for key, one in node.table(keys).items()}


def _torque(node: Node) -> float | TorqueCurve:
    if not isinstance(node.value, dict):
        return node.number()
    points = table_points(node, "torque", "speed", ())
    return TorqueCurve(tuple(points.x.tolist()), tuple(points.y.tolist()))


SIDECAR = StatedParts(Actuators.of, load_actuators, save_actuators)
