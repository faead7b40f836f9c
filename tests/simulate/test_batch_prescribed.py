"""Forces and prescribed motions of each trajectory of a batch: what `simulate` makes of each."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.simulation.batch import lanes
from tests.machines import four_bar, rssr
from tests.roads import by_one_and_two_threads
from tests.robots import own_urdfs
from tests.tolerances import ROUNDING

BAR = four_bar(1, 2, 1.5, 2.5)
T = 0.2
TIMES = np.linspace(0.0, T, 9)
N = 5
RNG = np.random.default_rng(1)
TORQUES = RNG.uniform(-20, 20, (N, len(TIMES)))


def started(mechanism=BAR, rate=2.0):
    at = mechanism.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": rate})
    return at.q, at.v


def assert_alike(batch, k, run):
    scale = max(np.abs(run.q).max(), np.abs(run.v).max())
    assert np.array_equal(batch.time, run.time)
    assert np.abs(batch.q[k] - run.q).max() <= ROUNDING * scale
    assert np.abs(batch.v[k] - run.v).max() <= ROUNDING * scale


def turning(rates):
    """Crank angles that start at 0.5 and go on with a rate and a swing of their own."""
    rates = np.asarray(rates)[:, None]
    return 0.5 + rates * TIMES + 0.3 * np.sin(rates * TIMES**2)


TORQUE = {
    "numbers": ({"crank": np.linspace(-9, 9, N)}, lambda k: {"crank": np.linspace(-9, 9, N)[k]}),
    "one table": ({"crank": (TIMES, TORQUES[0])}, lambda k: {"crank": (TIMES, TORQUES[0])}),
    "tables": ({"crank": (TIMES, TORQUES)}, lambda k: {"crank": (TIMES, TORQUES[k])}),
    "a formula": (
        {"crank": "20 * sin(9 * t)", "elbow": np.linspace(-9, 9, N)},
        lambda k: {"crank": "20 * sin(9 * t)", "elbow": np.linspace(-9, 9, N)[k]},
    ),
    "all of them": (
        {"crank": (TIMES, TORQUES), "elbow": 3.0, "wrist": (TIMES, TORQUES[0])},
        lambda k: {"crank": (TIMES, TORQUES[k]), "elbow": 3.0, "wrist": (TIMES, TORQUES[0])},
    ),
}


@pytest.mark.parametrize("case", TORQUE)
def test_forces_over_time(case):
    together, alone = TORQUE[case]
    q, v = started()
    q = np.tile(q, (N, 1))
    batches = by_one_and_two_threads(BAR, T, q=q, v=v, torque=together, every=20)
    assert all(found.finished.all() and not found.alone for found in batches)
    for k in range(N):
        run = BAR.simulate(T, q=q[k], v=v, torque=alone(k), every=20)
        for found in batches:
            assert_alike(found, k, run)
            assert np.allclose(found[k].tau, run.tau, rtol=1e-12, atol=1e-12)


def test_a_table_of_forces_is_straight_lines():
    """Against the same lines as a formula, smooth where the steps do not see their corners."""
    q, v = started()

    def ramp(t, q, v):
        out = np.zeros(3, dtype=np.asarray(t).dtype)
        out[0] = 10.0 - 80.0 * t
        return out

    line = BAR.simulate(T, q=q, v=v, torque={"crank": ([0.0, 0.1, T], [10.0, 2.0, -6.0])})
    formula = BAR.simulate(T, q=q, v=v, torque=ramp)
    assert np.abs(line.q - formula.q).max() < 1e-13
    assert np.abs(line.tau - formula.tau).max() < 1e-13


ACTUATION = {
    "numbers": (np.linspace(0.3, 0.9, N), lambda k: np.linspace(0.3, 0.9, N)[k]),
    "a function": (lambda t: 0.5 + 2.0 * t, lambda k: lambda t: 0.5 + 2.0 * t),
    "a formula": ("0.5 + 2 * t", lambda k: "0.5 + 2 * t"),
    "one table": ((TIMES, turning([2.0])[0]), lambda k: (TIMES, turning([2.0])[0])),
    "tables": (
        (TIMES, turning(np.linspace(1, 3, N))),
        lambda k: (TIMES, turning(np.linspace(1, 3, N))[k]),
    ),
}


@pytest.mark.parametrize("case", ACTUATION)
@pytest.mark.parametrize("make", [lambda: BAR, rssr], ids=["four-bar", "rssr"])
def test_prescribed_motions(make, case):
    together, alone = ACTUATION[case]
    m = make()
    # one state of so many: nothing else here says how many trajectories there are
    torque = {"rocker" if make is rssr else "elbow": np.linspace(-1, 1, N)}
    options = {"torque": torque, "prescribed": {"crank": together}, "every": 20}
    batches = by_one_and_two_threads(m, T, **options)
    assert all(found.finished.all() and not found.alone for found in batches)
    for k in (0, 2, N - 1):
        (name,) = torque
        own = {name: torque[name][k]}
        run = m.simulate(T, prescribed={"crank": alone(k)}, torque=own, every=20)
        for found in batches:
            assert_alike(found, k, run)
            forces = found[k].prescribed_forces["crank"]
            assert np.allclose(forces, run.prescribed_forces["crank"], rtol=1e-9, atol=1e-9)
            assert found[k].closure.max() < 1e-12


def test_prescribed_motions_of_an_arm():
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    table = np.sin(np.linspace(0.2, 1.0, 3)[:, None] + TIMES)
    prescribed = {"lbr_iiwa_joint_2": (TIMES, table), "lbr_iiwa_joint_4": 0.4}
    found = arm.simulate(T, prescribed=prescribed, every=20)
    assert found.finished.all() and not found.alone
    for k in range(3):
        own = {"lbr_iiwa_joint_2": (TIMES, table[k]), "lbr_iiwa_joint_4": 0.4}
        assert_alike(found, k, arm.simulate(T, prescribed=own, every=20))


def test_variants_are_prescribed_from_positions_of_their_own():
    rods = np.column_stack([np.zeros(N), np.zeros(N), np.linspace(0.9, 1.1, N)])
    parameters = {"elbow.xyz": rods}
    found = BAR.simulate(
        T, prescribed={"crank": (TIMES, turning([2.0]))}, parameters=parameters, every=20
    )
    assert found.finished.all() and not found.alone
    for k in (0, N - 1):
        own, prescribed = mbd.Mechanism(found.model_of(k)), {"crank": (TIMES, turning([2.0])[0])}
        assert_alike(found, k, own.simulate(T, prescribed=prescribed, every=20))


@pytest.mark.parametrize("share", [5, 64, 1000])
def test_streams_come_in_portions(share, monkeypatch):
    q, v = started()
    options = {"q": q, "v": v, "torque": {"crank": (TIMES, TORQUES)}, "every": 7}
    whole = BAR.simulate(T, **options)
    monkeypatch.setattr(lanes, "STREAM_NUMBERS", share * 16)
    parts = BAR.simulate(T, **options)
    assert np.array_equal(whole.q, parts.q) and np.array_equal(whole.v, parts.v)


def test_a_start_that_is_not_on_its_course_concerns_no_other():
    q, v = started()
    table = turning([2.0, 2.0, 2.0])
    table[1] += 0.1
    found = BAR.simulate(T, q=q, v=v, prescribed={"crank": (TIMES, table)})
    assert found.finished.tolist() == [True, False, True]
    assert "its position at t = 0 s" in found.status[1]
    assert_alike(found, 2, BAR.simulate(T, q=q, v=v, prescribed={"crank": (TIMES, table[2])}))


def test_prescribed_motions_of_what_the_loops_decide_are_explained():
    found = BAR.simulate(T, prescribed={"crank": 0.5, "wrist": np.array([1.0, 1.1])})
    assert not found.finished.any()
    assert all("not started" in status for status in found.status)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"torque": {"crank": (TIMES, TORQUES[:, :4])}}, "torque 'crank': a table"),
        ({"torque": {"crank": (TIMES / 2, TORQUES)}}, "the table goes from 0 to 0.1 s"),
        ({"torque": {"crank": (TIMES, TORQUES), "elbow": np.ones(3)}}, "the same N"),
        ({"torque": {"crank": lambda t: t}}, "a function of (t, q, v)"),
        ({"torque": {"crank": object()}}, "expected a number, one for each trajectory"),
        ({"torque": {"crank": "much"}}, "no name named 'much'"),
        ({"prescribed": {"crank": (TIMES, TORQUES), "elbow": np.ones(3)}}, "the same N"),
        ({"prescribed": {"cronk": 1.0}}, "did you mean 'crank'"),
        ({"prescribed": {"crank": (TIMES,)}}, "got 1 parts"),
    ],
)
def test_what_cannot_be_given_is_explained(options, message):
    with pytest.raises(StateError) as error:
        BAR.simulate(T, v=np.zeros((1, 3)), **options)
    assert message in str(error.value)
