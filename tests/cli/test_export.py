"""Claims about ``mbd export``: C that a compiler takes, with the digits of the kernel."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.loads import Convention
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
HUMANOID = str(OWN / "humanoid.urdf")
JOINT = "lbr_iiwa_joint_3"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_exported_c_gives_the_load_of_the_kernel(run, tmp_path):
    import ctypes

    source, library = tmp_path / "load.c", tmp_path / "a.out"
    code, _, err = run(
        "export", ARM, "--c", "--what", "joint_loads", "--joints", JOINT, "-o", source
    )
    assert code == 0
    (told,) = re.findall(r"(\d+) operations", err)
    assert f" * {told} operations for one state (a fused multiply-add is two)" in source.read_text()
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC", source, "-lm"],
        cwd=tmp_path,
        check=True,
    )
    rng = np.random.default_rng(0)
    states = [rng.normal(size=7) for _ in range(3)]
    outputs = [np.zeros(3), np.zeros(3), np.zeros(1)]
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*states, *outputs)]
    ctypes.CDLL(str(library)).joint_loads(*pointers)
    loads = mbd.load(ARM).joint_loads(*states, joints=[JOINT])
    size = np.abs(loads.wrench()).max()
    for mine, theirs in zip((loads.force[0], loads.moment[0], loads.drive), outputs, strict=True):
        assert np.abs(mine - theirs).max() < 1e-13 * size


def test_exported_c_names_coordinates_units_and_convention(run):
    code, out, _ = run("export", HUMANOID, "--floating", "--c", "--what", "joint_loads",
                       "--joints", "left_knee", "--name", "knee")  # fmt: skip
    assert code == 0
    head = out[: out.index("*/")]
    model = mbd.load(HUMANOID, floating=True).model
    for k, name in enumerate(model.coordinate_names):
        assert f"q[{k}]  {name}  " in head
    assert f"load: {Convention()}" in head
    assert "gravity (0, 0, -9.81)" in head
    assert "void knee(" in out
    for what in ("mass_matrix", "bias_forces", "inverse_dynamics", "forward_dynamics"):
        code, out, _ = run("export", ARM, "--c", "--what", what)
        assert (code, f"void {what}(" in out) == (0, True)
