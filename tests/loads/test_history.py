"""Claims about files of loads and motions: independent readers and we find what was computed."""

from __future__ import annotations

from dataclasses import replace

import h5py
import numpy as np
import pandas
import pyarrow.parquet
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, ModelError, StateError
from mbd_bridge.files.tables import Column, TableWriter, read_table
from mbd_bridge.loads import Convention

KINDS = ("csv", "parquet", "npz", "h5")
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"]


@pytest.fixture(scope="module")
def run(bar):
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    return bar.simulate(0.3, q=q, every=10)


def gears():
    """A wheel that actuators a rack by gears: an actuator with the gears' name."""
    parts = mbd.Builder("gears")
    parts.link("wheel", 1.0, inertia=(0.1, 0.1, 0.1)).link("rack", 2.0, inertia=(0.1, 0.1, 0.1))
    parts.joint("turn", "revolute", "base", "wheel", axis=(0, 0, 1))
    parts.joint("slide", "prismatic", "base", "rack", axis=(1, 0, 0))
    parts.couple("mesh", "slide", "turn", 0.3)
    return mbd.Mechanism.build(parts)


def assert_same(one, other):
    assert one.joints == other.joints
    assert one.actuation_names == other.actuation_names
    assert one.actuation_of == other.actuation_of
    assert one.convention == other.convention
    for name in (
        "force",
        "moment",
        "actuation",
        "reaction_force",
        "reaction_moment",
        "time",
        "speed",
    ):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b), name
    assert np.array_equal(one.determined, other.determined)
    assert one.unique.shape == other.unique.shape
    assert np.array_equal(one.actuation_unique.all(axis=0), other.actuation_unique.all(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_loads_read_back_whole(tmp_path, arm, motion, kind):
    loads = arm.joint_loads(motion, joints=JOINTS, reaction=True, on="parent", in_="world")
    loads.save(tmp_path / f"l.{kind}")
    assert_same(replace(loads, speed=None), arm.read_loads(tmp_path / f"l.{kind}"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_simulation_with_its_loads_reads_back_as_motion_and_as_loads(tmp_path, bar, run, kind):
    loads = run.joint_loads()
    assert not loads.unique.all()
    run.save(tmp_path / f"r.{kind}", loads)
    assert_same(loads, bar.read_loads(tmp_path / f"r.{kind}"))
    motion = bar.read_motion(tmp_path / f"r.{kind}")
    assert motion.notes == ()
    for name in ("time", "q", "v", "a"):
        assert np.array_equal(getattr(motion, name), getattr(run, name)), name
    again = tmp_path / f"again.{kind}"
    motion.save(again)
    assert np.array_equal(bar.read_motion(again).a, run.a)


def test_independent_readers_find_loads_units_and_convention(tmp_path, arm, motion):
    loads = arm.joint_loads(motion, joints=JOINTS)
    for kind in KINDS:
        loads.save(tmp_path / f"l.{kind}", notes=["measured on a Monday"])
    wanted = loads["lbr_iiwa_joint_3"].moment[:, 1]
    frame = pandas.read_parquet(tmp_path / "l.parquet")
    assert np.array_equal(frame["lbr_iiwa_joint_3.my"], wanted)
    assert frame.attrs["units"]["lbr_iiwa_joint_3.my"] == "N m"
    assert frame.attrs["load"] == str(loads.convention)
    assert frame.attrs["notes"] == "measured on a Monday"
    table = pyarrow.parquet.read_table(tmp_path / "l.parquet")
    assert np.array_equal(table["lbr_iiwa_joint_3.my"].to_numpy(), wanted)
    with h5py.File(tmp_path / "l.h5") as file:
        assert np.array_equal(file["lbr_iiwa_joint_3.my"][:], wanted)
        assert file["lbr_iiwa_joint_3.my"].attrs["units"].decode() == "N m"
        assert file.attrs["load"].decode() == str(loads.convention)
        assert file.attrs["content"].decode() == "joint loads of kuka_iiwa"
    with np.load(tmp_path / "l.npz", allow_pickle=False) as file:
        assert np.array_equal(file["lbr_iiwa_joint_3.my"], wanted)
    text = (tmp_path / "l.csv").read_text()
    assert f"# load: {loads.convention}\n" in text
    assert "lbr_iiwa_joint_3.my [N m]" in text


def test_undetermined_columns_say_so_in_every_file(tmp_path, run):
    loads = run.joint_loads("coupler_pin")
    for kind in KINDS:
        loads.save(tmp_path / f"l.{kind}")
        table = read_table(tmp_path / f"l.{kind}")
        assert "coupler_pin.fy (undetermined)" in table.names
        assert "smallest solution" in table.attributes["undetermined"]


def test_flags_of_every_state_become_one_of_the_column(tmp_path, bar, run):
    loads = run.joint_loads("coupler_pin")
    flags = np.ones((len(run.time), 1, 6), dtype=bool)
    flags[7, 0, 2] = False
    replace(loads, unique=flags).save(tmp_path / "l.csv")
    assert bar.read_loads(tmp_path / "l.csv").determined.tolist() == [[1, 1, 0, 1, 1, 1]]


def test_actuators_of_gears_read_back(tmp_path):
    machine = gears()
    run = machine.simulate(0.05, torque={"turn": 1.0}, every=10)
    loads = run.joint_loads()
    loads.save(tmp_path / "g.h5")
    names = read_table(tmp_path / "g.h5").columns
    assert Column("mesh.actuation", "N") in names
    assert_same(replace(loads, speed=None), machine.read_loads(tmp_path / "g.h5"))
    k = loads.actuation_names.index("mesh")
    assert np.array_equal(loads.speed[:, k], run.v[:, 1])  # how the rack moves


def test_speeds_are_those_along_the_actuators(motion, arm):
    loads = arm.joint_loads(motion, joints=JOINTS)
    assert loads.actuation_names == ("lbr_iiwa_joint_3",)
    assert np.array_equal(loads.speed[:, 0], motion.v[:, 2])


def test_the_power_of_all_actuators_is_the_rate_of_the_energy():
    """Speeds of mimics too: what the actuators give is what the simulation's energy gains."""
    parts = mbd.Builder("two")
    for name in ("a", "b"):
        parts.link(name, 1.0, (0.3, 0, 0), (0.1, 0.2, 0.3))
    parts.joint("one", "revolute", "base", "a", axis=(0, 1, 0))
    follows = {"mimic": "one", "multiplier": -2.0, "offset": 0.1}
    parts.joint("two", "revolute", "a", "b", (0.5, 0, 0), axis=(0, 1, 0), **follows)
    machine = mbd.Mechanism.build(parts)
    run = machine.simulate(0.5, torque={"one": 3.0}, every=1)
    loads = run.joint_loads()
    power = np.sum(loads.actuation * loads.speed, axis=1)
    work = np.sum(np.diff(run.time) * 0.5 * (power[1:] + power[:-1]))
    assert work == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-5)


@pytest.mark.parametrize(
    "convention",
    [
        Convention.of(on, at, in_)
        for on in ("child", "parent")
        for at in ("joint", "parent", (0.1, -2e-3, 1 / 3))
        for in_ in ("child", "parent", "world")
    ],
)
def test_a_convention_reads_back_from_its_text(convention):
    assert Convention.from_text(str(convention)) == convention


def test_what_is_no_convention_is_refused():
    with pytest.raises(ModelError, match="one reads: parent on child, at the joint's origin"):
        Convention.from_text("in my own axes")


def test_loads_without_times_or_of_one_state_are_not_saved(tmp_path, arm, motion):
    loads = arm.joint_loads(motion.q, motion.v, motion.a, JOINTS)
    with pytest.raises(StateError, match=r"give time=\(N,\) s"):
        loads.save(tmp_path / "l.csv")
    with pytest.raises(StateError, match="expected 201, one a state"):
        loads.save(tmp_path / "l.csv", motion.time[:-1])
    with pytest.raises(StateError, match="as many times as states"):
        loads.along(motion.time[:-1], motion.v[:-1])
    loads.save(tmp_path / "l.csv", motion.time)
    with pytest.raises(StateError, match="got one state"):
        arm.joint_loads(motion.q[0], motion.v[0], motion.a[0]).save(tmp_path / "m.csv", [0.0])
    with pytest.raises(StateError, match="has its own v and a"):
        arm.joint_loads(motion, motion.v)
    with pytest.raises(StateError, match="expected q, v, a or a motion"):
        arm.joint_loads(motion.q)


def rewritten(path, change):
    """Write a table again with other columns, values or attributes."""
    table = read_table(path)
    columns, values, said = change(list(table.columns), table.values.copy(), table.attributes)
    with TableWriter(path, columns, said) as out:
        out.append(values)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c, v, s: (c, v, {}), "does not say on whom"),
        (lambda c, v, s: (c, v, s | {"load": "mine"}), "no convention of loads: 'mine'"),
        (lambda c, v, s: (c[:1] + c[2:], np.delete(v, 1, 1), s), r"columns <joint>.fx"),
        (lambda c, v, s: (c[1:], v[:, 1:], s), "expected a column 'time'"),
        (lambda c, v, s: (c[:7], v[:, :7], s), "lbr_iiwa_joint_3.actuation"),
        (
            lambda c, v, s: ([c[0], Column(c[1].name, "N m"), *c[2:]], v, s),
            r"'lbr_iiwa_joint_3.fx': expected a unit of N, got \[N m\]; available: N, kN",
        ),
        (lambda c, v, s: (c, v[::-1], s), "1.99 s comes after 2 s"),
        (lambda c, v, s: (c, v[[0, 1, 1, 2]], s), "0.01 s stands twice"),
        (lambda c, v, s: (c, v + (np.arange(201) > 150)[:, None] * 1e5, s), "clock jumps by 1000"),
    ],
)
def test_bad_histories_are_refused(tmp_path, arm, motion, kind, change, words):
    path = tmp_path / f"l.{kind}"
    arm.joint_loads(motion, joints="lbr_iiwa_joint_3").save(path)
    rewritten(path, change)
    with pytest.raises(FileError, match=words):
        arm.read_loads(path)


