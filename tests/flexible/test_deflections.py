"""Deflections of flexible links, their energy by mode, and their commands."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.files.tables import read_table
from mbd_bridge.model.flexible.basis import analytic_modes
from mbd_bridge.view.bending import SLICES
from tests.flexible.beams import MIDDLE, as_nodes, pendulum as nodal_pendulum, rod
from tests.flexible.models import bar
from tests.robots import OWN

Q = np.array([[0.4, 0.1, -0.05, 0.2, 0.3], [0.0, 0.3, 0.1, 0.0, -0.1]])


@pytest.fixture(scope="module")
def swing():
    strip = mbd.load(OWN / "flexible_pendulum.urdf")
    return strip.simulate(0.2, step=1e-3, q=[1.0, 0.0, 0.0])


@pytest.mark.parametrize("stiffening", [False, True])
def test_a_deflection_is_the_way_of_the_station_there(stiffening):
    machine = rod(stiffening=stiffening)
    (flexible,) = machine.model.description.flexible
    x = (MIDDLE + 0.5) / SLICES * flexible.beam.length
    found = machine.deflections(q=Q, x=x)
    own, there = (
        np.array([machine.frame_kinematics(name, q, np.zeros(machine.nv)).position for q in Q])
        for name in ("rod", "rod.gauge")
    )
    assert found.deflection == pytest.approx(np.linalg.norm(found.displacement, axis=1))
    apart = np.linalg.norm(flexible.beam.point(x) + found.displacement, axis=1)
    assert apart == pytest.approx(np.linalg.norm(there - own, axis=1), rel=1e-12)


def test_shares_of_the_modes_are_the_strain_energy():
    machine = rod()
    found = machine.deflections(q=Q)
    K, eta = machine.model.flexible[0].stiffness, Q[:, 1:]
    assert found.energies.sum(axis=1) == pytest.approx(0.5 * np.einsum("ni,ij,nj->n", eta, K, eta))
    assert found.modes == tuple(f"rod.mode{k}" for k in range(1, 5))
    assert found.place == "the tip"


def test_nodes_of_a_modal_basis_are_places():
    shape = as_nodes(bar(1.0), analytic_modes("clamped-free", "bending_y", 1, 1.0))
    machine = mbd.Mechanism(nodal_pendulum(shape))
    q = machine.neutral()
    q[machine.coordinate_names.index("rod.mode1")] = 0.02
    assert machine.deflections(q=q).deflection == pytest.approx([0.02])
    assert machine.deflections(q=q, x=0).deflection == pytest.approx([0.0])


def test_a_node_is_asked_for_by_its_number():
    shape = as_nodes(bar(1.0), analytic_modes("clamped-free", "bending_y", 1, 1.0))
    numbers = np.arange(1, len(shape.nodes) + 1)[::-1]
    machine = mbd.Mechanism(nodal_pendulum(replace(shape, numbers=numbers)))
    q = machine.neutral()
    q[machine.coordinate_names.index("rod.mode1")] = 0.02
    assert machine.deflections(q=q).deflection == pytest.approx([0.02])
    for row, number in enumerate(numbers.tolist()):
        found = machine.deflections(q=q, x=number)
        assert found.displacement == pytest.approx(0.02 * shape.displacement[:1, row])
        assert found.place == f"node {number}"


def test_both_panels_are_drawn_with_their_units(swing):
    axes = swing.deflections().plot()
    assert [one.get_ylabel() for one in axes] == ["deflection [mm]", "energy [mJ]"]
    drawn = axes[0].lines[0].get_ydata()
    assert np.abs(drawn).max() == pytest.approx(1e3 * np.abs(swing.q[:, 1:].sum(axis=1)).max())


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda run: run.deflections(link="stripe"), "strip"),
        (lambda run: run.deflections(x=1.5), "1 m"),
        (lambda run: run.deflections(q=run.q), "its own motion"),
        (lambda run: mbd.Mechanism(run.model).deflections(), "one of them"),
        (lambda run: mbd.Mechanism(run.model).deflections(q=[0.0]), r"\(N, 3\)"),
        (
            lambda run: mbd.Mechanism(run.model).deflections(q=run.q).plot(),
            "no times",
        ),
        (
            lambda run: mbd.load(OWN / "ralf.urdf").deflections(q=np.zeros(10)),
            "several bend",
        ),
        (lambda run: mbd.load(OWN / "pendulum.urdf").deflections(q=[0.0]), "no link"),
    ],
)
def test_what_has_no_deflection_is_refused(swing, ask, told):
    with pytest.raises(mbd.MbdError, match=told):
        ask(swing)


def test_the_shell_draws_deflections_and_writes_section_loads(tmp_path, capsys):
    arm, run = str(OWN / "flexible_pendulum.urdf"), str(tmp_path / "run.csv")
    assert main(["simulate", arm, "--seconds", "0.1", "--near", "hinge=1", "-o", run]) == 0
    picture, table = tmp_path / "strip.svg", tmp_path / "sections.csv"
    assert main(["plot", arm, run, "--kind", "deflection", "-o", str(picture)]) == 0
    assert "strain energy by mode" in picture.read_text()
    words = ["sections", arm, run, "--link", "strip", "--x", "0.2", "1", "-o", str(table)]
    assert main(words) == 0
    assert "rows written" in capsys.readouterr().err
    written = read_table(table)
    machine = mbd.load(arm)
    motion = machine.read_motion(run)
    expected = machine.section_loads("strip", [0.2, 1.0], motion.q, motion.v, motion.a)
    names = [column.name for column in written.columns]
    for k, x in enumerate(("0.2", "1")):
        for name, values in {
            "axial": expected.axial[:, k],
            "fy": expected.force[:, k, 1],
            "mz": expected.moment[:, k, 2],
            "stress": expected.largest_stress[:, k],
        }.items():
            found = written.values[:, names.index(f"{x}.{name}")]
            assert found == pytest.approx(values, rel=1e-9, abs=1e-9)


def test_a_pose_in_a_loop_needs_its_actuated_joints_and_has_sections(capsys):
    pose = ["--q", "theta1=-0.3", "theta3=-0.2", "--near", "theta2=-0.2", "theta4=0.2"]
    words = ["sections", str(OWN / "ralf.urdf"), *pose, "--link", "upper", "--x", "0", "3.048"]
    assert main(words) == 0
    out, _ = capsys.readouterr()
    assert "3.048.stress [Pa]" in out
    assert main(["uper" if word == "upper" else word for word in words]) == 2
    assert "upper" in capsys.readouterr().err
