"""Claims about ROS bags: joint states by topic and name, in whatever order messages have them."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.cli import main
from mbd_bridge.files.bags import is_bag, read_bag
from mbd_bridge.files.tables import Column, TableWriter, read_table
from tests.formats.mutation import mutate_bytes, truncate
from tests.robots import own_urdfs

STORE = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = "sensor_msgs/msg/JointState"
START = 1_700_000_000_123_456_789
"""ns since 1970, as clocks of ROS have it."""
STORAGES = {"mcap": StoragePlugin.MCAP, "db3": StoragePlugin.SQLITE3}


def joint_state(stamp, names, positions, velocities=(), efforts=()):
    types = STORE.types
    header = types["std_msgs/msg/Header"](
        stamp=types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9), frame_id=""
    )
    numbers = [np.asarray(values, dtype=float) for values in (positions, velocities, efforts)]
    return types[JOINT_STATE](header, list(names), *numbers)


def write(path, messages, storage="mcap", topic="/joint_states"):
    """Write a bag of (recorded ns, message), each perhaps with a topic of its own."""
    with Writer(path, version=9, storage_plugin=STORAGES[storage]) as bag:
        open_topics = {}
        for recorded, message, *own in messages:
            name = own[0] if own else topic
            kind = message.__msgtype__
            if name not in open_topics:
                open_topics[name] = bag.add_connection(name, kind, typestore=STORE)
            bag.write(open_topics[name], recorded, STORE.serialize_cdr(message, kind))
    return path


def recording(rows=40, names=("a", "b", "c"), rates=True, seed=0):
    """Return messages with the joints in a new order each, 10 ms apart; sines of the time."""
    rng, messages = np.random.default_rng(seed), []
    for k in range(rows):
        order = rng.permutation(len(names))
        t = 0.01 * k
        stamp = START + 10_000_000 * k
        late = int(rng.integers(1_000_000))
        positions = [np.sin((i + 1) * t) for i in order]
        velocities = [(i + 1) * np.cos((i + 1) * t) for i in order] if rates else ()
        mixed = [names[i] for i in order]
        messages.append((stamp + late, joint_state(stamp, mixed, positions, velocities)))
    return messages


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("whole", [True, False])
def test_joints_are_found_by_name_in_any_order(tmp_path, storage, whole):
    folder = write(tmp_path / "bag", recording(), storage)
    path = folder if whole else next(folder.glob(f"*.{storage}"))
    assert is_bag(path)
    table, notes = read_bag(path, ["b", "a", "not there"])
    t = 0.01 * np.arange(40)
    assert table.names == ("time", "b", "a", "b.vel", "a.vel")
    assert np.array_equal(table.column("time"), np.arange(40) * 10_000_000 / 1e9)
    for name, i in (("a", 1), ("b", 2)):
        assert np.allclose(table.column(name), np.sin(i * t), rtol=0, atol=1e-15)
        assert np.allclose(table.column(f"{name}.vel"), i * np.cos(i * t), rtol=0, atol=1e-14)
    assert notes == (
        "joints of /joint_states that are left out: c",
        "t = 0 s is 1700000000.123456789 s of the bag's clock",
    )


def test_a_recorded_arm_moves_as_it_did(tmp_path):
    """From the arm's CSV into a bag and back: the loads are the same."""
    urdf = own_urdfs()["kuka_iiwa"]
    arm = mbd.load(urdf)
    wanted = arm.read_motion(urdf.with_name("kuka_iiwa_motion.csv"))
    names = [f"left_{k}" for k in range(7)]
    messages = []
    for t, q in zip(wanted.time, wanted.q, strict=True):
        stamp = START + round(t * 1e9)
        messages.append((stamp, joint_state(stamp, [*names[::-1], "finger"], [*q[::-1], 0.01])))
    path = write(tmp_path / "bag", messages)
    renamed = dict(zip(names, wanted.coordinates, strict=True))
    motion = arm.read_motion(path, rename=renamed)
    assert np.array_equal(motion.q, wanted.q)
    assert np.allclose(motion.time, wanted.time, rtol=0, atol=1e-12)
    assert np.allclose(motion.a, wanted.a, rtol=0, atol=1e-8)
    assert "joints of /joint_states that are left out: finger" in motion.notes
    words = [f"{there}={here}" for there, here in renamed.items()]
    out = tmp_path / "loads.parquet"
    asked = ["loads", str(urdf), str(path), "--joints", "lbr_iiwa_joint_3", "-o", str(out)]
    assert main([*asked, "--topic", "/joint_states", "--rename", *words]) == 0
    found = arm.read_loads(out)
    loads = arm.joint_loads(wanted, joints="lbr_iiwa_joint_3")
    assert np.allclose(found.force, loads.force, rtol=0, atol=1e-8)


