"""Claims about cross-checks with pybullet: when it is asked, and why not."""

import pytest

import mbd_bridge as mbd
from mbd_bridge.errors import MbdError
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
