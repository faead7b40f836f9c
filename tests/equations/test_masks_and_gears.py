"""Masks of six against named joints and differences; gears against mimics and differences."""

from itertools import product

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.model import CUT_ROWS, build_model, recut
from mbd_bridge.model.cut_table import mask_rows
from mbd_bridge.model.spatial import Frame
from tests.tolerances import DIFFERENCE
from tests.trees import random_tree

MASKS = [mask for mask in product((0, 1), repeat=6) if any(mask)]
NAMED = {
    "planar": (0, 0, 1, 1, 1, 0),
    "spherical": (1, 1, 1, 0, 0, 0),
    "cylindrical": (1, 1, 0, 1, 1, 0),
    "revolute": (1, 1, 1, 1, 1, 0),
    "translational": (1, 1, 0, 1, 1, 1),
    "fixed": (1, 1, 1, 1, 1, 1),
}


def with_mask(mask, seed=0):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 6, ("revolute", "prismatic", "spherical", "universal"), mimics=0.3)
    ends = [(f"link{k}", Frame.from_rpy(rng.normal(size=3), rng.normal(size=3))) for k in (3, 6)]
    builder.loop("cut", "mask", *ends, rows=mask)
    return build_model(builder.description()), rng


def with_gears(seed=0):
    """Gears between joints of different branches, with a follower that is itself a mimic."""
    rng = np.random.default_rng(seed)
    b = mbd.Builder("gears")
    for k, centre in enumerate(rng.normal(size=(4, 3))):
        b.link(f"link{k}", 1.0 + k, centre, (1, 1.2, 1.4))
    b.joint("wheel", "revolute", "base", "link0", axis=(0, 1, 0))
    b.joint("slide", "prismatic", "base", "link1", (0, 1, 0), axis=(1, 0, 1))
    b.joint("screw", "cylindrical", "link0", "link2", (0, 0, 1), axis=(1, 1, 0))
    b.joint("shadow", "revolute", "link1", "link3", (1, 0, 0), mimic="wheel", multiplier=0.5)
    b.couple("rack", "slide", "wheel", 0.3, 0.1)
    b.couple("lead", "screw.displacement", "screw.angle", 0.05)
    b.couple("mixed", "shadow", "screw.angle", -2.0, 0.2)
    return b


def at(model, q, v):
    return constraints(model, state_vectors(model, q, v))


def check_by_differences(model, rng):
    q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
    v, a = rng.normal(size=(2, model.nv))
    still, step = np.zeros(model.nv), 1e-6
    phi_q = at(model, q, still).phi_q
    for k in range(model.nv):
        e = np.eye(model.nv)[k] * step
        ahead, behind = (at(model, model.integrate(q, s * e), still).phi for s in (1, -1))
        assert np.allclose((ahead - behind) / (2 * step), phi_q[:, k], atol=DIFFERENCE)
    step = 1e-5

    def rate(t):
        there = model.integrate(q, t * v + 0.5 * t * t * a)
        return at(model, there, v).phi_q @ (v + t * a)

    second = (rate(step) - rate(-step)) / (2 * step)
    now = at(model, q, v)
    scale = 1 + np.abs(second).max()
    assert np.allclose(now.phi_q @ a - now.gamma, second, atol=1e3 * DIFFERENCE * scale)


@pytest.mark.parametrize("mask", [(1, 0, 0, 0, 0, 0), (1, 1, 1, 0, 0, 1), (0, 1, 0, 1, 0, 1)])
def test_phi_q_and_gamma_of_a_mask_are_derivatives(mask):
    check_by_differences(*with_mask(mask))


def test_phi_q_and_gamma_of_gears_are_derivatives():
    check_by_differences(build_model(with_gears().description()), np.random.default_rng(1))


