"""Loads in loops: every convention, every cut, every road gives them; the flags tell the truth."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mbd_bridge as mbd
from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors
from mbd_bridge.errors import ModelError, SolveError, StateError
from mbd_bridge.loads import LoadSolver
from mbd_bridge.loads.determined import undetermined
from mbd_bridge.mechanism import build_model, recut
from mbd_bridge.solve.closed_inverse import FEW
from mbd_bridge.solve.constrained import ConstrainedDynamics
from mbd_bridge.solve.reduced import METHODS
from mbd_bridge.spatial import Frame
from tests.carry import carry_state, poses
from tests.machines import four_bar, linkage, n_four_bar, rssr

SEEDS = st.integers(0, 2**32 - 1)
SAME = 1e-9
MANY = FEW + 6
"""States from which on the kernels with chosen rows do the work."""

WAYS = [
    {"on": on, "at": at, "in_": in_}
    for on in ("child", "parent")
    for at in ("joint", "parent", (0.3, -0.2, 0.5))
    for in_ in ("child", "parent", "world")
]
PLANE = np.array([True, False, True, False, True, False])
"""What a revolute four-bar in the x-z plane determines."""


def moving_linkage(seed, loops=1):
    """A random linkage with velocities that its loops allow, away from singular positions."""
    rng = np.random.default_rng(seed)
    model, q = linkage(rng, loops=loops)
    assume(model is not None and model.nv > 0)
    _, phi_q, _ = mbd.Mechanism(model).kernel("constraints")(q, np.zeros(model.nv))
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


@settings(max_examples=8, deadline=None)
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
        one = LoadSolver(model, names, **options)(q, v, a)
        two = LoadSolver(other, names, **options)(there_q, there_v, there_a)
        assert np.array_equal(one.unique, two.unique), (cut, options)
        assert np.array_equal(one.reaction_unique, two.reaction_unique), (cut, options)
        size = max(np.abs(one.wrench()).max(), 1.0)
        assert np.abs((one.wrench() - two.wrench())[one.unique]).max(initial=0.0) <= SAME * size
        for k in (0, 1):
            parts = (
                loads.reaction_force if k == 0 else loads.reaction_moment for loads in (one, two)
            )
            first, second = parts
            sure = one.reaction_unique[:, 3 * k : 3 * k + 3]
            assert np.abs((first - second)[sure]).max(initial=0.0) <= SAME * size, (cut, options)


def at_world_origin(model, at, name, load, way):
    """A load in any convention as the wrench on the joint's child about the world's origin.

    Geometry of the test's own, from the description and the poses of the links.
    """
    description = model.description
    joints = {joint.name: joint for joint in description.joints}
    if name in joints:
        joint = joints[name]
        (R, p), (Rp, pp) = at[joint.child], at[joint.parent]
        left = pp + Rp @ joint.origin.translation
    else:
        loop = next(loop for loop in description.loops if loop.name == name)
        (R, p), (Rp, pp) = at[loop.successor.link], at[loop.predecessor.link]
        left = pp + Rp @ loop.predecessor.frame.translation
        p, R = p + R @ loop.successor.frame.translation, R @ loop.successor.frame.rotation
    turn = {"child": R, "parent": Rp, "world": np.eye(3)}[way["in_"]]
    force, moment = turn @ load.force, turn @ load.moment
    point = {"joint": p, "parent": left}.get(way["at"]) if isinstance(way["at"], str) else None
    point = p + R @ np.array(way["at"]) if point is None else point
    sign = 1.0 if way["on"] == "child" else -1.0
    return sign * np.concatenate([force, moment + np.cross(point, force)])


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_every_link_is_in_balance_in_every_convention(seed):
    """Newton and Euler for each free body, cut joints and external forces among its loads."""
    rng, model, q, v = moving_linkage(seed, loops=2 if seed % 2 else 1)
    pushed = model.links[-1].name
    push = rng.normal(size=6)
    numbers = (model.link_number(pushed),)
    a, _ = ConstrainedDynamics(model, numbers).forward(q, v, np.zeros(model.nv), push)
    way = WAYS[int(rng.integers(len(WAYS)))]
    solver = LoadSolver(model, None, actuated=(), links=[pushed], **way)
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
    size = max(np.abs(loads.wrench()).max(), 1.0)
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
        assert np.abs(balance[link.name]).max() <= SAME * size, (link.name, way)


def _described(model):
    by_name = {link.name: link for link in model.description.links}
    return [by_name[link.name] for link in model.links]


def brute_force(solver, q, lam, actuated):
    """Which components, drives and reactions no vector of the null space changes."""
    model = solver.model
    _, phi_q, _ = mbd.Mechanism(model).kernel("constraints")(q, np.zeros(model.nv))
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
    force, moment, drive, rest_force, rest_moment = (m < 1e-6 for m in moved)
    return np.hstack([force, moment]), drive, np.hstack([rest_force, rest_moment])


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_flags_of_random_linkages_are_those_of_brute_force(seed):
    rng, model, q, _ = moving_linkage(seed, loops=1 + seed % 2)
    names = [joint.name for joint in model.joints[1:] if joint.moving]
    actuated = [str(name) for name in rng.choice(names, min(2, len(names)), replace=False)]
    solver = LoadSolver(model, None, actuated=actuated, minimum_norm=True, reaction=True)
    still = np.zeros(model.nv)
    lam = np.zeros(len(model.row_scale))
    wanted = brute_force(solver, q, lam, actuated)
    for places in (q[None], np.tile(q, (MANY, 1))):
        loads = solver(places, still, still, lam=lam)
        for found, flags in zip(
            (loads.unique, loads.drive_unique, loads.reaction_unique), wanted, strict=True
        ):
            assert np.array_equal(found, np.broadcast_to(flags, found.shape))


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_determined_loads_depend_on_no_method_and_many_states_are_as_one(seed):
    _, model, q, v = moving_linkage(seed, loops=1 + seed % 2)
    dynamics = ConstrainedDynamics(model)
    tau = np.zeros(model.nv)
    a, lam = dynamics.forward(q, v, tau, method="svd")
    solver = LoadSolver(model, None, actuated=())
    wanted = solver(q, v, a)
    size = max(np.abs(wanted.wrench()).max(), 1.0)
    scale = 10.0 + np.abs(a).max()
    for method in METHODS:
        found, multipliers = dynamics.forward(q, v, tau, method=method)
        assert np.abs(found - a).max() <= 1e-10 * scale, method
        loads = solver(q, v, found, lam=multipliers)
        assert np.abs((loads.wrench() - wanted.wrench())[wanted.unique]).max() <= SAME * size
    states = (np.tile(x, (MANY, 1)) for x in (q, v, tau))
    many, multipliers = dynamics.forward(*states)
    assert np.abs(many - a).max() <= 1e-10 * scale
    assert np.abs(multipliers - lam).max() <= SAME * max(np.abs(lam).max(), 1.0)
    loads = solver(*(np.tile(x, (MANY, 1)) for x in (q, v, a)))
    assert np.abs(loads.wrench() - wanted.wrench()).max() <= SAME * size  # smallest ones too
    assert np.array_equal(loads.unique, np.tile(wanted.unique, (MANY, 1, 1)))


@pytest.mark.parametrize("make", [four_bar, lambda: n_four_bar(2), rssr])
def test_many_states_through_the_kernel_are_those_of_singular_values_one_by_one(make):
    machine = make()
    first = machine.coordinate_names[0]
    cranks = [name for name in machine.coordinate_names if name.startswith("crank")]
    starts = [
        machine.assemble(dict.fromkeys(cranks, angle), fixed=first, velocity={first: 2.0})
        for angle in np.linspace(0.2, 1.3, MANY)
    ]
    q, v, a = (np.array([getattr(at, x) for at in starts]) for x in "qva")
    actuated = machine.joint_names[:1]
    solver = machine.load_solver(None, actuated=actuated, reaction=True)
    many = solver(q, v, a, check=machine.nv < 5)  # the rssr's coupler spins freely
    for k in range(0, MANY, 9):
        one = machine.load_solver(None, actuated=actuated, reaction=True)(
            q[k], v[k], a[k], check=machine.nv < 5
        )
        size = np.abs(one.wrench()).max()
        assert np.abs(many.wrench()[k] - one.wrench()).max() < SAME * size
        assert np.abs(many.drive[k] - one.drive).max() < SAME * size
        assert np.array_equal(many.unique[k], one.unique)
        assert np.array_equal(many.drive_unique[k], one.drive_unique)


def test_states_through_a_singular_position_keep_their_flags_and_numbers():
    """The parallelogram folds when flat; the kernel's rows are dependent there."""
    bar = four_bar()
    angles = np.pi / 2 - np.concatenate([np.linspace(0.5, 0.01, MANY), [1e-7, 0.0]])
    q = np.stack([angles, -angles, angles], axis=1)
    rest = np.zeros(3)
    loads = bar.joint_loads(q, rest, rest, ["pin"], actuated="crank", check=False)
    assert np.array_equal(loads.unique[:-2, 0], np.tile(PLANE, (MANY, 1)))
    assert loads.unique[-1, 0].sum() < 3
    assert np.isfinite(loads.wrench()).all()
    weights = 9.81 * (np.sin(angles) / 2 + np.sin(angles) + np.sin(angles) / 2)
    drive = bar.joint_loads(q[:-2], rest, rest, ["crank"], actuated="crank").drive[:, 0]
    assert np.allclose(drive, -weights[:-2], rtol=1e-9)


