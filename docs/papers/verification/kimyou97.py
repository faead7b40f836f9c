"""KimYou97, simulations 1 and 2: Figs 5 to 8 made again, ours beside two other programs.

    python docs/papers/verification/kimyou97.py

Needs the packages of the `test` extra, and exudyn. Writes kimyou97_*.png beside itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = PICTURES = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

import mbd_bridge as mbd  # noqa: E402
from tests import papers  # noqa: E402

SPECTRAL_RADIUS = 0.9
"""Of Exudyn's generalized alpha method: with 1 the multipliers grow without bound."""

STIFFNESSES = (1e5, 1e6, 1e7, papers.STIFFNESS, 1e8, 1e9, papers.STIFFNESS * 175.1268)
"""N/m; the last one is the paper's number read as it is printed, in lb/in."""


def main() -> None:
    """Print the figures of the page and write its pictures."""
    one = simulation_1()
    two = simulation_2()
    stiffness(two)
    integrators(two)
    print(f"Exudyn {one}, pin {pin.__version__}, mbd_bridge {mbd.__version__}")


def bodies(pairs: tuple[tuple[int, int], ...], rates: list[float]) -> list[dict[str, float]]:
    """Return the links of the arm in pairs that a locked roll joint holds together."""
    description = papers.rrc_arm().model.description
    own = {link.name: link.inertia for link in description.links}
    length = {int(j.name[-1]) - 1: j.origin.translation[0] for j in description.joints[1:-1]}
    length[7] = description.joints[-1].origin.translation[0]
    found = []
    for (a, b), rate in zip(pairs, rates, strict=True):
        first, second = own[f"link_{a}"], own[f"link_{b}"]
        mass = first.mass + second.mass
        places = np.array([first.centre[0], length[a] + second.centre[0]])
        masses = np.array([first.mass, second.mass])
        centre = masses @ places / mass
        inertia = first.central[1, 1] + second.central[1, 1] + masses @ (places - centre) ** 2
        found.append(
            {
                "length": length[a] + length[b],
                "mass": mass,
                "centre": centre,
                "inertia": inertia,
                "angle": 0.0,
                "rate": rate,
            }
        )
    return found


