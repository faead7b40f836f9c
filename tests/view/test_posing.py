"""A machine that is posed by sliders keeps its loops closed."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.view.posing import Poser, knobs
from tests.machines import rssr
from tests.robots import own_urdfs


def closure(mechanism, q):
    phi, _, _ = mechanism.compile("constraints")(q, np.zeros(mechanism.nv))
    return np.abs(phi).max(initial=0.0)


def test_a_knob_that_is_turned_stays_and_the_loop_follows():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    poser = Poser(bar.model, bar.assemble().q)
    values = poser.values()
    names = [knob.name for knob in poser.knobs]
    for angle in np.linspace(values[0], values[0] + 3.0, 7):
        values = poser.values()
        values[names.index("crank")] = float(angle)
        assert poser.turn(values, names.index("crank"))
        assert closure(bar, poser.q) < 1e-9
        assert poser.values()[names.index("crank")] == pytest.approx(angle, abs=1e-9)


def test_a_guess_out_of_reach_gives_way_and_the_loop_stays_closed():
    bar = mbd.load(own_urdfs()["crank_rocker"])
    poser = Poser(bar.model, bar.assemble().q)
    names = [knob.name for knob in poser.knobs]
    k = names.index("rocker")  # it swings, and cannot turn all round
    values = poser.values()
    values[k] += 2.5
    poser.turn(values, k)
    assert closure(bar, poser.q) < 1e-9
    assert abs(poser.values()[k] - values[k]) > 0.1


def test_knobs_of_a_tree_are_its_degrees_of_freedom_within_their_limits():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    found = knobs(arm.model)
    limits = {joint.name: joint.limits for joint in arm.model.description.joints}
    assert [knob.name for knob in found] == list(arm.coordinate_names)
    assert all((k.low, k.high) == (limits[k.name].lower, limits[k.name].upper) for k in found)
    poser = Poser(arm.model, arm.neutral())
    guess = [0.5 * knob.high for knob in found]
    assert poser.turn(guess, 0)
    assert poser.q == pytest.approx(guess)


def test_a_ball_has_three_knobs_and_its_quaternion_stays_one():
    link = rssr()
    poser = Poser(link.model, link.assemble().q)
    ball = [k for k, knob in enumerate(poser.knobs) if knob.name.endswith(".wy")]
    assert ball
    values = poser.values()
    values[ball[0]] += 0.2
    poser.turn(values, ball[0])
    assert closure(link, poser.q) < 1e-9
    body = next(b for b in link.model.bodies if b.type.name == "spherical")
    assert np.linalg.norm(poser.q[body.q]) == pytest.approx(1.0)


def test_a_floating_base_has_no_knobs():
    human = mbd.load(own_urdfs()["humanoid"], floating=True)
    assert not [knob for knob in knobs(human.model) if knob.name.startswith("root_joint")]
