"""Planar machines with loops in Exudyn, as bodies with hinges and as a kinematic tree."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.benchmarks.planar import carried, depth_first, gap, in_plane

NEWTON = 1e-5
"""Relative tolerance of its Newton iterations: a thousand times its default; up to twice as quick,
the motion at steps of 1 ms no worse; at shorter steps it takes a tighter one (`work_precision`)."""
SPECTRAL_RADIUS = 0.9
"""Of generalized alpha at infinite frequency: its default."""
SOLVERS = ("EXUdense", "EigenDense", "EigenSparse")
FEW = 5
"""Steps by which the solvers of a large tree are compared: it differentiates by differences, a step
of forty loops takes 0.1 s."""
DENSE_UP_TO = 20
"""Coordinates up to which dense solvers are tried: at forty loops a dense step takes 0.1 s."""


class GeneralizedAlpha:
    """A system of Exudyn's, `mbs`, and how it is solved: generalized alpha, index 3."""

    exu: Any
    mbs: Any
    h: float
    solver: str
    modified: bool
    tolerance: float
    redundant = True
    """Whether rows of loops may depend on each other."""

    def settings(self, steps: int) -> Any:
        """Return the settings of so many steps on one thread, nothing written."""
        exu = self.exu
        found = exu.SimulationSettings()
        found.timeIntegration.numberOfSteps = steps
        found.timeIntegration.endTime = steps * self.h
        found.timeIntegration.generalizedAlpha.spectralRadius = SPECTRAL_RADIUS
        found.timeIntegration.newton.useModifiedNewton = self.modified
        found.timeIntegration.newton.relativeTolerance = self.tolerance
        found.timeIntegration.newton.absoluteTolerance = 0.1 * self.tolerance
        found.solutionSettings.writeSolutionToFile = False
        found.solutionSettings.sensorsWritePeriod = 1e9
        found.parallel.numberOfThreads = 1
        found.displayComputationTime = False
        found.linearSolverType = getattr(exu.LinearSolverType, self.solver)
        found.linearSolverSettings.ignoreSingularJacobian = self.redundant
        return found

    def run(self, steps: int) -> float:
        """Take steps from the start; return the processor's seconds of these steps alone."""
        solver, settings = self.exu.MainSolverImplicitSecondOrder(), self.settings(steps)
        if not solver.InitializeSolver(self.mbs, settings):
            raise RuntimeError("Exudyn does not start")
        start = time.process_time()
        finished = solver.SolveSteps(self.mbs, settings)
        took = time.process_time() - start
        solver.FinalizeSolver(self.mbs, settings)
        if not finished:
            raise RuntimeError("Exudyn gave up")
        return took


class Exudyn(GeneralizedAlpha):
    """A machine in Exudyn."""

    kind = ""
    step_seconds = 0.0
    """Processor's seconds of a step, where they were compared."""

    def __init__(
        self,
        model: Any,
        q: Any,
        v: Any,
        h: float,
        solver: str,
        modified: bool,
        tolerance: float = NEWTON,
    ) -> None:
        import exudyn as exu

        self.exu, self.ours = exu, model
        newton = "modified" if modified else "full"
        self.name = f"Exudyn {self.kind}, generalized alpha"
        self.chosen = f"{solver}, {newton} Newton to {tolerance:g}"
        self.system = exu.SystemContainer()
        self.mbs = self.system.AddSystem()
        self.h, self.solver, self.modified, self.tolerance = h, solver, modified, tolerance
        self.build(model, dict(zip(model.velocity_names, zip(q, v, strict=True), strict=True)))
        self.mbs.Assemble()

    def build(self, model: Any, states: dict[str, tuple[float, float]]) -> None:
        """Add the machine to the system."""
        raise NotImplementedError

    def explicit(self) -> str:
        """Return what its explicit Runge-Kutta method says of the machine."""
        exu, settings = self.exu, self.settings(10)
        settings.timeIntegration.solverType = exu.DynamicSolverType.RK44
        solver = exu.MainSolverExplicit()
        try:
            solver.InitializeSolver(self.mbs, settings)
            solver.SolveSteps(self.mbs, settings)
        except exu.ExudynError as problem:
            return str(problem).split("[")[0].strip()
        return "takes the loops"

    def q(self) -> np.ndarray:
        """Return the coordinates where the last run ended, rad."""
        return self.joints("Coordinates")

    def v(self) -> np.ndarray:
        """Return their velocities there, rad/s."""
        return self.joints("Coordinates_t")

    def joints(self, kind: str) -> np.ndarray:
        """Return what Exudyn calls by a name, of the joints in our order."""
        raise NotImplementedError

    def open(self) -> float:
        """Return how far the loops stood open there, m."""
        return gap(self.ours, self.q())


