"""Code that calls pinocchio: keep the calls, change where they come from."""

from pathlib import Path

import numpy as np
import pinocchio as pin

from mbd_bridge.engines import pinocchio as fast

urdf = Path(__file__).parents[1] / "urdf" / "kuka_iiwa.urdf"
model = pin.buildModelFromUrdf(str(urdf))
data = model.createData()

rng = np.random.default_rng(1)
q, v, a = (rng.uniform(-1.0, 1.0, size) for size in (model.nq, model.nv, model.nv))

prepared = fast.prepare(model)  # once: the kernels are made (or found on disk) at their first call
tau = fast.rnea(prepared, data, q, v, a)
print("rnea         ", np.abs(tau - pin.rnea(model, data, q, v, a)).max() < 1e-12)

forces = fast.joint_forces(prepared, None, q, v, a)  # (njoints, 6): what data.f holds after rnea
print("joint_forces ", np.abs(forces[3] - data.f[3].vector).max() < 1e-12)

acceleration = fast.aba(prepared, None, q, v, tau)
print("aba          ", np.abs(acceleration - a).max() < 1e-9)

M = fast.crba(prepared, None, q)
print("crba         ", np.abs(np.triu(M) - np.triu(pin.crba(model, data, q))).max() < 1e-12)

many = rng.uniform(-1.0, 1.0, (1000, model.nv))  # all of them take (N, n) arrays too
print("1000 states  ", fast.rnea(prepared, None, many, many, many).shape)
