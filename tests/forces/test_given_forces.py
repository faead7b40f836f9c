"""Actuators and general forces: what a user's function says, traced or called."""

import numpy as np
import pytest
from scipy.integrate import simpson

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.base.errors import MbdError
from mbd_bridge.functions import Lookup
from tests.forces.elements import ENDS, JOINTS, TRACED, Q, V, generalised, machine, states

LENGTH = 0.1


@pytest.mark.parametrize("name", TRACED)
def test_the_power_of_a_given_force_is_what_it_takes_from_the_machine(name):
    robot = machine()
    element = mbd.System(robot, forces=[TRACED[name]]).forces[0]
    q, v = states(robot, 10)
    power = (generalised(robot, TRACED[name], q, v) * v).sum(axis=1)
    taken = [
        element.effect(robot.model, 0.0, *state).dissipation for state in zip(q, v, strict=True)
    ]
    assert np.abs(power).max() > 0.01
    assert np.abs(power + taken).max() < 1e-11 * np.abs(power).max()


def test_functions_act_as_torques_and_wrenches_do():
    robot = machine()
    run = robot.simulate(LENGTH, q=Q, v=V, forces=[TRACED["any"], TRACED["push"]])
    joints, push = TRACED["any"].function, TRACED["push"].function
    told = robot.simulate(
        LENGTH,
        q=Q,
        v=V,
        torque={
            "wrist": lambda t, q, v: joints(t, q, v)[0],
            "shoulder": lambda t, q, v: joints(t, q, v)[1],
        },
        external={"hand": push},
        external_in="world",
    )
    assert np.abs(run.q - told.q).max() < 1e-13
    assert np.abs(run.joint_loads().force - told.joint_loads().force).max() < 1e-9
    after = robot.joint_loads(run.q, run.v, run.a, t=run.time, forces=run.system.forces)
    assert np.abs(after.force - told.joint_loads().force).max() < 1e-9
    assert list(told.external) == ["hand"] and run.external == {}
    whole = run.energy + run.force_elements.energy
    lost = simpson(run.force_elements.dissipation, x=run.time)
    assert abs(whole[-1] - whole[0] + lost) < 1e-9


def test_an_actuator_takes_a_table_of_time():
    table = Lookup([0.0, 0.05, 1.0], [0.0, 8.0, 8.0])
    run = machine().simulate(LENGTH, q=Q, forces=[forces.JointActuator("wrist", table)])
    told = machine().simulate(LENGTH, q=Q, torque={"wrist": ([0.0, 0.05, 1.0], [0.0, 8.0, 8.0])})
    assert np.abs(run.q - told.q).max() < 1e-12
    tension = run.force_elements["JointActuator 1"]["force"]
    assert np.abs(tension - table(run.time)).max() < 1e-14


