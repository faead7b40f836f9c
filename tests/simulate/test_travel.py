"""Results and systems travel to another process and back, formulas and tables included."""

from __future__ import annotations

import multiprocessing
import pickle

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import KernelError
from mbd_bridge.loads import LoadRequest
from mbd_bridge.motion import Motion
from tests.machines import boom, four_bar, turning

TIMES = np.linspace(0.0, 1.0, 50)


def control(t, q, v):
    """A function of a module travels by its name."""
    return -0.5 * v[0]


def answers(things):
    """What another process makes of them."""
    system, run, batch, start = things
    again = system.simulate(0.1, q=start)
    return again.q, run.joint_loads().force, run.at(0.05).q, batch.joint_loads().force, run, batch


def test_systems_and_motions_travel_by_spawn_and_back():
    bar = four_bar(1, 2, 1.7, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    torque = {"crank": "5*sin(t)", "elbow": (TIMES, TIMES), "wrist": control}
    external = {"coupler": (TIMES, np.outer(TIMES, np.arange(6)))}
    system = mbd.System(bar, torque=torque, external=external, parameters={"coupler.mass": 3.0})
    run = system.simulate(0.1, q=q)
    given = {"prescribed": {"crank": "0.5 + t^2"}, "parameters": {"coupler.mass": [1.0, 2.0]}}
    batch = bar.simulate(0.1, **given)
    loads = run.joint_loads(), batch.joint_loads()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told = pool.apply(answers, ((system, run, batch, q),))
    for found, expected in zip(
        told, (run.q, loads[0].force, run.at(0.05).q, loads[1].force), strict=False
    ):
        assert np.array_equal(found, expected)
    assert np.array_equal(told[4].joint_loads().force, loads[0].force)
    assert np.array_equal(told[5].q, batch.q) and told[5].status == batch.status


def asked_there(things):
    """What another process makes of what is held for loads; and the things themselves."""
    robot, solvers, motion, loads, body, request = things
    found = [solver(motion.q, motion.v, motion.a).force for solver in solvers]
    again = robot.joint_loads(motion, joints=["elbow"], actuated="crank").force
    assert robot.compile(request).joints == ("elbow",)
    return found, again, loads.spectra([4.0]).duration, body.residual, things


def test_mechanisms_solvers_motions_and_loads_travel_by_spawn_and_back():
    bar = four_bar(1, 2, 1.7, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    run = bar.simulate(0.1, q=q, every=5, torque={"crank": 1.0})
    names = bar.coordinate_names, bar.model.velocity_names
    motion = Motion(run.time, run.q, run.v, run.a, *names)
    request = LoadRequest.of(bar.model, "elbow", actuated="crank", in_="world")
    solvers = [
        bar.compile("joint_loads", "elbow", actuated="crank"),
        bar.compile(request),
        bar.compile("joint_loads", "elbow", actuated="crank", at=(0.0, 0.0, 0.1)).at(
            (0.1, 0.2, 0.3)
        ),
    ]
    loads = bar.joint_loads(motion, joints=["elbow"], actuated="crank")
    body = bar.free_body("coupler", motion, actuated="crank")
    here = [solver(motion.q, motion.v, motion.a).force for solver in solvers]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        sent = bar, solvers, motion, loads, body, request
        found, again, duration, residual, back = pool.apply(asked_there, (sent,))
    assert all(map(np.array_equal, found, here))
    assert np.array_equal(again, loads.force)
    assert duration == loads.time[-1] - loads.time[0]
    assert np.array_equal(residual, body.residual)
    assert np.array_equal(back[3].moment, loads.moment) and back[3].convention == loads.convention
    assert back[5] == request and hash(back[5]) == hash(request)
    moved = back[1][2]
    assert moved.convention.at == (0.1, 0.2, 0.3)
    assert np.array_equal(moved(motion.q, motion.v, motion.a).force, here[2])


def test_variants_travel():
    arm = boom()
    solver = arm.compile("joint_loads", ["pin"], parameters={"plate.mass": [1.0, 2.0, 3.0]})
    again = pickle.loads(pickle.dumps(solver))
    state = [0.3], [1.0], [-2.0]
    assert np.array_equal(again(*state).force, solver(*state).force)
    assert len(again(*state).force) == 3


def test_solvers_and_results_travel(tmp_path):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 1.0)
    solver = bar.compile("joint_loads", ["elbow"], actuated=["crank"], on="parent")
    again = pickle.loads(pickle.dumps(solver))
    one, other = solver(at.q, at.v, at.a), again(at.q, at.v, at.a)
    assert np.array_equal(one.force, other.force) and other.convention == one.convention
    rates = bar.right_hand_side(prescribed={"crank": "0.5 + t"})
    travelled = pickle.loads(pickle.dumps(rates))
    assert np.array_equal(travelled(0.0, rates.start), rates(0.0, rates.start))
    dynamics = pickle.loads(pickle.dumps(bar.constrained_dynamics()))
    assert np.isfinite(dynamics.forward(at.q, at.v, np.zeros(3))[0]).all()
    with pytest.raises(KernelError, match="does not travel"):
        pickle.dumps(bar.compile("constraints"))
