"""The five Cassie SDFs of example-robot-data: closed, and loaded as pinocchio's trees by hand.

Their one standing configuration (an SRDF) closes the loops of two of the files. The others have
hinges that point elsewhere. Whatever a file says, its loops are closed at zero by definition.
"""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.formats import cassie
from tests.formats.sdf_by_hand import ByHand

NAMES = ("wo_gearbox_spring", "v2", "simple", "reduced", "")

ROUND = 1e-12
"""Relative, of quantities that both compute by the same operations in another order."""

DIGITS = 1e-8
"""Gap of loops in the configuration of the SRDF, m: its numbers have nine digits."""

SHIN = 1e-6
"""Gap of the knee springs of the whole Cassie there, m: springs that a simulation left moving."""

PARALLEL = 2e-7
"""Gap of the feet of v2, m: three hinges that are parallel but for the file's five digits cannot
close what lies along them."""

CLOSED = 1e-10
"""Gap of assembled loops, m and rad."""

STANDS = 1e-4
"""Way from the configuration of the SRDF in which a file closes, rad: a small angle that a gap of
1e-7 m asks for beside a singular position."""

ACTUATED = ("roll-op", "yaw-op", "pitch-op", "knee-op", "knee-shin-joint", "foot-op")

RANK = 1e-5
"""Singular value of the rows below which they say what others say but for the file's digits."""

LOADS = 1e-8
"""Of loads up to 100 N and N m: the whole Cassie's knees are at a singular position."""

HINGES_WITH_UNIQUE_LOADS = 14
"""At least so many joints of each file have loads that do not depend on how redundant rows share;
the feet's out of their plane do."""

OPEN_LEGS, OPEN_FEET = 0.01102, 0.02513
"""Gaps in the configuration of another file, m: hinges of heels and of rods point elsewhere."""


@pytest.fixture(scope="module")
def machine():
    made: dict[str, tuple[mbd.Mechanism, ByHand]] = {}

    def of(name: str) -> tuple[mbd.Mechanism, ByHand]:
        if name not in made:
            robot = cassie.load(name)
            root = "world" if "static" in robot.coordinate_names else "pelvis"
            made[name] = robot, ByHand(cassie.path(name), list(robot.coordinate_names), root)
        return made[name]

    return of


def scattered(values, order):
    out = np.zeros(len(values))
    out[order] = values
    return out


