"""Every URDF of the wheels example-robot-data and pybullet, by a short id that does not change."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

import mbd_bridge as mbd

WHEELS = {"example-robot-data": "erd", "pybullet": "pb"}
"""Wheels, and what their ids begin with."""

NOISE = {"cmeel.prefix", "share", "example-robot-data", "robots", "pybullet_data", "urdf"}
"""Folders that tell nothing."""

OWN = Path(__file__).parents[1] / "urdf"


@cache
def wheel_urdfs() -> dict[str, Path]:
    """Return id -> path of all URDFs of both wheels (those that are installed)."""
    found = {}
    for wheel, prefix in WHEELS.items():
        try:
            listed = files(wheel) or []
        except PackageNotFoundError:
            continue
        for file in sorted(listed, key=str):
            if file.suffix == ".urdf":
                parts = [p for p in file.parts[:-1] if p not in NOISE]
                parts = [p.removesuffix("_description").removesuffix("_data") for p in parts]
                found["/".join([prefix, *parts, file.stem])] = Path(str(file.locate())).resolve()
    return found


def robots() -> dict[str, Path]:
    """Return the URDFs outside `random_urdfs`, 164 where both wheels are installed."""
    return {name: path for name, path in wheel_urdfs().items() if "/random_urdfs/" not in name}


def random_objects() -> dict[str, Path]:
    """Return pybullet's `random_urdfs`: a thousand single bodies."""
    return {name: path for name, path in wheel_urdfs().items() if "/random_urdfs/" in name}


def robot(name: str) -> Path:
    """Return the path of one robot by its id, such as ``pb/kuka_iiwa/model``."""
    return wheel_urdfs()[name]


def installed(*names: str) -> list[str]:
    """Return those ids whose wheel is installed: pybullet has none from Python 3.12 on."""
    return [name for name in names if name.startswith("erd/") or find_spec("pybullet")]


def own_urdfs() -> dict[str, Path]:
    """Return stem -> path of the project's own models."""
    return {path.stem: path for path in sorted(OWN.glob("*.urdf"))}


def heavier(robot: mbd.Mechanism, link: str, factor: float) -> mbd.Mechanism:
    """Return the robot with another mass in memory, of which its file knows nothing."""
    bodies = list(robot.model.bodies)
    at = robot.model.links[robot.model.link_index[link]].body
    inertia = bodies[at].inertia
    bodies[at] = replace(bodies[at], inertia=replace(inertia, mass=factor * inertia.mass))
    return mbd.Mechanism(replace(robot.model, bodies=tuple(bodies)), robot.forces)
