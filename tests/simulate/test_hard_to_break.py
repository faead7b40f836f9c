"""What breaks other programs works, or ends in a status with time, joint and advice."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning, SolveError, StateError
from mbd_bridge.model.spatial import Frame
from mbd_bridge.simulation.guards.messages import SHORTER, StepLengthError
from mbd_bridge.simulation.guards.step_length import too_long
from mbd_bridge.simulation.outcome import MotionEnd
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.tolerances import CONTROLLED_RISK
from tests.curves import FLAT
from tests.machines import four_bar, n_four_bar, turning

WAYS = [
    ("multipliers", "rk4"),
    ("multipliers", "ab3"),
    ("multipliers", "abm"),
    ("multipliers", "scipy:RK45"),
    ("svd", "rk4"),
    ("qr", "rk4"),
    ("projection", "rk4"),
    ("svd", "abm"),
    ("qr", "ab3"),
]
FIXED = [way for way in WAYS if way[1] in ("rk4", "ab3")]
EVERY_WAY = pytest.mark.parametrize(("method", "integrator"), WAYS)


CAN_TURN = (1, 2, 1.7, 2.5)
CANNOT_TURN = (2.0, 1.0, 1.5, 2.0)
Y = (0, 1, 0)


def linkage(change=lambda b: None, masses=(1, 1, 1), lengths=CAN_TURN):
    """A planar four-bar of rods of chosen masses, and something more."""
    crank, coupler, rocker, ground = lengths
    m1, m2, m3 = masses
    b = mbd.Builder("linkage", root="ground")
    b.link("crank", m1, (0, 0, crank / 2), np.array([1, 1, 0]) * m1 * crank**2 / 12)
    b.link("coupler", m2, (coupler / 2, 0, 0), np.array([0, 1, 1]) * m2 * coupler**2 / 12)
    b.link("rocker", m3, (0, 0, -rocker / 2), np.array([1, 1, 0]) * m3 * rocker**2 / 12)
    b.joint("crank", "revolute", "ground", "crank", axis=Y)
    b.joint("elbow", "revolute", "crank", "coupler", (0, 0, crank), axis=Y)
    b.joint("wrist", "revolute", "coupler", "rocker", (coupler, 0, 0), axis=Y)
    b.loop("pin", "revolute", at("rocker", 0, 0, -rocker), at("ground", ground, 0, 0), axis=Y)
    change(b)
    return mbd.Mechanism.build(b)


def at(link, x, y, z):
    return link, Frame.from_rpy((x, y, z))


def assert_usable(run, joints):
    """What there is up to the end can be asked for loads and written."""
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all()
    assert run.closure.max() < 1e-5
    loads = run.joint_loads(joints)
    assert np.isfinite(loads.wrench).all()
    assert len(loads.force) == len(run.time)


# -- singular positions --------------------------------------------------------------------------


def parallelogram_angle(t, start, speed):
    """((N+1)/3 + N) θ'' = -((N+1)/2 + N) g cos θ with N = 1, θ from level."""

    def rate(_, y):
        return [y[1], -2 * 9.81 * np.cos(y[0]) / (5 / 3)]

    return solve_ivp(rate, (0, t), [start, speed], rtol=1e-12, atol=1e-12).y[0, -1]


@EVERY_WAY
def test_a_motion_starts_in_a_singular_position_and_keeps_its_branch(method, integrator):
    m = n_four_bar(1)
    q, v = m.assemble(FLAT, fixed=FLAT).q, np.array([3.0, -3.0, 3.0])
    options = {"method": method, "integrator": integrator}
    run = m.simulate(0.5, step=1e-3, q=q, v=v, every=10, **options)
    assert run.closure.max() < 1e-12
    angle = parallelogram_angle(0.5, 0.0, -3.0)  # crank = π/2 - θ
    assert np.abs(run.q[-1] - (np.pi / 2 - angle) * np.array([1, -1, 1])).max() < 2e-6
    assert np.abs(run.energy - run.energy[0]).max() < 1e-4
    assert run.detours > 0


@EVERY_WAY
def test_at_rest_in_a_singular_position_nothing_tells_the_way(method, integrator):
    m = n_four_bar(1)
    q = m.assemble(FLAT, fixed=FLAT).q
    options = {"step": 1e-3, "q": q, "method": method, "integrator": integrator}
    with pytest.raises(SolveError, match=r"stopped at t = 0 s: .*'pin0'.*Start with a velocity"):
        m.simulate(0.5, **options)
    run = m.simulate(0.5, check=False, **options)
    assert len(run.time) == 1
    assert_usable(run, ["pin0", "crank0"])


@pytest.mark.parametrize("windows", [2, 5])
def test_at_rest_where_many_branches_meet(windows):
    """2^N of them: hardly a way beside the start closes the loops."""
    m = n_four_bar(windows)
    flat = {name: (np.pi / 2 if "crank" in name else -np.pi / 2) for name in m.coordinate_names}
    run = m.simulate(0.5, step=1e-3, q=m.assemble(flat, fixed=flat).q, check=False)
    assert run.status.startswith("stopped at t = 0 s: a singular position, at rest")
    assert f"{windows} degrees of freedom more" in run.status
    assert len(run.time) == 1


@EVERY_WAY
def test_a_prescribed_motion_through_a_singular_position_that_is_hit_exactly(method, integrator):
    """The crank is at π/2 after 100 steps, to the last digit but one."""
    m = n_four_bar(1)
    prescribed = {"crank0": lambda t: np.pi / 2 * t}
    options = {"method": method, "integrator": integrator}
    run = m.simulate(2.5, step=1e-2, prescribed=prescribed, **options)
    course = np.pi / 2 * run.time
    assert np.abs(run.q - np.outer(course, [1, -1, 1])).max() < 1e-6
    assert_usable(run, ["pin0"])


@pytest.mark.parametrize("method", ["svd", "qr", "projection", "multipliers"])
@pytest.mark.parametrize("integrator", ["rk4", "abm"])
def test_every_method_passes_the_crossings_of_the_benchmark(method, integrator):
    """IFToMM A02, N = 2, t = 1: (cos, sin) of the first crank."""
    m = n_four_bar(2)
    at = m.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    options = {"method": method, "integrator": integrator, "tolerance": 1e-9}
    run = m.simulate(1.0, step=2e-3, q=at.q, v=at.v, every=50, **options)
    angle = run.q[-1, 0]
    place = np.sin(angle), np.cos(angle)
    assert np.hypot(*np.subtract(place, (-0.1950203019, -0.9807992057))) < 1e-6
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-7


def test_a_batch_starts_in_a_singular_position():
    m = n_four_bar(1)
    q = m.assemble(FLAT, fixed=FLAT).q
    v = np.array([[3.0, -3.0, 3.0], [0.0, 0.0, 0.0]])
    batch = m.simulate(0.2, step=1e-3, q=q, v=v, every=10)
    assert batch.status[0] == "finished"
    assert "Start with a velocity" in batch.status[1]
    assert np.abs(batch.q[0] @ [[1, 0], [1, 1], [0, 1]]).max() < 1e-12


def test_rounding_does_not_make_a_singular_position_look_safe():
    """Within a nanoradian the compiled step must not be trusted, whatever its pivots come to."""
    m = n_four_bar(2)
    flat = {f"crank{k}": np.pi / 2 for k in range(3)} | {f"bar{k}": -np.pi / 2 for k in range(2)}
    q, still = m.assemble(flat, fixed=flat).q, np.zeros(5)
    rows = independent_rows(m.model, q)
    for noise in np.random.default_rng(0).normal(size=(40, 5)) * 1e-9:
        with np.errstate(all="ignore"):
            found = closed_acceleration(m.model, rows, q + noise, still, still)
        assert not found.risk < CONTROLLED_RISK


def test_loads_in_a_singular_position_say_what_is_not_determined():
    m = n_four_bar(1)
    q = m.assemble(FLAT, fixed=FLAT).q
    still = np.zeros(3)
    held = m.joint_loads(q, still, still, actuated=["crank0", "crank1"])
    assert np.isfinite(held.wrench).all()
    with pytest.raises(
        SolveError,
        match=r"2 degrees of freedom, and the actuators \(crank0\) move 1 of them",
    ):
        m.joint_loads(q, still, still, actuated=["crank0"])


def test_a_loop_that_comes_open_ends_the_motion(monkeypatch):
    """Rows chosen wrongly, as a singular start would have them: seen, named, cut off before."""
    from mbd_bridge.simulation.run import single

    bar, state = turning(four_bar(*CAN_TURN), 2.0)
    chosen = single.rows_and_dof

    def one_row(*state):
        rows, dof = chosen(*state)
        return rows[:1], dof

    monkeypatch.setattr(single, "rows_and_dof", one_row)
    run = bar.simulate(1.0, step=1e-3, q=state.q, v=state.v, check=False)
    assert "loop 'pin' comes open" in run.status
    assert_usable(run, ["pin"])


# -- prescribed motions that lead nowhere
# --------------------------------------------------------------------


@EVERY_WAY
def test_a_prescribed_motion_that_leaves_the_workspace(method, integrator):
    bar = four_bar(*CANNOT_TURN)
    options = {"prescribed": {"crank": lambda t: 1.0 + 3.0 * t}, "step": 1e-3}
    options |= {"method": method, "integrator": integrator}
    advice = (
        r"loop 'pin' stays open .*the prescribed motion of 'crank' leads out.*Change the course"
    )
    with pytest.raises(SolveError, match=rf"stopped at t = 0\.1\d* s: {advice}"):
        bar.simulate(3.0, **options)
    run = bar.simulate(3.0, check=False, **options)
    assert 0.10 < run.time[-1] < 0.11
    assert_usable(run, ["pin", "crank"])


def test_a_prescribed_motion_that_stands_at_a_dead_centre():
    """The piston of a slider-crank cannot push its crank over the top."""
    slider = mbd.load("urdf/slider_crank.urdf")
    with pytest.raises(
        StateError, match=r"dead centre for the prescribed motions 'bore'.*Start beside it"
    ):
        slider.simulate(1.0, prescribed={"bore": lambda t: -0.01 * t * t})


# -- steps that are too long ---------------------------------------------------------------------


@pytest.mark.parametrize(("method", "integrator"), FIXED)
@pytest.mark.parametrize("step", [0.1, 1.0])
def test_steps_that_are_too_long(method, integrator, step):
    bar, state = turning(four_bar(*CAN_TURN), 40.0)
    options = {"step": step, "q": state.q, "v": state.v}
    run = bar.simulate(10.0, check=False, method=method, integrator=integrator, **options)
    assert run.status.startswith("stopped at t = 0 s: ")
    assert "too long" in run.status and "shorter steps" in run.status
    assert "'pin'" in run.status or "in 'crank'" in run.status or "in 'elbow'" in run.status
    assert_usable(run, ["pin"])


def test_steps_that_are_too_long_for_a_tree_or_become_so():
    b = mbd.Builder("pendulum").link("bob", 1.0, (0, 0, -1))
    m = mbd.Mechanism.build(b.joint("pin", "revolute", "base", "bob", axis=Y))
    with pytest.raises(SolveError, match=r"stopped at t = 0 s: the step of 1 s .* in 'pin'"):
        m.simulate(20.0, step=1.0, q=[1.0])
    faster = {"pin": 60.0}
    run = m.simulate(3.0, step=0.1, torque=faster, check=False)
    assert 0.0 < run.time[-1] < 3.0
    assert "too long" in run.status
    batch = m.simulate(20.0, step=1.0, q=[[1.0], [0.0]])
    assert "too long" in batch.status[0]
    assert batch.status[1] == "finished"


PUSHES = {
    "a table": ([0.0, 0.5, 3.0], [60.0, 60.0, 60.0]),
    "a Python function": mbd.Sampled(lambda t, q, v: 60.0),
}


@pytest.mark.parametrize("push", PUSHES)
def test_steps_become_too_long_whatever_pushes(push):
    b = mbd.Builder("pendulum").link("bob", 1.0, (0, 0, -1))
    m = mbd.Mechanism.build(b.joint("pin", "revolute", "base", "bob", axis=Y))
    run = m.simulate(3.0, step=0.1, torque={"pin": PUSHES[push]}, check=False)
    assert 0.0 < run.time[-1] < 3.0
    assert "too long" in run.status and "one step errs by" in run.status


def test_forces_that_run_away_name_the_joint():
    b = mbd.Builder("wheel").link("rim", 1.0, (0, 0, 0), (1, 1, 1))
    m = mbd.Mechanism.build(b.joint("hub", "revolute", "base", "rim"))
    options = {"v": [1.0], "torque": lambda t, q, v: 1e3 * v * v * v, "step": 1e-4}
    run = m.simulate(1.0, check=False, **options)
    assert "'hub'" in run.status
    assert np.isfinite(run.v).all() and 0 < run.time[-1] < 1e-3


# -- loops that contradict each other, masses that vanish ----------------------------------------


def test_loops_that_cannot_be_assembled():
    bar = four_bar(1, 2, 1.5, 9)
    with pytest.raises(SolveError, match=r"cannot be closed: pin by 4\.5 m.*check lengths"):
        bar.assemble({"crank": 0.5})
    reached = bar.assemble({"crank": 0.5}, check=False)
    assert not reached.closed
    for method, integrator in WAYS:
        with pytest.raises(StateError, match=r"does not close the loops: 'pin' by \d\.\d+ m"):
            bar.simulate(1.0, q=reached.q, method=method, integrator=integrator)
    with pytest.raises(StateError, match="does not satisfy loop 'pin'"):
        bar.joint_loads(reached.q, np.zeros(3), np.zeros(3), actuated=["crank"])
    batch = bar.simulate(1.0, q=[reached.q])
    assert "not started" in batch.status[0] and "'pin' by" in batch.status[0]


def test_loops_that_contradict_each_other():
    twice = linkage(
        lambda b: b.loop("other", "revolute", at("rocker", 0, 0, -1.7), at("ground", 2.9, 0, 0))
    )
    with pytest.raises(SolveError, match=r"cannot be closed: pin by .*, other by"):
        twice.assemble({"crank": 0.5})


@pytest.mark.parametrize("method", ["multipliers", "svd", "qr", "projection"])
def test_a_loop_that_is_there_twice_changes_no_motion(method):
    def again(b):
        b.loop("twin", "revolute", at("rocker", 0, 0, -1.7), at("ground", 2.5, 0, 0), axis=Y)

    once, twice = four_bar(*CAN_TURN), linkage(again)
    state = once.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 4.0})
    options = {"step": 1e-3, "every": 50, "q": state.q, "v": state.v, "method": method}
    one, two = (m.simulate(0.5, **options) for m in (once, twice))
    assert np.abs(one.q - two.q).max() < 1e-10
    loads = two.joint_loads(["pin", "twin"])
    assert not loads.determined[:, [0, 2]].any()  # who of the two carries what
    whole = loads.force.sum(axis=1)[:, [0, 2]]
    assert np.allclose(whole, one.joint_loads(["pin"]).force[:, 0, [0, 2]], atol=1e-8)


@EVERY_WAY
def test_a_mechanism_without_degree_of_freedom_stands_still_and_says_so(method, integrator):
    """Two pins hold the rocker: what it carries is statics."""
    b = mbd.Builder("frame").link("post", 3.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    b.joint("foot", "revolute", "base", "post", axis=Y)
    b.loop("stay", "spherical", at("post", 1, 0, 0), at("base", 1, 0, 0))
    m = mbd.Mechanism.build(b)
    with pytest.warns(MbdWarning, match=r"'frame' has no degree of freedom .*stay.*Remove one"):
        run = m.simulate(0.01, step=1e-3, method=method, integrator=integrator)
    assert run.finished and run.facts["dof"] == 0
    assert np.abs(run.q).max() < 1e-15
    loads = run.joint_loads(["foot", "stay"])
    # `stay` is given by the post on the base
    assert np.allclose(loads.force[:, :, 2], [[3 * 9.81 / 2, -3 * 9.81 / 2]], atol=1e-12)
    assert loads.determined[:, 2].all() and not loads.determined[:, 0].any()


@EVERY_WAY
def test_masses_that_vanish(method, integrator):
    m = linkage(masses=(0, 0, 0))
    q = m.assemble({"crank": 0.5}, fixed="crank").q
    options = {"q": q, "method": method, "integrator": integrator}
    advice = "'crank', 'elbow', 'wrist' move together. Give a link"
    with pytest.raises(SolveError, match=f"stopped at t = 0 s: masses vanish: .*{advice}"):
        m.simulate(1.0, **options)
    assert len(m.simulate(1.0, check=False, **options).time) == 1


@EVERY_WAY
def test_massless_links_that_loops_hold_are_no_trouble(method, integrator):
    """Of three links only the crank has mass, so it moves as a pendulum does."""
    m = linkage(masses=(1, 0, 0))
    q = m.assemble({"crank": 0.5}, fixed="crank").q
    options = {"method": method, "integrator": integrator}
    run = m.simulate(0.5, step=1e-3, q=q, every=100, **options)
    alone = mbd.Builder("rod").link("crank", 1, (0, 0, 0.5), np.array([1, 1, 0]) / 12)
    alone.joint("crank", "revolute", "base", "crank", axis=Y)
    expected = mbd.Mechanism.build(alone).simulate(0.5, step=1e-3, q=[0.5], every=100)
    assert np.abs(run.q[:, 0] - expected.q[:, 0]).max() < 1e-6
    assert np.abs(run.joint_loads(["wrist"]).force).max() < 1e-9


def test_massless_links_in_a_batch_and_prescribed():
    m = linkage(masses=(1, 0, 0))
    q = m.assemble({"crank": 0.5}, fixed="crank").q
    batch = m.simulate(0.1, q=[q, q])
    assert batch.finished.all()
    gone = linkage(masses=(0, 0, 0))
    assert "masses vanish" in gone.simulate(0.1, q=[q]).status[0]
    driven = gone.simulate(0.1, prescribed={"crank": lambda t: 0.5 + t})
    assert np.abs(driven.prescribed_forces["crank"]).max() < 1e-9


@pytest.mark.parametrize("road", ["single", "batch"])
def test_a_motion_says_how_it_ended_when_and_why_apart(road):
    bar = four_bar()
    start = bar.assemble({"crank": 0.5}, fixed="crank")
    pushed = {"torque": {"crank": 1e9}, "q": start.q, "step": 0.01}
    if road == "single":
        run = bar.simulate(1.0, check=False, **pushed)
        outcome, status, end = run.outcome, run.status, run.time[-1]
    else:
        batch = bar.simulate(1.0, **{**pushed, "q": [start.q]})
        outcome, status, end = batch.outcomes[0], batch.status[0], batch[0].time[-1]
    assert (outcome.end, outcome.finished) == (MotionEnd.STOPPED, False)
    assert outcome.time == end and "too long" in outcome.reason
    assert status == f"stopped at t = {end:.6g} s: {outcome.reason}"


def test_what_was_found_and_what_to_try_stand_apart_in_an_error():
    whole, halves = np.array([0.0]), np.array([1.0])
    error = too_long(mbd.load("urdf/pendulum.urdf").model, whole, halves, 0.1)
    assert str(error).endswith(SHORTER)
    other = StepLengthError(error.finding, "wait")
    assert str(other) == str(error).removesuffix(SHORTER) + "wait"