def test_a_four_bar_in_space_has_its_plane_and_with_balls_everything():
    for machine, flags in (
        (four_bar(1, 2, 1.5, 2.5), PLANE),
        (four_bar(1, 2, 1.5, 2.5, wrist="universal", cut="spherical"), np.ones(6, dtype=bool)),
    ):
        at = machine.assemble({"crank": 0.5}, fixed="crank")
        loads = machine.joint_loads(at.q, at.v, at.a, actuated=["crank"])
        assert np.array_equal(loads.unique, np.tile(flags, (4, 1)))
        lost = {} if flags.all() else dict.fromkeys(loads.joints, ("fy", "mx", "mz"))
        assert undetermined(machine.model, at.q) == lost
        assert machine.loops.report(at.q).undetermined == lost


def test_a_gears_drive_is_flagged_where_other_loops_share_its_work():
    bar = n_four_bar(1).model.description
    b = mbd.Builder("geared", root="ground")
    for link in bar.links[1:]:
        b.link(link.name, 1.0, link.inertia.centre, link.inertia.central)
    for j in bar.joints:
        xyz = j.origin.translation
        b.joint(j.name, j.type, j.parent, j.child, xyz, axis=j.axis)
    (pin,) = bar.loops
    ends = ((end.link, end.frame) for end in (pin.predecessor, pin.successor))
    b.loop(pin.name, pin.type, *ends, axis=pin.axis)
    b.couple("gears", "crank1", "crank0")
    geared = mbd.Mechanism.build(b)
    at = geared.assemble({"crank0": 0.4, "crank1": 0.4, "bar0": -0.4}, fixed="crank0")
    loads = geared.joint_loads(at.q, at.v, at.a, ["gears", "pin0"], actuated="crank0")
    assert not loads["gears"].drive_unique.any() and not loads["pin0"].unique[0]
    alone = n_four_bar(1)
    free = alone.joint_loads(at.q, at.v, at.a, ["pin0"], actuated="crank0")
    assert free["pin0"].unique[0]


