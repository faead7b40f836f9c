"""Wheels that roll: against closed forms, Newton-Euler by hand, pinocchio with rows by differences.

Every road that knows loops takes them: single runs, batches, reference methods, steps, loads.
"""

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from mbd_bridge.simulation.steps.stepping import CoupledStep
from mbd_bridge.solve import prepare
from tests.oracles.rolling import Disk, chaplygin_sleigh, steady_circle
from tests.tolerances import DIFFERENCE, LOOPS, REFEREE

DISK = Disk()
STEP = 1e-8
"""Error of 0.5 s of Runge-Kutta steps of 1 ms of a disk that turns 5 times a second."""


@pytest.fixture(scope="module")
def disk():
    return DISK.mechanism()


@pytest.fixture(scope="module")
def circle():
    return steady_circle(DISK, lean=0.3, track=1.2)


@pytest.fixture(scope="module")
def wobble(disk):
    """A disk that does not stay in its circle."""
    at = disk.assemble(
        {"free.qx": -0.2, "free.z": 0.3}, velocity={"free.vx": 1.4, "free.wy": 5.0, "free.wz": 0.9}
    )
    return at.q, at.v


def test_a_disk_rolls_in_the_steady_circle(disk, circle):
    period = 2 * np.pi / circle.rate
    run = disk.simulate(period, q=circle.q, v=circle.v, every=50)
    assert np.abs(run.v[:, 4] - circle.v[4]).max() < STEP  # about its axis; the others turn with it
    for part in (slice(0, 3), slice(3, 6)):
        sizes = np.linalg.norm(run.v[:, part], axis=1)
        assert np.abs(sizes - np.linalg.norm(circle.v[part])).max() < STEP
    assert np.abs(run.q[:, 2] - circle.q[2]).max() < STEP
    assert np.abs(run.q[-1, :3] - circle.q[:3]).max() < STEP  # once round


def test_contact_forces_are_those_of_newton_and_euler(disk, circle):
    run = disk.simulate(0.01, q=circle.q, v=circle.v, loads=["contact"])
    expected = circle.normal, 0.0, circle.inwards  # inwards is to the left of the way
    assert np.allclose(disk.loops.contact_forces(run.lam)["contact"], expected, atol=1e-7)
    at = {"actuated": [], "joints": ["contact"], "in_": "parent"}
    load = disk.joint_loads(run.q[0], run.v[0], run.a[0], at="parent", **at)["contact"]
    assert np.allclose(load.force, (0.0, circle.inwards, circle.normal), rtol=0, atol=1e-9)
    assert np.abs(load.moment).max() < 1e-12  # at the contact there is none
    centre = disk.joint_loads(run.q[0], run.v[0], run.a[0], **at)["contact"]
    arm = -np.array([0.0, np.sin(0.3), np.cos(0.3)]) * DISK.R
    assert np.allclose(centre.moment, np.cross(arm, load.force), rtol=0, atol=1e-9)


def test_energy_stays_and_the_rim_neither_slips_nor_leaves_the_plane(disk, wobble):
    q, v = wobble
    run = disk.simulate(2.0, q=q, v=v, every=20)
    assert np.ptp(run.energy) < 1e-9 * abs(run.energy[0])
    phi, phi_q, _ = rows(disk, run.q, run.v)
    assert np.abs(phi).max() < 1e-12
    assert np.abs(np.einsum("nij,nj->ni", phi_q, run.v)).max() < 1e-11
    assert np.ptp(run.q[:, :2], axis=0).min() > 0.1  # it went somewhere


def rows(machine, q, v):
    return prepare(machine.model, "constraints")(q, v)


@pytest.mark.parametrize("method", ["svd", "qr", "projection", "multipliers"])
def test_methods_agree(disk, wobble, method):
    q, v = wobble
    run = disk.simulate(0.02, q=q, v=v)
    other = disk.simulate(0.02, q=q, v=v, method=method, reference=True)
    assert np.abs(other.q - run.q).max() < LOOPS
    assert np.abs(other.lam - run.lam).max() < LOOPS * np.abs(run.lam).max()


