"""The files that the golden command lines and calls read, apart from those in ``urdf/``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

STUDY = """\
machine: urdf/crank_rocker.urdf
duration: 0.05
every: 5
near: {crank: 0.5}
design: {kind: sobol, number: 16, seed: 0}
vary:
  coupler.mass: [0.5, 2.0]
  crank.vel: {mean: 5, deviation: 0.5}
outputs:
  pin: peak coupler_pin.force
  end: final rocker
"""


def write_inputs(folder: Path) -> None:
    """Make a folder like the repository's root, with motions to read.

    Numbers are written with 9 digits, so that another machine's sine writes the same bytes.
    """
    for name in ("urdf", "docs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "study.yaml").write_text(STUDY)
    joints = [f"lbr_iiwa_joint_{k}" for k in range(1, 8)]
    time = np.arange(81) / 100
    pace = 1.0 + 0.3 * np.arange(7)
    q = 0.4 * np.sin(np.pi * time[:, None] * pace + np.arange(7))
    _table(folder / "short.csv", ["time", *joints], time, q)
    time = np.arange(400) / 200
    q = 0.4 * np.sin(np.pi * time[:, None] * pace + np.arange(7))
    noise = np.random.default_rng(0).normal(0.0, 1e-4, q.shape)
    _table(folder / "noisy.csv", ["time", *joints], time, q + noise)
    time = np.arange(61) / 100
    _table(folder / "crank.csv", ["time", "crank"], time, 0.5 + 2.0 * time[:, None])
    _table(folder / "turn.csv", ["time", "crank"], time, 10.0 * time[:, None])
    _table(folder / "hinge.csv", ["time", "hinge"], time, np.sin(time)[:, None])
    turn = np.linspace(0.0, 2.0 * np.pi, 21)
    pose = ["tool.x", "tool.y", "tool.z", "tool.qx", "tool.qy", "tool.qz", "tool.qw"]
    circle = np.column_stack([0 * turn, np.cos(turn), np.sin(turn)])
    down = np.tile([0.0, 1.0, 0.0, 0.0], (21, 1))
    path = np.column_stack([np.array([0.6, 0.0, 0.5]) + 0.1 * circle, down])
    _table(folder / "path.csv", ["time", *pose], turn, path)
    (folder / "gas.csv").write_text(
        "# direction: falling\n# outside: hold\n"
        "bore [mm],piston.fz [kN]\n-80,0\n-60,-0.4\n-20,-1.2\n-5,-4\n0,-4\n"
    )


def _table(path: Path, names: list[str], time: np.ndarray, columns: np.ndarray) -> None:
    rows = np.column_stack([time, columns])
    np.savetxt(path, rows, fmt="%.9g", delimiter=",", header=",".join(names), comments="")
