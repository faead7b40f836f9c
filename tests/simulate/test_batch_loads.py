"""What follows from all states of a batch is what follows from each motion alone."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.batch import lanes
from tests.machines import four_bar, rssr
from tests.robots import own_urdfs

BAR = four_bar(1, 2, 1.5, 2.5)
N, T = 4, 0.1
TIMES = np.linspace(0.0, T, 6)
RNG = np.random.default_rng(2)
RODS = np.column_stack([np.zeros(N), np.zeros(N), np.linspace(0.95, 1.05, N)])
MASSES = np.linspace(0.5, 2.0, N)


def arm():
    return mbd.load(own_urdfs()["kuka_iiwa"])


def close(ours, reference):
    scale = np.abs(reference).max(initial=1.0)  # N, N m: those of machines of a kilogram
    assert ours.shape == reference.shape
    assert np.abs(ours - reference).max(initial=0.0) <= 1e-10 * scale


def assert_alike(found, k, joints):
    """Trajectory k of a batch against a simulation of its own."""
    run = found[k]
    close(found.tau[k], run.tau)
    close(found.a[k], run.a)
    close(found.lam[k], run.lam)
    close(found.energy[k], run.energy)
    assert np.abs(found.closure[k] - run.closure).max() < 1e-12
    for name, force in found.prescribed_forces.items():
        close(force[k], run.prescribed_forces[name])
    together, alone = found.joint_loads(joints), run.joint_loads(joints)
    assert np.array_equal(together.unique, alone.determined)
    known = alone.determined
    close(together.force[k] * known[:, :3], alone.force * known[:, :3])
    close(together.moment[k] * known[:, 3:], alone.moment * known[:, 3:])
    close(together.actuation[k], alone.actuation)
    one = together[k]
    assert np.array_equal(one.time, run.time) and one.joints == alone.joints
    close(one.force, together.force[k])
    assert np.isclose(
        together.peaks(joints[0])[0][k],
        np.linalg.norm(alone.force[:, 0] * known[0, :3], axis=1).max(),
    )


KUKA = "lbr_iiwa_joint_"
TABLES = np.cumsum(RNG.uniform(0, 1, (N, 6)), axis=1)
VARIED = {"lbr_iiwa_link_4.mass": MASSES, f"{KUKA}3.xyz": RODS}
RAMPS = 0.5 + MASSES[:, None] * TIMES

CASES = {
    "a tree": (arm, {"q": RNG.uniform(-1, 1, (N, 7))}, [KUKA + "2", KUKA + "ee"]),
    "variants of a tree": (arm, {"q": np.ones(7), "parameters": VARIED}, [KUKA + "2"]),
    "a prescribed tree": (arm, {"prescribed": {KUKA + "2": (TIMES, TABLES)}}, [KUKA + "1"]),
    "a loop": (four_bar, {"torque": {"crank": MASSES}}, ["pin", "elbow"]),
    "variants of a loop": (
        four_bar,
        {"parameters": {"coupler.mass": MASSES}},
        ["pin", "elbow"],
    ),
    "prescribed variants of a loop": (
        four_bar,
        {"prescribed": {"crank": (TIMES, RAMPS)}, "parameters": {"elbow.xyz": RODS}},
        ["pin", "crank", "elbow"],
    ),
    "a loop in space": (
        rssr,
        {"prescribed": {"crank": lambda t: 0.5 + 2.0 * t}, "torque": {"rocker": MASSES}},
        ["cut ball", "crank", "ball"],
    ),
}


def started(mechanism=BAR):
    at = mechanism.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0})
    return at.q, at.v


@pytest.mark.parametrize("case", CASES)
def test_a_batch_gives_what_each_motion_gives(case):
    make, options, joints = CASES[case]
    mechanism = BAR if make is four_bar else make()
    if mechanism is BAR and "prescribed" not in options:
        options = {**options, "q": started()[0], "v": started()[1]}
    found = mechanism.simulate(T, every=20, **options)
    assert found.finished.all() and len(found) == N
    for k in (0, N - 1):
        assert_alike(found, k, joints)


def test_the_smallest_multipliers_are_those_of_a_simulation_where_rows_are_redundant():
    """Bricard's mechanism: five rows of the cut that depend on each other, four of them chosen."""
    six = mbd.load(own_urdfs()["bricard"])
    at = six.assemble()
    found = six.simulate(T, q=np.tile(at.q, (2, 1)), every=20)
    ((rows, _),) = found.row_sets
    assert found.lam.shape[-1] == 5 and len(rows) == 4 and not found.alone
    run = found[1]
    assert np.abs(run.lam).min(axis=0).max() > 0.1
    close(found.lam[1], run.lam)
    close(found.a[1], run.a)


def test_what_has_stopped_is_nan_and_the_rest_is_there():
    q, v = started()
    q = np.tile(q, (3, 1))
    q[1] += 0.2
    found = BAR.simulate(T, q=q, v=v, torque={"crank": 2.0}, every=20)
    assert found.finished.tolist() == [True, False, True]
    assert np.isnan(found.tau[1, 1:]).all() and (found.tau[[0, 2], :, 0] == 2.0).all()
    loads = found.joint_loads(["pin"])
    assert np.isnan(found.a[1, 1:]).all() and np.isfinite(found.a[[0, 2]]).all()
    assert np.isfinite(loads.force[[0, 2]]).all() and np.isnan(loads.force[1, 1:]).all()
    assert np.isfinite(loads.peaks("pin")[0]).all()


def test_trajectories_that_went_alone_are_counted_in(monkeypatch):
    monkeypatch.setattr(lanes, "STEP_RISK", 0.0)
    monkeypatch.setattr(lanes.Passing, "allow", lambda *_, **__: None)  # no detours either
    found = BAR.simulate(T, q=started()[0], v=started()[1], torque={"crank": MASSES}, every=20)
    assert found.alone == tuple(range(N)) and found.finished.all()
    assert_alike(found, 2, ["pin"])
