"""KimYoo97, Figs 4 to 7: what steps leave open and how long they are, for three bases.

    python docs/papers/verification/kimyoo97.py

Needs the packages of the `test` extra. Writes kimyoo97_*.png beside itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = PICTURES = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import mbd_bridge as mbd  # noqa: E402
from mbd_bridge.simulation.trajectory import Trajectory  # noqa: E402
from tests import independent  # noqa: E402
from tests.benchmarks.vehicle_car import RACK  # noqa: E402
from tests.machines import four_bar  # noqa: E402
from tests.vehicles.scripts import example  # noqa: E402

BASES = ("projection", "qr", "svd")
PRINTED = {"paper's form, projected basis": True, "paper's form, held basis (QR)": False}
STYLES = ("C0-", "C1--", "C2:", "C3-", "k--")
LOOKS: tuple[dict[str, Any], ...] = (  # of lines that lie on each other: wide ones below
    {"color": "C0", "lw": 6.0, "alpha": 0.35},
    {"color": "C1", "lw": 3.5, "alpha": 0.6},
    {"color": "C2", "lw": 1.8},
    {"color": "C3", "lw": 0.9},
    {"color": "k", "lw": 0.9, "linestyle": "--"},
)
TOLERANCE = 1e-8
DROP = 0.01
UP = 2
"""m: the car starts so much higher than in the example, to have something to settle; z in q."""


class Case(NamedTuple):
    """A machine in motion: what `simulate` takes, and what the paper's form takes."""

    name: str
    machine: mbd.Mechanism
    state: tuple[Any, Any]
    span: tuple[float, float]
    options: dict[str, Any]


class Steps(NamedTuple):
    """All steps of a motion: ends, lengths, what was left open; and how often one was rejected."""

    time: Any
    size: Any
    left: Any
    rejected: int
    end: Any


def main() -> None:
    """Print the figures of the page and write its pictures."""
    drop, steer, bar = falling_car(), steered_car(), turning_bar()
    lane(steer)
    violation(drop, steer)
    sizes(drop, bar)
    accuracy(steer, bar)


def falling_car() -> Case:
    """Return the car of Figs 8 to 13 as it is dropped at 40 km/h: it settles in the first 4 s."""
    made = example("lane_change")
    q = made["q"] + DROP * (np.arange(len(made["q"])) == UP)
    options = {"forces": [*made["car"].forces, *made["tyres"]], "prescribed": {"rack": RACK}}
    return Case("car, settling", made["car"], (q, made["v"]), (0.0, 4.0), options)


def steered_car() -> Case:
    """Return the car from 4 to 8 s: the lane change."""
    before = falling_car()
    q, v = before.state
    run = before.machine.simulate(4.0, q=q, v=v, every=1000, **before.options)
    return before._replace(name="car, lane change", state=run.state(), span=(4.0, 8.0))


def turning_bar() -> Case:
    """Return a four-bar whose crank turns at 4 rad/s: its constraints turn fast."""
    machine = four_bar(1, 2, 1.7, 2.5)
    at = machine.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    return Case("four-bar, crank at 4 rad/s", machine, (at.q, at.v), (0.0, 2.0), {})


def ours(case: Case, method: str, longest: float, correction: str = "state") -> Steps:
    """Return the steps of one of the package's methods with the integrator abm."""
    run = case.machine.simulate(
        case.span[1] - case.span[0],
        start=case.span[0],
        q=case.state[0],
        v=case.state[1],
        step=longest,
        integrator="abm",
        method=method,
        tolerance=TOLERANCE,
        correction=correction,
        history=True,
        **case.options,
    )
    kept = run.history
    return Steps(kept.time, kept.size, kept.left, run.facts["rejected"], run.v[-1])


def printed(
    case: Case, projected: bool, longest: float, corrected: bool = True, complete: bool = False
) -> Steps:
    """Return the steps of the paper's own form: independent velocities integrated."""
    acting = Trajectory(mbd.System(case.machine, **case.options)).stage
    found = independent.simulate(
        case.machine.model,
        case.state,
        case.span,
        longest,
        forces=acting.torque,
        motions=acting.motions,
        projected=projected,
        corrected=corrected,
        complete=complete,
        tolerance=TOLERANCE,
    )
    last = found.records[-1][2]
    left = np.array(found.left)
    return Steps(np.array(found.time), found.sizes(case.span[0]), left, found.rejected, last)


FOUND: dict[tuple[str, float, bool], dict[str, Steps]] = {}


def everything(case: Case, longest: float, corrected: bool = True) -> dict[str, Steps]:
    """Return the steps of all methods and both forms."""
    key = case.name, longest, corrected
    if key not in FOUND:
        FOUND[key] = computed(case, longest, corrected)
    return FOUND[key]


def computed(case: Case, longest: float, corrected: bool) -> dict[str, Steps]:
    """Return them, computed now."""
    print(f"{case.name}, longest step {longest:g} s, positions corrected: {corrected}")
    correction = "state" if corrected else "velocity"
    found = {f"ours, {m}": ours(case, m, longest, correction) for m in BASES}
    found |= {name: printed(case, how, longest, corrected) for name, how in PRINTED.items()}
    for name, steps in found.items():
        print(
            f"  {name:30} {len(steps.time):5d} steps, {steps.rejected:4d} rejected, shortest "
            f"{steps.size.min():.1e}, left open: median {np.median(steps.left):.1e}, "
            f"largest {steps.left.max():.1e}"
        )
    return found


