"""Random linkages: methods and choices of cuts all give one trajectory, and one set of loads."""

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st

import mbd_bridge as mbd
from mbd_bridge.model import build_model
from tests.carry import carry_state, poses
from tests.machines import linkage
from tests.mechanism.cuts import choices

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "fixed")
METHODS = ("svd", "qr", "projection", "multipliers")
MANY = [HealthCheck.filter_too_much]
"""Many random linkages do not close, or not well away from singular positions."""
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""A smaller seed is not a smaller linkage: shrinking would take minutes and tell nothing."""
SECONDS, STEP = 0.06, 2e-3

ROUNDING = 1e-9
"""Of long ways through ill-conditioned machines, m or rad."""


def moving(seed, loops=1):
    """A random linkage and a state that its loops allow, well away from singular positions."""
    rng = np.random.default_rng(seed)
    model, q = linkage(rng, KINDS, loops)
    assume(model is not None)
    _, phi_q, _ = mbd.Mechanism(model).compile("constraints")(q, np.zeros(model.nv))
    _, s, Vt = np.linalg.svd(phi_q)
    assume(s.size and s.min() > 3e-2)
    rank = len(s)
    assume(rank < model.nv)
    v = Vt[rank:].T @ rng.normal(size=model.nv - rank)
    return model, q, v, rng


def moved(model, q, v, **options):
    wanted = {"step": STEP, "q": q, "v": v, "every": 10, "check": False} | options
    run = mbd.Mechanism(model).simulate(SECONDS, **wanted)
    assume(run.finished and not run.detours)  # another test is about what ends otherwise
    return run


def apart(model, run, other, there):
    """Largest distance between the links of two motions, m or 1, over all records."""
    worst = 0.0
    for k in range(len(run.time)):
        one, two = poses(model, run.q[k]), poses(other, there.q[k])
        for name, (R, p) in one.items():
            worst = max(worst, np.abs(R - two[name][0]).max(), np.abs(p - two[name][1]).max())
    return worst


def error_of(model, q, v, run):
    """What the steps are off by: the difference to steps of half the length."""
    fine = moved(model, q, v, step=STEP / 2, every=20)
    return apart(model, run, model, fine)


@settings(max_examples=3, deadline=None, phases=PHASES, suppress_health_check=MANY)
@given(SEEDS, st.integers(1, 2))
def test_four_methods_give_one_trajectory(seed, loops):
    model, q, v, _ = moving(seed, loops)
    run = moved(model, q, v)
    allowed = 5 * error_of(model, q, v, run) + ROUNDING
    for method in METHODS:
        for reference in (False, True):
            found = moved(model, q, v, method=method, reference=reference)
            assert apart(model, run, model, found) < allowed, (method, reference)
        assert found.closure.max() < 1e-10
    found = moved(model, q, v, method="svd", integrator="abm", tolerance=1e-10)
    assert apart(model, run, model, found) < allowed + 1e-7


@settings(max_examples=2, deadline=None, phases=PHASES, suppress_health_check=MANY)
@given(SEEDS)
def test_any_cut_gives_one_trajectory_and_its_loads(seed):
    model, q, v, rng = moving(seed)
    run = moved(model, q, v)
    allowed = 5 * error_of(model, q, v, run) + ROUNDING
    loads = run.joint_loads()
    size = max(np.abs(loads.wrench).max(), 1.0)
    tried = choices(model.description)
    for k in rng.choice(len(tried), min(2, len(tried)), replace=False):
        other = build_model(model.description, cuts=tried[k], gravity=model.gravity)
        there = moved(other, *carry_state(model, other, q, v))
        assert apart(model, run, other, there) < allowed, tried[k]
        by_name = there.joint_loads(list(loads.joints))
        sure = loads.unique & by_name.unique
        assert np.array_equal(loads.unique, by_name.unique)
        difference = np.abs(loads.wrench - by_name.wrench)[sure]
        assert difference.max(initial=0.0) < size * (1e3 * allowed + 1e-7), tried[k]