def test_joints_that_go_by_other_names_are_asked_for(tmp_path):
    pendulum = mbd.load(own_urdfs()["pendulum"])
    path = write(tmp_path / "bag", recording())
    assert len(pendulum.read_motion(path, rename={"a": "hinge"}).time) == 40
    with pytest.raises(FileError, match=r"no coordinate named 'hing'; did you mean 'hinge'\?"):
        pendulum.read_motion(path, rename={"a": "hing"})
    with pytest.raises(FileError, match=r"no joint of /joint_states named 'd'.*Available: a, b, c"):
        pendulum.read_motion(path, rename={"a": "hinge", "d": "hinge"})
    arm = mbd.load(own_urdfs()["rrc_arm"])
    first, second, *_ = arm.coordinate_names
    words = rf"no states of {second}.*; the messages have b, c besides: say which .*--rename"
    with pytest.raises(FileError, match=words):
        arm.read_motion(path, rename={"a": first})
    assert arm.read_motion(path, rename={"a": first}, rest=True).q.shape == (40, 7)


def test_joints_that_determine_the_others_of_a_loop_are_enough(tmp_path):
    path = write(tmp_path / "bag", recording())
    bar = mbd.load(own_urdfs()["four_bar"])
    motion = bar.read_motion(path, rename={"a": "crank"})
    assert motion.q.shape == (40, 3)
    assert any("crank (1 degree of freedom)" in note for note in motion.notes), motion.notes


def test_one_topic_is_chosen_among_several(tmp_path):
    left = [(*pair, "/left") for pair in recording()]
    right = [(*pair, "/right") for pair in recording(names=("x", "y", "z"))]
    text = STORE.types["std_msgs/msg/String"]("hello")
    path = write(tmp_path / "bag", [*left, *right, (START, text, "/rosout")])
    with pytest.raises(FileError, match=r"several topics with joint states: /left, /right; choose"):
        read_bag(path, ["a"])
    assert read_bag(path, ["y"], topic="/right").table.names == ("time", "y", "y.vel")
    with pytest.raises(FileError, match=r"no topic '/rosout' with joint states.*/rosout \(std_msg"):
        read_bag(path, ["a"], topic="/rosout")
    with pytest.raises(FileError, match=r"no message has a joint.*: b; the bag has x, y, z; map"):
        read_bag(path, ["b"], topic="/right")


