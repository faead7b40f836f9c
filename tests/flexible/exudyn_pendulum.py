"""A loaded flexible pendulum in Exudyn's floating frame, from the matrices in a file.

Run in a process of its own by `tests.flexible.peers`: ``python exudyn_pendulum.py IN.npz OUT.npz``.
The mesh's nodes are the Gauss points of our integrals with lumped masses, so that every mass
integral is the same; the stiffness matrix is the one of all nodes that reduces to ours.

Gravity is left out on purpose: Exudyn's mass-proportional load does not see the deflection of the
body (first order in it); a force on the mass at the end does the same with no doubt.
"""

import sys
import time

import exudyn as exu
import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from exudyn.utilities import (
    Force,
    GenericJoint,
    MarkerBodyRigid,
    MarkerNodePosition,
    MarkerNodeRigid,
    MarkerSuperElementPosition,
    MassPoint,
    ObjectGround,
    Point,
    SensorNode,
    SphericalJoint,
)
from scipy.sparse import csr_matrix


def main() -> None:
    """Simulate, and write times, displacements of the end and seconds of computing."""
    given = np.load(sys.argv[1])
    nodes, modes = given["nodes"], given["modes"]
    inverse = np.linalg.inv(modes.T @ modes)
    mesh = FEMinterface()
    mesh.nodes["Position"] = nodes
    mesh.massMatrix = csr_matrix(np.diag(np.repeat(given["masses"], 3)))
    mesh.stiffnessMatrix = csr_matrix(modes @ inverse @ given["stiffness"] @ inverse @ modes.T)
    mesh.modeBasis = {"matrix": modes, "type": "NormalModes"}
    speed, end = float(given["speed"]), len(nodes) - 1
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    body = ObjectFFRFreducedOrderInterface(mesh).AddObjectFFRFreducedOrder(
        mbs,
        positionRef=[0, 0, 0],
        initialVelocity=[0, 0, 0],
        initialAngularVelocity=[0, 0, speed],
        gravity=[0, 0, 0],
    )
    ground = mbs.AddObject(ObjectGround())
    hinge = [
        mbs.AddMarker(MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0])),
        mbs.AddMarker(MarkerNodeRigid(nodeNumber=body["nRigidBody"])),
    ]
    mbs.AddObject(GenericJoint(markerNumbers=hinge, constrainedAxes=[1, 1, 1, 1, 1, 0]))
    tip = list(nodes[end])
    node = mbs.AddNode(Point(referenceCoordinates=tip, initialVelocities=[0, speed * tip[0], 0]))
    mbs.AddObject(MassPoint(physicsMass=float(given["load"]), nodeNumber=node))
    markers = [
        mbs.AddMarker(MarkerNodePosition(nodeNumber=node)),
        mbs.AddMarker(
            MarkerSuperElementPosition(
                bodyNumber=body["oFFRFreducedOrder"], meshNodeNumbers=[end], weightingFactors=[1.0]
            )
        ),
    ]
    mbs.AddLoad(Force(markerNumber=markers[0], loadVector=[0, float(given["force"]), 0]))
    mbs.AddObject(SphericalJoint(markerNumbers=markers, constrainedAxes=[1, 1, 1]))
    kind = exu.OutputVariableType.Displacement
    sensor = mbs.AddSensor(
        SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind, writeToFile=False)
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = int(given["steps"])
    settings.timeIntegration.endTime = float(given["seconds"])
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.sensorsWritePeriod = float(given["seconds"]) / 50
    settings.solutionSettings.writeSolutionToFile = False
    start = time.perf_counter()
    mbs.SolveDynamic(settings)
    spent = time.perf_counter() - start
    np.savez(sys.argv[2], motion=mbs.GetSensorStoredData(sensor), seconds=spent)


if __name__ == "__main__":
    main()
