"""Linear models against closed forms, SciPy and differences of nonlinear runs."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.signal import freqresp

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.forces import JointSpring, PointSpring
from mbd_bridge.simulation.guards.loops import closure
from tests.forces.relaxing import Maxwell, slider
from tests.machines import four_bar
from tests.oracles.rolling import Disk, G, steady_circle

DIGITS = 1e-12


def pendulums(count, mass=1.5, length=0.8):
    """Point masses on massless rods, hanging below each other, about y."""
    parts = mbd.Builder("pendulums", root="ground")
    last, place = "ground", (0, 0, 0)
    for k in range(count):
        parts.link(f"rod{k}", mass, (0, 0, -length))
        parts.joint(f"pin{k}", "revolute", last, f"rod{k}", xyz=place, axis=(0, 1, 0))
        last, place = f"rod{k}", (0, 0, -length)
    return mbd.Mechanism.build(parts)


def test_a_pendulum_has_its_frequency_in_both_equilibria():
    pendulum, omega = pendulums(1), np.sqrt(G / 0.8)
    hanging = mbd.linear.linearise(pendulum)
    assert np.allclose(hanging.eigenvalues, [1j * omega, -1j * omega], rtol=0, atol=DIGITS)
    (mode,) = hanging.modes
    assert abs(mode.frequency - omega / (2 * np.pi)) < DIGITS
    assert abs(mode.damping_ratio) < DIGITS
    assert hanging.stable
    above = mbd.linear.linearise(pendulum, mbd.linear.equilibrium(pendulum, {"pin0": 3.0}))
    assert np.allclose(above.eigenvalues, [omega, -omega], rtol=0, atol=1e-9)
    assert not above.stable


def test_a_double_pendulum_has_the_matrices_of_the_text_book():
    m, L = 1.5, 0.8
    model = mbd.linear.linearise(pendulums(2))
    mass = m * L**2 * np.array([[5.0, 2.0], [2.0, 1.0]])  # in angles relative to each other
    stiffness = m * G * L * np.array([[3.0, 1.0], [1.0, 1.0]])
    assert np.allclose(model.mass, mass, rtol=0, atol=DIGITS * 10)
    assert np.allclose(model.stiffness, stiffness, rtol=0, atol=DIGITS * 100)
    assert np.abs(model.damping).max() < DIGITS
    squares = sorted((G / L * (2 - np.sqrt(2)), G / L * (2 + np.sqrt(2))))
    found = sorted(mode.natural_frequency for mode in model.modes)
    assert np.allclose(found, np.sqrt(squares) / (2 * np.pi), rtol=1e-10)


def test_a_mass_on_a_spring_sinks_and_swings_as_it_should():
    m, k, c = 2.0, 800.0, 12.0
    parts = mbd.Builder("mass", root="ground").link("mass", m)
    parts.joint("slide", "prismatic", "ground", "mass", axis=(0, 0, 1))
    machine = mbd.Mechanism.build(parts)
    spring = JointSpring("slide", stiffness=k, damping=c, name="spring")
    system = mbd.System(machine, forces=[spring])
    at = mbd.linear.equilibrium(system)
    assert abs(at.q[0] + m * G / k) < DIGITS
    assert at.free == ()
    model = mbd.linear.linearise(system, at)
    assert np.allclose(model.A, [[0, 1], [-k / m, -c / m]], rtol=0, atol=1e-10)
    assert np.allclose(model.B, [[0], [1 / m]], rtol=0, atol=DIGITS)
    assert (model.states, model.inputs) == (("slide", "slide.rate"), ("slide",))
    assert (model.state_units, model.input_units) == (("m", "m/s"), ("N",))
    (mode,) = model.modes
    assert abs(mode.damping_ratio - c / (2 * np.sqrt(k * m))) < DIGITS
    assert abs(mode.natural_frequency - np.sqrt(k / m) / (2 * np.pi)) < DIGITS
    assert abs(mode.frequency - np.sqrt(k / m - (c / (2 * m)) ** 2) / (2 * np.pi)) < DIGITS


def test_states_of_force_elements_are_states_of_the_linear_model():
    k, c = 50.0, 4.0
    system = mbd.System(slider(), forces=[Maxwell("rail", k, c, name="mount")])
    model = mbd.linear.linearise(system, outputs=["rail.acceleration", "mount.stroke"])
    expected = [[0, 1, 0], [-k / 2, 0, k / 2], [k / c, 0, -k / c]]
    assert np.allclose(model.A, expected, rtol=0, atol=DIGITS)
    assert model.states == ("rail", "rail.rate", "mount.stroke")
    assert np.allclose(model.C, [[-k / 2, 0, k / 2], [0, 0, 1]], rtol=0, atol=DIGITS)
    assert np.allclose(model.D, [[0.5], [0]], rtol=0, atol=DIGITS)
    assert model.output_units == ("m/s^2", "m")


@pytest.fixture(scope="module")
def sprung():
    """A four-bar linkage on a spring, about its equilibrium."""
    bar = four_bar(1, 2, 1.7, 2.5)
    spring = PointSpring(
        ("ground", "coupler"),
        ((0.5, 0, 2.5), (1.0, 0, 0)),
        stiffness=60.0,
        damping=1.0,
        free_length=0.3,
        name="spring",
    )
    system = mbd.System(bar, forces=[spring])
    at = mbd.linear.equilibrium(system, {"crank": 0.5})
    return bar, system, at, mbd.linear.linearise(system, at, coordinates=["crank"])


def test_a_four_bar_linkage_on_a_spring_moves_as_its_linear_model_says(sprung):
    bar, system, at, model = sprung
    assert model.states == ("crank", "crank.rate")
    x0, duration = np.array([1e-5, 3e-5]), 0.8
    still = system.simulate(duration, q=at.q, v=at.v, every=800)
    assert np.abs(still.q - at.q).max() < 1e-9  # it is an equilibrium

    def run(x):
        q = bar.assemble(at.q + model.displacements @ x, fixed="crank").q
        v = bar.assemble(q, velocity={"crank": x[1]}, fixed="crank").v
        done = system.simulate(duration, q=q, v=v, every=800)
        return done.q[-1]

    change = 0.5 * (run(x0) - run(-x0))
    expected = model.displacements @ (expm(model.A * duration) @ x0)
    assert np.abs(change - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_frequency_response_is_that_of_scipy(sprung):
    model = mbd.linear.linearise(sprung[1], sprung[2], outputs=["crank.acceleration"])
    hertz = np.geomspace(0.05, 20.0, 40)
    _, expected = freqresp(model.state_space(), 2 * np.pi * hertz)
    found = model.frequency_response(hertz)[:, 0, 0]
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def rolling_disk(disk):
    """The disk on massless links: place, heading, lean, spin."""
    parts = mbd.Builder("disk", root="ground")
    last = "ground"
    chain = (
        ("x", "prismatic", (1, 0, 0)),
        ("y", "prismatic", (0, 1, 0)),
        ("z", "prismatic", (0, 0, 1)),
        ("heading", "continuous", (0, 0, 1)),
        ("lean", "continuous", (1, 0, 0)),
        ("spin", "continuous", (0, 1, 0)),
    )
    for name, kind, axis in chain:
        child = "disk" if name == "spin" else f"after_{name}"
        inertia = (disk.diametral, disk.axial, disk.diametral)
        parts.link(child, disk.m, inertia=inertia) if child == "disk" else parts.link(child)
        parts.joint(name, kind, last, child, axis=axis)
        last = child
    wheel = {"axis": (0, 0, 1), "axis2": (0, 1, 0), "radius": disk.R}
    parts.loop("contact", "rolling", "ground", "disk", **wheel)
    return mbd.Mechanism.build(parts)


@pytest.fixture(scope="module")
def rolling():
    return rolling_disk(Disk())


@pytest.mark.parametrize("ratio", [0.9, 1.1])
def test_a_rolling_disk_stays_upright_from_its_critical_speed_on(rolling, ratio):
    """λ² = m g R/(It + m R²) - Ia (Ia + m R²) w²/(It (It + m R²)); for a thin disk v² = g R/3."""
    R, m, Ia, It = Disk().R, Disk().m, Disk().axial, Disk().diametral
    speed = ratio * np.sqrt(G * R / 3.0)
    at = mbd.linear.steady_motion(rolling, {"spin": speed / R})
    model = mbd.linear.linearise(rolling, at, coordinates=["lean", "heading", "spin"])
    square = m * G * R / (It + m * R**2)
    square -= Ia * (Ia + m * R**2) * (speed / R) ** 2 / (It * (It + m * R**2))
    expected = np.emath.sqrt(square)
    assert np.abs(model.eigenvalues - expected).min() < 1e-9
    assert model.stable is (ratio > 1.0) or np.abs(model.eigenvalues.real).max() < 1e-9


def test_a_disk_finds_its_steady_circle():
    """In axes that go round with it: what is steady has velocities of joints that stay."""
    disk = Disk()
    circle = steady_circle(disk, lean=0.3, track=1.2)
    parts = mbd.Builder("round", root="ground").link("arm").link("slide").link("high").link("fork")
    parts.link("disk", disk.m, inertia=(disk.diametral, disk.axial, disk.diametral))
    parts.joint("round", "continuous", "ground", "arm", axis=(0, 0, 1))
    parts.joint("radius", "prismatic", "arm", "slide", axis=(0, 1, 0))
    parts.joint("height", "prismatic", "slide", "high", axis=(0, 0, 1))
    parts.joint("lean", "continuous", "high", "fork", axis=(1, 0, 0))
    parts.joint("spin", "continuous", "fork", "disk", axis=(0, 1, 0))
    wheel = {"axis": (0, 0, 1), "axis2": (0, 1, 0), "radius": disk.R}
    parts.loop("contact", "rolling", "ground", "disk", **wheel)
    speeds = {"round": circle.rate, "spin": circle.v[4] + circle.rate * np.sin(0.3)}
    near = {"radius": -1.0, "height": 0.28, "lean": -0.25}
    at = mbd.linear.steady_motion(mbd.Mechanism.build(parts), speeds, near, drives=[])
    assert abs(at.q[3] + 0.3) < 1e-9
    assert np.allclose(-at.lam, [circle.normal, 0.0, circle.inwards], rtol=0, atol=1e-8)


def test_what_nothing_resists_is_named(rolling):
    at = mbd.linear.equilibrium(rolling)
    assert at.free == ("x", "y", "heading", "spin")


def test_without_a_spring_there_is_no_equilibrium():
    parts = mbd.Builder("mass", root="ground").link("mass", 2.0)
    parts.joint("slide", "prismatic", "ground", "mass", axis=(0, 0, 1))
    with pytest.raises(SolveError, match=r"19\.6 N is left along 'slide'"):
        mbd.linear.equilibrium(mbd.Mechanism.build(parts))


def test_what_there_is_not_is_refused_by_name(sprung):
    bar, system, at, model = sprung
    with pytest.raises(StateError, match="coordinates: no displacement named 'cranks'"):
        mbd.linear.linearise(system, at, coordinates=["cranks"])
    with pytest.raises(StateError, match="inputs: no input named 'cranks'"):
        mbd.linear.linearise(system, at, inputs=["cranks"])
    with pytest.raises(StateError, match="outputs: no output named 'cranks'"):
        mbd.linear.linearise(system, at, outputs=["cranks"])
    with pytest.raises(StateError, match="depend on each other"):
        mbd.linear.linearise(system, at, coordinates=["crank", "elbow"])
    with pytest.raises(StateError, match=r"mbd\.Sampled"):
        mbd.linear.linearise(
            mbd.System(bar, torque={"crank": mbd.Sampled(lambda t, q, v: 0.0)}), at.q
        )
    with pytest.raises(
        StateError, match=r"no output named 'wrong'.*others by mbd.linear.linearise"
    ):
        model.plot_bode("wrong", "crank", [1.0])


def test_inputs_of_the_system_are_inputs_of_the_linear_model():
    pendulum = pendulums(2)
    system = mbd.System(pendulum, torque={"pin0": mbd.Input("motor")}, inputs={"motor": 0.0})
    model = mbd.linear.linearise(system, inputs=["pin0"])
    assert np.allclose(model.B[2:], np.linalg.inv(model.mass)[:, :1], rtol=0, atol=1e-12)


def test_a_mode_is_shown_as_a_motion_with_the_loops_nearly_closed(sprung):
    bar, _, at, model = sprung
    (mode,) = model.modes
    time, q = model.mode_motion(mode, size=1e-3, frames=9)
    assert abs(time[-1] - 1.0 / mode.frequency) < DIGITS
    assert np.allclose(q[0], q[-1])
    assert abs(np.abs(q - at.q).max() - 1e-3) < 1e-5
    assert closure(bar.model, q).max() < 1e-5  # of the second order


def test_pictures_are_drawn(sprung):
    model = sprung[3]
    axes = model.plot_bode("crank", "crank", np.geomspace(0.1, 10, 20))
    assert [one.get_ylabel() for one in axes] == ["gain [rad / (N m)]", "phase [deg]"]
    axes = mbd.linear.plot_eigenvalues([1.0, 2.0], [model, model], "speed [m/s]")
    assert axes.get_xlabel() == "speed [m/s]"
    with pytest.raises(StateError, match="as many models"):
        mbd.linear.plot_eigenvalues([1.0], [model, model])
