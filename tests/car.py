"""A car like that of KimYoo97, all of whose numbers are chosen: the paper prints none.

As in the paper: MacPherson struts in front (lower arm on a revolute joint, ball joint to the
knuckle, strut that slides in the knuckle and hangs on a ball joint in the chassis), a rack that
steers over tie rods (universal joint at the rack, ball joint at the knuckle), a twist beam behind.
Simplified: the wheels do not spin, and the twist beam is two trailing arms on revolute joints with
a torsion spring between them. x forward, y to the left, z up; m, kg, N, rad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame

SPEED = 40 / 3.6
"""m/s: the paper's 40 km/h."""

HEIGHT = 0.55
"""m; of the chassis' centre of mass, its origin, above the road."""

RADIUS = 0.30
"""m; of a wheel: its centre is that high when the tyre is not pressed."""

SIDES = {"left": 1.0, "right": -1.0}

ARM = np.array([1.20, 0.35, -0.30])  # inner end of the lower arm, left; in the chassis
BALL = np.array([1.20, 0.66, -0.33])  # lower ball joint
WHEEL = np.array([1.20, 0.70, -0.25])
FOOT = np.array([1.19, 0.60, -0.18])  # where the strut slides out of the knuckle
TOP = np.array([1.15, 0.52, 0.30])  # its ball joint in the chassis
RACK = np.array([1.05, 0.30, -0.25])  # end of the rack
STEER = np.array([1.06, 0.62, -0.26])  # outer end of the tie rod
PIVOT = np.array([-0.90, 0.55, -0.20])  # of the trailing arm
REAR = np.array([-1.30, 0.70, -0.25])  # rear wheel's centre

STRUT = (2500.0, 20e3, 1500.0)  # preload N, N/m, N s/m
TRAIL = (880.0, 3200.0, 240.0)  # preload N m, N m/rad, N m s/rad
TWIST = 600.0  # N m/rad
TYRE = (180e3, 500.0, 40e3)  # N/m, N s/m, and cornering stiffness N/rad


def car() -> mbd.Mechanism:
    """Return the car: 23 velocities, 12 rows of four cut ball joints, 11 degrees of freedom."""
    b = mbd.Builder("car", root="chassis")
    b.link("chassis", 900.0, (0, 0, 0), (300.0, 1300.0, 1400.0))
    b.link("rack", 2.0, (0, 0, 0), (0.06, 0.001, 0.06))
    b.joint("rack", "prismatic", "chassis", "rack", (RACK[0], 0, RACK[2]), axis=(0, 1, 0))
    for side, sign in SIDES.items():
        own = np.array([1.0, sign, 1.0])
        arm, ball, wheel, foot, top, rack, steer, pivot, rear = (
            own * p for p in (ARM, BALL, WHEEL, FOOT, TOP, RACK, STEER, PIVOT, REAR)
        )
        b.link(f"arm_{side}", 5.0, 0.5 * (ball - arm), (0.04, 0.02, 0.05))
        b.link(f"knuckle_{side}", 35.0, wheel - ball, (0.7, 1.0, 0.7))
        b.link(f"strut_{side}", 4.0, 0.6 * (top - foot), (0.06, 0.06, 0.005))
        b.link(f"tie_rod_{side}", 1.0, 0.5 * (steer - rack), (0.009, 0.0002, 0.009))
        b.link(f"trail_{side}", 45.0, 0.8 * (rear - pivot), (0.9, 1.4, 1.2))
        b.joint(f"arm_{side}", "revolute", "chassis", f"arm_{side}", arm, axis=(1, 0, 0))
        b.joint(f"ball_{side}", "spherical", f"arm_{side}", f"knuckle_{side}", ball - arm)
        slide = {"xyz": foot - ball, "axis": top - foot}
        b.joint(f"strut_{side}", "prismatic", f"knuckle_{side}", f"strut_{side}", **slide)
        cross = {"axis": (1, 0, 0), "axis2": (0, 0, 1)}
        place = rack - np.array([RACK[0], 0, RACK[2]])
        b.joint(f"tie_rod_{side}", "universal", "rack", f"tie_rod_{side}", place, **cross)
        b.joint(f"trail_{side}", "revolute", "chassis", f"trail_{side}", pivot, axis=(0, 1, 0))
        b.loop(f"top_{side}", "spherical", (f"strut_{side}", at(top - foot)), ("chassis", at(top)))
        ends = (f"tie_rod_{side}", at(steer - rack)), (f"knuckle_{side}", at(steer - ball))
        b.loop(f"steer_{side}", "spherical", *ends)
    return mbd.Mechanism.build(b, floating=True)


