"""Derivatives of simulations: those of the steps as they are computed, forward and backward."""

from dataclasses import dataclass

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, SolveError, StateError
from mbd_bridge.forces import PointSpring
from mbd_bridge.model.builder import Builder
from mbd_bridge.simulation.derivatives import marched
from tests.complex_steps import STEP, in_python, varied
from tests.machines import turning
from tests.robots import OWN
from tests.trees import random_state, random_tree

H, STEPS = 1e-3, 1000


def tree(floating=False):
    rng = np.random.default_rng(2)
    robot = mbd.Mechanism.build(
        random_tree(rng, 2 if floating else 3), gravity=(1, -2, -9), floating=floating
    )
    q, v, _ = random_state(robot.model, rng)
    return robot, q, 0.3 * v


def linkage():
    bar = mbd.load(OWN / "crank_rocker.urdf")
    state = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 12.0})
    return bar, state.q, state.v


def spring_on(robot):
    ends = robot.model.links[0].name, robot.model.links[-1].name
    points = ((0.3, 0.0, 0.2), (0.1, 0.0, 0.0))
    return [PointSpring(ends, points, 40.0, damping=0.2, free_length=0.3, name="spring")]


def thrown_ball():
    builder = Builder("ball")
    builder.link("base")
    builder.link("ball", 1.0)
    builder.joint("up", "prismatic", "base", "ball", axis=(0, 0, 1))
    return mbd.Mechanism.build(builder, gravity=(0, 0, -10.0))


def by_complex_steps(solver, q, v, directions, steps=STEPS):
    """Return derivatives of q and v at the end along directions (K, D), through steps in Python."""
    begun, _ = solver.motion(q, v, None, None)
    function, sizes = begun.steps.step.traceable()
    step = in_python(function, sizes, 3)
    columns = []
    for direction in directions.T:
        moved = {name: array @ direction for name, array in begun.rates.items()}
        known = dict(zip(("q", "v", "t"), begun.state, strict=True))
        known |= {"held": begun.held, "p": begun.p, "h": np.array([H])}
        start = {
            name: list(known[name] + 1j * STEP * moved.get(name, np.zeros(len(known[name]))))
            for name in sizes
        }
        state, rest = [start[name] for name in "qvt"], [start[name] for name in list(sizes)[3:]]
        for _ in range(steps):
            state = step(*state, *rest)
        columns.append(np.imag(state[0] + state[1]) / STEP)
    return np.array(columns).T


def same(found, expected, tolerance):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * scale)


def distance(t, q, v):
    return (q * q).sum() + 0.3 * (v * v * v).sum() + q[0] * v[-1]


def forward_gradient(found):
    """Return the gradient of `distance` at the end from the final state's derivatives."""
    q, v = found.q[-1], found.v[-1]
    by_q, by_v = 2.0 * q, 0.9 * v * v
    by_q[0] += v[-1]
    by_v[-1] += q[0]
    return by_q @ found.d_q[-1] + by_v @ found.d_v[-1]


CASES = {
    "tree": (
        tree,
        ["q", "v", "link1.mass", "joint2.xyz", "gravity", "spring.stiffness", "torque"],
        {"torque": {"joint2": 0.4}},
    ),
    "floating": (lambda: tree(True), ["q", "v", "link2.centre", "joint2.rpy"], {}),
    "loops": (
        linkage,
        ["q", "v", "coupler.mass", "rocker.centre", "elbow.xyz.z", "gravity.x", "spring.damping"],
        {"along": "crank"},
    ),
}


