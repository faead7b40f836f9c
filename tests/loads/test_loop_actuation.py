"""Actuators of machines with loops: too many, too few, at a dead centre, those that the file
names.
"""

from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, SolveError
from mbd_bridge.model.spatial import Frame
from tests.machines import MANY, four_bar, n_four_bar


def test_a_gears_actuator_is_flagged_where_other_loops_share_its_work():
    bar = n_four_bar(1).model.description
    b = mbd.Builder("geared", root="ground")
    for link in bar.links[1:]:
        b.link(link.name, 1.0, link.inertia.centre, link.inertia.central)
    for j in bar.joints:
        xyz = j.origin.translation
        b.joint(j.name, j.type, j.parent, j.child, xyz, axis=j.axis)
    (pin,) = bar.loops
    ends = ((end.link, end.frame) for end in (pin.predecessor, pin.successor))
    b.loop(pin.name, pin.type, *ends, axis=pin.axis)
    b.couple("gears", "crank1", "crank0")
    geared = mbd.Mechanism.build(b)
    at = geared.assemble({"crank0": 0.4, "crank1": 0.4, "bar0": -0.4}, fixed="crank0")
    loads = geared.joint_loads(at.q, at.v, at.a, ["gears", "pin0"], actuated="crank0")
    assert not loads["gears"].actuation_unique.any() and not loads["pin0"].unique[0]
    alone = n_four_bar(1)
    free = alone.joint_loads(at.q, at.v, at.a, ["pin0"], actuated="crank0")
    assert free["pin0"].unique[0]


def test_too_many_actuators_are_refused_with_advice_or_flagged():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    both = ["crank", "wrist"]
    with pytest.raises(SolveError, match="1 degree of freedom and 2 actuators") as problem:
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=both)
    assert "minimum_norm=True" in str(problem.value)
    assert "actuated=['crank']" in str(problem.value) or "['wrist']" in str(problem.value)
    with pytest.raises(SolveError, match="2 actuators"):
        bar.inverse_dynamics(at.q, at.v, at.a, actuated=both)
    one = bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["crank"])
    two = bar.joint_loads(at.q, at.v, at.a, both, actuated=both, minimum_norm=True)
    assert one["crank"].unique[4] and one["crank"].actuation_unique.all()
    assert not two["crank"].unique[4] and not two.actuation_unique.any()
    # the actuators make the motion all the same: their work is that of the one
    tau = bar.inverse_dynamics(at.q, at.v, at.a, actuated=both, minimum_norm=True)
    alone = bar.inverse_dynamics(at.q, at.v, at.a, actuated="crank")
    (allowed,) = bar.loops.report(at.q).motions.T
    assert np.isclose(tau @ allowed, alone @ allowed, rtol=1e-12)
    assert np.count_nonzero(tau) == 2 and np.count_nonzero(alone) == 1
    actuators = bar.loops.report(at.q, both).actuation
    assert (actuators.moved, actuators.too_few, actuators.too_many) == (1, 0, 1)


def test_one_actuator_of_several_may_be_determined():
    """A free arm on the coupler's end: its motor's torque is determined, the others' are not."""
    b = mbd.Builder("arm on a bar", root="ground")
    bar = four_bar(1, 2, 1.5, 2.5).model.description
    for link in bar.links[1:]:
        b.link(link.name, 1.0, link.inertia.centre, link.inertia.central)
    for j in bar.joints:
        b.joint(j.name, j.type, j.parent, j.child, j.origin.translation, axis=j.axis)
    (pin,) = bar.loops
    ends = ((end.link, end.frame) for end in (pin.predecessor, pin.successor))
    b.loop(pin.name, pin.type, *ends, axis=pin.axis)
    b.link("arm", 2.0, (0, 0, 0.3), (0.1, 0.1, 0.1))
    b.joint("motor", "revolute", "coupler", "arm", (1, 0, 0), axis=(0, 1, 0))
    machine = mbd.Mechanism.build(b)
    at = machine.assemble({"crank": 0.5, "motor": 0.3}, fixed=["crank", "motor"])
    actuators = ["crank", "wrist", "motor"]
    loads = machine.joint_loads(at.q, at.v, at.a, actuators, actuated=actuators, minimum_norm=True)
    flags = dict(zip(loads.actuation_names, loads.actuation_unique.tolist(), strict=True))
    assert flags == {"crank": False, "wrist": False, "motor": True}


