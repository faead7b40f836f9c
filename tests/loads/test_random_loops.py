"""Loads of random linkages: conventions, cuts and methods agree, and every link is in balance."""

import numpy as np
from hypothesis import assume, given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import build_model, recut
from mbd_bridge.solve.constrained import ConstrainedDynamics
from mbd_bridge.solve.reduced import METHODS
from tests.carry import carry_state, poses
from tests.machines import MANY, linkage
from tests.sample import sample
from tests.tolerances import LOOPS

SEEDS = st.integers(0, 2**32 - 1)
WAYS = [
    {"on": on, "at": at, "in_": in_}
    for on in ("child", "parent")
    for at in ("joint", "parent", (0.3, -0.2, 0.5))
    for in_ in ("child", "parent", "world")
]


def moving_linkage(seed, loops=1):
    """A random linkage with velocities that its loops allow, away from singular positions."""
    rng = np.random.default_rng(seed)
    model, q = linkage(rng, loops=loops)
    assume(model is not None and model.nv > 0)
    _, phi_q, _ = mbd.Mechanism(model).compile("constraints")(q, np.zeros(model.nv))
    _, s, Vt = np.linalg.svd(phi_q)
    kept = s > 1e-9 * s.max(initial=0.0)
    assume(kept.any() and s[kept].min() > 1e-2)
    rank = int(kept.sum())
    v = Vt[rank:].T @ rng.normal(size=model.nv - rank)
    return rng, model, q, v


def another_cut(rng, description):
    """The same description with another joint cut."""
    names = [joint.name for joint in description.joints if joint.type != "fixed"]
    for name in rng.permutation(names):
        try:
            return recut(description, [str(name)]).loops and [str(name)]
        except ModelError:
            continue
    return None


@sample(4)
@given(SEEDS)
def test_every_convention_is_the_same_whichever_joint_is_cut(seed):
    rng, model, q, v = moving_linkage(seed)
    cut = another_cut(rng, model.description)
    assume(cut is not None)
    other = build_model(model.description, cuts=cut, gravity=model.gravity)
    there_q, there_v = carry_state(model, other, q, v)
    a, _ = ConstrainedDynamics(model).forward(q, v, np.zeros(model.nv))
    there_a, _ = ConstrainedDynamics(other).forward(there_q, there_v, np.zeros(other.nv))
    names = [*cut, "loop0", *(joint.name for joint in model.joints[1:4])]
    for way in rng.choice(len(WAYS), 2, replace=False):
        options = {"actuated": (), "reaction": True, **WAYS[way]}
        one = LoadSolver(model, LoadRequest.of(model, names, **options))(q, v, a)
        two = LoadSolver(other, LoadRequest.of(other, names, **options))(there_q, there_v, there_a)
        assert np.array_equal(one.unique, two.unique), (cut, options)
        assert np.array_equal(one.reaction_unique, two.reaction_unique), (cut, options)
        size = max(np.abs(one.wrench).max(), 1.0)
        assert np.abs((one.wrench - two.wrench)[one.unique]).max(initial=0.0) <= LOOPS * size
        for k in (0, 1):
            parts = (
                loads.reaction_force if k == 0 else loads.reaction_moment for loads in (one, two)
            )
            first, second = parts
            sure = one.reaction_unique[:, 3 * k : 3 * k + 3]
            assert np.abs((first - second)[sure]).max(initial=0.0) <= LOOPS * size, (cut, options)


def at_world_origin(model, at, name, load, way):
    """A load in any convention as the wrench on the joint's child about the world's origin.

    Geometry of the test's own, from the description and the poses of the links.
    """
    description = model.description
    joints = {joint.name: joint for joint in description.joints}
    if name in joints:
        joint = joints[name]
        (R, p), (Rp, pp) = at[joint.child], at[joint.parent]
        left, origin = pp + Rp @ joint.origin.translation, p + R @ joint.child_frame.translation
    else:
        loop = next(loop for loop in description.loops if loop.name == name)
        (R, p), (Rp, pp) = at[loop.successor.link], at[loop.predecessor.link]
        left = pp + Rp @ loop.predecessor.frame.translation
        origin = p + R @ loop.successor.frame.translation
    turn = {"child": R, "parent": Rp, "world": np.eye(3)}[way["in_"]]
    force, moment = turn @ load.force, turn @ load.moment
    point = {"joint": origin, "parent": left}.get(way["at"]) if isinstance(way["at"], str) else None
    point = p + R @ np.array(way["at"]) if point is None else point
    sign = 1.0 if way["on"] == "child" else -1.0
    return sign * np.concatenate([force, moment + np.cross(point, force)])


