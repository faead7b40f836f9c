"""Claims about noisy recordings of a part of a machine's coordinates: loads as exact as stated."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.tables import open_table
from mbd_bridge.motion.pieces import motion_pieces
from mbd_bridge.motion.smoothing import BAND


def errors(machine, rough, exact, joints, actuated):
    """Return errors and stated deviations of the actuations along two motions, (N, F) each."""
    found = machine.joint_loads(rough, joints=joints, actuated=actuated)
    states = exact.q, exact.v, exact.a
    true = machine.joint_loads(*states, joints=joints, actuated=actuated)
    assert found.uncertainty is not None
    return found.actuation - true.actuation, found.uncertainty.actuation


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_of_a_crank_alone(sigma):
    machine = mbd.load("urdf/crank_rocker.urdf")
    time = np.arange(600) / 200
    angle = 0.5 + 3.0 * time + 0.2 * np.sin(4.0 * time)
    exact = machine.complete({"crank": angle}, time)
    shares = []
    for seed in range(4):  # of so slow a motion, errors are alike over a third of it
        noise = sigma * np.random.default_rng(seed).normal(size=600)
        rough = machine.complete({"crank": angle + noise}, time)
        error, deviation = errors(machine, rough, exact, ["crank"], ["crank"])
        assert np.sqrt(np.mean(deviation**2)) < 4.0 * np.sqrt(np.mean(error**2))
        stated = rough.uncertainty.standard_deviations(time, rough.q, rough.v, rough.a)
        offs = (error, deviation), (rough.q - exact.q, stated[0]), (rough.v - exact.v, stated[1])
        shares.append([np.mean(np.abs(off) < BAND * size) for off, size in offs])
    assert np.min(np.mean(shares, axis=0)) > 0.9


def test_of_the_pose_of_a_stewart_platform():
    """Origin and turn of the platform, each with noise of its own."""
    machine = mbd.load("urdf/stewart.urdf")
    time, rng = np.arange(400) / 100, np.random.default_rng(2)
    wave = np.sin(np.pi * time)
    pose = {"top.x": 0.1 * wave, "top.y": 0.05 * wave, "top.z": 1.1 + 0.05 * wave**2}
    pose |= {"top.roll": 0.1 * wave, "top.pitch": 0.05 * wave, "top.yaw": 0.1 * wave**2}
    shaken = {name: x + 1e-4 * rng.normal(size=400) for name, x in pose.items()}
    frames, legs = {"top": "platform"}, [f"leg_{k}" for k in range(1, 7)]
    rough, exact = (machine.complete(x, time, frames=frames) for x in (shaken, pose))
    error, deviation = errors(machine, rough, exact, legs, legs)
    assert np.mean(np.abs(error) < BAND * deviation) > 0.9
    assert np.sqrt(np.mean(deviation**2)) < 4.0 * np.sqrt(np.mean(error**2))


def test_in_pieces_they_are_those_of_the_whole_motion(tmp_path):
    machine, rng = mbd.load("urdf/crank_rocker.urdf"), np.random.default_rng(5)
    time = np.arange(8000) / 100
    crank = 0.5 + 3.0 * time + 0.2 * np.sin(4.0 * time) + 1e-3 * rng.normal(size=8000)
    np.savez(tmp_path / "crank.npz", time=time, crank=crank)
    whole = machine.complete({"crank": crank}, time)
    pieces = list(motion_pieces(open_table(tmp_path / "crank.npz"), machine.model, rows=800))
    assert len(pieces) > 1
    parts = [x.uncertainty.standard_deviations(x.time, x.q, x.v, x.a) for x in pieces]
    known = whole.uncertainty.standard_deviations(time, whole.q, whole.v, whole.a)
    for one, *some in zip(known, *parts, strict=True):
        assert np.allclose(np.concatenate(some), one, rtol=1e-3, atol=1e-2 * one.max())


def test_errors_are_those_of_a_recording_that_is_off():
    """Of position, velocity and acceleration of a fast crank, completed once more with them."""
    machine = mbd.load("urdf/crank_rocker.urdf")
    time, rng = np.arange(200) / 100, np.random.default_rng(4)
    states = [0.5 + 9.0 * time, 9.0 + 0.0 * time, 0.0 * time]
    shaken = {"crank": states[0] + 1e-5 * rng.normal(size=200)}
    rough = machine.complete(shaken, time)
    (channel,) = rough.uncertainty.channels
    names = ("crank", "crank.vel", "crank.acc")
    exact = machine.complete(dict(zip(names, states, strict=True)), time)
    for k in range(3):
        way = np.zeros((200, 3))
        way[:, k] = 1e-5
        off = [x + (1e-5 if k == n else 0.0) for n, x in enumerate(states)]
        wanted = machine.complete(dict(zip(names, off, strict=True)), time)
        found = channel.displaced(time, exact.q, exact.v, exact.a, way)
        for name, x in zip("qva", found, strict=True):
            change = getattr(wanted, name) - getattr(exact, name)
            apart = np.abs(x - getattr(exact, name) - change).max()
            assert apart < 1e-2 * max(np.abs(change).max(), 1e-5)


def test_what_is_recorded_and_not_needed_adds_nothing():
    machine = mbd.load("urdf/crank_rocker.urdf")
    time, rng = np.arange(300) / 100, np.random.default_rng(3)
    exact = machine.complete({"crank": 1.5 + 0.4 * time}, time)
    rocker = exact.q[:, list(exact.coordinates).index("rocker")]
    both = {"crank": 1.5 + 0.4 * time, "rocker": rocker + 1e-4 * rng.normal(size=300)}
    assert machine.complete(both, time, given="crank").uncertainty is None
    assert machine.complete(both, time, given="rocker").uncertainty is not None
