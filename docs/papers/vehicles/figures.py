"""The figures of the page on vehicles.

    python docs/papers/vehicles/figures.py [five_dof] [...]

Runs the examples. Needs the packages of the `test` extra. Writes its pictures beside itself.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = PICTURES = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import mbd_bridge as mbd  # noqa: E402
from tests.benchmarks import vehicle_tracked  # noqa: E402
from tests.oracles import five_dof_vehicle  # noqa: E402
from tests.vehicles.scripts import example  # noqa: E402


def main() -> None:
    """Draw what is asked for, or everything."""
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()


def panels(count: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure with so many panels over one time axis."""
    figure, axes = plt.subplots(count, 1, sharex=True, figsize=size, layout="constrained")
    for ax in np.atleast_1d(axes):
        ax.grid(alpha=0.3)
    np.atleast_1d(axes)[-1].set_xlabel("time, s")
    return figure, axes


def save(figure: Any, name: str) -> None:
    """Write a figure."""
    figure.savefig(PICTURES / f"{name}.png", dpi=100)
    plt.close(figure)
    print("written:", name)


def five_dof() -> None:
    """Lee94, Figs 8 to 12: the five displacements over the bump."""
    run = example("five_dof_vehicle")["run"]
    linear = five_dof_vehicle.solve(five_dof_vehicle.linear, run.time)
    curves = {name: curve - curve[0] for name, curve in run.outputs.items()}
    curves = {
        "driver's seat, m": curves["seat"],
        "chassis, m": curves["chassis"],
        "pitch, nose up, rad": -run.q[:, 1],
        "front wheel, m": curves["front_wheel"],
        "rear wheel, m": curves["rear_wheel"],
    }
    figure, axes = panels(5, (7, 9))
    for k, (ax, (name, curve)) in enumerate(zip(axes, curves.items(), strict=True)):
        ax.plot(run.time, curve, lw=2, label="mbd_bridge")
        ax.plot(run.time, linear[:, k], "k--", lw=1, label="linear equations")
        ax.set_ylabel(name)
    axes[0].legend(loc="upper right")
    save(figure, "five_dof_vehicle")
    at = run.time[np.argmax(run.outputs["front_wheel"])]
    run.render(
        PICTURES / "five_dof_vehicle_seen.png", time=float(at), view=(35, 15), size=(720, 420)
    )


def tracked() -> None:
    """Lee94, Fig 3: the vertical acceleration of the driver's seat."""
    made = example("tracked_vehicle")
    run, felt = made["run"], made["felt"]
    figure, axes = panels(3, (7, 6.5))
    axes[0].plot(run.time, felt, label="with bands")
    axes[0].plot(run.time, made["felt_in"](made["bare"]), "C3-", lw=0.9, label="without bands")
    if find_spec("exudyn"):
        at, theirs = vehicle_tracked.felt_in_exudyn(made, 2e-4)
        axes[0].plot(at, theirs, "k--", lw=0.8, label="Exudyn, 91 coordinates, without bands")
    axes[0].legend(loc="lower left", fontsize="small")
    axes[0].set_ylabel("driver, m/s²")
    axes[1].plot(run.time, run.q[:, 2] - run.q[0, 2])
    axes[1].set_ylabel("hull, m")
    for k in range(1, 7):
        column = run.model.coordinate_names.index(f"arm_left_{k}")
        axes[2].plot(run.time, run.q[:, column], label=f"arm {k}")
    axes[2].set_ylabel("arms, rad")
    axes[2].legend(ncols=2, fontsize="small")
    save(figure, "tracked_vehicle")
    run.render(PICTURES / "tracked_vehicle_seen.png", time=1.8, view=(35, 12), size=(720, 420))


def car() -> None:
    """KimYoo97, Figs 8 to 13: the lane change."""
    made = example("lane_change")
    run = made["run"]
    curves = {
        "rack, mm": 1e3 * run.q[:, run.model.coordinate_names.index("rack")],
        "upwards, m/s²": run.a[:, 2],
        "sideways, m/s²": made["aside"],
        "sideways, m": run.q[:, 1],
        "roll rate, rad/s": run.v[:, 3],
        "yaw rate, rad/s": run.v[:, 5],
    }
    figure, axes = panels(len(curves), (7, 9.5))
    for ax, (name, curve) in zip(axes, curves.items(), strict=True):
        ax.plot(run.time, curve)
        ax.set_ylabel(name)
    axes[1].set_ylim(-0.15, 0.15)
    save(figure, "macpherson_car")
    look = {"view": (-140, 20), "size": (720, 420), "joints": False}
    run.render(PICTURES / "macpherson_car_seen.png", time=6.0, **look)


