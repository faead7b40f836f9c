"""States of force elements are integrated with the motion, on every road, to the same digits."""

import pickle

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.c_compiler import needs_compiler
from tests.forces.relaxing import ON_BAR, Z_BAR, Filter, Maxwell, bar, exact, slider
from tests.machines import four_bar
from tests.step_in_c import InC

MOUNT = Maxwell("rail", name="mount")
START = (0.2, -1.0, 0.05)
LENGTH = 0.1


def run_bar(**options):
    robot, q, v = bar()
    given = {"q": q, "v": v, "z": Z_BAR, "forces": ON_BAR} | options
    return robot.simulate(given.pop("duration", LENGTH), **given)


def test_a_mass_on_a_spring_and_damper_in_series_moves_as_its_matrix_says():
    x, v, z = START
    run = slider().simulate(1.0, q=[x], v=[v], z=[z], forces=[MOUNT])
    found = [run.q[-1, 0], run.v[-1, 0], run.z[-1, 0]]
    assert np.abs(found - exact(MOUNT, 1.0, *START)).max() < 1e-11
    assert np.array_equal(run.states["mount.stroke"], run.z[:, 0])


def test_steps_are_of_the_fourth_order_in_states_too():
    ends = []
    for step in (0.02, 0.01, 0.005):
        x, v, z = START
        run = slider().simulate(1.0, step=step, q=[x], v=[v], z=[z], forces=[MOUNT])
        ends.append(abs(run.z[-1, 0] - exact(MOUNT, 1.0, *START)[2]))
    orders = np.log2(np.array(ends[:-1]) / ends[1:])
    assert np.all(np.abs(orders - 4.0) < 0.2), orders


def test_a_filter_on_a_prescribed_motion_follows_its_closed_form():
    w, T = 9.0, 0.05
    run = slider().simulate(
        1.0, prescribed={"rail": f"sin({w}*t)"}, forces=[Filter("rail", T, name="gauge")]
    )
    t, below = run.time, 1.0 + (w * T) ** 2
    z = (np.sin(w * t) - w * T * np.cos(w * t) + w * T * np.exp(-t / T)) / below
    assert np.abs(run.states["gauge.seen"] - z).max() < 1e-8


def test_what_is_lost_is_what_the_damper_dissipates():
    run = run_bar(duration=0.5)
    parts = run.force_elements
    whole = run.energy + parts.energy
    lost = np.array([simpson(parts.dissipation[: k + 1], x=run.time[: k + 1]) for k in (200, 500)])
    assert np.abs(whole[0] - whole[[200, 500]] - lost).max() < 1e-9 * np.ptp(whole)
    assert lost[-1] > 0.1
    assert np.array_equal(parts["gauge"]["seen"], run.states["gauge.seen"])


def test_a_batch_and_its_trajectories_have_the_digits_of_a_run():
    robot, q, v = bar()
    run = run_bar()
    one = robot.simulate(LENGTH, q=[q], v=[v], z=Z_BAR, forces=ON_BAR)
    assert np.array_equal(one.z[0], run.z) and np.array_equal(one.q[0], run.q)
    strokes = [0.3, 0.1, -0.2, 0.0, 0.4]
    z = {"mount.stroke": strokes, "gauge.seen": 0.5}
    many = robot.simulate(LENGTH, q=q, v=v, z=z, forces=ON_BAR, every=7)
    assert len(many) == 5 and not many.alone
    assert np.array_equal(many.z[0], run.z[[*range(0, 101, 7), 100]])
    alone = run_bar(z=many.z[3, 0], every=7)
    assert np.array_equal(many[3].z, alone.z) and np.array_equal(many.q[3], alone.q)
    assert np.array_equal(many.states["mount.stroke"][:, 0], strokes)
    report = many[3].force_elements["mount"]["force"]
    assert np.array_equal(report, alone.force_elements["mount"]["force"])
    assert np.abs(many[3].a - alone.a).max() < 1e-9 and np.abs(many.tau[3] - alone.tau).max() == 0


def test_steps_one_by_one_have_the_digits_of_a_run():
    robot, q, v = bar()
    run = run_bar()
    core = CoupledStep(mbd.System(robot, forces=ON_BAR), q, v, Z_BAR)
    tau, none = np.zeros(robot.nv), np.zeros((len(robot.model.bodies), 6))
    assert np.abs(core.accelerations(q, v, tau, none) - run.a[0]).max() < 1e-9
    for k in range(100):
        q, v = core(q, v, tau, none, 1e-3, float(run.time[k]))
    assert np.abs(q - run.q[-1]).max() < 1e-13 and np.abs(core.z - run.z[-1]).max() < 1e-13
    assert np.abs(core.answer(q, v, tau, none).a[0] - run.a[-1]).max() < 1e-9


