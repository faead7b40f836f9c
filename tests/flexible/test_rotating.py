"""Rotating beams: published frequencies, steady extension, the spin-up of Simo and Vu-Quoc."""

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.flexible.models import bar
from tests.flexible.rotors import (
    PUBLISHED,
    SIMO,
    SPEED,
    blade,
    frequencies,
    modal_forces,
    printed_frequencies,
    spin_up,
)

DIGITS = 0.6e-4
"""Of the table."""


@pytest.mark.parametrize("plane", ["flap", "lag"])
def test_a_stiffened_blade_has_the_published_frequencies(plane):
    assert np.allclose(printed_frequencies(plane), [*PUBLISHED.values()], atol=DIGITS)


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
    time, tip = spin_up()
    assert abs(tip.min() / -0.5738 - 1) < 0.01
    assert abs(time[tip.argmin()] - 6.76) < 0.05
    assert np.abs(tip[-100:]).max() < 0.01