def gaps(robot, other, near) -> dict[str, float]:
    """Return how far pinocchio finds the loops open in a configuration by name, m and rad."""
    q = [near.get(name, 0.0) for name in robot.coordinate_names]
    found = other.gaps(scattered(q, other.order(robot.coordinate_names)))
    return {name: float(np.linalg.norm(gap)) for name, gap in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_cassie_is_the_tree_that_pinocchio_makes_of_it(machine, name):
    robot, other = machine(name)
    order = other.order(robot.coordinate_names)
    q, v = np.random.default_rng(0).normal(0, 1, (2, robot.nq))
    M, bias = other.terms(*(scattered(x, order) for x in (q, v)))
    assert robot.mass_matrix(q) == pytest.approx(M[np.ix_(order, order)], abs=1e-12)
    own = robot.bias_forces(q, v, forces=())
    assert own == pytest.approx(bias[order], abs=ROUND * np.abs(bias).max())


@pytest.mark.parametrize("name", NAMES)
def test_cassies_loops_close_at_zero(machine, name):
    robot, other = machine(name)
    assert max(gaps(robot, other, {}).values()) < ROUND
    assert robot.assemble().q == pytest.approx(np.zeros(robot.nq), abs=CLOSED)


@pytest.mark.parametrize(
    ("name", "legs", "feet"),
    [
        ("wo_gearbox_spring", 0.0, 0.0),
        ("v2", OPEN_LEGS, PARALLEL),
        ("simple", OPEN_LEGS, OPEN_FEET),
        ("reduced", OPEN_LEGS, OPEN_FEET),
        ("", 0.0, 0.0),
    ],
)
def test_where_cassie_stands_only_two_files_close(machine, name, legs, feet):
    found = gaps(*machine(name), cassie.standing())
    for side in ("left", "right"):
        assert found[f"{side}-pitch-rod-joint"] == pytest.approx(legs, abs=DIGITS + 1e-3 * legs)
        if (name, side) != ("simple", "left"):  # whose crank turns the other way round
            expected = pytest.approx(feet, abs=DIGITS + 5e-3 * feet + (name == "v2") * PARALLEL)
            assert found[f"{side}-plantar-foot-joint"] == expected
        if not name:
            assert found[f"{side}-shin-spring-joint"] < SHIN


def test_the_others_close_where_it_stands_with_hinges_as_in_the_first_file(tmp_path):
    """So what keeps them open are these hinges, and nothing else."""
    for name in ("v2", "simple", "reduced"):
        robot = cassie.load(name, cassie.with_hinges_across(name, tmp_path))
        known = {one: cassie.standing().get(one, 0.0) for one in robot.coordinate_names}
        moved = robot.assemble(known).q - list(known.values())
        assert np.abs(moved).max() < STANDS


def test_what_keeps_the_whole_open_where_it_stands_are_the_rotors(machine):
    """In that configuration rotors and legs are not in gear; loops do not ask for rotors."""
    found = gaps(*machine(""), cassie.standing())
    gears = sorted(gap for name, gap in found.items() if name.startswith("gears"))
    assert gears[-1] == pytest.approx(1.72, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_cassie_is_assembled_from_where_it_stands(machine, name):
    robot, other = machine(name)
    near = cassie.near_standing(name)
    at = robot.assemble(near)
    assert max(gaps(robot, other, dict(zip(near, at.q, strict=True))).values()) < CLOSED
    moved = np.abs(at.q - list(near.values())).max()
    assert (moved < STANDS) == (name in ("wo_gearbox_spring", ""))


def test_hinges_outside_the_loops_stay_where_they_are_however_far_the_others_go(machine):
    robot, _ = machine("simple")
    near = cassie.near_standing("simple")
    moved = robot.assemble(near).q - list(near.values())
    assert np.abs(moved).max() > 1.0
    for name, way in zip(near, moved, strict=True):
        if name == "static" or name.partition("-")[2] in ("roll-op", "yaw-op", "pitch-op"):
            assert abs(way) < ROUND


@pytest.mark.parametrize("name", NAMES)
def test_cassies_loads_are_those_of_pinocchios_tree_with_constraints_by_hand(machine, name):
    robot, other = machine(name)
    names = robot.coordinate_names
    order = other.order(names)
    near = cassie.near_standing(name)
    resting = [one for one in names if not name and one.partition("-")[2] in cassie.KNEES]
    velocity = dict(zip(names, np.random.default_rng(1).normal(0, 1, len(names)), strict=True))
    velocity |= dict.fromkeys(resting, 0.0)
    at = robot.assemble(near, velocity=velocity, fixed=resting)
    q, v = (scattered(x, order) for x in (at.q, at.v))
    J, _ = other.rows(q, v)
    assert np.abs(J @ v).max() < CLOSED
    a, wrenches = other.closed(q, v)
    moved = [one for one in names if one.partition("-")[2] in ACTUATED or one == "static"]
    if name in ("simple", "reduced"):  # whose feet are locked: hinges that are not parallel
        moved = [one for one in moved if not one.endswith("foot-op")]
    loads = robot.joint_loads(
        at.q, at.v, a[order], in_="world", actuated=moved, forces=(), joints=names
    )
    allowed = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=RANK) :]
    assert np.abs(allowed[:, order] @ loads.actuation).max() < LOADS  # only gears hold it: it falls
    compared = []
    for joint in robot.model.description.joints:
        if joint.name not in names or not loads[joint.name].unique.all():
            continue
        expected = wrenches[joint.name] * (-1.0 if joint.turned else 1.0)
        load = loads[joint.name]
        here = robot.placement(at.q, joint.child)
        arm = here[:3, :3] @ joint.child_frame.translation + here[:3, 3]
        moment = load.moment + np.cross(arm, load.force)
        assert np.concatenate([load.force, moment]) == pytest.approx(expected, abs=LOADS)
        compared.append(joint.name)
    assert len(compared) >= HINGES_WITH_UNIQUE_LOADS, compared
