"""Forces of a process: what tables over time, coordinates and positions do to the loads."""

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, StateError
from tests.external.tables import COMPONENTS, arm, motion_of, press, wave, write
from tests.robots import own_urdfs
from tests.tolerances import REFEREE, ROUNDING


def stroke_motion(machine, tmp_path, depth=0.2):
    time = np.linspace(0.0, 2.0, 101)
    rows = np.column_stack([time, -depth * np.sin(0.5 * np.pi * time)])
    return machine.read_motion(write(tmp_path / "m.csv", ["time", "stroke"], rows))


def test_a_press_force_over_stroke_stands_in_the_guide(tmp_path):
    """f_guide = m (g + z̈) - F(z): 8 kN at the bottom, linear between the rows, mm and kN."""
    machine = press()
    motion = stroke_motion(machine, tmp_path)
    columns = ["stroke [mm]", "cell.world.fz [kN]"]
    path = write(tmp_path / "press.csv", columns, [(-200, 8), (-100, 2), (0, 0)])
    loads = machine.joint_loads(motion, joints=["stroke", "bolts"], external=path, in_="world")
    z = motion.q[:, 0]
    force = np.where(z < -0.1, 2e3 + (-0.1 - z) * 6e4, -z * 2e4)
    expected = 3.0 * (9.81 + motion.a[:, 0]) - force
    assert np.allclose(loads["stroke"].force[:, 2], expected, rtol=0, atol=1e-9 * 8e3)
    assert np.allclose(loads["stroke"].actuation[:, 0], expected, rtol=0, atol=1e-9 * 8e3)
    assert np.allclose(loads["bolts"].force[:, 2], -force, rtol=0, atol=1e-9 * 8e3)


def test_a_force_with_a_direction_acts_on_that_way_only(tmp_path):
    machine = press()
    motion = stroke_motion(machine, tmp_path)
    columns = ["stroke", "ram.fz [N]"]
    rows = [(-0.3, 500.0), (0.0, 100.0)]
    both = machine.read_external(write(tmp_path / "p.csv", columns, rows))
    down = machine.read_external(tmp_path / "p.csv", direction="falling")
    up = machine.read_external(tmp_path / "p.csv", direction="rising")
    forces = [f.along(motion.time, motion.q, motion.v)["ram"][:, 2] for f in (both, down, up)]
    falls = motion.v[:, 0] < 0.0
    assert np.array_equal(forces[1], np.where(falls, forces[0], 0.0))
    assert np.array_equal(forces[2], np.where(motion.v[:, 0] > 0.0, forces[0], 0.0))
    together = machine.joint_loads(motion, external=[down, up]).force
    moving = motion.v[:, 0] != 0.0
    assert np.array_equal(
        together[moving], machine.joint_loads(motion, external=both).force[moving]
    )


