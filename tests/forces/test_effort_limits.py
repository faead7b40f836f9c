"""Effort limits of the file hold the forces that are given, on every road, and it is said."""

import shutil

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.base.errors import StateError
from mbd_bridge.cli import main
from tests.c_compiler import needs_compiler
from tests.robots import own_urdfs
from tests.step_in_c import InC

LIMIT = 0.5
"""N m, of the crank; the other joints have none."""
DRIVES = {
    "a number": 2.0,
    "a formula": "2*sin(40 t)",
    "a table": (np.array([0.0, 0.05, 0.2]), np.array([-2.0, 2.0, 0.1])),
    "a function": lambda t, q, v: 3.0 * (4.0 - v[0]),
    "any Python": mbd.Sampled(lambda t, q, v: 3.0 * (4.0 - v[0])),
}


@pytest.fixture(scope="module")
def rocker(tmp_path_factory):
    text = own_urdfs()["crank_rocker"].read_text()
    assert text.count('effort="100"') == 3
    path = tmp_path_factory.mktemp("limits") / "crank_rocker.urdf"
    path.write_text(text.replace('effort="100"', f'effort="{LIMIT}"', 1).replace("100", "0"))
    loops = own_urdfs()["crank_rocker"].with_name("crank_rocker.loops.yaml")
    if loops.exists():
        shutil.copy(loops, path.with_name(loops.name))
    robot = mbd.load(path)
    start = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    return robot, {"q": start.q, "v": start.v}


def clipped(drive):
    """The same drive, held by its author."""
    if callable(drive):
        return lambda t, q, v: fn.clip(drive(t, q, v), -LIMIT, LIMIT)
    return min(drive, LIMIT)


@pytest.mark.parametrize("kind", ["a number", "a function"])
def test_held_forces_are_those_that_their_author_holds(rocker, kind):
    robot, start = rocker
    run = robot.simulate(0.2, torque={"crank": DRIVES[kind]}, effort_limits=True, **start)
    own = robot.simulate(0.2, torque={"crank": clipped(DRIVES[kind])}, **start)
    free = robot.simulate(0.2, torque={"crank": DRIVES[kind]}, **start)
    assert np.abs(run.q - own.q).max() < 1e-14 and np.abs(run.tau - own.tau).max() < 1e-12
    assert np.abs(run.q - free.q).max() > 1e-3


def of_efforts(run):
    """Return the notes of a run that are not about its speeds."""
    return [note for note in run.notes if ".vel (" not in note]


@pytest.mark.parametrize("kind", DRIVES)
def test_where_forces_were_held_is_told(rocker, kind):
    robot, start = rocker
    run = robot.simulate(0.2, torque={"crank": DRIVES[kind]}, effort_limits=True, **start)
    free = robot.simulate(0.2, torque={"crank": DRIVES[kind]}, **start)
    assert np.abs(run.tau).max() == LIMIT
    beyond = np.abs(free.tau[:, 0]) > LIMIT
    (said,) = of_efforts(free)
    first = free.time[np.argmax(beyond)]
    assert f"in {beyond.sum()} of 201 records, first at {first:g} s" in said
    assert "beyond the effort limits" in said and "effort_limits=True" in said
    (held,) = of_efforts(run)
    assert "held at the effort limits of the file: crank (" in held and "elbow" not in held
    (limits,) = run.joint_loads("crank").assumptions["limits"]
    assert limits.text == "of position and speed: compared with; of effort: held"


def test_forces_within_the_limits_are_not_spoken_of(rocker):
    robot, start = rocker
    for used in (False, True):
        run = robot.simulate(
            0.05, torque={"crank": LIMIT, "elbow": 9.0}, effort_limits=used, **start
        )
        assert of_efforts(run) == []
    assert np.abs(run.tau[:, 1]).max() == 9.0  # 0 in the file stands for no limit


def test_several_forces_along_one_joint_are_held_together_and_springs_are_not(rocker):
    robot, start = rocker
    spring = mbd.forces.JointSpring("crank", stiffness=50.0, name="coil")
    run = robot.simulate(0.05, torque={"crank": 2.0}, forces=[spring], effort_limits=True, **start)
    assert np.abs(run.tau[:, 0] - (LIMIT - 50.0 * run.q[:, 0])).max() < 1e-12