def test_too_many_drives_are_refused_with_advice_or_flagged():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    both = ["crank", "wrist"]
    with pytest.raises(SolveError, match="1 freedom and 2 drives") as problem:
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=both)
    assert "minimum_norm=True" in str(problem.value)
    assert "actuated=['crank']" in str(problem.value) or "['wrist']" in str(problem.value)
    with pytest.raises(SolveError, match="2 drives"):
        bar.inverse_dynamics(at.q, at.v, at.a, actuated=both)
    one = bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["crank"])
    two = bar.joint_loads(at.q, at.v, at.a, both, actuated=both, minimum_norm=True)
    assert one["crank"].unique[4] and one["crank"].drive_unique.all()
    assert not two["crank"].unique[4] and not two.drive_unique.any()
    # the drives make the motion all the same: their work is that of the one
    tau = bar.inverse_dynamics(at.q, at.v, at.a, actuated=both, minimum_norm=True)
    alone = bar.inverse_dynamics(at.q, at.v, at.a, actuated="crank")
    (allowed,) = bar.loops.report(at.q).motions.T
    assert np.isclose(tau @ allowed, alone @ allowed, rtol=1e-12)
    assert np.count_nonzero(tau) == 2 and np.count_nonzero(alone) == 1
    drives = bar.loops.report(at.q, both).actuation
    assert (drives.moved, drives.too_few, drives.too_many) == (1, 0, 1)


