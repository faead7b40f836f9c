"""Force elements in ``NAME.forces.yaml``: read, written, refused, and part of the machine."""

from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.files import sidecars
from mbd_bridge.forces.files import READERS, TYPES
from tests.forces.elements import ELEMENTS, machine

HEAD = "units: SI\nforces:\n"

SPRING = """\
  - name: strut
    type: PointSpring
    links: [ground, bob]
    points: [[0, 0, 1.5], [0.2, 0, 0]]
    stiffness: 40
    damping: 2
    free_length: 1
"""

URDF = """\
<robot name="swing">
  <link name="base"/>
  <link name="bob">
    <inertial><origin xyz="0.4 0 0"/><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial>
  </link>
  <joint name="pin" type="revolute">
    <parent link="base"/><child link="bob"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/>
  </joint>
</robot>
"""


@pytest.fixture
def swing(tmp_path):
    """Return a function that writes the file of forces and gives the robot's path."""
    urdf = tmp_path / "swing.urdf"

    def write(entries=SPRING, head=HEAD):
        """Write the file; with damping in the URDF where this is asked for."""
        dynamics = '<dynamics damping="0.5" friction="0.1"/></joint>' if "urdf" in entries else ""
        urdf.write_text(URDF.replace("</joint>", dynamics or "</joint>"))
        (tmp_path / "swing.forces.yaml").write_text(head + entries)
        return urdf

    return write


def test_every_element_is_written_and_read_back_to_the_last_digit(tmp_path):
    elements = mbd.System(
        machine(), forces=[replace(one, name=name) for name, one in ELEMENTS.items()]
    ).forces
    path = tmp_path / "arm.forces.yaml"
    mbd.forces.save_forces(path, elements)
    again = mbd.forces.load_forces(path, machine())
    assert [one.name for one in again] == list(ELEMENTS)
    assert [one.identity for one in again] == [one.identity for one in elements]


def test_two_elements_of_one_name_are_not_written(tmp_path):
    path = tmp_path / "arm.forces.yaml"
    with pytest.raises(mbd.errors.StateError, match="elements 1 and 2 are both named 'linear'"):
        mbd.forces.save_forces(path, [replace(ELEMENTS["linear"], name="linear")] * 2)
    assert not path.exists()


def test_every_parameter_of_every_type_can_be_read():
    for kind in TYPES.values():
        hints = get_type_hints(kind)
        assert {hints[one.name] for one in fields(kind)} <= set(READERS), kind


def test_every_type_is_written_by_a_test():
    tyres = {"FialaTyre", "PacejkaTyre", "SimpleTyre", "TableTyre", "Track"}  # in test_tyre_files
    assert set(TYPES) == {type(one).__name__ for one in ELEMENTS.values()} | tyres


def test_a_file_beside_the_urdf_belongs_to_the_machine(swing):
    robot = mbd.load(swing())
    (strut,) = robot.forces
    assert (strut.name, strut.stiffness, strut.links) == ("strut", (40.0,), ("ground", "bob"))
    assert "forces strut" in repr(robot)
    alone = mbd.load(swing(), forces=())
    assert alone.forces == ()
    run = robot.simulate(0.1, q=[0.3])
    assert "force elements strut" in repr(run)
    given = alone.simulate(0.1, q=[0.3], forces=[replace(strut, name="given")])
    assert np.array_equal(run.q, given.q)
    bare = robot.simulate(0.1, q=[0.3], forces=())
    assert not bare.force_elements
    assert np.array_equal(bare.q, alone.simulate(0.1, q=[0.3]).q)
    assert np.abs(bare.q - run.q).max() > 1e-3
    batch = robot.simulate(0.1, q=[[0.3], [0.4]])
    assert np.array_equal(batch.q[0], run.q)
    assert np.array_equal(mbd.System(robot).simulate(0.1, q=[0.3]).q, run.q)