@sample(4)
@given(SEEDS)
def test_every_link_is_in_balance_in_every_convention(seed):
    """Newton and Euler for each free body, cut joints and external forces among its loads."""
    rng, model, q, v = moving_linkage(seed, loops=2 if seed % 2 else 1)
    pushed = model.links[-1].name
    push = rng.normal(size=6)
    numbers = (model.link_number(pushed),)
    a, _ = ConstrainedDynamics(model, numbers).forward(q, v, np.zeros(model.nv), push)
    way = WAYS[int(rng.integers(len(WAYS)))]
    solver = LoadSolver(model, LoadRequest.of(model, actuated=(), links=[pushed], **way))
    loads = solver(q, v, a, push[None])
    at = poses(model, q)
    state = state_vectors(model, q, v, "world")
    rates = state_accelerations(model, state, a)
    balance = {link.name: np.zeros(6) for link in model.links}
    ends = {j.name: (j.parent, j.child) for j in model.description.joints}
    ends |= {c.name: (c.predecessor.link, c.successor.link) for c in model.description.loops}
    for name in loads.joints:
        wrench = at_world_origin(model, at, name, loads[name], way)
        parent, child = ends[name]
        balance[child] += wrench
        balance[parent] -= wrench
    R, p = at[pushed]
    force = R @ push[:3]
    balance[pushed] += np.concatenate([force, R @ push[3:] + np.cross(p, force)])
    size = max(np.abs(loads.wrench).max(), 1.0)
    for link, described in zip(model.links, _described(model), strict=True):
        if link.name == model.description.links[0].name:
            continue  # the ground holds it
        R, p = at[link.name]
        inertia = described.inertia
        if inertia is not None:
            Y, rate = state.bodies[link.body].Y, rates[link.body]
            w, alpha = Y[3:], rate[3:]
            c = p + R @ inertia.centre
            velocity = Y[:3] + np.cross(w, c)
            acceleration = rate[:3] + np.cross(alpha, c) + np.cross(w, velocity)
            J = R @ inertia.central @ R.T
            force = inertia.mass * (acceleration - model.gravity)
            moment = J @ alpha + np.cross(w, J @ w) + np.cross(c, force)
            balance[link.name] -= np.concatenate([force, moment])
        assert np.abs(balance[link.name]).max() <= LOOPS * size, (link.name, way)


def _described(model):
    by_name = {link.name: link for link in model.description.links}
    return [by_name[link.name] for link in model.links]


def brute_force(solver, q, lam, actuated):
    """Which components, actuators and reactions no vector of the null space changes."""
    model = solver.model
    _, phi_q, _ = mbd.Mechanism(model).compile("constraints")(q, np.zeros(model.nv))
    passive = [
        k for k, name in enumerate(model.velocity_names) if name.split(".")[0] not in actuated
    ]
    A = (phi_q / model.row_scale[:, None] * model.velocity_scale).T[passive]
    _, s, Vt = np.linalg.svd(A)
    rank = int(np.sum(s > 1e-9 * max(np.linalg.norm(phi_q), 1e-9)))
    still = np.zeros(model.nv)
    before = solver.kernel(q, still, still, lam)
    moved = [np.zeros(x.shape) for x in before]
    for direction in Vt[rank:] / model.row_scale:
        after = solver.kernel(q, still, still, lam + 100 * direction)
        moved = [np.maximum(m, np.abs(x - y)) for m, x, y in zip(moved, after, before, strict=True)]
    force, moment, actuation, rest_force, rest_moment = (m < 1e-6 for m in moved)
    return np.hstack([force, moment]), actuation, np.hstack([rest_force, rest_moment])


@sample(4)
@given(SEEDS)
def test_flags_of_random_linkages_are_those_of_brute_force(seed):
    rng, model, q, _ = moving_linkage(seed, loops=1 + seed % 2)
    names = [joint.name for joint in model.joints[1:] if joint.moving]
    actuated = [str(name) for name in rng.choice(names, min(2, len(names)), replace=False)]
    solver = LoadSolver(
        model, LoadRequest.of(model, actuated=actuated, minimum_norm=True, reaction=True)
    )
    still = np.zeros(model.nv)
    lam = np.zeros(len(model.row_scale))
    wanted = brute_force(solver, q, lam, actuated)
    for places in (q[None], np.tile(q, (MANY, 1))):
        loads = solver(places, still, still, lam=lam)
        for found, flags in zip(
            (loads.unique, loads.actuation_unique, loads.reaction_unique), wanted, strict=True
        ):
            assert np.array_equal(found, np.broadcast_to(flags, found.shape))


@sample(4)
@given(SEEDS)
def test_determined_loads_depend_on_no_method_and_many_states_are_as_one(seed):
    _, model, q, v = moving_linkage(seed, loops=1 + seed % 2)
    dynamics = ConstrainedDynamics(model)
    tau = np.zeros(model.nv)
    a, lam = dynamics.forward(q, v, tau, method="svd")
    solver = LoadSolver(model, LoadRequest.of(model, actuated=()))
    wanted = solver(q, v, a)
    size = max(np.abs(wanted.wrench).max(), 1.0)
    scale = 10.0 + np.abs(a).max()
    for method in METHODS:
        found, multipliers = dynamics.forward(q, v, tau, method=method)
        assert np.abs(found - a).max() <= 1e-10 * scale, method
        loads = solver(q, v, found, lam=multipliers)
        assert np.abs((loads.wrench - wanted.wrench)[wanted.unique]).max() <= LOOPS * size
    states = (np.tile(x, (MANY, 1)) for x in (q, v, tau))
    many, multipliers = dynamics.forward(*states)
    assert np.abs(many - a).max() <= 1e-10 * scale
    assert np.abs(multipliers - lam).max() <= LOOPS * max(np.abs(lam).max(), 1.0)
    loads = solver(*(np.tile(x, (MANY, 1)) for x in (q, v, a)))
    assert np.abs(loads.wrench - wanted.wrench).max() <= LOOPS * size  # smallest ones too
    assert np.array_equal(loads.unique, np.tile(wanted.unique, (MANY, 1, 1)))