def test_one_drive_of_several_may_be_determined():
    """A free arm on the coupler's end: its motor's torque is determined, the others' are not."""
    b = mbd.Builder("arm on a bar", root="ground")
    bar = four_bar(1, 2, 1.5, 2.5).model.description
    for link in bar.links[1:]:
        b.link(link.name, 1.0, link.inertia.centre, link.inertia.central)
    for j in bar.joints:
        b.joint(j.name, j.type, j.parent, j.child, j.origin.translation, axis=j.axis)
    (pin,) = bar.loops
    ends = ((end.link, end.frame) for end in (pin.predecessor, pin.successor))
    b.loop(pin.name, pin.type, *ends, axis=pin.axis)
    b.link("arm", 2.0, (0, 0, 0.3), (0.1, 0.1, 0.1))
    b.joint("motor", "revolute", "coupler", "arm", (1, 0, 0), axis=(0, 1, 0))
    machine = mbd.Mechanism.build(b)
    at = machine.assemble({"crank": 0.5, "motor": 0.3}, fixed=["crank", "motor"])
    drives = ["crank", "wrist", "motor"]
    loads = machine.joint_loads(at.q, at.v, at.a, drives, actuated=drives, minimum_norm=True)
    flags = dict(zip(loads.drive_names, loads.drive_unique.tolist(), strict=True))
    assert flags == {"crank": False, "wrist": False, "motor": True}