def six() -> None:
    """Cho09, Figs 9 to 12: heave and pitch accelerations of the 6x6, by integrator."""
    made = example("six_wheeler")
    exact, runs = made["exact"], made["runs"]
    looks = {
        ("newmark", 0.02): ("implicit Newmark, 20 ms", "C1o", 3.0),
        ("rk4", 0.02): ("RK4, 20 ms", "C3.-", 4.0),
        ("explicit_newmark", 0.02): ("explicit Newmark, 20 ms", "C4.-", 4.0),
    }
    figure, axes = panels(2, (7, 6))
    for ax, column, unit in zip(axes, (2, 4), ("heave, m/s²", "pitch, rad/s²"), strict=True):
        ax.plot(exact.time, exact.a[:, column], "k", lw=1, label="converged")
        for key, (label, look, size) in looks.items():
            ax.plot(runs[key].time, runs[key].a[:, column], look, ms=size, lw=0.8, label=label)
        largest = np.abs(exact.a[:, column]).max()
        ax.set_ylim(-1.3 * largest, 1.3 * largest)
        ax.set_ylabel(unit)
    axes[0].legend(loc="upper right", fontsize="small")
    save(figure, "six_wheeler")
    exact.render(PICTURES / "six_wheeler_seen.png", time=1.45, view=(35, 12), size=(720, 420))


def slip() -> list[list[str]]:
    """Print and return, by slip stiffness of the 6x6's tyres, how far each integrator gets."""
    made, rows = example("six_wheeler"), []
    vehicle, start = made["vehicle"], {"q": made["q"], "v": made["v"]}
    for stiffness in (20.0, 4.0, 1.0, 0.2):
        tyres = [replace(tyre, slip_stiffness=(stiffness, stiffness)) for tyre in made["tyres"]]
        system = mbd.System(vehicle, forces=[*vehicle.forces, *tyres])
        exact = system.simulate(5.5, step=5e-4, every=20, **start)
        row = [f"{stiffness:g}"]
        for name, h in (("newmark", 0.02), *((x, y) for x in EXPLICIT for y in (0.01, 0.02))):
            run = system.simulate(5.5, step=h, integrator=name, check=False, **start)
            row.append(f"ends at {run.time[-1]:.2f} s")
            if run.finished:
                away = run.a[:, [2, 4]] - exact.a[:: round(h / 0.01), [2, 4]]
                row[-1] = ", ".join(f"{x:.3f}" for x in np.sqrt(np.mean(away**2, axis=0)))
        rows.append(row)
        print(" | ".join(row))
    return rows


def undivided() -> list[list[str]]:
    """Print and return how far implicit Newmark is off with steps divided where needed, or never.

    As Cho09's: two iterations, whatever is left.
    """
    made, rows = example("six_wheeler"), []
    exact, start = made["exact"], {"q": made["q"], "v": made["v"], "check": False}
    for name, scheme in (
        ("divided", "newmark"),
        ("undivided", mbd.integrators.Newmark(converged=0.01)),
    ):
        for h in (0.01, 0.02):
            took = np.inf
            for _ in range(5):
                begin = time.process_time()
                run = made["system"].simulate(5.5, step=h, integrator=scheme, **start)
                took = min(took, time.process_time() - begin)
            away = run.a[:, [2, 4]] - exact.a[:: round(h / 0.01), [2, 4]]
            errors = (f"{x:.3f}" for x in np.sqrt(np.mean(away**2, axis=0)))
            rows.append(
                [f"{1e3 * h:g} ms, {name}", *errors, f"{run.detours}", f"{1e3 * took:.0f} ms"]
            )
            print(" | ".join(rows[-1]))
    return rows


def implicit_car() -> list[list[str]]:
    """Print and return, by step, how far the car is off: Runge-Kutta, implicit Newmark."""
    made, rows = example("lane_change"), []
    start = {"q": made["q"], "v": made["v"]}
    exact = made["stiff"].simulate(8.0, step=5e-4, every=40, **start)
    for h in (0.002, 0.005, 0.01, 0.02):
        row = [f"{1e3 * h:g}"]
        for name in ("rk4", "newmark"):
            run = made["stiff"].simulate(
                8.0, step=h, every=round(0.02 / h), integrator=name, check=False, **start
            )
            row += [f"ends at {run.time[-1]:.2f} s", ""]
            if run.finished:
                away = 1e3 * np.abs(run.q[:, :3] - exact.q[:, :3]).max()
                aside = np.sqrt(np.mean((run.a[:, 1] - exact.a[:, 1]) ** 2))
                row[-2:] = f"{away:.2g}", f"{aside:.1e}"
        rows.append(row)
        print(" | ".join(row))
    return rows


EXPLICIT = "rk4", "explicit_newmark"
FIGURES = {"five_dof": five_dof, "tracked": tracked, "car": car, "six": six}
FIGURES |= {"slip": slip, "undivided": undivided, "implicit_car": implicit_car}

if __name__ == "__main__":
    main()
