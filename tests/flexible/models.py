"""Flexible mechanisms for tests."""

from __future__ import annotations

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model import Model, build_model

SOFT = 7e7
"""Pa: a thousandth of aluminium, so that deformations and velocities are of one size."""


def bar(
    length: float,
    *,
    width_y: float = 0.02,
    width_z: float = 0.03,
    E: float = 7e10,
    density: float = 2700.0,
    rotary: bool = False,
) -> mbd.flexible.Beam:
    """Return a rectangular bar along x; by default one of Bernoulli and Euler."""
    section = mbd.flexible.Section.rectangle(width_y, width_z)
    return mbd.flexible.Beam(
        (0, 0, 0), (length, 0, 0), E, 0.37 * E, density, section, rotary_inertia=rotary
    )


def cantilever(
    modes: mbd.flexible.Modes,
    *,
    tip_mass: float = 0.0,
    beam: mbd.flexible.Beam | None = None,
    **more: object,
) -> Model:
    """Return a bar that the ground holds (1 m if no beam is given), a point mass at its end."""
    builder = mbd.Builder("cantilever", root="arm")
    builder.flexible(mbd.flexible.FlexibleLink("arm", beam or bar(1.0), modes, **more))
    if tip_mass:
        builder.link("load", tip_mass)
        builder.joint("tip", "fixed", "arm", "load", xyz=((beam or bar(1.0)).length, 0, 0))
    return build_model(builder.description(), gravity=(0.0, -9.81, 0.0))


def natural_frequencies(M: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return ω, rad/s, of M x'' + K x = 0."""
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))


def random_arm(rng: np.random.Generator, *, stiffening: bool, quaternions: bool) -> Model:
    """Return a branching arm with two flexible links in general position, loaded at four places."""
    builder = mbd.Builder("flexible arm")
    third = "spherical" if quaternions else str(rng.choice(["universal", "cylindrical", "planar"]))
    for name in ("c", "d"):
        builder.link(name, *_body(rng))
    builder.joint("j1", "revolute", "base", "a", *rng.normal(size=(2, 3)), axis=rng.normal(size=3))
    builder.joint("j2", "universal", "a", "b", *rng.normal(size=(2, 3)), (0, 0, 1), (0, 1, 0))
    builder.joint("j3", third, "b", "c", (0, 0.7, 0), rng.normal(size=3), axis=(0, 0, 1))
    builder.joint("j4", "prismatic", "a", "d", (0.9, 0, 0), axis=rng.normal(size=3))
    section = mbd.flexible.Section.rectangle(0.02, 0.03)
    first = mbd.flexible.Beam((0, 0, 0), (0.9, 0.2, 0.1), SOFT, 2.6e7, 2700, section)
    second = mbd.flexible.Beam((0, -0.1, 0), (0, 0.7, 0), SOFT, 2.6e7, 2700, section)
    damping = mbd.flexible.Damping(ratio=0.02, alpha=0.3, beta=1e-4)
    spatial = mbd.flexible.Modes("finite-element", 2, 1, 1, 1, elements=3)
    for link, beam, modes in (
        ("a", first, spatial),
        ("b", second, mbd.flexible.Modes("pinned-pinned", 1, 2)),
    ):
        builder.flexible(
            mbd.flexible.FlexibleLink(link, beam, modes, damping, stiffening, {"gauge": 0.3})
        )
    return build_model(builder.description())


def state(model: Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random q, v and a; deformations are moderate."""
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def _body(rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    inertia = turn @ np.diag(rng.uniform(0.1, 0.15, size=3)) @ turn.T
    return rng.uniform(0.5, 2.0), 0.2 * rng.normal(size=3), 0.5 * (inertia + inertia.T)


STEEL = 2.1e11
"""Pa."""


def slider_crank(E=STEEL, damping=0.0, *, bends=True, stiffening=False):
    parts = mbd.Builder("slider crank")
    parts.link("crank", 0.5, (0.075, 0, 0), (1e-4, 1e-3, 1e-3)).link("slider", 0.2)
    parts.joint("crank", "revolute", "base", "crank", axis=(0, 0, 1))
    parts.joint("pin", "revolute", "crank", "rod", xyz=(0.15, 0, 0), axis=(0, 0, 1))
    parts.joint("slide", "prismatic", "base", "slider", xyz=(0.45, 0, 0), axis=(1, 0, 0))
    parts.loop("wrist", "revolute", "rod", "slider", axis=(0, 0, 1), xyz=(0.3, 0, 0))
    section = mbd.flexible.Section.rectangle(0.006, 0.006)
    rod = mbd.flexible.Beam((0, 0, 0), (0.3, 0, 0), E, 0.38 * E, 7800, section)
    mass = 0.006**2 * 0.3 * 7800
    if not bends:
        along, across = mass / 12 * 2 * 0.006**2, mass / 12 * (0.3**2 + 0.006**2)
        parts.link("rod", mass, (0.15, 0, 0), (along, across, across))
        return mbd.Mechanism.build(parts)
    modes = mbd.flexible.Modes("pinned-pinned", 1)
    one = mbd.flexible.FlexibleLink("rod", rod, modes, mbd.flexible.Damping(damping), stiffening)
    return mbd.Mechanism.build(parts.flexible(one))


def started(machine, speed=30.0):
    names = [name for name in machine.coordinate_names if "mode" in name]
    held, still = ["crank", *names], dict.fromkeys(names, 0.0)
    guess, rates = {"crank": 0.6} | still, {"crank": speed} | still
    return machine.assemble(guess, fixed=held, velocity=rates)
