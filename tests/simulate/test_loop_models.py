"""The project's own machines with loops: other programs load them, they assemble and move."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from tests.robots import own_urdfs
from tests.simulate.starts import STARTS

LEGS = [f"leg_{k}" for k in range(1, 7)]


COUNTS = {  # coordinates (velocities), rows, independent rows
    "bricard": (5, 5, 4),
    "crank_rocker": (3, 5, 2),
    "flexible_slider_crank": (3, 5, 2),
    "four_bar": (3, 5, 2),
    "geared_five_bar": (4, 3, 3),
    "knee_linkage_leg": (9, 3, 3),
    "macpherson_car": (29, 20, 20),
    "ralf": (4, 5, 2),
    "rrc_arm_gripping": (7, 6, 6),
    "rssr": (5, 3, 3),
    "slider_crank": (3, 5, 2),
    "spatial_slider_crank": (4, 3, 3),
    "stewart": (24, 18, 18),
    "whipple_bicycle": (9, 6, 6),
}

STEADY = 1e-7
"""Allowed change of energy in a second, relative to its largest share of kinetic energy."""
CLOSED = 1e-12


def test_these_are_all_our_models_with_loops():
    models = {name: mbd.load(path, flexible=()).model for name, path in own_urdfs().items()}
    with_loops = {name for name, model in models.items() if model.cuts}
    assert with_loops == set(STARTS) == set(COUNTS)


@pytest.mark.parametrize("name", STARTS)
def test_other_programs_load_the_tree(name):
    tree = pin.buildModelFromUrdf(str(own_urdfs()[name]))
    model = mbd.load(own_urdfs()[name], flexible=()).model
    assert tree.nv == model.nv
    mass = sum(link.inertia.mass for link in model.links)
    assert sum(inertia.mass for inertia in tree.inertias) == pytest.approx(mass, rel=1e-14)
    bullet = pytest.importorskip("pybullet")
    client = bullet.connect(bullet.DIRECT)
    try:
        flags = bullet.URDF_USE_INERTIA_FROM_FILE
        body = bullet.loadURDF(str(own_urdfs()[name]), flags=flags, physicsClientId=client)
        joints = range(bullet.getNumJoints(body, physicsClientId=client))
        names = {bullet.getJointInfo(body, j, physicsClientId=client)[1].decode() for j in joints}
    finally:
        bullet.disconnect(client)
    assert names == {joint.name for joint in model.description.joints}


@pytest.mark.parametrize("name", STARTS)
def test_it_assembles_with_the_degrees_of_freedom_that_its_comment_says(name):
    machine = mbd.load(own_urdfs()[name], flexible=())
    at = machine.assemble(**STARTS[name])
    assert max(at.loops.values()) < CLOSED
    assert not at.reversed
    report = machine.loops.report(at.q)
    assert (machine.nv, report.rows, report.rank) == COUNTS[name]


@pytest.mark.parametrize("name", STARTS)
def test_a_second_of_motion_keeps_energy_and_closure(name):
    machine = mbd.load(own_urdfs()[name], flexible=())
    at = machine.assemble(**STARTS[name])
    torque = _holding_forces(machine, at.q) if name == "stewart" else {}
    seconds = 0.4 if name == "macpherson_car" else 1.0  # without coils it soon falls past its stops
    run = machine.simulate(seconds, q=at.q, v=at.v, torque=torque or None, every=10, forces=())
    assert run.finished
    assert run.closure.max() < CLOSED
    columns = [machine.coordinate_names.index(joint) for joint in torque]
    energy = run.energy - run.q[:, columns] @ np.array(list(torque.values()))
    assert np.abs(energy - energy[0]).max() < STEADY * _largest_kinetic(machine, run)
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.01  # it has moved


def _holding_forces(machine, q):
    """Return the forces in the legs that hold the platform: constant, they have a potential."""
    still = np.zeros(machine.nv)
    loads = machine.joint_loads(q, still, still, LEGS, actuated=LEGS)
    assert loads.unique.all()
    weight = 9.81 * sum(link.inertia.mass for link in machine.model.links)
    assert 0 < loads.actuation.min() < loads.actuation.max() < weight
    return dict(zip(LEGS, loads.actuation.tolist(), strict=True))


def _largest_kinetic(machine, run):
    M = machine.mass_matrix(run.q)
    return 0.5 * np.einsum("ki,kij,kj->k", run.v, M, run.v).max()


def test_four_bar_file_has_the_closed_form():
    bar = mbd.load(own_urdfs()["four_bar"])
    at = bar.assemble(**STARTS["four_bar"])
    a, _ = bar.constrained_dynamics().forward(at.q, at.v, np.zeros(3))
    assert np.allclose(a, [5.886, -5.886, 5.886], rtol=1e-12)
    pins = bar.joint_loads(at.q, at.v, a, ["crank", "rocker"], actuated=["crank"], in_="parent")
    assert np.allclose(pins.force, [[5.09742553, 0, 11.772]] * 2, rtol=1e-8, atol=1e-10)


def test_rssr_spins_about_its_coupler_without_moving_anything_else():
    """Lee94 7.2: the coupler's spin about its own axis is a passive degree of freedom."""
    machine = mbd.load(own_urdfs()["rssr"])
    at = machine.assemble()
    spin = np.array([name == "ball_y" for name in machine.coordinate_names], float)
    _, phi_q, _ = machine.compile("constraints")(at.q, at.v)
    assert np.abs(phi_q @ spin).max() < 1e-15


