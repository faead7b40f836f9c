"""However a robot's file is damaged, it is read, or refused with an error that explains."""

import warnings

import numpy as np
import pytest

from mbd_bridge.errors import MbdWarning
from tests.formats.mutation import mutate, outcome
from tests.formats.test_mjcf import ARM
from tests.formats.test_sdf import MACHINE
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
  <xacro:body name="upper" mass="${mass}" length="${lengths[0]}"><origin xyz="0 0 0.25"/></xacro:body>
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

TEXTS = {"robot.mjcf.xml": ARM, "robot.sdf": MACHINE, "robot.urdf.xacro": XACRO}
"""By the name of the file: that of a xacro tells what it is."""


@pytest.mark.parametrize("name", TEXTS)
def test_mutants_are_read_or_refused(name, tmp_path, capfd):
    path = tmp_path / name
    path.write_text(TEXTS[name])
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
