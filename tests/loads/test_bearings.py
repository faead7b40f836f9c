"""Bearing terms against the six components; rating lives against catalogues and by hand."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.bearings import Bearing, BearingTerms, RingFrames, load, save
from mbd_bridge.applications.bearings.catalogue import ANGULAR_CONTACT, DEEP_GROOVE
from mbd_bridge.applications.bearings.life import BearingCounter
from mbd_bridge.base.errors import FileError, ModelError, StateError
from mbd_bridge.cli import main
from tests.actuators.machines import arm, arm_urdf, motion


def test_equivalent_loads_do_not_jump_where_the_axial_force_begins_to_count():
    rows = [(0.56, y, e) for _, e, y in DEEP_GROOVE]
    rows += [(x, y, e) for _, e, x, y, _ in ANGULAR_CONTACT]
    assert all(abs(x + y * e - 1.0) < 0.01 for x, y, e in rows)


FILE = """\
units: SI
bearings:
  - {joint: lift, C: 15.9e3, C0: 11e3, position: -0.05}
  - {joint: lift, kind: angular contact, angle: 40, C: 10e3, C0: 7e3, position: 0.05}
located: second
reliability: 95
"""


def test_bearings_of_a_file_are_those_of_python(tmp_path):
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    (tmp_path / "arm.bearings.yaml").write_text(FILE)
    robot = mbd.load(tmp_path / "arm.urdf")
    pair = (Bearing(15.9e3, 11e3, position=-0.05),
            Bearing(10e3, 7e3, "angular contact", 40.0, position=0.05))  # fmt: skip
    moves = motion(robot)
    stated = robot.bearings(moves, "lift")
    given = arm().bearings(moves, "lift", {"lift": pair}, located="second", reliability=95)
    for one, other in zip(stated.duties, given.duties, strict=True):
        assert one.life == other.life and one.life is not None
    path = tmp_path / "saved.bearings.yaml"
    save(path, robot.stated_bearings)
    again = mbd.load(tmp_path / "arm.urdf", bearings=path).stated_bearings
    assert again.by_joint == robot.stated_bearings.by_joint
    assert again.options == robot.stated_bearings.options
    moves.save(tmp_path / "moves.npz")
    history = robot.load_history(tmp_path / "moves.npz")
    assert [duty.title for duty in history.bearings.duties] == ["lift first", "lift second"]
    assert "reliability 95 %" in history.assumptions["bearings"][0].text
    assert (
        mbd.load(tmp_path / "arm.urdf", bearings={}).bearings(moves, "lift")["lift"][0].life is None
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("units: SI", "units: mm", 1, "units: SI"),
        ("C: 15.9e3, ", "", 3, "'C' is missing"),
        ("joint: lift, C:", "joint: lyft, C:", 3, "did you mean 'lift'"),
        ("angle: 40", "angle: 4", 4, "contact angle"),
        ("position: 0.05", "position: -0.05", 4, "two places"),
        ("reliability: 95", "reliability: 94", 6, "one of 90"),
        ("located: second", "located: third", 5, "second"),
        ("C0: 7e3", "C9: 7e3", 4, "C9"),
    ],
)
def test_wrong_files_of_bearings_are_refused_with_their_line(tmp_path, old, new, line, said):
    path = tmp_path / "arm.bearings.yaml"
    path.write_text(FILE.replace(old, new))
    assert path.read_text() != FILE
    with pytest.raises(FileError, match=said) as caught:
        load(path, arm())
    assert caught.value.line == line


def constant(radial, axial, speed, hours=1.0, rows=101, spin=0.0):
    """Return terms of a load that stands still (or turns by `spin`), and its pieces."""
    z = np.array([0.0, 0.0, 1.0])
    frames = RingFrames("a", "revolute", "c", "p", np.eye(3), z, *np.eye(3)[:2])
    t = np.linspace(0.0, 3600.0 * hours, rows)
    angle = spin * t
    force = radial * np.stack([np.cos(angle), np.sin(angle), 0 * t], axis=1)
    turn = speed * t
    c, s, o, i = np.cos(turn), np.sin(turn), 0 * t, 0 * t + 1
    rotation = np.stack([np.stack(x, -1) for x in ((c, -s, o), (s, c, o), (o, o, i))], -2)
    zeros = np.zeros((rows, 3))
    return BearingTerms(
        frames, t, axial + 0 * t, force, rotation, zeros, 0 * t, speed + 0 * t, (True,) * 3
    )


def life_of(bearing, *many, a1=1.0):
    counter = BearingCounter("a", "", bearing.checked("a"), a1)
    for terms in many:
        tilting = np.linalg.norm(terms.tilting(), axis=1)
        counter.add(terms, terms.radial, terms.axial, tilting)
    return counter.duty()


def test_the_life_of_skfs_6309_is_that_of_the_catalogues_example():
    """SKF Rolling bearings (2016), calculation example 1: 169 million turns, 940 h at 3,000 rpm."""
    life = life_of(Bearing(C=55.3e3), constant(10e3, 0.0, 3000 * np.pi / 30)).life
    assert round(life.million_revolutions) == 169
    assert life.hours == pytest.approx(940, rel=2e-3)
    assert life.mean_load == pytest.approx(10e3)


def test_a_small_axial_load_changes_nothing_as_in_skfs_calculator():
    """SKF Bearing Calculator, 6309: 4 kN radial, 0.5 kN axial, 1,800 rpm: P = 4 kN, 24,500 h."""
    terms = constant(4e3, 500.0, 1800 * np.pi / 30)
    life = life_of(Bearing(C=55.3e3, C0=31.5e3, f0=13.0), terms).life
    assert life.mean_load == pytest.approx(4e3)
    assert life.hours == pytest.approx(24_500, rel=2e-3)
    assert life.static_safety == pytest.approx(31.5 / 4.0)


def test_factors_of_deep_groove_bearings_are_those_of_isos_table():
    one = Bearing(C=55.9e3, C0=34e3, f0=12.28).checked("a")
    p = one.equivalent(np.array([7e3]), np.array([3e3]))
    y = 1.55 + (1.45 - 1.55) * (0.08824 - 0.0839) / (0.1124 - 0.0839)  # Shigley, Table 11-1
    assert p[0] == pytest.approx(0.56 * 7e3 + y * 3e3, rel=1e-3)
    for share, e, y in ((0.172, 0.19, 2.30), (1.03, 0.28, 1.55), (6.89, 0.44, 1.00)):
        fa = share * 34e3 / 12.28
        below, above = one.equivalent(np.array([fa / e * 1.001, fa / e * 0.999]), np.full(2, fa))
        assert below == pytest.approx(fa / e * 1.001)
        assert above == pytest.approx(0.56 * fa / e * 0.999 + y * fa)


@pytest.mark.parametrize(
    ("bearing", "p", "static"),
    [
        (Bearing(1.0, 1.0, "angular contact", 40.0), 0.35 * 1e3 + 0.57 * 2e3, 0.5e3 + 0.26 * 2e3),
        (
            Bearing(1.0, 1.0, "tapered roller", 15.0),
            0.4e3 + 0.4 / np.tan(np.pi / 12) * 2e3,
            0.5e3 + 0.22 / np.tan(np.pi / 12) * 2e3,
        ),
        (Bearing(1.0, 1.0, "factors", X=0.5, Y=1.5, e=0.3, X0=0.6, Y0=0.7), 3500.0, 2000.0),
    ],
)
def test_equivalent_loads_of_other_bearings(bearing, p, static):
    one, fr, fa = bearing.checked("a"), np.array([1e3]), np.array([-2e3])
    assert one.equivalent(fr, fa) == pytest.approx(p)
    assert one.static(fr, fa) == pytest.approx(max(static, 1e3))
    assert one.equivalent(fr, 0 * fa) == pytest.approx(1e3)


def test_the_mean_load_is_cubic_by_revolutions_and_pieces_change_nothing():
    slow, fast = constant(8e3, 0.0, 10.0), constant(2e3, 0.0, 100.0)
    fast.time[:] += 3600.0 + 1e-9  # begins where the other ends
    life = life_of(Bearing(C=30e3), slow, fast, a1=0.64).life
    mean = ((8e3**3 * 10 + 2e3**3 * 100) / 110) ** (1 / 3)
    assert life.mean_load == pytest.approx(mean, rel=1e-6)
    assert life.revolutions == pytest.approx(110 * 3600 / (2 * np.pi), rel=1e-6)
    assert life.hours == pytest.approx((30e3 / mean) ** 3 * 1e6 / life.revolutions * 2.0, rel=1e-6)
    assert life.modified_hours == pytest.approx(0.64 * life.hours)


def test_an_oscillation_counts_all_angles_and_a_small_one_is_said():
    terms = constant(1e3, 0.0, 1.0, rows=4001)
    swing = 0.2 * 2 * np.pi * np.cos(2 * np.pi * terms.time / 3600.0 * 10)
    terms.speed[:] = swing * 10 / 3600.0
    duty = life_of(Bearing(C=30e3), terms)
    assert duty.life.revolutions == pytest.approx(10 * 4 * 0.2 / (2 * np.pi), rel=1e-4)
    assert duty.span == pytest.approx(0.4, rel=1e-4)
    assert "within a pitch" in duty.notes[0]


def test_rings_have_point_loads_or_circulating_ones():
    still = life_of(Bearing(C=1e4), constant(1e3, 0.0, 0.1, rows=9001))
    assert (still.child_ring, still.parent_ring) == ("point load", "circulating load")
    turning = life_of(Bearing(C=1e4), constant(1e3, 0.0, 0.1, rows=9001, spin=-0.1))
    assert (turning.child_ring, turning.parent_ring) == ("circulating load", "point load")


def test_terms_are_the_six_components_of_the_reaction():
    robot = arm()
    moves = motion(robot)
    found = robot.bearings(moves).terms
    for on_parent in (False, True):
        axes = "parent" if on_parent else "child"
        loads = robot.joint_loads(moves, reaction=True, in_=axes)
        for k, name in enumerate(loads.joints):
            joint = robot.model.description.joints[k]
            turn = joint.origin.rotation if on_parent else np.eye(3)
            n = turn @ np.array(joint.axis)
            f, m = loads.reaction_force[:, k], loads.reaction_moment[:, k]
            terms = found[name]
            assert terms.axial == pytest.approx(f @ n)
            across = f - (f @ n)[:, None] * n
            ring = terms.in_parent if on_parent else terms.radial
            assert ring @ turn.T == pytest.approx(across, abs=1e-9)
            if not on_parent:
                assert terms.moment + terms.torque[:, None] * n == pytest.approx(m, abs=1e-9)
            assert terms.speed == pytest.approx(moves.v[:, k], abs=1e-12)
    assert abs(found["turn"].torque).max() < 1e-9 < abs(found["reach"].torque).max()


def test_a_pair_of_bearings_balances_force_and_tilting_moment():
    robot = arm()
    terms = robot.bearings(motion(robot)).terms["lift"]
    a, b = -0.03, 0.05
    first, second = terms.pair((a, b))
    n = terms.frames.axis
    assert first + second == pytest.approx(terms.radial)
    total = np.cross(a * n, first) + np.cross(b * n, second)
    assert total == pytest.approx(terms.moment, abs=1e-9)
    assert np.abs(first @ n).max() < 1e-9
    s = 0.01
    own = np.cross((a - s) * n, first) + np.cross((b - s) * n, second)
    assert own == pytest.approx(terms.tilting(s), abs=1e-9)
    pair = Bearing(2e4, 1e4, position=a), Bearing(2e4, 1e4, position=b)
    duties = robot.bearings(motion(robot), "lift", {"lift": pair}, located="each")["lift"]
    axial = terms.axial
    assert [duty.axial.value for duty in duties] == [
        max(axial.max(), 0.0),
        max(-axial.min(), 0.0),
    ]
    assert duties[0].radial.value == np.linalg.norm(first, axis=1).max()


@pytest.mark.parametrize("cut", ["rocker", "elbow"])
def test_terms_do_not_depend_on_which_joint_is_cut(cut):
    """A cut joint has the terms that it has in the tree, walked from either side."""
    path = "urdf/crank_rocker.urdf"
    bar, other = mbd.load(path), mbd.load(path, cuts=[cut])
    first = bar.assemble({"crank": 0.3}, fixed="crank").q
    run = bar.simulate(0.3, q=first, every=5)
    common = {k: x for k, x in zip(bar.coordinate_names, first, strict=True) if k != cut}
    start = other.assemble(common, fixed=list(common)).q
    again = other.simulate(0.3, q=start, every=5)
    push = {"coupler": (3.0, 0, -20, 0, 1, 0)}
    one, two = (
        robot.bearings(
            mbd.Motion(x.time, x.q, x.v, x.a, *_names(robot), (), robot.model),
            external=push,
            actuated=["crank"],
        ).terms
        for robot, x in ((bar, run), (other, again))
    )
    assert {*one} == {"crank", *bar.coordinate_names, *bar.loops.names}
    for name, a in one.items():
        b = two[name]
        assert a.speed == pytest.approx(b.speed, abs=1e-6)
        size = np.linalg.norm(a.radial, axis=1).max()
        assert a.radial == pytest.approx(b.radial, abs=1e-6 * size)
        assert a.in_parent == pytest.approx(b.in_parent, abs=1e-6 * size)
        assert a.determined == b.determined and a.frames.axis == pytest.approx(b.frames.axis)


def _names(robot):
    return robot.coordinate_names, robot.model.velocity_names


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lift": 3}, "expected one Bearing or two"),
        ({"lift": [3]}, "expected one Bearing or two"),
        ({"lyft": Bearing(1.0)}, "no joint named 'lyft'"),
        ({"lift": Bearing(-1.0)}, "C: expected one number above 0"),
        ({"lift": Bearing(1.0, kind="ball")}, "kind"),
        ({"lift": Bearing(1.0, kind="angular contact")}, "angle"),
        ({"lift": Bearing(1.0, kind="factors", X=1.0)}, "needs X, Y and e"),
        ({"lift": (Bearing(1.0), Bearing(1.0))}, "two places"),
        ({"lift": Bearing(1.0)}, "needs C0"),
        ({"lift": Bearing(1.0, kind="cylindrical roller")}, "radial load only"),
    ],
)
def test_bearings_that_cannot_be_are_refused(given, said):
    robot = arm()
    with pytest.raises((StateError, ModelError, TypeError), match=said):
        robot.bearings(motion(robot, rows=7), bearings=given)


def test_the_command_line_and_histories_give_what_the_api_gives(tmp_path, capsys):
    robot = arm()
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    motion(robot).save(tmp_path / "moves.npz")
    pair = [Bearing(2e4, 1e4, position=-0.03), Bearing(3e4, 2e4, position=0.05)]
    whole = robot.bearings(motion(robot), "lift", {"lift": pair})
    history = robot.load_history(tmp_path / "moves.npz", bearings={"lift": pair})
    assert [d.life for d in history.bearings.duties] == [d.life for d in whole.duties]
    words = [str(tmp_path / "arm.urdf"), str(tmp_path / "moves.npz"), "--joints", "lift"]
    words += ["--bearing", "lift:C=2e4,C0=1e4,position=-0.03"]
    assert main(["bearings", *words, "--bearing", "lift:C=3e4,C0=2e4,position=0.05"]) == 0
    out = capsys.readouterr().out
    for duty in whole.duties:
        assert f"lift {duty.name}" in out and f"{duty.radial.value:.5g}" in out
        assert f"{duty.life.hours:.5g}" in out
    assert main(["bearings", *words, "--bearing", "lift:C0=2e4"]) == 2
    assert "expected JOINT:C=N" in capsys.readouterr().err