@pytest.mark.parametrize("name", NAMED)
def test_a_mask_of_a_named_joint_has_its_rows(name):
    assert set(mask_rows(NAMED[name])) == set(CUT_ROWS[name])


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_forbids_what_it_says_at_its_own_position(mask):
    """Free body, frames together: velocities (linear, angular) that Φ_q lets pass are the zeros."""
    b = mbd.Builder("free").link("body", 1, (0, 0, 0), (1, 1, 1))
    b.joint("free", "floating", "base", "body")
    b.loop("hold", "mask", ("base", Frame.identity()), ("body", Frame.identity()), rows=mask)
    model = build_model(b.description())
    found = at(model, model.neutral(), np.zeros(6))
    assert np.abs(found.phi).max() == 0.0
    allowed = np.diag(1.0 - np.array(mask))
    assert np.abs(found.phi_q @ allowed).max() == 0.0
    assert np.linalg.matrix_rank(found.phi_q) == sum(mask) == len(found.phi)


def test_gears_move_like_a_mimic_and_say_what_they_transmit():
    """A geared joint has the motion and the load of one that mimics; the actuation is the
    gears'.
    """

    def machine(geared):
        b = mbd.Builder("gears")
        b.link("a", 1, (0.5, 0, 0), (0.1, 0.2, 0.3)).link("b", 2, (0, 0.4, 0), (0.3, 0.2, 0.1))
        b.joint("a", "revolute", "base", "a", axis=(0, 1, 0))
        if geared:
            b.joint("b", "revolute", "base", "b", (0, 0, 2), axis=(1, 0, 0))
            b.couple("gear", "b", "a", -1.5, 0.2)
        else:
            b.joint("b", "revolute", "base", "b", (0, 0, 2), (0, 0, 0), (1, 0, 0),
                    mimic="a", multiplier=-1.5, offset=0.2)  # fmt: skip
        return mbd.Mechanism.build(b)

    mimic, gears = machine(False), machine(True)
    q, v = np.array([0.4]), np.array([2.0])
    a = mimic.forward_dynamics(q, v, np.array([0.7]))
    loads = mimic.joint_loads(q, v, a)
    near = gears.assemble({"a": 0.4}, fixed="a", velocity={"a": 2.0})
    assert np.allclose(near.q, [0.4, -1.5 * 0.4 + 0.2], atol=1e-14)
    assert np.allclose(near.v, [2.0, -3.0], atol=1e-14)
    there, _ = gears.constrained_dynamics().forward(near.q, near.v, np.array([0.7, 0.0]))
    assert np.allclose(there, [a[0], -1.5 * a[0]], rtol=1e-12)
    found = gears.joint_loads(near.q, near.v, there, actuated=["a"])
    for name in ("a", "b"):
        assert np.allclose(found[name].force, loads[name].force, atol=1e-11)
        assert np.allclose(found[name].moment, loads[name].moment, atol=1e-11)
        assert found[name].unique.all()
    assert np.allclose(found["gear"].actuation, loads["b"].actuation, rtol=1e-11)
    assert np.abs(found["gear"].actuation[0]) > 0.5
    assert not found["gear"].force.any() and not found["gear"].moment.any()


def differential(ratios=(0.5, -0.25), offset=0.1):
    """Three flywheels of 2, 3 and 5 kg m² on the ground: the third follows both others."""
    b = mbd.Builder("differential")
    for name, inertia in (("left", 2.0), ("right", 3.0), ("cage", 5.0)):
        b.link(name, 1.0, (0, 0, 0), (inertia,) * 3)
        b.joint(name, "revolute", "base", name, axis=(0, 0, 1))
    return b.couple("gears", "cage", dict(zip(("left", "right"), ratios, strict=True)), 1.0, offset)


def test_a_differential_moves_as_its_flywheels_by_hand():
    """q_cage = a q_left + b q_right + c: M = diag(2, 3) + 5 (a, b)ᵀ(a, b), turned by τ."""
    ratios = np.array([0.5, -0.25])
    machine = mbd.Mechanism.build(differential(ratios))
    q = np.array([0.3, -0.7])
    near = machine.assemble({"left": 0.3, "right": -0.7}, fixed=("left", "right"))
    assert np.allclose(near.q, [*q, ratios @ q + 0.1], atol=1e-14)
    tau = np.array([1.0, 2.0, 0.4])
    expected = np.linalg.solve(
        np.diag([2.0, 3.0]) + 5.0 * np.outer(ratios, ratios), tau[:2] + ratios * tau[2]
    )
    a, _ = machine.constrained_dynamics().forward(near.q, np.zeros(3), tau)
    assert np.allclose(a, [*expected, ratios @ expected], rtol=1e-12)
    loads = machine.joint_loads(near.q, np.zeros(3), a, actuated=["left", "right"])
    assert np.allclose(loads["gears"].actuation, 5.0 * ratios @ expected, rtol=1e-12)
    run = machine.simulate(0.1, q=near.q, v=near.v, torque={"left": 1.0, "right": 2.0})
    assert np.allclose(run.q[:, 2], run.q[:, :2] @ ratios + 0.1, atol=1e-12)


