"""Load cases for strength analysis: all that acts on a link at its peaks, as Nastran bulk data."""

import tempfile
from pathlib import Path

import numpy as np

import mbd_bridge as mbd

URDF = Path(__file__).parents[1] / "urdf"
arm = mbd.load(URDF / "kuka_iiwa.urdf").with_payload("lbr_iiwa_link_ee", mass=5.0)
motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")

cases = arm.free_body("lbr_iiwa_link_5", motion).at("peak")
for time, label, residual in zip(cases.time, cases.labels, cases.residual, strict=True):
    peaks = label.removeprefix("peak of ").replace("lbr_iiwa_", "").split(", ")
    more = f" and {len(peaks) - 2} more" if len(peaks) > 2 else ""
    print(f"{time:5.2f} s: {', '.join(peaks[:2])}{more}; sum {residual:.0e} of the largest")

print("\nat the first of them, N and N m, in the link's axes:")
for one in cases.acting:
    numbers = " ".join(f"{x:9.3f}" for x in one.wrench[0] + 0.0)
    print(f"{one.name.removeprefix('lbr_iiwa_'):8} at {one.point + 0.0} m  {numbers}")

with tempfile.TemporaryDirectory() as folder:
    bulk = Path(folder) / "link_5.bdf"
    cases.write(bulk, length="mm")  # N and N mm, as most meshes have it
    cards = [line.split("*")[0] for line in bulk.read_text().splitlines() if line[0] not in "$*"]
    print({card: cards.count(card) for card in dict.fromkeys(cards)})

# A linkage: pins of loops load their links as well, and what is not determined is marked.
bar = mbd.load(URDF / "four_bar.urdf")
run = bar.simulate(1.0, q=bar.assemble({"crank": 0.3}, fixed="crank").q)
rocker = run.free_body("rocker", at="coupler_pin.fz")
pin, names = rocker["coupler_pin"], ("fx", "fy", "fz", "mx", "my", "mz")
unsure = [name for name, sure in zip(names, pin.unique, strict=True) if not sure]
print(f"rocker: {', '.join(one.name for one in rocker.acting)}; not determined: {unsure}")
print("in equilibrium:", bool(np.all(rocker.residual < 1e-12)))