REFERENCES = {
    "link axes": (".{c}", {}, None),
    "link axes at a point": (".{c}", {}, (0.1, -0.2, 0.05)),
    "world axes": (".world.{c}", {}, None),
    "world axes by an attribute": (".{c}", {"axes": "world"}, None),
    "world axes at a point": (".world.{c}", {}, (0.1, -0.2, 0.05)),
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_loads_under_process_forces_are_those_of_pinocchio(reference, tmp_path):
    """`pin.rnea` with fext in joint frames, and its data.f of every joint."""
    path = own_urdfs()["kuka_iiwa"]
    robot, link = mbd.load(path), "lbr_iiwa_link_ee"
    columns, said, point = REFERENCES[reference]
    time, table = wave(rows=11, end=2.0)
    names = [link + columns.format(c=c) for c in COMPONENTS]
    if point is not None:
        said = {**said, "point": "{:g}, {:g}, {:g}".format(*point)}
    file = write(tmp_path / "f.csv", ["time", *names], np.column_stack([time, table]), **said)
    motion = robot.read_motion(path.parent / "kuka_iiwa_motion.csv")
    loads = robot.joint_loads(motion, external=file)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    frame = model.getFrameId(link)
    joint = model.frames[frame].parentJoint
    for k in range(0, len(motion.time), 40):
        q, v, a = motion.q[k], motion.v[k], motion.a[k]
        wrench = np.array([np.interp(motion.time[k], time, column) for column in table.T])
        pin.framesForwardKinematics(model, data, q)
        axes = pin.SE3.Identity()
        axes.translation = np.zeros(3) if point is None else np.array(point)
        if "world" in reference:
            axes.rotation = data.oMf[frame].rotation.T
        fext = [pin.Force.Zero() for _ in range(model.njoints)]
        fext[joint] = model.frames[frame].placement.act(axes.act(pin.Force(wrench)))
        tau = pin.rnea(model, data, q, v, a, fext)
        assert np.abs(loads.actuation[k] - tau).max() < REFEREE * np.abs(tau).max()
        for number, name in enumerate(model.names[1:], start=1):
            theirs = data.f[number].vector
            ours = np.concatenate([loads[name].force[k], loads[name].moment[k]])
            assert np.abs(ours - theirs).max() < REFEREE * np.abs(theirs).max(), name


def test_one_force_in_other_axes_and_about_other_points_is_the_same(tmp_path):
    """About the link's origin and a point of it, in the link's axes; about a point of the world."""
    robot, (time, table) = arm(), wave(rows=201)
    motion = motion_of(robot.simulate(1.0, q=[0.3, -0.4, 0.1], every=5))
    at = robot.placement(motion.q, "hand")
    turn, origin = at[:, :3, :3], at[:, :3, 3]
    wrench = np.stack([np.interp(motion.time, time, column) for column in table.T], axis=-1)
    point = np.array([0.2, 0.1, -0.3])
    shifted = wrench.copy()
    shifted[:, 3:] -= np.cross(point, wrench[:, :3])
    force, moment = (np.einsum("nij,nj->ni", turn, x) for x in (shifted[:, :3], shifted[:, 3:]))
    place = origin + turn @ point
    tables = {
        "origin": (wrench, "hand.", None),
        "points": (np.hstack([shifted, np.broadcast_to(point, force.shape)]), "hand.", None),
        "point": (shifted, "hand.", point),
        "world": (np.hstack([force, moment, place]), "hand.world.", None),
        "world at a point": (np.hstack([force, moment]), "hand.world.", point),
    }
    expected = robot.joint_loads(motion, external={"hand": wrench})
    for name, (rows, prefix, at_point) in tables.items():
        columns = [prefix + c for c in (*COMPONENTS, "px", "py", "pz")][: rows.shape[1]]
        file = write(tmp_path / "f.csv", ["time", *columns], np.column_stack([motion.time, rows]))
        given = robot.read_external(file, point=at_point)
        loads = robot.joint_loads(motion, external=given)
        size = np.abs(expected.wrench).max()
        assert np.abs(loads.wrench - expected.wrench).max() < 10 * ROUNDING * size, name


def given_forces(robot, tmp_path):
    """Return forces of every kind on the arm."""
    time, table = wave()
    at_time = np.column_stack([time, table])
    over = np.column_stack([np.linspace(-9.0, 9.0, 30), wave(30, seed=1)[1]])
    turn = np.linspace(0.0, 2 * np.pi, 25)
    round_table = 2.0 * np.cos(turn)[:, None] * np.ones(6)
    columns = {
        "over time": ("time", "hand.", at_time, {}),
        "over time, about a point of the world": ("t", "fore.world.", at_time, {}),
        "over a coordinate": ("elbow", "fore.world.", over, {"outside": "hold"}),
        "over a turn": (
            "shoulder",
            "upper.",
            np.column_stack([turn, round_table]),
            {"outside": "repeat"},
        ),
        "over a position": ("hand.z", "hand.world.", over, {"point": (0, 0.1, 0.2)}),
        "on one way": ("slide", "hand.", over, {"direction": "rising", "outside": "hold"}),
    }
    found = {}
    for name, (first, prefix, rows, how) in columns.items():
        names = [prefix + c for c in COMPONENTS]
        if "point of the world" in name:
            names += [prefix + c for c in ("px", "py", "pz")]
            rows = np.hstack([rows, np.tile([0.3, -0.2, 0.9], (len(rows), 1))])
        if name == "over a position":
            how = {**how, "outside": "zero"}
        file = write(tmp_path / "f.csv", [first, *names], rows)
        found[name] = robot.read_external(file, **how)
    return found


def test_what_a_simulation_does_under_process_forces_needs_no_actuators(tmp_path):
    """Inverse of forward: along its motion, under the same forces, all actuation is nought."""
    robot = arm()
    every = given_forces(robot, tmp_path)
    for name, given in {**every, "all of them": list(every.values())}.items():
        options = {"q": [-2.0, -0.4, 0.1], "v": [1.0, 2.0, 0.3], "step": 1e-3, "every": 20}
        run = robot.simulate(0.3, external=given, **options)
        free = robot.simulate(0.3, **options)
        assert np.abs(run.q - free.q).max() > 1e-3, name
        loads = robot.joint_loads(run.q, run.v, run.a, external=given, t=run.time)
        size = np.abs(loads.wrench).max()
        assert np.abs(loads.actuation).max() < 1e-11 * size, name
        own = run.joint_loads()
        assert np.abs(own.wrench - loads.wrench).max() < 1e-11 * size, name


def test_power_of_process_forces_and_actuators_is_what_the_machine_takes_up(tmp_path):
    """τ·v + Σ w·(ẋ, ω) = v·(M a + h), the wrenches at their points in the world's axes."""
    robot, time = arm(), np.linspace(0.0, 1.0, 20)
    q, v, a = np.random.default_rng(4).normal(size=(3, 20, 3))
    taken = np.einsum("ni,ni->n", v, robot.inverse_dynamics(q, v, a))
    for name, given in given_forces(robot, tmp_path).items():
        loads = robot.joint_loads(q, v, a, external=given, t=time)
        power = np.einsum("ni,ni->n", v, loads.actuation)
        for link, wrench in given.along(time, q, v).items():
            turn = robot.placement(q, link)[:, :3, :3]
            velocity = robot.velocity(q, v, link)
            for k in (0, 3):
                world = np.einsum("nij,nj->ni", turn, wrench[:, k : k + 3])
                power += np.einsum("ni,ni->n", world, velocity[:, k : k + 3])
        assert np.abs(power - taken).max() < 1e-11 * np.abs(power).max(), name


def test_a_free_body_holds_the_process_force_and_stays_in_equilibrium(tmp_path):
    robot = arm()
    motion = motion_of(robot.simulate(0.3, q=[0.3, -0.4, 0.1], every=50))
    every = list(given_forces(robot, tmp_path).values())
    body = robot.free_body("hand", motion, external=every)
    assert body.residual.max() < 1e-12
    assert np.abs(body["external"].force).max() > 1.0


def test_a_history_and_a_report_count_process_forces_and_say_so(tmp_path):
    robot, (time, table) = arm(), wave()
    run = robot.simulate(1.0, q=[0.3, -0.4, 0.1], every=5)
    run.save(tmp_path / "m.csv")
    names = [f"hand.{c}" for c in COMPONENTS]
    file = write(tmp_path / "f.csv", ["time", *names], np.column_stack([time, table]))
    loads = robot.joint_loads(motion_of(run), external=file)
    history = robot.load_history(tmp_path / "m.csv", external=file)
    peak = history["shoulder.my"].peak
    row = np.abs(loads["shoulder"].moment[:, 1]).argmax()
    assert np.isclose(peak.value, loads["shoulder"].moment[row, 1], rtol=1e-9)
    page = tmp_path / "r.html"
    told = robot.report(page, tmp_path / "m.csv", external=file, picture=False, check=False)
    assert told["motion"]["shoulder.my"].peak.value == peak.value
    sentence = "on hand (f.csv): fx, fy, fz, mx, my, mz over time from 0 to 1 s"
    (assumed,) = history.assumptions["external"]
    assert assumed.text.startswith(sentence)
    (same,) = loads.assumptions["external"]
    assert same.text == assumed.text
    assert sentence in page.read_text()


def test_beyond_a_table_that_ends_with_forces_something_must_be_said(tmp_path):
    machine = press()
    motion = stroke_motion(machine, tmp_path, depth=0.2)
    columns, rows = ["stroke", "ram.fz"], [(-0.1, 500.0), (0.2, 0.0)]
    file = write(tmp_path / "p.csv", columns, rows)
    with pytest.raises(StateError, match=r"from -0.1 to 0.2 m, the motion from -0.2 .*outside="):
        machine.joint_loads(motion, external=file)
    with pytest.raises(StateError, match="a simulation may go beyond the table"):
        machine.simulate(0.1, external=file)
    deep = motion.q[:, 0] < -0.1
    for outside, force in (("zero", 0.0), ("hold", 500.0)):
        given = machine.read_external(file, outside=outside)
        found = given.along(motion.time, motion.q)["ram"][:, 2]
        assert np.array_equal(found[deep], np.full(deep.sum(), force))
    assert given.along(None, np.array([[0.2], [0.3]]))["ram"][1, 2] == 0.0  # it ends with zero


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (["time", "rum.fz"], [(0, 1), (1, 1)], "did you mean 'ram'"),
        (["time", "ram.force"], [(0, 1), (1, 1)], "expected <link>.fx"),
        (["time", "ram.fz [mm]"], [(0, 1), (1, 1)], "expected a unit of N, got"),
        (["time", "ram.fz", "ram.world.px"], [(0, 1, 1), (1, 1, 1)], "in the same axes"),
        (["way", "ram.fz"], [(0, 1), (1, 1)], "'time' .s., a coordinate or <link>.x"),
        (["stroke", "ram.fz"], [(0, 1), (1, 1), (0, 0)], "direction: rising and one with"),
        (["time", "ram.fz"], [(0, 1), (1, 1), (1, 2), (1, 3)], "stands three times"),
        (["time"], [(0,), (1,)], "expected columns <link>.fx"),
    ],
)
def test_a_table_that_says_no_force_is_refused_with_what_to_do(columns, rows, said, tmp_path):
    file = write(tmp_path / "p.csv", columns, rows)
    with pytest.raises(FileError, match=said):
        press().read_external(file)


