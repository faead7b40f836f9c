"""A small arm for tests of motors, with a motion of it, in our words and in MuJoCo's."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.files import read_urdf_text
from mbd_bridge.motion import Motion

LINK = """<link name="{name}"><inertial><origin xyz="{x} 0.02 0.05" rpy="0.1 0.2 0.3"/>
  <mass value="{mass}"/><inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0.01" ixz="0" iyz="0.003"/>
  </inertial></link>"""

JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{x} 0 0.1" rpy="{roll} 0 0"/><axis xyz="{axis}"/>{more}
  <limit lower="-9" upper="9" effort="300" velocity="20"/></joint>"""


def arm_urdf(more=("", "", ""), extra=""):
    """Return the URDF of an arm with two hinges and a slide; `more` is said inside the joints."""
    kinds = ("revolute", "revolute", "prismatic")
    axes, names = ("0 0 1", "0 1 0", "1 0 0"), ("turn", "lift", "reach")
    links = ["base", "column", "beam", "tool"]
    text = '<robot name="arm"><mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
    text += LINK.format(name="base", x=0, mass=1)
    for k, name in enumerate(names):
        text += LINK.format(name=links[k + 1], x=0.1 + 0.1 * k, mass=3 - 0.7 * k)
        text += JOINT.format(
            name=name,
            kind=kinds[k],
            parent=links[k],
            child=links[k + 1],
            x=0.3 * k,
            roll=0.2 * k,
            axis=axes[k],
            more=more[k],
        )
    return text + extra + "</robot>"


def arm(more=("", "", ""), extra=""):
    """Return it as a mechanism."""
    return mbd.Mechanism.build(read_urdf_text(arm_urdf(more, extra)))


def motion(robot, rows=401, still=()):
    """Return a motion of all joints, exact to rounding; joints in `still` (numbers) are held."""
    t = np.linspace(0.0, 2.0, rows)
    k = np.arange(robot.nv)
    w, size = 2.0 + 1.3 * k, 0.6 - 0.1 * k
    size = np.where(np.isin(k, still), 0.0, size)
    arg = w * t[:, None] + 0.7 * k
    states = size * np.sin(arg), size * w * np.cos(arg), -size * w * w * np.sin(arg)
    names = robot.coordinate_names, robot.model.velocity_names
    return Motion(t, *states, *names, (), robot.model)