def exudyn(**given: Any) -> dict[str, Any]:
    """Return what Exudyn says, in a process of its own; arrays of times, angles, forces."""
    given["spectral_radius"] = SPECTRAL_RADIUS
    done = subprocess.run(
        [sys.executable, str(HERE / "exudyn_arm.py")],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return {key: x if key == "version" else np.array(x) for key, x in found.items()}


def three(
    title: str,
    joint: str,
    run: mbd.simulation.Simulation,
    others: dict[str, tuple[Any, Any, Any]],
    target: str,
    own: str = "mbd_bridge",
) -> None:
    """Draw driving torque and x reaction of a joint along time, and how far the others are."""
    force = run.joint_loads([joint], in_="world").force[:, 0, 0]
    torque = run.prescribed_forces[joint]
    figure, axes = plt.subplots(3, 1, figsize=(8, 9), sharex=True, layout="constrained")
    axes[0].plot(run.time, torque, "k", lw=2.5, label=own)
    axes[1].plot(run.time, force, "k", lw=2.5)
    for style, (name, (time, other_torque, other_force)) in zip(
        ("C1--", "C0:", "C2-."), others.items(), strict=False
    ):
        axes[0].plot(time, other_torque, style, lw=1.5, label=name)
        axes[1].plot(time, other_force, style, lw=1.5)
        for values, ours, what in (
            (other_torque, torque, "torque"),
            (other_force, force, "reaction"),
        ):
            apart = np.abs(values - np.interp(time, run.time, ours))
            size = np.abs(ours).max()
            mark = "-" if what == "torque" else ":"
            label = f"{name}, {what}"
            axes[2].semilogy(time, apart / size + 1e-17, style[:2] + mark, lw=1, label=label)
            print(f"  {what} of {joint}: {name} is apart by {apart.max() / size:.1e} of its peak")
    axes[0].set_ylabel(f"driving torque of {joint}, N m")
    axes[1].set_ylabel(f"x reaction of {joint}, N\n(world axes, parent on child)")
    axes[2].set_ylabel("difference to mbd_bridge / peak")
    axes[2].set_xlabel("time, s")
    low, high = axes[0].get_ylim()
    axes[0].set_ylim(low, high + 0.3 * (high - low))  # room for the legend
    axes[0].legend(loc="upper right", ncols=2, fontsize=8)
    axes[2].legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    axes[0].set_title(title)
    for one in axes:
        one.grid(alpha=0.3)
    save(figure, target)


def save(figure: Any, name: str) -> None:
    """Write a picture."""
    figure.savefig(PICTURES / name, dpi=110)
    plt.close(figure)
    print(f"  wrote {name}")


def simulation_1(each: tuple[int, ...] = (50_000, 400_000)) -> str:
    """Make Figs 5 and 6, with so many steps of Exudyn's; return its version."""
    print("simulation 1: 5 s, joint 2 prescribed, joints 4 and 6 free")
    run = papers.first().run
    newton = papers.newton_euler(run, "joint_2")
    others = {"pinocchio rnea": (run.time, newton.actuation[:, 1], newton.force[:, 0])}
    pairs, rate = ((2, 3), (4, 5), (6, 7)), np.pi**2 / 15
    for steps in each:
        found = exudyn(
            bodies=bodies(pairs, [rate] * 3),
            base=0.66,
            actuation={"amplitude": np.pi / 3, "frequency": np.pi / 5, "phase": 0.0},
            seconds=5.0,
            steps=steps,
            records=500,
            tie=None,
        )
        columns = found["time"], found["actuation"], -found["force"][:, 0]
        others[f"Exudyn, steps of {5 / steps:g} s"] = columns
        angles = np.diff(found["angle"], axis=1, prepend=0.0)
        apart = np.abs(angles - run.q[:, [1, 3, 5]]).max()
        print(f"  Exudyn, {steps} steps: joint angles are apart by {apart:.1e} rad")
    motion = papers.pinocchio_motion(papers.first_motions(), run.time, 1e-12)
    print(f"  pinocchio and DOP853: angles are apart by {np.abs(motion - run.q).max():.1e} rad")
    fine = papers.first(step=2.5e-4, every=40).run
    print(f"  the same with ours at 0.25 ms: {np.abs(motion - fine.q).max():.1e} rad")
    title = "KimYou97, simulation 1 (Figs 5 and 6): joint 2 prescribed"
    three(title, "joint_2", run, others, "kimyou97_1.png")
    return str(found["version"])


def simulation_2(steps: int = 50_000) -> papers.PrescribedRun:
    """Make Figs 7 and 8, with the spring and with an exact joint; return the exact one.

    Parameters
    ----------
    steps : of Exudyn's
    """
    print("simulation 2: 1 s, joint 4 prescribed, joint 6 free, the end tied to the ground")
    exact = papers.second_exact()
    start = exact.run.v[0]
    sprung = papers.second_sprung(papers.STIFFNESS, start).run
    newton = papers.newton_euler(sprung, "joint_4")
    others = {"pinocchio rnea, spring": (sprung.time, newton.actuation[:, 3], newton.force[:, 0])}
    rates = [start[3], start[3] + start[5]]
    for name, stiffness in (("rod", None), ("spring", papers.STIFFNESS)):
        found = exudyn(
            bodies=bodies(((4, 5), (6, 7)), rates),
            base=0.30 + 0.36 + 0.41 + 0.48,
            actuation={"amplitude": np.pi / 30, "frequency": np.pi, "phase": -np.pi},
            seconds=1.0,
            steps=steps,
            records=500,
            tie={"anchor": papers.ANCHOR[[0, 2]].tolist(), "length": papers.INCH}
            | {"stiffness": stiffness},
        )
        run = exact.run if stiffness is None else sprung
        columns = found["time"], found["actuation"], -found["force"][:, 0]
        if stiffness is None:
            ours = run.joint_loads(["joint_4"], in_="world").force[:, 0, 0][::2]
            size = np.abs(ours).max()
            apart = np.abs(columns[2] - ours).max()
            print(f"  exact joint: Exudyn's reaction is apart by {apart / size:.1e} of the peak")
            apart = np.abs(columns[1] - run.prescribed_forces["joint_4"][::2]).max()
            print(f"  ... its torque by {apart / np.abs(columns[1]).max():.1e} of the peak")
        else:
            others[f"Exudyn, {name}, steps of {1e6 / steps:g} us"] = columns
    force = exact.run.joint_loads(["joint_4"], in_="world").force[:, 0, 0]
    others["exact joint (ours)"] = exact.run.time, exact.run.prescribed_forces["joint_4"], force
    title = f"KimYou97, simulation 2 (Figs 7 and 8): spring of {papers.STIFFNESS:.5g} N/m"
    three(title, "joint_4", sprung, others, "kimyou97_2.png", "mbd_bridge, spring")
    return exact


def differences(exact: papers.PrescribedRun, k: float, step: float = 1e-6) -> list[float]:
    """Return k, then of three starts how far angles (rad) and torque (N m) are from the rod's."""
    rest = exact.run.v[0].copy()
    rest[5] = 0.0
    row = [k]
    for start in (exact.run.v[0], papers.smooth_start(exact.run, k), rest):
        run = papers.second_sprung(k, start, step=step, every=round(1e-3 / step)).run
        torque = run.prescribed_forces["joint_4"] - exact.run.prescribed_forces["joint_4"]
        row += [np.abs(run.q - exact.run.q).max(), np.abs(torque).max()]
    return row


def stiffness(exact: papers.PrescribedRun) -> None:
    """Show how the spring's solution tends to the exact joint's."""
    print("stiffness, N/m | angle, rad | torque, N m, from three starts: rod's, smooth, at rest")
    rows = []
    for k in STIFFNESSES:
        row = differences(exact, k)
        rows.append(row)
        print(f"  {k:10.5g} | {row[1]:.2e} | {row[2]:.2e}  {row[4]:.2e}  {row[6]:.2e}")
    table = np.array(rows)
    rates = -np.diff(np.log(table[:, 1:]), axis=0) / np.diff(np.log(table[:, 0]))[:, None]
    print("  observed rates (angle, torque; rod's, smooth, at rest):")
    for row in rates:
        print("   ", " ".join(f"{x:6.3f}" for x in row))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    labels = ("the rod's velocity", "... and its force's rate", "joint 6 at rest (a blow)")
    for k, label in enumerate(labels):
        wide = {"lw": 3.5 - k, "ms": 7 - 1.5 * k}  # the first two have the same angles
        axes[0].loglog(table[:, 0], table[:, 1 + 2 * k], "o-", label=label, **wide)
        axes[1].loglog(table[:, 0], table[:, 2 + 2 * k], "o-", label=label, **wide)
    for one, slopes in ((axes[0], (-1.0, -0.5)), (axes[1], (-0.5, -1.0, 0.5))):
        for slope in slopes:
            anchor = table[0, {-1.0: 3, -0.5: 1, 0.5: 5}[slope] + (one is axes[1])]
            if one is axes[0] and slope == -0.5:
                anchor = table[0, 5]
            line = anchor * (table[:, 0] / table[0, 0]) ** slope
            one.loglog(table[:, 0], line, "k:", lw=0.8)
            words = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
            one.annotate(f"$k^{{{slope:g}}}$", (table[-1, 0], line[-1]), fontsize=10, **words)
        one.axvline(papers.STIFFNESS, color="0.7", lw=0.8)
        one.set_xlabel("stiffness k of the spring, N/m (grey: the paper's)")
        one.margins(x=0.15)
        one.grid(alpha=0.3)
    axes[0].set_ylabel("angles, largest difference to the exact joint, rad")
    axes[1].set_ylabel("driving torque, largest difference, N m")
    axes[1].legend(title="start", fontsize=8)
    save(figure, "kimyou97_stiffness.png")


def integrators(exact: papers.PrescribedRun) -> None:
    """Say what SciPy's integrators do with the stiff spring."""
    print("the spring by SciPy's integrators, from the rod's velocity")
    pairs = [(t, name) for t in (1e-7, 1e-9) for name in ("Radau", "BDF", "LSODA", "DOP853")]
    for tolerance, name in pairs:
        steps, evaluations, torque = by_scipy(exact, name, tolerance)
        print(
            f"  {tolerance:g} {name:6} {steps:6d} steps, {evaluations:6d} "
            f"evaluations, torque within {torque:.1e} N m of the exact joint's"
        )


def by_scipy(exact: papers.PrescribedRun, name: str, tolerance: float) -> tuple[int, int, float]:
    """Return steps, evaluations and how far the torque is from the exact joint's, N m."""
    options = {"integrator": f"scipy:{name}", "tolerance": tolerance, "step": 0.01, "every": 1}
    run = papers.second_sprung(papers.STIFFNESS, exact.run.v[0], **options).run
    right = exact.run.prescribed_forces["joint_4"][::10]
    torque = np.abs(run.prescribed_forces["joint_4"] - right).max()
    return run.facts["steps"], run.facts["evaluations"], float(torque)


if __name__ == "__main__":
    main()
