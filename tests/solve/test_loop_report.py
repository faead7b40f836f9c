"""What is reported of loops at a position: a distance that goes to zero where it should."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.model.spatial import Frame
from tests.machines import four_bar, n_four_bar, rssr
from tests.robots import own_urdfs


def folding(gap):
    """The parallelogram, this far (rad) from lying flat."""
    angle = np.pi / 2 - gap
    return np.array([angle, -angle, angle])


def test_the_distance_goes_to_zero_with_the_gap_and_is_zero_in_the_singular_position():
    bar = four_bar()
    gaps = np.array([1e-1, 1e-2, 1e-3, 1e-5, 1e-7])
    found = [bar.loops.report(folding(gap)) for gap in gaps]
    ratio = np.array([report.distance for report in found]) / gaps
    assert np.allclose(ratio, ratio[-1], rtol=0.05)
    assert all(not report.singular and report.dof == 1 for report in found)
    assert np.allclose([report.condition * report.distance for report in found], 1.0)
    flat = bar.loops.report(folding(0.0))
    assert (flat.distance, flat.condition) == (0.0, np.inf)
    assert (flat.dof, flat.rank, flat.rank_nearby) == (2, 1, 2)
    assert "a singular position: 1 degree of freedom more than close by" in str(flat)


def test_the_distance_does_not_depend_on_units():
    """The same linkage in millimetres: lengths are counted in sizes of the mechanism."""
    one = four_bar(1, 2, 1.5, 2.5)
    thousand = four_bar(1000, 2000, 1500, 2500)
    reports = []
    for bar in (one, thousand):
        at = bar.assemble({"crank": 0.5}, fixed="crank")
        reports.append(bar.loops.report(at.q))
    assert np.isclose(reports[0].distance, reports[1].distance, rtol=1e-9)


def test_bricard_is_not_singular_although_a_row_is_always_redundant():
    machine = mbd.load(own_urdfs()["bricard"])
    report = machine.loops.report()
    assert (report.dof, report.rank, report.rank_nearby) == (1, 4, 4)
    assert 0.1 < report.distance < 1.0 and not report.singular


def test_two_windows_fold_one_by_one():
    row = n_four_bar(2)
    flat = dict.fromkeys(("crank0", "crank1", "crank2"), np.pi / 2)
    flat |= {"bar0": -np.pi / 2, "bar1": -np.pi / 2}
    report = row.loops.report([flat[name] for name in row.coordinate_names])
    assert report.rank_nearby - report.rank == 2 and report.distance == 0.0


def test_the_report_names_components_and_actuators_when_it_is_asked_for_them():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    alone = bar.loops.report(at.q)
    assert alone.actuation is None and alone.redundant == {"pin": 3}
    assert alone.undetermined == dict.fromkeys((*bar.joint_names, "pin"), ("fy", "mx", "mz"))
    active = bar.loops.report(at.q, ["crank", "wrist"])
    assert (active.actuation.actuated, active.actuation.too_many) == (("crank", "wrist"), 1)
    assert active.undetermined["crank"] == ("fx", "fy", "fz", "mx", "my", "mz")
    assert "2 actuators (crank, wrist) of 1 degree of freedom" in str(active)
    assert bar.loops.names == ("pin",)
    spatial = [
        rssr().loops.report(actuated=actuators).actuation for actuators in ((), "crank", "ball")
    ]
    assert [actuation.dof for actuation in spatial] == [
        1,
        1,
        2,
    ]  # the coupler's spin needs no actuator
    assert spatial[0].still and spatial[1].still is None
    for bad in (at.q[:2], at.q * np.nan, np.tile(at.q, (3, 1))):
        with pytest.raises(StateError, match=r"q: expected|one position"):
            bar.loops.report(bad)


def test_a_dyad_held_by_its_own_loop_has_no_degree_of_freedom_to_look_around_with():
    b = mbd.Builder("held", root="ground")
    b.link("arm", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    b.joint("pin", "revolute", "ground", "arm", axis=(0, 1, 0))
    end = Frame.from_rpy((1, 0, 0))
    b.loop("weld", "fixed", ("ground", end), ("arm", end))
    report = mbd.Mechanism.build(b).loops.report([0.0])
    assert (report.dof, report.rank, report.rank_nearby) == (0, 1, 1)
    assert report.distance == 1.0


def test_the_distance_does_not_depend_on_where_the_machine_stands():
    """A slider crank a kilometre from the origin; the ground's frame is no joint of it."""
    far, found = np.array([600.0, 480.0, 640.0]), []
    for place in (np.zeros(3), far):
        b = mbd.Builder("slider", root="ground")
        for name, kind, x in (("crank", "revolute", 0.0), ("slide", "prismatic", 1.0)):
            b.link(name, 1.0, (0, 0, 0.1), (0.1, 0.1, 0.1))
            b.joint(name, kind, "ground", name, place + np.array([x, 0, 0]), axis=(x, 1 - x, 0))
        b.link("rod", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
        b.joint("rod", "revolute", "crank", "rod", (0, 0, 0.5), axis=(0, 1, 0))
        ends = ("rod", Frame.from_rpy((1.2, 0, 0))), ("slide", Frame.from_rpy((0, 0, 0)))
        bar = mbd.Mechanism.build(b.loop("pin", "revolute", *ends, axis=(0, 1, 0)))
        at = bar.assemble({"crank": 0.5}, fixed="crank")
        found.append(bar.loops.report(at.q))
    assert np.isclose(found[0].distance, found[1].distance, rtol=1e-9)
    assert found[0].condition < 100


@pytest.mark.parametrize(("gap", "dof"), [(3e-10, 2), (3e-9, 1)])
def test_a_mechanism_a_nanoradian_from_a_singular_position_is_in_it(gap, dof):
    assert four_bar().loops.report(folding(gap)).dof == dof