def test_every_road_holds_the_same_forces(rocker, tmp_path):
    robot, start = rocker
    drive = {"crank": DRIVES["a function"]}
    system = mbd.System(robot, torque=drive, effort_limits=True)
    run = system.simulate(0.1, **start)
    batch = robot.simulate(0.1, q=[start["q"]] * 3, v=start["v"], torque=drive, effort_limits=True)
    assert np.array_equal(batch.q[1], run.q) and "held at the effort limits" in batch.notes[0]
    machine = mbd.RealTime(system, **start)
    paced = machine.run(0.1, rate=1000.0)
    assert np.array_equal(paced.q, run.q) and "held at the effort limits" in paced.report()
    given = 3.0 * (4.0 - paced.v[-1, 0])
    excess = given - np.clip(given, -LIMIT, LIMIT)
    assert machine.values["effort_excess.crank"] == pytest.approx(excess, abs=1e-12)
    f = robot.right_hand_side(torque=drive, effort_limits=True, **start)
    found = solve_ivp(f, (0, 0.1), f.start, rtol=1e-10, atol=1e-11)
    fine = system.simulate(0.1, step=1e-5, **start)  # the force has a kink
    assert np.abs(f.split(found.y[:, -1])[0] - fine.q[-1]).max() < 1e-7
    by_hand = system.simulate(0.02, method="multipliers", **start)
    assert np.abs(by_hand.q[-1] - run.q[20]).max() < 1e-12
    implicit = system.simulate(0.1, step=1e-4, integrator="newmark", **start)
    assert np.abs(implicit.q[-1] - fine.q[-1]).max() < 1e-5
    if shutil.which("cc"):
        q, _, _ = InC(mbd.Equations(system, **start), tmp_path).march(
            mbd.Equations(system, **start), 50
        )
        assert np.array_equal(q, run.q[50])


@needs_compiler
def test_an_fmu_holds_its_inputs_and_tells_what_it_takes_off(rocker, tmp_path):
    import fmpy

    robot, start = rocker
    system = mbd.System(robot, torque={"crank": mbd.Input("motor", 2.0)}, effort_limits=True)
    fmu = system.export_fmu(tmp_path / "rocker.fmu", **start)
    found = fmpy.simulate_fmu(str(fmu.path), stop_time=0.05, output_interval=0.01)
    run = robot.simulate(0.05, torque={"crank": LIMIT}, every=10, **start)
    assert np.abs(found["q.crank"] - run.q[:, 0]).max() < 1e-14
    assert found["effort_excess.crank"][-1] == 2.0 - LIMIT


def test_what_cannot_be_held_is_refused(rocker):
    robot, _ = rocker
    bare = mbd.Builder("bare", root="base").link("arm", 1.0, (0, 0, 0), (1, 1, 1))
    bare = mbd.Mechanism.build(bare.joint("hinge", "continuous", "base", "arm", axis=(0, 1, 0)))
    with pytest.raises(StateError, match="effort_limits: 'bare' gives none"):
        bare.simulate(0.1, effort_limits=True)
    with pytest.raises(StateError, match="effort_limits: a System has its own"):
        mbd.System(robot).simulate(0.1, effort_limits=True)
    with pytest.raises(StateError, match="effort_limits: expected True or False"):
        mbd.System(robot, effort_limits="yes")


def test_the_shell_holds_them_too(rocker, tmp_path, capsys):
    robot, _ = rocker
    path = str(robot.model.description.source)
    common = ["simulate", path, "--seconds", "0.05", "--near", "crank=0.5", "--torque", "crank=2"]
    out = tmp_path / "m.csv"
    assert main([*common, "-o", str(out)]) == 0
    assert "--effort-limits" in capsys.readouterr().err.replace(
        "effort_limits=True", "--effort-limits"
    )
    assert main([*common, "--effort-limits", "-o", str(out)]) == 0
    assert "held at the effort limits of the file: crank" in capsys.readouterr().err