def test_stamps_are_those_of_the_messages_or_of_the_recording(tmp_path):
    messages = recording()
    path = write(tmp_path / "bag", messages)
    table, _ = read_bag(path, ["a"], clock="bag")
    recorded = np.array([stamp for stamp, _ in messages])
    assert np.array_equal(table.column("time"), (recorded - recorded[0]) / 1e9)
    with pytest.raises(FileError, match='use "header" or "bag"'):
        read_bag(path, ["a"], clock="sun")
    bare = [(stamp, joint_state(0, ["a"], [0.0])) for stamp, _ in messages]
    table, notes = read_bag(write(tmp_path / "bare", bare), ["a"])
    assert np.array_equal(table.column("time"), (recorded - recorded[0]) / 1e9)
    assert "no stamps" in notes[0]


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (-25_000_000, r"row 20 .* 'time': .* 0.175 s comes after 0.19 s; .* clock=\"bag\""),
        (-10_000_000, r"row 20 .* 0.19 s stands twice; .* clock=\"bag\""),
        (3600 * 10**9, r"row 20 .* the clock jumps by 3600.01 s \(usual step 0.01 s\)"),
    ],
)
def test_clocks_that_jump_are_refused_and_the_other_clock_helps(tmp_path, shift, words):
    messages = recording()
    for k in range(20, 40):
        stamp = START + 10_000_000 * k + shift
        messages[k] = (messages[k][0], joint_state(stamp, ["a"], [0.1]))
    pendulum = mbd.load(own_urdfs()["pendulum"])
    path = write(tmp_path / "bag", messages)
    with pytest.raises(FileError, match=words):
        pendulum.read_motion(path, rename={"a": "hinge"})
    assert len(pendulum.read_motion(path, rename={"a": "hinge"}, clock="bag").time) == 40


def test_gaps_missing_joints_and_odd_messages_are_refused_with_their_number(tmp_path):
    def refused(name, message, words, **options):
        messages = recording()
        messages[7] = (messages[7][0], message)
        path = write(tmp_path / name, messages)
        with pytest.raises(FileError, match=words):
            read_bag(path, ["a", "b"], **options)

    stamp = START + 70_000_000
    gap = joint_state(stamp, "abc", [1.0, np.nan, 0.0])
    refused("gap", gap, r"row 7 \(the first is 0\), column 'b': expected a finite number, got nan")
    lost = joint_state(stamp, ["a"], [1.0])
    refused("lost", lost, r"/joint_states, message 7 .*: expected the joints .* a, b; b missing")
    refused("short", joint_state(stamp, "abc", [1.0]), "message 7 .* each of its 3 joints, got 1")
    twice = joint_state(stamp, "aab", [1.0, 2.0, 3.0])
    refused("twice", twice, "message 7 .*: the joint 'a' stands there twice")


def test_messages_of_other_joints_are_left_out_and_so_are_joints_mapped_to_none(tmp_path):
    messages = recording()
    other = [(stamp + 1, joint_state(stamp, ["finger"], [0.0])) for stamp, _ in messages]
    path = write(tmp_path / "bag", [*messages, *other])
    table, notes = read_bag(path, ["a", "finger"], joints={"finger": None})
    assert len(table.values) == 40
    assert "40 messages without any of the joints are left out" in notes
    with pytest.raises(FileError, match=r"a missing; finger more; .*rename={\"name\": None}"):
        read_bag(path, ["a", "finger"])


def test_velocities_are_taken_where_every_message_has_them(tmp_path):
    messages = recording()
    messages[3] = (messages[3][0], joint_state(START + 30_000_000, "abc", [0.0] * 3))
    table, notes = read_bag(write(tmp_path / "some", messages), ["a"])
    assert table.names == ("time", "a")
    assert "velocities stand in 39 of 40 messages: left out" in notes
    silent = [
        (stamp, joint_state(stamp, "ab", [0.0, 1.0], [np.nan, 2.0])) for stamp, _ in recording()
    ]
    table, notes = read_bag(write(tmp_path / "nan", silent), ["a", "b"])
    assert table.names == ("time", "a", "b", "b.vel")
    assert "velocities that are nan throughout: a; left out" in notes


