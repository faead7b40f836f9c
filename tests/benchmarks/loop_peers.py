"""The same planar mechanism (hinges about y, no turned frames) for MuJoCo and for Exudyn."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

DEFAULT = 'solref="0.02 1" solimp="0.9 0.95 0.001"'
STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'
"""The shortest time constant that MuJoCo keeps at a step of 1 ms."""
NEWTON = 1e-5
"""Relative tolerance of Exudyn's Newton iterations: a thousand times its default; a third quicker,
the motion no worse, and the loops stay closed to 1e-12 m."""

THIN = 1e-9
"""kg m²: stands for the zero inertia of a rod about its own axis, which MuJoCo refuses."""


class MuJoCo:
    """Minimal coordinates, loops closed by `connect` of two sites (three soft rows each)."""

    def __init__(self, model: Any, q: Any, v: Any, h: float, integrator: str, soft: str) -> None:
        import mujoco

        self.mujoco = mujoco
        self.name = f"MuJoCo {mujoco.__version__} {integrator}"
        xml = mjcf(model, h, integrator, soft)
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self.order = [self.model.joint(name).id for name in model.velocity_names]
        self.q, self.v = np.empty(self.model.nq), np.empty(self.model.nv)
        self.q[self.order], self.v[self.order] = q, v
        self.back()

    def back(self) -> None:
        """Return to the start."""
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v

    def steps(self, number: int) -> None:
        """Take steps, all in C."""
        self.mujoco.mj_step(self.model, self.data, nstep=number)

    def python(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Take steps as its users do, and keep the states."""
        self.back()
        q, v = np.empty((number, self.model.nq)), np.empty((number, self.model.nv))
        model, data, step = self.model, self.data, self.mujoco.mj_step
        for k in range(number):
            step(model, data)
            q[k], v[k] = data.qpos, data.qvel
        return q, v

    def rollout(self, number: int, steps: int) -> Any:
        """Return a function that advances a number of trajectories on one thread."""
        from mujoco import rollout

        spec = self.mujoco.mjtState.mjSTATE_FULLPHYSICS
        one = np.empty(self.mujoco.mj_stateSize(self.model, spec))
        self.back()
        self.mujoco.mj_getState(self.model, self.data, one, spec)
        state, out = np.tile(one, (number, 1)), np.empty((number, steps, len(one)))
        sensors = np.empty((number, steps, self.model.nsensordata))

        def work() -> None:
            rollout.rollout(
                self.model, self.data, state, nstep=steps, state=out, sensordata=sensors
            )

        return work

    def first(self) -> float:
        """Return the first coordinate."""
        return float(self.data.qpos[self.order[0]])

    def open(self) -> float:
        """Return how far the loops stand open, m."""
        self.mujoco.mj_kinematics(self.model, self.data)
        ends = [[self.data.site(f"{tag}{k}").xpos for tag in "ab"] for k in range(self.model.neq)]
        return max(float(np.linalg.norm(a - b)) for a, b in ends)


def mjcf(model: Any, h: float, integrator: str, soft: str) -> str:
    """Return a mechanism as MuJoCo's XML."""
    description = model.description
    links = {link.name: link for link in description.links}
    ends: dict[str, list[str]] = {name: [] for name in links}
    for k, loop in enumerate(description.loops):
        for tag, end in (("a", loop.predecessor), ("b", loop.successor)):
            place = " ".join(map(repr, map(float, end.frame.translation)))
            ends[end.link].append(f'<site name="{tag}{k}" pos="{place}"/>')

    def inside(parent: str) -> str:
        text = "".join(ends[parent])
        for joint in description.joints:
            if joint.parent != parent:
                continue
            own = links[joint.child].inertia
            place = " ".join(map(repr, map(float, joint.origin.translation)))
            centre = " ".join(map(repr, map(float, own.centre)))
            about = " ".join(repr(float(x) + THIN) for x in np.diag(own.central))
            text += (
                f'<body name="{joint.child}" pos="{place}"><joint name="{joint.name}" '
                f'type="hinge" axis="0 1 0"/><inertial pos="{centre}" mass="{own.mass!r}" '
                f'diaginertia="{about}"/>{inside(joint.child)}</body>\n'
            )
        return text

    loops = "".join(
        f'<connect site1="a{k}" site2="b{k}" {soft}/>' for k in range(len(description.loops))
    )
    root = description.links[0].name
    return (
        f'<mujoco><option timestep="{h!r}" integrator="{integrator}" gravity="0 0 -9.81">'
        f'<flag contact="disable"/></option><worldbody>{inside(root)}</worldbody>'
        f"<equality>{loops}</equality></mujoco>"
    )


