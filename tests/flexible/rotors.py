"""Rotating beams of published tests: a cantilever on a hub, the spin-up of Simo and Vu-Quoc."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import build_model
from tests.flexible.models import bar, natural_frequencies

PUBLISHED = {
    2.0: (4.1373, 22.6149, 62.2732),
    6.0: (7.3604, 26.8091, 66.6839),
    12.0: (13.1702, 37.6031, 79.6145),
}
"""Flap frequencies by speed, both times sqrt(ρA L⁴ / EI): REFERENCES.md, hub radius 0."""
SIMO = mbd.flexible.Beam(
    (0, 0, 0),
    (10, 0, 0),
    E=1e9,
    G=4e8,
    density=1.2 / 0.028,
    section=mbd.flexible.Section(A=0.028, Iy=1.4e-5, Iz=1.4e-5, J=2.8e-5),
    rotary_inertia=False,
)
"""L 10 m, EA 2.8e7 N, EI 1.4e4 N m², ρA 1.2 kg/m (Simo and Vu-Quoc 1986)."""
SPEED, RISE = 6.0, 15.0
"""rad/s, and s until it is reached."""


def blade(modes, *, stiffening, beam=None):
    builder = mbd.Builder("rotor")
    builder.joint("hub", "revolute", "base", "blade", axis=(0, 0, 1))
    builder.flexible(
        mbd.flexible.FlexibleLink("blade", beam or bar(1.0), modes, stiffening=stiffening)
    )
    return build_model(builder.description(), gravity=(0, 0, 0))


def modal_forces(model, eta, speed):
    v = np.zeros(model.nv)
    v[0] = speed
    return recursive_loads(model, np.append(0.0, eta), v, np.zeros(model.nv)).forces[1:]


def frequencies(model, speed):
    """Return ω of small deflections at a constant speed of the hub."""
    n, step = model.nv - 1, 1e-4
    pairs = [
        (modal_forces(model, step * e, speed), modal_forces(model, -step * e, speed))
        for e in np.eye(n)
    ]
    K = np.array([(up - down) / (2 * step) for up, down in pairs]).T
    return natural_frequencies(mass_matrix_by_bodies(model, np.zeros(n + 1))[1:, 1:], K)


def printed_frequencies(plane):
    """Return flap frequencies, as the table has them, by the motion in that plane.

    In the plane of rotation (lag) ω² is less by Ω².
    """
    at, lags = bar(1.0).at(np.zeros(1)), plane == "lag"
    modes = mbd.flexible.Modes("polynomial", 8 if lags else None, None if lags else 8)
    unit = np.sqrt((at.EIz if lags else at.EIy)[0] / at.mass[0])
    model = blade(modes, stiffening=True)
    found = [frequencies(model, speed * unit)[:3] / unit for speed in PUBLISHED]
    return np.sqrt(np.square(found) + lags * np.square([*PUBLISHED])[:, None])


def spin_up():
    """Return times, s, and the tip's deflection, m."""
    rotor = mbd.Mechanism(blade(mbd.flexible.Modes("clamped-free", 3), stiffening=True, beam=SIMO))
    angle = f"({SPEED}/{RISE})*(t^2/2 + ({RISE}/(2*pi))^2*(cos(2*pi*t/{RISE}) - 1))"
    run = rotor.simulate(RISE, step=5e-3, prescribed={"hub": angle})
    return run.time, run.q[:, 1:].sum(axis=1)
