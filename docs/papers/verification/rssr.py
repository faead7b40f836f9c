"""Lee94 7.2: the RSSR linkage, Fig 5 and Table 5 made again, beside Exudyn.

    python docs/papers/verification/rssr.py

Needs the packages of the `test` extra, and exudyn. Writes lee94_rssr.png beside itself.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = PICTURES = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import mbd_bridge as mbd  # noqa: E402
from tests.robots import own_urdfs  # noqa: E402

SECONDS = 2.0
START = {"crank": 0.5}
"""rad; the paper prints neither its start nor its places. From rest, weight alone."""
CENTRE = 0.25
"""m, from the crank's pin to its centre of mass."""
BODIES = ("ground", "crank", "coupler", "rocker")
TURNS = 5
LOOSE, TIGHT = 1e-6, 1e-10
"""Of Newton's iterations: Exudyn's quickest, and one with which its error falls with the step."""


class Motion(NamedTuple):
    """Times, the crank's upward acceleration (m/s²), and the time of the best turn, s."""

    time: Any
    upward: Any
    took: float


def main() -> None:
    """Print the table of the page and draw its picture."""
    fine = ours(1e-4)
    curves = {"mbd_bridge, 1 ms": ours(1e-3)}
    for h, tolerance in ((1e-3, LOOSE), (1e-3, TIGHT), (2e-4, TIGHT)):
        curves[f"Exudyn, {1e3 * h:g} ms, Newton to {tolerance:g}"] = exudyn(h, tolerance)
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    for style, (name, one) in zip(("k-", "C3-.", "C1--", "C2:"), curves.items(), strict=True):
        away = np.abs(one.upward - np.interp(one.time, fine.time, fine.upward))
        print(f"{name:32} {1e3 * one.took:8.1f} ms, off by {away.max():.1e} m/s²")
        axes[0].plot(one.time, one.upward, style, label=name)
        axes[1].semilogy(one.time, away + 1e-12, style)
    axes[0].set_ylabel("crank's centre, upward, m/s²")
    axes[1].set_ylabel("difference to steps of 0.1 ms, m/s²")
    axes[1].set_xlabel("time, s")
    axes[0].legend()
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(PICTURES / "lee94_rssr.png", dpi=110)
    plt.close(figure)


def machine() -> tuple[mbd.Mechanism, Any]:
    """Return the linkage and where it starts."""
    linkage = mbd.load(own_urdfs()["rssr"])
    return linkage, linkage.assemble(START, fixed=[*START]).q


def ours(h: float) -> Motion:
    """Return the motion by the compiled step, in 5 coordinates with 3 rows."""
    linkage, q = machine()
    records = round(2e-3 / h)
    best, run = np.inf, linkage.simulate(SECONDS, q=q, step=h, every=records)
    for _ in range(TURNS):
        begin = time.process_time()
        run = linkage.simulate(SECONDS, q=q, step=h, every=records)
        best = min(best, time.process_time() - begin)
    k = linkage.model.velocity_names.index("crank")
    angle, rate, a = run.q[:, k], run.v[:, k], run.a[:, k]
    return Motion(run.time, -CENTRE * (np.sin(angle) * a + np.cos(angle) * rate**2), best)


def exudyn(h: float, tolerance: float = TIGHT) -> Motion:
    """Return the motion in Exudyn: four bodies with Euler parameters, 28 coordinates.

    16 rows of two hinges and two balls, 4 of the parameters' lengths, 6 that hold the ground.

    Parameters
    ----------
    tolerance : relative, of its Newton iterations
    """
    return min((_exudyn(h, tolerance) for _ in range(TURNS)), key=lambda one: one.took)


def _exudyn(h: float, tolerance: float) -> Motion:
    import exudyn as exu
    from exudyn.utilities import RigidBodyInertia, SensorBody

    linkage, q = machine()
    system = exu.SystemContainer()
    mbs = system.AddSystem()
    world = mbs.CreateGround()
    described = {link.name: link.inertia for link in linkage.model.description.links}
    numbers, places = {}, {name: linkage.placement(q, name) for name in BODIES}
    for name, place in places.items():
        own = described[name]
        mass = own.mass if own else 1.0
        centre = own.centre if own else np.zeros(3)
        numbers[name] = mbs.CreateRigidBody(
            referencePosition=place[:3, 3] + place[:3, :3] @ centre,
            referenceRotationMatrix=place[:3, :3],
            inertia=RigidBodyInertia(mass, np.array(own.central) if own else np.eye(3)),
            gravity=[0.0, 0.0, -9.81],
        )
    mbs.CreateGenericJoint(
        bodyNumbers=[world, numbers["ground"]], position=[0, 0, 0], constrainedAxes=[1] * 6
    )
    for name, axis in (("crank", (0, 1, 0)), ("rocker", (1, 0, 0))):
        place = {"position": places[name][:3, 3], "axis": places[name][:3, :3] @ axis}
        pair = [numbers["ground"], numbers[name]]
        mbs.CreateRevoluteJoint(bodyNumbers=pair, **place, useGlobalFrame=True)
    for name in ("crank", "rocker"):
        tip = places[name][:3, 3] + places[name][:3, :3] @ (0, 0, 0.5)
        mbs.CreateSphericalJoint(bodyNumbers=[numbers[name], numbers["coupler"]], position=tip)
    sensor = mbs.AddSensor(
        SensorBody(
            bodyNumber=numbers["crank"],
            storeInternal=True,
            outputVariableType=exu.OutputVariableType.Acceleration,
        )
    )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(SECONDS / h)
    settings.timeIntegration.endTime = SECONDS
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = tolerance
    settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = 2e-3
    begin = time.process_time()
    mbs.SolveDynamic(settings)
    took = time.process_time() - begin
    found = mbs.GetSensorStoredData(sensor)
    return Motion(found[:, 0], found[:, 3], took)


if __name__ == "__main__":
    main()
