"""Numbers of force elements are parameters: by trajectory, by name in equations and in C."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.kernels import compile_kernel, jacobian
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.c_compiler import needs_compiler
from tests.forces.elements import ELEMENTS, ENDS, Q, V, machine
from tests.forces.relaxing import Filter, Maxwell, bar, slider
from tests.forces.wheels import ROADS, free_wheel, tyres
from tests.step_in_c import InC

T = 0.05
SPRING = forces.PointSpring(("ground", "coupler"), ENDS, 40.0, 2.0, 1.0, 0.5, name="spring")
FRICTION = forces.JointFriction("crank", 0.5, name="bearing")
MOUNT = Maxwell("crank", 30.0, 2.0, name="mount")
ON_BAR = [SPRING, FRICTION, MOUNT]
VALUES = {
    "spring.stiffness": [40.0, 70.0, 10.0],
    "bearing.coulomb": [0.5, 0.0, 1.5],
    "mount.stiffness": [30.0, 20.0, 50.0],
}


def changed(k):
    """Return the elements with the numbers of trajectory k."""
    values = [VALUES[name][k] for name in VALUES]
    return [
        replace(SPRING, stiffness=values[0]),
        replace(FRICTION, coulomb=values[1]),
        replace(MOUNT, stiffness=values[2]),
    ]


def test_each_trajectory_of_a_batch_has_its_own_springs_and_friction():
    robot, q, v = bar()
    given = {"q": q, "v": v, "z": [0.3]}
    batch = robot.simulate(T, forces=ON_BAR, parameters=VALUES, loads=["elbow"], **given)
    assert len(batch) == 3 and not batch.alone
    for k in range(3):
        run = robot.simulate(T, forces=changed(k), loads=["elbow"], **given)
        assert np.abs(batch.q[k] - run.q).max() < 1e-12 and np.abs(batch.z[k] - run.z).max() < 1e-12
        assert np.abs(batch.loads.force[k] - run.loads.force).max() < 1e-8
        for name, report in run.force_elements.items():
            for number, expected in report.items():
                found = batch[k].force_elements[name][number]
                assert np.abs(found - expected).max() < 1e-9 * (1.0 + np.abs(expected).max())
        assert np.abs(batch[k].tau - run.tau).max() < 1e-10
        assert np.abs(batch.tau[k] - run.tau).max() < 1e-10


def test_a_run_with_a_parameter_is_that_of_the_number():
    robot, q, v = bar()
    given = {"q": q, "v": v, "z": [0.3]}
    one = {name: value[1] for name, value in VALUES.items()}
    run = robot.simulate(T, forces=changed(1), **given)
    for options in ({}, {"method": "multipliers"}, {"integrator": "scipy:DOP853"}):
        other = robot.simulate(T, forces=ON_BAR, parameters=one, **given, **options)
        assert np.abs(other.q - run.q).max() < 1e-7 and np.abs(other.z - run.z).max() < 1e-7
    system = mbd.System(robot, forces=ON_BAR, parameters=one)
    core, state = CoupledStep(system, q, v, [0.3]), (q, v)
    tau, none = np.zeros(robot.nv), np.zeros((len(robot.model.bodies), 6))
    for k in range(50):
        state = core(*state, tau, none, 1e-3, k * 1e-3)
    assert np.abs(state[0] - run.q[-1]).max() < 1e-12
    again = pickle.loads(pickle.dumps(system.simulate(T, **given)))
    assert np.abs(again.q - run.q).max() < 1e-12
    assert np.abs(again.force_elements.energy - run.force_elements.energy).max() < 1e-9


def test_parameters_of_machine_and_elements_go_together():
    robot = machine()
    spring = replace(ELEMENTS["linear"], name="spring")
    both = {"hand.mass": [0.7, 0.9], "spring.damping": [3.0, 5.0], "gravity": [0.0, 0.0, -9.81]}
    batch = robot.simulate(T, q=Q, v=V, forces=[spring], parameters=both)
    alone = robot.simulate(
        T, q=Q, v=V, forces=[replace(spring, damping=5.0)], parameters={"hand.mass": 0.9}
    )
    assert np.abs(batch.q[1] - alone.q).max() < 1e-12
    assert np.abs(batch.energy[1] - alone.energy).max() < 1e-10


def test_the_machine_code_is_the_same_for_all_values():
    system = mbd.System(
        machine(), forces=[ELEMENTS["linear"]], parameters={"PointSpring 1.damping": 1}
    )
    other = mbd.System(
        machine(), forces=[ELEMENTS["linear"]], parameters={"PointSpring 1.damping": 2}
    )
    assert system.identity == other.identity
    assert system.identity != mbd.System(machine(), forces=[ELEMENTS["linear"]]).identity


EACH = {
    "linear": {"stiffness": 60.0, "damping": 1.0, "preload": 2.0, "free_length": 0.6},
    "polynomial": {"stiffness": [30.0, 80.0, 5.0]},
    "torsion bar": {"stiffness": 50.0, "rest": 0.1},
    "bushing": {"stiffness": [40.0, 50, 60, 7, 8, 9], "damping": [1.0, 1, 1, 1, 1, 1]},
    "friction": {"coulomb": 1.0, "static": 3.0, "viscous": 0.3, "smoothing_velocity": 0.04},
    "stop": {"lower": -0.2, "upper": 0.3, "stiffness": 500.0, "damping": 10.0, "depth": 0.03},
    "drag": {"coefficient": 0.5, "medium": [0.3, 0.2, 0.1]},
}


@pytest.mark.parametrize("kind", EACH)
def test_numbers_of_every_kind_of_element_can_be_parameters(kind):
    robot, element = machine(), replace(ELEMENTS[kind], name="it")
    parameters = {f"it.{word}": value for word, value in EACH[kind].items()}
    system = mbd.System(robot, forces=[element], parameters=parameters)
    fixed = mbd.System(robot, forces=[replace(element, **EACH[kind])])
    x = np.concatenate([Q, V])
    found = mbd.Equations(system, q=Q, v=V).rate(0.0, x, None, system.parameters.inputs[0])
    expected = mbd.Equations(fixed, q=Q, v=V).rate(0.0, x)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    run, other = (one.simulate(0.01, q=Q, v=V) for one in (system, fixed))
    assert np.abs(run.q - other.q).max() < 1e-13


def test_rates_and_loads_are_differentiated_by_parameters_of_elements():
    robot, q, v = bar()
    one = {name: value[0] for name, value in VALUES.items()}
    system = mbd.System(robot, forces=ON_BAR, parameters=one, loads=["elbow"])
    equations = mbd.Equations(system, q=q, v=v, z=[0.3])
    x, p = equations.start, system.parameters.inputs[0]

    def both(x, p):
        told = equations.outputs(0.0, x, equations.held, p)
        return equations.rate(0.0, x, equations.held, p), told["force"].reshape(-1)

    sizes = {name: equations.sizes[name] for name in ("x", "p")}
    derived = compile_kernel(jacobian(both, sizes, ["p"], values=False), sizes)(x, p)
    for k, step in enumerate(1e-5 * p):
        way = step * np.eye(len(p))[k]
        for found, *ends in zip(derived, both(x, p + way), both(x, p - way), strict=True):
            difference = (ends[0] - ends[1]) / (2 * step)
            assert np.abs(found[:, k] - difference).max() < 1e-7 * (1 + np.abs(difference).max())
    assert all(np.abs(found).max(axis=0).min() > 1e-3 for found in derived)


@needs_compiler
def test_a_step_in_c_takes_them_by_name(tmp_path):
    robot, q, v = bar()
    one = {name: value[0] for name, value in VALUES.items()}
    system = mbd.System(robot, forces=ON_BAR, parameters=one)
    run = system.simulate(0.02, q=q, v=v, z=[0.3])
    equations = mbd.Equations(system, q=q, v=v, z=[0.3])
    step = InC(equations, tmp_path)
    assert "spring.stiffness" in step.head
    assert np.array_equal(step.march(equations, 20)[0], run.q[-1])


def test_another_value_is_another_problem_to_a_checkpoint(tmp_path):
    robot, q, v = bar()
    given = {"q": q, "v": v, "forces": ON_BAR, "checkpoint": tmp_path / "run.npz"}
    robot.simulate(0.02, parameters={"spring.stiffness": 50.0}, **given)
    with pytest.raises(mbd.errors.FileError, match="forces; parameters must be the same"):
        robot.simulate(0.02, parameters={"spring.stiffness": 60.0}, **given)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"spring.stiffnes": 1.0}, "stiffness"),
        ({"spring.links": 1.0}, "links"),
        ({"spring.stiffness": [1.0, -1.0]}, "spring.*stiffness.*at least 0"),
        ({"spring.damping": -1.0}, "at least 0"),
        ({"bearing.smoothing_velocity": 0.0}, "above 0"),
        ({"bearing.coulomb": np.nan}, "finite"),
        ({"spring.damping": [[1.0, 2.0]]}, "one number"),
        ({"spring.damping": [1.0, 2.0], "bearing.coulomb": [1.0, 2.0, 3.0]}, "same number"),
        ({"sprin.damping": 1.0}, "sprin.damping"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, says):
    robot, q, v = bar()
    with pytest.raises(mbd.MbdError, match=says):
        robot.simulate(0.01, q=q, v=v, forces=ON_BAR, parameters=parameters)


def test_an_element_that_branches_on_a_number_says_so():
    class Branching(Filter):
        def bind(self, model):
            return self if self.delay > 0.0 else replace(self, delay=1.0)

    with pytest.raises(mbd.errors.StateError, match=r"gauge.delay.*decides"):
        slider().simulate(
            0.01,
            forces=[Branching("rail", name="gauge")],
            parameters={"gauge.delay": 0.1},
        )


def test_a_number_by_which_a_tyre_decides_is_named():
    """It is bound with any value; what it does then is not the same."""
    tyre = tyres(ROADS["flat"])["fiala"]
    with pytest.raises(
        mbd.errors.StateError, match=r"wheel.rolling_resistance cannot be .* decides"
    ):
        mbd.System(free_wheel(), forces=[tyre], parameters={"wheel.rolling_resistance": 0.01})


def test_an_element_of_the_user_is_told_by_what_it_computes():
    """Two classes of one name and the same fields are two elements."""

    def made(sign):
        class Push(Filter):
            def effect(self, model, t, q, v, z):
                return super().effect(model, t, q, v, z)._replace(forces={0: sign * 1.0})

            def velocity_numbers(self, model):
                return (0,)

        return Push("rail", name="push")

    ends = [slider().simulate(0.1, forces=[made(sign)]).q[-1, 0] for sign in (1.0, -1.0, 2.0)]
    assert ends[0] > 0.0
    assert ends == pytest.approx([ends[0], -ends[0], 2.0 * ends[0]])
