"""Claims about motions: the model does what the table says; what it leaves out is derived."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.files import read_urdf_text
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.tables.text import header_text, rows_text
from mbd_bridge.model import build_model
from mbd_bridge.motion.derivatives import degree, derivatives, rotation_rates
from mbd_bridge.motion.motion import motion_from_table
from tests.robots import own_urdfs

LINKS = ("ground", "arm", "slide", "ball", "tip", "finger", "thumb")
JOINTS = """
<joint name="elbow" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="rail" type="prismatic"><parent link="arm"/><child link="slide"/><axis xyz="1 0 0"/>
  <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="hip" type="spherical"><parent link="slide"/><child link="ball"/></joint>
<joint name="flange" type="fixed"><parent link="ball"/><child link="tip"/></joint>
<joint name="grip" type="continuous"><parent link="tip"/><child link="finger"/></joint>
<joint name="grip_too" type="continuous"><parent link="tip"/><child link="thumb"/>
  <mimic joint="grip" multiplier="-2" offset="0.5"/></joint>
"""

SPLINE_V, SPLINE_A = 1e-8, 1e-6
"""Errors of a spline of degree 5 at 5 ms on motions of about 1 rad and 3 rad/s, at the ends."""


@pytest.fixture(scope="module")
def model():
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in LINKS)
    return build_model(read_urdf_text(f'<robot name="r">{links}{JOINTS}</robot>'), floating=True)


def table(**columns):
    """Return a table; double underscores in a keyword stand for a point."""
    names = [name.replace("__", ".") for name in columns]
    values = np.column_stack(list(columns.values()))
    return make(names, values)


def make(names, values):
    return ColumnTable(
        tuple(map(Column, names)), values, np.arange(2, 2 + len(values)), "motion.csv"
    )


def path(model, rows=401, end=2.0):
    """Return times and an analytic motion: q, v, a of every coordinate.

    The base and the ball turn about fixed axes, by an angle that is a sine.
    """
    time = np.linspace(0.0, end, rows)
    q = np.tile(model.neutral(), (rows, 1))
    v, a = np.zeros((rows, model.nv)), np.zeros((rows, model.nv))
    names, rates = list(model.coordinate_names), list(model.velocity_names)
    for name, speed in (("elbow", 1.0), ("rail", 2.0), ("grip", 3.0)):
        i, k = names.index(name), rates.index(name)
        q[:, i], v[:, k] = np.sin(speed * time), speed * np.cos(speed * time)
        a[:, k] = -speed * speed * np.sin(speed * time)
    for joint, axis in (("hip", [0.6, 0.0, 0.8]), ("root_joint", [0.0, -1.0, 0.0])):
        i, k = names.index(f"{joint}.qx"), rates.index(f"{joint}.wx")
        angle, axis = 4.0 * np.sin(1.5 * time), np.array(axis)
        q[:, i : i + 3], q[:, i + 3] = np.sin(angle / 2)[:, None] * axis, np.cos(angle / 2)
        v[:, k : k + 3] = (6.0 * np.cos(1.5 * time))[:, None] * axis
        a[:, k : k + 3] = (-9.0 * np.sin(1.5 * time))[:, None] * axis
    # the base turns about -y and goes along x at p = t²: in its own axes v = Rᵀ (2t, 0, 0)
    angle, rate = -4.0 * np.sin(1.5 * time), -6.0 * np.cos(1.5 * time)
    q[:, 0] = time**2
    v[:, 0], v[:, 2] = np.cos(angle) * 2 * time, np.sin(angle) * 2 * time
    a[:, 0] = 2 * np.cos(angle) - np.sin(angle) * rate * 2 * time
    a[:, 2] = 2 * np.sin(angle) + np.cos(angle) * rate * 2 * time
    return time, q, v, a


def whole(model, time, q, v=None, a=None):
    names, parts = ["time", *model.coordinate_names], [time, q]
    for suffix, rate in ((".vel", v), (".acc", a)):
        if rate is not None:
            names += [name + suffix for name in model.velocity_names]
            parts.append(rate)
    return make(names, np.column_stack(parts))


def test_columns_that_are_there_are_taken_as_they_are(model):
    time, q, v, a = path(model)
    motion = motion_from_table(whole(model, time, q, v, a), model)
    assert np.array_equal(motion.v, v)
    assert np.array_equal(motion.a, a)
    assert np.allclose(motion.q, q, rtol=0, atol=1e-15)
    assert motion.notes == ("beyond the limits of the file: rail.vel (2 above 1 m/s)",)


def test_the_order_of_the_columns_has_no_meaning(model):
    time, q, v, a = path(model)
    given = whole(model, time, q, v, a)
    order = np.random.default_rng(0).permutation(len(given.columns))
    mixed = make([given.names[k] for k in order], given.values[:, order])
    assert np.array_equal(motion_from_table(mixed, model).a, a)


def test_derived_rates_are_those_of_the_analytic_motion(model):
    time, q, v, a = path(model)
    motion = motion_from_table(whole(model, time, q), model)
    assert np.abs(motion.v - v).max() < SPLINE_V * 100
    assert np.abs(motion.a - a).max() < SPLINE_A * 1000
    inner = slice(20, -20)
    assert np.abs(motion.v - v)[inner].max() < SPLINE_V
    assert np.abs(motion.a - a)[inner].max() < SPLINE_A
    assert "degree 5" in motion.notes[0]


@pytest.mark.parametrize("rows", [4, 5, 6, 7, 15, 47, 48, 49, 80, 81, 700])
@pytest.mark.parametrize("even", [True, False])
def test_derived_rates_are_those_of_the_spline_of_scipy(rows, even):
    rng = np.random.default_rng(rows)
    time = 5.0 + (np.arange(rows) if even else np.cumsum(rng.uniform(0.3, 1.7, rows)))
    values = np.sin(time[:, None] * [0.5, 1.0, 2.0]) * [1.0, 1e3, 1e-3]
    spline = make_interp_spline(time, values, k=degree(rows))
    for order, rates in zip((1, 2), derivatives(time, values, (1, 2)), strict=True):
        exact = spline.derivative(order)(time)
        assert np.abs(rates - exact).max(axis=0) / np.abs(exact).max(axis=0) == pytest.approx(
            0.0, abs=1e-12
        )


def test_derived_accelerations_converge_with_the_fourth_power_of_the_step(model):
    errors = []
    for rows in (101, 201):
        time, q, _, a = path(model, rows)
        motion = motion_from_table(whole(model, time, q), model)
        inner = slice(rows // 4, -rows // 4)
        errors.append(np.abs(motion.a - a)[inner].max())
    assert 12.0 < errors[0] / errors[1] < 20.0


def test_accelerations_come_from_the_velocities_where_these_are_given(model):
    time, q, v, a = path(model)
    rough = q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)
    motion = motion_from_table(whole(model, time, rough, v), model)
    assert np.abs(motion.a - a).max() < 100 * SPLINE_A
    assert "through the velocities" in motion.notes[0]


def test_uneven_times_are_obeyed(model):
    time = np.sort(np.random.default_rng(0).uniform(0, 2, 800))
    motion = motion_from_table(table(time=time, elbow=time**3), model, rest=True)
    k = motion.velocities.index("elbow")
    assert np.allclose(motion.v[:, k], 3 * time**2, atol=1e-7)
    assert np.allclose(motion.a[:, k], 6 * time, atol=1e-3)


def test_the_sign_of_a_quaternion_has_no_meaning():
    angle = np.linspace(0.0, 1.0, 50)[:, None] ** 2
    q = np.hstack([np.sin(angle / 2) * [0, 0.6, 0.8], np.cos(angle / 2)])
    signs = np.where(np.random.default_rng(0).random((50, 1)) < 0.5, -1.0, 1.0)
    time = np.linspace(0.0, 1.0, 50)
    for one, other in zip(rotation_rates(time, q), rotation_rates(time, signs * q), strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-9)


def test_a_quaternion_is_scaled_to_length_one_but_not_made_from_anything(model):
    time, q, v, a = path(model, 10)
    motion = motion_from_table(whole(model, time, np.round(q, 4), v, a), model)
    k = motion.coordinates.index("hip.qx")
    assert np.allclose(np.linalg.norm(motion.q[:, k : k + 4], axis=1), 1.0, rtol=0, atol=1e-15)
    q[7, k : k + 4] = [1.0, 0.0, 0.0, 1.0]
    with pytest.raises(FileError, match=r"motion.csv:9: expected a unit quaternion in hip.qx"):
        motion_from_table(whole(model, time, q, v, a), model)


def test_units_in_the_header_are_obeyed(model, tmp_path):
    time = np.linspace(0, 1000, 11)
    names = [Column("time", "ms"), Column("elbow", "deg"), Column("rail", "mm")]
    names += [Column("elbow.vel", "deg/s"), Column("rail.acc", "mm/s^2")]
    file = tmp_path / "m.csv"
    values = np.column_stack([time, 0 * time + 90, time, 0 * time + 180, 0 * time + 7])
    file.write_text(header_text(names) + rows_text(values))
    motion = motion_from_table(read_table(file), model, rest=True)
    i, k = motion.coordinates.index("elbow"), motion.velocities.index("elbow")
    assert motion.time[-1] == pytest.approx(1.0)
    assert np.allclose(motion.q[:, i], np.pi / 2)
    assert np.allclose(motion.q[-1, i + 1], 1.0)
    assert np.allclose(motion.v[:, k], np.pi)
    assert np.allclose(motion.v[:, k + 1], 1.0)  # from the positions: 1 m in 1 s
    assert np.allclose(motion.a[:, k + 1], 0.007)


def test_a_unit_of_something_else_is_refused(model):
    given = ColumnTable((Column("time"), Column("elbow", "mm")), np.eye(2), np.arange(2), "m.csv")
    with pytest.raises(
        FileError, match=r"expected times|unit of rad, got \[mm\]; available: rad, deg"
    ):
        motion_from_table(given, model, rest=True)


def test_missing_coordinates_are_listed_or_held_at_zero(model):
    time = np.linspace(0, 1, 11)
    with pytest.raises(FileError, match=r"12 missing: root_joint.x.*hip.qw, grip; .*--rest"):
        motion_from_table(table(time=time, elbow=time, rail=time), model)
    motion = motion_from_table(table(time=time, elbow=time, rail=time), model, rest=True)
    held = model.neutral()
    held[[7, 8]] = motion.q[5, [7, 8]]
    assert np.array_equal(motion.q[5], held)
    moving = [motion.velocities.index(name) for name in ("elbow", "rail")]
    assert not np.delete(motion.v, moving, axis=1).any()
    assert not np.delete(motion.a, moving, axis=1).any()
    assert "held in the neutral position" in motion.notes[0]


def test_half_a_quaternion_and_a_rate_without_its_position_are_refused_with_rest(model):
    time = np.linspace(0, 1, 11)
    with pytest.raises(FileError, match=r"four columns, hip.qy, hip.qz, hip.qw missing"):
        motion_from_table(table(time=time, hip__qx=time), model, rest=True)
    with pytest.raises(FileError, match=r"column 'elbow.vel': there is a column for the rate"):
        motion_from_table(table(time=time, elbow__vel=time), model, rest=True)
    with pytest.raises(FileError, match=r"column 'hip.wx.acc'"):
        motion_from_table(table(time=time, hip__wx__acc=time), model, rest=True)


def test_unknown_columns_are_refused_with_the_nearest_names(model):
    time = np.linspace(0, 1, 11)
    with pytest.raises(FileError, match=r"'elbo'; did you mean 'elbow'"):
        motion_from_table(table(time=time, elbo=time), model)
    with pytest.raises(FileError, match=r"2 columns are unknown: torque, extra"):
        motion_from_table(table(time=time, torque=time, extra=time), model)
    with pytest.raises(FileError, match=r"its coordinates are hip.qx, hip.qy, hip.qz, hip.qw"):
        motion_from_table(table(time=time, hip=time), model)
    with pytest.raises(FileError, match=r"a fixed joint has none"):
        motion_from_table(table(time=time, flange=time), model)


def test_times_must_be_there_and_grow(model):
    with pytest.raises(FileError, match=r"expected a column 'time'.*has: tick, elbow"):
        motion_from_table(table(tick=[0.0, 1.0], elbow=[0.0, 1.0]), model)
    with pytest.raises(FileError, match=r"motion.csv:4: column 'time': .* 0.5 s comes after 1 s"):
        motion_from_table(table(time=[0.0, 1.0, 0.5], elbow=[0.0, 1.0, 2.0]), model)
    with pytest.raises(FileError, match=r"1 s stands twice"):
        motion_from_table(table(time=[0.0, 1.0, 1.0], elbow=[0.0, 1.0, 2.0]), model)


def test_too_few_rows_for_a_spline_are_refused_and_one_row_with_rates_is_enough(model):
    with pytest.raises(FileError, match=r"expected 4 rows or more .* got 3; .*elbow.vel"):
        motion_from_table(table(time=[0.0, 1.0, 2.0], elbow=[0.0, 1.0, 2.0]), model, rest=True)
    time, q, v, a = path(model, 4)
    four = motion_from_table(whole(model, time, q), model)
    assert "degree 3" in four.notes[0]
    one = motion_from_table(whole(model, time[:1], q[:1], v[:1], a[:1]), model)
    assert np.array_equal(one.a, a[:1])


def test_the_column_of_a_coupled_joint_must_say_what_its_leader_says(model):
    time = np.linspace(0, 1, 11)
    motion_from_table(table(time=time, grip=time, grip_too=0.5 - 2 * time), model, rest=True)
    wrong = 0.5 - 2 * time
    wrong[4] += 0.1
    with pytest.raises(FileError, match=r"motion.csv:6: column 'grip_too': .* follows 'grip'"):
        motion_from_table(table(time=time, grip=time, grip_too=wrong), model, rest=True)


def test_wrapped_angles_gaps_and_limits_are_said(model):
    time = np.append(np.linspace(0, 1, 101), 9.0)
    angle = (7 * time + np.pi) % (2 * np.pi) - np.pi
    motion = motion_from_table(table(time=time, elbow=angle), model, rest=True)
    said = " | ".join(motion.notes)
    assert "elbow jumps by" in said
    assert "a gap of 8 s" in said
    assert "beyond the limits of the file: elbow (3." in said


def test_numbers_too_large_for_a_spline_are_refused(model):
    time = np.linspace(0, 1, 11)
    huge = np.where(np.arange(11) % 2, 1e308, -1e308)
    with pytest.raises(FileError, match=r"rates of 'elbow' .* not finite"):
        motion_from_table(table(time=time, elbow=huge), model, rest=True)


def test_a_motion_is_read_for_a_mechanism_in_one_call():
    path = own_urdfs()["kuka_iiwa"]
    arm = mbd.load(path)
    motion = arm.read_motion(path.with_name("kuka_iiwa_motion.csv"))
    assert motion.q.shape == (len(motion.time), arm.nq)
    assert any("spline" in note for note in motion.notes)
