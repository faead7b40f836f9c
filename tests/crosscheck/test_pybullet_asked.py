"""Claims about cross-checks with pybullet: when it is asked, and why not."""

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from tests.robots import own_urdfs


def test_pybullet_is_asked_where_it_can_answer():
    report = mbd.load(own_urdfs()["kuka_iiwa"]).crosscheck(states=3)
    assert any("pybullet" in provider for provider in report.providers)
    report = mbd.load(own_urdfs()["kuka_iiwa"], floating=True).crosscheck(states=3)
    assert any("fixed base" in reason for reason in report.absent)
    with pytest.raises(MbdError, match="fixed base"):
        mbd.load(own_urdfs()["kuka_iiwa"], floating=True).crosscheck(states=3, pybullet=True)


def test_pybullet_is_asked_about_robots_with_an_empty_tool_frame(tmp_path):
    text = own_urdfs()["kuka_iiwa"].read_text()
    tool = (
        '<link name="tcp"/><joint name="tcp_joint" type="fixed">'
        '<parent link="lbr_iiwa_link_ee"/><child link="tcp"/><origin xyz="0 0 0.1"/></joint>'
    )
    (tmp_path / "tool.urdf").write_text(text.replace("</robot>", tool + "</robot>"))
    report = mbd.load(tmp_path / "tool.urdf").crosscheck(states=5, pybullet=True)
    assert report.passed, str(report)
    assert [row.quantity for row in report.rows if "pybullet" in row.referee]
    moving = tool.replace('type="fixed"', 'type="continuous"')
    (tmp_path / "idle.urdf").write_text(text.replace("</robot>", moving + "</robot>"))
    with pytest.raises(MbdError, match="moving links without mass, such as 'tcp'"):
        mbd.load(tmp_path / "idle.urdf").crosscheck(states=2, pybullet=True)


PAIR = """<robot name="pair">
  <link name="base"/>
  <link name="one"><inertial><origin xyz="0.1 0.2 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="two"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lead" type="continuous"><parent link="base"/><child link="one"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="follow" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <mimic joint="lead" multiplier="-2" offset="0.4"/></joint>
</robot>"""


def test_pybullet_is_told_where_a_mimic_stands(tmp_path):
    path = tmp_path / "pair.urdf"
    path.write_text(PAIR)
    report = mbd.load(path).crosscheck(states=5, pybullet=True)
    assert report.passed, str(report)
    assert sum("pybullet" in row.referee for row in report.rows) == 4