@needs_compiler
def test_a_step_in_c_has_the_digits_of_a_run(tmp_path):
    robot, q, v = bar()
    system = mbd.System(robot, forces=ON_BAR, loads=["elbow"])
    run = system.simulate(0.05, q=q, v=v, z=Z_BAR)
    equations = mbd.Equations(system, q=q, v=v, z=Z_BAR)
    step = InC(equations, tmp_path)
    assert "mount.stroke (m), gauge.seen (rad)" in step.head
    q, v, told = step.march(equations, 50)
    assert np.array_equal(q, run.q[-1]) and np.array_equal(told[-1]["z_next"], run.z[-1])
    assert np.array_equal(told[20]["force"], run.loads.force[20])


def test_loads_told_by_the_steps_know_the_states():
    run = run_bar(loads=["crank", "elbow"])
    after = run.joint_loads(["crank", "elbow"])
    assert np.abs(run.loads.force - after.force).max() < 1e-10
    assert np.array_equal(run.z, run_bar().z)


@pytest.mark.parametrize("method", ["multipliers", "qr"])
def test_methods_in_python_integrate_the_same_states(method):
    run, other = run_bar(), run_bar(method=method, reference=True)
    assert np.abs(other.z - run.z).max() < 1e-12 and np.abs(other.q - run.q).max() < 1e-12


@pytest.mark.parametrize("integrator", ["abm", "scipy:DOP853"])
def test_variable_steps_control_the_error_of_states(integrator):
    run, other = run_bar(), run_bar(integrator=integrator, tolerance=1e-10)
    assert np.abs(other.z - run.z).max() < 1e-8


def test_rates_for_scipy_hold_the_states():
    robot, q, v = bar()
    run = run_bar()
    f = robot.right_hand_side(q=q, v=v, z=Z_BAR, forces=ON_BAR)
    found = solve_ivp(f, (0, LENGTH), f.start, method="DOP853", rtol=1e-11, atol=1e-12)
    assert np.abs(f.split(found.y[:, -1])[0] - run.q[-1]).max() < 1e-9
    assert abs(f.states(found.y[:, -1])["mount.stroke"] - run.z[-1, 0]) < 1e-9


def test_equations_hold_the_states():
    robot, q, v = bar()
    system = mbd.System(robot, forces=ON_BAR, loads=["elbow"])
    run = system.simulate(0.002, q=q, v=v, z=Z_BAR)
    equations = mbd.Equations(system, q=q, v=v, z=Z_BAR)
    assert equations.sizes["x"] == robot.nq + robot.nv + 2
    rate = equations.rate(0.0, equations.start)
    assert np.abs(rate[robot.nq : robot.nq + robot.nv] - run.a[0]).max() < 1e-9
    force = run.force_elements["mount"]["force"][0]
    assert rate[-2] == pytest.approx(-force / 2.0) and rate[-1] == pytest.approx(0.0)
    lam = equations.multipliers(0.0, equations.start)
    assert np.abs(equations.residual(0.0, equations.start, rate, lam)).max() < 1e-9
    told = equations.outputs(0.0, equations.start)
    assert np.abs(told["force"] - run.loads.force[0]).max() < 1e-9


@pytest.mark.parametrize("method", ["multipliers", "svd"])
def test_a_run_goes_on_from_its_checkpoint_with_its_states(tmp_path, method):
    options = {"checkpoint": tmp_path / "run.npz", "checkpoint_every": 20, "method": method}
    whole = run_bar(**options)
    again = run_bar(**options)
    assert np.array_equal(again.z, whole.z) and len(again.z) == 101
    with pytest.raises(mbd.errors.FileError, match="start"):
        run_bar(**options, z=[0.0, 0.0])
    other = [Maxwell("crank", 30.0, 2.0, name="mount"), Filter("crank", 0.06, name="gauge")]
    with pytest.raises(mbd.errors.FileError, match="forces must be the same"):
        run_bar(**options, forces=other)


def test_states_go_on_through_events():
    def top(t, q, v):
        return t - 0.03215

    top.action = lambda t, q, v: (q, v)
    plain, run = run_bar(), run_bar(events={"top": top})
    assert len(run.z) == len(run.time) == len(plain.time) + 2
    assert np.abs(run.z[-1] - plain.z[-1]).max() < 1e-11
    top.terminal = True
    end = run_bar(events={"top": top})
    before = plain.time < 0.03215
    assert end.time[-1] == pytest.approx(0.03215, abs=1e-12)
    assert np.array_equal(end.z[:-1], plain.z[before])
    rest = run_bar(duration=0.03215, step=0.00042865)
    assert np.abs(end.z[-1] - rest.z[-1]).max() < 1e-10