def lane(case: Case) -> None:
    """Draw the car's answer (the paper's Figs 8, 10, 11)."""
    run = case.machine.simulate(
        4.0, start=4.0, q=case.state[0], v=case.state[1], every=10, **case.options
    )
    rack = case.machine.coordinate_names.index("rack")
    sideways = run.a[:, 1] + run.v[:, 0] * run.v[:, 5] - run.v[:, 2] * run.v[:, 3]
    rows = (
        ("rack, mm", 1e3 * run.q[:, rack]),
        ("sideways\nacceleration, m/s²", sideways),
        ("sideways way, m", run.q[:, 1]),
        ("yaw rate, deg/s", np.degrees(run.v[:, 5])),
    )
    figure, axes = plt.subplots(4, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for one, (label, values) in zip(axes, rows, strict=True):
        one.plot(run.time, values, "k")
        one.set_ylabel(label)
        one.grid(alpha=0.3)
    axes[0].set_title("The car changes lanes at 40 km/h")
    axes[-1].set_xlabel("time, s")
    save(figure, "kimyoo97_lane.png")
    print(f"lane change: {abs(run.q[-1, 1]):.2f} m, {np.abs(sideways).max():.2f} m/s² sideways")


def violation(drop: Case, steer: Case) -> None:
    """Draw what the steps leave open, corrected and not, at two longest steps (Figs 4, 5)."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained", sharex=True)
    for column, longest in zip(axes.T, (1e-3, 1e-2), strict=True):
        for axis, corrected in zip(column, (True, False), strict=True):
            first = everything(drop, longest, corrected)
            then = everything(steer, longest, corrected)
            for style, name in zip(STYLES, first, strict=True):
                time = np.concatenate([first[name].time, then[name].time])
                left = np.concatenate([first[name].left, then[name].left])
                axis.semilogy(time, left + 1e-18, style, lw=1, label=name)
            axis.grid(alpha=0.3)
            axis.set_ylim(bottom=1e-17 if corrected else 1e-14)
        column[0].set_title(f"longest step {longest:g} s")
        column[1].set_xlabel("time, s")
    axes[0, 0].set_ylabel("left by each step,\nbefore it is corrected / size of the car")
    axes[1, 0].set_ylabel("drift, positions not corrected\n(from 4 s on anew) / size of the car")
    axes[0, 0].legend(fontsize=8)
    save(figure, "kimyoo97_violation.png")


def sizes(drop: Case, bar: Case) -> None:
    """Draw the lengths of the steps at two longest steps (Figs 6, 7)."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    for row, case in zip(axes, (drop, bar), strict=True):
        for axis, longest in zip(row, (1e-3, 5e-3), strict=True):
            for look, (name, steps) in zip(LOOKS, everything(case, longest).items(), strict=True):
                axis.semilogy(steps.time, steps.size, label=name, **look)
            axis.set_title(f"{case.name}; longest step {longest:g} s", fontsize=10)
            axis.set_xlabel("time, s")
            axis.grid(alpha=0.3)
            axis.set_ylim(1e-5, 1e-2)
            axis.set_xlim(0, 1 if case is drop else 2)
        row[0].set_ylabel("step, s")
    axes[0, 0].legend(fontsize=8)
    save(figure, "kimyoo97_steps.png")


def accuracy(*cases: Case) -> None:
    """Print how far the last velocities are from those of fine steps."""
    for case in cases:
        for longest in (1e-2, 1e-3):
            for name, apart in errors(case, longest).items():
                print(f"{case.name}, {longest:g} s, {name:30}: last velocity off by {apart:.1e}")


def errors(case: Case, longest: float) -> dict[str, float]:
    """Return the error of the last velocity of each form, relative to the largest."""
    q, v = case.state
    span = case.span[1] - case.span[0]
    options = {"start": case.span[0], "q": q, "v": v, "every": 100_000} | case.options
    exact = case.machine.simulate(span, step=1e-4, **options).v[-1]
    found = {f"ours, {BASES[0]}": ours(case, BASES[0], longest)}
    found |= {f"the {name}": printed(case, how, longest) for name, how in PRINTED.items()}
    found["... with what (4.8) leaves out"] = printed(case, True, longest, complete=True)
    ends = {name: steps.end for name, steps in found.items()}
    alone = {"method": "projection", "coordinates": "independent"}
    run = case.machine.simulate(span, step=longest, **alone, **options)
    ends["ours, z' alone, compiled steps of that length"] = run.v[-1]
    size = np.abs(exact).max()
    return {name: float(np.abs(end - exact).max() / size) for name, end in ends.items()}


def save(figure: Any, name: str) -> None:
    """Write a picture."""
    figure.savefig(PICTURES / name, dpi=110)
    plt.close(figure)
    print(f"wrote {name}")


if __name__ == "__main__":
    main()
