"""Motions in tables that others wrote: each is read as meant, or the message says which option."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, StateError
from tests.external.tables import arm

TIME = np.linspace(0.0, 1.0, 12)
Q = np.sin(np.outer(TIME, [1.0, 2.0, 0.5]))
V = np.outer(np.ones(12), [1.0, 2.0, 0.5]) * np.cos(np.outer(TIME, [1.0, 2.0, 0.5]))
DEG = np.column_stack([np.rad2deg(Q[:, :2]), 1e3 * Q[:, 2]])
PLAIN = np.column_stack([TIME, Q])
UR = ("actual_q_0", "actual_q_1", "actual_q_2", "actual_qd_0", "actual_qd_1", "actual_qd_2")
JUGGLED = tuple(f"/joint_states/{n}/position" for n in ("elbow", "shoulder", "slide"))


def table(columns, rows, separator=",", decimal=".", head=""):
    lines = [separator.join(columns)]
    lines += [separator.join(repr(float(x)).replace(".", decimal) for x in row) for row in rows]
    return head + "\n".join(lines) + "\n"


def written(tmp_path, text, name="m.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


JOINTS = ("shoulder", "elbow", "slide")
READ = {
    "capitals": (table(("Time", "Shoulder", "ELBOW", "Slide"), PLAIN), {}),
    "t with a unit": (table(("t [s]", *JOINTS), PLAIN), {}),
    "milliseconds": (table(("time_ms", *JOINTS), np.column_stack([1e3 * TIME, Q])), {}),
    "units in parentheses": (
        table(("Time (s)", "shoulder (deg)", "elbow (deg)", "slide (mm)"), np.c_[TIME, DEG]),
        {},
    ),
    "units behind names": (
        table(("time_s", "shoulder_deg", "elbow_deg", "slide_mm"), np.c_[TIME, DEG]),
        {},
    ),
    "words for units": (
        table(
            ("time [seconds]", "shoulder [Degrees]", "elbow [degree]", "slide [mm]"),
            np.c_[TIME, DEG],
        ),
        {},
    ),
    "units for all": (table(("time", *JOINTS), np.c_[TIME, DEG]), {"unit": ["deg", "mm"]}),
    "a German spreadsheet": (
        table(("Zeit", *JOINTS), np.c_[TIME, DEG], ";", ",", ""),
        {"unit": ["deg", "mm"]},
    ),
    "positions said": (table(("time", *(f"{n}_pos" for n in JOINTS)), PLAIN), {}),
    "PlotJuggler": (table(("__time", *JUGGLED), PLAIN[:, [0, 2, 1, 3]]), {}),
    "ROS names without a topic": (
        table(("timestamp", *(f"{n}.position" for n in JOINTS)), PLAIN),
        {},
    ),
    "UR RTDE": (table(("timestamp", *UR), np.c_[TIME, Q, V], " "), {}),
    "numbers from 1": (table(("time", "q1", "q2", "q3"), PLAIN), {}),
    "numbers in brackets": (table(("time", "q[1]", "q[2]", "q[3]"), PLAIN), {}),
    "renamed one by one": (
        table(("A", "B", "C", "D"), PLAIN),
        {"rename": {"A": "time", "B": "shoulder", "C": "elbow", "D": "slide"}},
    ),
    "renamed by a pattern": (
        table(("time", *(f"arm/{n}/enc" for n in JOINTS)), PLAIN),
        {"rename": {"arm/*/enc": "*"}},
    ),
    "no names": (
        "\n".join(table(("",), PLAIN).splitlines()[1:]),
        {
            "rename": {
                "column 1": "time",
                "column 2": "shoulder",
                "column 3": "elbow",
                "column 4": "slide",
            }
        },
    ),
    "more columns": (table(("time", *JOINTS, "elbow_current", "mode"), np.c_[PLAIN, Q[:, :2]]), {}),
    "a second clock": (table(("time", "timestamp", *JOINTS), np.c_[TIME, 7 + TIME, Q]), {}),
    "MATLAB's tabs": (table(("time", *JOINTS), PLAIN, "\t"), {}),
}


@pytest.mark.parametrize("name", READ)
def test_a_motion_in_a_table_of_others_is_read_as_meant(name, tmp_path):
    text, options = READ[name]
    robot = arm()
    motion = robot.read_motion(written(tmp_path, text), **options)
    assert np.allclose(motion.time, TIME, rtol=0, atol=1e-12)
    assert np.allclose(motion.q, Q, rtol=0, atol=1e-12)
    if name == "UR RTDE":
        assert np.array_equal(motion.v, V)
    history = robot.load_history(tmp_path / "m.csv", ["elbow"], **options)
    loads = robot.joint_loads(motion, joints=["elbow"])
    assert np.isclose(history["elbow.mz"].largest.value, loads.moment[:, 0, 2].max(), rtol=1e-9)
    # Both say the same of what was read.
    assert [n for n in history.notes if "column" in n] == [n for n in motion.notes if "column" in n]


def test_what_was_taken_for_what_and_what_was_left_out_is_said(tmp_path):
    robot = arm()
    notes = robot.read_motion(written(tmp_path, READ["numbers from 1"][0])).notes
    assert "columns taken: 'q1' as shoulder, 'q2' as elbow, 'q3' as slide" in notes
    notes = robot.read_motion(written(tmp_path, READ["more columns"][0])).notes
    assert "columns left out, which are no part of the motion: elbow_current, mode" in notes
    silent = robot.read_motion(tmp_path / "m.csv", ignore=["elbow_current", "mo*"]).notes
    assert not [note for note in silent if "column" in note]


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (("time", "shoulder", "elbw", "slide"), PLAIN, "is this elbow.*--rename elbw=elbow"),
        (("time", *JOINTS, "elbow.vell"), np.c_[PLAIN, TIME], "--rename elbow.vell=elbow.vel"),
        (("time", "shoulder", "foo", "slide"), PLAIN, "1 missing: elbow; .*--rename foo=elbow"),
        (("A", "B", "C", "D"), PLAIN, "4 missing: time, shoulder.*--rename A=time"),
        (("clock1", *JOINTS), PLAIN, "--rename NAME=time"),
        (("time", "shoulder", "elbow"), PLAIN[:, :3], "1 missing: slide.*--rest"),
        (
            ("time", "Elbow", "ELBOW", "shoulder", "slide"),
            np.c_[PLAIN, TIME],
            "'Elbow' and 'ELBOW' are both elbow; .*--ignore 'ELBOW'",
        ),
        (("time", "shoulder [furlong]", "elbow", "slide"), PLAIN, r"expected a unit of rad"),
        (("time", "q1", "q2", "q4"), PLAIN, "--rename q1=shoulder"),
    ],
)
def test_a_table_that_is_not_understood_is_refused_with_the_option_to_use(
    columns, rows, said, tmp_path
):
    with pytest.raises(FileError, match=said):
        arm().read_motion(written(tmp_path, table(columns, rows)))


def test_columns_numbered_as_the_joints_are_renamed_by_one_pattern(tmp_path):
    parts = mbd.Builder("arm", root="link_0")
    for k in (1, 2):
        parts.link(f"link_{k}", 1.0)
        parts.joint(f"axis_of_{k}", "revolute", f"link_{k - 1}", f"link_{k}")
    robot = mbd.Mechanism.build(parts)
    path = written(tmp_path, table(("time", "A1", "A2"), PLAIN[:, :3]))
    with pytest.raises(FileError, match=r"--rename 'A\*=axis_of_\*'"):
        robot.read_motion(path)
    motion = robot.read_motion(path, rename={"A*": "axis_of_*"})
    assert np.array_equal(motion.q, PLAIN[:, 1:3])


def test_numbers_in_the_place_of_names_are_no_order_of_a_machine_that_branches(tmp_path):
    tree = mbd.Builder("tree")
    for name in ("a", "b"):
        tree.link(f"link_{name}", 1.0).joint(f"joint_{name}", "revolute", "base", f"link_{name}")
    robot = mbd.Mechanism.build(tree)
    path = written(tmp_path, table(("time", "q1", "q2"), PLAIN[:, :3]))
    with pytest.raises(FileError, match="say which is which, --rename q1=joint_a"):
        robot.read_motion(path)


def test_renames_of_what_is_not_there_are_refused(tmp_path):
    path = written(tmp_path, table(("time", *JOINTS), PLAIN))
    with pytest.raises(FileError, match="rename: no column named 'elbo'; did you mean 'elbow'"):
        arm().read_motion(path, rename={"elbo": "elbow"})
    with pytest.raises(FileError, match="rename: no coordinate or rate named 'elbo'"):
        arm().read_motion(path, rename={"elbow": "elbo"})
    for options, said in (
        ({"rename": {"a*b*": "*"}}, "at most one"),
        ({"rename": ["a"]}, "expected a mapping"),
        ({"unit": "furlong"}, "expected one of rad, deg, .*mm, .*got 'furlong'"),
        ({"gaps": "fill"}, "'refuse' or 'drop'"),
    ):
        with pytest.raises(StateError, match=said):
            arm().read_motion(path, **options)


def test_rows_with_gaps_are_refused_or_left_out_and_counted(tmp_path):
    lines = table(("time", *JOINTS), PLAIN).splitlines()
    lines[3] = lines[3].rpartition(",")[0] + ","
    lines[6] = "0.4567,nan,0,0"
    path = written(tmp_path, "\n".join(lines))
    with pytest.raises(FileError, match="--gaps drop"):
        arm().read_motion(path)
    motion = arm().read_motion(path, gaps="drop")
    assert np.array_equal(motion.q, np.delete(Q, [2, 5], axis=0))
    assert "2 rows with gaps left out" in motion.notes


def test_seconds_without_their_nanoseconds_are_refused(tmp_path):
    stamps = 1.7e9 + 10.0 * TIME
    rows = np.c_[np.floor(stamps), (stamps % 1.0) * 1e9, PLAIN[:, 1:]]
    path = written(tmp_path, table(("header.stamp.sec", "header.stamp.nanosec", *JOINTS), rows))
    with pytest.raises(FileError, match=r"two columns.*write one.*--ignore 'header.stamp.nanosec'"):
        arm().read_motion(path)


def test_milliseconds_taken_for_seconds_are_asked_about(tmp_path):
    rows = np.repeat(PLAIN, 10, axis=0)
    for step, said in ((5.0, True), (0.005, False)):
        rows[:, 0] = step * np.arange(len(rows))
        motion = arm().read_motion(written(tmp_path, table(("time", *JOINTS), rows)))
        assert (
            any("5 s from row to row: are these milliseconds?" in n for n in motion.notes) == said
        )


def test_times_of_a_clock_are_shown_to_the_millisecond(tmp_path):
    path = written(tmp_path, table(("timestamp", *JOINTS), np.c_[1.7e9 + TIME, Q]))
    robot = arm()
    loads = robot.joint_loads(robot.read_motion(path), joints="elbow")
    axes = loads.plot()
    assert axes[0].get_lines()[0].get_xdata()[-1] == 1.0
    assert "after 1700000000" in axes[-1].get_xlabel()


def test_times_of_a_clock_are_given_as_stamps_or_from_the_first_sample_on(tmp_path):
    path = written(tmp_path, table(("timestamp", *JOINTS), np.c_[1.7e9 + 0.25 + TIME, Q]))
    robot = arm()
    motion = robot.read_motion(path)
    size = {"motion": motion, "size": (64, 48)}
    pictures = [robot.render(time=t, **size) for t in (0.5, 1.7e9 + 0.75, 0.0)]
    assert np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])
    robot.render(time=1.0, **size)
    with pytest.raises(StateError, match=r"from 1700000000.25 to 1700000001.25 s"):
        robot.render(time=1.1, **size)
    body = robot.free_body("fore", motion)
    assert np.array_equal(body.at([TIME[4], motion.time[4]]).time, motion.time[[4, 4]])
    with pytest.raises(StateError, match=r"t = 1700000003.25 s is not .* 1700000001.25 s"):
        body.at(3.0)


def test_one_row_is_a_pose_at_rest(tmp_path):
    robot = arm()
    for columns, row in ((JOINTS, Q[:1]), (("time", *JOINTS), PLAIN[:1])):
        motion = robot.read_motion(written(tmp_path, table(columns, row)))
        assert not motion.v.any() and not motion.a.any()
        assert any("a pose at rest" in note for note in motion.notes)
        loads = robot.joint_loads(motion)
        still = robot.joint_loads(Q[:1], np.zeros((1, 3)), np.zeros((1, 3)))
        assert np.array_equal(loads.wrench, still.wrench)
    moving = table((*JOINTS, *(f"{n}.vel" for n in JOINTS)), np.c_[Q[:1], V[:1]])
    assert np.array_equal(robot.read_motion(written(tmp_path, moving)).v, V[:1])
