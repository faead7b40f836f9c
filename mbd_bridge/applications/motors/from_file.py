"""What a URDF says of actuators: reductions, rotors, ``<dynamics>`` and ``<limit>`` of joints.

A file's zero friction is not a statement: exporters write it where nothing is known. Its friction
counts where it is not zero, or where a force element stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mbd_bridge.applications.motors.actuator import Actuator
from mbd_bridge.applications.motors.friction import Friction
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement, replaced_by
from mbd_bridge.model import Model
from mbd_bridge.model.description import Joint, Transmission

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
    found: list[str] = []
    for joint in model.joints[1:]:
        quaternion = joint.type.nq > joint.type.nv
        if joint.moving and joint.follows is None and joint.name in joints and not quaternion:
            found += [joint.name + suffix for suffix in joint.type.velocities]
    return tuple(found)


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
    by_name = {one.joint: one for one in given}
    owners = _owners(model)
    described = {joint.name: joint for joint in model.description.joints}
    gears = {one.joint: one for one in model.description.transmissions}
    acting = replaced_by(model, elements)
    found = []
    for name in names:
        owner = owners[name]
        one = by_name.get(name, Actuator(name))
        one = _with_friction(one, described.get(owner), owner, acting, use)
        if use.transmissions and name == owner and owner in gears:
            one = _with_gears(one, gears[owner])
        if use.limits and name in described:
            limits = described[name].limits
            one = replace(
                one,
                effort=one.effort if one.effort is not None else limits.effort or None,
                velocity=one.velocity if one.velocity is not None else limits.velocity or None,
            )
        found.append(one.bind(model))
    return tuple(found)


def _owners(model: Model) -> Mapping[str, str]:
    """Return the joint of each degree of freedom."""
    return {
        joint.name + suffix: joint.name
        for joint in model.joints
        if joint.moving
        for suffix in joint.type.velocities
    }


def _with_friction(
    one: Actuator, joint: Joint | None, owner: str, acting: Replaced, use: FromFile
) -> Actuator:
    elements = [kind for kind in ("friction", "damping") if (kind, owner) in acting]
    if elements and one.joint_friction:
        raise StateError(
            f"actuator of {one.joint!r}: joint_friction: a force element is friction in this joint "
            f"too, and it would count twice; remove one of them"
        )
    if elements:
        one = replace(_sourced(one, "friction", "by force elements"), friction_elements=True)
    if one.joint_friction is not None or joint is None or not use.dynamics:
        return one
    coulomb = 0.0 if "friction" in elements else joint.friction
    viscous = 0.0 if "damping" in elements else joint.damping
    if not coulomb and not viscous:
        return one
    kinds = [kind for kind, x in (("friction", coulomb), ("damping", viscous)) if x]
    source = f"{' and '.join(kinds)} of the file's <dynamics>"
    return replace(_sourced(one, "friction", source), joint_friction=Friction(coulomb, viscous))


def _with_gears(one: Actuator, gears: Transmission) -> Actuator:
    place = f"transmission {gears.name!r}"
    if gears.problem:
        problem = f"{place} not read: {gears.problem}"
        return _sourced(one, "rotors", problem)
    ratio, inertia, used = one.ratio, one.rotor_inertia, list[str]()
    if ratio is None and gears.reduction is not None:
        ratio = gears.reduction
        used.append(f"ratio {ratio:g}")
    if inertia is None and gears.rotor_inertia is not None:
        inertia = gears.rotor_inertia
        used.append(f"rotor inertia {inertia:g} kg m²")
    if not used:
        return one
    said = f"{' and '.join(used)} of {place}"
    return replace(_sourced(one, "rotors", said), ratio=ratio, rotor_inertia=inertia)


def _sourced(one: Actuator, topic: str, text: str) -> Actuator:
    return replace(one, sources=(*one.sources, (topic, text)))