class Exudyn:
    """Redundant coordinates: three for each body in the plane, two rows for each hinge."""

    def __init__(self, model: Any, q: Any, v: Any, h: float, solver: str, modified: bool) -> None:
        import exudyn as exu

        self.exu = exu
        self.name = f"Exudyn {exu.__version__} generalized alpha, {solver}"
        self.system = exu.SystemContainer()
        self.mbs = self.system.AddSystem()
        self.h, self.solver, self.modified = h, solver, modified
        self.pins: list[tuple[int, int]] = []
        self.build(model, dict(zip(model.velocity_names, zip(q, v, strict=True), strict=True)))

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
        # body number, place, velocity, angle, its rate, centre (of the link's origin, plane)
        found: dict[str, Any] = {
            root: (mbs.AddObject(ObjectGround()), np.zeros(2), np.zeros(2), 0.0, 0.0, np.zeros(2))
        }

        def plane(x: Any) -> np.ndarray:
            return np.array([x[2], x[0]], dtype=float)

        def marker(link: str, point: np.ndarray) -> int:
            local = [*(point - found[link][5]), 0.0]
            return int(
                mbs.AddMarker(MarkerBodyPosition(bodyNumber=found[link][0], localPosition=local))
            )

        def hinge(one: int, other: int) -> None:
            mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[one, other]))

        for joint in description.joints:
            _, r, r_dot, angle, rate, _ = found[joint.parent]
            place, moving = carried(r, r_dot, angle, rate, plane(joint.origin.translation))
            angle, rate = angle + states[joint.name][0], rate + states[joint.name][1]
            own = inertias[joint.child]
            centre = plane(own.centre)
            at, going = carried(place, moving, angle, rate, centre)
            node = mbs.AddNode(
                NodeRigidBody2D(referenceCoordinates=[*at, angle], initialVelocities=[*going, rate])
            )
            body = mbs.AddObject(
                ObjectRigidBody2D(
                    physicsMass=own.mass, physicsInertia=own.central[1, 1], nodeNumber=node
                )
            )
            found[joint.child] = body, place, moving, angle, rate, centre
            self.gravity(body, own.mass)
            if len(found) == 2:
                self.node, self.offset = node, angle - states[joint.name][0]
            hinge(
                marker(joint.parent, plane(joint.origin.translation)),
                marker(joint.child, np.zeros(2)),
            )
        for loop in description.loops:
            ends = tuple(
                marker(end.link, plane(end.frame.translation))
                for end in (loop.predecessor, loop.successor)
            )
            hinge(*ends)
            self.pins.append(ends)
        mbs.Assemble()

    def gravity(self, body: int, mass: float) -> None:
        from exudyn.itemInterface import LoadMassProportional, MarkerBodyMass

        marker = self.mbs.AddMarker(MarkerBodyMass(bodyNumber=body))
        self.mbs.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=[-9.81, 0, 0]))

    def steps(self, number: int) -> float:
        """Take steps from the start; return the seconds that they took."""
        exu = self.exu
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = number
        settings.timeIntegration.endTime = number * self.h
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.newton.useModifiedNewton = self.modified
        settings.timeIntegration.newton.relativeTolerance = NEWTON
        settings.timeIntegration.newton.absoluteTolerance = 0.1 * NEWTON
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = 1e9
        settings.parallel.numberOfThreads = 1
        settings.displayComputationTime = False
        settings.linearSolverType = getattr(exu.LinearSolverType, self.solver)
        settings.linearSolverSettings.ignoreSingularJacobian = True
        start = time.perf_counter()
        if not self.mbs.SolveDynamic(settings, storeSolver=False, showHints=False):
            raise RuntimeError("Exudyn gave up")
        return time.perf_counter() - start

    def first(self) -> float:
        """Return the first coordinate."""
        kind = self.exu.OutputVariableType.Coordinates
        reference = self.exu.ConfigurationType.Reference
        now = self.mbs.GetNodeOutput(self.node, kind)[2]
        return float(now + self.mbs.GetNodeOutput(self.node, kind, reference)[2])

    def open(self) -> float:
        """Return how far the loops stand open, m."""
        kind = self.exu.OutputVariableType.Position
        ends = [[np.array(self.mbs.GetMarkerOutput(m, kind)) for m in pin] for pin in self.pins]
        return max(float(np.linalg.norm(a - b)) for a, b in ends)


def carried(r: Any, r_dot: Any, angle: float, rate: float, local: Any) -> tuple[Any, Any]:
    """Return place and velocity of a point of a body in the plane."""
    c, s = np.cos(angle), np.sin(angle)
    arm = np.array([c * local[0] - s * local[1], s * local[0] + c * local[1]])
    return r + arm, r_dot + rate * np.array([-arm[1], arm[0]])