def test_tables_stand_in_the_file_or_beside_it(swing, tmp_path):
    x, y = [-0.5, 0.0, 0.5], [-7.0, 0.0, 9.0]
    entry = "  - {name: coil, type: JointSpring, joint: pin, stiffness: %s}\n"
    inline = f"{{x: {x}, y: {y}, kind: cubic, outside: extend}}"
    (first,) = mbd.load(swing(entry % inline)).forces
    rows = "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True))
    (tmp_path / "coil.csv").write_text("angle [rad],torque [N m]\n" + rows)
    beside = "{file: coil.csv, x: angle, y: torque, kind: cubic, outside: extend}"
    (second,) = mbd.load(swing(entry % beside)).forces
    assert first.identity == second.identity
    assert first.stiffness(0.6) == mbd.load(swing(entry % inline)).forces[0].stiffness(0.6)


def test_a_file_may_ask_for_what_the_urdf_says(swing):
    asked = "urdf: {damping: true, limits: [1000, 10]}\n"
    robot = mbd.load(swing(asked, head="units: SI\n"))
    friction, stop = robot.forces
    assert (friction.viscous, friction.coulomb, stop.upper) == (0.5, 0.0, 1.0)
    with pytest.warns(mbd.MbdWarning, match="friction of 1 joint is not part of this motion"):
        run = robot.simulate(0.1)
    assert run.notes == ("friction of 1 joint is not part of this motion",)


