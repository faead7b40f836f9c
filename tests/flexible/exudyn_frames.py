"""A planar machine (x-z) with flexible links in Exudyn's floating frames, from a pickled plan.

Run in a process of its own by `tests.flexible.peers`: ``python exudyn_frames.py IN.pkl OUT.npz``.
Bodies stay in the plane by a joint with the ground; pins are two rows each. The mesh's nodes of a
flexible body are the Gauss points of our integrals with lumped masses, so that every mass integral
is the same; the stiffness matrix is the one of all nodes that reduces to ours. Gravity is left out:
Exudyn's mass-proportional load does not see the deflection of the body (first order in it).
"""

import pickle
import sys
import time
from pathlib import Path

import exudyn as exu
import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from exudyn.utilities import (
    CoordinateConstraint,
    Force,
    GenericJoint,
    MarkerBodyPosition,
    MarkerBodyRigid,
    MarkerNodeCoordinate,
    MarkerNodePosition,
    MarkerNodeRigid,
    MarkerSuperElementPosition,
    MassPoint,
    NodePointGround,
    ObjectGround,
    Point,
    RigidBodyInertia,
    SensorNode,
    SphericalJoint,
)
from scipy.sparse import csr_matrix

IN_PLANE, PINNED = [0, 1, 0, 1, 0, 1], [1, 0, 1]
"""Locked: way along y, turns about x and z; ways along x and z."""


def flexible(mbs, body):
    """Return the numbers of a floating frame's items."""
    modes = body["modes"]
    inverse = np.linalg.inv(modes.T @ modes)
    mesh = FEMinterface()
    mesh.nodes["Position"] = body["nodes"]
    mesh.massMatrix = csr_matrix(np.diag(np.repeat(body["masses"], 3)))
    mesh.stiffnessMatrix = csr_matrix(modes @ inverse @ body["stiffness"] @ inverse @ modes.T)
    mesh.modeBasis = {"matrix": modes, "type": "NormalModes"}
    return ObjectFFRFreducedOrderInterface(mesh).AddObjectFFRFreducedOrder(
        mbs,
        positionRef=body["position"].tolist(),
        initialVelocity=body["velocity"].tolist(),
        rotationMatrixRef=body["rotation"],
        initialAngularVelocity=body["spin"].tolist(),
        gravity=[0, 0, 0],
    )


def main() -> None:
    """Simulate, and write times, places of frames, modal coordinates and seconds of computing."""
    plan = pickle.loads(Path(sys.argv[1]).read_bytes())
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(ObjectGround())
    origin = mbs.AddMarker(MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    still = mbs.AddMarker(
        MarkerNodeCoordinate(nodeNumber=mbs.AddNode(NodePointGround()), coordinate=0)
    )
    made, frames = {}, {}
    for name, body in plan["bodies"].items():
        if body["kind"] == "flexible":
            made[name] = flexible(mbs, body)
            frames[name] = made[name]["nRigidBody"]
        elif body["kind"] == "rigid":
            inertia = RigidBodyInertia(body["mass"], body["inertia"]).Translated(body["centre"])
            nodes = mbs.CreateRigidBody(
                referencePosition=body["position"].tolist(),
                referenceRotationMatrix=body["rotation"],
                initialVelocity=body["velocity"].tolist(),
                initialAngularVelocity=body["spin"].tolist(),
                inertia=inertia,
                returnDict=True,
            )
            made[name], frames[name] = nodes["bodyNumber"], nodes["nodeNumber"]
        else:  # a point mass that slides along x
            node = mbs.AddNode(Point(referenceCoordinates=body["position"].tolist()))
            mbs.AddObject(MassPoint(physicsMass=body["mass"], nodeNumber=node))
            for k in (1, 2):
                own = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=node, coordinate=k))
                mbs.AddObject(CoordinateConstraint(markerNumbers=[still, own]))
            made[name] = frames[name] = node
            continue
        own = mbs.AddMarker(MarkerNodeRigid(nodeNumber=frames[name]))
        mbs.AddObject(GenericJoint(
            markerNumbers=[origin, own], constrainedAxes=IN_PLANE,
            rotationMarker0=np.eye(3), rotationMarker1=body["rotation"].T,
        ))  # fmt: skip

    def marker(name, place):
        if name is None:
            return mbs.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=place))
        if plan["bodies"][name]["kind"] == "point":
            return mbs.AddMarker(MarkerNodePosition(nodeNumber=frames[name]))
        if plan["bodies"][name]["kind"] == "rigid":
            return mbs.AddMarker(MarkerBodyPosition(bodyNumber=made[name], localPosition=place))
        apart = np.linalg.norm(plan["bodies"][name]["nodes"] - place, axis=1)
        return mbs.AddMarker(MarkerSuperElementPosition(
            bodyNumber=made[name]["oFFRFreducedOrder"],
            meshNodeNumbers=[int(apart.argmin())], weightingFactors=[1.0],
        ))  # fmt: skip

    for first, second in plan["pins"]:
        both = [marker(*first), marker(*second)]
        mbs.AddObject(SphericalJoint(markerNumbers=both, constrainedAxes=PINNED))
    for name, place, vector in plan["forces"]:
        mbs.AddLoad(Force(markerNumber=marker(name, place), loadVector=vector))

    def sensor(node, kind):
        return mbs.AddSensor(SensorNode(
            nodeNumber=node, storeInternal=True, outputVariableType=kind, writeToFile=False
        ))  # fmt: skip

    kinds = exu.OutputVariableType
    asked = {name: sensor(frames[name], kinds.Position) for name in made}
    for name, body in plan["bodies"].items():
        if body["kind"] == "flexible":
            asked[f"{name}.modes"] = sensor(made[name]["nGenericODE2"], kinds.Coordinates)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = plan["steps"]
    settings.timeIntegration.endTime = plan["seconds"]
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.sensorsWritePeriod = plan["seconds"] / 50
    settings.solutionSettings.writeSolutionToFile = False
    start = time.perf_counter()
    mbs.SolveDynamic(settings)
    spent = time.perf_counter() - start
    found = {name: mbs.GetSensorStoredData(number) for name, number in asked.items()}
    np.savez(sys.argv[2], seconds=spent, **found)


if __name__ == "__main__":
    main()
