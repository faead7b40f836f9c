"""A robot whose loops its program closes in code: pybullet's minitaur, by a sidecar of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pybullet_data
import pytest

import mbd_bridge as mbd

LEGS = {"front_left": -1, "back_left": -1, "front_right": 1, "back_right": 1}
"""The legs, and which way their motors turn."""

FEET = {"R": [0, 0.005, 0.2], "L": [0, 0.01, 0.2]}
"""Where pybullet_envs' minitaur joins the two lower links of a leg, m, in their frames."""


@pytest.fixture(scope="module")
def minitaur(tmp_path_factory: pytest.TempPathFactory) -> mbd.Mechanism:
    """Legs move in planes: the point is held in the plane (x, z); y is a matter of rounding."""
    folder = tmp_path_factory.mktemp("minitaur")
    shutil.copy(Path(pybullet_data.getDataPath(), "quadruped", "minitaur.urdf"), folder)
    lines = ["loops:"]
    for leg in LEGS:
        lines += [f"  - name: foot_{leg}", "    type: mask", "    rows: [1, 0, 1, 0, 0, 0]"]
        for end, side in (("predecessor", "R"), ("successor", "L")):
            lines.append(f"    {end}: {{link: lower_leg_{leg}{side}_link, xyz: {FEET[side]}}}")
    motors = [f"motor_{leg}{side}_joint" for leg in LEGS for side in "LR"]
    lines.append(f"actuated: [{', '.join(motors)}]")
    (folder / "minitaur.loops.yaml").write_text("\n".join(lines))
    return mbd.load(folder / "minitaur.urdf")


@pytest.mark.filterwarnings("ignore::mbd_bridge.MbdWarning")
def test_motor_torques_are_those_of_pinocchios_tree_with_the_feet_joined_by_hand(
    minitaur: mbd.Mechanism,
) -> None:
    """τ_motor = τ_m - (J_k⁻¹ J_m)ᵀ τ_k: the knees follow the motors so that the feet stay shut."""
    names = list(minitaur.model.velocity_names)
    near, rates = {}, {}
    for number, (leg, way) in enumerate(LEGS.items()):
        for side in "LR":
            near[f"motor_{leg}{side}_joint"] = way * (np.pi / 2 + 0.1 * number)
            near[f"knee_{leg}{side}_link"] = way * -2.1834
            rates[f"motor_{leg}{side}_joint"] = way * (2.0 if side == "L" else -1.5 - number)
    motors = tuple(name for name in names if name.startswith("motor"))
    start = minitaur.assemble(near, fixed=motors, velocity=rates)
    rng = np.random.default_rng(5)
    a, _ = minitaur.constrained_dynamics().forward(start.q, start.v, rng.normal(size=len(names)))
    loads = minitaur.joint_loads(start.q, start.v, a, joints=list(motors))

    source = str(minitaur.model.description.source)
    model = pin.buildModelFromUrdf(source)
    data = model.createData()
    q, v, acc = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for k, name in enumerate(names):
        joint = model.joints[model.getJointId(name)]
        own = start.q[k]
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            own if joint.nq == 1 else [np.cos(own), np.sin(own)]
        )
        v[joint.idx_v], acc[joint.idx_v] = start.v[k], a[k]
    torque = pin.rnea(model, data, q, v, acc)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    columns = {name: model.joints[model.getJointId(name)].idx_v for name in names}
    for leg in LEGS:
        ends = []
        for side in "RL":
            joint = model.getJointId(f"knee_{leg}{side}_link")
            at = pin.SE3(np.eye(3), np.array(FEET[side], dtype=float))
            J = pin.getFrameJacobian(model, data, joint, at, pin.LOCAL_WORLD_ALIGNED)
            ends.append((J[:3], data.oMi[joint] * at))
        (first, here), (second, there) = ends
        axes = here.rotation.T[[0, 2]]  # the plane of the leg
        assert np.linalg.norm(axes @ (here.translation - there.translation)) < 1e-12
        J = axes @ (first - second)
        motor = [columns[f"motor_{leg}{side}_joint"] for side in "LR"]
        knee = [columns[f"knee_{leg}{side}_link"] for side in "LR"]
        expected = torque[motor] - np.linalg.solve(J[:, knee], J[:, motor]).T @ torque[knee]
        found = [loads[f"motor_{leg}{side}_joint"].actuation[0] for side in "LR"]
        assert np.allclose(found, expected, rtol=1e-9)
        assert np.abs(expected).min() > 0.05
