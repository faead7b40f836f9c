"""Loads at points of the child link: a point is a number like others, and no other machine code."""

import numpy as np
import pytest

from mbd_bridge.base.errors import ModelError
from mbd_bridge.kernels import cache
from mbd_bridge.solve.prepared import REPEATED
from tests.machines import boom, four_bar, turning
from tests.tolerances import ROUNDING

LINK = (0.0, 0.0, 0.0)
"""The origin of a link's frame."""

POINTS = np.random.default_rng(3).normal(size=(12, 3))


@pytest.fixture
def made(monkeypatch):
    """What was compiled, or fetched from the cache."""
    found = []
    get = cache.Store.get
    monkeypatch.setattr(
        cache.Store, "get", lambda self, form, make: found.append(form) or get(self, form, make)
    )
    monkeypatch.setattr(cache, "_RECENT", {})
    return found


def at_points(loads_at, made):
    """Return the loads at all points, and how much was compiled for the first and for the rest."""
    first, *_ = (loads_at(POINTS[0]) for _ in range(REPEATED + 1))  # with that for one state
    count = len(made)
    return [first, *map(loads_at, POINTS[1:])], count, len(made) - count


def check_shifted(found, basic):
    """The force stays, the moment is that of the force at another point."""
    for loads, point in zip(found, POINTS, strict=True):
        assert np.allclose(loads.force, basic.force, rtol=ROUNDING, atol=1e-12)
        shifted = basic.moment - np.cross(point, basic.force)
        assert np.allclose(loads.moment, shifted, rtol=1e-12, atol=1e-11)
        assert loads.convention.at == tuple(point)


@pytest.mark.parametrize("states", [1, 5])
def test_a_sweep_over_points_compiles_once(made, states):
    arm = boom()
    state = np.array([0.3, 1.0, -2.0])[:, None]
    if states > 1:
        state = np.repeat(state[:, None], states, axis=1)
    basic = arm.joint_loads(*state, joints=["pin"])
    made.clear()

    def loads_at(point):
        return arm.joint_loads(*state, joints=["pin"], at=tuple(point))

    found, first, rest = at_points(loads_at, made)
    assert (first, rest) == (2 if states == 1 else 1, 0)
    check_shifted(found, basic)


def test_a_sweep_over_points_in_loops_compiles_once(made):
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 1.0)
    ask = {"joints": ["elbow", bar.model.cuts[0].name], "actuated": "crank", "reaction": True}
    basic = bar.joint_loads(at.q, at.v, at.a, at=LINK, **ask)

    def loads_at(point):
        return bar.joint_loads(at.q, at.v, at.a, at=point, **ask)

    found, _, rest = at_points(loads_at, made)
    assert rest == 0
    check_shifted(found, basic)
    shifted = basic.reaction_moment - np.cross(POINTS[2], basic.reaction_force)
    assert np.allclose(found[2].reaction_moment, shifted, atol=1e-11)


def test_loads_of_simulations_have_points_too():
    bar = four_bar(1, 2, 1.7, 2.5)
    q = bar.assemble({"crank": 0.5}, fixed="crank").q
    run = bar.simulate(0.02, q=q, every=10)
    batch = bar.simulate(0.02, q=[q, q], every=10)
    names = ["elbow", bar.model.cuts[0].name]
    basic = run.joint_loads(names, at=LINK)
    check_shifted([run.joint_loads(names, at=p) for p in POINTS], basic)
    for loads in (batch.joint_loads(names, at=POINTS[1])[1], run.joint_loads(names, at=POINTS[1])):
        shifted = basic.moment - np.cross(POINTS[1], basic.force)
        assert np.allclose(loads.moment, shifted, atol=1e-10)


def test_a_solver_for_a_point_goes_to_others(made):
    arm = boom()
    solver = arm.compile("joint_loads", ["pin"], at=POINTS[0])
    count = len(made)
    state = [0.3], [1.0], [-2.0]
    check_shifted([solver.at(p)(*state) for p in POINTS], arm.joint_loads(*state, joints=["pin"]))
    run = solver.single().run
    moment = run(*map(np.array, state), POINTS[4])[1]
    assert np.allclose(moment, solver.at(POINTS[4])(*state).moment, rtol=ROUNDING)
    assert len(made) == count + 2  # loads at the joint, and the code for one state
    with pytest.raises(ModelError, match="not at a point"):
        arm.compile("joint_loads", ["pin"]).at(POINTS[0])
    with pytest.raises(ModelError, match="not a point"):
        solver.at((1.0, 2.0))


def test_a_point_is_one_of_the_link_that_turns_with_the_axes_of_the_world():
    arm = boom()
    state = [0.3], [1.0], [-2.0]
    here, there = (
        arm.joint_loads(*state, joints=["pin"], in_="world", at=at)
        for at in ("joint", (1.0, 2.0, 3.0))
    )
    c, s = np.cos(0.3), np.sin(0.3)
    arm_in_world = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ [1.0, 2.0, 3.0]
    assert np.allclose(there.moment[0], here.moment[0] - np.cross(arm_in_world, here.force[0]))
