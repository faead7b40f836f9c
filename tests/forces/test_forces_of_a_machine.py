"""Force elements that belong to a machine count in loads and dynamics, not in simulations alone."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.forces import Effect, ForceElement
from tests.forces.elements import ELEMENTS, ENDS, Q, V, machine
from tests.machines import four_bar, turning

CLOSE = 1e-11
"""Relative: two orders of the same sums."""

ON_BAR = [
    forces.PointSpring(("ground", "coupler"), ENDS, (40.0, 15.0), 2.0, 1.0, 0.5, name="pull"),
    forces.JointSpring("crank", 3.0, 0.5, 1.0, name="coil"),
    forces.Bushing(
        ("crank", "rocker"), ENDS, stiffness=(9.0,) * 6, damping=(0.4,) * 6, name="mount"
    ),
]


@pytest.fixture(scope="module", params=[False, True], ids=["ground", "floating"])
def tree(request):
    robot = machine(request.param)
    robot = robot.with_forces([replace(one, name=name) for name, one in ELEMENTS.items()])
    q = [0, 0, 0, 0, 0, 0, 1, *Q] if request.param else Q
    v = [*[0.1] * 6, *V] if request.param else V
    return robot, robot.simulate(0.02, q=q, v=v, external={"hand": [1, 2, 3, 0.1, 0.2, 0.3]})


@pytest.fixture(scope="module")
def bar():
    robot, start = turning(four_bar(1, 2, 1.7, 2.5).with_forces(ON_BAR), 2.0)
    return robot, robot.simulate(0.02, q=start.q, prescribed={"crank": "0.5 + 2 t"})


def same(found, told):
    for name in ("force", "moment", "actuation"):
        expected = getattr(told, name)
        assert np.abs(getattr(found, name) - expected).max() < CLOSE * np.abs(expected).max()


def test_loads_along_a_motion_are_those_of_its_simulation(tree):
    robot, run = tree
    options = {"external": run.external, "in_": "world", "t": run.time}
    found = robot.joint_loads(run.q, run.v, run.a, **options)
    same(found, run.joint_loads(in_="world"))
    bare = robot.joint_loads(run.q, run.v, run.a, forces=(), **options)
    assert np.abs(bare.force - found.force).max() > 1.0
    state, t = (run.q[7], run.v[7], run.a[7]), run.time[7]
    one = robot.joint_loads(*state, "wrist", forces=robot.forces, t=t)
    solver = robot.compile("joint_loads", "wrist")
    assert np.array_equal(one.force, solver(*state, t=t).force)
    assert np.array_equal(one.force[0], solver.single()(*state, run.time[7:8])[0][0])


def test_inverse_and_forward_dynamics_and_bias_agree_with_a_simulation(tree):
    robot, run = tree
    states, push = (run.q, run.v), {"external": run.external, "t": run.time}
    size = np.abs(robot.bias_forces(*states, **push)).max()
    assert np.abs(robot.inverse_dynamics(*states, run.a, **push)).max() < CLOSE * size
    inertia = np.einsum("nij,nj->ni", robot.mass_matrix(run.q), run.a)
    assert np.abs(inertia + robot.bias_forces(*states, **push)).max() < CLOSE * size
    found = robot.forward_dynamics(*states, 0.0 * run.v, **push)
    assert np.abs(found - run.a).max() < CLOSE * np.abs(run.a).max()
    bare = robot.forward_dynamics(*states, 0.0 * run.v, forces=(), **push)
    assert np.abs(bare - run.a).max() > 1.0


def test_a_link_is_in_balance_with_its_elements(tree):
    robot, run = tree
    body = robot.free_body("hand", run.q, run.v, run.a, external=run.external, t=run.time)
    assert np.abs(body.residual).max() < 1e-10


def test_loads_in_loops_are_those_of_their_simulation(bar):
    robot, run = bar
    states = run.q, run.v, run.a
    same(robot.joint_loads(*states, actuated=["crank"]), run.joint_loads())
    tau = robot.inverse_dynamics(*states, actuated="crank")
    wanted = run.prescribed_forces["crank"]
    assert np.abs(tau[:, 0] - wanted).max() < CLOSE * np.abs(wanted).max()
    many = robot.inverse_dynamics(*(x[3] for x in states), actuated="crank", forces=())
    assert np.abs(many - tau[3]).max() > 1.0
    body = robot.free_body("coupler", *states, actuated=["crank"])
    assert np.abs(body.residual).max() < 1e-9
    a = robot.forward_dynamics(run.q, run.v, tau)
    assert np.abs(a - run.a).max() < 1e-9


def test_a_history_of_a_file_counts_the_elements(bar, tmp_path):
    robot, run = bar
    run.save(tmp_path / "motion.csv")
    options = {"output": tmp_path / "loads.csv", "actuated": ["crank"]}
    robot.load_history(tmp_path / "motion.csv", "elbow", **options)
    found = robot.read_loads(tmp_path / "loads.csv")
    told = run.joint_loads("elbow")
    assert np.abs(found.force - told.force).max() < 1e-6 * np.abs(told.force).max()


def test_a_machine_with_a_payload_keeps_its_elements(tree):
    robot, _ = tree
    loaded = robot.with_payload("hand", 1.0)
    assert [one.identity for one in loaded.forces] == [one.identity for one in robot.forces]


@dataclass(frozen=True, eq=False)
class Pulse(ForceElement):
    """A torque 3 t on the wrist."""

    depends_on_time = True

    def bind(self, model):
        return self

    def effect(self, model, t, q, v, z=None):
        return Effect({model.nv - 1: 3.0 * t}, {}, 0.0, 0.0, {})

    def units(self, model):
        return {}

    def velocity_numbers(self, model):
        return (model.nv - 1,)


class Slow(Pulse):
    """It has a state of its own."""

    def states(self, model):
        return {"z": "m"}


def test_elements_that_depend_on_time_need_it():
    robot = machine().with_forces([Pulse()])
    states = Q, V, 0.0 * V
    with pytest.raises(mbd.errors.StateError, match=r"Pulse 'Pulse 1'.*depends on time.*t="):
        robot.inverse_dynamics(*states)
    with pytest.raises(mbd.errors.StateError, match="depends on time"):
        robot.joint_loads(*states)
    late, bare = robot.inverse_dynamics(*states, t=2.0), robot.inverse_dynamics(*states, forces=())
    assert np.abs(bare - late - [0, 0, 6.0]).max() < 1e-12
    run = robot.simulate(0.1, q=Q, v=V)
    same(robot.joint_loads(run.q, run.v, run.a, t=run.time), run.joint_loads())


def test_elements_with_states_of_their_own_have_no_loads_along_a_motion():
    robot = machine().with_forces([Slow(name="tyre")])
    with pytest.raises(mbd.errors.StateError, match="Slow 'tyre' has states of its own"):
        robot.joint_loads(Q, V, V)
    with pytest.raises(mbd.errors.StateError, match="Slow 'tyre' has states of its own"):
        robot.forward_dynamics(Q, V, V)
