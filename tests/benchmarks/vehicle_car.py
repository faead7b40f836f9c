"""KimYoo97: the car in its lane change, beside Exudyn in redundant coordinates.

Tyres have no slip along the road, so that in Exudyn they act on the links that carry the wheels.
They and the rack's travel are Python functions there, which is quicker than its symbols, whose
expressions are trees. Its tie rods and shock absorbers are on two ball joints each: their spin
stays at rest.
"""

from __future__ import annotations

import math
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.vehicle_exudyn import ExudynVehicle, Forces
from tests.vehicles.scripts import example

RADIUS, STIFFNESS, DAMPING, SLIP, FRICTION = 0.3, 180e3, 300.0, 15.0, 0.9
FADE = 1e-3
DURATION = 8.0
STEPS, THEIRS = (4e-3, 2e-3, 1e-3), (2e-3, 1e-3)
RACK = "0.01/(0.75*sqrt(3))*(sin(pi/2*min(max(t-4,0),4)) - sin(pi*min(max(t-4,0),4))/2)"
"""The example's; as a text, whose machine code is kept."""
METHODS: dict[str, Any] = {
    "multipliers": {},
    "projected basis, all velocities": {"method": "projection"},
    "projected basis, z' alone (the paper's)": {
        "method": "projection",
        "coordinates": "independent",
    },
    "held basis (svd), z' alone": {"method": "svd", "coordinates": "independent"},
}
CARRIERS = {
    "wheel_front_left": "knuckle_left",
    "wheel_front_right": "knuckle_right",
    "wheel_rear_left": "trail_left",
    "wheel_rear_right": "trail_right",
}


class ExudynCar(ExudynVehicle):
    """The car's 20 bodies."""

    def _bodies(self, q: Any, v: Any) -> None:
        from exudyn.itemInterface import (
            MarkerBodyRigid,
            ObjectConnectorRigidBodySpringDamper,
            ObjectJointGeneric,
        )
        from exudyn.utilities import RigidBodyInertia

        exu, mbs, robot = self.exu, self.mbs, self.robot
        description = robot.model.description
        self.numbers, self.centres, poses = {}, {}, {}
        for link in description.links:
            pose, twist = robot.placement(q, link.name), robot.velocity(q, v, link.name)
            poses[link.name] = pose
            if not link.inertia.mass:
                continue
            arm = pose[:3, :3] @ link.inertia.centre
            self.centres[link.name] = np.asarray(link.inertia.centre, float)
            self.numbers[link.name] = mbs.CreateRigidBody(
                referencePosition=pose[:3, 3] + arm,
                referenceRotationMatrix=pose[:3, :3],
                initialVelocity=twist[:3] + np.cross(twist[3:], arm),
                initialAngularVelocity=twist[3:],
                inertia=RigidBodyInertia(link.inertia.mass, np.array(link.inertia.central)),
                nodeType=exu.NodeType.RotationEulerParameters,
                gravity=list(robot.model.gravity),
            )
        above = {joint.child: joint for joint in description.joints}

        def marker(link: str, point: Any) -> int:
            local = np.asarray(point, float) - self.centres[link]
            body = MarkerBodyRigid(bodyNumber=self.numbers[link], localPosition=list(local))
            return int(mbs.AddMarker(body))

        for child in self.numbers:
            if child == "chassis":
                continue
            chain = [above[child]]
            while chain[-1].parent not in self.numbers:
                chain.append(above[chain[-1].parent])
            parent, joint = chain[-1].parent, chain[0]
            pair, pose = [self.numbers[parent], self.numbers[child]], poses[child]
            at = {"position": pose[:3, 3], "useGlobalFrame": True}
            axis = pose[:3, :3] @ joint.axis
            if child == "rack":
                pins = [marker(parent, chain[-1].origin.translation), marker(child, np.zeros(3))]
                fixed = {"markerNumbers": pins, "constrainedAxes": [1] * 6}
                made = ObjectJointGeneric(**fixed, offsetUserFunction=self._offset)
                mbs.AddObject(made)
            elif len(chain) > 1:
                mbs.CreateSphericalJoint(bodyNumbers=pair, **at)
            elif joint.type == "prismatic":
                mbs.CreatePrismaticJoint(bodyNumbers=pair, axis=axis, **at)
                self._strut(joint, pair)
            else:
                mbs.CreateRevoluteJoint(bodyNumbers=pair, axis=axis, **at)
        for loop in description.loops:
            ends = [(end.link, end.frame.translation) for end in (loop.predecessor, loop.successor)]
            pins = [marker(*end) for end in ends]
            axes = [1, 0, 1, 0, 0, 0] if loop.type == "mask" else [1, 1, 1, 0, 0, 0]
            mbs.AddObject(ObjectJointGeneric(markerNumbers=pins, constrainedAxes=axes))
        for spring in robot.forces:
            if spring.joint == "twist":
                mbs.CreateTorsionalSpringDamper(
                    bodyNumbers=[self.numbers["trail_left"], self.numbers["trail_right"]],
                    position=poses["trail_right"][:3, 3],
                    axis=[0, 1, 0],
                    stiffness=spring.stiffness[0],
                    damping=spring.damping[0],
                    useGlobalFrame=True,
                )
        ground = mbs.AddMarker(MarkerBodyRigid(bodyNumber=self.ground))
        push = tyre()
        for wheel, link in CARRIERS.items():
            pins = [ground, marker(link, above[wheel].origin.translation)]
            made = ObjectConnectorRigidBodySpringDamper(
                markerNumbers=pins,
                stiffness=np.zeros((6, 6)),
                damping=np.zeros((6, 6)),
                springForceTorqueUserFunction=push,
            )
            mbs.AddObject(made)

    def _offset(self, mbs: Any, t: float, item: int, parameters: Any) -> list[float]:
        """Return where the rack is against the chassis: along the chassis' y, in world axes."""
        x = 0.5 * math.pi * min(max(t - 4.0, 0.0), 4.0)
        travel = 0.01 / (0.75 * math.sqrt(3.0)) * (math.sin(x) - math.sin(2.0 * x) / 2.0)
        kind = self.exu.OutputVariableType.RotationMatrix
        R = mbs.GetObjectOutputBody(self.numbers["chassis"], kind)
        return [travel * float(R[1]), travel * float(R[4]), travel * float(R[7]), 0.0, 0.0, 0.0]

    def _strut(self, joint: Any, pair: list[int]) -> None:
        """A spring between two points of the joint's axis, a metre apart at zero."""
        (spring,) = (one for one in self.robot.forces if getattr(one, "joint", "") == joint.name)
        k, foot = spring.stiffness[0], np.asarray(joint.origin.translation)
        self.mbs.CreateSpringDamper(
            bodyNumbers=pair,
            localPosition0=foot - self.centres[joint.parent],
            localPosition1=np.asarray(joint.axis) - self.centres[joint.child],
            referenceLength=1.0 - spring.preload / k,
            stiffness=k,
            damping=spring.damping[0],
        )


