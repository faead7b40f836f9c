"""Draw the pictures of docs/guides/plots.md, durability.md and motors.md, and of some examples.

    python docs/guides/make_plots.py [FOLDER]

Each is what one call of the page draws; those of examples show what the example computes.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import mbd_bridge as mbd  # noqa: E402
from mbd_bridge.applications.durability import LoadSpectra  # noqa: E402

URDF = HERE.parents[1] / "urdf"
DPI = 100


def main(folder: Path) -> None:
    """Draw all pictures into a folder."""
    arm = mbd.load(URDF / "kuka_iiwa.urdf")
    motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")
    loads = arm.joint_loads(motion, joints=["lbr_iiwa_joint_3", "lbr_iiwa_joint_4"])
    bar = mbd.load(URDF / "four_bar.urdf")
    start = bar.assemble({"crank": 0.3}, fixed="crank").q
    run = bar.simulate(2.0, q=start, every=5)
    pin = run.joint_loads("coupler_pin")
    pictures = {
        "loads": loads.plot()[0],
        "undetermined": pin.plot(quantities=["force"])[0],
        "torque_speed": loads.plot_torque_speed()[0],
        "polar": loads.plot_polar()[0],
        "motion": run.plot()[0],
        "closure": run.plot_closure(),
        "deflection": bent(),
        "spectra": shift(arm).plot()[0],
        "motor": motors(arm, motion)[0],
        "eigenvalues": speeds_of_a_bicycle(),
    }
    for name, axes in pictures.items():
        axes.figure.savefig(folder / f"plot_{name}.png", dpi=DPI)
    draw_examples(folder)


def draw_examples(folder: Path) -> None:
    """Draw what the examples 10, 24 and 26 compute."""
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    some = example(10)
    colours = axes.scatter(some["length"], some["force"], 6, some["mass"])
    figure.colorbar(colours, label="mass of the coupler, kg")
    axes.set(xlabel="length of the coupler, m", ylabel="largest force in its pin, N")
    figure.savefig(folder / "plot_couplers.png", dpi=DPI)

    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    beam = example(24)
    axes.plot(beam["run"].time, beam["tip"])
    axes.plot(6.76, -0.5738, "o", label="published")
    axes.set(xlabel="t, s", ylabel="deflection of the tip, m")
    axes.legend()
    figure.savefig(folder / "plot_spin_up.png", dpi=DPI)

    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    arm = example(26)
    axes.plot(arm["run"].time, arm["tip"])
    axes.axvline(arm["STOP"], color="0.7", label="the arm stops")
    axes.set(xlabel="t, s", ylabel="the forearm's end, sideways, mm")
    axes.legend()
    figure.savefig(folder / "plot_stop.png", dpi=DPI)


def example(number: int) -> dict[str, Any]:
    """Return what an example leaves."""
    (path,) = (HERE.parents[1] / "examples").glob(f"{number}_*.py")
    return runpy.run_path(str(path))


def bent() -> Any:
    """Return the picture of docs/guides/flexible.md."""
    ralf = mbd.load(URDF / "ralf.urdf")
    near = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}
    start = ralf.assemble(near, fixed=("theta1", "theta3")).q
    command = {"theta1": "-0.3 + 0.3*(1 - cos(pi*t))", "theta3": "-0.2 - 0.2*(1 - cos(pi*t))"}
    run = ralf.simulate(1.0, step=2e-4, q=start, prescribed=command)
    return run.deflections(link="upper").plot()[0]


def motors(arm: mbd.Mechanism, motion: mbd.Motion) -> list[Any]:
    """Return the picture of docs/guides/motors.md."""
    found = mbd.actuators
    peak = found.TorqueCurve((0.0, 200.0, 300.0), (2.0, 2.0, 0.8))
    shoulder = found.Actuator(
        "lbr_iiwa_joint_2",
        100.0,
        6e-5,
        found.Efficiency(0.85, 0.75),
        found.Friction(0.01, 1e-5),
        found.Friction(1.5, 0.5),
        found.MotorCurve(0.6, peak),
    )
    return arm.with_actuators([shoulder]).motors(motion).plot("lbr_iiwa_joint_2")


def speeds_of_a_bicycle() -> Any:
    """Return the eigenvalues of docs/guides/linear.md, over more speeds."""
    bicycle = mbd.load(URDF / "whipple_bicycle.urdf")
    speeds, models = np.linspace(0.0, 10.0, 101), []
    for speed in speeds:
        steady = mbd.linear.steady_motion(bicycle, {"rear_wheel": speed / 0.3})
        models.append(mbd.linear.linearise(bicycle, steady, coordinates=["frame.rx", "steer"]))
    axes = mbd.linear.plot_eigenvalues(speeds, models, "speed [m/s]")
    axes.set_ylim(-10.0, 10.0)
    return axes


def shift(arm: mbd.Mechanism) -> LoadSpectra:
    """Return the spectra of docs/guides/durability.md."""
    rng = np.random.default_rng(0)
    time = np.arange(30_000) / 100
    pace, phase = rng.uniform(0.2, 1.0, (7, 3)), rng.uniform(0.0, 6.3, (7, 3))
    posture = np.array([0.0, 0.5, 0.4, -1.2, 0.5, 0.6, 0.0])
    q = posture + 0.2 * np.sin(2 * np.pi * pace * time[:, None, None] + phase).sum(axis=-1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shift.npz"
        np.savez(path, time=time, **dict(zip(arm.coordinate_names, q.T, strict=True)))
        motion = arm.read_motion(path)
    return arm.joint_loads(motion, joints=["lbr_iiwa_joint_5"]).spectra()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
