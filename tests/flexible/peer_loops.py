"""Flexible loops beside Exudyn's floating frames: ``python -m tests.flexible.peer_loops``.

A slider-crank and RALF; Exudyn (the extra `bench`) gets our modes, masses and stiffness, and runs
in a process of its own (`exudyn_frames`). Both are without gravity, stiffening and rotary inertia
of sections, which Exudyn's reduced floating frame does not have.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model.flexible.basis import nodes_of
from mbd_bridge.model.flexible.finite_element import gauss, intervals
from mbd_bridge.model.flexible_links import modes_of
from tests.robots import OWN


class Case(NamedTuple):
    """A machine, its start, which links are rigid bodies or points, its pins and forces.

    A pin joins two places (link or None for the ground, point in its frame, m).
    """

    machine: mbd.Mechanism
    q: np.ndarray
    v: np.ndarray
    rigid: tuple[str, ...]
    points: tuple[str, ...]
    pins: tuple[tuple[tuple[str | None, list[float]], tuple[str | None, list[float]]], ...]
    forces: tuple[tuple[str, list[float], list[float]], ...]
    seconds: float
    step: float
    peer_step: float


def bent(name: str, count: int, **options: object) -> mbd.Mechanism:
    """Return a sample machine with so many modes a link, as Exudyn can have it."""
    plain = mbd.load(OWN / f"{name}.urdf").model.description.flexible
    links = [
        replace(
            one,
            beam=replace(one.beam, rotary_inertia=False),
            modes=replace(one.modes, bending_y=count),
            damping=mbd.flexible.Damping(),
            stiffening=False,
            **options,
        )
        for one in plain
    ]
    return mbd.load(OWN / f"{name}.urdf", gravity=(0, 0, 0), flexible=links)


def slider_crank(count: int) -> Case:
    """Return the slider-crank that starts in line at 150 rad/s."""
    machine = bent("flexible_slider_crank", count)
    modes = [name for name in machine.coordinate_names if "mode" in name]
    begin = {"crank": 0.0} | dict.fromkeys(modes, 0.0)
    rates = begin | {"crank": 150.0}
    at = machine.assemble(begin, fixed=list(begin), velocity=rates)
    pins = (
        ((None, [0, 0, 0]), ("crank", [0, 0, 0])),
        (("crank", [0.15, 0, 0]), ("rod", [0, 0, 0])),
        (("rod", [0.3, 0, 0]), ("slider", [0, 0, 0])),
    )
    return Case(machine, at.q, at.v, ("crank",), ("slider",), pins, (), 0.02, 1e-5, 4e-6)


def ralf(count: int) -> Case:
    """Return RALF, pushed at the end of its upper link."""
    machine = bent("ralf", count)
    near = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}
    at = machine.assemble(near, fixed=("theta1", "theta3"))
    pins = (
        ((None, [0, 0, 0]), ("lower", [0, 0, 0])),
        (("lower", [3.048, 0, 0]), ("upper", [0, 0, 0])),
        (("lower", [0, 0, 0]), ("connecting", [0, 0, 0])),
        (("connecting", [-0.4, 0, 0]), ("actuating", [0, 0, 0])),
        (("actuating", [3.048, 0, 0]), ("upper", [-0.4, 0, 0])),
    )
    push = (("upper", [3.048, 0, 0], [40.0, 0.0, 20.0]),)
    return Case(machine, at.q, at.v, ("connecting",), (), pins, push, 0.5, 1e-4, 4e-5)


def plan(case: Case) -> dict[str, object]:
    """Return the machine as `exudyn_frames` takes it."""
    machine, bodies = case.machine, {}
    described = {one.name: one for one in machine.model.description.links}
    flexible = {one.link: one for one in machine.model.description.flexible}
    for name in (*case.rigid, *flexible, *case.points):
        frame = machine.frame_kinematics(name, case.q, case.v)
        body = {
            "position": np.asarray(frame.position),
            "rotation": np.asarray(frame.rotation),
            "velocity": (frame.jacobian @ case.v)[:3],
            "spin": (frame.jacobian @ case.v)[3:],
        }
        own = described[name].inertia
        if name in case.points:
            body |= {"kind": "point", "mass": own.mass}
        elif name in case.rigid:
            body |= {"kind": "rigid", "mass": own.mass, "centre": list(own.centre)}
            body["inertia"] = np.asarray(own.central)
        else:
            body |= {"kind": "flexible"} | mesh(machine, flexible[name], case.pins)
        bodies[name] = body
    steps = round(case.seconds / case.peer_step)
    return {
        "bodies": bodies, "pins": case.pins, "forces": case.forces,
        "seconds": case.seconds, "steps": steps,
    }  # fmt: skip


def mesh(
    machine: mbd.Mechanism, link: mbd.flexible.FlexibleLink, pins: object
) -> dict[str, object]:
    """Return nodes, lumped masses, modes and stiffness: Gauss points, and where pins are."""
    beam, modes = link.beam, modes_of(machine.model.description, link)
    x, weight = gauss(intervals(beam.breaks, *(nodes_of(mode.function) for mode in modes)))
    inner = [*x, 0.0, beam.length]
    nodes = np.array([[place, 0.0, 0.0] for place in inner])
    shapes = np.stack([mode.displacement(np.array(inner)) for mode in modes], axis=-1)
    shapes = np.einsum("ij,njk->nik", beam.frame().rotation, shapes)
    beyond = [p for pin in pins for name, p in pin if name == link.link and p[0] < 0.0]
    for point in beyond:  # rigid with the root section, where the modes are 0
        nodes = np.vstack([nodes, point])
        shapes = np.concatenate([shapes, np.zeros((1, *shapes.shape[1:]))])
    masses = np.append(weight * beam.at(x).mass, np.zeros(len(nodes) - len(x)))
    number = machine.model.link_index[link.link]
    part = next(one for one in machine.model.flexible if one.link == number)
    return {
        "nodes": nodes, "masses": masses, "stiffness": np.asarray(part.stiffness),
        "modes": shapes.reshape(-1, len(modes)),
    }  # fmt: skip


def peer(case: Case) -> dict[str, np.ndarray]:
    """Return what Exudyn finds: times and positions of frames, modal coordinates, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.pkl", Path(folder) / "out.npz"
        given.write_bytes(pickle.dumps(plan(case)))
        script = Path(__file__).with_name("exudyn_frames.py")
        command = [sys.executable, "-W", "ignore", str(script), str(given), str(found)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with np.load(found) as result:
            return dict(result)


def compare(case: Case) -> tuple[float, float, float, float, float]:
    """Return how far positions and modal coordinates are apart, m, and both times a step, s."""
    machine, model = case.machine, case.machine.model
    push = {f"{link}.tip": [*vector, 0, 0, 0] for link, _, vector in case.forces}

    def run() -> mbd.simulation.Simulation:
        return machine.simulate(
            case.seconds, step=case.step, q=case.q, v=case.v,
            external=push or None, external_in="world",
        )  # fmt: skip

    ours, best = run(), float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    theirs = peer(case)
    ways, bends = [0.0], [0.0]
    for name, rows in theirs.items():
        if name == "seconds":
            continue
        at = np.searchsorted(ours.time, rows[:, 0] - 0.1 * case.step)
        if name.endswith(".modes"):
            number = model.link_index[name.removesuffix(".modes")]
            part = next(one for one in model.flexible if one.link == number)
            bends.append(float(np.abs(rows[:, 1:] - ours.q[at, part.q]).max()))
        else:
            own = machine.frame_kinematics(name, ours.q[at]).position
            ways.append(float(np.abs(rows[:, 1:4] - own).max()))
    steps, others = case.seconds / case.step, case.seconds / case.peer_step
    places = [k for part in model.flexible for k in range(*part.q.indices(model.nq))]
    most = float(np.abs(ours.q[:, places]).max())
    return max(ways), max(bends), most, best / steps, float(theirs["seconds"]) / others


def main() -> None:
    """Print differences and times a step of both machines."""
    for name, make in (("slider-crank", slider_crank), ("RALF", ralf)):
        for count in (1, 2, 4):
            case = make(count)
            apart, bending, most, own, other = compare(case)
            print(
                f"{name}, {count} modes a link: frames apart by {apart:.1e} m, modal coordinates "
                f"by {bending:.1e} m of {most:.1e} m; a step "
                f"{1e6 * own:.2f} us ({case.step / own:.0f} "
                f"times real time), Exudyn {1e6 * other:.0f} us: {other / own:.0f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
