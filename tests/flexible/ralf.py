"""RALF by the methods that LeeJoo90 discusses: ``python -m tests.flexible.ralf``.

Prints the basis V2 (70), (71), rigid and bent; what methods cost and how far they let the loop
open; and what the structural savings (33)-(35) leave of the symbolic model.
"""

from __future__ import annotations

import time

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.applications.formulas import structure
from tests.robots import OWN

STEP, STEPS, TRIES = 4e-4, 500, 3
"""s; number of steps a run, in which the arm falls; runs of which the fastest counts."""
POSES = 200
"""Random positions and deflections for the basis."""
METHODS = ("multipliers", "svd", "qr", "projection")


def bases() -> None:
    """Print how far V2 V2ᵀ is from the paper's (71) in random positions, rigid and bent."""
    rng, paper = np.random.default_rng(1), PAPER.T @ PAPER
    for name, bends in (("rigid", ()), ("bent", None)):
        arm = mbd.load(OWN / "ralf.urdf", flexible=bends)
        modes = [one for one in arm.coordinate_names if "mode" in one]
        found = []
        joints = [arm.coordinate_names.index(one) for one in GUESS]
        for _ in range(POSES):
            turn = rng.uniform(-0.8, 0.8, 2)
            near = {"theta1": turn[0], "theta3": turn[1], "theta2": turn[1], "theta4": -turn[1]}
            near |= dict.fromkeys(modes, 0.0)
            near |= {one: rng.normal(0.0, 0.02) for one in modes if one.endswith("mode1")}
            at = arm.assemble(near, fixed=["theta1", "theta3", *modes])
            N = null_space(arm, at.q)
            found.append((N.T @ N)[np.ix_(joints, joints)] if bends is None else N.T @ N)
        found = np.array(found)
        apart = np.abs(found - paper).max() if bends is not None else np.ptp(found, axis=0).max()
        told = "from (71)" if bends is not None else "between positions"
        print(f"V2 V2ᵀ, {name:5s}: differs by {apart:.1e} at most {told}")


def methods() -> None:
    """Print cost and violation of methods, with and without putting the state back."""
    arm = mbd.load(OWN / "ralf.urdf")
    at = arm.assemble(GUESS, fixed=("theta1", "theta3"))
    constraints = arm.compile("constraints")
    print(f"{STEPS} steps of {STEP:g} s; open: largest residual of the loop, m")
    for correction in ("state", "none"):
        for name in METHODS:  # compiled; without correction in Python

            def run(name=name, correction=correction):
                return arm.simulate(
                    STEP * STEPS, step=STEP, q=at.q, method=name, correction=correction,
                )  # fmt: skip

            best, found = float("inf"), run()
            for _ in range(TRIES if correction == "state" else 1):
                start = time.perf_counter()
                found = run()
                best = min(best, time.perf_counter() - start)
            phi = np.abs(constraints(found.q, found.v)[0]).max()
            decomposed = found.facts.get("decompositions", "")
            print(
                f"corrected: {correction:5s}  {name:20s} {1e6 * best / STEPS:9.1f} us a step, "
                f"decompositions {decomposed!s:>3s}, open {phi:.1e}"
            )


def bases_alone() -> None:
    """Print what making the basis costs alone: a decomposition, or a projection."""
    arm = mbd.load(OWN / "ralf.urdf")
    q = arm.assemble(GUESS, fixed=("theta1", "theta3")).q
    J = arm.compile("constraints")(q, np.zeros(arm.nv))[1]
    J = J[np.linalg.norm(J, axis=1) > 1e-9]
    N = np.linalg.svd(J)[2][2:].T

    def by_svd() -> None:
        np.linalg.svd(J)

    def by_projection() -> None:  # KimYoo97: N <- (I - Jᵀ (J Jᵀ)^-1 J) N
        N - J.T @ np.linalg.solve(J @ J.T, J @ N)

    for name, work in (("svd", by_svd), ("projection", by_projection)):
        best = min(_timed(work) for _ in range(5))
        print(
            f"basis alone by {name:10s} {1e6 * best:6.1f} us in NumPy, {J.shape} independent rows"
        )


def _timed(work: object, count: int = 2000) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def savings() -> None:
    """Print the counts of the symbolic model with and without the savings."""
    arm = mbd.load(OWN / "ralf.urdf")
    start = time.perf_counter()
    found = arm.symbolic(())
    print("\n".join(str(structure(found)).splitlines()[:4]))
    print(f"derived in {time.perf_counter() - start:.1f} s")


def main() -> None:
    """Print all of it."""
    bases()
    bases_alone()
    methods()
    savings()


PAPER = np.array([[1, 0, 0, 0], [0, 1, 1, -1] / np.sqrt(3)])
"""LeeJoo90 (71), its columns as rows."""

COMMAND = {"theta1": "-0.3+0.3*(1-cos(pi*t))", "theta3": "-0.2-0.2*(1-cos(pi*t))"}

GUESS = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}


def null_space(machine, q):
    J = machine.compile("constraints")(q, np.zeros(machine.nv))[1]
    _, s, Vt = np.linalg.svd(J)
    rank = int((s > 1e-9 * s[0]).sum())
    assert rank == 2
    return Vt[rank:]


if __name__ == "__main__":
    main()
