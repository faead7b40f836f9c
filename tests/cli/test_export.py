"""Claims about ``mbd export``: C that a compiler takes, with the digits of the kernel."""

from __future__ import annotations

import re
import subprocess

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.loads import Convention
from tests.c_compiler import needs_compiler
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
HUMANOID = str(OWN / "humanoid.urdf")
JOINT = "lbr_iiwa_joint_3"


@needs_compiler
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
    size = np.abs(loads.wrench).max()
    for mine, theirs in zip(
        (loads.force[0], loads.moment[0], loads.actuation), outputs, strict=True
    ):
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


@needs_compiler
def test_exported_forward_dynamics_of_loops_is_the_closed_mechanisms(run, tmp_path):
    import ctypes

    source = tmp_path / "bar.c"
    bar = mbd.load(OWN / "four_bar.urdf")
    code, _, _ = run("export", OWN / "four_bar.urdf", "--what", "forward_dynamics", "-o", source)
    text = source.read_text()
    assert code == 0 and "The loops are closed" in text and "risk[0]" in text
    assert "coupler_pin[" in text
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-shared", "-fPIC", source, "-lm"], cwd=tmp_path, check=True
    )
    call = ctypes.CDLL(str(tmp_path / "a.out")).forward_dynamics
    at = bar.assemble({"crank": 0.6}, fixed="crank", velocity={"crank": 3.0})
    tau = np.array([2.0, -1.0, 0.5])
    outputs = [np.zeros(3), np.zeros(text.count("coupler_pin[")), np.zeros(1)]
    call(*(x.ctypes.data_as(ctypes.c_void_p) for x in (at.q, at.v, tau, *outputs)))
    expected = bar.forward_dynamics(at.q, at.v, tau)
    assert np.allclose(outputs[0], expected, rtol=1e-11, atol=1e-11)
    assert 0.0 <= outputs[2][0] < 1e3
    kernel = bar.compile("forward_dynamics")
    assert np.allclose(kernel(at.q, at.v, tau)[0], expected, rtol=1e-11, atol=1e-11)
    flat = bar.assemble({"crank": np.pi / 2 + 1e-9}, fixed="crank")
    risk = kernel(flat.q, flat.v, tau)[2][0]
    assert not 0.0 <= risk < 1e7


def test_terms_of_a_machine_with_loops_say_that_they_are_the_trees(run):
    code, out, _ = run("export", OWN / "four_bar.urdf", "--what", "mass_matrix")
    assert code == 0 and "mass_matrix is that of the tree" in out
    code, _, err = run("export", OWN / "four_bar.urdf", "--what", "inverse_dynamics")
    assert code == 2 and "which joints are actuated" in err


def test_loads_of_loops_cannot_be_exported_and_no_option_is_advised_that_is_not_there(run):
    code, out, err = run("export", OWN / "four_bar.urdf", "--what", "joint_loads")
    assert code == 2
    assert not out
    assert "--what step --joints NAME; `mbd loads --actuated` computes them" in err
    assert "(--actuated)" not in err


def test_a_step_of_a_closed_mechanism_is_exported_with_its_loads(run):
    bar = str(OWN / "four_bar.urdf")
    code, out, _ = run("export", bar, "--what", "step", "--near", "crank=0.5", "--fixed", "crank",
                       "--torque", "crank=2*sin(t)", "--joints", "coupler_pin")  # fmt: skip
    assert code == 0
    head = out[: out.index("*/")]
    for told in ("in   q[3]", "out  force[1][3]", "moment, a row a joint: coupler_pin", "risk[1]"):
        assert told in head
    assert "coupler_pin.fy, coupler_pin.mx, coupler_pin.mz" in " ".join(
        head.replace("*", " ").split()
    )
    start = re.search(r"closes the loops: q = \[(.*?)\]", head)
    assert start and np.allclose([float(x) for x in start[1].split(",")], [0.5, -0.5, 0.5])
    code, _, err = run("export", bar, "--what", "mass_matrix", "--torque", "crank=1")
    assert code != 0
    assert "--torque is for --what step" in err


def test_a_machine_is_exported_as_an_fmu_with_inputs_for_its_joints(run, tmp_path):
    from fmpy import read_model_description

    path = tmp_path / "rocker.fmu"
    code, _, err = run(
        "export", OWN / "crank_rocker.urdf", "--what", "fmu", "--near", "crank=0.5", "--fmi", "2",
        "--torque", "elbow=0.5", "--joints", "coupler_pin", "--step", "0.002", "-o", path,
    )  # fmt: skip
    assert code == 0
    for said in ("torque.crank", "load.coupler_pin.fz", "FMI 2.0, 2 inputs"):
        assert said in err
    found = read_model_description(str(path))
    kinds = {one.name: one.causality for one in found.modelVariables}
    texts = {one.name: one.description or "" for one in found.modelVariables}
    marked = {name for name, text in texts.items() if text.startswith("undetermined")}
    assert marked == {f"load.coupler_pin.{part}" for part in ("fy", "mx", "mz")}
    assert "load.coupler_pin.fy (undetermined)" in err and "fz (undetermined)" not in err
    assert kinds["torque.rocker"] == "input"
    code, _, err = run("export", ARM, "--what", "step", "--fmi", "2")
    assert code == 2 and "--fmi is for --what fmu" in err
