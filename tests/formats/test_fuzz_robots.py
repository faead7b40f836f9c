"""However a robot's file is damaged, it is read, or refused with an error that explains."""

import warnings

import numpy as np
import pytest

from mbd_bridge.base.errors import MbdWarning
from tests.formats.mutation import mutate, outcome
from tests.formats.texts import ARM, CONFIG, FOREARM, HINGE, MACHINE, include, joint, link, sdf
from tests.sample import TIMES

MUTANTS = 150 * TIMES
"""Of each text."""

XACRO = """<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:arg name="payload" default="2"/>
  <xacro:arg name="tool" default="true"/>
  <xacro:property name="mass" value="${3 * $(arg payload)}"/>
  <xacro:property name="lengths" value="${[0.5, 0.25]}"/>
  <xacro:macro name="body" params="name mass length:=1 *place">
    <link name="${name}">
      <inertial>
        <xacro:insert_block name="place"/>
        <mass value="${mass}"/>
        <inertia ixx="${mass * length**2 / 12}" iyy="${mass * length**2 / 12}" izz="0.001"
                 ixy="0" ixz="0" iyz="0"/>
      </inertial>
    </link>
  </xacro:macro>
  <link name="base"/>
  <xacro:body name="upper" mass="${mass}" length="${lengths[0]}">
    <origin xyz="0 0 0.25"/>
  </xacro:body>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 ${sin(pi / 6)}"/>
    <axis xyz="0 1 0"/><limit lower="${-pi}" upper="${pi}" effort="10" velocity="1"/>
  </joint>
  <xacro:if value="$(arg tool)">
    <xacro:body name="tool" mass="1"><origin xyz="0 0 0.1"/></xacro:body>
    <joint name="wrist" type="fixed"><parent link="upper"/><child link="tool"/></joint>
  </xacro:if>
  <xacro:unless value="${mass > 1}"><link name="light"/></xacro:unless>
</robot>
"""

INCLUDES = sdf(
    link("a")
    + include(more='<name>one</name><pose relative_to="a">0 0 1 0 0 0</pose><static>0</static>')
    + include("model://part", "<pose>1 0 0 0 0 0</pose><placement_frame>grip</placement_frame>")
    + include("folder", merge="true")
    + joint("j", "revolute", "a", "one::lower", HINGE)
    + joint("k", "revolute", "one::tool", "lower", HINGE)
)

BESIDE = {
    "part.sdf": sdf(FOREARM),
    "part/model.config": CONFIG,
    "part/new.sdf": sdf(FOREARM),
    "folder/model.config": CONFIG,
    "folder/new.sdf": sdf(FOREARM),
}
"""What these files include."""

TEXTS = {
    "robot.mjcf.xml": ARM,
    "robot.sdf": MACHINE,
    "includes.sdf": INCLUDES,
    "robot.urdf.xacro": XACRO,
}
"""By the name of the file: that of a xacro tells what it is."""


@pytest.mark.parametrize("name", TEXTS)
def test_mutants_are_read_or_refused(name, tmp_path, capfd):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    for beside, text in BESIDE.items():
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MbdWarning)
        assert outcome(path) == "description"
        rng = np.random.default_rng(23)
        seen = []
        for _ in range(MUTANTS):
            path.write_bytes(mutate(TEXTS[name], rng))
            seen.append(outcome(path))
    assert 0.05 < seen.count("description") / MUTANTS < 0.95  # both roads were taken
    assert capfd.readouterr() == ("", "")


def test_mutants_of_what_is_included_are_read_or_refused(tmp_path):
    path = tmp_path / "includes.sdf"
    path.write_text(INCLUDES)
    for beside, text in BESIDE.items():
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_text(text)
    rng = np.random.default_rng(24)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MbdWarning)
        for _ in range(MUTANTS // len(BESIDE)):
            for beside, text in BESIDE.items():
                (tmp_path / beside).write_bytes(mutate(text, rng))
                seen.append(outcome(path))
                (tmp_path / beside).write_text(text)
    assert 0.05 < seen.count("description") / len(seen) < 0.95  # both roads were taken
