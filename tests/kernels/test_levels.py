"""The level at which LLVM works changes times, not digits: tests that run quick code rest on it."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.kernels import machine
from mbd_bridge.model import build_model
from tests.machines import four_bar, turning
from tests.quick_code import LEVEL, quick_code
from tests.trees import random_state, random_tree

STATES = 13
"""Whole vectors of any width, and a rest."""


def of_many_states_and_of_one():
    robot = mbd.Mechanism(build_model(random_tree(np.random.default_rng(5), 7).description()))
    rng = np.random.default_rng(8)
    states = zip(*(random_state(robot.model, rng) for _ in range(STATES)), strict=True)
    q, v, a = map(np.array, states)
    for rows in (slice(None), 1):
        yield robot.joint_loads(q[rows], v[rows], a[rows]).wrench
        yield robot.forward_dynamics(q[rows], v[rows], a[rows])


def along_motions():
    machine, start = turning(four_bar(1, 2, 1.5, 2.5), 1.0)
    for integrator in ("rk4", "newmark"):
        run = machine.simulate(0.03, q=start.q, v=start.v, step=1e-3, integrator=integrator)
        yield from (run.q, run.v, run.a, run.joint_loads(["crank", "pin"]).wrench)
    torque = {"crank": np.linspace(0.0, 1.0, 5)}
    yield machine.simulate(0.03, q=start.q, v=start.v, torque=torque, step=1e-3).q


@pytest.mark.parametrize("results", [of_many_states_and_of_one, along_motions])
def test_the_level_of_llvm_changes_no_bit_of_a_result(results):
    shipped = [array.tobytes() for array in results()]
    with quick_code():
        assert machine.level("") == LEVEL
        assert [array.tobytes() for array in results()] == shipped


def test_shipped_and_quick_code_are_kept_apart():
    shipped = machine.host().tag
    with quick_code():
        assert machine.host().tag != shipped
    assert machine.host().tag == shipped
    assert machine.level("") > LEVEL
