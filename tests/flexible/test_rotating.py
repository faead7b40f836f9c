"""Rotating beams: published frequencies, steady extension, the spin-up of Simo and Vu-Quoc."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations.body_composites import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import build_model
from tests.flexible.models import bar, natural_frequencies

PUBLISHED = {
    2.0: (4.1373, 22.6149, 62.2732),
    6.0: (7.3604, 26.8091, 66.6839),
    12.0: (13.1702, 37.6031, 79.6145),
}
"""Flap frequencies by speed, both times sqrt(ρA L⁴ / EI): REFERENCES.md, hub radius 0."""
DIGITS = 0.6e-4
"""Of the table."""

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


@pytest.mark.parametrize("plane", ["flap", "lag"])
def test_a_stiffened_blade_has_the_published_frequencies(plane):
    """In the plane of rotation (lag) ω² is less by Ω²."""
    at, lags = bar(1.0).at(np.zeros(1)), plane == "lag"
    modes = mbd.flexible.Modes("polynomial", 8 if lags else None, None if lags else 8)
    unit = np.sqrt((at.EIz if lags else at.EIy)[0] / at.mass[0])
    model = blade(modes, stiffening=True)
    for speed, expected in PUBLISHED.items():
        found = frequencies(model, speed * unit)[:3] / unit
        assert np.allclose(np.sqrt(found**2 + lags * speed**2), expected, atol=DIGITS)


def test_without_stiffening_the_lag_frequency_falls_to_zero():
    at = bar(1.0).at(np.zeros(1))
    unit = np.sqrt(at.EIz[0] / at.mass[0])
    model = blade(mbd.flexible.Modes("clamped-free", 3), stiffening=False)
    root = 1.8751040687119611**2
    assert frequencies(model, 0.99 * root * unit)[0] / unit > 0.1
    slow = modal_forces(model, 1e-3 * np.eye(3)[0], root * unit)[0]
    held = modal_forces(model, 1e-3 * np.eye(3)[0], 0.0)[0]
    assert abs(slow) < 1e-9 * held


def test_a_blade_at_speed_is_longer_by_the_closed_form():
    model = blade(mbd.flexible.Modes("polynomial", 1, axial=3), stiffening=True, beam=SIMO)
    eta, step = np.zeros(4), 1e-6
    for _ in range(4):
        left = modal_forces(model, eta, SPEED)
        columns = [(modal_forces(model, eta + step * e, SPEED) - left) / step for e in np.eye(4)]
        eta = eta - np.linalg.solve(np.array(columns).T, left)
    tip = model.bodies[model.joint("blade").body].type
    extension = (np.array(tip.displacement) @ eta)[0]
    assert abs(extension / 5.1429e-4 - 1) < 0.01
    assert abs(extension / (1.2 * SPEED**2 * 10**3 / (3 * 2.8e7)) - 1) < 1e-4


def test_spin_up_bends_the_blade_as_published():
    """Simo and Vu-Quoc 1986: -0.5738 m at 6.76 s; afterwards a vibration of some mm stays."""
    rotor = mbd.Mechanism(blade(mbd.flexible.Modes("clamped-free", 3), stiffening=True, beam=SIMO))
    angle = f"({SPEED}/{RISE})*(t^2/2 + ({RISE}/(2*pi))^2*(cos(2*pi*t/{RISE}) - 1))"
    run = rotor.simulate(RISE, step=5e-3, prescribed={"hub": angle})
    tip = run.q[:, 1:].sum(axis=1)
    assert abs(tip.min() / -0.5738 - 1) < 0.01
    assert abs(run.time[tip.argmin()] - 6.76) < 0.05
    assert np.abs(tip[-100:]).max() < 0.01