class ExudynBodies(Exudyn):
    """Redundant coordinates: three for each body in the plane, two rows for each hinge."""

    kind = "bodies"

    def build(self, model: Any, states: dict[str, tuple[float, float]]) -> None:
        """Make bodies and hinges; its X is our z, its Y our x, so that angles keep their sign."""
        from exudyn.itemInterface import (
            MarkerBodyPosition,
            NodeRigidBody2D,
            ObjectGround,
            ObjectJointRevolute2D,
            ObjectRigidBody2D,
        )

        mbs, description = self.mbs, model.description
        inertias = {link.name: link.inertia for link in description.links}
        root = description.links[0].name
        self.nodes: dict[str, int] = {}
        self.starts: dict[str, float] = {root: 0.0}
        self.pins: list[list[int]] = []
        # body number, place, velocity, angle, its rate, centre (of the link's origin, plane)
        bodies: dict[str, Any] = {
            root: (mbs.AddObject(ObjectGround()), np.zeros(2), np.zeros(2), 0.0, 0.0, np.zeros(2))
        }

        def marker(link: str, point: np.ndarray) -> int:
            local = [*(point - bodies[link][5]), 0.0]
            body = bodies[link][0]
            return int(mbs.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=local)))

        def hinge(one: int, other: int) -> None:
            mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[one, other]))
            self.pins.append([one, other])

        for joint in description.joints:
            _, r, r_dot, angle, rate, _ = bodies[joint.parent]
            origin = in_plane(joint.origin.translation)
            place, moving = carried(r, r_dot, angle, rate, origin)
            angle, rate = angle + states[joint.name][0], rate + states[joint.name][1]
            own = inertias[joint.child]
            centre = in_plane(own.centre)
            at, going = carried(place, moving, angle, rate, centre)
            node = mbs.AddNode(
                NodeRigidBody2D(referenceCoordinates=[*at, angle], initialVelocities=[*going, rate])
            )
            body = mbs.AddObject(
                ObjectRigidBody2D(
                    physicsMass=own.mass, physicsInertia=own.central[1, 1], nodeNumber=node
                )
            )
            bodies[joint.child] = body, place, moving, angle, rate, centre
            self.nodes[joint.child], self.starts[joint.child] = node, angle
            self.gravity(body, own.mass)
            hinge(marker(joint.parent, origin), marker(joint.child, np.zeros(2)))
        for loop in description.loops:
            ends = loop.predecessor, loop.successor
            hinge(*(marker(end.link, in_plane(end.frame.translation)) for end in ends))

    def gravity(self, body: int, mass: float) -> None:
        from exudyn.itemInterface import LoadMassProportional, MarkerBodyMass

        marker = self.mbs.AddMarker(MarkerBodyMass(bodyNumber=body))
        self.mbs.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=[-9.81, 0, 0]))

    def joints(self, kind: str) -> np.ndarray:
        """Return differences of the bodies' angles, or of their rates."""
        of, starts = getattr(self.exu.OutputVariableType, kind), self.starts
        turned = {
            link: float(self.mbs.GetNodeOutput(node, of)[2]) for link, node in self.nodes.items()
        }
        if kind != "Coordinates":
            starts = dict.fromkeys(starts, 0.0)
        angles = {link: start + turned.get(link, 0.0) for link, start in starts.items()}
        joints = {joint.name: joint for joint in self.ours.description.joints}
        return np.array(
            [angles[joints[n].child] - angles[joints[n].parent] for n in self.ours.velocity_names]
        )

    def open(self) -> float:
        """Return how far apart the two points of a hinge are at most, m."""
        kind = self.exu.OutputVariableType.Position
        ends = [[np.array(self.mbs.GetMarkerOutput(m, kind)) for m in pin] for pin in self.pins]
        return max(float(np.linalg.norm(a - b)) for a, b in ends)