@pytest.mark.parametrize("storage", STORAGES)
def test_broken_bags_are_refused(tmp_path, storage):
    folder = write(tmp_path / "bag", recording(), storage)
    file = next(folder.glob(f"*.{storage}"))
    data = file.read_bytes()
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        file.write_bytes(truncate(data, rng) if seed % 2 else mutate_bytes(data, rng, 20))
        try:
            read_bag(file, ["a"])
        except FileError as error:
            seen += error.file == str(file)
    assert seen >= 20
    (folder / "metadata.yaml").write_text("{")
    with pytest.raises(FileError, match="cannot be read"):
        read_bag(folder, ["a"])
    with pytest.raises(FileError, match="there is no such file"):
        read_bag(tmp_path / "none.mcap", ["a"])


def test_a_message_that_defines_itself_otherwise_is_refused(tmp_path):
    """A bag says itself what its messages hold: here no names, as damage may have it."""
    folder = write(tmp_path / "bag", recording(5))
    file = next(folder.glob("*.mcap"))
    data = file.read_bytes()
    assert b"string[] name" in data
    file.write_bytes(data.replace(b"string[] name", b"string[] nbme"))
    with pytest.raises(FileError, match=r"cannot be read: .*no attribute 'name'") as problem:
        read_bag(file, ["a"])
    assert problem.value.file == str(file)


def test_bag_words_need_a_bag(tmp_path):
    (tmp_path / "m.csv").write_text("time,hinge\n0,0\n")
    with pytest.raises(FileError, match="topic: only for ROS bags"):
        mbd.load(own_urdfs()["pendulum"]).read_motion(tmp_path / "m.csv", topic="/x")


def test_efforts_of_joint_states_are_read_beside_the_motion(tmp_path):
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    names, messages = arm.coordinate_names, []
    for k in range(12):
        stamp, efforts = START + 10_000_000 * k, 0.5 * k + np.arange(7.0)
        efforts[2] = np.nan
        own = joint_state(stamp, names[::-1], np.full(7, 0.1), np.zeros(7), efforts[::-1].copy())
        messages.append((stamp, own))
    motion = arm.read_motion(write(tmp_path / "bag", messages))
    there = [0, 1, 3, 4, 5, 6]
    assert np.array_equal(motion.efforts[:, there], 0.5 * np.arange(12)[:, None] + there)
    assert np.isnan(motion.efforts[:, 2]).all()
    assert any("efforts that are nan throughout" in note for note in motion.notes)


def wrench(stamp, force, torque=(0, 0, 0)):
    types = STORE.types
    vector = types["geometry_msgs/msg/Vector3"]
    header = types["std_msgs/msg/Header"](
        stamp=types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9)), frame_id="ft"
    )
    parts = (vector(*map(float, part)) for part in (force, torque))
    both = types["geometry_msgs/msg/Wrench"](*parts)
    return types["geometry_msgs/msg/WrenchStamped"](header, both)


def slide():
    builder = mbd.Builder("slide").link("ram", 2.0)
    return mbd.Mechanism.build(builder.joint("a", "prismatic", "base", "ram", axis=(1, 0, 0)))


def with_sensor(tmp_path, late=0):
    """A slide's motion, and a sensor at half its rate which starts 20 ms later."""
    sensor = [
        (START + ms * 10**6, wrench(START + ms * 10**6 + late * k, (ms, 0, 0)), f"/{name}/wrench")
        for ms in range(20, 390, 20)
        for k, name in enumerate(("ft", "other"))
    ]
    return write(tmp_path / "bag", [*recording(names=("a",)), *sensor])


def test_a_sensors_wrenches_act_at_the_time_of_the_motion_in_the_same_bag(tmp_path):
    bag, machine = with_sensor(tmp_path), slide()
    motion = machine.read_motion(bag)
    force = machine.read_external(bag, sensors={"ram": "ft"}, outside="hold")
    loads = [machine.joint_loads(motion, external=x) for x in (None, force)]
    pushed = loads[0].actuation[:, 0] - loads[1].actuation[:, 0]
    assert np.abs(pushed[2:38] - 1000 * motion.time[2:38]).max() < 1e-6  # N, and N/ms of the sensor
    clock = f"is {START // 10**9}.{START % 10**9:09} s of the bag's clock"
    assert any(clock in note for note in motion.notes)
    assert any(f"wrenches {clock}, the first joint state" in note for note in force.notes)
    alone = write(tmp_path / "alone", [(START, wrench(START, (1, 0, 0)), "/ft/wrench")])
    (note,) = machine.read_external(alone, sensors={"ram": "ft"}, outside="hold").notes
    assert f"wrenches {clock}, the first wrench: there are no joint states" in note


