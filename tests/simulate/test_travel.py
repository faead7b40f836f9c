"""Results and systems travel to another process and back, formulas and tables included."""

from __future__ import annotations

import multiprocessing
import pickle

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.errors import KernelError
from tests.machines import four_bar

TIMES = np.linspace(0.0, 1.0, 50)


def control(t, q, v):
    """A function of a module travels by its name."""
    return -0.5 * v[0]


def answers(things):
    """What another process makes of them."""
    system, run, batch, start = things
    again = mbd.simulate(system, 0.1, q=start)
    return again.q, run.joint_loads().force, run.at(0.05).q, batch.joint_loads().force, run, batch


def test_systems_and_motions_travel_by_spawn_and_back():
    bar = four_bar(1, 2, 1.7, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    torque = {"crank": "5*sin(t)", "elbow": (TIMES, TIMES), "wrist": control}
    external = {"coupler": (TIMES, np.outer(TIMES, np.arange(6)))}
    system = mbd.System(bar, torque=torque, external=external, parameters={"coupler.mass": 3.0})
    run = mbd.simulate(system, 0.1, q=q)
    given = {"drives": {"crank": "0.5 + t^2"}, "parameters": {"coupler.mass": [1.0, 2.0]}}
    batch = mbd.simulate_batch(bar, 0.1, **given)
    loads = run.joint_loads(), batch.joint_loads()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told = pool.apply(answers, ((system, run, batch, q),))
    for found, expected in zip(
        told, (run.q, loads[0].force, run.at(0.05).q, loads[1].force), strict=False
    ):
        assert np.array_equal(found, expected)
    assert np.array_equal(told[4].joint_loads().force, loads[0].force)
    assert np.array_equal(told[5].q, batch.q) and told[5].status == batch.status


def test_solvers_and_results_travel(tmp_path):
    bar = four_bar(1, 2, 1.7, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 1.0})
    solver = bar.load_solver(["elbow"], actuated=["crank"], on="parent")
    again = pickle.loads(pickle.dumps(solver))
    one, other = solver(at.q, at.v, at.a), again(at.q, at.v, at.a)
    assert np.array_equal(one.force, other.force) and other.convention == one.convention
    rates = mbd.right_hand_side(bar, drives={"crank": "0.5 + t"})
    travelled = pickle.loads(pickle.dumps(rates))
    assert np.array_equal(travelled(0.0, rates.start), rates(0.0, rates.start))
    dynamics = pickle.loads(pickle.dumps(bar.constrained_dynamics()))
    assert np.isfinite(dynamics.forward(at.q, at.v, np.zeros(3))[0]).all()
    with pytest.raises(KernelError, match="does not travel"):
        pickle.dumps(bar.kernel("constraints"))
