"""Fiala's tyre against its closed form, as Chrono states it, and its relaxation."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.forces import FialaTyre
from tests.forces.elements import bound
from tests.forces.wheels import FIALA, free_wheel, wrench_on

# The tyre of a truck, from Chrono's data (REFERENCES): R 0.47 m, w 0.318 m.
TRUCK = FialaTyre(
    "wheel", 0.47, 326332.0, 7500.0, 0.318, (193929.0, 50000.0), (0.5568, 0.9835), (2.0, 2.0)
)


def closed_form(kappa, alpha, load):
    """F_x, F_y, M_z of the truck's tyre, written with branches as published."""
    Cs, Ca, low, high, width = 193929.0, 50000.0, 0.5568, 0.9835, 0.318
    s = min(1.0, np.hypot(kappa, np.tan(alpha)))
    U = high - (high - low) * s
    if abs(kappa) < U * load / (2 * Cs):
        x = Cs * kappa
    else:
        x = np.sign(kappa) * (U * load - (U * load) ** 2 / (4 * abs(kappa) * Cs))
    if abs(alpha) <= np.arctan(3 * U * load / Ca):
        H = 1 - Ca * abs(np.tan(alpha)) / (3 * U * load)
        y = -U * load * (1 - H**3) * np.sign(alpha)
        z = U * load * width * (1 - H) * H**3 * np.sign(alpha)
    else:
        y, z = -U * load * np.sign(alpha), 0.0
    return x, y, z


def test_fiala_is_its_closed_form():
    rng = np.random.default_rng(2)
    for kappa, alpha, load in zip(
        rng.normal(scale=0.2, size=300),
        rng.normal(scale=0.3, size=300),
        rng.uniform(100.0, 40e3, 300),
        strict=True,
    ):
        found = TRUCK.slip_forces(kappa, np.tan(alpha), load)
        exact = closed_form(kappa, alpha, load)
        assert np.abs(np.subtract(found, exact)).max() < 1e-12 * load


def test_slopes_at_no_slip_are_the_stiffnesses_and_no_load_is_no_force():
    slip = 1e-7
    x, y, z = TRUCK.slip_forces(slip, slip, 20e3)
    assert abs(x / (193929.0 * slip) - 1) < 1e-5 and abs(y / (-50000.0 * slip) - 1) < 1e-5
    assert abs(z / (50000.0 * slip * 0.318 / 3) - 1) < 1e-5
    assert np.abs(TRUCK.slip_forces(0.1, 0.2, 0.0)).max() < 1e-8
    assert TRUCK.slip_forces(0.0, 0.0, 0.0) == (0.0, 0.0, 0.0)


def test_relaxation_leads_to_the_slips_of_steady_rolling():
    robot = free_wheel(floating=False)
    tyre = bound(robot, TRUCK)
    assert tyre.states(robot.model) == {"longitudinal_deflection": "m", "lateral_deflection": "m"}
    q, v = np.array([0, 0, 0.45, 0, 0, 0.0]), np.array([10.0, 0.4, 0, 0, 0, 23.0])
    kappa, tan_alpha = 23.0 * 0.45 / 10.0 - 1.0, 0.04
    steady = tyre.effect(robot.model, 0.0, q, v, 2.0 * np.array([kappa, tan_alpha]))
    assert np.abs(steady.rates).max() < 1e-12
    behind = tyre.effect(robot.model, 0.0, q, v, np.zeros(2))
    assert np.abs(np.subtract(behind.rates, (10.0 * kappa, 10.0 * tan_alpha))).max() < 1e-12
    assert behind.report["longitudinal_force"] == 0.0
    plain = bound(robot, FialaTyre("wheel", **(FIALA | {"radius": 0.47, "stiffness": 326332.0})))
    report = plain.effect(robot.model, 0.0, q, v).report
    assert abs(report["slip_ratio"] - kappa) < 1e-12
    assert abs(report["slip_angle"] - np.arctan(0.04)) < 1e-12


def test_rolling_resistance_brakes_a_wheel_either_way():
    robot = free_wheel(floating=False)
    tyre = bound(robot, FialaTyre("wheel", **FIALA, rolling_resistance=0.015))
    q = np.array([0, 0, 0.28, 0, 0, 0.0])
    for speed in (5.0, -5.0):
        v = np.array([speed, 0, 0, 0, 0, speed / 0.28])
        does = tyre.effect(robot.model, 0.0, q, v)
        wrench = wrench_on(robot, q, v, does)
        assert abs(wrench[4] + np.sign(speed) * 0.015 * 3000.0 * 0.3) < 1e-9
        assert abs(does.dissipation - 0.015 * 3000.0 * 0.3 * 5.0 / 0.28) < 1e-9


BAD = {
    "friction": ({"friction": (0.9, 0.5)}, "expected 0 <= u_min <= u_max"),
    "slip stiffness": ({"slip_stiffness": (0.0, 1.0)}, "expected two above 0"),
    "relaxation": ({"relaxation": (0.0, 1.0)}, "two lengths above 0, m, or None, got 0, 1"),
    "width": ({"width": -1.0}, "width: expected one number above 0, m"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_fiala_tyre_is_refused(what):
    wrong, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        bound(free_wheel(), FialaTyre("wheel", **(FIALA | wrong)))
    assert mbd.System(free_wheel(), forces=[FialaTyre("wheel", **FIALA)]).forces


def test_a_wheel_that_flies_lands_without_slip_of_its_own():
    """It rolls freely, hops, and comes down: its carcass has taken nothing in the air."""
    robot = free_wheel(floating=False)
    tyre = FialaTyre("wheel", **FIALA, relaxation=(0.3, 0.3), name="tyre")
    v = np.array([5.0, 0, 1.0, 0, 0, 5.0 / 0.3])
    run = robot.simulate(1.0, step=2e-4, q=np.array([0, 0, 0.3, 0, 0, 0.0]), v=v, forces=[tyre])
    flies = run.force_elements["tyre"]["normal_force"] == 0.0
    assert flies.sum() > 500 and np.abs(run.z[flies]).max() < 1e-3  # m, from the ground
    whole = run.energy + run.force_elements.energy
    assert (whole - whole[0]).max() < 1e-3 * np.ptp(run.energy)
