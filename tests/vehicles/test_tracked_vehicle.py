"""Lee94 7.1: the tracked vehicle against plane equations written for it alone."""

import numpy as np
import pytest
from scipy.integrate import simpson

from tests.oracles import tracked_vehicle as oracle
from tests.vehicles.scripts import example, says

INDEPENDENT = 1e-9
"""Relative, of accelerations."""

QUADRATURE = 1e-2
"""Of the energy that is lost: summed up over records of 2 ms, across edges of the bump."""


def plane(run):
    """x, z, pitch and arms of all records, with their rates and accelerations in the plane."""
    names, rates = run.model.coordinate_names, run.model.velocity_names
    pitch = 2.0 * np.arctan2(run.q[:, 4], run.q[:, 6])
    c, s = np.cos(pitch), np.sin(pitch)

    def level(along, up):
        return np.column_stack([c * along + s * up, -s * along + c * up])

    arms = [f"arm_left_{k}" for k in range(1, 7)]
    q = run.q[:, [names.index(arm) for arm in arms]]
    columns = [rates.index(arm) for arm in arms]
    u, w, turn = run.v[:, 0], run.v[:, 2], run.v[:, 4]
    a = level(run.a[:, 0] + turn * w, run.a[:, 2] - turn * u)
    return (
        np.column_stack([run.q[:, [0, 2]], pitch, q]),
        np.column_stack([level(u, w), turn, run.v[:, columns]]),
        np.column_stack([a, run.a[:, 4], run.a[:, columns]]),
    )


def test_the_example_says_what_it_should():
    says("tracked_vehicle", ["19 coordinates, 0 loops", "driver: -7.68 ... 8.63", "bands: 177 kN"])


@pytest.mark.parametrize("kind", ["run", "bare"])
def test_its_accelerations_are_those_of_independent_equations(kind):
    made = example("tracked_vehicle")
    run, band = made[kind], (made["TENSION"], made["BAND"]) if kind == "run" else None
    assert (run.model.nq, len(run.model.cuts), len(run.model.bodies)) == (19, 0, 13)
    q, v, a = plane(run)
    expected = np.array([oracle.accelerations(*state, band) for state in zip(q, v, strict=True)])
    assert np.abs(expected).max() > 100.0
    assert np.abs(a - expected).max() < INDEPENDENT * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["run", "bare"])
def test_it_starts_in_equilibrium_and_stays_on_its_way(kind):
    run = example("tracked_vehicle")[kind]
    assert np.abs(run.a[0]).max() < 1e-6
    aside = run.q[:, [1, 3, 5]]
    assert np.abs(aside).max() < 1e-9


@pytest.mark.parametrize("kind", ["run", "bare"])
def test_energy_is_lost_in_dampers_alone(kind):
    run = example("tracked_vehicle")[kind]
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = simpson(parts.dissipation, x=run.time)
    assert parts.dissipation.min() > -1e-6
    assert abs(whole[0] - whole[-1] - lost) < QUADRATURE * lost
