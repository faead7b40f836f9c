"""Numbers of elements that vary: formulas, functions, inputs, on every road and in files."""

import re
import shutil

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.forces import JointActuator, JointSpring, PointActuator, PointSpring
from tests.step_in_c import InC

pytestmark = pytest.mark.filterwarnings("error")


def rail() -> mbd.Mechanism:
    built = mbd.Builder("rail", root="rail").link("bob", 2.0, (0, 0, 0), (1, 1, 1))
    built.joint("slide", "prismatic", "rail", "bob", axis=(1.0, 0.0, 0.0))
    return mbd.Mechanism.build(built)


FORMULA = "50*(1 + 0.5*sin(3 t)) + 20*slide^2"
GIVEN = {
    "formula": FORMULA,
    "function": lambda t, q, v: 50.0 * (1.0 + 0.5 * np.sin(3.0 * t)) + 20.0 * q[0] ** 2,
}


def coil(given, **more):
    return JointSpring("slide", stiffness=given, damping=0.4, name="coil", **more)


@pytest.mark.parametrize("kind", GIVEN)
def test_a_stiffness_that_varies_moves_as_its_equation_says(kind):
    robot = rail()
    run = robot.simulate(2.0, q=[0.3], forces=[coil(GIVEN[kind])])

    def rate(t, y):
        k = 50.0 * (1.0 + 0.5 * np.sin(3.0 * t)) + 20.0 * y[0] ** 2
        return [y[1], -(k * y[0] + 0.4 * y[1]) / 2.0]

    exact = solve_ivp(rate, (0, 2.0), [0.3, 0.0], rtol=1e-12, atol=1e-13, t_eval=run.time)
    assert np.abs(run.q[:, 0] - exact.y[0]).max() < 1e-8
    assert run.force_elements["coil"].kind == "JointSpring"
    k = 50.0 * (1.0 + 0.5 * np.sin(3.0 * run.time)) + 20.0 * run.q[:, 0] ** 2
    force = -k * run.q[:, 0] - 0.4 * run.v[:, 0]
    assert np.abs(run.force_elements["coil"]["force"] - force).max() < 1e-12


def test_every_road_moves_alike_with_formulas_and_inputs(tmp_path):
    robot = rail()
    elements = [coil(FORMULA), JointActuator("slide", force=mbd.Input("push", 3.0), name="piston")]
    system = mbd.System(robot, forces=elements)
    run = system.simulate(0.2, q=[0.3])
    batch = robot.simulate(0.2, q=[[0.3]] * 3, forces=elements)
    assert np.array_equal(batch.q[1], run.q)
    assert run.force_elements["piston"]["force"] == pytest.approx(3.0, abs=0.0)
    f = robot.right_hand_side(q=[0.3], forces=elements)
    found = solve_ivp(f, (0, 0.2), f.start, rtol=1e-11, atol=1e-12)
    assert np.abs(found.y[0, -1] - run.q[-1, 0]) < 1e-9
    by_hand = system.simulate(0.02, q=[0.3], method="multipliers")
    assert np.abs(by_hand.q[-1] - run.q[20]).max() < 1e-13
    implicit = system.simulate(0.2, q=[0.3], integrator="newmark")
    assert implicit.finished and np.abs(implicit.q[-1] - run.q[-1]).max() < 1e-5
    told = mbd.System(robot, forces=elements, loads=["slide"]).simulate(
        0.2, q=[0.3], integrator="hht"
    )
    assert np.isfinite(told.loads.force).all()
    if shutil.which("cc"):
        equations = mbd.Equations(system, q=[0.3])
        q, _, _ = InC(equations, tmp_path).march(equations, 200)
        assert np.abs(q - run.q[-1]).max() < 1e-15


