"""Claims about ``mbd info``: all that the file says, in plain text."""

from __future__ import annotations

import mbd_bridge as mbd
from tests.robots import OWN

HUMANOID = str(OWN / "humanoid.urdf")


def test_info_shows_every_joint_link_and_coordinate(run):
    code, out, err = run("info", HUMANOID, "--floating")
    model = mbd.load(HUMANOID, floating=True).model
    assert (code, err) == (0, "")
    for name in (*model.joint_index, *model.link_index, *model.coordinate_names):
        assert name in out
    mass = sum(link.inertia.mass for link in model.links)
    assert f"{model.nv} degrees of freedom, floating base, {mass:.6g} kg" in out


def test_info_is_plain_text_when_nobody_looks(run):
    _, out, _ = run("info", HUMANOID)
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_info_of_a_chain_does_not_drift_to_the_right(run, tmp_path):
    links = "".join(f'<link name="l{k}"/>' for k in range(61))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(60)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="chain">{links}{joints}</robot>')
    _, out, _ = run("info", path)
    assert sum(line.startswith("j") for line in out.splitlines()) == 61  # and the heading


def test_info_draws_branches(run):
    _, out, _ = run("info", HUMANOID)
    lines = [line.split("  ")[0] for line in out.splitlines()]
    assert "├─ waist_yaw" in lines
    assert "│  waist_pitch" in [line[:14] for line in out.splitlines()]
    assert "└─ right_hip_yaw" in lines


def test_info_shows_couplings_loops_and_what_is_odd(run, tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(
        '<robot name="odd"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0.6 -0.8"/></joint>'
        '<joint name="k" type="continuous"><parent link="a"/><child link="c"/>'
        '<axis xyz="0 -1 0"/><mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
        '<link name="d"><inertial><mass value="1"/>'
        '<inertia ixx="9" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="f" type="fixed"><parent link="c"/><child link="d"/></joint></robot>'
    )
    (tmp_path / "odd.loops.yaml").write_text(
        "loops:\n  - name: pin\n    type: spherical\n    predecessor: {link: b}\n"
        "    successor: {link: c}\n"
    )
    code, out, _ = run("info", path)
    assert code == 0
    assert "continuous = -2 j + 0.5" in out
    assert "0 0.6 -0.8" in out
    assert "-y" in out
    loop = next(line for line in out.splitlines() if line.startswith("pin"))
    assert loop.split() == ["pin", "spherical", "b", "c", "3", "3"]
    assert "warning:" in out
    assert "inertia" in out[out.index("warning:") :]