def test_too_few_actuators_are_explained():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    with pytest.raises(
        SolveError, match=r"1 degree of freedom, and the actuators \(none\) move 0 of them"
    ):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=())
    with pytest.raises(ModelError, match="say which joints are actuated"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"])
    with pytest.raises(ModelError, match="did you mean 'crank'"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["crnk"])
    with pytest.raises(ModelError, match="'pin' is cut, and a cut joint has no actuator"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["pin"])


def slider_crank():
    """Crank 0.3 m, rod 1 m, the slider along x; cut between rod and slider."""
    y = (0, 1, 0)
    b = mbd.Builder("slider-crank", root="ground")
    b.link("crank", 1, (0.15, 0, 0), (0, 0.01, 0.01)).link("rod", 1, (0.5, 0, 0), (0, 0.1, 0.1))
    b.link("slider", 2, (0, 0, 0), (0.01, 0.01, 0.01))
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("big end", "revolute", "crank", "rod", (0.3, 0, 0), axis=y)
    b.joint("bore", "prismatic", "ground", "slider", axis=(1, 0, 0))
    ends = ("rod", Frame.from_rpy((1, 0, 0))), ("slider", Frame.identity())
    b.loop("pin", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b)


def test_a_dead_centre_of_the_actuators_is_told_and_its_nearness_measured():
    machine = slider_crank()

    def at(angle):
        near = {"crank": angle, "big end": -1.3 * angle, "bore": 1.3}
        return machine.assemble(near, fixed="crank")

    gaps = [0.3, 1e-2, 1e-4, 1e-6]
    found = [machine.loops.report(at(gap).q, "bore").actuation for gap in gaps]
    ratio = [actuation.distance / gap for actuation, gap in zip(found, gaps, strict=True)]
    assert np.allclose(ratio[1:], ratio[-1], rtol=1e-3)  # it goes to zero as the angle does
    dead = at(0.0)
    assert not machine.loops.report(dead.q).singular
    actuation = machine.loops.report(dead.q, "bore").actuation
    assert actuation.distance < 1e-12 and (actuation.too_few, actuation.too_many) == (1, 1)
    rest = np.zeros(3)
    with pytest.raises(
        SolveError, match=r"a dead centre: '(crank|big end)' moves, and no actuator"
    ):
        machine.joint_loads(dead.q, rest, rest, ["crank"], actuated="bore")
    assert machine.joint_loads(dead.q, rest, rest, ["crank"], actuated="crank").unique[0, 0]


def test_actuators_that_the_file_names_are_the_default(tmp_path):
    text = (Path(mbd.__file__).parents[1] / "urdf" / "four_bar.urdf").read_text()
    loops = (Path(mbd.__file__).parents[1] / "urdf" / "four_bar.loops.yaml").read_text()
    (tmp_path / "bar.urdf").write_text(text)
    (tmp_path / "bar.loops.yaml").write_text(loops + "\nactuated: [crank]\n")
    bar = mbd.load(tmp_path / "bar.urdf")
    at = bar.assemble({"crank": 0.4}, fixed="crank")
    named = bar.joint_loads(at.q, at.v, at.a, actuated=["crank"])
    assert np.array_equal(bar.joint_loads(at.q, at.v, at.a).wrench, named.wrench)
    other = bar.joint_loads(at.q, at.v, at.a, ["rocker"], actuated="rocker")
    assert abs(other.actuation[0]) > 1.0  # what the call says comes first
    assert bar.loops.report(at.q).actuation.actuated == ("crank",)
    assert np.count_nonzero(bar.inverse_dynamics(at.q, at.v, at.a)) == 1
    recut = mbd.load(tmp_path / "bar.urdf", cuts=["elbow"])
    assert recut.model.description.actuated == ("crank",)


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("states", [None, MANY])
def test_what_falls_freely_needs_no_actuator(scale, states):
    """A linkage of four bars thrown askew: weights and inertia forces are in balance in each."""
    y, bar = (0, 1, 0), np.array([1 / 12, 1 / 12, 0]) * scale
    b = mbd.Builder("thrown", root="bar0")
    for k in range(4):
        b.link(f"bar{k}", scale, (0, 0, 0.5), bar)
    for k in range(3):
        b.joint(f"pin{k}", "revolute", f"bar{k}", f"bar{k + 1}", (0, 0, 1), (0, 1.5, 0), axis=y)
    ends = ("bar3", Frame.from_rpy((0, 0, 1))), ("bar0", Frame.from_rpy((0, 0, 0)))
    thrown = mbd.Mechanism.build(b.loop("pin3", "revolute", *ends, axis=y), floating=True)
    q = thrown.assemble({f"pin{k}": 0.07 for k in range(3)}).q
    q[3:7] = [0.1, -0.5, 0.7, 0.5]
    still = np.zeros(thrown.nv)
    a = thrown.forward_dynamics(q, still, still)
    if states is not None:
        q, still, a = (np.tile(x, (states, 1)) for x in (q, still, a))
    loads = thrown.joint_loads(q, still, a, ["pin1", "pin3"], actuated=())
    assert np.abs(loads.wrench).max() < 1e-12 * 9.81 * scale