def test_an_input_inside_an_element_is_driven_from_outside():
    robot = rail()
    piston = PointActuator(
        ("ground", "bob"),
        ((-2.0, 0, 0), (0, 0, 0)),
        force=mbd.Input("valve"),
        name="piston",
    )
    run = robot.simulate(0.5, forces=[piston], inputs={"valve": -4.0})
    assert np.abs(run.q[:, 0] - 0.5 * 2.0 * run.time**2).max() < 1e-9
    assert run.force_elements["piston"]["force"] == pytest.approx(-4.0, abs=0.0)
    many = robot.simulate(0.5, forces=[piston], inputs={"valve": [-4.0, 8.0]})
    assert many.q[:, -1, 0] == pytest.approx([0.25, -0.5], abs=1e-9)
    assert many[1].force_elements["piston"]["force"] == pytest.approx(8.0, abs=0.0)
    called = robot.simulate(
        0.5, forces=[piston], inputs={"valve": mbd.Sampled(lambda t, q, v: -4.0)}
    )
    assert np.array_equal(called.q, run.q)
    machine = mbd.RealTime(mbd.System(robot, forces=[piston]))
    paced = machine.run(0.5, rate=1000.0, inputs=lambda t, now: {"valve": -4.0})
    assert np.array_equal(paced.q, run.q)
    assert machine.values["element.piston.force"] == -4.0


def test_an_fmu_has_the_input_of_an_element(tmp_path):
    import fmpy

    robot = rail()
    actuator = JointActuator("slide", force=mbd.Input("valve", 1.0), name="piston")
    fmu = mbd.System(robot, forces=[actuator, coil(FORMULA)]).export_fmu(tmp_path / "rail.fmu")
    assert fmu.names("input") == ("valve",)
    if fmu.binary is None:
        return
    found = fmpy.simulate_fmu(
        str(fmu.path), stop_time=0.2, output_interval=0.01, start_values={"valve": 5.0}
    )
    run = robot.simulate(0.2, forces=[actuator, coil(FORMULA)], inputs={"valve": 5.0}, every=10)
    assert np.array_equal(found["q.slide"], run.q[:, 0])
    assert found["element.piston.force"][-1] == 5.0


def test_files_hold_formulas_and_inputs(tmp_path):
    robot, path = rail(), tmp_path / "rail.forces.yaml"
    elements = [coil(FORMULA), JointActuator("slide", force=mbd.Input("push", 3.0), name="piston")]
    mbd.forces.save_forces(path, elements)
    assert FORMULA in path.read_text() and "input: push" in path.read_text()
    read = mbd.forces.load_forces(path, robot)
    one = robot.simulate(0.1, q=[0.3], forces=elements)
    two = robot.simulate(0.1, q=[0.3], forces=read)
    assert np.array_equal(one.q, two.q)
    mbd.forces.save_forces(tmp_path / "again.yaml", read)
    assert (tmp_path / "again.yaml").read_text() == path.read_text()
    path.write_text(path.read_text().replace("sin(3 t)", "sinus(3 t)"))
    with pytest.raises(FileError, match=r"stiffness: .* no name named 'sinus'"):
        mbd.forces.load_forces(path, robot)


def test_the_machines_own_elements_vary_in_inverse_dynamics_too():
    robot = rail().with_forces([coil(FORMULA)])
    q = np.array([0.3])
    tau = robot.inverse_dynamics(q, [0.0], [0.0], t=0.7)
    assert tau[0] == pytest.approx((50 * (1 + 0.5 * np.sin(2.1)) + 20 * 0.09) * 0.3)


def test_other_numbers_of_an_element_that_varies_are_parameters():
    many = rail().simulate(
        0.5, q=[[0.3]], forces=[coil(FORMULA)], parameters={"coil.damping": [0.0, 0.4]}
    )
    alone = rail().simulate(0.5, q=[0.3], forces=[coil(FORMULA)])
    assert np.array_equal(many.q[1], alone.q) and abs(many.q[0, -1] - many.q[1, -1]) > 1e-4


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (coil("50*sin(t"), "stiffness: .* formula"),
        (coil("50*speed"), "no name named 'speed'"),
        (coil("-50"), "stiffness: expected .* at least 0, got -50"),
        (coil(lambda t, q, v: 50.0 if q[0] > 0 else 10.0), "stiffness: "),
        (coil(lambda t, q, v: q), "stiffness: the function returned the shape"),
        (coil(mbd.Input("k", [1.0, 2.0])), "expected an Input of one number"),
        (
            PointSpring(("ground", "bob"), stiffness=5.0, free_length=mbd.Input("l", -1.0)),
            "free_length: expected one number, m, at least 0, got -1",
        ),
    ],
)
def test_what_cannot_vary_so_is_refused(element, message):
    with pytest.raises(StateError, match=message):
        mbd.System(rail(), forces=[element])


