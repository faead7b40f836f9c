"""Inverse dynamics of the shipped loop models with each set of actuators that is enough.

What is enough is found here: with a basis N of the velocities that Φ_q leaves, a set of as many
actuators as there are columns is enough where its rows of N are independent. Spins of rods between
balls count apart: they are those of N with which nothing but the rod itself moves. All sets:

    python -m tests.solve.actuated --sets 200
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.solve.closed_inverse import InverseSolution
from tests.robots import own_urdfs
from tests.tolerances import DIFFERENCE, LOOPS

STATES = 6
ENOUGH, TOO_FEW = 1e-3, 1e-10
"""Smallest singular value of the actuators' rows of N; between the two nothing is asked."""

DRAWN = 40
"""Sets that are drawn at least where there are too many to look at all."""

STEP = 1e-5
"""s, of the central difference of the energy."""

RODS = {"rssr": ("crank", "rocker")}
"""Models with a rod between balls: the joints that do not move when it spins."""


def with_loops() -> dict[str, mbd.Mechanism]:
    """Return the shipped models with loops by the stems of their files."""
    every = {stem: mbd.load(path, flexible=()) for stem, path in own_urdfs().items()}
    return {stem: robot for stem, robot in every.items() if robot.model.has_loops}


class States:
    """Closed states of a machine, whose motions leave the loops closed.

    Attributes
    ----------
    q, v, a : (N, n)
    N : (N, nv, degrees of freedom) velocities that the loops leave, each of the size of the
        mechanism
    spin : (N, nv, spins) those of them that are spins of rods
    """

    def __init__(self, stem: str, robot: mbd.Mechanism, seed: int = 0) -> None:
        self.robot, self.model = robot, robot.model
        rng, found = np.random.default_rng(seed), []
        kernel, scale = robot.compile("constraints"), self.model.velocity_scale
        while len(found) < STATES:
            guess = self.model.integrate(
                self.model.neutral(), scale * rng.uniform(-0.6, 0.6, robot.nv)
            )
            at = robot.assemble(guess, check=False)
            if not at.closed:
                continue
            _, phi_q, _ = kernel(at.q, np.zeros(robot.nv))
            N, distance = motions(phi_q / self.model.row_scale[:, None] * scale)
            v = scale * (N @ rng.normal(size=N.shape[1]))
            _, phi_q, gamma = kernel(at.q, v)
            least = np.linalg.lstsq(phi_q * scale, gamma, rcond=1e-9)[0]
            a = scale * (least + N @ rng.normal(size=N.shape[1]))
            if distance > 1e-2:
                found.append((at.q, v, a, N, self._spin(stem, N)))
        self.q, self.v, self.a, self.N, self.spin = map(np.array, zip(*found, strict=True))

    def _spin(self, stem: str, N: np.ndarray) -> np.ndarray:
        if stem not in RODS:
            return N[:, :0]
        still = [self.model.velocity_names.index(name) for name in RODS[stem]]
        _, s, Vt = np.linalg.svd(N[still])
        return N @ Vt[int(np.sum(s > 1e-9)) :].T

    def columns(self, names: tuple[str, ...]) -> list[int]:
        """Return the velocities of joints."""
        own = [b for b in self.model.bodies if self.model.joints[b.joint].name in names]
        return [k for body in own for k in range(body.v.start, body.v.stop)]

    def least(self, active: list[int]) -> float:
        """Return by how much actuators are enough at the worst state, 0 if they are not as many."""
        found = []
        for N, spin in zip(self.N, self.spin, strict=True):
            if spin.shape[1] and np.abs(spin[active]).max() < 1e-9:  # it needs no actuator
                N = np.linalg.svd(N - spin @ (spin.T @ N))[0][:, : N.shape[1] - spin.shape[1]]
            own = N[active]
            if own.shape[0] != own.shape[1]:
                return 0.0
            found.append(np.linalg.svd(own, compute_uv=False)[-1])
        return float(min(found))


def motions(J: np.ndarray) -> tuple[np.ndarray, float]:
    """Return an orthonormal basis of what Φ_q leaves, and the least singular value that counts."""
    _, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > 1e-9 * s[0]))
    return Vt[rank:].T, float(s[rank - 1] / s[0])


