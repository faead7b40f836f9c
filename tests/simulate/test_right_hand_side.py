"""A mechanism as SciPy takes it: its Jacobian, many states at once, events at limits."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.forces.relaxing import ON_BAR, Z_BAR
from tests.machines import four_bar, rssr, turning

BY_DIFFERENCES = 1e-5
"""Of the largest entry: central differences with steps of 1e-6."""

SOLVED = 1e-4
"""Between two solutions with rtol=1e-7, rad and rad/s."""

TIMES = np.linspace(-1.0, 1.0, 21)


def free_body():
    build = mbd.Builder("top", root="body").link("body", 2.0, (0.1, 0, 0), (0.1, 0.2, 0.25))
    turn = np.array([0.2, -0.4, 0.1, np.sqrt(0.79)])
    return mbd.Mechanism.build(build, floating=True).right_hand_side(
        q=[0, 0, 1, *turn], v=[1.0, 2.0, 3.0, 5.0, 0.1, 0.2]
    )


def bar(**given):
    machine, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return machine.right_hand_side(q=at.q, v=at.v, **given)


def balls():
    machine, at = turning(rssr(), 2.0, 0.3)
    return machine.right_hand_side(q=at.q, v=at.v)


RIGHT_HAND_SIDES = {
    "an arm": lambda: mbd.load("urdf/kuka_iiwa.urdf").right_hand_side(q=np.linspace(-1, 1, 7)),
    "a free body": free_body,
    "loops": bar,
    "balls in a loop": balls,
    "tables, functions, parameters": lambda: bar(
        torque={"crank": (TIMES, np.sin(TIMES)), "elbow": lambda t, q, v: -0.3 * v[1] ** 3},
        external={"coupler": lambda t, q, v: np.array([1.0, 2, 3, 4, 5, 6]) * v[0]},
        parameters={"coupler.mass": 2.0},
        span=(-1.0, 1.0),
    ),
    "a prescribed motion": lambda: four_bar(1, 2, 1.7, 2.5).right_hand_side(
        prescribed={"crank": "0.5+2*t+t^2"}, torque={"elbow": lambda t, q, v: -0.3 * v[1]}
    ),
    "states of force elements": lambda: bar(forces=ON_BAR, z=Z_BAR),
}


@pytest.mark.parametrize("name", RIGHT_HAND_SIDES)
def test_the_jacobian_is_that_of_differences(name):
    """Also where loops are a little open, and pulled closed."""
    f = RIGHT_HAND_SIDES[name]()
    t, h, rng = 0.05, 1e-6, np.random.default_rng(1)
    for y in (f.start, f.start + 1e-2 * rng.uniform(-1, 1, len(f.start))):
        found = f.jac(t, y)
        steps = h * np.eye(len(y))
        expected = np.column_stack([(f(t, y + e) - f(t, y - e)) / (2 * h) for e in steps])
        assert np.abs(found - expected).max() < BY_DIFFERENCES * np.abs(expected).max()


@pytest.mark.parametrize("name", RIGHT_HAND_SIDES)
def test_many_states_at_once_have_the_rates_of_each(name):
    f = RIGHT_HAND_SIDES[name]()
    y = f.start[:, None] + 1e-3 * np.random.default_rng(2).uniform(-1, 1, (len(f.start), 9))
    apart = np.column_stack([f(0.05, one) for one in y.T])
    assert np.abs(f(0.05, y) - apart).max() <= 1e-12 * np.abs(apart).max()


def test_functions_of_python_are_called_for_each_of_many_states():
    f = bar(torque={"crank": mbd.Sampled(lambda t, q, v: float(q[0] > 0.5))})
    y = f.start[:, None] + np.array([[-0.1, 0.1], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]])
    assert np.abs(f(0.0, y).T - [f(0.0, one) for one in y.T]).max() < 1e-12
    with pytest.raises(StateError, match="cannot be differentiated"):
        f.jac(0.0, f.start)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_implicit_integrators_call_less_with_the_jacobian(method):
    """An arm whose first joints are held by stiff springs and dampers while the others swing."""
    stiff = {
        f"lbr_iiwa_joint_{k + 1}": lambda t, q, v, k=k: -1e5 * q[k] - 1e4 * v[k] for k in (0, 1, 3)
    }
    f = mbd.load("urdf/kuka_iiwa.urdf").right_hand_side(q=np.full(7, 0.3), torque=stiff)

    def solved(**options):
        calls = 0

        def counted(t, y):
            nonlocal calls
            calls += 1
            return f(t, y)

        run = solve_ivp(counted, (0, 0.3), f.start, method, rtol=1e-7, atol=1e-9, **options)
        return run.y[:, -1], calls

    (plain, calls), (exact, fewer) = solved(), solved(jac=f.jac)
    assert np.abs(plain - exact).max() < SOLVED
    assert fewer < 0.85 * calls
    if method != "LSODA":  # which takes one state a call
        many, batches = solved(vectorized=True)
        assert np.abs(plain - many).max() < SOLVED
        assert batches < 0.9 * calls


def test_limits_of_joints_are_events():
    robot = mbd.load("urdf/kuka_iiwa.urdf")
    f = robot.right_hand_side(torque={"lbr_iiwa_joint_4": 200.0})
    events = f.limit_events()
    assert len(events) == 14
    run = solve_ivp(f, (0, 5), f.start, events=events, rtol=1e-8, atol=1e-10)
    met = [event for event, times in zip(events, run.t_events, strict=True) if len(times)]
    assert run.status == 1
    assert len(met) == 1
    assert abs(met[0](run.t[-1], run.y[:, -1])) < 1e-9
    limits = {joint.name: joint.limits for joint in robot.model.description.joints}
    assert met[0].limit == getattr(limits[met[0].joint], met[0].side)
    assert all(event(run.t[-1], run.y[:, -1]) > -1e-9 for event in events)
    on = solve_ivp(f, (0, run.t[-1] + 0.1), f.start, events=f.limit_events(terminal=False))
    assert on.status == 0


def test_a_follower_meets_its_own_limit(tmp_path):
    (tmp_path / "m.urdf").write_text(
        """<robot name="m"><link name="g"/>
        <joint name="a" type="prismatic"><parent link="g"/><child link="x"/><axis xyz="0 0 1"/>
          <limit lower="-9" upper="9" effort="0" velocity="0"/></joint>
        <joint name="b" type="prismatic"><parent link="g"/><child link="y"/><axis xyz="0 0 1"/>
          <limit lower="-1" upper="1" effort="0" velocity="0"/>
          <mimic joint="a" multiplier="-2" offset="0.5"/></joint>
        <link name="x"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
          ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="y"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
          ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    )
    f = mbd.load(tmp_path / "m.urdf").right_hand_side(v=[1.0])
    run = solve_ivp(f, (0, 1), f.start, events=f.limit_events(), rtol=1e-9)
    assert run.status == 1
    assert 0.5 - 2 * run.y[0, -1] == pytest.approx(-1.0, abs=1e-9)