def prepared(name, every=STEPS, steps=STEPS, **more):
    make, by, options = CASES[name]
    robot, q, v = make()
    options = {"forces": spring_on(robot), "step": H, "every": every} | options | more
    return robot, q, v, robot.compile_simulation_derivatives(H * steps, by, **options)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_a_thousand_steps_are_those_of_complex_steps_in_python(name):
    _, q, v, solver = prepared(name)
    directions = np.random.default_rng(0).uniform(-1.0, 1.0, (len(solver.columns), 2))
    expected = by_complex_steps(solver, q, v, directions)
    found = solver(q, v)
    same(np.concatenate([found.d_q[-1], found.d_v[-1]]) @ directions, expected, 1e-9)
    back = solver.gradient(final=distance)(q, v)
    same(back.gradient, forward_gradient(found), 1e-11)
    assert back.value == pytest.approx(distance(0.0, found.q[-1], found.v[-1]), rel=1e-12)


@dataclass(frozen=True)
class AdamsBashforth(mbd.integrators.Integrator):
    """Two steps, with a memory."""

    order, remembers = 2, True

    def start(self, f, x):
        return f(0.0, x)

    def step(self, f, x, h, memory):
        rate = f(0.0, x)
        return x + h * (1.5 * rate - 0.5 * memory), rate


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        ("tree", "hht"),
        ("loops", "newmark"),
        ("loops", "generalised_alpha"),
        ("loops", "explicit_newmark"),
        ("tree", AdamsBashforth()),
    ],
)
def test_steps_that_iterate_or_remember_have_the_derivatives_of_complex_steps(name, integrator):
    _, q, v, solver = prepared(name, steps=150, integrator=integrator)
    directions = np.random.default_rng(0).uniform(-1.0, 1.0, (len(solver.columns), 2))
    found = solver(q, v)
    expected = by_complex_steps(solver, q, v, directions, 150)
    same(np.concatenate([found.d_q[-1], found.d_v[-1]]) @ directions, expected, 1e-11)
    same(solver.gradient(final=distance)(q, v).gradient, forward_gradient(found), 1e-12)


def test_implicit_steps_that_are_derived_come_to_where_the_simulated_ones_do():
    robot, q, v, solver = prepared("tree", steps=150, integrator="newmark")
    options = {"forces": spring_on(robot), "step": H, "integrator": "newmark"} | CASES["tree"][2]
    run = robot.simulate(H * 150, q=q, v=v, **options)
    same(solver(q, v).q[-1], run.q[-1], 1e-8)