def sets(states: States, most: int, seed: int = 1) -> list[tuple[str, ...]]:
    """Return sets of joints with as many velocities as degrees of freedom; `most` of them, if there
    are more.

    Those that are enough come first then. With rods also those that leave out the rods' spins.
    """
    model = states.model
    sizes = {
        model.joints[body.joint].name: body.type.nv
        for body in model.bodies
        if body.type.nv and not body.coupled
    }
    dof, spins = states.N.shape[2], states.spin.shape[2]
    counts = range(dof - spins, dof + 1)
    every = sum(math.comb(len(sizes), k) for k in range(1, dof + 1))
    if every < 2000:
        found = [
            names
            for k in range(1, dof + 1)
            for names in itertools.combinations(sizes, k)
            if sum(sizes[name] for name in names) in counts
        ]
    else:
        rng, drawn = np.random.default_rng(seed), {}
        while len(drawn) < max(most, DRAWN):
            order, names = rng.permutation(list(sizes)), []
            while sum(sizes[name] for name in names) < dof:
                names.append(str(order[len(names)]))
            if sum(sizes[name] for name in names) == dof:
                drawn[tuple(sorted(names))] = None
        found = list(drawn)
    if len(found) > most:
        found = [found[k] for k in np.random.default_rng(seed).permutation(len(found))]
        found.sort(key=lambda names: states.least(states.columns(names)) < ENOUGH)
    return found[:most]


def faults(states: States, names: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with one set of actuators; the words "not asked" where nothing is
    asked.
    """
    active = states.columns(names)
    least = states.least(active)
    dynamics = states.robot.constrained_dynamics(actuated=names)
    if least < TOO_FEW:
        try:
            dynamics.inverse(states.q, states.v, states.a)
            yield f"{names}: taken, though it is not enough"
        except SolveError:
            pass
        return
    if least < ENOUGH:
        yield f"{names}: not asked, {least:.1e}"
        return
    inverse = dynamics.inverse(states.q, states.v, states.a)
    yield from _faults_of(states, names, active, inverse, least)
    back = dynamics.forward(states.q, states.v, inverse.tau)
    for what, there, here in zip(("a", "lam"), back, (inverse.a, inverse.lam), strict=True):
        off = np.abs(there - here).max() / (1.0 + np.abs(here).max())
        if not off < LOOPS / least:
            yield f"{names}: {what} of forward dynamics of the actuators is off by {off:.1e}"


def _faults_of(
    states: States,
    names: tuple[str, ...],
    active: list[int],
    inverse: InverseSolution,
    least: float,
) -> Iterator[str]:
    robot, model, scale = states.robot, states.model, states.model.velocity_scale
    passive = np.delete(np.arange(model.nv), active)
    if np.any(inverse.tau[:, passive]):
        yield f"{names}: actuators where there are none"
    M, h = robot.mass_matrix(states.q), robot.bias_forces(states.q, states.v)
    tree = np.einsum("nij,nj->ni", M, inverse.a) + h
    for k in range(STATES):
        virtual = (scale * (inverse.tau[k] - tree[k])) @ states.N[k]
        size = np.abs(scale * tree[k]).max() + np.abs(scale * inverse.tau[k]).max()
        if not np.abs(virtual).max() < LOOPS / least * size:
            yield f"{names}: virtual power {np.abs(virtual).max():.1e}"
        other = (inverse.a[k] - states.a[k]) / scale
        spin = states.spin[k]
        rest = other - spin @ (spin.T @ other)
        if not np.abs(rest).max() < LOOPS * (1.0 + np.abs(states.a[k] / scale).max()):
            yield f"{names}: other accelerations than those given, by {np.abs(rest).max():.1e}"
        power, rate, size = _powers(robot, states.q[k], states.v[k], inverse.a[k], inverse.tau[k])
        if not abs(power - rate) < DIFFERENCE * size:
            yield f"{names}: power {power}, rate of the energy {rate}"


def _powers(robot, q, v, a, tau):
    """Return the actuators' power, the rate of the energy along the motion, and a size of both,
    W.
    """

    def energies(h):
        there, rates = robot.model.integrate(q, h * v + 0.5 * h * h * a), v + h * a
        return 0.5 * rates @ robot.mass_matrix(there) @ rates, there

    (ahead, there), (behind, before) = energies(STEP), energies(-STEP)
    still = np.zeros(robot.nv)
    weight = robot.bias_forces(q, still)
    around = robot.bias_forces(np.array([before, there]), still).sum(axis=0)
    lifting = (around + 4.0 * weight) @ v / 6.0
    rate = (ahead - behind) / (2.0 * STEP) + lifting
    return tau @ v, rate, np.abs(tau) @ np.abs(v) + np.abs(weight) @ np.abs(v) + abs(rate)


def main() -> int:
    """Try sets of actuators of all shipped models with loops."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=200, help="of a model, if it has more")
    parser.add_argument("--models", nargs="*")
    options = parser.parse_args()
    wrong = 0
    for stem, robot in with_loops().items():
        if options.models and stem not in options.models:
            continue
        states = States(stem, robot)
        every = sets(states, options.sets)
        enough = sum(states.least(states.columns(names)) > ENOUGH for names in every)
        found = [text for names in every for text in faults(states, names)]
        asked = [text for text in found if "not asked" not in text]
        wrong += len(asked)
        print(
            f"{stem}: {len(every)} sets, {enough} enough, {len(found) - len(asked)} not asked, "
            f"{len(asked)} faults",
            flush=True,
        )
        for text in found:
            print("   ", text, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
