"""An hour of motion at 1 kHz, from Parquet to loads and spectra, and once more to the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROBOT = "urdf/kuka_iiwa.urdf"
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_5"]
RATE = 1000
"""Hz."""
SECONDS = 3600
NOISE = 1e-5
"""rad, of a good encoder: what makes cycles of nearly every sample."""
BLOCK = 100_000
"""Rows written at a time."""

Figures = dict[str, float]


def write_motion(path: Path, seconds: int, noise: float) -> None:
    """Write positions of the arm's joints: sums of three sines, and noise."""
    import mbd_bridge as mbd
    from mbd_bridge.files.tables import Column, TableWriter

    rng = np.random.default_rng(0)
    speed, phase = 2 * np.pi * rng.uniform(0.1, 1.0, (7, 3)), rng.uniform(0, 2 * np.pi, (7, 3))
    size = rng.uniform(0.1, 0.4, (7, 3))
    names = mbd.load(ROBOT).coordinate_names
    columns = [Column("time", "s"), *(Column(name, "rad") for name in names)]
    with TableWriter(path, columns) as out:
        for start in range(0, seconds * RATE, BLOCK):
            t = np.arange(start, min(start + BLOCK, seconds * RATE)) / RATE
            q = (size * np.sin(speed * t[:, None, None] + phase)).sum(axis=-1)
            out.append(np.column_stack([t, q + noise * rng.normal(size=q.shape)]))


def stream(motion: str, output: str, smooth: str) -> Figures:
    """Compute, write and count; return seconds, peak memory and what was found."""
    import mbd_bridge as mbd
    from mbd_bridge.files.tables import open_table
    from mbd_bridge.motion import MotionPieces
    from mbd_bridge.motion.reading import Reading
    from mbd_bridge.motion.smoothing import Smoothing

    arm = mbd.load(ROBOT)
    arm.compile("joint_loads", JOINTS)  # the machine code is made once and kept on disk
    start = time.perf_counter()
    history = arm.load_history(motion, JOINTS, output=output, threads=2, smooth=smooth)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    pieces = MotionPieces(open_table(motion), arm.model, Reading(smoothing=Smoothing(smooth)))
    arm.report(Path(output).with_suffix(".html"), pieces, JOINTS, threads=2)
    page = time.perf_counter() - start
    cycles = max(one.cycles for one in history.spectra.spectra)
    return {
        "seconds": seconds,
        "report": page,
        "GiB": _peak(),
        "rows": history.rows,
        "cycles": cycles,
    }


def _peak() -> float:
    """Return the most memory that this process had, GiB (Linux).

    ``ru_maxrss`` would be what its parent had, if that was more: it outlives the ``exec``.
    """
    status = Path("/proc/self/status").read_text()
    return float(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 2**20


CASES = ((0.0, "auto"), (NOISE, "auto"), (NOISE, "off"))
"""Noise, rad, and what is done about it."""


def measure(
    seconds: int = SECONDS, cases: tuple[tuple[float, str], ...] = CASES
) -> list[dict[str, float | str]]:
    """Return the figures of one motion after another, each in a process of its own."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        motion, output = Path(folder) / "motion.parquet", Path(folder) / "loads.parquet"
        for noise, smooth in cases:
            write_motion(motion, seconds, noise)
            words = [sys.executable, "-m", "tests.benchmarks.hour", str(motion), str(output)]
            words.append(smooth)
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            figures = json.loads(done.stdout)
            sizes = {"MB in": motion.stat().st_size / 1e6, "MB out": output.stat().st_size / 1e6}
            found.append({"noise": noise, "smooth": smooth} | figures | sizes)
    return found


def run() -> list[dict[str, float | str]]:
    """Measure and print."""
    found = measure()
    for one in found:
        print(
            f"{one['rows']:.0f} rows, noise {one['noise']:g} rad, smooth={one['smooth']!r}, up to "
            f"{one['cycles']:.0f} cycles a component: {one['seconds']:.1f} s, "
            f"the report {one['report']:.1f} s, {one['GiB']:.2f} GiB at most; "
            f"{one['MB in']:.0f} MB in, {one['MB out']:.0f} MB out"
        )
    return found


if __name__ == "__main__":
    print(json.dumps(stream(*sys.argv[1:4])))
