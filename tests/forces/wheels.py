"""A wheel that flies freely, a cart on four wheels, and tyres for them."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import FialaTyre, PacejkaTyre, SimpleTyre, TableTyre
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.roads import Bump, Flat, MovingRoad, Profile, Ramp, Sine, TwoTracks

RADIUS = 0.3
STIFFNESS, DAMPING = 150e3, 2000.0
CAR_TYRE = Path(__file__).parents[2] / "urdf" / "car_tyre.tir"
"""A file in the form PAC2002."""

FIALA: dict = {
    "radius": RADIUS,
    "stiffness": STIFFNESS,
    "damping": DAMPING,
    "width": 0.2,
    "slip_stiffness": (60e3, 45e3),
    "friction": (0.6, 0.95),
}


def rig(kappa, alpha, load) -> dict[str, np.ndarray]:
    """Return a table of forces that a test rig might have found, at all of some places."""
    places = np.meshgrid(kappa, alpha, load, indexing="ij")
    slip, angle, pressed = (place.ravel() for place in places)
    combined = 1.0 + 60.0 * slip**2 + 40.0 * np.tan(angle) ** 2
    soft = pressed * (1.0 - pressed / 30e3)
    forces = {"longitudinal": 12.0 * soft * slip / combined, "lateral": -9.0 * soft * angle}
    forces["aligning"] = -0.03 * forces["lateral"] / combined
    return {"slip": slip, "angle": angle, "load": pressed, **forces}


RIG = rig([-0.5, -0.1, 0.0, 0.07, 0.6], [-0.4, 0.0, 0.15, 0.5], [2e3, 3e3, 9e3])

DEFLECTIONS = np.array([0.03, -0.02])
"""m: states of tyres that have some."""

ROADS = {
    "flat": Flat(0.1),
    "waves": Sine(0.1, 2.0, 0.3) + Flat(0.1),
    "two tracks": TwoTracks(Ramp(-5.0, 10.0, 2.0), Bump(0.0, 9.0, 0.3, "sine")),
    "spline": Profile(np.linspace(-2, 2, 9), 0.1 * np.cos(np.arange(9.0)), "cubic"),
    "belt": MovingRoad(Sine(0.1, 2.0, 0.3), (-3.0, 0.7)),
    "level belt": MovingRoad(Flat(), (-3.0, 0.7)),
}


def tyres(road, wheel: str = "wheel") -> dict[str, mbd.forces.ForceElement]:
    """Return tyres of all kinds on a road."""
    common = {"road": road, "name": wheel}
    return {
        "simple": SimpleTyre(wheel, RADIUS, STIFFNESS, DAMPING, **common),
        "vertical": SimpleTyre(
            wheel, RADIUS, (STIFFNESS, 1e6), DAMPING, direction="vertical", **common
        ),
        "fiala": FialaTyre(wheel, **FIALA, rolling_resistance=0.02, low_speed=0.3, **common),
        "pacejka": PacejkaTyre(wheel, CAR_TYRE, use_mode=4, **common),
        "pacejka delayed": PacejkaTyre(wheel, CAR_TYRE, side="right", **common),
        "table": TableTyre(wheel, RADIUS, STIFFNESS, RIG, DAMPING, **common),
        "fiala delayed": FialaTyre(wheel, **FIALA, relaxation=(0.6, 0.9), **common),
    }


@functools.cache
def free_wheel(floating: bool = True) -> mbd.Mechanism:
    """Return a wheel that may go anywhere: afloat, or by three slides and three turns."""
    inertia = (0.4, 0.7, 0.4)
    if floating:
        return mbd.Mechanism.build(
            mbd.Builder("wheel", root="wheel").link("wheel", 15.0, (0, 0, 0), inertia),
            floating=True,
        )
    builder = mbd.Builder("wheel")
    parent = "base"
    for kind, axes in (("prismatic", "xyz"), ("revolute", "zxy")):
        for letter in axes:
            name = f"{kind}_{letter}" if (kind, letter) != ("revolute", "y") else "wheel"
            axis = tuple(float(letter == other) for other in "xyz")
            builder = builder.link(name, 15.0 if name == "wheel" else 0.0, (0, 0, 0), inertia)
            builder = builder.joint(f"joint_{name}", kind, parent, name, axis=axis)
            parent = name
    return mbd.Mechanism.build(builder)


def wheel_states(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (count, 6) coordinates x, y, z, yaw, camber, spin and their rates, near the ground."""
    rng = np.random.default_rng(11)
    q = rng.normal(size=(count, 6)) * [1.0, 1.0, 0.08, 0.5, 0.25, 1.0] + [0, 0, 0.3, 0, 0, 0]
    v = rng.normal(size=(count, 6)) * [4.0, 2.0, 1.0, 1.0, 1.0, 12.0]
    return q, v


@functools.cache
def cart() -> mbd.Mechanism:
    """Return a body on four wheels, 460 kg."""
    builder = mbd.Builder("cart", root="body").link("body", 400.0, (0, 0, 0.1), (30, 80, 90))
    for name, x, y in (("fl", 1, 0.6), ("fr", 1, -0.6), ("rl", -1, 0.6), ("rr", -1, -0.6)):
        builder = builder.link(name, 15.0, (0, 0, 0), (0.4, 0.7, 0.4)).joint(
            f"axle_{name}", "continuous", "body", name, (x, y, -0.2), axis=(0, 1, 0)
        )
    return mbd.Mechanism.build(builder, floating=True)


def effect(robot: mbd.Mechanism, tyre, t: float, q: np.ndarray, v: np.ndarray):
    """Return the effect of a bound tyre, whose own states are `DEFLECTIONS`."""
    return tyre.effect(robot.model, t, q, v, DEFLECTIONS[: len(tyre.states(robot.model))])


def wrench_on(robot: mbd.Mechanism, q, v, does, link: str = "wheel") -> np.ndarray:
    """Return the wrench (6,) of an effect at the origin and in the axes of a link."""
    return in_link_axes(robot.model, q, v, does)[robot.model.link_number(link)]
