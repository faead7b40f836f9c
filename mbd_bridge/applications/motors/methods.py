"""What motors add to a `Mechanism` and a `LoadHistory` (``entry_points.txt``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np

from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.motors.actuator import Actuator
from mbd_bridge.applications.motors.duty import MotorStates
from mbd_bridge.applications.motors.files import Actuators, actuated_coordinates, completed
from mbd_bridge.applications.motors.motors import Motors, MotorsObserver
from mbd_bridge.base.arguments import chosen_names, name_list
from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.options import with_options
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.watch import watch
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.simulation import Simulation


@property  # type: ignore[misc]
def stated_actuators(mechanism: Mechanism) -> Actuators | None:
    """The actuators as a sidecar or `with_actuators` state them, or None."""
    stated: Actuators | None = mechanism.stated.get("actuators")
    return stated


@property  # type: ignore[misc]
def actuators(mechanism: Mechanism) -> tuple[Actuator, ...]:
    """The actuators, as they are stated and completed by what the file says.

    One for each degree of freedom, of a machine with loops for those that the file actuates.
    """
    return completed_actuators(mechanism, mechanism.forces, None, None)


def moved_by(mechanism: Mechanism, efforts: Array) -> tuple[Actuator, ...]:
    """Return the actuators of degrees of freedom along which forces (N, nv) act.

    Of a tree those of all; of a machine with loops also those that are stated.
    """
    stated = [one.joint for one in mechanism.stated_actuators or ()]
    acting = np.abs(efforts).max(axis=0, initial=0.0) > 0.0
    names = [n for n, acts in zip(mechanism.model.velocity_names, acting, strict=True) if acts]
    moved = tuple(
        joint.name
        for joint in mechanism.model.joints[1:]
        for suffix in joint.type.velocities
        if joint.moving and joint.name + suffix in (*stated, *names)
    )
    actuated = (*(mechanism.model.description.actuated or ()), *moved)
    return completed_actuators(
        mechanism, mechanism.forces, None, actuated if mechanism.model.has_loops else None
    )


def completed_actuators(
    mechanism: Mechanism,
    elements: tuple[ForceElement, ...],
    joints: Iterable[str] | str | None,
    actuated: Iterable[str] | str | None,
) -> tuple[Actuator, ...]:
    """Return the actuators of joints, as they are stated and completed by what the file says.

    Parameters
    ----------
    elements : that act
    joints, actuated : None: those that the file actuates
    """
    stated = Actuators() if mechanism.stated_actuators is None else mechanism.stated_actuators
    named = actuated if actuated is None else name_list("actuated", actuated, "joints")
    names = actuated_coordinates(mechanism.model, named)
    names = chosen_names("joints", joints, names, "actuated joint", ModelError)
    return completed(mechanism.model, stated.entries, names, elements, stated.use)


def with_actuators(mechanism: Mechanism, actuators: Iterable[Actuator] | Actuators) -> Mechanism:
    """Return the mechanism with these actuators, in place of those it has stated."""
    return mechanism.stating({"actuators": actuators})


@with_options
def motors(
    mechanism: Mechanism,
    motion: Motion,
    joints: Iterable[str] | str | None = None,
    *,
    threads: int = 1,
    **options: Unpack[ActingOptions],
) -> Motors:
    """Return what motors have to do along a motion: torque, speed, power, verdict.

    Parameters
    ----------
    joints : degrees of freedom by name, `joint.suffix` where a joint has several; None for all
        that are actuated
    threads : see `joint_loads`
    **options : of what acts. External wrenches of N states are those of the motion's rows

    Examples
    --------
    >>> robot.motors(motion)["elbow"].verdict                       # doctest: +SKIP
    """
    return motors_along([motion], LoadInputs.of(mechanism, motion, options, threads), joints)


def motors_along(
    pieces: Iterable[Motion],
    inputs: LoadInputs,
    joints: Iterable[str] | str | None = None,
    see: Callable[[Motors, Array, list[MotorStates]], None] | None = None,
) -> Motors:
    """Return what motors have to do along a motion in pieces; see `motors`, `MotorsObserver`."""
    actuators = completed_actuators(inputs.mechanism, inputs.forces, joints, inputs.actuated)
    observer = MotorsObserver(inputs.model, actuators, see)
    found: Motors = watch(pieces, inputs, {"motors": observer})["motors"]
    return found


@property  # type: ignore[misc]
def has_motors(mechanism: Mechanism) -> bool:
    """Whether actuators are stated, or the file says gears or rotors of a joint."""
    if mechanism.stated.get("actuators"):
        return True
    geared = mechanism.model.description.transmissions
    return any(x.reduction not in (None, 1.0) or x.rotor_inertia for x in geared)


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> MotorsObserver | None:
    """Return what sees the motors where a request asks for it, or a machine states actuators.

    Parameters
    ----------
    run : motors give what its torque inputs and prescribed motions did; of a machine with loops
        they are those of joints with an input or a stated actuator
    """
    if not (mechanism.has_motors if request.motors is None else request.motors):
        return None
    from mbd_bridge.applications.motors.motors import MotorsObserver

    if run is None:
        asked = request.request
        actuators = completed_actuators(mechanism, asked.forces, None, asked.actuated)
        return MotorsObserver(mechanism.model, actuators)
    from mbd_bridge.simulation.results.simulation import efforts

    return MotorsObserver(run.model, mechanism.moved_by(efforts(run)))


def _motors(history: LoadHistory) -> Motors | None:
    """What motors have to do, where that was computed, or None."""
    return history.results.get("motors")


motors_of_history = property(_motors)