def test_an_input_of_an_element_takes_numbers_only():
    actuator = JointActuator("slide", force=mbd.Input("valve"))
    with pytest.raises(StateError, match=r"a formula or function of .* stands in the element"):
        rail().simulate(0.1, forces=[actuator], inputs={"valve": "5*sin(t)"})


def test_loads_of_a_cut_joint_know_the_input_of_its_spring():
    bar = mbd.load("urdf/four_bar.urdf")
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    cut = bar.model.cuts[0].name
    start = {"q": at.q, "v": at.v}
    found = []
    for stiffness, inputs in ((mbd.Input("k", 1.0), {"k": 30.0}), (30.0, None)):
        spring = JointSpring(cut, stiffness=stiffness, name="spring")
        run = bar.simulate(0.02, forces=[spring], inputs=inputs, **start)
        found.append(run.joint_loads(cut).moment)
    assert np.array_equal(*found) and np.abs(found[0]).max() > 1.0
    spring = JointSpring(cut, stiffness=mbd.Input("k", 1.0), name="spring")
    called = {"k": mbd.Sampled(lambda t, q, v: 30.0)}
    run = bar.simulate(0.02, forces=[spring], inputs=called, **start)
    with pytest.raises(StateError, match="have the steps tell the loads"):
        run.joint_loads(cut)


def test_numbers_that_an_input_is_given_are_checked_by_the_element():
    for value in (-5.0, [3.0, -5.0]):
        with pytest.raises(StateError, match=r"stiffness: expected .* at least 0, got -5"):
            mbd.System(rail(), forces=[coil(mbd.Input("k", 1.0))], inputs={"k": value})


def test_one_input_acts_as_a_torque_and_inside_an_element():
    actuator = JointActuator("slide", force=mbd.Input("u"))
    system = mbd.System(rail(), torque={"slide": mbd.Input("u")}, forces=[actuator])
    run = mbd.RealTime(system).run(0.5, rate=1000.0, inputs={"u": 2.0})
    assert run.q[-1] == pytest.approx(0.5 * 2.0 * 0.25)


def test_a_gas_volume_and_the_length_of_a_torsion_bar_vary():
    bar = mbd.forces.TorsionBar("hinge", shear_modulus=8e10, length="2+t", polar_moment=1e-9)
    gas = mbd.forces.HydropneumaticUnit(
        ("ground", "arm"),
        ((0.0, 0.0, 1.5), (0.4, 0.0, 0.0)),
        area=1e-4,
        static_length=1.5,
        static_volume="5e-4*(1 + 0.1*sin(t))",
        static_force=10.0,
    )
    built = mbd.Builder("door", root="frame").link("arm", 2.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    built.joint("hinge", "revolute", "frame", "arm", axis=(0.0, 1.0, 0.0))
    run = mbd.Mechanism.build(built).simulate(0.1, forces=[bar, gas])
    assert run.finished
    k = 8e10 * 1e-9 / (2.0 + run.time)
    assert np.abs(run.force_elements["TorsionBar 1"]["force"] + k * run.q[:, 0]).max() < 1e-12


@pytest.mark.parametrize("options", [{}, {"integrator": "newmark"}, {"method": "multipliers"}])
def test_a_formula_that_ends_ends_the_motion_with_what_there_is(options):
    """The machine's size is 1 m: messages still name metres, since the joint slides."""
    given = {"q": [0.3], "forces": [coil("sqrt(0.05 - t)")], "check": False}
    run = rail().simulate(0.1, **given, **options)
    assert "stopped at t = 0.0" in run.status and 49 <= len(run.time) <= 52
    assert re.search(
        "expected finite numbers, got|numbers overflow, with 'slide' at .* m/s", run.status
    )


def test_a_step_that_errs_in_a_joint_that_slides_is_told_in_metres():
    stiff = JointSpring("slide", stiffness=4e7)
    run = rail().simulate(0.1, q=[0.3], forces=[stiff], check=False)
    assert re.search(r"errs by [0-9.e+-]+ m in 'slide'|more than the mechanism's size", run.status)