@pytest.mark.parametrize("integrator", ["explicit_newmark", "newmark"])
def test_what_steps_remember_begins_with_derivatives(integrator):
    robot, q, v = tree()
    h, options = 1e-6, {"step": 1e-2, "every": 3, "integrator": integrator}
    solver = robot.compile_simulation_derivatives(0.03, ["v", "gravity.z"], **options)
    ends = []
    for sign in (1, -1):
        values = {"gravity.z": robot.model.gravity[2] + sign * h}
        ends.append(robot.simulate(0.03, q=q, v=v, parameters=values, **options).v[-1])
        ends.append(robot.simulate(0.03, q=q, v=v + sign * h, **options).v[-1])
    rates = solver(q, v).d_v[-1]
    same(rates[:, -1], (ends[0] - ends[2]) / (2.0 * h), 1e-6)
    same(rates[:, :-1].sum(axis=1), (ends[1] - ends[3]) / (2.0 * h), 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_motion_that_is_derived_is_the_one_that_is_simulated(name):
    robot, q, v, solver = prepared(name, every=30)
    options = {"forces": spring_on(robot), "step": H, "every": 30} | CASES[name][2]
    options.pop("along", None)
    run = robot.simulate(H * STEPS, q=q, v=v, **options)
    found = solver(q, v)
    np.testing.assert_array_equal(found.time, run.time)
    same(found.q, run.q, 1e-10)
    same(found.v, run.v, 1e-10)


def test_a_sum_over_records_has_the_gradient_of_their_sum():
    _, q, v, solver = prepared("loops", every=70)
    found = solver(q, v)
    back = solver.gradient(final=distance, records=lambda t, q, v: t * (q * q).sum())(q, v)
    terms = (found.time[:, None, None] * 2.0 * found.q[:, :, None] * found.d_q).sum(axis=(0, 1))
    same(back.gradient, terms + forward_gradient(found), 1e-11)
    total = (found.time * (found.q**2).sum(axis=1)).sum()
    assert back.value == pytest.approx(total + distance(0.0, found.q[-1], found.v[-1]))
    np.testing.assert_array_equal(back.q, found.q[-1])


def test_long_motions_are_marched_again_to_the_same_bits(monkeypatch):
    _, q, v, solver = prepared("tree", every=90)
    gradient = solver.gradient(final=distance, records=distance)
    whole = gradient(q, v)
    monkeypatch.setattr(marched, "KEPT", 0)
    again = gradient(q, v)
    np.testing.assert_array_equal(again.gradient, whole.gradient)
    assert again.value == pytest.approx(whole.value, rel=1e-14)
    kept = [len(states[0]) for _, states in solver.motion(q, v, None, None)[0].backward()]
    assert max(kept) < 40
    assert len(kept) < 40


def test_in_loops_the_start_and_the_machine_move_together():
    bar, q, v = linkage()
    by, h = ["q", "v", "elbow.xyz.z"], 3e-6
    solver = bar.compile_simulation_derivatives(0.2, by, along="crank", every=200)
    found = solver(q, v)
    assert found.held == ("crank",)
    assert found.column_names == ("q.crank", "v.crank", "elbow.xyz.z")

    def end(x, w, length):
        own = {column.name: column.value for column in solver.columns[2:]}
        values = {"elbow.xyz.z": own["elbow.xyz.z"] + length}
        machine = varied(bar, "elbow.xyz.z", length)
        start = machine.assemble({"crank": x}, fixed="crank", velocity={"crank": w})
        run = bar.simulate(0.2, q=start.q, v=start.v, parameters=values, every=200)
        again = solver(start.q, start.v, parameters=values)
        same(again.q[-1], run.q[-1], 1e-11)
        return np.concatenate([run.q[-1], run.v[-1]])

    rates = np.concatenate([found.d_q[-1], found.d_v[-1]])
    for k, change in enumerate(np.eye(3) * h):
        plus, minus = (end(*(np.array([0.7, 12.0, 0.0]) + sign * change)) for sign in (1, -1))
        same(rates[:, k], (plus - minus) / (2.0 * h), 1e-7)


def test_a_change_that_redundant_loops_cannot_follow_has_no_derivative():
    bar, q, v = linkage()
    solver = bar.compile_simulation_derivatives(0.1, ["elbow.xyz"], along="crank")
    assert solver(q, v).trusted.tolist() == [True, False, True]
    back = solver.gradient(final=distance)(q, v)
    assert np.isnan(back.gradient).tolist() == [False, True, False]
    assert "elbow.xyz.y" in str(solver(q, v).tables()[0])


def test_steps_that_end_where_tables_bend_have_derivatives():
    robot, q, v = tree()
    torque = {"joint1": ([0.0, 0.05017, 0.2], [0.0, 2.0, -1.0])}
    options = {"torque": torque, "step": H, "every": 7}
    solver = robot.compile_simulation_derivatives(0.2, ["v", "link3.mass"], **options)
    assert len(solver.grid.times) == 202
    found, run = solver(q, v), robot.simulate(0.2, q=q, v=v, **options)
    np.testing.assert_array_equal(found.time, run.time)
    same(found.q, run.q, 1e-12)
    same(solver.gradient(final=distance)(q, v).gradient, forward_gradient(found), 1e-12)
    h, nv = 1e-6, robot.model.nv
    ends = [robot.simulate(0.2, q=q, v=v + x * np.eye(nv)[1], **options).q[-1] for x in (h, -h)]
    same(found.d_q[-1][:, 1], (ends[0] - ends[1]) / (2.0 * h), 1e-7)


def test_rows_of_tables_are_among_what_is_derived_by():
    robot, q, v = tree()
    times = [0.0, 0.0212, 0.05, 0.05, 0.08, 0.1]

    def torque(values):
        return {"joint2": 0.2, "joint1": (times, values)}

    values = np.zeros(6)
    by = ["v.joint1", "torque.joint1", "torque.joint2"]
    options = {"step": H, "every": 9}
    solver = robot.compile_simulation_derivatives(0.1, by, torque=torque(values), **options)
    found = solver(q, v)
    assert found.column_names[1:3] == ("torque.joint1.0", "torque.joint1.1")
    assert found.units[1:] == ("N m",) * 7
    same(solver.gradient(final=distance)(q, v).gradient, forward_gradient(found), 1e-12)
    some = robot.compile_simulation_derivatives(
        0.1, ["torque.joint1.3"], torque=torque(values), **options
    )
    np.testing.assert_array_equal(some(q, v).d_q[..., 0], found.by("torque.joint1.3").d_q[..., 0])
    h, direction, ends = 1e-3, np.random.default_rng(0).uniform(-1.0, 1.0, 6), []
    for sign in (1, -1):
        moved = sign * h * direction
        run = robot.simulate(0.1, q=q, v=v, torque=torque(moved), **options)
        given = {f"torque.joint1.{k}": x for k, x in enumerate(moved)}
        same(solver(q, v, parameters=given).q, run.q, 1e-12)
        ends.append(run.q[-1])
    rate = found.by("torque.joint1").d_q[-1] @ direction
    same(rate, (ends[0] - ends[1]) / (2.0 * h), 1e-7)


def test_prescribed_coordinates_stay_and_loops_close_behind_them():
    bar, _, _ = linkage()
    options = {"prescribed": {"crank": "0.7 + 12*t + t^2"}, "every": 100}
    solver = bar.compile_simulation_derivatives(0.1, ["elbow.xyz.z"], **options)
    own, ends, h = solver.columns[0].value, [], 1e-6
    for sign in (1, -1):
        start = turning(varied(bar, "elbow.xyz.z", sign * h), 12.0, 0.7)[1]
        values = {"elbow.xyz.z": own + sign * h}
        run = bar.simulate(0.1, q=start.q, v=start.v, parameters=values, **options)
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    start = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 12.0})
    found = solver(start.q, start.v)
    rate = np.concatenate([found.d_q[-1], found.d_v[-1]])[:, 0]
    same(rate, (ends[0] - ends[1]) / (2.0 * h), 1e-7)
    same(solver.gradient(final=distance)(start.q, start.v).gradient, forward_gradient(found), 1e-11)
    for by, along in (["v.crank"], None), (["elbow.xyz.z"], "rocker"):
        with pytest.raises(ModelError, match=r"v\.crank|not prescribed"):
            bar.compile_simulation_derivatives(0.1, by, along=along, **options)


