"""Pictures of what an arm's joints carry and its actuators must give, and of a linkage's pins."""

import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # into files; leave this out and call matplotlib.pyplot.show() for windows
import mbd_bridge as mbd

URDF = Path(__file__).parents[1] / "urdf"
arm = mbd.load(URDF / "kuka_iiwa.urdf")
motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")
loads = arm.joint_loads(motion, joints=["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"], in_="parent")

bar = mbd.load(URDF / "four_bar.urdf")
run = bar.simulate(2.0, q=bar.assemble({"crank": 0.3}, fixed="crank").q, every=10)
pin = run.joint_loads("coupler_pin")

pictures = {
    "loads.png": loads.plot(),
    "torque_speed.svg": loads.plot_torque_speed(),
    "bearings.pdf": loads.plot_polar(),
    "linkage.png": run.plot(),
    "pin.png": pin.plot(),
}
with tempfile.TemporaryDirectory() as folder:
    for name, axes in pictures.items():
        axes[0].figure.savefig(Path(folder) / name)
        size = (Path(folder) / name).stat().st_size
        print(f"{name:<13} {len(axes)} panels, {size // 1000} kB")

for ax in pictures["torque_speed.svg"]:
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    print(f"{ax.get_title(loc='left')}: {'; '.join(said[2:6])}")
grey = [text.get_text() for ax in pictures["pin.png"] for text in ax.get_legend().get_texts()]
print("grey in pin.png:", ", ".join(name for name in grey if "undetermined" in name))