@pytest.mark.parametrize("limit", [None, 3.0])
def test_a_position_control_moves_a_pendulum_as_mujocos_position_actuator(limit):
    """The goal moves, and the force is cut off at the limit."""
    mujoco = pytest.importorskip("mujoco")
    bound = "" if limit is None else f'forcelimited="true" forcerange="-{limit} {limit}"'
    text = f"""<mujoco><compiler angle="radian"/>
      <option integrator="RK4" timestep="1e-4" gravity="0 0 -9.81"/><worldbody>
      <body><joint name="hinge" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="1"
      diaginertia="0.02 0.02 0.02"/></body></worldbody><actuator><position name="servo"
      joint="hinge" kp="40" kv="4" {bound}/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(10_000):
        data.ctrl[0] = 1.0 + 0.5 * np.sin(3.0 * (data.time + 5e-5))  # it holds the goal for a step
        mujoco.mj_step(model, data)
    parts = mbd.Builder("pendulum", root="ground")
    parts.link("bob", 1.0, (0, 0, -0.5), (0.02, 0.02, 0.02))
    parts.joint("hinge", "continuous", "ground", "bob", axis=(0, 1, 0))
    servo = forces.PositionControl("hinge", "1 + 0.5*sin(3 t)", 40.0, 4.0, limit, name="servo")
    run = mbd.Mechanism.build(parts).simulate(1.0, step=1e-4, every=100, forces=[servo])
    told = run.force_elements["servo"]
    assert abs(run.q[-1, 0] - data.qpos[0]) < 1e-6
    assert np.abs(told["force"]).max() == (limit or pytest.approx(40.0))  # it starts 1 rad away


def test_functions_are_told_apart_by_what_they_compute():
    """Two functions of one name, maybe at one address, have machine code of their own."""
    ends = []
    for gain in (1.0, 50.0, 1.0):
        servo = forces.JointActuator("wrist", lambda t, s, rate, gain=gain: -gain * s)
        ends.append(machine().simulate(0.02, q=Q, forces=[servo]).q[-1])
    assert np.array_equal(ends[0], ends[2])
    assert np.abs(ends[0] - ends[1]).max() > 1e-4


def called(function, **where):
    return forces.GeneralForce(function, sampled=True, name="python", **where)


def test_any_python_is_called_at_each_step():
    robot = machine()

    def control(t, q, v):
        return [float(np.round(3.0 * np.sin(20.0 * t), 1)), 0.5]

    run = robot.simulate(LENGTH, q=Q, v=V, forces=[called(control, joints=JOINTS)])
    told = robot.simulate(
        LENGTH,
        q=Q,
        v=V,
        torque={
            "wrist": mbd.Sampled(lambda t, q, v: control(t, q, v)[0]),
            "shoulder": 0.5,
        },
    )
    assert np.abs(run.q - told.q).max() < 1e-13
    report = run.force_elements["python"]
    assert report.units["wrist"] == "N m"
    expected = [control(t, None, None)[0] for t in run.time]
    assert np.array_equal(report["wrist"], expected)
    assert np.abs(report["dissipation"] + run.v[:, 2] * expected + 0.5 * run.v[:, 0]).max() < 1e-12
    push = called(lambda t, q, v: np.array([0, 0, 2.0, 0, 0, 0]), link="hand", axes="world")
    run = robot.simulate(LENGTH, q=Q, v=V, forces=[push])
    told = robot.simulate(
        LENGTH, q=Q, v=V, external={"hand": [0, 0, 2.0, 0, 0, 0]}, external_in="world"
    )
    assert np.abs(run.q - told.q).max() < 1e-13
    assert run.external == {}
    with pytest.raises(
        mbd.errors.StateError, match="'python' is called at the steps of a simulation"
    ):
        robot.joint_loads(Q, V, V, forces=[push])


def raising(t, q, v):
    if t > 0.0495:
        raise ZeroDivisionError("no current")
    return [1.0]


def not_a_number(t, q, v):
    return [np.nan if t > 0.0495 else 1.0]


ROADS = {
    "compiled": {},
    "told by steps": {"loads": ["wrist"]},
    "python": {"method": "multipliers"},
    "its own steps": {"integrator": "abm"},
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (raising, "'python': the function raised ZeroDivisionError: no current"),
        (not_a_number, r"'python': the function returned \[nan\]; expected \(1,\) finite"),
    ],
)
def test_a_function_that_fails_ends_the_motion_and_what_was_computed_is_kept(road, function, said):
    robot, element = machine(), called(function, joints=["wrist"])
    options = {"q": Q, "v": V, **ROADS[road]}
    with pytest.raises(
        mbd.errors.SolveError, match=rf"stopped at t = 0\.0[45].*{said}.*check=False"
    ):
        robot.simulate(LENGTH, forces=[element], **options)
    run = robot.simulate(LENGTH, forces=[element], check=False, **options)
    assert not run.finished and 0.04 < run.time[-1] < 0.052
    good = robot.simulate(LENGTH, torque={"wrist": 1.0}, **options)
    known = run.time < 0.049
    assert np.abs(run.q[known] - good.q[: len(run.time)][known]).max() < 1e-7
    assert np.isfinite(run.joint_loads("wrist").force).all()
    assert run.force_elements["python"]["wrist"][0] == 1.0


def test_a_function_that_fails_in_a_batch_ends_its_trajectories():
    element = called(raising, joints=["wrist"])
    batch = machine().simulate(LENGTH, q=[Q, 0 * Q], forces=[element])
    assert not batch.finished.any()
    assert np.isfinite(batch.q[:, 40]).all()


def test_a_traced_function_that_gives_no_number_ends_the_motion():
    def root(t, q, v):
        return np.array([np.sqrt(0.05 - t)])

    element = forces.GeneralForce(root, joints=["wrist"], name="root")
    run = machine().simulate(LENGTH, q=Q, v=V, forces=[element], check=False)
    assert not run.finished and 0.045 < run.time[-1] <= 0.0505
    assert np.isfinite(run.q).all()


BAD = {
    "shape": (forces.GeneralForce(lambda t, q, v: q, joints=["wrist"]), r"shape \(3,\).*\(1,\)"),
    "scalar": (forces.JointActuator("wrist", lambda t, s, rate: [s, s]), "expected a number"),
    "choice": (
        forces.JointActuator("wrist", lambda t, s, rate: 1.0 if s > 0 else 2.0),
        "JointActuator: .*where",
    ),
    "nowhere": (forces.GeneralForce(raising), "expected joints, or a link"),
    "no function": (forces.GeneralForce(3.0, joints=["wrist"]), "expected a function"),
    "a text": (
        forces.PointActuator(("arm", "hand"), ENDS, "5*tt"),
        "expected a number.*no name named .tt",
    ),
    "axes": (forces.GeneralForce(raising, link="hand", axes="hand"), "axes='hand' is not known"),
    "link": (forces.GeneralForce(raising, link="hnd"), "no link named 'hnd'"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_force_is_refused(what):
    element, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        mbd.System(machine(), forces=[element])


def test_functions_stand_in_no_file(tmp_path):
    for element in TRACED.values():
        with pytest.raises(mbd.errors.StateError, match=r"stand.? in no file"):
            mbd.forces.save_forces(tmp_path / "a.yaml", [element])