def test_wrenches_and_inputs_that_are_numbers_are_among_what_is_derived_by():
    robot, q, v = tree()
    options = {
        "external": {"link3": [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]},
        "torque": {"joint1": mbd.Input("push")},
        "inputs": {"push": 0.3},
    }
    solver = robot.compile_simulation_derivatives(0.1, ["torque.joint1", "external"], **options)
    found, h, ends = solver(q, v), 1e-4, []
    assert found.column_names[:2] == ("torque.joint1", "external.link3.fx")
    assert found.units == ("N m", "N", "N", "N", "N m", "N m", "N m")
    for sign in (1, -1):
        changed = {"external.link3.fz": 3.0 + sign * h, "torque.joint1": 0.3 - sign * h}
        ends.append(solver(q, v, parameters=changed).q[-1])
        given = {"link3": [1.0, 2.0, 3.0 + sign * h, 0.0, 0.0, 0.0]}
        more = {"torque": {"joint1": 0.3 - sign * h}, "external": given}
        same(ends[-1], robot.simulate(0.1, q=q, v=v, **more).q[-1], 1e-12)
    same(found.d_q[-1, :, 3] - found.d_q[-1, :, 0], (ends[0] - ends[1]) / (2.0 * h), 1e-6)


def test_other_values_share_the_machine_code_and_are_those_of_the_run():
    robot, q, v, solver = prepared("tree")
    values = {"link1.mass": 3.0, "spring.stiffness": 60.0, "torque.joint2": -0.5}
    found = solver(q, v, parameters=values)
    given = {name: x for name, x in values.items() if not name.startswith("torque")}
    more = {"forces": spring_on(robot), "step": H, "torque": {"joint2": -0.5}}
    run = robot.simulate(H * STEPS, q=q, v=v, parameters=given, **more)
    same(found.q[-1], run.q[-1], 1e-10)
    own = [x.value if x.input == "p" else 0.4 for x in solver.columns if x.input not in "qv"]
    np.testing.assert_array_equal(solver(q, v, parameters=own).q, solver(q, v).q)


