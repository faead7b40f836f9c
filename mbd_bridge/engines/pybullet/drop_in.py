"""pybullet's names over pybullet: a script that imports this moves its machines by our equations.

    import mbd_bridge.engines.pybullet as p      # instead of: import pybullet as p

All names are pybullet's own, with its arguments and results, but for what is defined here. A body
that ``loadURDF`` loads and that has joints gets a `Stepper`, made at the next ``stepSimulation``,
which then steps all of them together. Its motors, stops, damping, gears and resets are pybullet's
and are taken over by the stepper. What pybullet does not tell of is taken here: torques
(TORQUE_CONTROL) and forces (``applyExternalForce``), which act in the next step, as there. Force
sensors tell our loads. ``createConstraint`` between links of one machine closes a loop of ours.
`getStepper` gives the stepper of a body, for its ``joint_loads``. `BulletClient` takes the place of
that of ``pybullet_utils.bullet_client``.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from pybullet_utils import bullet_client

from mbd_bridge.base.errors import MbdError, ModelError, StateError, warn
from mbd_bridge.engines.pybullet.client import Client, engine
from mbd_bridge.engines.pybullet.loaded_body import BASE, LoadedBody
from mbd_bridge.engines.pybullet.machines import Machine
from mbd_bridge.engines.pybullet.stepper import Stepper, check_beside
from mbd_bridge.files import read
from mbd_bridge.model import build_model

_bullet = engine()

THEIRS = "to have pybullet move it by its own equations, load it by pybullet.loadURDF"


MOVING = re.compile(rb"""<joint\b[^>]*\btype\s*=\s*["'](?!fixed["'])""")
"""In a file: a joint that moves."""


def __getattr__(name: str) -> Any:
    return getattr(_bullet, name)


@dataclass
class _World:
    """What is known of a client: its machines by body number, where files are, bodies looked at."""

    machines: dict[int, Machine] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


_worlds: dict[int, _World] = {}


def _world(client: int) -> _World:
    return _worlds.setdefault(client, _World())


def getStepper(bodyUniqueId: int, physicsClientId: int = 0) -> Stepper:
    """Return the stepper that moves a body, for ``joint_loads`` and its state by names."""
    machines = _world(physicsClientId).machines
    if bodyUniqueId not in machines:
        raise StateError(
            f"body {bodyUniqueId} is none that loadURDF has loaded with joints; those are "
            f"{sorted(machines) or 'none'}"
        )
    return machines[bodyUniqueId].stepper


class BulletClient(bullet_client.BulletClient):  # type: ignore[misc]
    """pybullet_utils' client of this name, over the functions of this module."""

    _client: int

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        _worlds.pop(self._client, None)  # of a client that was closed past this module

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(sys.modules[__name__], name)
        if inspect.isroutine(attribute):
            attribute = functools.partial(attribute, physicsClientId=self._client)
        if name == "disconnect":
            self._client = -1
        return attribute


def connect(*values: Any, **options: Any) -> int:
    """Connect, as pybullet does."""
    number: int = _bullet.connect(*values, **options)
    _worlds.pop(number, None)  # as above
    return number


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
    world.machines[number] = Machine(description, floating, body)
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
    _bullet.setJointMotorControl2(
        bodyUniqueId, jointIndex, controlMode, targetPosition, targetVelocity,
        force if machine is None else 0.0, *values, physicsClientId=physicsClientId, **options,
    )  # fmt: skip
    if machine is not None:
        machine.add_torque(jointIndex, [force])


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
    forces = None if machine is None else options.get("forces")
    if forces is not None:
        options["forces"] = [0.0] * len(forces)
    _bullet.setJointMotorControlArray(
        bodyUniqueId, jointIndices, controlMode, physicsClientId=physicsClientId, **options
    )
    if machine is not None and forces is not None:
        for joint, force in zip(jointIndices, forces, strict=True):
            machine.add_torque(joint, [force])


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
    force = None if machine is None else options.get("force")
    if force is not None:
        options["force"] = [0.0] * len(force)
    _bullet.setJointMotorControlMultiDof(
        bodyUniqueId, jointIndex, controlMode, physicsClientId=physicsClientId, **options
    )
    if machine is not None and force is not None:
        machine.add_torque(jointIndex, force)


def _moved_by_torques(client: int, body: int, mode: int) -> Machine | None:
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
    machine.add_wrench(linkIndex, forceObj, (0.0, 0.0, 0.0), posObj, _in_world(flags))


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
    machine.add_wrench(linkIndex, (0.0, 0.0, 0.0), torqueObj, None, _in_world(flags))


def _in_world(flags: int) -> bool:
    """Return whether a frame is the world's."""
    if flags not in (_bullet.WORLD_FRAME, _bullet.LINK_FRAME):
        raise StateError(f"flags: expected WORLD_FRAME or LINK_FRAME, got {flags!r:.60}")
    return bool(flags == _bullet.WORLD_FRAME)


def stepSimulation(physicsClientId: int = 0) -> Any:
    """Advance all bodies by a time step: machines by our equations, others by pybullet's."""
    world = _world(physicsClientId)
    _warn_of_others(world, physicsClientId)
    for machine in world.machines.values():
        machine.push()
    answer = _bullet.stepSimulation(physicsClientId=physicsClientId)
    for machine in world.machines.values():
        machine.take()
    return answer


def enableJointForceTorqueSensor(
    bodyUniqueId: int, jointIndex: int, enableSensor: int = 1, physicsClientId: int = 0
) -> None:
    """Let ``getJointState`` tell the load of a joint, or not, as pybullet does."""
    _bullet.enableJointForceTorqueSensor(
        bodyUniqueId, jointIndex, enableSensor, physicsClientId=physicsClientId
    )
    machine = _world(physicsClientId).machines.get(bodyUniqueId)
    if machine is not None:
        (machine.sensors.add if enableSensor else machine.sensors.discard)(jointIndex)
        machine.loads.clear()


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


def calculateInverseDynamics(
    bodyUniqueId: int,
    objPositions: ArrayLike,
    objVelocities: ArrayLike,
    objAccelerations: ArrayLike,
    flags: int = 0,
    physicsClientId: int = 0,
) -> Any:
    """Return the forces of a body's joints that give accelerations, as pybullet does.

    Of N states (N, n) they are (N, n). Those of a body with a free base are pybullet's own.
    """
    given = objPositions, objVelocities, objAccelerations
    machine = _world(physicsClientId).machines.get(bodyUniqueId)
    if machine is None or machine.floating:
        return _bullet.calculateInverseDynamics(
            bodyUniqueId, *given, flags=flags, physicsClientId=physicsClientId
        )
    return machine.calculated("inverse_dynamics", given)


def calculateMassMatrix(
    bodyUniqueId: int, objPositions: ArrayLike, flags: int = 0, physicsClientId: int = 0
) -> Any:
    """Return the mass matrix (n, n) of a body's joints, as pybullet does.

    Of N states it is (N, n, n). That of a body with a free base is pybullet's own.
    """
    machine = _world(physicsClientId).machines.get(bodyUniqueId)
    if machine is None or machine.floating:
        return _bullet.calculateMassMatrix(
            bodyUniqueId, objPositions, flags=flags, physicsClientId=physicsClientId
        )
    return machine.calculated("mass_matrix", [objPositions])


def createConstraint(
    parentBodyUniqueId: int,
    parentLinkIndex: int,
    childBodyUniqueId: int,
    childLinkIndex: int,
    jointType: int,
    jointAxis: Sequence[float],
    parentFramePosition: Sequence[float],
    childFramePosition: Sequence[float],
    parentFrameOrientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    childFrameOrientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    physicsClientId: int = 0,
) -> int:
    """Hold a body, as pybullet does; a point or a weld between links of a machine is a loop of it.

    It is closed exactly, from the nearest state on that does so, and its joint is called
    ``constraint_3``, if 3 is the number that this returns.
    """
    number: int = _bullet.createConstraint(
        parentBodyUniqueId, parentLinkIndex, childBodyUniqueId, childLinkIndex, jointType,
        jointAxis, parentFramePosition, childFramePosition, parentFrameOrientation,
        childFrameOrientation, physicsClientId,
    )  # fmt: skip
    machine = _world(physicsClientId).machines.get(parentBodyUniqueId)
    kind = {_bullet.JOINT_POINT2POINT: "spherical", _bullet.JOINT_FIXED: "fixed"}.get(jointType)
    if machine is not None and kind is not None and childBodyUniqueId == parentBodyUniqueId:
        parent = parentLinkIndex, parentFramePosition, parentFrameOrientation
        child = childLinkIndex, childFramePosition, childFrameOrientation
        machine.close(number, kind, [parent, child])
    return number


def changeConstraint(
    userConstraintUniqueId: int, *values: Any, physicsClientId: int = 0, **options: Any
) -> None:
    """Change a constraint, as pybullet does; what closes a loop stays as it was made.

    Its ``maxForce`` and ``erp`` are of no meaning then: it is closed exactly, whatever it carries.
    """
    machine, number = _loop_of(physicsClientId, userConstraintUniqueId), userConstraintUniqueId
    if machine is not None and (values or set(options) - {"maxForce", "erp"}):
        raise StateError(
            f"constraint {number} closes a loop of the machine exactly, and only maxForce= and "
            f"erp= may be given: removeConstraint({number}), and createConstraint anew"
        )
    if machine is None or number not in machine.closed:
        _bullet.changeConstraint(number, *values, physicsClientId=physicsClientId, **options)


def removeConstraint(userConstraintUniqueId: int, physicsClientId: int = 0) -> None:
    """Remove a constraint, as pybullet does; the loop that it closed is open then."""
    for machine in _world(physicsClientId).machines.values():
        machine.loops.pop(userConstraintUniqueId, None)
    _bullet.removeConstraint(userConstraintUniqueId, physicsClientId=physicsClientId)


def getConstraintState(constraintUniqueId: int, physicsClientId: int = 0) -> Any:
    """Return force, and moment, of a constraint, as pybullet does; of a loop of ours its own load.

    Of a point the force on the child along the world's axes; of a weld force and moment on the
    parent, the moment along the axes of its frame there.
    """
    machine = _loop_of(physicsClientId, constraintUniqueId)
    if machine is None:
        return _bullet.getConstraintState(constraintUniqueId, physicsClientId=physicsClientId)
    return machine.carried(constraintUniqueId)


def _loop_of(client: int, constraint: int) -> Machine | None:
    """Return the machine of which a constraint closes a loop."""
    machines = _world(client).machines.values()
    return next((machine for machine in machines if constraint in machine.loops), None)


def _moves(client: Client, number: int) -> bool:
    """Whether a body has joints that move."""
    rows = (client.getJointInfo(number, k) for k in range(client.getNumJoints(number)))
    return any(row[2] != _bullet.JOINT_FIXED for row in rows)


def _path(name: str, folders: Sequence[str]) -> Path | None:
    """Return the file that pybullet reads, if it is where a script has said that files are."""
    paths = (Path(name), *(Path(folder) / name for folder in folders))
    return next((path for path in paths if path.is_file()), None)


def _sensed(function: str, body: int, asked: Any, client: int) -> Any:
    """Return what a function of pybullet says of joints, with our loads where sensors are."""
    answer = getattr(_bullet, function)(body, asked, physicsClientId=client)
    machine, several = _world(client).machines.get(body), "States" in function
    numbers, rows = (asked, answer) if several else ([asked], [answer])
    if machine is None or not machine.sensors.intersection(numbers):
        return answer
    loads = machine.sensed()
    out = [
        (*row[:2], tuple(loads[k].tolist()), *row[3:]) if k in machine.sensors else row
        for k, row in zip(numbers, rows, strict=True)
    ]
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
