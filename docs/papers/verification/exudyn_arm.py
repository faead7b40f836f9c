"""The arm of KimYou97 in Exudyn: a second program with another formulation.

Run as a process of its own by `kimyou97`: reads a JSON description from stdin, prints one.
Exudyn keeps three coordinates for each body in the plane and a multiplier for each row of a joint,
as DADS does, with which the paper compares; it integrates by the generalized alpha method.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def main() -> None:
    """Simulate what stdin describes, print times, angles and forces."""
    print(json.dumps(simulate(json.load(sys.stdin))))


def simulate(given: dict[str, Any]) -> dict[str, Any]:
    """Return the motion of a chain of bodies in the plane.

    Parameters
    ----------
    given : bodies, a list of {length, mass, centre, inertia, angle, rate}; the chain hangs on
        (0, base); prescribed motion {amplitude, frequency, phase}, of the first body; seconds,
        steps, records; tie, None or {anchor, length, stiffness}: stiffness None is a rigid rod
    """
    import exudyn as exu
    from exudyn.itemInterface import (
        CoordinateConstraint,
        LoadMassProportional,
        MarkerBodyMass,
        MarkerBodyPosition,
        MarkerNodeCoordinate,
        NodePointGround,
        NodeRigidBody2D,
        ObjectConnectorDistance,
        ObjectConnectorSpringDamper,
        ObjectGround,
        ObjectJointRevolute2D,
        ObjectRigidBody2D,
    )

    system = exu.SystemContainer()
    mbs = system.AddSystem()
    ground = mbs.AddObject(ObjectGround())
    fixed = mbs.AddMarker(
        MarkerNodeCoordinate(nodeNumber=mbs.AddNode(NodePointGround()), coordinate=0)
    )
    actuation = given["actuation"]

    def course(t: float, shift: float = 0.0) -> float:
        return float(
            actuation["amplitude"] * np.sin(actuation["frequency"] * t + actuation["phase"] + shift)
        )

    first = course(0.0)
    # Exudyn's plane: X is our x, Y our z; it turns from X to Y, we turn from z to x
    place, moving = np.array([0.0, given["base"]]), np.zeros(2)
    before, joints, nodes = (ground, place), [], []
    for k, body in enumerate(given["bodies"]):
        angle, rate = body["angle"], body["rate"]
        along = np.array([np.sin(angle), np.cos(angle)])
        across = np.array([np.cos(angle), -np.sin(angle)]) * rate
        centre = body["centre"]
        node = mbs.AddNode(
            NodeRigidBody2D(
                referenceCoordinates=[*(place + centre * along), -angle],
                initialVelocities=[*(moving + centre * across), -rate],
            )
        )
        own = mbs.AddObject(
            ObjectRigidBody2D(mass=body["mass"], inertia=body["inertia"], nodeNumber=node)
        )
        weight = mbs.AddMarker(MarkerBodyMass(bodyNumber=own))
        mbs.AddLoad(LoadMassProportional(markerNumber=weight, loadVector=[0, -9.81, 0]))
        ends = [
            mbs.AddMarker(MarkerBodyPosition(bodyNumber=number, localPosition=[*point, 0]))
            for number, point in (before, (own, np.array([0.0, -centre])))
        ]
        joints.append(mbs.AddObject(ObjectJointRevolute2D(markerNumbers=ends)))
        nodes.append(node)
        if k == 0:
            driven = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=node, coordinate=2))
            motor = mbs.AddObject(
                CoordinateConstraint(
                    markerNumbers=[fixed, driven],
                    offset=1.0,
                    offsetUserFunction=lambda mbs, t, item, offset: -(course(t) - first),
                    offsetUserFunction_t=lambda mbs, t, item, offset: (
                        -actuation["frequency"] * course(t, np.pi / 2)
                    ),
                )
            )
        place = place + body["length"] * along
        moving = moving + body["length"] * across
        before = (own, np.array([0.0, body["length"] - centre]))
    tie = given["tie"]
    if tie is not None:
        ends = [
            mbs.AddMarker(MarkerBodyPosition(bodyNumber=number, localPosition=[*point, 0]))
            for number, point in ((ground, tie["anchor"]), before)
        ]
        rod = (
            ObjectConnectorDistance(markerNumbers=ends, distance=tie["length"])
            if tie["stiffness"] is None
            else ObjectConnectorSpringDamper(
                markerNumbers=ends, referenceLength=tie["length"], stiffness=tie["stiffness"]
            )
        )
        mbs.AddObject(rod)
    mbs.Assemble()
    found: dict[str, list[Any]] = {"time": [], "angle": [], "actuation": [], "force": []}
    places = [mbs.systemData.GetObjectLTGAE(number) for number in (joints[0], motor)]

    def keep(mbs: Any, t: float) -> bool:
        multipliers = mbs.systemData.GetAECoordinates()
        force = multipliers[places[0]]
        angles = [
            -(mbs.GetNodeOutput(n, exu.OutputVariableType.Coordinates)[2]) + body["angle"]
            for n, body in zip(nodes, given["bodies"], strict=True)
        ]
        found["time"].append(t)
        found["angle"].append(angles)
        found["actuation"].append(float(multipliers[places[1]][0]))
        found["force"].append([float(x) for x in force])
        return True

    stride = given["steps"] // given["records"]

    def after_step(mbs: Any, t: float) -> bool:
        if round(t / given["seconds"] * given["steps"]) % stride == 0:
            keep(mbs, t)
        return True

    mbs.SetPostStepUserFunction(after_step)
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = given["steps"]
    settings.timeIntegration.endTime = given["seconds"]
    settings.timeIntegration.generalizedAlpha.spectralRadius = given["spectral_radius"]
    settings.timeIntegration.newton.relativeTolerance = 1e-9
    settings.timeIntegration.newton.absoluteTolerance = 1e-10
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = 1e9
    settings.parallel.numberOfThreads = 1
    settings.show.computationTime = False
    settings.timeIntegration.verboseMode = 0
    if not mbs.SolveDynamic(settings, storeSolver=False, showHints=False):
        raise RuntimeError("Exudyn gave up")
    return {"version": exu.__version__, **found}


if __name__ == "__main__":
    main()