def test_options_that_do_not_fit_the_table_are_refused(tmp_path):
    machine = press()
    file = write(tmp_path / "p.csv", ["time", "ram.fz"], [(0, 1), (1, 1)])
    for options, said in (
        ({"direction": "rising"}, "over a coordinate or a link's position"),
        ({"outside": "repeat"}, "a whole turn of an angle"),
        ({"outside": "none"}, "use one of zero, hold, repeat"),
        ({"axes": "parent"}, "use one of link, world"),
        ({"point": (1, 2)}, "point: expected"),
    ):
        with pytest.raises(mbd.MbdError, match=said):
            machine.read_external(file, **options)


def test_forces_of_another_mechanism_are_refused(tmp_path):
    file = write(tmp_path / "p.csv", ["time", "ram.fz"], [(0, 1), (1, 1)])
    given = press().read_external(file)
    heavier = press().with_payload("ram", 2.0)
    at = {"q": [0.0], "v": [0.0], "a": [0.0], "t": 0.5}
    assert np.isclose(heavier.joint_loads(**at, external=given).actuation[0], 5 * 9.81 - 1)
    with pytest.raises(StateError, match="these forces are for 'press'"):
        arm().joint_loads(np.zeros(3), np.zeros(3), np.zeros(3), external=given)
    with pytest.raises(StateError, match="needs the times"):
        press().joint_loads([0.0], [0.0], [0.0], external=given)
