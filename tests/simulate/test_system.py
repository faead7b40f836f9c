"""One system: every kind of input on every road, and what steps tell while they run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import Kernel
from mbd_bridge.simulation.steps.compiled import MOST_STEPS, SystemStep
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.benchmarks import reported
from tests.machines import four_bar, turning

LINK = "coupler"
TIMES = np.linspace(0.0, 0.4, 4001)
PUSH = np.array([0.3, -0.2, 0.9, 0.1, 0.2, -0.1])


def course(t):
    return 2.0 * np.sin(9.0 * t)


KINDS = {
    "number": ({"crank": 1.5}, PUSH),
    "vector": (np.array([1.5, 0.0, 0.2]), PUSH),
    "formula": ({"crank": "2*sin(9*t)"}, PUSH),
    "function by name": ({"crank": lambda t, q, v: course(t) - 0.1 * v[0]}, PUSH),
    "function": (
        lambda t, q, v: np.array([course(t), -0.1 * v[1], fn.tanh(v[2])]),
        lambda t, q, v: course(t) * PUSH,
    ),
    "table": ({"crank": (TIMES, course(TIMES))}, (TIMES, np.outer(course(TIMES), PUSH))),
    "input": ({"crank": mbd.Input("grip")}, mbd.Input("wind")),
    "input of a table": ({"crank": mbd.Input("a table")}, mbd.Input("gusts")),
}
INPUTS = {
    "input": {"grip": 1.5, "wind": PUSH},
    "input of a table": {
        "a table": (TIMES, course(TIMES)),
        "gusts": (TIMES, np.outer(course(TIMES), PUSH)),
    },
}


def acting(kind):
    torque, push = KINDS[kind]
    return {
        "torque": torque,
        "external": {LINK: push},
        "external_in": "world",
        "inputs": INPUTS.get(kind),
    }


@pytest.fixture(scope="module")
def bar():
    found, at = turning(four_bar(1, 2, 1.7, 2.5), 2.0)
    return found, at.q, at.v


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_is_taken_by_every_road(bar, kind):
    """A run, a batch, a stepper with the same machine code; SciPy on the right-hand side."""
    robot, q, v = bar
    given = acting(kind)
    run = robot.simulate(0.4, step=1e-3, q=q, v=v, **given)
    many = robot.simulate(0.4, step=1e-3, q=[q] * 3, v=v, **given)
    assert np.array_equal(many.q[1], run.q) and np.array_equal(many.v[2], run.v)
    assert np.abs(many.a[1] - run.a).max() < 1e-9 * np.abs(run.a).max()
    assert np.allclose(many.tau[0], run.tau, atol=1e-12)
    one, more = run.joint_loads(), many.joint_loads()
    assert np.abs(more.force[0] - one.force).max() < 1e-9 * np.abs(one.force).max()
    core, state = CoupledStep(mbd.System(robot, **given), q, v), (q, v)
    none = np.zeros((len(robot.model.bodies), 6))
    for k in range(400):
        state = core(*state, np.zeros(3), none, 1e-3, float(run.time[k]))
    assert np.abs(state[0] - run.q[-1]).max() < 1e-12
    rates = robot.right_hand_side(q=q, v=v, span=(0.0, 0.4), **given)
    found = solve_ivp(rates, (0.0, 0.4), rates.start, rtol=1e-11, atol=1e-11, method="DOP853")
    assert np.abs(found.y[:3, -1] - run.q[-1]).max() < 1e-8


@pytest.mark.parametrize("kind", ["formula", "table", "number"])
def test_every_kind_of_prescribed_motion_is_taken_by_every_road(bar, kind):
    robot, q, _ = bar
    times = np.linspace(0.0, 0.4, 41)
    motion = {
        "formula": f"{float(q[0])!r} + t^2",
        "table": (times, q[0] + times**2),
        "number": float(q[0]),
    }[kind]
    run = robot.simulate(0.4, prescribed={"crank": motion}, q=q, every=10)
    many = robot.simulate(0.4, prescribed={"crank": motion}, q=[q] * 2, every=10)
    assert np.array_equal(many.q[1], run.q)
    assert np.allclose(
        many.prescribed_forces["crank"][0], run.prescribed_forces["crank"], atol=1e-9
    )
    if kind != "number":
        assert np.allclose(run.q[:, 0], q[0] + run.time**2, atol=1e-9)
    state, none = (run.q[0], run.v[0]), np.zeros((len(robot.model.bodies), 6))
    core = CoupledStep(mbd.System(robot, prescribed={"crank": motion}), *state)
    for k in range(400):
        state = core(*state, np.zeros(3), none, 1e-3, 1e-3 * k)
    assert np.abs(state[0] - run.q[-1]).max() < 1e-9


def test_a_sampled_function_is_held_for_a_step(bar):
    """It is the table of its values that stay: straight to the last digit of what it gave."""
    robot, q, v = bar
    asked = []

    def control(t, q, v):
        asked.append(t)
        return 3.0 * np.cos(4.0 * t) - 0.5 * v[0]

    given = {"torque": {"crank": mbd.Sampled(control)}}
    run = robot.simulate(0.1, step=1e-3, q=q, v=v, **given)
    assert set(np.round(run.time[:-1], 12)) <= set(np.round(asked, 12))
    state = q, v
    for k in range(100):
        tau = {"crank": float(run.tau[k, 0])}
        one = robot.simulate(1e-3, step=1e-3, q=state[0], v=state[1], torque=tau, check=False)
        state = one.q[-1], one.v[-1]
    assert np.abs(state[0] - run.q[-1]).max() < 1e-12
    errors = []
    smooth = robot.simulate(
        0.1, step=1e-4, q=q, v=v, torque={"crank": lambda t, q, v: control(t, q, v)}
    )
    for step in (2e-3, 1e-3):
        found = robot.simulate(0.1, step=step, q=q, v=v, **given)
        errors.append(np.abs(found.q[-1] - smooth.q[-1]).max())
    assert 1.7 < errors[0] / errors[1] < 2.3  # of the first order, as is said
    many = robot.simulate(0.1, step=1e-3, q=[q] * 2, v=v, **given)
    assert np.array_equal(many.q[0], run.q)


def test_parameters_of_one_run_are_those_of_a_variant(bar):
    robot, q, v = bar
    given = {"coupler.mass": 3.0, "gravity": [0.0, 0.0, -1.62]}
    run = robot.simulate(0.2, q=q, v=v, parameters=given)
    many = robot.simulate(0.2, q=[q] * 2, v=v, parameters=given)
    assert np.array_equal(run.q, many.q[1])
    assert run.facts["balance"] < 1e-9


@pytest.mark.parametrize("every", [1, 7, 40])
@pytest.mark.parametrize("kind", ["number", "table", "function"])
def test_loads_that_steps_tell_are_those_computed_afterwards(bar, kind, every):
    robot, q, v = bar
    joints = ["elbow", *(cut.name for cut in robot.model.cuts)]
    given = acting(kind)
    run = robot.simulate(
        0.4,
        q=q,
        v=v,
        every=every,
        loads=joints,
        outputs={"power": lambda t, q, v: q[0] * v[0]},
        **given,
    )
    plain = robot.simulate(0.4, q=q, v=v, every=every, **given)
    assert np.array_equal(run.time, plain.time)
    assert np.abs(run.q - plain.q).max() < 1e-13
    after = plain.joint_loads(joints)
    for name in ("force", "moment", "actuation"):
        told, expected = getattr(run.loads, name), getattr(after, name)
        assert np.abs(told - expected).max(initial=0.0) < 1e-12 * np.abs(after.force).max()
    assert np.array_equal(run.loads.unique, after.unique)
    assert np.allclose(run.outputs["power"], run.q[:, 0] * run.v[:, 0], atol=1e-14)
    assert np.allclose(run.energy, plain.energy, atol=1e-13)


def test_loads_told_past_a_flat_position_are_the_smooth_ones():
    """Near it no step tells anything: what is missing is computed as it is afterwards."""
    flat = four_bar()
    at = flat.assemble(near={"crank": 1.0}, fixed="crank", velocity={"crank": 4.0})
    options = {"q": at.q, "v": at.v, "step": 1e-3}
    run = flat.simulate(0.5, loads=["elbow"], **options)
    plain = flat.simulate(0.5, **options)
    assert run.detours > 0
    assert np.isfinite(run.loads.force).all()
    after = plain.joint_loads(["elbow"])
    assert np.abs(run.loads.force - after.force).max() < 1e-6 * np.abs(after.force).max()


def test_a_run_with_loads_compiles_two_modules_and_chooses_rows_once(bar, monkeypatch, tmp_path):
    from mbd_bridge.kernels import cache

    robot, q, v = bar
    fresh = mbd.Mechanism(robot.model)
    made = []
    get = cache.Store.get
    monkeypatch.setattr(
        cache.Store, "get", lambda self, form, make: made.append(form) or get(self, form, make)
    )
    run = fresh.simulate(0.1, q=q, v=v, torque={"crank": 1.25}, loads=["elbow", "crank"])
    assert np.isfinite(run.loads.force).all()
    assert len(made) <= 2


def test_loads_of_two_joints_cost_less_than_a_tenth_of_the_operations_of_a_step():
    code, _ = reported.steps()
    plain, loads = (sum(code[name].counts.values()) for name in ("plain", "loads"))
    assert plain < loads < 1.1 * plain


def test_what_does_not_go_together_is_explained(bar):
    robot, q, _ = bar
    system = mbd.System(robot, torque={"crank": 1.0})
    assert system.simulate(0.01, q=q).tau[0, 0] == 1.0
    with pytest.raises(StateError, match="a System has its own"):
        system.simulate(0.01, torque={"crank": 2.0})
    with pytest.raises(StateError, match="the table goes from"):
        mbd.System(robot, torque={"crank": ([0, 1], [0, 1])}).simulate(2.0)
    with pytest.raises(StateError, match="none were asked for"):
        _ = robot.simulate(0.01, q=q).loads
    with pytest.raises(StateError, match="input"):
        robot.simulate(0.01, torque={"crank": mbd.Input("a")}, inputs={"b": 1.0})


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("kind", ["number", "table", "input of a table"])
def test_loads_that_steps_of_a_batch_tell_are_those_computed_afterwards(bar, kind, every):
    robot, q, v = bar
    given = acting(kind)
    joints = ["elbow", *(cut.name for cut in robot.model.cuts)]
    options = {
        "q": [q] * 11,
        "v": v,
        "every": every,
        "parameters": {"coupler.mass": np.arange(1, 12)},
    }
    told = robot.simulate(
        0.1, loads=joints, outputs={"x": lambda t, q, v: q[0] + t}, **options, **given
    )
    plain = robot.simulate(0.1, **options, **given)
    assert np.abs(told.q - plain.q).max() < 1e-13
    after = plain.joint_loads(joints)
    assert np.abs(told.loads.force - after.force).max() < 1e-12 * np.abs(after.force).max()
    assert np.abs(told.loads.moment - after.moment).max() < 1e-12 * np.abs(after.force).max()
    assert np.array_equal(told.loads.unique, after.unique)
    assert np.allclose(told.outputs["x"], told.q[:, :, 0] + told.time, atol=1e-14)


def test_a_batch_tells_loads_past_a_flat_position_too():
    flat = four_bar()
    starts = [
        flat.assemble({"crank": a}, fixed="crank", velocity={"crank": 4.0}) for a in (1.0, 0.2)
    ]
    q, v = np.array([at.q for at in starts]), np.array([at.v for at in starts])
    many = flat.simulate(0.5, q=q, v=v, loads=["elbow"])
    after = flat.simulate(0.5, q=q, v=v).joint_loads(["elbow"])
    assert np.isfinite(many.loads.force).all()
    assert np.abs(many.loads.force - after.force).max() < 1e-6 * np.abs(after.force).max()


def test_what_the_steps_told_is_not_solved_again(monkeypatch):
    """Loads, accelerations, multipliers, energy: no kernel is called for them once it has run."""
    bar, at = turning(four_bar(1, 2, 2.5, 2.5), 6.0)
    start = {"q": at.q, "v": at.v}
    plain = bar.simulate(0.2, **start)
    after = plain.joint_loads(["elbow", "crank"])
    run = bar.simulate(0.2, loads=["crank", "elbow"], **start)
    called = []
    call = Kernel.__call__
    monkeypatch.setattr(
        Kernel, "__call__", lambda *given, **more: called.append(1) or call(*given, **more)
    )
    loads, a, energy, lam, between = (
        run.joint_loads(["elbow", "crank"]),
        run.a,
        run.energy,
        run.lam,
        run.at(0.05),
    )
    assert not called
    assert loads.joints == after.joints
    assert np.abs(loads.force - after.force).max() < 1e-9 * np.abs(after.force).max()
    assert np.abs(a - plain.a).max() < 1e-9 * np.abs(plain.a).max()
    assert np.abs(energy - plain.energy).max() < 1e-9
    assert np.abs(lam - plain.lam).max() < 1e-9 * np.abs(plain.lam).max()
    assert np.abs(between.a - plain.at(0.05).a).max() < 1e-8 * np.abs(plain.a).max()
    del called[:]
    run.joint_loads(["elbow"], in_="world")
    assert called  # in other axes they are computed
    del called[:]
    plain.at(0.05)
    assert not called  # accelerations are known since loads were asked for


def changing(kind, now):
    """Return what acts: functions of a number that changes."""
    return {
        "torque": {"torque": {"crank": lambda t, q, v: now["gain"] - 0.1 * v[0]}},
        "external": {"external": {LINK: lambda t, q, v: now["gain"] * PUSH + 0.0 * t}},
        "prescribed": {"prescribed": {"crank": lambda t: 0.5 + now["gain"] * t}},
    }[kind]


@pytest.mark.parametrize("kind", ["torque", "external", "prescribed"])
def test_functions_that_use_what_changes_between_two_runs_do_so_in_motion_and_loads(kind):
    bar, at = turning(four_bar(1, 2, 2.5, 2.5), 6.0)
    now = {"gain": 1.0}
    held = mbd.System(bar, **changing(kind, now))
    starts = [{}] if kind == "prescribed" else [{"q": at.q, "v": at.v}, {"q": [at.q], "v": [at.v]}]
    for gain in (1.0, -4.0):
        now["gain"] = gain
        anew = mbd.System(bar, **changing(kind, now))
        for start in starts:
            run, other = (system.simulate(0.01, **start) for system in (held, anew))
            assert np.array_equal(run.q, other.q)
            one, two = (found.joint_loads("crank") for found in (run, other))
            assert np.array_equal(one.force, two.force)
            assert np.array_equal(one.actuation, two.actuation)
        assert held.made_of[0] is run.system.made_of[0] is bar


def test_a_system_keeps_the_steps_of_few_schemes():
    held = mbd.System(four_bar(1, 2, 2.5, 2.5), torque={"crank": 1.0})
    for k in range(MOST_STEPS + 1):
        SystemStep.of(held, (), mbd.integrators.HHT(alpha=-0.01 * k))
    assert len(held.kept) <= MOST_STEPS