def crossed(t, q, v):
    return q[0] + 0.01 * v[0] - 1.5 + 0.5 * t


crossed.terminal = True


@pytest.mark.parametrize("kept", [2**22, 0])
def test_the_end_at_an_event_moves_with_what_the_motion_is_derived_by(kept, monkeypatch):
    monkeypatch.setattr(marched, "KEPT", kept)
    bar, q, v = linkage()
    by, h = ["v", "coupler.mass", "gravity.z"], 1e-5
    options = {"every": 40, "until": crossed, "along": "crank"}
    solver = bar.compile_simulation_derivatives(1.0, by, **options)
    found = solver(q, v)
    run = bar.simulate(1.0, q=q, v=v, events={"end": crossed})
    assert found.time[-1] == pytest.approx(run.time[-1], abs=1e-13)
    assert found.time[-2] == pytest.approx(0.04 * (len(found.time) - 2), abs=1e-13)
    same(found.q[-1], run.q[-1], 1e-11)
    own = {column.name: column.value for column in solver.columns}
    for name in by[1:]:
        ends = []
        for sign in (1, -1):
            values = {name: own[name] + sign * h}
            end = bar.simulate(1.0, q=q, v=v, events={"end": crossed}, parameters=values)
            ends.append([*end.q[-1], *end.v[-1], end.time[-1]])
        rates = found.by(name)
        rate = np.concatenate([rates.d_q[-1, :, 0], rates.d_v[-1, :, 0], rates.d_end])
        same(rate, (np.array(ends[0]) - ends[1]) / (2.0 * h), 1e-6)
    back = solver.gradient(final=lambda t, q, v: distance(t, q, v) * t)(q, v)
    assert back.time == found.time[-1]
    value = distance(0.0, found.q[-1], found.v[-1])
    expected = back.time * forward_gradient(found) + value * found.d_end
    same(back.gradient, expected, 1e-11)
    assert back.value == pytest.approx(value * back.time)


def test_a_motion_that_only_touches_its_end_has_no_derivative_there():
    ball = thrown_ball()
    height = 0.05 - 1e-15  # m; a hair below the top, 0.1 s after 1 m/s
    until = lambda t, q, v: q[0] - height  # noqa: E731
    solver = ball.compile_simulation_derivatives(0.2, ["v"], until=until, step=1e-2)
    found = solver([0.0], [1.0])
    assert found.time[-1] == pytest.approx(0.1, abs=1e-6)
    assert not found.trusted.any()
    assert np.isnan(found.d_end).all()
    assert np.isnan(solver.gradient(final=distance)([0.0], [1.0]).gradient).all()
    faster = solver([0.0], [1.25])  # (t - 0.125)^2 = 0.125^2 - 0.01: t = 0.05
    assert faster.d_end == pytest.approx([-0.05 / 0.75], rel=1e-9)
    with pytest.raises(SolveError, match="does not change its sign"):
        solver([0.0], [0.5])


def sideways(t, q, v):
    return q[0]


sideways.direction = "up"

JUMP = {"joint1": ([0.0, 0.05, 0.05, 0.1], [0.0, 0.0, 1.0, 1.0])}


