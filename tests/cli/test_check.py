"""Claims about ``mbd check``: it says where we agree, where not, and what was not compared."""

from __future__ import annotations

import sys

from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")


def test_check_agrees_with_pinocchio_and_says_so(run):
    code, out, _ = run("check", ARM, "--states", 3, "--no-pybullet")
    assert code == 0
    assert "pinocchio" in out
    assert "DISAGREES" not in out
    assert out.splitlines()[-1].startswith("agreement on 3 states")


def test_check_says_where_it_disagrees_and_exits_with_1(run, monkeypatch):
    crosscheck = sys.modules[
        "mbd_bridge.engines.crosscheck"
    ]  # the package has a function of that name
    row = crosscheck.Row("generalised forces", "somebody", 0.5, 1e-11, "elbow", False)
    report = crosscheck.Report("arm", 3, (row,), ("somebody",))
    monkeypatch.setattr(crosscheck, "crosscheck", lambda *_, **__: report)
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