def test_batches_and_single_steps_agree_with_runs(disk, circle, wobble):
    starts = np.array([circle.q, wobble[0]]), np.array([circle.v, wobble[1]])
    batch = disk.simulate(0.1, q=starts[0], v=starts[1])
    none = np.zeros((len(disk.model.bodies), 6))
    for k in range(2):
        run = disk.simulate(0.1, q=starts[0][k], v=starts[1][k])
        assert np.abs(batch.q[k] - run.q).max() < 1e-12
        core, state = CoupledStep(disk.model, starts[0][k]), (starts[0][k], starts[1][k])
        for _ in range(100):
            state = core(*state, np.zeros(6), none, 1e-3)
        assert np.abs(state[0] - run.q[-1]).max() < 1e-12


def test_accelerations_and_forces_are_those_of_pinocchio_with_rows_by_differences(disk, wobble):
    q, v = wobble
    twin = to_pinocchio(disk.model)
    data = twin.model.createData()
    theirs = twin.q(q)
    M = pin.crba(twin.model, data, theirs)
    M = np.triu(M) + np.triu(M, 1).T
    h = pin.nonLinearEffects(twin.model, data, theirs, v)
    integrate = disk.model.integrate

    def jacobian(there):
        """Rows n, x, y times the velocity of the rim's lowest point, from what a rim is."""
        x, y, z, w = there[3:]
        A = pin.Quaternion(w, x, y, z).toRotationMatrix()
        k, n = A[:, 1], np.array([0.0, 0.0, 1.0])
        along = np.cross(k, n) / np.linalg.norm(np.cross(k, n))
        arm = DISK.R * np.cross(k, along)
        J = np.hstack([A, -pin.skew(arm) @ A])  # twist in the body's own axes
        return np.array([n, along, np.cross(n, along)]) @ J

    step = 1e-6
    J = jacobian(q)
    gamma = -(jacobian(integrate(q, step * v)) - jacobian(integrate(q, -step * v))) @ v / (2 * step)
    whole = np.block([[M, J.T], [J, np.zeros((3, 3))]])
    found = np.linalg.solve(whole, np.concatenate([-h, gamma]))
    run = disk.simulate(1e-3, q=q, v=v)
    phi_q = rows(disk, q, v)[1]
    assert np.allclose(phi_q, J, rtol=0, atol=REFEREE)
    assert np.abs(run.a[0] - found[:6]).max() < 10 * DIFFERENCE * np.abs(found[:6]).max()
    assert np.abs(run.lam[0] - found[6:]).max() < 10 * DIFFERENCE * np.abs(found[6:]).max()


def sleigh(a=0.4, mass=3.0, inertia=0.5, R=0.1):
    """Chaplygin's sleigh: a massless wheel at a behind the centre is its knife edge."""
    parts = mbd.Builder("sleigh", root="ground")
    parts.link("body", mass, (a, 0, 0), (inertia, inertia, inertia)).link("wheel")
    parts.joint("plane", "planar", "ground", "body", xyz=(0, 0, R), axis=(0, 0, 1))
    parts.joint("axle", "continuous", "body", "wheel", axis=(0, 1, 0))
    wheel = {"axis": (0, 0, 1), "axis2": (0, 1, 0), "radius": R}
    parts.loop("edge", "rolling", "ground", "wheel", **wheel)
    return mbd.Mechanism.build(parts)


def test_a_massless_wheel_makes_chaplygins_sleigh():
    """The height says nothing that the plane does not say: a redundant row, and no drift."""
    machine = sleigh()
    omega = 2.0
    v = np.array([0.0, 0.0, omega, 0.0])
    run = machine.simulate(1.5, v=v, every=100)
    heading = run.q[:, 2]
    speed = np.cos(heading) * run.v[:, 0] + np.sin(heading) * run.v[:, 1]
    expected = chaplygin_sleigh(run.time, 0.4, omega, 0.5, 3.0)
    assert np.abs(speed - expected[0]).max() < STEP
    assert np.abs(run.v[:, 2] - expected[1]).max() < STEP
    assert np.abs(run.v[:, 3] * 0.1 - speed).max() < STEP
    report = machine.loops.report()
    assert (report.dof, report.position_dof, report.redundant["edge"]) == (2, 4, 1)
    assert "2 degrees of freedom (4 of positions" in str(report)