def test_states_are_carried_past_a_singular_position():
    """A parallelogram goes through its flat positions; the filter sees its crank on both sides."""
    flat = [Filter("crank", 0.05, name="gauge"), Maxwell("crank", 0.5, 2.0, name="mount")]
    robot, first = four_bar(1.0, 2.0, 1.0, 2.0), np.pi / 2 + 0.4
    near = {"crank": first, "elbow": -first}
    at = robot.assemble(near, fixed="crank", velocity={"crank": -4.0})
    z = {"gauge.seen": first, "mount.stroke": first}
    run = robot.simulate(0.2, q=at.q, v=at.v, z=z, forces=flat)
    assert run.detours and run.finished
    s = np.interp
    found = solve_ivp(
        lambda t, z: [(s(t, run.time, run.q[:, 0]) - z[0]) / 0.05],
        (0, run.time[-1]),
        [first],
        max_step=5e-4,
        rtol=1e-10,
        atol=1e-12,
        t_eval=run.time,
    )
    assert np.abs(run.states["gauge.seen"] - found.y[0]).max() < 1e-5
    many = robot.simulate(0.2, q=[at.q] * 9, v=[at.v] * 9, z=z, forces=flat)
    assert many.finished.all()
    assert np.abs(many.z[4] - run.z).max() < 1e-9


def test_a_run_and_a_batch_with_states_travel_to_another_process():
    run = run_bar(duration=0.01)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.states["gauge.seen"], run.states["gauge.seen"])
    assert np.array_equal(again.force_elements.energy, run.force_elements.energy)


def test_a_run_without_states_has_none():
    robot, q, v = bar()
    run = robot.simulate(0.01, q=q, v=v)
    assert run.z.shape == (11, 0) and run.states == {}


@pytest.mark.parametrize(
    ("z", "says"),
    [
        ({"mount.slip": 1.0}, "mount.slip"),
        ([1.0], "mount.stroke"),
        ([1.0, np.nan], "finite"),
        ({"gauge.seen": [[1.0, 2.0]]}, "gauge.seen"),
        ("abc", "z"),
    ],
)
def test_states_that_cannot_be_are_refused(z, says):
    with pytest.raises(mbd.errors.StateError, match=says):
        run_bar(z=z)


def test_rates_of_another_number_are_refused():
    class Wrong(Filter):
        def effect(self, model, t, q, v, z):
            return super().effect(model, t, q, v, z)._replace(rates=())

    robot, q, v = bar()
    with pytest.raises(mbd.errors.StateError, match=r"gauge.seen.*got 0"):
        robot.simulate(0.01, q=q, v=v, forces=[Wrong("crank", name="gauge")])


def test_an_element_with_states_in_a_cut_joint_has_its_loads_from_the_steps():
    robot, q, v = bar()
    at_pin = Maxwell("pin", 30.0, 2.0, name="mount")
    given = {"q": q, "v": v, "z": [0.1], "forces": [at_pin]}
    run = robot.simulate(0.05, loads=["pin"], **given)
    torque = run.force_elements["mount"]["force"]
    # about its axis, y, a hinge transmits the element's moment alone
    moment = run.loads.moment[:, 0, 1]
    assert np.abs(moment - np.sign(moment @ torque) * torque).max() < 1e-10 < np.ptp(torque)
    assert np.array_equal(run.joint_loads(["pin"]).moment, run.loads.moment)
    with pytest.raises(mbd.errors.StateError, match="loads="):
        robot.simulate(0.05, **given).joint_loads(["pin"])


@pytest.mark.parametrize("delay", [0.0034, 0.003, 0.001])
def test_a_state_whose_steps_are_too_long_is_told_though_it_moves_nothing(delay):
    """4e9 rad, or 1e246 rad, of a gauge that is 0.2 rad off: no motion is wrong, the state is."""
    gauge = [Filter("rail", delay, name="gauge")]
    given = {"q": [0.2], "v": [1.0], "step": 0.01, "forces": [MOUNT, *gauge]}
    with pytest.raises(SolveError, match=r"too long for the state 'gauge.seen'"):
        slider().simulate(1.0, **given)
    batch = slider().simulate(1.0, **given | {"q": [[0.2], [0.3]]})
    assert all("too long for the state 'gauge.seen'" in one for one in batch.status)
    short = slider().simulate(1.0, **given | {"step": 2.0 * delay}, check=False)
    assert short.status == "finished" and np.abs(short.z).max() < 1.0


def test_steps_one_by_one_tell_it_too():
    system = mbd.System(slider(), forces=[Filter("rail", 0.0034, name="gauge")])
    start = np.array([0.2]), np.array([1.0])
    core, none = CoupledStep(system, *start), (np.zeros(1), np.zeros((1, 6)))

    def run(state, steps):
        for k in range(steps):
            state = core(*state, *none, 0.01, 0.01 * k)
        return state

    state = run(start, 99)
    with pytest.raises(SolveError, match=r"too long for the state 'gauge.seen'"):
        run(state, 1)
    told, short = (mbd.RealTime(system, step=h, q=[0.2], v=[1.0]) for h in (0.01, 0.005))
    status = told.run(2.0, rate=1e6).status
    assert "too long for the state 'gauge.seen'" in status and status.startswith(
        "stopped at t = 0.99"
    )
    assert short.run(2.0, rate=1e6).status == "finished"