BAD = {
    "no units": (SPRING, "forces:\n", "1: .*units: SI"),
    "inches": (SPRING, "units: in\nforces:\n", "1: .*units: SI"),
    "unknown table": (SPRING, "units: SI\nforce:\n", "no key named 'force'.*did you mean 'forces'"),
    "no name": ("  - {type: Drag}\n", HEAD, r"3: .*key 'name' is missing \(keys here: type\)"),
    "no element": ("  - strut\n", HEAD, "3: .*expected a table with name, type"),
    "type": (
        "  - {name: a, type: PointSprng}\n",
        HEAD,
        "3: element 'a': no type of force element named 'PointSprng'.*'PointSpring'",
    ),
    "key": (
        SPRING.replace("stiffness", "stifness"),
        HEAD,
        "7: element 'strut': no key of PointSpring named 'stifness'; did you mean 'stiffness'",
    ),
    "missing": (
        "  - {name: a, type: JointStop}\n",
        HEAD,
        "3: element 'a': a JointStop needs joint",
    ),
    "twice": (SPRING + SPRING, HEAD, r"10: element 'strut': another element .* \(line 3\)"),
    "negative": (SPRING.replace("40", "-40"), HEAD, "7: element 'strut': stiffness.*at least 0"),
    "text": (
        SPRING.replace("40", "soft"),
        HEAD,
        "7: .*stiffness: expected a number.*got 'soft'",
    ),
    "list": (SPRING.replace("damping: 2", "damping: [-2]"), HEAD, "8: element 'strut': damping"),
    "link": (SPRING.replace("bob", "bop"), HEAD, "3: element 'strut': no link named 'bop'.*'bob'"),
    "one point": (
        SPRING.replace("ground", "bob"),
        HEAD,
        "5: element 'strut': links: expected two different links, got 'bob' twice",
    ),
    "joint": (
        "  - name: a\n    type: JointSpring\n    joint: pen\n",
        HEAD,
        "5: element 'a': joint: no coordinate named 'pen'; did you mean 'pin'",
    ),
    "table": (
        SPRING.replace("40", "{x: [0, 1, 1], y: [0, 1, 2]}"),
        HEAD,
        "7: stiffness: .*places that increase",
    ),
    "table word": (SPRING.replace("40", "{x: [0, 1], y: [0, 1], kind: b}"), HEAD, "7: .*'b'"),
    "no y": (SPRING.replace("40", "{x: [0, 1]}"), HEAD, "7: stiffness: the key 'y' is missing"),
    "elsewhere": (
        SPRING.replace("40", "{file: ../../etc/passwd, x: a, y: b}"),
        HEAD,
        "7: file: expected a file beside this one",
    ),
    "absolute": (SPRING.replace("40", "{file: /etc/passwd, x: a, y: b}"), HEAD, "beside this one"),
    "no file": (
        SPRING.replace("40", "{file: k.csv, x: a, y: b}"),
        HEAD,
        r"k\.csv: cannot be read: there is no such file",
    ),
    "infinite": (
        SPRING.replace("40", ".inf"),
        HEAD,
        "7: .*stiffness: expected a number",
    ),
    "urdf": ("urdf: {dampng: true}\n", "units: SI\n", "no key named 'dampng'.*'damping'"),
    "flag": ("urdf: {damping: 1}\n", "units: SI\n", "2: damping: expected true or false"),
    "limits": ("urdf: {limits: [1]}\n", "units: SI\n", r"2: limits: limits: expected \(stiffness"),
    "alias": ("  - &a {name: b}\n  - *a\n", HEAD, "aliases .* are not read"),
    "deep": ("  - " + "[" * 50 + "]" * 50 + "\n", HEAD, "nested deeper"),
    "large": (f"  - {{name: a, x: [{'1,' * 40_000}1]}}\n", HEAD, "more than 30000 values"),
    "bytes": ("\0\0", "", "swing.forces.yaml"),
    "empty": ("", "", "the file is empty"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_a_file_cannot_mean_is_refused_with_its_place(what, swing):
    entries, head, said = BAD[what]
    path = swing(entries, head)
    with pytest.raises(mbd.errors.FileError, match=said):
        mbd.load(path)


def test_a_long_table_is_refused_before_it_is_whole(swing, tmp_path, monkeypatch):
    monkeypatch.setattr(sidecars, "MAX_POINTS", 100)
    (tmp_path / "k.csv").write_text("a,b\n" + "".join(f"{k},{k}\n" for k in range(101)))
    with pytest.raises(mbd.errors.FileError, match=r"k\.csv: more than 100 rows"):
        mbd.load(swing(SPRING.replace("40", "{file: k.csv, x: a, y: b}")))


def test_commands_use_the_file_another_file_or_none(swing, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(swing())
    (tmp_path / "stiff.yaml").write_text(HEAD + SPRING.replace("40", "400"))

    def said(*words):
        assert main(list(words)) == 0
        return capsys.readouterr()

    shown = said("info", path).out
    assert "strut  PointSpring  ground - bob  points" in shown and "stiffness 40" in shown
    assert "stiffness 400" in said("info", path, "--forces", "stiff.yaml").out
    assert "strut" not in said("info", path, "--no-forces").out
    ends = {}
    for name, words in {
        "": (),
        "other": ("--forces", "stiff.yaml"),
        "no": ("--no-forces",),
    }.items():
        command = ("simulate", path, "--seconds", "0.1", "--joints", "pin", *words)
        told = said(*command, "--near", "pin=0.3", "-o", f"run{name}.csv")
        assert ("force elements strut act" in told.err) == (name != "no")
        said("loads", path, f"run{name}.csv", "--joints", "pin", "-o", f"loads{name}.csv", *words)
        robot = mbd.load(path, forces=())
        told, found = (robot.read_loads(f"{kind}{name}.csv") for kind in ("run", "loads"))
        assert np.abs(told.force - found.force).max() < 1e-6 * np.abs(told.force).max()
        ends[name] = told.force[-1]
    assert np.abs(ends[""] - ends["no"]).max() > 0.1 < np.abs(ends[""] - ends["other"]).max()
    step = ("export", path, "--what", "step", "--near", "pin=0.3")
    assert said(*step).out != said(*step, "--no-forces").out
    text = said("export", path, "--what", "inverse_dynamics").out
    assert "force elements of the machine have no part in inverse_dynamics" in " ".join(
        text.split()
    )
    both = ["info", path, "--no-forces", "--forces", "stiff.yaml"]
    assert main(both) == 2
    assert "not allowed with" in capsys.readouterr().err
