"""Vehicles in Exudyn: redundant coordinates and a kinematic tree, with the same forces as ours.

Forces that are no linear spring are Exudyn's symbolic user functions, which run without Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.benchmarks.peer_exudyn import GeneralizedAlpha

NEWTON = 1e-6
"""Relative tolerance of its Newton iterations: a hundred times its default."""


@dataclass(frozen=True)
class Forces:
    """What acts on a vehicle, in numbers or as functions that take Exudyn's symbols.

    Attributes
    ----------
    springs : coordinate -> (stiffness, damping, preload) of a linear spring in a joint
    laws : coordinate -> moment(angle, rate) that resists, N m
    tyres : link -> (centre in the link, push(x, z, vx, vz)): N forward and upwards on the centre
    """

    springs: Mapping[str, tuple[float, float, float]]
    laws: Mapping[str, Callable[[Any, Any], Any]]
    tyres: Mapping[str, tuple[Any, Callable[[Any, Any, Any, Any], tuple[Any, Any]]]]


class ExudynVehicle(GeneralizedAlpha):
    """A floating tree of revolute joints in Exudyn; generalized alpha.

    Parameters
    ----------
    robot, q, v : ours, and its state at the start
    forces : what acts
    kind : "bodies" (Euler parameters, the paper's coordinates), "angles" (bodies with three
        angles) or "tree" (minimal coordinates)
    h : s, step
    solver, modified : linear solver, and whether Newton's method keeps its Jacobian
    """

    redundant = False

    def __init__(
        self,
        robot: Any,
        q: Any,
        v: Any,
        forces: Forces,
        h: float,
        kind: str = "bodies",
        solver: str = "EXUdense",
        modified: bool = True,
        tolerance: float = NEWTON,
    ) -> None:
        import exudyn as exu

        self.exu, self.robot, self.forces, self.h = exu, robot, forces, h
        self.kind, self.solver, self.modified, self.tolerance = kind, solver, modified, tolerance
        self.system = exu.SystemContainer()
        self.mbs = self.system.AddSystem()
        self.kept: list[Any] = []  # symbolic functions, which must outlive the system
        self.ground = self.mbs.CreateGround()
        if kind == "tree":
            self._tree(q, v)
        else:
            self._bodies(q, v)
        self.mbs.Assemble()

    @property
    def name(self) -> str:
        """Kind and settings."""
        newton = "modified" if self.modified else "full"
        return f"Exudyn {self.kind}, {self.solver}, {newton} Newton"

    def _bodies(self, q: Any, v: Any) -> None:
        from exudyn.utilities import RigidBodyInertia

        exu, mbs, robot = self.exu, self.mbs, self.robot
        node = {
            "bodies": exu.NodeType.RotationEulerParameters,
            "angles": exu.NodeType.RotationRxyz,
        }[self.kind]
        self.numbers: dict[str, int] = {}
        self.centres: dict[str, np.ndarray] = {}
        for link in robot.model.description.links:
            pose, twist = robot.placement(q, link.name), robot.velocity(q, v, link.name)
            arm = pose[:3, :3] @ link.inertia.centre
            self.centres[link.name] = np.asarray(link.inertia.centre, float)
            self.numbers[link.name] = mbs.CreateRigidBody(
                referencePosition=pose[:3, 3] + arm,
                referenceRotationMatrix=pose[:3, :3],
                initialVelocity=twist[:3] + np.cross(twist[3:], arm),
                initialAngularVelocity=twist[3:],
                inertia=RigidBodyInertia(link.inertia.mass, np.array(link.inertia.central)),
                nodeType=node,
                gravity=list(robot.model.gravity),
            )
        for joint in robot.model.description.joints:
            pose = robot.placement(q, joint.child)
            pair = [self.numbers[joint.parent], self.numbers[joint.child]]
            axis = pose[:3, :3] @ joint.axis
            place = {"position": pose[:3, 3], "axis": axis, "useGlobalFrame": True}
            mbs.CreateRevoluteJoint(bodyNumbers=pair, **place)
            self._spring_between(joint.name, pair, place, self._angle(joint.name, q))
        for link, (centre, push) in self.forces.tyres.items():
            local = np.asarray(centre, float) - self.centres[link]
            self._tyre(self._body_marker(self.numbers[link], local), push)

    def _angle(self, name: str, q: Any) -> float:
        return float(q[self.robot.coordinate_names.index(name)])

    def _spring_between(self, name: str, pair: list[int], place: Any, angle: float) -> None:
        """Angles are counted from the reference, which is the state at the start."""
        if name in self.forces.springs:
            k, c, preload = self.forces.springs[name]
            number = self.mbs.CreateTorsionalSpringDamper(
                bodyNumbers=pair, stiffness=k, damping=c, torque=preload + k * angle, **place
            )
        elif name in self.forces.laws:
            law = self.forces.laws[name]

            def torque(mbs, t, item, rotation, rate, stiffness, damping, offset):  # type: ignore[no-untyped-def]
                return law(rotation + angle, rate)

            number = self.mbs.CreateTorsionalSpringDamper(bodyNumbers=pair, **place)
            self._use(number, torque, "springTorqueUserFunction")

    def _use(self, number: int, function: Any, name: str) -> None:
        """Make a user function symbolic and give it to an object."""
        from exudyn.advancedUtilities import CreateSymbolicUserFunction

        made = CreateSymbolicUserFunction(self.mbs, function, name, itemIndex=number)
        self.kept.append(made)
        self.mbs.SetObjectParameter(number, name, made)

    def _body_marker(self, body: Any, local: Any) -> int:
        from exudyn.itemInterface import MarkerBodyPosition

        return int(self.mbs.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=local)))

    def _tyre(self, marker: int, push: Any) -> None:
        from exudyn.itemInterface import ObjectConnectorCartesianSpringDamper

        def pull(mbs, t, item, displacement, velocity, stiffness, damping, offset):  # type: ignore[no-untyped-def]
            along, up = push(displacement[0], displacement[2], velocity[0], velocity[2])
            return [-along, 0.0, -up]

        pair = [self._body_marker(self.ground, [0.0, 0.0, 0.0]), marker]
        number = self.mbs.AddObject(ObjectConnectorCartesianSpringDamper(markerNumbers=pair))
        self._use(number, pull, "springForceUserFunction")

    def _tree(self, q: Any, v: Any) -> None:
        """Make one kinematic tree: three sliding and three turning joints, then ours."""
        from exudyn.itemInterface import (
            MarkerKinematicTreeRigid,
            MarkerNodeCoordinate,
            NodeGenericODE2,
            NodePointGround,
            ObjectConnectorCoordinateSpringDamper,
            ObjectKinematicTree,
        )

        exu, mbs, robot = self.exu, self.mbs, self.robot
        description, kinds = robot.model.description, exu.JointType
        inertias = {link.name: link.inertia for link in description.links}
        root = description.links[0].name
        slides = [kinds.PrismaticX, kinds.PrismaticY, kinds.PrismaticZ]
        turns = [kinds.RevoluteX, kinds.RevoluteY, kinds.RevoluteZ]
        numbers, joints = {root: 5}, description.joints
        for k, joint in enumerate(joints):
            numbers[joint.child] = 6 + k
            assert np.array_equal(joint.axis, (0, 1, 0))
        pose, twist = robot.placement(q, root), robot.velocity(q, v, root)
        assert np.allclose(pose[:3, :3], np.eye(3))
        places = [robot.coordinate_names.index(joint.name) for joint in joints]
        rates = [robot.model.velocity_names.index(joint.name) for joint in joints]
        size = 6 + len(joints)
        self.node = mbs.AddNode(
            NodeGenericODE2(
                referenceCoordinates=[0.0] * size,
                initialCoordinates=[*pose[:3, 3], 0.0, 0.0, 0.0, *q[places]],
                initialCoordinates_t=[*twist, *v[rates]],
                numberOfODE2Coordinates=size,
            )
        )
        own = [None] * 5 + [inertias[root]] + [inertias[joint.child] for joint in joints]
        zero = np.zeros(3)
        self.tree = mbs.AddObject(
            ObjectKinematicTree(
                nodeNumber=self.node,
                jointTypes=[*slides, *turns, *[kinds.RevoluteY] * len(joints)],
                linkParents=[-1, 0, 1, 2, 3, 4, *(numbers[joint.parent] for joint in joints)],
                jointTransformations=exu.Matrix3DList([np.eye(3)] * size),
                jointOffsets=exu.Vector3DList(
                    [zero] * 6 + [np.array(joint.origin.translation) for joint in joints]
                ),
                linkInertiasCOM=exu.Matrix3DList(
                    [np.zeros((3, 3)) if one is None else np.array(one.central) for one in own]
                ),
                linkCOMs=exu.Vector3DList(
                    [zero if one is None else np.array(one.centre, float) for one in own]
                ),
                linkMasses=[0.0 if one is None else float(one.mass) for one in own],
                gravity=list(robot.model.gravity),
            )
        )
        still = mbs.AddMarker(
            MarkerNodeCoordinate(nodeNumber=mbs.AddNode(NodePointGround()), coordinate=0)
        )
        for k, joint in enumerate(joints):
            mark = MarkerNodeCoordinate(nodeNumber=self.node, coordinate=6 + k)
            pair = [still, mbs.AddMarker(mark)]
            if joint.name in self.forces.springs:
                stiffness, damping, preload = self.forces.springs[joint.name]
                mbs.AddObject(
                    ObjectConnectorCoordinateSpringDamper(
                        markerNumbers=pair,
                        stiffness=stiffness,
                        damping=damping,
                        offset=-preload / stiffness,
                    )
                )
            elif joint.name in self.forces.laws:
                self._law_between(pair, self.forces.laws[joint.name])
        for link, (centre, push) in self.forces.tyres.items():
            place = {"objectNumber": self.tree, "linkNumber": numbers[link]}
            mark = MarkerKinematicTreeRigid(**place, localPosition=list(centre))
            self._tyre(int(mbs.AddMarker(mark)), push)

    def _law_between(self, pair: list[int], law: Any) -> None:
        from exudyn.itemInterface import ObjectConnectorCoordinateSpringDamper

        def force(mbs, t, item, displacement, velocity, stiffness, damping, offset):  # type: ignore[no-untyped-def]
            return law(displacement, velocity)

        made = ObjectConnectorCoordinateSpringDamper(markerNumbers=pair)
        self._use(self.mbs.AddObject(made), force, "springForceUserFunction")

    def run_for(self, duration: float) -> Callable[[float], tuple[float, np.ndarray]]:
        """Return a function that runs so many seconds and says how long it took, and x, z."""

        def call(h: float) -> tuple[float, np.ndarray]:
            seconds = self.run(round(duration / h))
            return seconds, self.position()[[0, 2]]

        return call

    @property
    def size(self) -> int:
        """Coordinates."""
        return int(self.mbs.systemData.ODE2Size())

    def position(self) -> np.ndarray:
        """Return where the root link's centre of mass is, m."""
        kinds = self.exu.OutputVariableType
        if self.kind == "tree":
            return np.array(self.mbs.GetNodeOutput(self.node, kinds.Coordinates))[:3]
        root = self.robot.model.description.links[0].name
        return np.array(self.mbs.GetObjectOutputBody(self.numbers[root], kinds.Position))

    def acceleration(self, point: Any, duration: float) -> tuple[np.ndarray, np.ndarray]:
        """Return times and the acceleration of a point of the root link along the link's z."""
        from exudyn.itemInterface import SensorBody

        root = self.robot.model.description.links[0].name
        sensor = self.mbs.AddSensor(
            SensorBody(
                bodyNumber=self.numbers[root],
                localPosition=list(point),
                outputVariableType=self.exu.OutputVariableType.AccelerationLocal,
                storeInternal=True,
                writeToFile=False,
            )
        )
        self.mbs.Assemble()
        settings = self.settings(round(duration / self.h))
        settings.solutionSettings.sensorsWritePeriod = self.h
        self.mbs.SolveDynamic(settings)
        found = self.mbs.GetSensorStoredData(sensor)
        return found[:, 0], found[:, 3]
