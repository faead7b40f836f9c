"""Figures of docs/guides/drop_in.md: python -m tests.bridges.coupling_figures."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pybullet as p

from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.equations.state_vectors import state_vectors
from tests.bridges import worlds
from tests.bridges.worlds import loose, place, velocity, world


def momentum(stepper, others):
    """Momentum and its moment about the world's origin: ours, and that of loose (body, mass)."""
    P, L = np.zeros(3), np.zeros(3)
    state = state_vectors(stepper.model, stepper.q, stepper.v, "world")
    for body, at in zip(stepper.model.bodies, state.bodies, strict=True):
        own, R = body.inertia, at.rotation
        centre = at.position + R @ own.centre
        push = own.mass * (at.Y[:3] + np.cross(at.Y[3:], centre))
        P, L = P + push, L + np.cross(centre, push) + R @ own.central @ R.T @ at.Y[3:]
    client = stepper.client.number
    for body, mass in others:
        (x, R), (v, w) = place(client, body), velocity(client, body)
        inertia = np.diag(p.getDynamicsInfo(body, -1, physicsClientId=client)[2])
        P, L = P + mass * v, L + np.cross(x, mass * v) + R @ inertia @ R.T @ w
    return P, L


class Hit(NamedTuple):
    """What became of the momentum (N s, N m s), of the ball's and our speeds (m/s, rad/s)."""

    momentum: float
    angular: float
    speeds: np.ndarray


def ball_on_floater(folder, h, *, wall=False):
    """A ball of 1 kg and 2 m/s hits a free pendulum; a wall: pybullet's body has no mass."""
    (folder / "floater.urdf").write_text(worlds.FLOATER)
    with world(h, (0, 0, 0)) as client:
        stepper = Stepper.load(folder / "floater.urdf", client, floating=True)
        ball = loose(client, 1.0, [0.5, 0.02, 0.2], v=[0.3, 0.1, -2])
        stepper.reset(None, [0.1, 0, 0, 0, 0.2, 0.3, 0.5])
        if wall:
            for link in (-1, 0):
                p.changeDynamics(stepper.body.number, link, mass=0, physicsClientId=client)
        P, L = momentum(stepper, [(ball, 1.0)])
        touched = False
        for _ in range(round(0.3 / h)):
            stepper.step()
            touched |= bool(stepper.touches)
        assert touched, "the ball has missed"
        after = momentum(stepper, [(ball, 1.0)])
        speeds = np.concatenate([velocity(client, ball)[0], stepper.v])
        return Hit(np.abs(after[0] - P).max(), np.abs(after[1] - L).max(), speeds)


def ball_on_arm(folder, h, *, ours):
    """State of an arm and a ball 0.3 s later; the whole is ours and pybullet's, or pybullet's."""
    (folder / "arm.urdf").write_text(worlds.ARM)
    with world(h) as client:
        stepper = Stepper.load(folder / "arm.urdf", client, q=[-0.2, 0.5])
        ball = loose(client, 0.5, [0.7, 0.0, 0.4], v=[0, 0, -1])
        for _ in range(round(0.3 / h)):
            if ours:
                stepper.step([-20.0, -4.0])
            else:
                stepper.body.push(
                    {"shoulder": np.array([-20.0]), "elbow": np.array([-4.0])}, np.zeros(0), None
                )
                p.stepSimulation(client)
        q, v = (stepper.q, stepper.v) if ours else stepper.body.read()
        return np.concatenate([q, v, place(client, ball)[0], velocity(client, ball)[0]])


def main():
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for wall in (False, True):
            for n in (240, 1000, 4000):
                found = ball_on_floater(folder, 1 / n, wall=wall)
                print(
                    f"{'wall' if wall else 'body'}, 1/{n} s: momentum kept to "
                    f"{found.momentum:.1e} N s, ball leaves with {-found.speeds[2]:.3f} m/s"
                )
        fine = ball_on_arm(folder, 1 / 32000, ours=False)
        for n in (240, 1000, 4000):
            errors = [
                np.abs(ball_on_arm(folder, 1 / n, ours=ours) - fine).max() for ours in (True, False)
            ]
            print(f"1/{n} s: ours {errors[0]:.2g}, pybullet alone {errors[1]:.2g}")
    with world() as client:
        stepper = Stepper.load(Path(__file__).parents[2] / "urdf" / "kuka_iiwa.urdf", client)
        best = min(seconds(stepper.step), seconds(stepper.step), seconds(stepper.step))
        print(f"a step of an arm with seven joints, in all: {best * 1e6:.0f} us")


def seconds(call, number=2000):
    """Seconds of a call."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


if __name__ == "__main__":
    main()