def test_kilonewtons_are_obeyed(tmp_path, arm, motion):
    loads = arm.joint_loads(motion, joints="lbr_iiwa_joint_3")
    loads.save(tmp_path / "l.npz")

    def in_kilo(columns, values, said):
        values[:, 1:4] *= 1e-3
        return [Column(c.name, "kN" if c.unit == "N" else c.unit) for c in columns], values, said

    path = rewritten(tmp_path / "l.npz", in_kilo)
    assert np.allclose(arm.read_loads(path).force, loads.force, rtol=1e-15)


def test_load_columns_beside_a_motion_are_not_taken_for_coordinates_of_another_file(tmp_path, bar):
    path = tmp_path / "m.csv"
    path.write_text("time,crank,coupler_pin.fx\n0,1,2\n")
    notes = bar.read_motion(path, rest=True).notes
    assert "columns left out, which are no part of the motion: coupler_pin.fx" in notes


def test_loads_that_are_not_finite_are_saved_only_if_that_is_said(tmp_path, bar, run):
    q = run.q.copy()
    q[3, 1] = np.nan
    loads = bar.joint_loads(q, run.v, run.a, ["crank"], actuated="crank", check=False)
    with pytest.raises(FileError, match=r"row 3 .*column 'crank.fx.* got nan; .*gaps=True"):
        loads.save(tmp_path / "l.csv", run.time)
    with pytest.raises(FileError, match="got nan"):
        run.save(tmp_path / "l.csv", loads)
    assert not list(tmp_path.iterdir())
    loads.save(tmp_path / "l.csv", run.time, gaps=True)
    run.save(tmp_path / "r.csv", loads, gaps=True)
    for name in ("l.csv", "r.csv"):
        rows = [x for x in (tmp_path / name).read_text().splitlines() if x[0] != "#"][1:]
        assert [k for k, row in enumerate(rows) if "nan" in row] == [3]
