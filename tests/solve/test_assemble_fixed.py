"""With coordinates held, loops close wherever they can; what cannot be is refused, and why."""

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from tests.machines import four_bar
from tests.robots import own_urdfs
from tests.solve.closable import PLANAR, SPATIAL, faults, leg_faults

HELD = [(stem, name) for stem, names in PLANAR.items() for name in names]


@pytest.mark.parametrize(("stem", "name"), HELD, ids=" ".join)
def test_planar_loops_close_exactly_where_the_circles_meet(stem, name):
    assert faults(stem, name, 60) == []


RODS = [(s, n) for s, names in SPATIAL.items() for n in names if n[-1] not in "23456"]


@pytest.mark.parametrize(("stem", "name"), RODS, ids=" ".join)
def test_rods_between_balls_close_exactly_where_they_are_long_enough(stem, name):
    assert faults(stem, name, 16) == []


def test_a_stewart_platform_finds_a_pose_to_the_legs_of_every_pose():
    assert leg_faults(40, 0.4) == []


def test_a_stewart_platform_refuses_legs_that_no_pose_has():
    assert leg_faults(1, 0.2, apart=4.0) == []


@pytest.mark.parametrize("name", ["joint_1", "joint_3"])
def test_bricards_linkage_closes_wherever_scipy_closes_it(name):
    assert faults("bricard", name, 20) == []


@pytest.mark.parametrize("angle", np.linspace(1.1, 1.95, 9))
def test_one_state_closes_like_a_batch_and_is_not_wound_up(angle):
    """There Newton's steps alone left a million radians."""
    bar = mbd.load(own_urdfs()["four_bar"])
    at = bar.assemble({"crank": angle}, fixed="crank")
    assert at.closed and at.q[0] == angle
    assert np.abs(at.q).max() < 2.0 * np.pi
    many = bar.assemble_batch({"crank": [angle]}, fixed="crank")
    assert np.allclose(many.q[0], at.q, atol=1e-9)


def test_held_coordinates_that_contradict_the_loop_are_refused():
    bar = mbd.load(own_urdfs()["four_bar"])
    near = {"crank": 0.5, "elbow": 0.1}
    reached = bar.assemble(near, fixed=list(near), check=False)
    assert not reached.closed and reached.q[:2].tolist() == [0.5, 0.1]
    with pytest.raises(SolveError, match=r"release one of fixed=\['crank', 'elbow'\]"):
        bar.assemble(near, fixed=list(near))


def test_held_velocities_that_contradict_each_other_are_refused():
    bar = four_bar(1, 2, 1.5, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    good = bar.assemble(q, fixed=["crank", "elbow"], check=False).v
    assert np.array_equal(good, np.zeros(3))
    v = {"crank": 1.0, "elbow": 1.0}
    with pytest.raises(SolveError, match=r"fixed=\['crank', 'elbow'\] cannot be together"):
        bar.assemble(q, fixed=["crank", "elbow"], velocity=v)
    left = bar.assemble(q, fixed=["crank", "elbow"], velocity=v, check=False)
    assert not left.closed and left.rates["pin"] > 0.1
    with pytest.raises(SolveError, match="state 0: the velocities of fixed="):
        bar.assemble_batch(q, fixed=["crank", "elbow"], velocity=v)
    batch = bar.assemble_batch([q, q], fixed=["crank", "elbow"], velocity=v, check=False)
    assert not batch.closed.any() and (batch.rate > 0.1).all()
    motion = bar.assemble(q, fixed="crank", velocity={"crank": 1.0}).v
    both = {"crank": 1.0, "elbow": float(motion[1])}
    assert bar.assemble(q, fixed=list(both), velocity=both).closed


def test_a_file_rounded_in_its_digits_says_so_and_closes_with_a_tolerance(tmp_path):
    """The crank's axis is off by 4e-6 rad: the pin's axes cannot come parallel."""
    text = own_urdfs()["four_bar"].read_text()
    turned = text.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0.000004"/>', 1)
    assert turned != text
    path = tmp_path / "four_bar.urdf"
    path.write_text(turned)
    sidecar = own_urdfs()["four_bar"].with_name("four_bar.loops.yaml")
    (tmp_path / sidecar.name).write_text(sidecar.read_text())
    assert (
        mbd.load(path).assemble({"crank": 0.5}, fixed="crank").closed
    )  # redundant rows may be off
    bar = mbd.load(path, rank_tolerance=1e-9)
    with pytest.raises(SolveError, match="rounded") as problem:
        bar.assemble({"crank": 0.5}, fixed="crank")
    (enough,) = re.findall(r"tolerance=(\S+?);", str(problem.value))
    (left,) = re.findall(r"coupler_pin by .*?(\S+) rad", str(problem.value))
    assert 1e-6 < float(left) < 5e-6
    at = bar.assemble({"crank": 0.5}, fixed="crank", tolerance=float(enough))
    exact = mbd.load(own_urdfs()["four_bar"]).assemble({"crank": 0.5}, fixed="crank")
    assert at.closed and np.allclose(at.q, exact.q, atol=1e-5)
    many = {"crank": [0.5, 0.6]}
    assert bar.assemble_batch(many, fixed="crank", tolerance=float(enough)).closed.all()
    with pytest.raises(SolveError, match="rounded"):
        bar.assemble_batch(many, fixed="crank")


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, 2.0])
def test_tolerances_that_make_no_sense_are_refused(tolerance):
    with pytest.raises(StateError, match="above 0 and below 1"):
        four_bar().assemble(tolerance=tolerance)
