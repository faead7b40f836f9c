"""Loads in Parquet, HDF5, npz and CSV: pandas, h5py and NumPy read them; so do we."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pandas

import mbd_bridge as mbd

URDF = Path(__file__).parents[1] / "urdf"
arm = mbd.load(URDF / "kuka_iiwa.urdf")
motion = arm.read_motion(URDF / "kuka_iiwa_motion.csv")
loads = arm.joint_loads(motion, joints=["lbr_iiwa_joint_3"], in_="world")

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for kind in ("csv", "parquet", "npz", "h5"):
        path = folder / f"loads.{kind}"
        loads.save(path)
        again = arm.read_loads(path)
        same = np.array_equal(again.force, loads.force) and again.convention == loads.convention
        print(f"{path.name:<14} {path.stat().st_size // 1000:>3} kB, read back the same: {same}")

    frame = pandas.read_parquet(folder / "loads.parquet")
    column = "lbr_iiwa_joint_3.fz"
    print(f"pandas: {frame[column].max():.3f} {frame.attrs['units'][column]}")
    with h5py.File(folder / "loads.h5") as file:
        print(f"h5py:   {file[column][:].max():.3f} {file[column].attrs['units'].decode()}")
        print(f"        {file.attrs['load'].decode()}")
    with np.load(folder / "loads.npz") as file:
        print(
            f"NumPy:  {file[column].max():.3f} {file['units'][list(file['columns']).index(column)]}"
        )

    run = mbd.load(URDF / "pendulum.urdf").simulate(1.0, q=[1.0], every=10)
    run.save(folder / "run.h5", run.joint_loads())
    swing = mbd.load(URDF / "pendulum.urdf").read_motion(folder / "run.h5")
    print(swing)