def test_sensors_with_other_stamps_are_read_one_by_one(tmp_path):
    bag, machine = with_sensor(tmp_path, late=1), slide()
    assert machine.read_external(bag, sensors={"ram": "other"}, outside="hold")
    with pytest.raises(FileError, match="different stamps; read them one by one"):
        machine.read_external(bag, sensors={"ram": "ft", "base": "other"}, outside="hold")


def test_loads_are_written_as_wrenches_and_what_nobody_determines_is_nan(tmp_path):
    bar = mbd.load(own_urdfs()["four_bar"])
    run = bar.simulate(0.05, q=bar.assemble({"crank": 0.3}, fixed="crank").q)
    loads = run.joint_loads(["crank", "coupler_pin"])
    loads.save(tmp_path / "loads.mcap")
    table = read_table(tmp_path / "loads.mcap")
    known = [f"coupler_pin.{name}" for name in ("fx", "fz", "my")]
    assert [name for name in table.names if name.startswith("coupler_pin")] == known
    assert np.array_equal(table.column("coupler_pin.fz"), loads["coupler_pin"].force[:, 2])
    assert np.abs(table.column("time") - loads.time).max() < 1e-9


def test_a_table_without_wrenches_is_refused_as_a_bag(tmp_path):
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    motion = arm.simulate(0.01)
    with pytest.raises(FileError, match=r"a bag takes 'time' and wrenches"):
        motion.save(tmp_path / "motion.mcap")
    assert not list(tmp_path.iterdir())


def test_wrenches_beside_joint_states_that_begin_at_different_times_are_refused(tmp_path):
    early = (START - 3 * 10**9, joint_state(START - 3 * 10**9, ("other",), (0.0,)), "/early")
    pushed = (START, wrench(START, (1, 0, 0)), "/ft/wrench")
    bag = write(tmp_path / "bag", [early, *recording(names=("a",)), pushed])
    with pytest.raises(FileError, match=r"begin at different times, /early at .* one topic"):
        read_table(bag)


def test_units_of_columns_become_those_of_messages(tmp_path):
    columns = [Column("a.fx", "kN"), Column("time", "ms"), Column("a.mx", "N mm")]
    with TableWriter(tmp_path / "a.mcap", columns) as out:
        out.append([[1.0, 0.0, 1.0], [2.0, 500.0, 2.0]])
    table = read_table(tmp_path / "a.mcap")
    assert table.column("time").tolist() == [0.0, 0.5]
    assert table.column("a.fx").tolist() == [1000.0, 2000.0]
    assert table.column("a.mx") == pytest.approx([1e-3, 2e-3])


@pytest.mark.parametrize(
    ("columns", "row", "said"),
    [
        ((Column("time", "s"), Column("a.fx", "N")), [-1.0, 1.0], "move the time's zero"),
        ((Column("time", "s"), Column("a.fx", "N")), [1e11, 1.0], "move the time's zero"),
        ((Column("time", "s"), Column("a.fx", "m")), [0.0, 1.0], "a unit of N, got"),
        ((Column("time"), Column("a.b.fx"), Column("a/b.fx")), [0, 1, 2], "both be the topic"),
    ],
)
def test_what_no_message_can_say_is_refused(columns, row, said, tmp_path):
    with pytest.raises(FileError, match=said), TableWriter(tmp_path / "a.mcap", columns) as out:
        out.append([row])
    assert not list(tmp_path.iterdir())
