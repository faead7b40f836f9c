"""A step in C: the digits of a run, whatever acts, and the loads that it tells."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from tests.c_compiler import needs_compiler
from tests.machines import four_bar, turning
from tests.step_in_c import InC

pytestmark = needs_compiler

TIMES = np.array([0.0, 0.0213, 0.05, 0.2])
VALUES = np.array([1.0, 3.0, -2.0, 0.5])
PUSH = np.array([0.3, -0.2, 0.9, 0.1, 0.2, -0.1])


@pytest.fixture(scope="module")
def bar():
    found, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return found, at.q, at.v


ACTING = {
    "nothing": {},
    "numbers": {"torque": {"crank": 1.5}, "external": {"coupler": PUSH}, "external_in": "world"},
    "a formula": {"torque": {"crank": "2*sin(9*t)*exp(-t)"}},
    "a function": {
        "torque": lambda t, q, v: np.array([fn.where(t > 0.02, 3.0, 0.0), -v[1], fn.tanh(v[2])]),
        "external": {"coupler": lambda t, q, v: PUSH * v[0]},
    },
    "inputs": {"torque": {"crank": mbd.Input("grip", 2.0)}, "external": {"rocker": mbd.Input("w")}},
    "a motion": {"prescribed": {"crank": "0.5+2*t+t^2"}},
    "parameters": {"parameters": {"coupler.mass": 3.0, "gravity": [0.0, 0.0, -1.62]}},
}


@pytest.mark.parametrize("kind", ACTING)
def test_a_step_in_c_has_the_digits_of_a_run(bar, tmp_path, kind):
    robot, q, v = bar
    system = mbd.System(robot, **ACTING[kind])
    run = system.simulate(0.05, q=q, v=v)
    equations = mbd.Equations(system, q=q, v=v)
    q_end, v_end, _ = InC(equations, tmp_path).march(equations, 50)
    assert np.array_equal(q_end, run.q[-1])
    assert np.array_equal(v_end, run.v[-1])


@pytest.mark.parametrize("what", ["torque", "wrench", "motion"])
def test_tables_stand_in_the_c_file(bar, tmp_path, what):
    """Looked up at the times of a step instead of streamed: the last digits may differ."""
    robot, q, v = bar
    times = np.arange(0.0, 0.201, 0.01)
    acting = {
        "torque": {"torque": {"crank": (np.round(TIMES, 3), VALUES)}},
        "wrench": {"external": {"coupler": (np.round(TIMES, 3), np.outer(VALUES, PUSH))}},
        "motion": {"prescribed": {"crank": (times, 0.5 + 2 * times + np.sin(times) ** 2)}},
    }[what]
    if what == "motion":
        at = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0})
        q, v = at.q, at.v
    system = mbd.System(robot, **acting)
    run = system.simulate(0.1, q=q, v=v)
    equations = mbd.Equations(system, q=q, v=v)
    q_end, v_end, _ = InC(equations, tmp_path).march(equations, 100)
    assert np.abs(q_end - run.q[-1]).max() < 1e-13
    assert np.abs(v_end - run.v[-1]).max() < 1e-12


def test_c_tells_loads_energies_and_functions_of_each_step(bar, tmp_path):
    robot, q, v = bar
    joints = ["elbow", robot.model.cuts[0].name]
    outputs = {"power": lambda t, q, v: 1.5 * v[0]}
    system = mbd.System(robot, torque={"crank": 1.5}, loads=joints, outputs=outputs)
    run = system.simulate(0.02, q=q, v=v)
    equations = mbd.Equations(system, q=q, v=v)
    step = InC(equations, tmp_path)
    told = step.march(equations, 20)[2]
    for k, one in enumerate(told):
        assert np.array_equal(one["force"], run.loads.force[k])
        assert np.array_equal(one["moment"], run.loads.moment[k])
        assert one["power"][0] == run.outputs["power"][k]
        assert np.allclose(one["energy"].sum(), run.energy[k], atol=1e-12)
    for said in ("crank  rad", "load: parent on child", *joints, "u[0]  torque 'crank', constant"):
        assert said in step.head


@pytest.mark.parametrize("name", ["humanoid", "stewart"])
def test_large_machines_with_quaternions_step_in_c(tmp_path, name):
    """Their machine code calls its slopes, and so does the C file, with the same digits."""
    robot = mbd.load(f"urdf/{name}.urdf", floating=name == "humanoid")
    q, v = robot.assemble().q, np.linspace(-0.1, 0.1, robot.nv)
    if robot.model.has_loops:
        v = None
    run = robot.simulate(0.005, q=q, v=v)
    equations = mbd.Equations(robot, q=q, v=v)
    q_end, v_end, _ = InC(equations, tmp_path).march(equations, 5)
    assert np.array_equal(q_end, run.q[-1])
    assert np.array_equal(v_end, run.v[-1])


def test_a_vehicle_on_springs_steps_in_c(tmp_path):
    """The 6x6 of Cho09, with the suspensions of its file."""
    robot = mbd.load("urdf/six_wheeler.urdf")
    run = robot.simulate(0.05)
    equations = mbd.Equations(robot)
    q_end, v_end, _ = InC(equations, tmp_path).march(equations, 50)
    assert np.array_equal(q_end, run.q[-1])
    assert np.array_equal(v_end, run.v[-1])
    assert np.abs(v_end).max() > 1e-2
