"""A force element acts the same on every road, and the loads of joints know of it."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests import free_bodies
from tests.c_compiler import needs_compiler
from tests.forces.elements import ELEMENTS, ENDS, Q, V, machine
from tests.machines import four_bar, turning
from tests.step_in_c import InC

EVERY = list(ELEMENTS.values())
LENGTH = 0.2
ON_BAR = [
    forces.PointSpring(("ground", "coupler"), ENDS, (40.0, 15.0), 2.0, 1.0, 0.5, name="pull"),
    forces.JointSpring("crank", 3.0, 0.5, 1.0, name="coil"),
    forces.Bushing(("crank", "rocker"), ENDS, stiffness=(9.0,) * 6, damping=(0.4,) * 6),
]


@pytest.fixture(scope="module")
def bar():
    robot, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return robot, at.q, at.v


def stepped(system, q, v, steps, h=1e-3):
    core = CoupledStep(system, q, v)
    none = np.zeros((len(system.model.bodies), 6))
    for k in range(steps):
        q, v = core(q, v, np.zeros(system.model.nv), none, h, k * h)
    return q, v


def test_a_tree_moves_alike_on_every_road():
    robot = machine()
    run = robot.simulate(LENGTH, q=Q, v=V, forces=EVERY)
    batch = robot.simulate(LENGTH, q=[Q] * 5, v=[V] * 5, forces=EVERY)
    for one in batch.q:
        assert np.array_equal(one, run.q)
    q, v = stepped(mbd.System(robot, forces=EVERY), Q, V, 200)
    assert np.abs(q - run.q[-1]).max() < 1e-12 and np.abs(v - run.v[-1]).max() < 1e-11
    by_hand = robot.simulate(LENGTH, q=Q, v=V, forces=EVERY, method="multipliers")
    assert np.abs(by_hand.q[-1] - run.q[-1]).max() < 1e-12
    report, again = run.force_elements, batch[2].force_elements
    for name in report:
        assert np.array_equal(report[name]["energy"], again[name]["energy"])


def test_a_closed_loop_moves_alike_on_every_road(bar):
    robot, q, v = bar
    run = robot.simulate(LENGTH, q=q, v=v, forces=ON_BAR)
    batch = robot.simulate(LENGTH, q=[q] * 3, v=[v] * 3, forces=ON_BAR)
    assert np.array_equal(batch.q[1], run.q)
    end = stepped(mbd.System(robot, forces=ON_BAR), q, v, 200)
    assert np.abs(end[0] - run.q[-1]).max() < 1e-11
    f = robot.right_hand_side(q=q, v=v, forces=ON_BAR)
    found = solve_ivp(f, (0, LENGTH), f.start, method="DOP853", rtol=1e-11, atol=1e-12)
    assert np.abs(f.split(found.y[:, -1])[0] - run.q[-1]).max() < 1e-9


@needs_compiler
def test_a_step_of_many_elements_in_c_has_the_digits_of_a_run(tmp_path):
    robot = machine()
    system = mbd.System(robot, forces=EVERY, loads=["shoulder", "wrist"])
    run = system.simulate(0.05, q=Q, v=V)
    equations = mbd.Equations(system, q=Q, v=V)
    q, v, told = InC(equations, tmp_path).march(equations, 50)
    assert np.array_equal(q, run.q[-1]) and np.array_equal(v, run.v[-1])
    assert np.array_equal(told[20]["force"], run.loads.force[20])


def test_equations_of_a_system_hold_its_elements(bar):
    robot, q, v = bar
    system = mbd.System(robot, forces=ON_BAR)
    run = system.simulate(0.001, q=q, v=v)
    equations = mbd.Equations(system, q=q, v=v)
    rate = equations.rate(0.0, equations.start)
    assert np.abs(rate[3:] - run.a[0]).max() < 1e-9
    lam = equations.multipliers(0.0, equations.start)
    assert np.abs(equations.residual(0.0, equations.start, rate, lam)).max() < 1e-9


def test_links_are_in_balance_with_their_springs_and_loads(bar):
    robot, q, v = bar
    pull, coil = ON_BAR[:2]
    run = robot.simulate(0.1, q=q, v=v, forces=[pull, coil])
    loads = run.joint_loads([*robot.model.joint_index, *(c.name for c in robot.model.cuts)])
    for k in (0, 40, 100):
        links = free_bodies.moving_links(robot.model, run.q[k], run.v[k], run.a[k])
        coupler = links["coupler"]
        place, velocity, _ = coupler.point(ENDS[1])
        d = place - ENDS[0]
        length = np.linalg.norm(d)
        e = length - 0.5
        tension = 1.0 + 40.0 * e + 15.0 * abs(e) * e + 2.0 * (velocity @ d) / length
        pushed = {"coupler": (ENDS[1], -tension), "ground": (ENDS[0], tension)}  # links, both
        external = {}
        for link, (point, pull_of_it) in pushed.items():
            force = links[link].R.T @ (pull_of_it * d / length)
            external[link] = np.zeros((len(run.time), 6))
            external[link][k] = [*force, *np.cross(point, force)]
        assert abs(run.force_elements["pull"]["force"][k] - tension) < 1e-12 * abs(tension)
        seen = SimpleNamespace(
            model=run.model,
            q=run.q,
            v=run.v,
            a=run.a,
            tau=run.tau,
            prescribed_forces=run.prescribed_forces,
            external=external,
        )
        left = free_bodies.left_over(seen, loads, k)
        assert max(left.force, left.moment) < 1e-10 * left.largest
        assert free_bodies.idle_work(seen, loads, k) < 1e-10 * left.largest
    body = run.free_body("coupler", at=[0.05])
    assert run.external == {}
    assert np.abs(body.residual).max() < 1e-9


def test_loads_told_by_the_steps_know_the_springs(bar):
    robot, q, v = bar
    run = robot.simulate(0.05, q=q, v=v, forces=ON_BAR, loads=["crank", "elbow"])
    after = run.joint_loads(["crank", "elbow"])
    assert np.abs(run.loads.force - after.force).max() < 1e-10


def test_wrenches_of_a_user_and_of_elements_on_one_link_add():
    robot = machine()
    push = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])
    spring = ELEMENTS["linear"]
    run = robot.simulate(0.05, q=Q, v=V, forces=[spring], external={"hand": push})
    equations = mbd.Equations(
        mbd.System(robot, external={"hand": push}, torque={"wrist": 0.0}, forces=[spring]), q=Q, v=V
    )
    assert list(run.external) == ["hand"]
    assert np.array_equal(run.external["hand"][7], push)
    assert np.abs(equations.rate(0.0, equations.start)[3:] - run.a[0]).max() < 1e-10


def test_an_element_sees_the_lengths_and_masses_of_its_trajectory():
    robot, spring = machine(), [ELEMENTS["linear"]]
    many = robot.simulate(
        0.05, q=Q, v=V, forces=spring, parameters={"wrist.xyz": [[0, 0, 0.1], [0, 0, 0.4]]}
    )
    alone = robot.simulate(0.05, q=Q, v=V, forces=spring, parameters={"wrist.xyz": [0, 0, 0.4]})
    built = machine(wrist=0.4).simulate(0.05, q=Q, v=V, forces=spring)
    assert np.abs(built.q - robot.simulate(0.05, q=Q, v=V, forces=spring).q).max() > 1e-4
    for run in (many[1], alone):
        assert np.abs(run.q - built.q).max() < 1e-12
        length, expected = (one.force_elements["PointSpring 1"]["length"] for one in (run, built))
        assert np.abs(length - expected).max() < 1e-12


def test_a_run_with_elements_travels_to_another_process():
    run = machine().simulate(0.01, q=Q, v=V, forces=EVERY)
    again = pickle.loads(pickle.dumps(run))
    for name, report in run.force_elements.items():
        for number, values in report.items():
            assert np.array_equal(again.force_elements[name][number], values)


def test_elements_act_beside_a_function_that_is_called_from_python():
    held = machine().simulate(
        0.05,
        q=Q,
        v=V,
        forces=EVERY,
        torque={"wrist": mbd.Sampled(lambda t, q, v: 2.0)},
    )
    given = machine().simulate(0.05, q=Q, v=V, forces=EVERY, torque={"wrist": 2.0})
    assert np.abs(held.q - given.q).max() < 1e-13
    assert np.abs(held.joint_loads().force - given.joint_loads().force).max() < 1e-9


def test_a_checkpoint_of_other_springs_is_refused(tmp_path):
    robot = machine()
    options = {"q": Q, "v": V, "checkpoint": tmp_path / "run.npz", "checkpoint_every": 10}
    robot.simulate(0.02, forces=[forces.JointSpring("wrist", 5.0)], **options)
    with pytest.raises(mbd.errors.FileError, match="forces must be the same"):
        robot.simulate(0.02, forces=[forces.JointSpring("wrist", 6.0)], **options)