def tyre() -> Any:
    """Return `SimpleTyre` on a level road as a user function of Exudyn."""
    sin, cos, sqrt = math.sin, math.cos, math.sqrt

    def cross(a: Any, b: Any) -> list[Any]:
        return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

    def push(mbs, t, item, displacement, rotation, velocity, angular, k, d, A0, A1, offset):  # type: ignore[no-untyped-def]
        alpha, beta, gamma = rotation[0], rotation[1], rotation[2]
        sa, ca, sb = sin(alpha), cos(alpha), sin(beta)
        cb, sg, cg = cos(beta), sin(gamma), cos(gamma)
        a = [-cb * sg, ca * cg - sa * sb * sg, sa * cg + ca * sb * sg]
        rho = sqrt(1.0 - a[2] * a[2])
        f = [a[1] / rho, -a[0] / rho, 0.0]
        left = [-f[1], f[0], 0.0]
        w = [angular[0], angular[1], angular[2]]
        press = max(RADIUS * rho - displacement[2], 0.0)
        tilting = w[0] * a[1] - w[1] * a[0]
        rate = -RADIUS * a[2] * tilting / rho - velocity[2]
        load = max(STIFFNESS * press + DAMPING * min(press * (1 / FADE), 1.0) * rate, 0.0)
        u = [-a[2] * a[0] / rho, -a[2] * a[1] / rho, (1.0 - a[2] * a[2]) / rho]
        r = [-RADIUS * u[0], -RADIUS * u[1], press - RADIUS * u[2]]
        turned = cross(w, r)
        aside = left[0] * (velocity[0] + turned[0]) + left[1] * (velocity[1] + turned[1])
        ahead = f[0] * velocity[0] + f[1] * velocity[1]
        y = -SLIP * aside / abs(ahead)
        across = load * y / sqrt(1.0 + y * y * (1 / FRICTION**2))
        turn = cross(r, left)
        moment = [RADIUS * a[2] * load * f[i] + across * turn[i] for i in range(3)]
        force = [across * left[0], across * left[1], load]
        return [-part for part in (*force, *moment)]

    return push


def run() -> dict[str, Any]:
    """Print and return times and errors of the chassis' last position."""
    made = example("lane_change")
    car, q, v = made["car"], made["q"], made["v"]
    system = mbd.System(car, forces=[*car.forces, *made["tyres"]], prescribed={"rack": RACK})
    system.simulate(0.01, q=q, v=v)
    exact = system.simulate(DURATION, step=2e-4, every=1000, q=q, v=v).q[-1, :3]
    results: dict[str, Any] = {}

    def show(name: str, h: float, seconds: float, end: Any) -> None:
        each, error = seconds / round(DURATION / h), float(np.abs(end - exact).max())
        results[f"{name}, {1e3 * h:g} ms"] = {"us": 1e6 * each, "s": seconds, "error": error}
        parts = f"{1e3 * h:>5g}{1e6 * each:>10.1f}{1e3 * seconds:>12.1f}{1e3 * error:>12.1e}"
        print(f"  {name:<58}{parts}", flush=True)

    print(f"  {'':<58}   ms  us a step   whole, ms   error, mm")
    for name, options in METHODS.items():
        for h in STEPS:
            least, found = np.inf, system.simulate(DURATION, step=h, q=q, v=v, every=50, **options)
            for _ in range(3):
                start = time.process_time()
                found = system.simulate(DURATION, step=h, q=q, v=v, every=50, **options)
                least = min(least, time.process_time() - start)
            show(f"ours, 36 coordinates, RK4, {name}", h, least, found.q[-1, :3])
    if find_spec("exudyn"):
        for h in THEIRS:
            peer = ExudynCar(car, q, v, Forces({}, {}, {}), h, "bodies", "EigenSparse", True)
            seconds = peer.run(round(DURATION / h))
            show(f"{peer.name}, {peer.size} coordinates", h, seconds, peer.position())
    return results
