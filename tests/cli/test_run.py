"""``mbd run``: a motion at wall-clock pace, and what it says of it."""

import numpy as np

import mbd_bridge as mbd
from tests.robots import OWN

ROCKER = OWN / "crank_rocker.urdf"


def test_a_run_says_how_punctual_it_was_and_writes_the_motion(run, tmp_path):
    table = tmp_path / "run.npz"
    code, _, err = run(
        "run", ROCKER, "--seconds", "0.05", "--rate", "100", "--near", "crank=0.5",
        "--torque", "crank=0.2", "-o", table,
    )  # fmt: skip
    assert code == 0
    for said in ("50 steps of 0.001 s to t = 0.05 s", "99.9 %", "begins late", "deadlines missed"):
        assert said in err
    robot = mbd.load(ROCKER)
    start = robot.assemble({"crank": 0.5})
    same = mbd.simulate(robot, 0.05, q=start.q, torque={"crank": "0.2"})
    assert np.abs(mbd.load_motion(table, robot).q - same.q).max() < 1e-12


def test_a_step_that_is_none_is_refused(run):
    code, _, err = run("run", ROCKER, "--seconds", "1", "--step", "0", "--near", "crank=0.5")
    assert code == 2
    assert "step: expected a time step in s" in err
