"""The sample machines that bend, from their files, against closed forms and the rigid machine."""

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.robots import OWN

MACHINES = ("flexible_slider_crank", "rotating_beam", "flexible_pendulum", "flexible_robot_arm")


@pytest.mark.parametrize("name", MACHINES)
def test_the_rigid_machine_weighs_what_the_beam_does(name):
    bending, rigid = (mbd.load(OWN / f"{name}.urdf", flexible=f) for f in (None, ()))
    assert sum(bending.model.masses) == pytest.approx(sum(rigid.model.masses), rel=1e-5)
    q, straight = rigid.neutral(), bending.neutral()
    rigid_joints = [bending.coordinate_names.index(one) for one in rigid.coordinate_names]
    M = bending.mass_matrix(straight)[np.ix_(rigid_joints, rigid_joints)]
    assert np.allclose(M, rigid.mass_matrix(q), rtol=1e-4, atol=1e-5 * np.abs(M).max())


def test_the_forearm_hangs_by_the_beams_closed_form():
    """F L³ / 3EI + C L² / 2EI for wrist and tool, q L⁴ / 8EI for its weight, to 0.2 %.

    Static modes of the end are exact for loads there; a distributed one misses little.
    """
    arm = mbd.load(OWN / "flexible_robot_arm.urdf")
    names = list(arm.coordinate_names)
    joints = {name: "0" for name in names if "mode" not in name}
    rest = mbd.linear.equilibrium(mbd.System(arm, prescribed=joints))
    z = sum(rest.q[names.index(f"forearm.mode{k}")] for k in (3, 4))
    section = mbd.flexible.Section.tube(0.15, 0.13)
    EI, L, g = 70e9 * section.Iy, 1.4, 9.81
    F, C = (18 + 25) * g, (18 * 0.05 + 25 * (0.15 + 0.12)) * g
    bent = F * L**3 / (3 * EI) + C * L**2 / (2 * EI) + 2700 * section.A * g * L**4 / (8 * EI)
    assert -z == pytest.approx(bent, rel=2e-3)


def test_the_rods_frequency_between_pins_is_the_closed_form():
    rod = mbd.load(OWN / "flexible_slider_crank.urdf")
    assert rod.model.description.flexible[0].stiffening
    (part,) = rod.model.flexible
    section = mbd.flexible.Section.circle(0.006)
    omega = (np.pi / 0.3) ** 2 * np.sqrt(2e11 * section.Iz / (7870 * section.A))
    assert omega / (2 * np.pi) == pytest.approx(132.0, abs=0.1)  # as the file says
    mass = 0.5 * 7870 * section.A * 0.3  # of a half sine
    assert part.stiffness[0, 0] == pytest.approx(omega**2 * mass, rel=1e-9)


@pytest.mark.parametrize("modes", ["bending_y: 1, bending_z: 1", "bending_z: 2", "torsion: 1"])
def test_loops_whose_links_bend_out_of_their_plane_have_loads(modes, tmp_path):
    said = (OWN / "flexible_slider_crank.flex.yaml").read_text().replace("bending_y: 2", modes)
    (tmp_path / "bent.flex.yaml").write_text(said)
    urdf = str(OWN / "flexible_slider_crank.urdf")
    robot = mbd.load(urdf, flexible=str(tmp_path / "bent.flex.yaml"))
    start = robot.assemble({"crank": 0.7}, velocity={"crank": 2.0})
    run = robot.simulate(1e-4, step=1e-5, q=start.q, v=start.v, torque={"crank": 0.3})
    loads = robot.joint_loads(run.q, run.v, run.a, actuated="crank")
    assert np.allclose(loads["crank"].actuation, 0.3, rtol=1e-8)
    simulated = run.joint_loads()
    sure = loads.determined & simulated.determined
    assert sure.any() and not sure.all()
    apart = np.abs(loads.wrench - simulated.wrench)[:, sure]
    assert apart.max() < 1e-8 * np.abs(simulated.wrench[:, sure]).max()