def at(point: np.ndarray) -> Frame:
    """Return the frame at a point, parallel to the link's."""
    return Frame.from_rpy(tuple(point))


def start(machine: mbd.Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v of the car as drawn, at its speed."""
    q, v = machine.neutral(), np.zeros(machine.nv)
    q[2], v[0] = HEIGHT, SPEED
    return q, v


def springs(machine: mbd.Mechanism) -> Callable[..., Any]:
    """Return the forces of struts, trailing arms and twist beam as a function of (t, q, v)."""
    names, rates = machine.coordinate_names, machine.model.velocity_names
    struts = [(names.index(f"strut_{s}"), rates.index(f"strut_{s}")) for s in SIDES]
    trails = [(names.index(f"trail_{s}"), rates.index(f"trail_{s}")) for s in SIDES]

    def torque(t: Any, q: Any, v: Any) -> Any:
        out = np.zeros(machine.nv, dtype=np.asarray(q).dtype)
        for place, rate in struts:
            out[rate] = STRUT[0] - STRUT[1] * q[place] - STRUT[2] * v[rate]
        for (place, rate), (other, _) in ((trails[0], trails[1]), (trails[1], trails[0])):
            out[rate] = -TRAIL[0] - TRAIL[1] * q[place] - TRAIL[2] * v[rate]
            out[rate] = out[rate] - TWIST * (q[place] - q[other])
        return out

    return torque


def tyres(machine: mbd.Mechanism) -> dict[str, Callable[..., Any]]:
    """Return the tyres' forces on the links that carry a wheel, in the world's axes."""
    wheels = {f"knuckle_{s}": (WHEEL - BALL) * (1, sign, 1) for s, sign in SIDES.items()}
    wheels |= {f"trail_{s}": (REAR - PIVOT) * (1, sign, 1) for s, sign in SIDES.items()}
    return {link: tyre(machine, link, centre) for link, centre in wheels.items()}


def tyre(machine: mbd.Mechanism, link: str, centre: np.ndarray) -> Callable[..., Any]:
    """Return a tyre: upright spring and damper, sideways force - stiffness * slip."""

    def push(t: Any, q: Any, v: Any) -> Any:
        place = machine.placement(q, link)
        arm, velocity = place[:3, :3] @ centre, machine.velocity(q, v, link, centre)[:3]
        lift = TYRE[0] * (RADIUS - (place[2, 3] + arm[2])) - TYRE[1] * velocity[2]
        axle = place[:2, 1]
        axle = axle * (1.0 / np.sqrt(axle @ axle))
        slip = (velocity[:2] @ axle) / (velocity[0] * axle[1] - velocity[1] * axle[0])
        side = -TYRE[2] * slip * axle
        force = np.array([side[0], side[1], lift])
        return np.concatenate([force, np.cross(arm - np.array([0.0, 0.0, RADIUS]), force)])

    return push


def lane_change(t: Any) -> Any:
    """Return the rack's way, m: a centimetre to one side and to the other between 4 and 8 s.

    sin x - sin(2 x) / 2 has its peak 3 sqrt(3) / 4 at 120 degrees; unlike a sine it starts and
    ends without a jump of the rate.
    """
    x = np.pi / 2 * (t - 4.0)
    return 0.01 / (0.75 * np.sqrt(3.0)) * (np.sin(x) - np.sin(2 * x) / 2)