def test_assembly_sets_the_wheel_on_the_plane_and_leaves_its_place_alone(disk):
    at = disk.assemble({"free.x": 5.0, "free.y": -2.0, "free.z": 0.9})
    assert at.closed
    assert np.allclose(at.q, [5.0, -2.0, DISK.R, 0, 0, 0, 1])
    batch = disk.assemble_batch({"free.z": [0.1, 0.9]})
    assert np.allclose(batch.q[:, 2], DISK.R)


def test_a_start_that_slips_or_sinks_is_refused(disk):
    at = disk.assemble()
    with pytest.raises(StateError, match=r"velocity at the start does not keep.*contact"):
        disk.simulate(0.1, q=at.q, v=[1.0, 0, 0, 0, 0, 0])
    with pytest.raises(StateError, match=r"position at the start does not close.*contact"):
        disk.simulate(0.1, q=at.q - [0, 0, 0.01, 0, 0, 0, 0])


def test_a_wheel_that_lies_flat_is_refused(disk):
    half = np.sqrt(0.5)
    with pytest.raises(StateError, match=r"'contact': the wheel lies flat on its plane"):
        disk.simulate(0.1, q=[0, 0, 0, half, 0, 0, half])


def test_a_wheel_on_a_turntable_is_carried_round():
    """On a plane that turns at rate W, the rim's lowest point moves as the plane does there."""
    parts = mbd.Builder("turntable", root="ground")
    parts.link("table", 1.0, inertia=(1, 1, 1)).link("disk", 2.0, inertia=(0.01, 0.02, 0.01))
    parts.joint("pivot", "continuous", "ground", "table", axis=(0, 0, 1))
    parts.joint("slide", "prismatic", "ground", "disk", xyz=(1.0, 0, 0.3), axis=(0, 1, 0))
    parts.link("rim", 1.0, inertia=(0.01, 0.02, 0.01))
    parts.joint("axle", "continuous", "disk", "rim", axis=(1, 0, 0))
    parts.loop("contact", "rolling", "table", "rim", axis=(0, 0, 1), axis2=(1, 0, 0), radius=0.3)
    machine = mbd.Mechanism.build(parts)
    at = machine.assemble(velocity={"pivot": 2.0}, fixed="pivot", near={"slide": 0.0})
    pivot, slide, axle = at.v
    # k = x, n = z, along = -y: the rim's point moves along y by slide' + R axle', the table's by W
    assert abs(slide + 0.3 * axle - pivot * 1.0) < 1e-12


@pytest.mark.parametrize("lack", [{"radius": -1.0}, {"axis2": None}, {"radius": None}])
def test_a_wheel_without_radius_or_axis_is_refused(lack):
    parts = mbd.Builder("disk", root="ground")
    parts.link("disk", 1.0, inertia=(1, 1, 1)).joint("free", "floating", "ground", "disk")
    given = {"axis": (0, 0, 1), "axis2": (0, 1, 0), "radius": 0.3} | lack
    parts.loop("contact", "rolling", "ground", "disk", **given)
    with pytest.raises(ModelError, match=r"contact.*a rolling wheel needs"):
        mbd.Mechanism.build(parts)


def test_a_radius_is_a_parameter(disk):
    """Disks of other radii, each as the machine that is built with it."""
    radii = np.array([0.9, 1.2]) * DISK.R
    disks = [Disk(R=r) for r in radii]
    starts = [one.mechanism() for one in disks]
    inertia = [(one.diametral, one.axial, one.diametral) for one in disks]
    at = [one.assemble({"free.qx": -0.2}, velocity={"free.wy": 5.0}) for one in starts]
    numbers = {"contact.radius": radii, "disk.inertia": inertia}
    q, v = [a.q for a in at], [a.v for a in at]
    many = disk.simulate(0.2, q=q, v=v, parameters=numbers)
    assert set(many.status) == {"finished"}
    for one, a, q in zip(starts, at, many.q, strict=True):
        alone = one.simulate(0.2, q=a.q, v=a.v)
        assert np.abs(alone.q - q).max() < LOOPS
    with pytest.raises(ModelError, match="a radius is positive"):
        disk.simulate(0.1, parameters={"contact.radius": -0.3})
