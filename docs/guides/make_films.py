"""Draw the pictures and films of docs/guides/see_it_move.md, docs/start/tutorial.md and the README.

    python docs/guides/make_films.py [FOLDER]

Each is what one call of the page draws; it takes two minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import mbd_bridge as mbd  # noqa: E402

URDF = HERE.parents[1] / "urdf"


LOADS, SIZE, FPS = ["crank", "coupler_pin"], (480, 360), 20
"""Of the film of a four-bar."""


def turn() -> mbd.simulation.Simulation:
    """Return a turn of a four-bar's crank, 2 s."""
    linkage = mbd.load(URDF / "crank_rocker.urdf")
    start = linkage.assemble(near={"crank": 0.0}, fixed="crank").q
    course = {"crank": lambda t: np.pi * t}
    return linkage.simulate(2.0, step=1e-3, q=start, every=10, prescribed=course)


def main(folder: Path) -> None:
    """Draw all of them into a folder."""
    turn().render(folder / "four_bar.gif", loads=LOADS, size=SIZE, fps=FPS)

    arm = mbd.load(URDF / "kuka_iiwa.urdf")
    motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")
    joints = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"]
    arm.render(folder / "see_arm.png", motion, time=0.6, loads=joints, centre=True)
    loaded = arm.with_payload("lbr_iiwa_link_ee", 5.0, (0.0, 0.0, 0.1))
    loaded.render(
        folder / "tutorial_arm.png",
        motion,
        time=1.0,
        loads=["lbr_iiwa_joint_2", "lbr_iiwa_joint_ee"],
        size=(900, 600),
    )

    ralf = mbd.load(URDF / "ralf.urdf")
    near = {"theta1": -0.3, "theta2": -0.2, "theta3": -0.2, "theta4": 0.2}
    start = ralf.assemble(near, fixed=("theta1", "theta3")).q
    course = {"theta1": "-0.3 + 0.3*(1 - cos(pi*t))", "theta3": "-0.2 - 0.2*(1 - cos(pi*t))"}
    lifted = ralf.simulate(0.2, step=2e-4, q=start, prescribed=course)
    lifted.render(folder / "see_bent.png", time=0.1, exaggerate=50, size=(640, 480))

    bar = mbd.load(URDF / "four_bar.urdf")
    tilted = mbd.load(URDF / "four_bar.urdf", gravity=(0, -4, -9))
    place = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    tilted.render(
        folder / "see_undetermined.png",
        q=place,
        loads=["elbow", "crank"],
        actuated=["crank"],
        size=(720, 540),
        view=(35, 20),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
