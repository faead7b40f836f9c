"""A track: the band couples its wheels, pads carry them, nothing is gained."""

import numpy as np
import pytest
from scipy.integrate import simpson

from mbd_bridge.base.errors import MbdError
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.forces import JointSpring
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.forces.roads import Flat, Sine
from mbd_bridge.kernels import compile_kernel, gradient
from tests.forces.elements import bound, generalised
from tests.forces.tracked import TENSION, track, vehicle


def test_a_lifted_wheel_is_pushed_back_by_the_tension_of_both_neighbours():
    robot = vehicle(floating=False)
    element = bound(robot, track(road=Flat(-5.0), stiffness=1e3, tension=200.0))
    h, q = 1e-3, np.zeros(4)
    q[1] = h
    effect = element.effect(robot.model, 0.0, q, 0 * q)
    wrenches = in_link_axes(robot.model, q, 0 * q, effect)
    force = wrenches[robot.model.link_number("wheel_2")][2]
    assert abs(effect.report["tension"] - 200.0) < 0.01
    assert abs(force / (-2 * effect.report["tension"] * h / 0.8) - 1) < 1e-5
    neighbour = wrenches[robot.model.link_number("wheel_3")][2]
    assert abs(neighbour / (effect.report["tension"] * h / 0.8) - 1) < 1e-5


def test_the_band_exerts_no_force_on_the_whole_vehicle_and_is_slack_when_short():
    robot = vehicle()
    element = bound(robot, track(road=Flat(-9.0)))
    rng = np.random.default_rng(6)
    q = np.append([0.3, 0.2, 0.5, 0, 0, 0, 1], rng.normal(size=4) * 0.1)
    v = rng.normal(size=10)
    effect = element.effect(robot.model, 0.0, q, v)
    total = np.zeros(6)
    for link, wrench in in_link_axes(robot.model, q, v, effect).items():
        place = robot.placement(q, robot.model.links[link].name)[:3, 3]
        total += [*wrench[:3], *(wrench[3:] + np.cross(place, wrench[:3]))]
    assert effect.report["tension"] > TENSION
    assert np.abs(total).max() < 1e-10 * effect.report["tension"]
    loose = bound(robot, track(road=Flat(-9.0), length=6.0))
    assert loose.effect(robot.model, 0.0, q, np.zeros(10)).report["tension"] == 0.0


def test_power_is_what_the_energy_loses_and_what_is_dissipated():
    robot = vehicle()
    element = bound(robot, track(road=Sine(0.05, 1.7)))

    def energy(q):
        out = np.empty(1, dtype=object)
        out[0] = element.effect(robot.model, 0.0, q, np.zeros(robot.nv)).energy
        return (out,)

    rng = np.random.default_rng(8)
    q = rng.normal(size=(20, 11)) * 0.05 + [0, 0, 0.78, 0, 0, 0, 1, 0, 0, 0, 0]
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    v = rng.normal(size=(20, 10))
    slopes = compile_kernel(gradient(energy, {"q": robot.nq}), {"q": robot.nq})(q)[-1]
    rates = np.array([coordinate_rates(robot.model, *state) for state in zip(q, v, strict=True)])
    effects = [element.effect(robot.model, 0.0, *state) for state in zip(q, v, strict=True)]
    power = (generalised(robot, element, q, v) * v).sum(axis=1)
    lost = (slopes * rates).sum(axis=1) + [effect.dissipation for effect in effects]
    assert np.abs(power).max() > 1e3
    assert np.abs(power + lost).max() < 1e-10 * np.abs(power).max()
    assert min(effect.dissipation for effect in effects) >= 0.0


def test_a_tracked_vehicle_rolls_over_waves_and_dissipates_its_energy():
    robot = vehicle()
    springs = [JointSpring(f"station_{k}", 2e5, 8e3) for k in (1, 2, 3, 4)]
    q, v = robot.model.neutral(), np.zeros(10)
    q[2], q[7:], v[0] = 0.75, 0.03, 5.0
    band = track(road=Sine(0.03, 2.5)).relaxed_at(robot, q)
    run = robot.simulate(0.6, q=q, v=v, forces=[*springs, band], step=5e-4)
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = simpson(parts.dissipation, x=run.time)
    assert parts["track"].units["normal_force_4"] == "N"
    assert np.ptp(parts["track"]["tension"]) > 100.0
    assert abs(whole[0] - whole[-1] - lost) < 1e-3 * lost


BAD = {
    "no wheels": ({"wheels": []}, "expected two places of the band at least"),
    "a text": (
        {"wheels": "wheel_1"},
        r"expected \(link, point\) of each road wheel, got 'wheel_1'",
    ),
    "a name": ({"wheels": ["wheel_1", "wheel_2"]}, r"wheels\[0\]: expected \(link, point\)"),
    "no such link": ({"front": ("nose", (0, 0, 0))}, "front: no link named 'nose'"),
    "no stiffness": ({"stiffness": 0.0}, "stiffness: expected a number above 0.*under tension"),
    "pads": ({"pad_stiffness": -1.0}, "pad_stiffness.*at least 0"),
    "radius": ({"radius": 0.0}, "radius: expected one number above 0, m"),
    "road": ({"road": None}, "expected a road"),
    "axis": ({"axis": (0, 0, 0)}, "axis: expected a direction"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_track_is_refused(what):
    wrong, said = BAD[what]
    with pytest.raises(MbdError, match=said):
        bound(vehicle(), track(**wrong))


def test_a_track_without_a_band_acts_on_its_wheels_alone():
    robot = vehicle()
    bare = track(tension=0.0, stiffness=0.0, front=("hull", (1.0, 0, 0)), rear=None)
    run = robot.simulate(0.01, q=np.append([0, 0, 0.3, 0, 0, 0, 1], np.zeros(4)), forces=[bare])
    assert run.finished and "hull" not in run.system.links
