"""Motions check their energy: what is broken is not finished, what is right is."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.batch import lanes
from mbd_bridge.simulation.guards.energy import unbalanced
from mbd_bridge.simulation.run.problem import Records
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import LOST_ENERGY
from tests.machines import four_bar
from tests.misaligned import states_by
from tests.robots import own_urdfs

BAR = four_bar(1, 2, 2.5, 2.5)
GIVEN = {
    "nothing": {},
    "torque": {"torque": {"crank": "20*sin(3*t)"}},
    "table": {"torque": {"crank": ([0.0, 0.33, 0.33, 1.0], [0.0, 0.0, 9.0, -4.0])}},
    "damper": {"torque": lambda t, q, v: -0.5 * v},
    "actuation": {"prescribed": {"crank": "0.5 + 6*t + t^2"}},
    "prescribed motion and damper": {
        "torque": lambda t, q, v: -0.5 * v,
        "prescribed": {"crank": lambda t: 0.5 + 6 * t + t * t},
    },
}
EVERY_GIVEN = pytest.mark.parametrize("what", GIVEN)


def many(**options):
    at = BAR.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 6.0})
    q = np.tile(at.q, (11, 1))
    return BAR.simulate(
        1.0,
        step=2e-3,
        q=q,
        v=at.v,
        **options,
    )


@EVERY_GIVEN
def test_good_trajectories_stay_in_their_lanes(what):
    batch = many(**GIVEN[what])
    assert batch.finished.all()
    assert not batch.alone


def test_wrong_lanes_are_found_and_run_again(monkeypatch):
    right = lanes.Lanes.run

    def wrong(self, *given, **more):
        right(self, *given, **more)
        self.v[3:5] *= 1.05

    monkeypatch.setattr(lanes.Lanes, "run", wrong)
    batch = many(**GIVEN["torque"])
    assert batch.alone == (3, 4)
    assert np.abs(np.diff(batch.q, axis=0)).max() < 1e-12


def test_a_spring_that_dies_out_in_a_batch_does_not_finish():
    bar = mbd.load(own_urdfs()["pendulum"])
    inertia = float(bar.mass_matrix(np.zeros(1))[0, 0])
    step = 1.7 / np.sqrt(4e4 / inertia)
    stiff = {"torque": lambda t, q, v: -4e4 * q, "q": [[1e-5], [2e-5]]}
    batch = bar.simulate(200 * step, step=step, **stiff)
    assert not batch.finished.any()
    assert all("energy comes from nowhere" in status for status in batch.status)


@pytest.mark.parametrize("options", [{}, {"method": "svd"}, {"integrator": "abm"}])
@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_a_start_with_lost_digits_gives_no_energy_from_nowhere(name, options):
    """A step moves no more than the way onto the loops does, which no force has done."""
    bar = mbd.load(own_urdfs()[name])
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    for lost in (1e-8, 5e-7):
        for steps in (1, 20):
            q = at.q + lost * np.eye(bar.nq)[0]
            run = bar.simulate(1e-6 * steps, step=1e-6, q=q, **options)
            assert run.finished
            assert run.facts["balance"] < LOST_ENERGY


def at_rest(*q):
    """Return records at rest, a microsecond apart, on which nothing has worked."""
    count = len(q)
    rest = np.zeros((count, len(q[0])))
    time = 1e-6 * np.arange(count)
    none = np.zeros((count, 0))
    return Records(time, np.array(q), rest, none, count - 1, "finished", {}, work=np.zeros(count))


def test_the_way_onto_the_loops_excuses_no_more_than_itself():
    closed = BAR.assemble({"crank": 0.5}, fixed="crank").q
    off = closed + 5e-7 * np.array([1.0, 0.0, 0.0])
    for moved, start, good in (
        (5e-7, off, True),
        (1e-4, off, False),  # two hundred times the way
        (5e-7, closed, False),  # nothing was to be put onto the loops
        (1e-10, closed, True),  # rounding
    ):
        there = BAR.assemble({"crank": 0.5 + moved}, fixed="crank").q
        _, lost = unbalanced(Trajectory(mbd.System(BAR)), at_rest(start, there), 1e-6)
        assert (lost is None) == good


def test_imprecise_rows_that_close_in_turn_give_no_energy_from_nowhere():
    """One record closed by one choice of rows, the next by the other."""
    m, _, one, _ = states_by(0)
    other = states_by(1)[2]
    for far, good in ((1.0, True), (2000.0, False)):
        found = at_rest(one, one + far * (other - one))
        assert (unbalanced(Trajectory(mbd.System(m)), found, 1e-6)[1] is None) == good
