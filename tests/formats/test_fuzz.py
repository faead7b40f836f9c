"""However a URDF is damaged, reading it gives a description or a `FileError`, and soon."""

import warnings

import numpy as np
import pytest

from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.files import read
from tests.formats.mutation import BYTES, mutate, outcome
from tests.robots import OWN, installed, robot
from tests.sample import TIMES

ROBOTS = installed(
    "pb/kuka_iiwa/model",
    "pb/humanoid/humanoid",
    "pb/cube_no_rotation",
    "pb/xarm/xarm6_robot",
    "pb/racecar/racecar_differential",
    "erd/panda/panda",
    "erd/double_pendulum/double_pendulum",
    "erd/allegro_hand/allegro_left_hand",
    "erd/so_arm/so101",
    "erd/bolt/bolt",
)
"""Small and middling files that together use all that the reader knows."""

MUTANTS = 150 * TIMES
"""Of each robot."""

LOOPS = """
<loop_joint name="lock" type="universal"><link1 link="{a}" xyz="0 0 1"/><link2 link="{b}"/>
<axis xyz="0 1 0"/><axis2 xyz="1 0 0"/></loop_joint>
<constraint name="tie" type="revolute"><parent link="{a}"/><parent_origin xyz="0 0 1"/>
<parent_axis xyz="0 1 0"/><child link="{b}"/><child_axis xyz="0 1 1"/></constraint></robot>"""

SIDECAR = b"""loops:
  - name: pin
    type: revolute
    predecessor: {link: %a, xyz: [0, 0, 1], rpy: [0.1, 0, 0]}
    successor: {link: %b, xyz: [1, 0, 1]}
    axis: [0, 2, 0]
"""


@pytest.fixture(autouse=True)
def _warnings():
    """What is odd may be said; arithmetic must not slip."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MbdWarning)
        yield


@pytest.mark.parametrize("name", ROBOTS)
def test_mutants_of_real_robots_are_read_or_refused(name, tmp_path):
    text = robot(name).read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        links = read(robot(name)).links
    head, _, _ = text.rpartition("</robot>")
    text = head + LOOPS.format(a=links[0].name, b=links[-1].name)
    path = tmp_path / "mutant.urdf"
    path.write_text(text)
    assert len(links) < 2 or outcome(path) == "description"
    rng = np.random.default_rng(20)
    seen = []
    for _ in range(MUTANTS):
        path.write_bytes(mutate(text, rng))
        seen.append(outcome(path))
    assert 0.05 < seen.count("description") / MUTANTS < 0.95  # both roads were taken


SIDECARS = {
    "mutant.loops.yaml": SIDECAR,
    "mutant.yaml": b"""closed_loop: [[%a, lbr_iiwa_joint_2], [lbr_iiwa_link_3, %b]]
type: ['6d', 3D]
name_mot: [joint_1, lbr_iiwa_joint_4]
joint_name: [lbr_iiwa_joint_5, lbr_iiwa_joint_6, lbr_iiwa_joint_7]
joint_type: [SPHERICAL, UJOINT_XY, FIXED]
# a remark in which much may change without any meaning
""",
    "loop_closures.yaml": b"""closures:
- {link_a: %a, link_b: %b, point: [0.1, 0, 1.2], axis: [0, 1, 0]}
dependent: [lbr_iiwa_joint_2]
independent: [lbr_iiwa_joint_1, lbr_iiwa_joint_3]
""",
}
"""Ours, of Gepetto's robots, of sw2robot."""


@pytest.mark.parametrize("name", SIDECARS)
def test_mutants_of_a_sidecar_are_read_or_refused(name, tmp_path):
    path = tmp_path / "mutant.urdf"
    path.write_bytes((OWN / "kuka_iiwa.urdf").read_bytes())
    text = SIDECARS[name].replace(b"%a", b"lbr_iiwa_link_7").replace(b"%b", b"lbr_iiwa_link_0")
    (tmp_path / name).write_bytes(text)
    assert outcome(path) == "description"
    rng = np.random.default_rng(21)
    pieces = (
        *BYTES,
        b"&a ",
        b"*a ",
        b"{",
        b"[",
        b"- ",
        b": ",
        b"\n",
        b"\t",
        b"!!int ",
        b"nan",
        b"1e999",
    )
    seen = []
    for _ in range(MUTANTS):
        place, cut = rng.integers(len(text)), rng.integers(4)
        piece = pieces[rng.integers(len(pieces))]
        (tmp_path / name).write_bytes(text[:place] + piece + text[place + cut :])
        seen.append(outcome(path))
    assert {"description", "error"} == set(seen)


def test_noise_is_refused(tmp_path):
    path = tmp_path / "noise.urdf"
    rng = np.random.default_rng(22)
    for size in rng.integers(10_000, size=200):
        path.write_bytes(rng.bytes(int(size)))
        assert outcome(path) == "error"
