"""Mechanisms built in Python, for tests: most have loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model import CUT_ROWS, build_model
from mbd_bridge.model.description import Loop, LoopEnd
from mbd_bridge.model.spatial import Frame
from tests.carry import poses
from tests.trees import random_state, random_tree

LINKAGE_KINDS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar",
    "fixed",
)

MANY = 70
"""States that fill the lanes of a kernel several times, and its last ones in part."""

CUT_NAME = {"prismatic": "translational", "continuous": "revolute"}


def boom():
    """A 10 kg boom, 2 m long along x, on a pin about y; a 5 kg plate bolted to its tip."""
    builder = (
        mbd.Builder("boom")
        .link("boom", 10.0, (1, 0, 0), (0.1, 3.4, 3.4))
        .link("plate", 5.0, (0.1, 0, 0), (0.01, 0.01, 0.01))
        .joint("pin", "revolute", "base", "boom", (0, 0, 3), axis=(0, 1, 0))
        .joint("bolt", "fixed", "boom", "plate", (2, 0, 0), (0, np.pi / 2, 0))
    )
    return mbd.Mechanism.build(builder, gravity=(0, 0, -10))


def four_bar(
    crank=1.0,
    coupler=1.0,
    rocker=1.0,
    ground=1.0,
    *,
    cut="revolute",
    wrist="revolute",
    elbow="revolute",
    heavy=1.0,
):
    """Planar four-bar in the x-z plane: uniform links of 1 kg; cut between rocker and ground.

    `heavy` is the rocker's mass.
    """
    y = (0, 1, 0)
    b = mbd.Builder("four-bar", root="ground")
    b.link("crank", 1, (0, 0, crank / 2), np.array([1, 1, 0]) * crank**2 / 12)
    b.link("coupler", 1, (coupler / 2, 0, 0), np.array([0, 1, 1]) * coupler**2 / 12)
    b.link("rocker", heavy, (0, 0, -rocker / 2), np.array([1, 1, 0]) * heavy * rocker**2 / 12)
    b.joint("crank", "revolute", "ground", "crank", axis=y)
    b.joint("elbow", elbow, "crank", "coupler", (0, 0, crank), axis=y)
    b.joint("wrist", wrist, "coupler", "rocker", (coupler, 0, 0), axis=y, axis2=(1, 0, 0))
    ends = ("rocker", Frame.from_rpy((0, 0, -rocker))), ("ground", Frame.from_rpy((ground, 0, 0)))
    b.loop("pin", cut, *ends, axis=y)
    return mbd.Mechanism.build(b)


def turning(bar, rate, angle=0.5):
    """Return a machine with a crank, and its state as the crank turns: rad/s at an angle, rad."""
    return bar, bar.assemble({"crank": angle}, fixed="crank", velocity={"crank": rate})


def rssr():
    """Lee94 7.2: crank and rocker of 0.5 m on revolute joints, coupler between two balls."""
    b = mbd.Builder("rssr", root="ground")
    b.link("crank", 1, (0, 0, 0.25), np.array([1, 1, 0]) * 0.25 / 12)
    b.link("coupler", 1, (0, 0.5, 0), np.array([1, 0.01, 1]) / 12)
    b.link("rocker", 1, (0, 0, 0.25), np.array([1, 1, 0]) * 0.25 / 12)
    b.joint("crank", "revolute", "ground", "crank", axis=(0, 1, 0))
    b.joint("ball", "spherical", "crank", "coupler", (0, 0, 0.5))
    b.joint("rocker", "revolute", "ground", "rocker", (0.2, 0.9, 0.1), axis=(1, 0, 0))
    ends = ("coupler", Frame.from_rpy((0, 1.0, 0))), ("rocker", Frame.from_rpy((0, 0, 0.5)))
    b.loop("cut ball", "spherical", *ends)
    return mbd.Mechanism.build(b)


def cut_everywhere(description):
    """The same tree with every joint cut: each link floats, every joint is a loop joint.

    Joints must be of types that have a cut of the same name, and the tree must not branch off
    fixed joints.
    """
    joints, loops = [], []
    for joint in description.joints:
        name = CUT_NAME.get(joint.type, joint.type)
        ends = LoopEnd(joint.parent, joint.origin), LoopEnd(joint.child, Frame.identity())
        loops.append(Loop(joint.name, name, *ends, joint.axis, joint.axis2))
        root = description.links[0].name
        joints.append(
            replace(
                joint,
                name=f"free {joint.child}",
                type="floating",
                parent=root,
                origin=Frame.identity(),
            )
        )
    return replace(description, joints=tuple(joints), loops=tuple(loops))


def world_state(tree, q, v, a):
    """Coordinates, velocities and accelerations of every link as a free body (see above)."""
    from scipy.spatial.transform import Rotation

    from mbd_bridge.equations.state_vectors import state_accelerations, state_vectors

    state = state_vectors(tree, q, v, "world")
    rates = state_accelerations(tree, state, a)
    free_q, free_v, free_a = [], [], []
    for joint in tree.description.joints:  # in the order in which the cut machine has them
        link = tree.links[tree.link_number(joint.child)]
        body = state.bodies[link.body]
        R = body.rotation @ link.frame.rotation
        r = body.position + body.rotation @ link.frame.translation
        w, alpha = body.Y[3:], rates[link.body][3:]
        velocity = body.Y[:3] + np.cross(w, r)
        acceleration = rates[link.body][:3] + np.cross(alpha, r) + np.cross(w, velocity)
        local_v, local_w = R.T @ velocity, R.T @ w
        free_q.append(np.concatenate([r, Rotation.from_matrix(R).as_quat()]))
        free_v.append(np.concatenate([local_v, local_w]))
        linear = R.T @ acceleration - np.cross(local_w, local_v)
        free_a.append(np.concatenate([linear, R.T @ alpha]))
    return tuple(map(np.concatenate, (free_q, free_v, free_a)))


def n_four_bar(windows):
    """IFToMM A02: a row of four-bars, all links 1 m and 1 kg, cranks upright."""
    y = (0, 1, 0)
    b = mbd.Builder(f"{windows}-four-bar", root="ground")
    for k in range(windows + 1):
        b.link(f"crank{k}", 1, (0, 0, 0.5), (1 / 12, 1 / 12, 0))
        b.joint(f"crank{k}", "revolute", "ground", f"crank{k}", (k, 0, 0), axis=y)
    for k in range(windows):
        b.link(f"bar{k}", 1, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
        b.joint(f"bar{k}", "revolute", f"crank{k}", f"bar{k}", (0, 0, 1), axis=y)
        ends = (
            LoopEnd(f"bar{k}", Frame.from_rpy((1, 0, 0))),
            LoopEnd(f"crank{k + 1}", Frame.from_rpy((0, 0, 1))),
        )
        b.loop(f"pin{k}", "revolute", *((end.link, end.frame) for end in ends), axis=y)
    return mbd.Mechanism.build(b)


def linkage(rng, kinds=LINKAGE_KINDS, loops=1):
    """A random tree with loop joints that close exactly at a random position; None if one cannot.

    Loops that are shorter than their joints' rows are redundant.
    """
    builder = random_tree(rng, 6, kinds)
    tree = build_model(builder.description())
    q, _, _ = random_state(tree, rng)
    at = poses(tree, q)
    for k in range(loops):
        first, second = (f"link{n}" for n in rng.choice(7, 2, replace=False))
        own = {j: (tree.links[tree.link_number(j)].body) for j in (first, second)}
        if own[first] == own[second]:
            return None, None
        end = Frame.from_rpy(rng.normal(size=3), rng.normal(size=3))
        (R1, p1), (R2, p2) = at[first], at[second]
        here = Frame(R2.T @ R1, R2.T @ (p1 - p2)) @ end
        axis, across = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
        kind = str(rng.choice([k for k in CUT_ROWS if k not in ("floating", "fixed")]))
        second_axis = across if kind == "universal" else None
        builder.loop(f"loop{k}", kind, (first, end), (second, here), axis, second_axis)
    return build_model(builder.description()), q


FIVE_BAR_NEAR = {"crank": -1.2, "one": 0.6, "two": 1.0, "rocker": 1.4}


def five_bar():
    """Two degrees of freedom: a crank that is prescribed, and the rest that swings."""
    y, b = (0, 1, 0), mbd.Builder("five-bar", root="ground")
    lengths = {"crank": 1.0, "one": 1.5, "two": 1.5, "rocker": 1.2}
    before, place = "ground", (0, 0, 0)
    for name, length in lengths.items():
        b.link(name, 1.0, (length / 2, 0, 0), np.array([0, 1, 1]) * length**2 / 12)
        b.joint(name, "revolute", before, name, place, axis=y)
        before, place = name, (length, 0, 0)
    ends = ("rocker", Frame.from_rpy(place)), ("ground", Frame.from_rpy((2.0, 0, 0)))
    b.loop("pin", "revolute", *ends, axis=y)
    return mbd.Mechanism.build(b)