def test_geared_five_bar_has_the_closed_form():
    """A rhombic mechanism: one degree of freedom, M(t) t'' + M' t'^2 / 2 + V' = torque, and half of
    it geared.
    """
    machine = mbd.load(own_urdfs()["geared_five_bar"])
    a, r, length, torque = 0.1, 0.05, 0.26, 0.7

    def inertia(t):
        lean = (a - r * np.sin(t)) / length  # sine of the coupler's angle
        turn = -r * np.cos(t) / (length * np.sqrt(1 - lean**2))  # its rate, a unit of t'
        x = r * np.cos(t) + 0.5 * length * np.sqrt(1 - lean**2) * turn
        z = -r * np.sin(t) - 0.5 * length * lean * turn
        crank = 0.002 + 1.2 * 0.02**2
        return 2 * (crank + 0.4 * (x**2 + z**2) + 0.4 * length**2 / 12 * turn**2)

    def potential(t):
        pin = np.sqrt(length**2 - (a - r * np.sin(t)) ** 2)
        return 2 * 9.81 * (1.2 * 0.02 * np.cos(t) + 0.4 * (r * np.cos(t) + pin / 2))

    def rate(_, y):
        step = 1e-20j  # derivatives to the last digit
        slope, fall = (f(y[0] + step).imag / 1e-20 for f in (inertia, potential))
        return [y[1], (torque - fall - 0.5 * slope * y[1] ** 2) / inertia(y[0])]

    at = machine.assemble({"left_crank": 0.4}, fixed="left_crank", velocity={"left_crank": 6.0})
    options = {"q": at.q, "v": at.v, "torque": {"left_crank": torque}, "every": 25}
    run = machine.simulate(1.0, step=2e-4, **options)
    start = [0.4, at.v[0]]
    expected = solve_ivp(rate, (0, 1), start, t_eval=run.time, rtol=1e-12, atol=1e-12).y
    assert np.abs(run.q[:, 0] - expected[0]).max() < 1e-8
    assert np.abs(run.v[:, 0] - expected[1]).max() < 1e-6
    assert np.abs(run.q[:, [2, 3]] + run.q[:, [0, 1]]).max() < 1e-13  # the mirror image
    loads = run.joint_loads(["pin", "gears", "left_crank", "right_crank"])
    assert loads.unique.all()
    assert np.allclose(loads["gears"].actuation, -torque / 2, atol=1e-11)
    lean = run.q[:, 2] + run.q[:, 3] - 0.3947911196997615  # of the right coupler, the pin's axes
    upwards = -np.sin(lean) * loads["pin"].force[:, 0] + np.cos(lean) * loads["pin"].force[:, 2]
    assert np.abs(upwards).max() < 1e-9 * np.abs(loads["pin"].force).max()


def test_spatial_slider_crank_has_the_closed_form():
    machine = mbd.load(own_urdfs()["spatial_slider_crank"])
    run = machine.simulate(1.0, step=1e-3, prescribed={"crank": lambda t: 9.0 * t}, every=10)
    t = run.q[:, 0]
    y, z = 0.1 - 0.08 * np.sin(t), 0.12 + 0.08 * np.cos(t)
    slide = np.sqrt(0.09 - y**2 - z**2)
    assert np.abs(run.q[:, 1] - (slide - 0.2)).max() < 1e-13
    loads = run.joint_loads()
    assert loads.unique.all()
    power = run.prescribed_forces["crank"] * 9.0
    gain = np.gradient(run.energy, run.time)
    assert np.abs(power - gain)[5:-5].max() < 2e-2 * np.abs(gain).max()
