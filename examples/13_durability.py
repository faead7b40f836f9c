"""What wears a joint out along a shift: cycles, damage-equivalent loads, the worst direction."""

import tempfile
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

URDF = Path(__file__).parents[1] / "urdf"
arm = mbd.load(URDF / "kuka_iiwa.urdf")
wrist = "lbr_iiwa_joint_5"

# A shift of 20 minutes at 100 Hz, as a logger would write it: positions only.
rng = np.random.default_rng(0)
time = np.arange(120_000) / 100
pace, phase = rng.uniform(0.2, 1.0, (7, 3)), rng.uniform(0, 6.3, (7, 3))
posture = np.array([0.0, 0.5, 0.4, -1.2, 0.5, 0.6, 0.0])
q = posture + 0.2 * np.sin(2 * np.pi * pace * time[:, None, None] + phase).sum(axis=-1)

with tempfile.TemporaryDirectory() as folder:
    shift, loads = Path(folder) / "shift.npz", Path(folder) / "loads.parquet"
    np.savez(shift, time=time, **dict(zip(arm.coordinate_names, q.T, strict=True)))
    # Read, computed, counted and written piece by piece: hours need no more memory.
    history = arm.load_history(shift, [wrist], output=loads, exponents=[3, 10], plane="xy")
    print(f"{history.rows} rows, loads in {loads.name}: {loads.stat().st_size // 1_000_000} MB")

print("        cycles  largest  DEL m=3  DEL m=10  (ranges, 1 Hz)")
for name in ("fx", "fy", "fz", "mx", "my", "mz"):
    one = history.spectra[f"{wrist}.{name}"]
    equivalent = [one.damage_equivalent(m) for m in (3, 10)]
    numbers = f"{one.largest:8.1f} {equivalent[0]:8.1f} {equivalent[1]:9.1f}"
    print(f"{name}  {one.cycles:10.1f} {numbers}  {one.unit}")

worst = history.spectra.worst_direction(f"{wrist}.force", 3)
turn = np.degrees(worst.angle)
print(f"radial force damages most {turn:.0f} degrees from x: {worst.equivalent:.1f} N")

peak = history[f"{wrist}.my"].peak
print(
    f"largest my {peak.value:.1f} N m at {peak.time:.2f} s, with fx = {peak.together['fx']:.1f} N"
)
(actuation,) = history.envelopes
print(
    f"its motor: up to {np.nanmax(actuation.largest):.1f} {actuation.unit}, "
    f"{actuation.motoring:.1f} W"
)
