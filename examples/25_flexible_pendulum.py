"""A weight swings on a strip of spring steel: how far does it bend, how much slower is it?"""

from pathlib import Path

import numpy as np

import mbd_bridge as mbd

FILE = Path(__file__).parents[1] / "urdf" / "flexible_pendulum.urdf"

strip = mbd.load(FILE)  # flexible_pendulum.flex.yaml says that the strip bends
rigid = mbd.load(FILE, flexible=())
run = strip.simulate(1.5, step=1e-4, q=[np.pi / 2, 0.0, 0.0])  # let go where it is level
stiff = rigid.simulate(1.5, step=1e-4, q=[np.pi / 2])

tip = run.q[:, 1] + run.q[:, 2]  # both modes are 1 m at the end
print(f"the end deflects by {1e3 * np.abs(tip).max():.1f} mm at most")
print(f"the strip's damping takes {1e3 * (run.energy[0] - run.energy[-1]):.1f} mJ")
for name, motion in (("bending", run), ("rigid", stiff)):
    down = np.flatnonzero(np.diff(np.sign(motion.q[:, 0])))[0]
    force = np.linalg.norm(motion.joint_loads(["hinge"]).force[:, 0], axis=-1)
    print(
        f"{name:8s} hangs down after {motion.time[down]:.4f} s; hinge: {force.max():.2f} N at most"
    )