@pytest.mark.parametrize(
    ("by", "options", "error", "words"),
    [
        (["link9.mass"], {}, ModelError, "link9"),
        (["v.joint9"], {}, ModelError, "joint9"),
        (["a"], {}, ModelError, "q and v of its start"),
        (["inertial"], {}, ModelError, "LINK.mass"),
        (["torque"], {}, ModelError, "torque="),
        ([], {}, ModelError, "at least one name"),
        ("q", {"along": "joint1"}, ModelError, "without loops"),
        ("q", {"parameters": {"link1.mass": 2.0}}, StateError, "solver"),
        ("q", {"method": "svd"}, StateError, "null"),
        ("q", {"integrator": "hht", "until": distance}, StateError, "explicit"),
        ("q", {"until": lambda t, q, v: q}, StateError, "one number"),
        ("q", {"until": sideways}, StateError, "until: direction: expected 1, -1 or 0, got 'up'"),
        ("torque", {"until": distance, "torque": JUMP}, StateError, "rows of tables"),
        ("q", {"integrator": "hht", "torque": JUMP}, StateError, "jumps"),
        ("q", {"integrator": "scipy:RK45"}, StateError, "rk4"),
        ("q", {"torque": {"joint1": mbd.Sampled(lambda t, q, v: 0.0)}}, StateError, "Sampled"),
        ("q", {"torque": {"joint1": [1.0, 2.0]}}, StateError, "one simulation"),
    ],
)
def test_what_cannot_be_derived_is_refused_with_what_can(by, options, error, words):
    robot, _, _ = tree()
    with pytest.raises(error, match=words):
        robot.compile_simulation_derivatives(0.1, by, **options)


def test_values_and_functions_that_do_not_fit_are_refused():
    robot, q, v = tree()
    solver = robot.compile_simulation_derivatives(0.1, ["v", "link1.mass"])
    with pytest.raises(StateError, match="final= or records="):
        solver.gradient()
    with pytest.raises(StateError, match="one number"):
        solver.gradient(final=lambda t, q, v: q)
    with pytest.raises(ModelError, match=r"link2\.mass"):
        solver(q, v, parameters={"link2.mass": 1.0})
    with pytest.raises(ModelError, match=r"\(1,\)"):
        solver(q, v, parameters=[1.0, 2.0])
    with pytest.raises(ModelError, match="not several"):
        solver(q, v, parameters={"link1.mass": [1.0, 2.0]})
    with pytest.raises(StateError, match="nothing"):
        solver(q, v).by("nothing")


def test_a_singular_position_on_the_way_ends_the_derivatives():
    bar = mbd.load(OWN / "four_bar.urdf")
    state = bar.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 2.0})
    solver = bar.compile_simulation_derivatives(1.0, ["v"], along="crank")
    for call in (solver, solver.gradient(final=distance)):
        with pytest.raises(SolveError, match=r"t = 0\.268"):
            call(state.q, state.v)


def test_all_rows_of_a_table_have_other_values_by_one_name():
    ball, table = thrown_ball(), ([0.0, 0.1, 1.0], [0.0, 1.0, 2.0])
    solver = ball.compile_simulation_derivatives(0.2, "torque.up", torque={"up": table})
    whole = solver(parameters={"torque.up": [3.0, -1.0, 4.0]})
    each = {f"torque.up.{k}": value for k, value in enumerate((3.0, -1.0, 4.0))}
    np.testing.assert_array_equal(whole.v, solver(parameters=each).v)
    with pytest.raises(ModelError, match=r"'torque.down'.* Available: torque.up.0, torque.up.1"):
        solver(parameters={"torque.down": 1.0})


def test_an_end_is_not_where_its_function_begins_to_be_a_number():
    def root(t, q, v):
        return mbd.functions.sqrt(q[0] - 0.5) - 0.3

    ball = thrown_ball()
    found = ball.compile_simulation_derivatives(1.0, "v", until=root)([0.0], [5.0])
    np.testing.assert_allclose(found.q[-1], 0.59)
    assert found.trusted.all()
