"""Four roads to one motion: multipliers, svd, qr, projection; and the integrators."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, SolveError, StateError
from mbd_bridge.simulation import right_hand_side
from mbd_bridge.solve.bases import BASES, turned_towards
from tests.machines import four_bar, rssr, turning

METHODS = ("multipliers", "svd", "qr", "projection")
EVERY = pytest.mark.parametrize(
    ("method", "reference"), [*((m, True) for m in METHODS), *((m, False) for m in METHODS[1:])]
)


def bar_in_motion():
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    return bar, {"q": at.q, "v": at.v}


def crank_torque(t, q, v):
    out = np.zeros(3, dtype=np.asarray(q).dtype)
    out[0] = 20.0 * np.cos(t) - 3.0 * v[0]
    return out


@EVERY
def test_every_method_gives_one_motion(method, reference):
    bar, at = bar_in_motion()
    options = {"step": 1e-3, "every": 50, "torque": crank_torque, **at}
    compiled = bar.simulate(1.0, **options)
    run = bar.simulate(1.0, method=method, reference=reference, **options)
    assert np.abs(run.q - compiled.q).max() < 1e-9
    assert np.abs(run.v - compiled.v).max() < 1e-8
    assert run.closure.max() < 1e-12


@EVERY
def test_every_method_moves_balls_with_a_passive_degree_of_freedom(method, reference):
    m, at = turning(rssr(), 2.0, 0.3)
    options = {"step": 1e-3, "every": 50, "q": at.q, "v": at.v}
    compiled = m.simulate(0.3, **options)
    run = m.simulate(0.3, method=method, reference=reference, **options)
    assert np.abs(run.q - compiled.q).max() < 1e-8
    assert run.closure.max() < 1e-12


@EVERY
def test_every_method_follows_prescribed_motions(method, reference):
    bar = four_bar(1, 2, 1.7, 2.5)
    prescribed = {"crank": lambda t: 0.5 + 2 * t + np.sin(t)}
    options = {"step": 2e-3, "prescribed": prescribed, "every": 25}
    compiled = bar.simulate(0.5, **options)
    run = bar.simulate(0.5, method=method, reference=reference, **options)
    assert np.abs(run.q - compiled.q).max() < 1e-9
    assert np.abs(run.prescribed_forces["crank"] - compiled.prescribed_forces["crank"]).max() < 1e-5


def test_decompositions_are_counted_and_only_where_a_criterion_asks_for_them():
    bar, at = bar_in_motion()
    found = {}
    for method in METHODS:
        for reference in (True, False):
            run = bar.simulate(1.0, step=2e-3, method=method, reference=reference, **at)
            found[method, reference] = run.facts.get("decompositions")
    assert found["svd", True] == found["svd", False] == 7
    assert 1 <= found["qr", True] < 50
    assert 1 <= found["qr", False] < found["svd", False]
    assert (
        found["projection", True] == found["projection", False] == found["multipliers", True] == 1
    )
    fewer = bar.simulate(1.0, step=2e-3, method="multipliers", reference=True, **at).facts
    assert fewer["factorisations"] <= 4 * 500 + 50  # corrections take the factors that there are


@pytest.mark.parametrize("name", BASES)
def test_bases_span_the_null_space_and_do_not_jump(name):
    bar = four_bar(1, 2, 1.7, 2.5)
    basis, held, before = BASES[name], None, None
    constraints, scale = bar.compile("constraints"), bar.model.row_scale[:, None]
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    for angle in np.linspace(0.5, 5.5, 200):
        q[0] = angle  # from the last position, so that the branch is kept
        at = bar.assemble(q, fixed="crank", velocity={"crank": 1.0})
        q = at.q
        phi_q = constraints(at.q, at.v)[1] / scale
        held = basis.init(phi_q) if held is None else basis.renew(held, phi_q, at.v)
        N, right = basis.at(held, phi_q)
        assert np.abs(phi_q @ N).max() < 1e-12
        assert np.abs(phi_q[list(held.rows)] @ right - np.eye(len(held.rows))).max() < 1e-12
        if before is not None:
            assert np.linalg.norm(N - before) < 0.2 * np.linalg.norm(N)
        before = N


def test_a_turned_basis_spans_what_it_did():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert np.allclose(turned_towards(Q @ R, Q), Q)


def test_null_space_of_the_parallelogram_is_that_of_the_paper():
    """LeeJoo90 (71), the column of the parallelogram: whatever configuration and lengths."""
    V2 = np.array([1.0, -1.0, 1.0]) / np.sqrt(3)  # our relative angles
    for lengths in ((1, 1, 1, 1), (1, 3, 1, 3)):
        bar = four_bar(*lengths)
        at = bar.assemble({"crank": 0.7}, fixed="crank")
        phi_q = bar.compile("constraints")(at.q, at.v)[1] / bar.model.row_scale[:, None]
        found = BASES["svd"].init(phi_q).directions[:, 0]
        assert np.isclose(abs(found @ V2), 1.0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["abm", "scipy:RK45", "scipy:LSODA"])
def test_variable_steps_keep_the_tolerance(integrator):
    bar, at = bar_in_motion()
    exact = bar.simulate(1.0, step=1e-4, every=1000, **at)
    errors = []
    for tolerance in (1e-5, 1e-8):
        run = bar.simulate(1.0, step=0.1, integrator=integrator, tolerance=tolerance, **at)
        assert np.allclose(run.time, exact.time)
        errors.append(np.abs(run.q - exact.q).max())
        assert errors[-1] < 300 * tolerance
        assert run.closure.max() < 1e-11
    assert errors[1] < errors[0] / 30


def test_adams_chooses_steps_and_order():
    bar, at = bar_in_motion()
    loose = bar.simulate(1.0, step=1.0, integrator="abm", tolerance=1e-4, **at).facts
    tight = bar.simulate(1.0, step=1.0, integrator="abm", tolerance=1e-9, **at).facts
    assert loose["steps"] < tight["steps"] < 2000
    assert tight["highest_order"] >= 4
    assert tight["longest_step"] > 5 * tight["shortest_step"] > 1e-7
    assert tight["evaluations"] < 2.5 * (tight["steps"] + tight["rejected"])


def test_quaternions_go_by_every_integrator():
    b = mbd.Builder("top", root="body").link("body", 2.0, (0, 0, 0), (0.1, 0.2, 0.25))
    m = mbd.Mechanism.build(b, floating=True)
    v = np.array([1.0, 2.0, 3.0, 5.0, 0.1, 0.2])
    exact = m.simulate(0.5, step=1e-4, v=v).q[-1]
    for integrator in ("abm", "ab3", "scipy:DOP853"):
        run = m.simulate(0.5, step=1e-3, v=v, integrator=integrator)
        assert np.abs(run.q[-1] - exact).max() < 1e-6
        assert np.abs(np.linalg.norm(run.q[:, 3:], axis=1) - 1).max() < 1e-14


def test_right_hand_side_for_scipy_keeps_loops_closed():
    bar, at = bar_in_motion()
    f = right_hand_side(bar.model, torque=crank_torque, **at)
    found = solve_ivp(f, (0, 1), f.start, rtol=1e-10, atol=1e-10)
    run = bar.simulate(1.0, step=2e-4, torque=crank_torque, **at)
    q, _ = f.split(found.y[:, -1])
    assert np.abs(q - run.q[-1]).max() < 1e-7
    still = np.zeros(3)

    def open_by(y):
        return np.abs(bar.compile("constraints")(f.split(y)[0], still)[0]).max()

    assert open_by(found.y[:, -1]) < 1e-8
    apart = f.start.copy()
    apart[2] += 1e-3
    back = solve_ivp(f, (0, 1), apart, rtol=1e-10, atol=1e-10).y[:, -1]
    assert open_by(back) < 1e-5 * open_by(apart)  # it is pulled shut


@pytest.mark.parametrize("method", ["multipliers", "svd", "qr"])
def test_what_cannot_go_on_is_told_by_every_method(method):
    bar = four_bar(2.0, 1.0, 1.5, 2.0)  # this crank cannot turn round
    options = {
        "prescribed": {"crank": lambda t: 1.0 + 3.0 * t},
        "method": method,
        "integrator": "ab3",
        "step": 1e-2,
    }
    with pytest.raises(SolveError, match="stopped at t ="):
        bar.simulate(3.0, **options)
    run = bar.simulate(3.0, check=False, **options)
    assert not run.finished
    assert 0 < run.time[-1] < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "svg"}, "use one of multipliers, svd"),
        ({"integrator": "rk5"}, "use one of rk4, ab3, abm, newmark, .*scipy:RK23"),
        ({"integrator": "scipy:rk"}, "scipy:RK23"),
        ({"integrator": "scipy:RK45", "method": "svd"}, "goes with method='multipliers'"),
        ({"tolerance": 0.0, "integrator": "abm"}, "positive"),
        ({"checkpoint": "x.npz", "checkpoint_every": 0}, "from 1"),
        ({"checkpoint": "/nowhere/x.npz"}, "folder"),
    ],
)
def test_what_does_not_exist_is_explained(options, message):
    with pytest.raises(MbdError, match=message):
        four_bar().simulate(0.1, **options)
    assert issubclass(StateError, MbdError)
