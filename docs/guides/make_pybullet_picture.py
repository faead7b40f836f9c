"""Photograph an arm with arrows of loads in a user's pybullet window, for docs/guides/drop_in.md.

xvfb-run -s "-screen 0 900x760x24" python docs/guides/make_pybullet_picture.py [FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pybullet
import pybullet_data
from PIL import ImageGrab

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import mbd_bridge as mbd  # noqa: E402
from mbd_bridge.engines.pybullet import Stepper  # noqa: E402

WIDTH, HEIGHT = 900, 760
JOINTS = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"]
STANDS = [0.0, 0.8, 0.0, -1.0, 0.0, 0.8, 0.0]


def main(folder: Path) -> None:
    """Open the window, hold the arm, draw and save."""
    client = pybullet.connect(pybullet.GUI, options=f"--width={WIDTH} --height={HEIGHT}")
    pybullet.configureDebugVisualizer(pybullet.COV_ENABLE_GUI, 0)
    pybullet.setGravity(0, 0, -9.81)
    models = Path(pybullet_data.getDataPath())
    pybullet.loadURDF(str(models / "plane.urdf"))
    path = models / "kuka_iiwa" / "model.urdf"
    holding = mbd.load(path).inverse_dynamics(STANDS, [0] * 7, [0] * 7)
    arm = Stepper.load(path, client)
    arm.reset(STANDS)
    arm.draw_loads(JOINTS)
    pybullet.resetDebugVisualizerCamera(0.95, 20, -15, (0.25, 0, 0.4))
    for _ in range(60):
        arm.step(holding)
        time.sleep(0.02)
    ImageGrab.grab((0, 0, WIDTH, HEIGHT)).save(folder / "pybullet_loads.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
