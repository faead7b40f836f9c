"""Claims about ``mbd check``: it says where we agree, where not, and what was not compared."""

from __future__ import annotations

from importlib import import_module

from mbd_bridge.cli import screen
from tests.robots import OWN, heavier

ARM, MOTION = str(OWN / "kuka_iiwa.urdf"), str(OWN / "kuka_iiwa_motion.csv")


def test_check_agrees_with_pinocchio_and_says_so(run):
    code, out, _ = run("check", ARM, "--states", 3, "--no-pybullet")
    assert code == 0
    assert "pinocchio" in out
    assert "DISAGREES" not in out
    assert out.splitlines()[-1].startswith("agreement on 3 states")


def test_check_says_where_it_disagrees_and_exits_with_1(run, monkeypatch):
    crosscheck = import_module("mbd_bridge.engines.crosscheck")
    row = crosscheck.Row("generalised forces", "somebody", 0.5, 1e-11, "elbow", False)
    report = crosscheck.Report("arm", 3, (row,), ("somebody",))
    called = import_module("mbd_bridge.api.crosscheck")
    monkeypatch.setattr(called, "at_random_states", lambda *_, **__: report)
    code, out, _ = run("check", ARM)
    assert code == 1
    assert "DISAGREES" in out
    assert "elbow" in out
    assert out.splitlines()[-1].startswith("DISAGREEMENT")


def test_check_does_not_call_agreement_what_it_did_not_compare(run, tmp_path):
    (tmp_path / "idle.urdf").write_text(
        """<robot name="idle"><link name="base"/><link name="ghost"/>
        <link name="rod"><inertial><origin xyz="1 0 0"/><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="good" type="continuous"><parent link="base"/><child link="rod"/></joint>
        <joint name="idle" type="continuous"><parent link="rod"/><child link="ghost"/></joint>
        </robot>"""
    )
    code, out, _ = run("check", tmp_path / "idle.urdf", "--no-pybullet")
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("forward dynamics")]
    assert row.split()[2:4] == ["not", "compared"]
    assert out.splitlines()[-1].endswith("of idle, 1 quantity not compared")


def test_check_along_a_recording_with_forces_fails_when_one_mass_is_1_percent_off(
    run, monkeypatch, tmp_path
):
    forces = tmp_path / "press.csv"
    forces.write_text("time [s],lbr_iiwa_link_ee.fz [N]\n0,0\n2,-300\n")
    job = ("check", ARM, MOTION, "--external", forces, "--no-pybullet")
    code, out, _ = run(*job)
    assert code == 0
    assert out.splitlines()[-1] == "agreement on 201 states of the motion of kuka_iiwa"
    honest = screen.load_robot
    link = "lbr_iiwa_link_5"
    monkeypatch.setattr(screen, "load_robot", lambda options: heavier(honest(options), link, 1.01))
    code, out, _ = run(*job)
    assert code == 1
    assert out.splitlines()[-1].startswith("DISAGREEMENT on 201 states")
    wrong = [line.split()[2] for line in out.splitlines() if line.startswith("load of")]
    told = [line for line in out.splitlines() if "DISAGREES" in line]
    assert len(wrong) == 7 and len(told) == 6  # five joints carry the link, and their actuators


def test_check_of_a_pose_with_loops_asks_who_moves_it(run):
    bar = str(OWN / "four_bar.urdf")
    assert run("check", bar, "--q", "crank=0.3")[0] == 2
    code, out, _ = run("check", bar, "--q", "crank=0.3", "--actuated", "crank")
    assert code == 0 and out.splitlines()[-1] == "agreement on 1 state of the motion of four_bar"
