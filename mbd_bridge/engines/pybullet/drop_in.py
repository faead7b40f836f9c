"""pybullet's names over pybullet: a script that imports this moves its machines by our equations.

    import mbd_bridge.engines.pybullet.drop_in as p      # instead of: import pybullet as p

All names are pybullet's own, with its arguments and results, but for what is defined here. A body
that ``loadURDF`` loads and that has joints gets a `Stepper`, made at the next ``stepSimulation``,
which then steps all of them together. Its motors, stops, damping, gears and resets are pybullet's
and are taken over by the stepper. What pybullet does not tell of is taken here: torques
(TORQUE_CONTROL) and forces (``applyExternalForce``), which act in the next step, as there. Force
sensors tell our loads. `stepper` gives the stepper of a body, for its ``joint_loads``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.base.errors import MbdError, ModelError, StateError, warn
from mbd_bridge.engines.pybullet.client import Client, engine
from mbd_bridge.engines.pybullet.loaded_body import BASE, LoadedBody
from mbd_bridge.engines.pybullet.stepper import SAME, Stepper, check_beside, gravity_in
from mbd_bridge.files import read
from mbd_bridge.model import build_model
from mbd_bridge.model.description import Description
from mbd_bridge.model.spatial import Array, Frame

_bullet = engine()

THEIRS = "to have pybullet move it by its own equations, load it by pybullet.loadURDF"


MOVING = re.compile(rb"""<joint\b[^>]*\btype\s*=\s*["'](?!fixed["'])""")
"""In a file: a joint that moves."""


def __getattr__(name: str) -> Any:
    return getattr(_bullet, name)


@dataclass
class _Machine:
    """A body that a stepper moves, or will from the next step on.

    Attributes
    ----------
    torques : by joint number, what TORQUE_CONTROL adds in the next step, N m or N
    wrenches : by link number, (6,) what is applied in the next step, at the link's centre of mass,
        along pybullet's axes there
    sensors : joint numbers with a force sensor
    loads : what they tell, by joint number, once it is asked for after a step
    """

    description: Description
    floating: bool
    body: LoadedBody
    stepper: Stepper | None = None
    torques: dict[int, Array] = field(default_factory=dict)
    wrenches: dict[int, Array] = field(default_factory=dict)
    sensors: set[int] = field(default_factory=set)
    loads: dict[int, Array] = field(default_factory=dict)


@dataclass
class _World:
    """What is known of a client: its machines by body number, where files are, bodies looked at."""

    machines: dict[int, _Machine] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


_worlds: dict[int, _World] = {}


def _world(client: int) -> _World:
    return _worlds.setdefault(client, _World())


def stepper(bodyUniqueId: int, physicsClientId: int = 0) -> Stepper:
    """Return the stepper that moves a body, for ``joint_loads`` and its state by names."""
    machines = _world(physicsClientId).machines
    if bodyUniqueId not in machines:
        raise StateError(
            f"body {bodyUniqueId} is none that loadURDF has loaded with joints; those are "
            f"{sorted(machines) or 'none'}"
        )
    return _stepper(machines[bodyUniqueId])


def disconnect(physicsClientId: int = 0) -> None:
    """Disconnect, as pybullet does."""
    _worlds.pop(physicsClientId, None)
    _bullet.disconnect(physicsClientId)


def resetSimulation(*values: Any, physicsClientId: int = 0, **options: Any) -> None:
    """Remove all bodies, as pybullet does."""
    _world(physicsClientId).machines.clear()
    _world(physicsClientId).seen.clear()
    _bullet.resetSimulation(*values, physicsClientId=physicsClientId, **options)


def removeBody(bodyUniqueId: int, physicsClientId: int = 0) -> None:
    """Remove a body, as pybullet does."""
    _world(physicsClientId).machines.pop(bodyUniqueId, None)
    _bullet.removeBody(bodyUniqueId, physicsClientId=physicsClientId)


def setAdditionalSearchPath(path: str, physicsClientId: int = 0) -> None:
    """Say where files are, as pybullet does."""
    _world(physicsClientId).folders.insert(0, path)
    _bullet.setAdditionalSearchPath(path, physicsClientId=physicsClientId)


def loadURDF(
    fileName: str,
    basePosition: Sequence[float] = (0.0, 0.0, 0.0),
    baseOrientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    useMaximalCoordinates: int = 0,
    useFixedBase: int = 0,
    flags: int = 0,
    globalScaling: float = 1.0,
    physicsClientId: int = 0,
) -> int:
    """Load a body, as pybullet does; one with joints with the inertia that its file says."""
    client, world = Client(physicsClientId), _world(physicsClientId)
    path = _path(fileName, world.folders)
    if path is not None and MOVING.search(path.read_bytes()):
        flags |= _bullet.URDF_USE_INERTIA_FROM_FILE
    number: int = _bullet.loadURDF(
        fileName, basePosition, baseOrientation, useMaximalCoordinates, useFixedBase, flags,
        globalScaling, physicsClientId,
    )  # fmt: skip
    world.seen.add(number)
    if not _moves(client, number):
        return number
    try:
        if path is None:
            raise ModelError(f"{fileName}: only pybullet has found the file; give its whole path")
        if useMaximalCoordinates or globalScaling != 1.0:
            raise ModelError(
                f"{fileName}: our equations know neither useMaximalCoordinates nor globalScaling"
            )
        check_beside(path)
        description, floating = read(path), client.getDynamicsInfo(number, BASE)[0] != 0.0
        body = LoadedBody(build_model(description, floating=floating), client, number)
    except MbdError as problem:
        removeBody(number, physicsClientId)
        raise type(problem)(f"{problem}; {THEIRS}") from None
    world.machines[number] = _Machine(description, floating, body)
    return number


def setJointMotorControl2(
    bodyUniqueId: int,
    jointIndex: int,
    controlMode: int,
    targetPosition: float = 0.0,
    targetVelocity: float = 0.0,
    force: float = 100000.0,
    *values: float,
    physicsClientId: int = 0,
    **options: float,
) -> None:
    """Set a motor, or apply a torque in the next step, as pybullet does."""
    machine = _moved_by_torques(physicsClientId, bodyUniqueId, controlMode)
    if machine is not None:
        _add(machine.torques, jointIndex, [force])
        force = 0.0
    _bullet.setJointMotorControl2(
        bodyUniqueId, jointIndex, controlMode, targetPosition, targetVelocity, force, *values,
        physicsClientId=physicsClientId, **options,
    )  # fmt: skip


def setJointMotorControlArray(
    bodyUniqueId: int,
    jointIndices: Sequence[int],
    controlMode: int,
    *values: Any,
    physicsClientId: int = 0,
    **options: Any,
) -> None:
    """Set motors, or apply torques in the next step, as pybullet does."""
    names = "targetPositions", "targetVelocities", "forces", "positionGains", "velocityGains"
    options = dict(zip(names, values, strict=False)) | options
    machine = _moved_by_torques(physicsClientId, bodyUniqueId, controlMode)
    if machine is not None and "forces" in options:
        for joint, force in zip(jointIndices, options["forces"], strict=True):
            _add(machine.torques, joint, [force])
        options["forces"] = [0.0] * len(jointIndices)
    _bullet.setJointMotorControlArray(
        bodyUniqueId, jointIndices, controlMode, physicsClientId=physicsClientId, **options
    )


def setJointMotorControlMultiDof(
    bodyUniqueId: int,
    jointIndex: int,
    controlMode: int,
    *values: Any,
    physicsClientId: int = 0,
    **options: Any,
) -> None:
    """Set a motor, or apply a torque in the next step, as pybullet does."""
    names = "targetPosition", "targetVelocity", "force", "positionGain", "velocityGain"
    options = dict(zip((*names, "maxVelocity", "damping"), values, strict=False)) | options
    machine = _moved_by_torques(physicsClientId, bodyUniqueId, controlMode)
    if machine is not None and "force" in options:
        _add(machine.torques, jointIndex, options["force"])
        options["force"] = [0.0] * len(options["force"])
    _bullet.setJointMotorControlMultiDof(
        bodyUniqueId, jointIndex, controlMode, physicsClientId=physicsClientId, **options
    )


def _moved_by_torques(client: int, body: int, mode: int) -> _Machine | None:
    """Return the machine that takes torques of a motor, None of what pybullet moves or drives."""
    return _world(client).machines.get(body) if mode == _bullet.TORQUE_CONTROL else None


def applyExternalForce(
    objectUniqueId: int,
    linkIndex: int,
    forceObj: Sequence[float],
    posObj: Sequence[float],
    flags: int,
    physicsClientId: int = 0,
) -> None:
    """Apply a force in the next step, as pybullet does."""
    machine = _world(physicsClientId).machines.get(objectUniqueId)
    if machine is None:
        _bullet.applyExternalForce(
            objectUniqueId, linkIndex, forceObj, posObj, flags, physicsClientId=physicsClientId
        )
        return
    centre = _centre(machine.body, linkIndex)
    force, point = np.array(forceObj, dtype=np.float64), np.array(posObj, dtype=np.float64)
    if flags == _bullet.WORLD_FRAME:
        turn = centre.rotation.T
        force, point = turn @ force, turn @ (point - centre.translation)
    _add(machine.wrenches, linkIndex, np.concatenate([force, np.cross(point, force)]))


def applyExternalTorque(
    objectUniqueId: int,
    linkIndex: int,
    torqueObj: Sequence[float],
    flags: int,
    physicsClientId: int = 0,
) -> None:
    """Apply a moment in the next step, as pybullet does."""
    machine = _world(physicsClientId).machines.get(objectUniqueId)
    if machine is None:
        _bullet.applyExternalTorque(
            objectUniqueId, linkIndex, torqueObj, flags, physicsClientId=physicsClientId
        )
        return
    centre, moment = _centre(machine.body, linkIndex), np.array(torqueObj, dtype=np.float64)
    if flags == _bullet.WORLD_FRAME:
        moment = centre.rotation.T @ moment
    _add(machine.wrenches, linkIndex, np.concatenate([np.zeros(3), moment]))


def stepSimulation(physicsClientId: int = 0) -> Any:
    """Advance all bodies by a time step: machines by our equations, others by pybullet's."""
    world = _world(physicsClientId)
    _warn_of_others(world, physicsClientId)
    machines = [(machine, _stepper(machine)) for machine in world.machines.values()]
    for machine, moved in machines:
        moved.push(_forces(machine, moved), _wrenches(machine), "link")
    answer = _bullet.stepSimulation(physicsClientId=physicsClientId)
    for machine, moved in machines:
        moved.take()
        machine.torques.clear()
        machine.wrenches.clear()
        machine.loads.clear()
    return answer


def enableJointForceTorqueSensor(
    bodyUniqueId: int, jointIndex: int, enableSensor: int = 1, physicsClientId: int = 0
) -> None:
    """Let ``getJointState`` tell the load of a joint, or not, as pybullet does."""
    machine = _world(physicsClientId).machines.get(bodyUniqueId)
    if machine is not None:
        (machine.sensors.add if enableSensor else machine.sensors.discard)(jointIndex)
        machine.loads.clear()
    _bullet.enableJointForceTorqueSensor(
        bodyUniqueId, jointIndex, enableSensor, physicsClientId=physicsClientId
    )


def getJointState(bodyUniqueId: int, jointIndex: int, physicsClientId: int = 0) -> Any:
    """Return position, velocity, load and torque of the motor, as pybullet does."""
    return _sensed("getJointState", bodyUniqueId, jointIndex, physicsClientId)


def getJointStates(bodyUniqueId: int, jointIndices: Sequence[int], physicsClientId: int = 0) -> Any:
    """Return the same of several joints, as pybullet does."""
    return _sensed("getJointStates", bodyUniqueId, jointIndices, physicsClientId)


def getJointStateMultiDof(bodyUniqueId: int, jointIndex: int, physicsClientId: int = 0) -> Any:
    """Return the same of a joint with several degrees of freedom, as pybullet does."""
    return _sensed("getJointStateMultiDof", bodyUniqueId, jointIndex, physicsClientId)


def getJointStatesMultiDof(
    bodyUniqueId: int, jointIndices: Sequence[int], physicsClientId: int = 0
) -> Any:
    """Return the same of several such joints, as pybullet does."""
    return _sensed("getJointStatesMultiDof", bodyUniqueId, jointIndices, physicsClientId)


def _moves(client: Client, number: int) -> bool:
    """Whether a body has joints that move."""
    rows = (client.getJointInfo(number, k) for k in range(client.getNumJoints(number)))
    return any(row[2] != _bullet.JOINT_FIXED for row in rows)


def _path(name: str, folders: Sequence[str]) -> Path | None:
    """Return the file that pybullet reads, if it is where a script has said that files are."""
    paths = (Path(name), *(Path(folder) / name for folder in folders))
    return next((path for path in paths if path.is_file()), None)


def _stepper(machine: _Machine) -> Stepper:
    """Return a machine's stepper, under the gravity that pybullet has now."""
    body, moved = machine.body, machine.stepper
    gravity = gravity_in(body.world(), body.client.getPhysicsEngineParameters())
    if moved is None or np.abs(moved.model.gravity - gravity).max() > SAME:
        model = build_model(machine.description, floating=machine.floating, gravity=gravity)
        moved = Stepper(model, body.client.number, body.number, release=False)
        moved.time = 0.0 if machine.stepper is None else machine.stepper.time
        machine.stepper = moved
    return moved


def _forces(machine: _Machine, moved: Stepper) -> Array | None:
    """Return the torques of the next step along the machine's velocities."""
    if not machine.torques:
        return None
    names = {joint.number: joint.name for joint in moved.body.joints}
    tree = np.zeros(moved.body.tree.nv)
    for number, torque in machine.torques.items():
        if number in names:  # fixed joints take whatever is given
            tree[moved.places[names[number]]] = torque
    return np.asarray(moved.body.rates.T @ tree)


def _wrenches(machine: _Machine) -> Mapping[str, Array]:
    """Return the wrenches of the next step by link, at its origin and along its axes."""
    wrenches, body = {}, machine.body
    for number, wrench in machine.wrenches.items():
        centre = body.centre(number)
        force, moment = centre.rotation @ wrench[:3], centre.rotation @ wrench[3:]
        moment = moment + np.cross(centre.translation, force)
        wrenches[body.model.links[body.links[number]].name] = np.concatenate([force, moment])
    return wrenches


def _centre(body: LoadedBody, link: int) -> Frame:
    """Return pybullet's frame of a link, at its centre of mass."""
    if link not in body.links:
        raise StateError(f"link {link}: body {body.number} has links -1 to {max(body.links)}")
    return body.client.frame(body.number, link)


def _add(sums: dict[int, Array], number: int, values: Any) -> None:
    sums[number] = sums.get(number, 0.0) + np.array(values, dtype=np.float64)


def _sensed(function: str, body: int, asked: Any, client: int) -> Any:
    """Return what a function of pybullet says of joints, with our loads where sensors are.

    They are what the parent exerts on the child, at its centre of mass, along pybullet's axes.
    """
    answer = getattr(_bullet, function)(body, asked, physicsClientId=client)
    machine, several = _world(client).machines.get(body), "States" in function
    numbers, rows = (asked, answer) if several else ([asked], [answer])
    if machine is None or not machine.sensors.intersection(numbers):
        return answer
    if not machine.loads:
        joints = {k: _bullet.getJointInfo(body, k, client)[1].decode() for k in machine.sensors}
        joint_loads = _stepper(machine).joint_loads([*joints.values()])
        for k, name in joints.items():
            centre, load = machine.body.centre(k), joint_loads[name]
            moment = load.moment - np.cross(centre.translation, load.force)
            turn = centre.rotation.T
            machine.loads[k] = np.concatenate([turn @ load.force, turn @ moment])
    out = []
    for number, row in zip(numbers, rows, strict=True):
        if number in machine.sensors:
            row = (*row[:2], tuple(machine.loads[number].tolist()), *row[3:])
        out.append(row)
    return tuple(out) if several else out[0]


def _warn_of_others(world: _World, client: int) -> None:
    """Warn, once each, of bodies with joints that pybullet moves by its own equations."""
    count = _bullet.getNumBodies(client)
    if count == len(world.seen):
        return
    link = Client(client)
    numbers = {_bullet.getBodyUniqueId(k, client) for k in range(count)}
    for number in sorted(numbers - world.seen):
        if _moves(link, number):
            warn(
                f"pybullet's body {number} has joints and moves by pybullet's own equations: only "
                f"what loadURDF loads is moved by the ones here"
            )
    world.seen = numbers
    for number in [*world.machines]:
        if number not in numbers:
            del world.machines[number]
