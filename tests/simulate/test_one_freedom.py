"""Simulated loops against motions that need no multibody code."""

from __future__ import annotations

import numpy as np
import pytest

from mbd_bridge.kernels.march import MOST_LANES
from tests.benchmarks.engines import Ours, error_in
from tests.machines import four_bar, n_four_bar, turning
from tests.oracles.four_bars import FourBar, row_of_parallelograms, wrapped

CLOSE = 1e-10
"""rad: errors of classical Runge-Kutta at these steps are a tenth of it."""


@pytest.mark.parametrize("windows", [1, 5])
def test_a_row_of_parallelograms_swings_as_one_pendulum(windows):
    row = n_four_bar(windows)
    at = row.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    end = row.simulate(0.5, step=1e-3, q=at.q, v=at.v).q[-1]
    angle = row_of_parallelograms(windows, 1.0, 0.5)
    exact = [angle if name.startswith("crank") else -angle for name in row.coordinate_names]
    assert end == pytest.approx(exact, abs=CLOSE)


def test_a_crank_rocker_moves_as_its_one_equation_says():
    lengths = 1, 2, 2.5, 2.5
    bar, at = turning(four_bar(*lengths), 2.0)
    end = bar.simulate(1.0, step=5e-4, q=at.q, v=at.v).q[-1]
    exact = FourBar(*lengths).after(1.0, at.q, 2.0)
    assert np.abs(wrapped(end - exact)).max() < CLOSE


@pytest.mark.parametrize("lanes", [1, MOST_LANES])
def test_the_step_that_benchmarks_time_is_that_of_the_exact_motion(lanes):
    row = n_four_bar(1)
    at = row.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    step = Ours(row.model, at.q, at.v, 1e-3, lanes)
    step.run(500)
    angle = row_of_parallelograms(1, 1.0, 0.5)
    exact = np.array([angle if n.startswith("crank") else -angle for n in row.coordinate_names])
    assert error_in(step, exact, wrapped) < CLOSE
    assert step.open() < CLOSE
