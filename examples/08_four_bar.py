"""What do the pins of a four-bar linkage carry, and which of these numbers mean something?"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

bar = mbd.load(Path(__file__).parents[1] / "urdf" / "four_bar.urdf")  # and four_bar.loops.yaml
start = bar.assemble(near={"crank": np.pi / 6}, fixed="crank")
for name, value in zip(bar.coordinate_names, start.q, strict=True):
    print(f"{name:<12}{value:8.4f} rad")
print(bar.loops.report(start.q))

run = bar.simulate(2.0, q=start.q, v=start.v, every=10)
drift = np.abs(run.energy - run.energy[0]).max()
print(f"{run.steps} steps; energy to {drift:.0e} J, loop closed to {run.closure.max():.0e}")
print(f"first acceleration of the crank {run.a[0, 0]:.3f} rad/s², closed form 5.886")

loads = run.joint_loads(["crank", "coupler_pin"])
for joint in loads.joints:
    one = loads[joint]
    parts = np.hstack([one.force, one.moment])
    for k, component in enumerate(("fx", "fy", "fz", "mx", "my", "mz")):
        largest = (
            f"{np.abs(parts[:, k]).max():10.3f}"
            if one.unique[:, k].all()
            else "       not determined"
        )
        print(f"{joint:<12} {component} {largest}")