class ExudynTree(Exudyn):
    """Minimal coordinates: one kinematic tree, two rows for each loop."""

    kind = "kinematic tree"

    def build(self, model: Any, states: dict[str, tuple[float, float]]) -> None:
        """Make the tree in its links' own axes; loops are balls free along y."""
        from exudyn.itemInterface import (
            MarkerBodyRigid,
            MarkerKinematicTreeRigid,
            NodeGenericODE2,
            ObjectGround,
            ObjectJointSpherical,
            ObjectKinematicTree,
        )

        exu, mbs, description = self.exu, self.mbs, model.description
        inertias = {link.name: link.inertia for link in description.links}
        joints = list(depth_first(description))
        numbers = {description.links[0].name: -1}
        numbers |= {joint.child: k for k, joint in enumerate(joints)}
        q, v = zip(*(states[joint.name] for joint in joints), strict=True)
        size = len(joints)
        own = [inertias[joint.child] for joint in joints]
        self.node = mbs.AddNode(
            NodeGenericODE2(
                referenceCoordinates=[0.0] * size,
                initialCoordinates=list(q),
                initialCoordinates_t=list(v),
                numberOfODE2Coordinates=size,
            )
        )
        tree = mbs.AddObject(
            ObjectKinematicTree(
                nodeNumber=self.node,
                jointTypes=[exu.JointType.RevoluteY] * size,
                linkParents=[numbers[joint.parent] for joint in joints],
                jointTransformations=exu.Matrix3DList([np.eye(3)] * size),
                jointOffsets=exu.Vector3DList([np.array(j.origin.translation) for j in joints]),
                linkInertiasCOM=exu.Matrix3DList([np.array(one.central) for one in own]),
                linkCOMs=exu.Vector3DList([np.array(one.centre, float) for one in own]),
                linkMasses=[float(one.mass) for one in own],
                gravity=[0, 0, -9.81],
            )
        )
        ground = mbs.AddObject(ObjectGround())

        def marker(end: Any) -> int:
            place = {"localPosition": [float(x) for x in end.frame.translation]}
            if numbers[end.link] < 0:
                return int(mbs.AddMarker(MarkerBodyRigid(bodyNumber=ground, **place)))
            link = {"objectNumber": tree, "linkNumber": numbers[end.link]}
            return int(mbs.AddMarker(MarkerKinematicTreeRigid(**link, **place)))

        for loop in description.loops:
            pair = [marker(loop.predecessor), marker(loop.successor)]
            mbs.AddObject(ObjectJointSpherical(markerNumbers=pair, constrainedAxes=[1, 0, 1]))
        names = [joint.name for joint in joints]
        self.order = [names.index(name) for name in model.velocity_names]

    def joints(self, kind: str) -> np.ndarray:
        """Return the tree's numbers in our order."""
        of = getattr(self.exu.OutputVariableType, kind)
        return np.array(self.mbs.GetNodeOutput(self.node, of))[self.order]


def quickest(kind: type[Exudyn], model: Any, q: Any, v: Any, h: float) -> Exudyn:
    """Return Exudyn with the linear solver and the kind of Newton's method that suit it best."""
    solvers = SOLVERS if model.nv < DENSE_UP_TO else ("EigenSparse",)
    trials = [kind(model, q, v, h, s, modified) for s in solvers for modified in (False, True)]
    large_tree = kind is ExudynTree and model.nv >= DENSE_UP_TO
    steps, turns = (FEW, 1) if large_tree else (100, 3)
    times = [min(trial.run(steps) for _ in range(turns)) / steps for trial in trials]
    best = trials[int(np.argmin(times))]
    best.step_seconds = min(times)
    return best