def test_phi_q_and_gamma_of_a_differential_are_derivatives():
    b = with_gears()
    b.link("pin", 1).joint("pin", "revolute", "link2", "pin", (0, 0, 1), axis=(0, 1, 0))
    b.couple("sum", "pin", {"wheel": 0.7, "slide": -1.3, "screw.displacement": 2.0}, offset=0.2)
    check_by_differences(build_model(b.description()), np.random.default_rng(4))


def test_gears_simulate_within_a_loop():
    """Two cranks of a four-bar-like loop, geared: rank, report and closure name the gears."""
    machine = mbd.Mechanism.build(with_gears())
    near = machine.assemble({"wheel": 0.3}, fixed="wheel", velocity={"wheel": 1.0})
    assert near.closed and set(near.loops) == {"rack", "lead", "mixed"}
    report = machine.loops.report(near.q)
    assert (report.rank, report.dof) == (3, 1)
    run = machine.simulate(0.05, step=1e-3, q=near.q, v=near.v)
    phi, _, _ = machine.compile("constraints")(run.q[-1], run.v[-1])
    assert np.abs(phi).max() < 1e-12


def test_gears_of_sliding_joints_alone_trace():
    """No angle anywhere: Φ_q is constant, Φ is not, and symbols must not be lost."""
    b = mbd.Builder("slides")
    for name in ("a", "b"):
        b.link(name, 1).joint(name, "prismatic", "base", name)
    model = build_model(b.couple("gear", "b", "a", 2.0, 0.5).description())
    graph = trace(lambda q: (at(model, q, np.zeros(2)).phi,), {"q": 2})
    assert graph is not None
    phi, _, _ = mbd.Mechanism(model).compile("constraints")(np.array([1.0, 5.0]), np.zeros(2))
    assert np.allclose(phi, [2.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.couple("x", "slide", "whel"), "did you mean 'wheel'"),
        (lambda b: b.couple("x", "slide", "slide"), "follows itself"),
        (lambda b: b.couple("x", "slide", {"wheel": 1.0, "slide": 2.0}), "follows itself"),
        (lambda b: b.couple("x", "slide", {}, 2.0), "the ratio of each leader"),
        (lambda b: b.couple("x", "slide", {"wheel": 1.0}, 2.0), "the ratio of each leader"),
        (lambda b: b.couple("wheel", "slide", "wheel"), "a joint has this name"),
        (lambda b: b.couple("rack", "slide", "wheel"), "there is a coupling 'rack' already"),
        (lambda b: b.couple("x", "slide", "wheel", np.nan), "finite"),
        (
            lambda b: b.loop("m", "mask", *((n, Frame.identity()) for n in ("base", "link2"))),
            r"rows=\(x, y, z",
        ),
        (
            lambda b: b.loop(
                "m", "mask", *((n, Frame.identity()) for n in ("base", "link2")), rows=(1, 2)
            ),
            r"got \(1, 2\)",
        ),
    ],
)
def test_masks_and_gears_that_make_no_sense_are_named(change, message):
    with pytest.raises(ModelError, match=message):
        build_model(change(with_gears()).description())


def test_geared_joints_carry_the_tree():
    b = with_gears()
    b.loop("tip", "spherical", ("link2", Frame.identity()), ("link3", Frame.identity()))
    for joint in ("slide", "screw"):
        with pytest.raises(ModelError, match="a coupling needs its coordinate"):
            recut(b.description(), [joint])
    assert [j.name for j in recut(b.description(), "weighted").joints] == [
        j.name for j in b.description().joints
    ]
