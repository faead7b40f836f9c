"""Random MJCF models, ours against MuJoCo: ``python -m tests.formats.mjcf_random [--count N]``.

Of each model, at its reference and at a state nearby with loops closed: M with armature, bias,
constraint residuals, what the constraints hold (the space of their rows), accelerations and
constraint forces of the closed model, springs and damping. MuJoCo's constraints are soft: its
matrices are solved exactly here; its own solver with stiff constraints is compared too.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import warnings
from pathlib import Path

import mujoco
import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, MbdWarning
from mbd_bridge.solve import assemble
from tests.formats.mjcf_models import MujocoTwin, Ours, Theirs, random_mjcf, twin

STEP = 1e-6
"""Of differences of MuJoCo's rows along the motion, s."""

RANK = 1e-8
"""Relative size of singular values of rows that depend on others."""

IMPEDANCE = 0.9999
"""Of MuJoCo's equalities when its own solver is asked: 1 would be a rigid one, and MuJoCo takes no
more than this."""

GIVES_WAY = 1e-3
"""Largest share of an acceleration that soft constraints let through where they are compared."""


def null(rows: np.ndarray, size: int) -> np.ndarray:
    """Return a basis of the velocities that some rows allow."""
    if not len(rows):
        return np.eye(size)
    _, s, Vt = np.linalg.svd(rows)
    return Vt[int(np.count_nonzero(s > RANK * max(s[0], 1.0))) :].T


def accelerations(M, bias, rows, gamma) -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations and constraint forces of a closed system without actuation."""
    N = null(rows, len(M))
    particular = np.linalg.lstsq(rows, gamma, rcond=RANK)[0] if len(rows) else np.zeros(len(M))
    y = np.linalg.solve(N.T @ M @ N, N.T @ (-bias - M @ particular)) if N.shape[1] else np.zeros(0)
    a = particular + N @ y
    return a, M @ a + bias


def apart(one: np.ndarray, other: np.ndarray, floor: float = 1.0) -> float:
    """Return the largest difference, relative to the largest entry (at least `floor`)."""
    if not one.size:
        return 0.0
    return float(np.abs(one - other).max() / max(np.abs(one).max(), floor))


def gamma_of(pair: MujocoTwin, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Return -J̇ v of MuJoCo's rows by differences along the motion.

    None where it has not the same rows at both ends: it leaves out constraints that hold nothing.
    """
    rows = []
    for h in (STEP, -STEP):
        moved = q.copy()
        for body in pair.model.bodies:
            moved[body.q] = body.type.integrate(q[body.q], h * v[body.v])
        rows.append(pair.at(moved, np.zeros_like(v))[0].rows)
    if rows[0].shape != rows[1].shape:
        return None
    return -(rows[0] - rows[1]) @ v / (2 * STEP)


def stiff_acceleration(pair: MujocoTwin, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the accelerations by MuJoCo's own solver, with stiff constraints."""
    model, data = pair.theirs, pair.data
    model.eq_solimp[:, :2] = IMPEDANCE
    T, rate = pair.turn(q, v)
    data.qpos[:], data.qvel[:] = pair.qpos_of(q), T @ v
    mujoco.mj_forward(model, data)
    return np.asarray(np.linalg.solve(T, data.qacc - rate))


def gives_way(M: np.ndarray, rows: np.ndarray) -> float:
    """Return the share of an acceleration that MuJoCo's soft constraints let through.

    They leave R (A + R)⁻¹ of it, with A = J M⁻¹ Jᵀ and R = (1 - d) / d diag(A), d the impedance.
    Of seed 0, model 198 before tendons were drawn was held in all twelve directions, so that
    nothing accelerates; A's eigenvalues were from 0.007 to 28, R to 1e-3, and MuJoCo kept 1.6
    rad/s² with each of its solvers, after ten thousand iterations too.
    """
    A = rows @ np.linalg.solve(M, rows.T)
    own = np.linalg.eigvalsh(A)
    least = own[own > RANK * own[-1]][0]
    return float((1.0 - IMPEDANCE) / IMPEDANCE * np.diag(A).max() / least)


def compare(theirs: Theirs, ours: Ours) -> dict[str, float]:
    """Return relative differences at one state."""
    found = {"M": apart(theirs.M, ours.M), "bias": apart(theirs.bias, ours.bias)}
    N, own = null(theirs.rows, len(ours.M)), null(ours.rows, len(ours.M))
    if N.shape != own.shape:
        return {**found, "rank": 1.0}
    found["rows"] = apart(N @ N.T, own @ own.T)
    found["open"] = float(max(np.abs(theirs.open).max(initial=0), np.abs(ours.open).max(initial=0)))
    return found


def check(rng: np.random.Generator, folder: Path) -> dict[str, float]:
    """Return the largest differences of one random model, by what was compared."""
    text = random_mjcf(rng)
    path = folder / "model.xml"
    path.write_text(text)
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return {}  # MuJoCo itself refuses it, such as a free joint below another
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        robot = mbd.load(path)
    pair = twin(path, robot.model)
    reference = pair.q_of(pair.theirs.qpos0)
    states = [reference]
    guess = reference.copy()
    for body in robot.model.bodies:
        step = rng.normal(0, 0.3, body.v.stop - body.v.start)
        guess[body.q] = body.type.integrate(reference[body.q], step)
    try:
        near = assemble(robot.model, guess)
        states.append(near.q)
    except MbdError:
        pass  # it cannot move so far; the reference closes by construction
    worst: dict[str, float] = collections.defaultdict(float)
    for q in states:
        theirs, ours = pair.at(q, np.zeros(robot.nv))
        v = null(theirs.rows, robot.nv) @ rng.normal(0, 1, null(theirs.rows, robot.nv).shape[1])
        theirs, ours = pair.at(q, v)
        found = compare(theirs, ours)
        found["passive"] = apart(theirs.passive, passive(robot, q, v))
        gamma = gamma_of(pair, q, v)
        if "rank" not in found and gamma is not None and len(gamma) == len(theirs.rows):
            a, force = accelerations(theirs.M, theirs.bias, theirs.rows, gamma)
            b, own = accelerations(ours.M, ours.bias, ours.rows, ours.gamma)
            found["a"], found["constraint force"] = apart(a, b), apart(force, own)
            if len(theirs.rows) and gives_way(theirs.M, theirs.rows) < GIVES_WAY:
                bare = twin(path, robot.model, bare=True)
                found["MuJoCo's solver"] = apart(stiff_acceleration(bare, q, v), b)
        for name, value in found.items():
            worst[name] = max(worst[name], value)
    return dict(worst)


def passive(robot: mbd.Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the generalised forces of springs and damping."""
    total = np.zeros(robot.nv)
    for one in robot.forces:
        body = next(b for b in robot.model.bodies if robot.model.joints[b.joint].name == one.joint)
        s, rate = q[body.q][0], v[body.v][0]
        total[body.v] += one.along(0.0, s, rate)[0]
    return total


def main() -> int:
    """Compare many models and print the largest differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seen: dict[str, list[tuple[float, int]]] = collections.defaultdict(list)
    kinds: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.count):
            found = check(np.random.default_rng([options.seed, k]), Path(folder))
            kinds["compared" if found else "refused by MuJoCo"] += 1
            for name, value in found.items():
                seen[name].append((value, k))
    print(dict(kinds))
    for name, values in seen.items():
        median = np.median([value for value, _ in values])
        value, k = max(values)
        print(
            f"{name:18s} of {len(values):5d}: median {median:8.1e}, worst {value:8.1e} (model {k})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