def test_too_few_drives_are_explained():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    with pytest.raises(SolveError, match=r"1 freedom, and the drives \(none\) move 0 of them"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=())
    with pytest.raises(ModelError, match="say which joints are driven"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"])
    with pytest.raises(ModelError, match="did you mean 'crank'"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["crnk"])
    with pytest.raises(ModelError, match="'pin' is cut, and a cut joint has no drive"):
        bar.joint_loads(at.q, at.v, at.a, ["crank"], actuated=["pin"])


def slider_crank():
    """Crank 0.3 m, rod 1 m, the slider along x; cut between rod and slider."""
    y = (0, 1, 0)
    b = mbd.Builder("slider-crank", root="ground")
    b.link("crank", 1, (0.15, 0, 0), (0, 0.01, 0.01)).link("rod", 1, (0.5, 0, 0), (0, 0.1, 0.1))
    b.link("slider", 2, (0, 0, 0), (0.01, 0.01, 0.01))
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("big end", "revolute", "crank", "rod", (0.3, 0, 0), axis=y)
    b.joint("bore", "prismatic", "ground", "slider", axis=(1, 0, 0))
    ends = ("rod", Frame.from_rpy((1, 0, 0))), ("slider", Frame.identity())
    b.loop("pin", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b)


def test_a_dead_centre_of_the_drives_is_told_and_its_nearness_measured():
    machine = slider_crank()

    def at(angle):
        near = {"crank": angle, "big end": -1.3 * angle, "bore": 1.3}
        return machine.assemble(near, fixed="crank")

    gaps = [0.3, 1e-2, 1e-4, 1e-6]
    found = [machine.loops.report(at(gap).q, "bore").actuation for gap in gaps]
    ratio = [drive.distance / gap for drive, gap in zip(found, gaps, strict=True)]
    assert np.allclose(ratio[1:], ratio[-1], rtol=1e-3)  # it goes to zero as the angle does
    dead = at(0.0)
    assert not machine.loops.report(dead.q).singular
    drive = machine.loops.report(dead.q, "bore").actuation
    assert drive.distance < 1e-12 and (drive.too_few, drive.too_many) == (1, 1)
    rest = np.zeros(3)
    with pytest.raises(SolveError, match=r"a dead centre: '(crank|big end)' moves, and no drive"):
        machine.joint_loads(dead.q, rest, rest, ["crank"], actuated="bore")
    assert machine.joint_loads(dead.q, rest, rest, ["crank"], actuated="crank").unique[0, 0]


def test_threads_world_wrenches_and_check_are_as_with_trees():
    bar = four_bar(1, 2, 1.5, 2.5)
    starts = [bar.assemble({"crank": x}, fixed="crank") for x in np.linspace(0.1, 1.0, 2 * MANY)]
    q = np.array([at.q for at in starts])
    rest, push = np.zeros(3), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    options = {"actuated": "crank", "reaction": True, "joints": ["crank", "pin"]}
    one = bar.joint_loads(q, rest, rest, **options)
    two = bar.joint_loads(q, rest, rest, threads=2, **options)
    assert np.array_equal(one.wrench(), two.wrench()) and np.array_equal(one.unique, two.unique)
    assert np.array_equal(one.reaction_moment[:, 1], one.moment[:, 1])  # a cut joint is not driven
    pushed = bar.joint_loads(
        q, rest, rest, external={"coupler": push}, external_in="world", **options
    )
    turn = bar.placement(q, "coupler")[:, :3, :3]
    own = np.concatenate([np.einsum("nji,j->ni", turn, half) for half in (push[:3], push[3:])], 1)
    same = bar.joint_loads(q, rest, rest, external={"coupler": own}, **options)
    assert np.allclose(pushed.wrench(), same.wrench(), rtol=1e-10, atol=1e-10)
    assert not np.allclose(pushed.wrench(), one.wrench(), atol=0.1)
    broken = q.copy()
    broken[3, 1], broken[5, 0] = np.nan, 9.0
    with pytest.raises(StateError, match=r"state 3: q\[1\] \(elbow\) is nan"):
        bar.joint_loads(broken, rest, rest, **options)
    loads = bar.joint_loads(broken, rest, rest, check=False, **options)
    assert np.isnan(loads.force[3]).any() and np.isfinite(loads.force[5]).all()
    assert np.array_equal(loads.force[6:], one.force[6:])
    with pytest.raises(StateError, match="state 1: the position does not satisfy loop 'pin'"):
        bar.joint_loads(np.nan_to_num(broken[4:]), rest, rest, **options | {"joints": None})


def test_flags_are_shaped_as_the_numbers_that_they_flag():
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank")
    for count in (None, 0, 1, 3, MANY):
        q = at.q if count is None else np.tile(at.q, (count, 1))
        loads = bar.joint_loads(q, at.v, at.a, actuated="crank", reaction=True)
        lead = () if count is None else (count,)
        assert loads.unique.shape == loads.wrench().shape == (*lead, 4, 6)
        assert loads.reaction_unique.shape == (*lead, 4, 6)
        assert loads.drive_unique.shape == loads.drive.shape == (*lead, 3)
        assert loads["pin"].unique.shape == (*lead, 6)
        assert loads.determined.shape == (4, 6)
        assert np.array_equal(loads.determined, np.tile(PLANE, (4, 1))) or count == 0
    moving = bar.joint_loads(at.q, np.zeros((5, 3)), at.a, actuated="crank")
    assert moving.unique.shape == (5, 4, 6)


def test_a_simulations_loads_are_flagged_at_every_record():
    bar = four_bar(1, 2, 1.5, 2.5)
    run = mbd.simulate(
        bar, 0.2, q=bar.assemble({"crank": 0.5}, fixed="crank").q, torque={"crank": 3}
    )
    loads = run.joint_loads(reaction=True, in_="world", at="parent")
    assert loads.unique.shape == (201, 4, 6)
    assert np.array_equal(loads.determined[0], PLANE)
    assert np.allclose(loads["crank"].drive, 3.0, atol=1e-9)
    tau = bar.inverse_dynamics(run.q, run.v, run.a, actuated="crank")
    assert np.allclose(tau, [3.0, 0.0, 0.0], atol=1e-9)
    assert np.allclose(bar.forward_dynamics(run.q, run.v, tau), run.a, atol=1e-8)


def test_drives_that_the_file_names_are_the_default(tmp_path):
    text = (Path(mbd.__file__).parents[1] / "urdf" / "four_bar.urdf").read_text()
    loops = (Path(mbd.__file__).parents[1] / "urdf" / "four_bar.loops.yaml").read_text()
    (tmp_path / "bar.urdf").write_text(text)
    (tmp_path / "bar.loops.yaml").write_text(loops + "\nactuated: [crank]\n")
    bar = mbd.load(tmp_path / "bar.urdf")
    at = bar.assemble({"crank": 0.4}, fixed="crank")
    named = bar.joint_loads(at.q, at.v, at.a, actuated=["crank"])
    assert np.array_equal(bar.joint_loads(at.q, at.v, at.a).wrench(), named.wrench())
    other = bar.joint_loads(at.q, at.v, at.a, ["rocker"], actuated="rocker")
    assert abs(other.drive[0]) > 1.0  # what the call says comes first
    assert bar.loops.report(at.q).actuation.drives == ("crank",)
    assert np.count_nonzero(bar.inverse_dynamics(at.q, at.v, at.a)) == 1
    recut = mbd.load(tmp_path / "bar.urdf", cuts=["elbow"])
    assert recut.model.description.actuated == ("crank",)


def test_dynamics_of_a_closed_machine_go_round():
    """Drives of accelerations, accelerations of drives; open states are refused."""
    bar = four_bar(1, 2, 1.5, 2.5)
    at = bar.assemble(
        {"crank": 0.5}, fixed="crank", velocity={"crank": 2.0}, acceleration={"crank": 3.0}
    )
    push = {"coupler": (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)}
    options = {"external": push, "external_in": "world"}
    tau = bar.inverse_dynamics(at.q, at.v, at.a, actuated="crank", **options)
    for count in (1, MANY):
        states = (np.tile(x, (count, 1)) for x in (at.q, at.v, tau))
        assert np.allclose(bar.forward_dynamics(*states, **options), at.a, atol=1e-10)
    off = np.array([0.1, 0.0, 0.0])
    for q, v, what in ((at.q + off, at.v, "position"), (at.q, at.v + off, "velocity")):
        for count in (1, MANY):
            with pytest.raises(StateError, match=f"the {what} does not satisfy loop 'pin'"):
                bar.forward_dynamics(*(np.tile(x, (count, 1)) for x in (q, v, tau)))
    with pytest.raises(StateError, match=r"v\[1\] \(elbow\) is nan"):
        bar.forward_dynamics(at.q, at.v * [1, np.nan, 1], tau)
    some = np.tile(at.v, (3, 1))
    some[1, 0] = np.nan
    a = bar.forward_dynamics(at.q, some, tau, check=False, **options)
    assert np.isnan(a[1]).all() and np.allclose(a[[0, 2]], at.a, atol=1e-10)


def test_a_massless_link_that_only_the_loop_holds_goes_by_singular_values():
    b = mbd.Builder("toggle", root="ground")
    b.link("crank", 1, (0, 0, 0.5), (0.1, 0.1, 0))
    b.link("rod", 0.0).link("rocker", 1, (0, 0, -0.5), (0.1, 0.1, 0))
    y = (0, 1, 0)
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("elbow", "revolute", "crank", "rod", (0, 0, 1), axis=y)
    b.joint("far", "revolute", "ground", "rocker", (1, 0, 0), axis=y)
    ends = ("rod", Frame.from_rpy((1, 0, 0))), ("rocker", Frame.from_rpy((0, 0, 1)))
    b.loop("pin", "revolute", *ends, axis=y)
    machine = mbd.Mechanism.build(b)
    at = machine.assemble({"crank": 0.3, "far": 0.3}, fixed="crank")
    states = [np.tile(x, (MANY, 1)) for x in (at.q, at.v, np.zeros(3))]
    a = machine.forward_dynamics(*states)
    assert np.isfinite(a).all()
    drive = machine.inverse_dynamics(*states[:2], a, actuated="crank")
    assert np.abs(drive).max() < 1e-10
