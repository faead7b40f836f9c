"""Claims about pictures: what is drawn is what was computed, labelled, and marked if in doubt."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plot_style import COLOURS, envelope
from mbd_bridge.base.plots import Panel, PlotLine, TorqueSpeed, draw_panels, draw_torque_speed
from tests.robots import own_urdfs

matplotlib.use("Agg")

JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]


@pytest.fixture(scope="module")
def loads(arm, motion):
    return arm.joint_loads(motion, joints=JOINTS)


@pytest.fixture(scope="module")
def run():
    bar = mbd.load(own_urdfs()["four_bar"])
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    watch = {"level": lambda t, q, v: q[0] - 1.0}
    return bar.simulate(0.6, q=q, every=5, events=watch)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def words(figure):
    """Return every text in a picture."""
    found = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    return "\n".join(found)


def test_lines_are_the_loads(loads, motion):
    axes = loads.plot()
    assert [ax.get_title(loc="left") for ax in axes] == [
        "lbr_iiwa_joint_3: force",
        "lbr_iiwa_joint_3: moment",
        "lbr_iiwa_joint_3: actuation",
        "lbr_iiwa_joint_ee: force",
        "lbr_iiwa_joint_ee: moment",
        "lbr_iiwa_joint_ee: no actuation",
    ]
    for row in range(2):
        for ax, vectors in zip(axes[3 * row :], (loads.force, loads.moment), strict=False):
            for i, line in enumerate(ax.lines):
                assert np.array_equal(line.get_xdata(), motion.time)
                assert np.array_equal(line.get_ydata(), vectors[:, row, i])
    assert np.array_equal(axes[2].lines[0].get_ydata(), loads.actuation[:, 0])
    assert not axes[5].lines


def test_labels_tell_quantity_unit_component_and_convention(arm, motion):
    world = arm.joint_loads(motion, joints=JOINTS[0], in_="world", on="parent")
    axes = world.plot(resultant=True)
    assert [ax.get_ylabel() for ax in axes] == ["force [N]", "moment [N m]", "actuation [N m]"]
    assert axes[-1].get_xlabel() == "time [s]"
    assert labels(axes[1]) == ["mx", "my", "mz", "length"]
    length = axes[0].lines[3].get_ydata()
    assert np.allclose(length, np.linalg.norm(world.force[:, 0], axis=1))
    assert str(world.convention) in words(axes[0].figure)


def test_forces_of_a_slide_are_newtons():
    crank = mbd.load(own_urdfs()["slider_crank"])
    run = crank.simulate(0.05, q=crank.assemble({"crank": 0.5}, fixed="crank").q)
    (slide,) = [joint.name for joint in crank.model.joints if joint.type.name == "prismatic"]
    assert run.joint_loads(slide).plot(quantities="actuation")[0].get_ylabel() == "actuation [N]"
    units = {ax.get_ylabel() for ax in run.plot(quantities=["q", "v", "a", "tau"])}
    assert {"angle [rad]", "velocity [m/s]", "torque [N m]", "force [N]"} <= units


def test_what_is_undetermined_is_grey_dashed_and_named(run):
    axes = run.joint_loads("coupler_pin").plot()
    force, moment = axes
    assert labels(force) == ["fx", "fy (undetermined)", "fz"]
    assert labels(moment) == ["mx (undetermined)", "my", "mz (undetermined)"]
    doubtful = force.lines[1]
    assert doubtful.get_color() == "0.55"
    assert doubtful.is_dashed()
    assert all(line.get_color() in COLOURS and not line.is_dashed() for line in force.lines[::2])


def test_a_component_that_is_undetermined_for_a_while_is_grey_only_there(loads):
    flags = np.ones((len(loads.time), 2, 6), dtype=bool)
    flags[50:60, 0, 0] = False
    (ax,) = replace(loads, unique=flags).plot(JOINTS[0], "force")
    sure, unsure = ax.lines[:2]
    assert np.flatnonzero(np.isnan(sure.get_ydata())).tolist() == list(range(50, 60))
    assert np.flatnonzero(~np.isnan(unsure.get_ydata())).tolist() == list(range(49, 61))
    assert labels(ax)[:2] == ["fx", "fx (undetermined)"]


def test_without_times_the_states_are_counted(arm, motion):
    (ax,) = arm.joint_loads(motion.q, motion.v, motion.a, JOINTS[1]).plot(quantities="force")
    assert ax.get_xlabel() == "number of the state"
    assert ax.lines[0].get_xdata()[-1] == 200


def test_pictures_go_into_axes_that_are_given_and_settings_stay(loads):
    before = dict(matplotlib.rcParams)
    figure, (left, right) = pyplot.subplots(1, 2)
    axes = loads.plot(JOINTS[0], ["force", "moment"], ax=[left, right])
    assert axes == [left, right]
    assert left.get_xlabel() == f"time [s]\n{loads.convention}"
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == [figure.number]
    with pytest.raises(StateError, match="expected 3 axes in ax=, one a panel, got 2"):
        loads.plot(JOINTS[0], ax=[left, right])


def test_wrong_names_are_told(loads, arm, motion, run):
    with pytest.raises(StateError, match=r"no joint in these loads named 'a'"):
        loads.plot("a")
    with pytest.raises(StateError, match=r"no quantity named 'forces'; did you mean 'force'"):
        loads.plot(quantities="forces")
    with pytest.raises(StateError, match=r"fixed joints have no actuator"):
        loads.plot(JOINTS[1], "actuation")
    with pytest.raises(StateError, match="got one state"):
        arm.joint_loads(motion.q[0], motion.v[0], motion.a[0]).plot()
    with pytest.raises(StateError, match="speeds of these actuators are not known"):
        arm.joint_loads(motion.q, motion.v, motion.a).plot_torque_speed()
    with pytest.raises(StateError, match="no actuation in these loads named 'a'"):
        loads.plot_torque_speed("a")
    with pytest.raises(StateError, match=r"'lbr_iiwa_joint_ee' has no axis.*plane='xy' or"):
        loads.plot_polar(JOINTS[1])
    with pytest.raises(StateError, match="plane='xz' is not known"):
        loads.plot_polar(JOINTS[0], plane="xz")
    with pytest.raises(StateError, match="axis of a joint turns"):
        arm.joint_loads(motion, joints=JOINTS[0], in_="world").plot_polar()
    with pytest.raises(StateError, match="expected polar axes"):
        loads.plot_polar(JOINTS[0], ax=pyplot.subplots()[1])
    with pytest.raises(StateError, match="no coordinate or joint named 'cranc'"):
        run.plot("cranc")
    with pytest.raises(StateError, match="no quantity named 'x'"):
        run.plot(quantities="x")
    with pytest.raises(StateError, match="no loops"):
        arm.simulate(0.01).plot_closure()


def test_torque_over_speed_is_the_actuator_with_peak_rms_power_and_limits(loads, motion):
    (ax,) = loads.plot_torque_speed()
    torque, speed = loads.actuation[:, 0], motion.v[:, 2]
    drawn = {line.get_label(): line for line in ax.lines}
    driving, braking = drawn["motoring"].get_ydata(), drawn["braking"].get_ydata()
    both = np.where(np.isnan(driving), braking, driving)
    assert np.array_equal(both, torque)
    assert np.array_equal(drawn["motoring"].get_xdata(), speed)
    assert np.array_equal(np.isnan(braking), torque * speed >= 0.0)
    k, power = np.argmax(np.abs(torque)), torque * speed
    said = labels(ax)
    assert f"peak {torque[k]:.4g} N m at {motion.time[k]:.4g} s" in said
    for name, size in (("motoring", power), ("braking", -power)):
        p = np.argmax(size)
        assert f"{name} {size[p]:.4g} W at {motion.time[p]:.4g} s" in said
    assert f"RMS {np.sqrt(np.mean(torque**2)):.4g} N m" in said
    assert "limit of the file 200 N m (5% used)" in said
    assert "limit of the file 2 rad/s (79% used)" in said
    dashed = [line.get_xdata() for line in ax.lines if line.get_linestyle() == "--"]
    assert [list(x) for x in dashed if len(x)][2:] == [[2.0, 2.0], [-2.0, -2.0]]
    assert ax.get_xlabel() == "speed [rad/s]" and ax.get_ylabel() == "torque [N m]"
    assert "speed [rpm]" in words(ax.figure)


def test_a_actuator_without_limits_has_none_and_a_slide_has_newtons():
    ax = pyplot.subplots()[1]
    t = np.linspace(0.0, 1.0, 50)
    draw_torque_speed(ax, TorqueSpeed("slide", t, 3.0 * np.cos(t), np.sin(t), "N", "m/s"))
    assert ax.get_ylabel() == "force [N]" and ax.get_xlabel() == "speed [m/s]"
    assert not [text for text in labels(ax) if "limit" in text or "brakes" in text]


def test_directions_are_those_of_the_force_across_the_joints_axis(loads):
    (ax,) = loads.plot_polar(JOINTS[0])  # its axis is z
    angle, size = ax.lines[0].get_data()
    assert np.allclose(size * np.cos(angle), loads.force[:, 0, 0])
    assert np.allclose(size * np.sin(angle), loads.force[:, 0, 1])
    assert [label.get_text() for label in ax.get_xticklabels()][:3] == ["x+", "45°", "y+"]
    k = int(np.argmax(size))
    assert f"peak {size[k]:.4g} N at {np.degrees(angle[k]) % 360:.0f}°" in labels(ax)[1]
    (other,) = loads.plot_polar(JOINTS[0], plane="zx")
    angle, size = other.lines[0].get_data()
    assert np.allclose(size * np.cos(angle), loads.force[:, 0, 2])


def test_joints_without_an_axis_have_no_direction_of_their_own(loads):
    assert len(loads.plot_polar()) == 1
    assert len(loads.plot_polar(plane="xy")) == 2


def test_the_plane_across_an_oblique_axis_is_square_to_it():
    parts = mbd.Builder("tilted").link("arm", 1.0, (0.2, 0.1, 0.0), (0.1, 0.1, 0.1))
    parts.joint("hinge", "revolute", "base", "arm", axis=(1.0, 2.0, -2.0), rpy=(0.3, 0.2, 0.1))
    machine = mbd.Mechanism.build(parts)
    run = machine.simulate(0.3)
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    for in_ in ("child", "parent"):
        found = run.joint_loads("hinge", in_=in_)
        size = found.plot_polar()[0].lines[0].get_ydata()
        turn = np.eye(3) if in_ == "child" else machine.model.description.joints[0].origin.rotation
        turned, force = turn @ axis, found.force[:, 0]
        assert np.allclose(size**2, np.sum(force**2, axis=1) - (force @ turned) ** 2)


def test_undetermined_directions_are_grey(run):
    (ax,) = run.joint_loads("coupler_pin").plot_polar(plane="xy")
    assert "(undetermined)" in labels(ax)[0]
    assert ax.lines[0].is_dashed()
    (ax,) = run.joint_loads("coupler_pin").plot_polar(plane="zx")
    assert labels(ax)[0] == "tip of the force"


def test_motions_are_drawn_with_units_and_events(run):
    axes = run.plot(quantities=("q", "v", "a"))
    for ax, values in zip(axes, (run.q, run.v, run.a), strict=True):
        for line, column in zip(ax.lines[:3], values.T, strict=True):
            assert np.array_equal(line.get_ydata(), column)
    (event,) = run.events["level"].time
    assert axes[0].lines[3].get_xdata()[0] == event
    assert "level" in words(axes[0].figure)
    assert len(run.plot("crank")[0].lines) == 2


def test_a_motion_from_a_file_is_drawn_too(motion):
    q, a = motion.plot("lbr_iiwa_joint_3", ["q", "a"])
    assert np.array_equal(q.lines[0].get_ydata(), motion.q[:, 2])
    assert np.array_equal(a.lines[0].get_ydata(), motion.a[:, 2])
    assert a.get_ylabel() == "angular acceleration [rad/s^2]"


def test_many_coordinates_stand_in_several_panels():
    body = mbd.load(own_urdfs()["humanoid"])
    axes = body.simulate(0.003).plot(quantities="q")
    drawn = [line.get_label() for ax in axes for line in ax.lines]
    assert drawn == list(body.coordinate_names)
    assert max(len(ax.lines) for ax in axes) <= 9
    assert axes[0].get_title(loc="left") == "humanoid: angle (1 of 4)"


def test_a_single_line_is_named_in_the_legend_if_not_in_the_title(run, loads):
    assert labels(run.plot("crank", "q")[0]) == ["crank"]
    assert loads.plot(JOINTS[0], "actuation")[0].get_legend() is None


def test_closure_is_drawn_on_a_logarithmic_axis_with_the_bound(run):
    ax = run.plot_closure()
    assert ax.get_yscale() == "log"
    assert np.array_equal(ax.lines[0].get_ydata(), np.maximum(run.closure, 1e-18))
    assert labels(ax) == ["largest residual", "1e-12: counts as closed"]


def test_peaks_of_a_million_points_stay_where_they_were():
    rng = np.random.default_rng(0)
    x = np.arange(1_000_003.0)
    y = np.sin(x / 1e5) + 0.1 * rng.normal(size=len(x))
    y[123_456], y[999_999] = 9.0, -7.0
    (ax,) = draw_panels(x, "time [s]", [Panel("noise", "force", "N", (PlotLine("fx", y),))])
    there, drawn = ax.lines[0].get_data()
    assert len(drawn) < 10_000
    assert np.array_equal(drawn, y[there.astype(int)])
    assert {123_456.0, 999_999.0, 0.0, 1_000_002.0} <= set(there)
    for piece in range(100):  # the envelope is that of all points, to a hundredth of the picture
        part = slice(piece * 10_000, (piece + 1) * 10_000)
        inside = drawn[(there >= part.start) & (there < part.stop)]
        assert inside.max() == y[part].max() and inside.min() == y[part].min()


@pytest.mark.parametrize("rows", [1, 2, 7999, 8000, 8001, 16_001, 30_000])
def test_an_envelope_keeps_ends_and_extremes_and_few_points(rows):
    y, z = np.random.default_rng(rows).normal(size=(2, rows))
    kept = envelope(y, z)
    assert np.array_equal(kept, np.unique(kept))
    assert {0, rows - 1, int(y.argmax()), int(z.argmin())} <= set(kept.tolist())
    assert len(kept) <= 8000 + 10


def test_rounding_errors_do_not_fill_a_panel():
    noise = 1e-15 * np.random.default_rng(0).normal(size=50)
    (ax,) = draw_panels(
        np.arange(50.0),
        "time [s]",
        [Panel("a", "force", "N", (PlotLine("f", noise),), floor=1e-12)],
    )
    assert ax.get_ylim() == (-1.0, 1.0)


def test_a_line_on_another_one_lets_it_be_seen(run):
    """In a parallelogram crank and rocker turn alike."""
    crank, elbow, rocker = run.plot(quantities="q")[0].lines[:3]
    assert [line.is_dashed() for line in (crank, elbow, rocker)] == [False, False, True]
    assert rocker.get_color() != "0.55"


def test_many_lines_have_looks_of_their_own():
    lines = tuple(PlotLine(f"q{k}", np.full(3, float(k))) for k in range(21))
    (ax,) = draw_panels(np.arange(3.0), "time [s]", [Panel("a", "angle", "rad", lines)])
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 21
    assert len(labels(ax)) == 21


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_pictures_are_written_without_a_display(loads, tmp_path, suffix, magic):
    figure = loads.plot()[0].figure
    figure.savefig(tmp_path / f"l.{suffix}")
    assert (tmp_path / f"l.{suffix}").read_bytes().startswith(magic)


def test_nothing_is_written_over_something_else(loads, run):
    """Words of a panel's title and legend lie beside each other, not over each other."""
    for axes in (loads.plot(), run.joint_loads().plot(["coupler_pin", "crank"])):
        figure = axes[0].figure
        figure.canvas.draw()
        boxes = []
        for ax in axes:
            boxes.append(ax.title.get_window_extent())
            left = ax._left_title.get_window_extent()
            boxes.append(left)
            if ax.get_legend() is not None:
                boxes.append(ax.get_legend().get_window_extent())
        boxes = [box for box in boxes if box.width > 1 and box.height > 1]
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                wide = min(one.x1, other.x1) - max(one.x0, other.x0)
                high = min(one.y1, other.y1) - max(one.y0, other.y0)
                assert wide <= 1 or high <= 2


def test_importing_and_computing_load_no_matplotlib_and_no_scipy():
    """SciPy alone takes 0.15 s to import, as long as all else that a first answer needs."""
    script = (
        "import sys, numpy as np, mbd_bridge as mbd; "
        f"bar = mbd.load({str(own_urdfs()['crank_rocker'])!r}); "
        "run = bar.simulate(q=bar.assemble({'crank': 0.5}, fixed='crank').q, duration=0.01); "
        "run.joint_loads(['crank']); "
        "print({'matplotlib', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_the_power_of_ten_of_small_angles_does_not_stand_on_the_legend():
    x = np.linspace(0.0, 1.0, 50)
    lines = tuple(
        PlotLine(name, 4e-5 * np.sin(9 * x + k)) for k, name in enumerate(("mx", "my", "mz"))
    )
    (ax,) = draw_panels(x, "time [s]", [Panel("finger", "angle", "rad", lines)], size=(4.3, 2.5))
    ax.figure.draw_without_rendering()
    power = ax.yaxis.get_offset_text()
    assert power.get_text().endswith("5")
    assert not power.get_window_extent().overlaps(ax.get_legend().get_window_extent())
    assert not power.get_window_extent().overlaps(ax._left_title.get_window_extent())
