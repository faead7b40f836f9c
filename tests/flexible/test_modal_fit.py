"""What modal bases need of masses, interfaces and attachments, and what does not fit them."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import build_model
from mbd_bridge.model.flexible.finite_element import lowest
from mbd_bridge.model.spatial import matrix_from_rpy
from tests.flexible.models import state
from tests.flexible.nodes import COUNT, LENGTH, as_basis, frame_model, held, machine

ROUND_OFF = 1e-10


def craig_bampton(inner=4):
    """Return static modes of both ends and natural modes with both ends held."""
    _, M, K = frame_model()
    ends = [0, 1, 2 * COUNT - 2, 2 * COUNT - 1]
    rest = np.setdiff1d(np.arange(2 * COUNT), ends)
    static = np.zeros((2 * COUNT, 4))
    static[ends] = np.eye(4)
    static[rest] = -np.linalg.solve(K[np.ix_(rest, rest)], K[np.ix_(rest, ends)])
    _, vectors = lowest(M[np.ix_(rest, rest)], K[np.ix_(rest, rest)], inner)
    natural = np.zeros((2 * COUNT, inner))
    natural[rest] = vectors
    return np.hstack([static, natural])


def test_all_modes_with_rotary_inertia_are_the_finite_element_model():
    omega, columns = held()
    hertz = machine(as_basis(columns)).flexible[0].frequencies()
    assert np.allclose(hertz * 2 * np.pi, omega, rtol=1e-6)
    assert np.allclose(hertz[:4] * 2 * np.pi, omega[:4], rtol=ROUND_OFF)


def test_static_modes_of_interfaces_come_as_columns():
    _, M, K = frame_model()
    omega = np.sqrt(np.maximum(np.linalg.eigvals(np.linalg.solve(M, K)).real, 0.0))
    columns = craig_bampton(2 * COUNT - 4)  # all of them: the whole model
    free = as_basis(columns).natural()
    assert len(free.stiffness) == 2 * COUNT - 2  # without its two rigid motions
    found = np.sqrt(np.diag(free.stiffness) / np.diag(free.mass_matrix()))
    assert np.allclose(found, np.sort(omega)[2:], rtol=1e-6)
    # few of them: static modes carry the load of a tip that is pushed, natural modes alone do not
    static = machine(as_basis(craig_bampton(1)).natural()).flexible[0]
    shape = machine(as_basis(craig_bampton(1)).natural()).joint("rod").type.displacement[1]
    sag = np.array(shape) @ np.linalg.solve(static.stiffness, shape)
    assert np.isclose(sag, LENGTH**3 / (3 * 7e10 * 0.03 * 0.02**3 / 12), rtol=1e-9)


def test_static_modes_of_the_root_repeat_rigid_motions_and_are_told():
    with pytest.raises(mbd.errors.ModelError, match=r"linearly dependent.*natural\(\)"):
        machine(as_basis(craig_bampton()))


def test_a_mass_matrix_carries_the_field_between_nodes():
    x = np.linspace(0.0, LENGTH, 6)
    m = np.zeros((6, 6))
    for e in range(5):
        m[e : e + 2, e : e + 2] += 0.2 / 6 * np.array([[2.0, 1.0], [1.0, 2.0]])
    rng = np.random.default_rng(4)
    nodes = np.column_stack([x, 0 * x, 0 * x])
    shapes, turns = rng.normal(size=(2, 2, 6, 3))
    shapes[:, 0] = turns[:, 0] = 0.0
    K = np.diag([3.0, 40.0])
    coarse = mbd.flexible.ModalBasis(nodes, m, shapes, turns, K)
    wide = mbd.flexible.ModalBasis(nodes, np.kron(m, np.eye(3)), shapes, turns, K)
    assert np.allclose(wide.stiffness, coarse.stiffness, rtol=1e-12)
    points, weight = np.polynomial.legendre.leggauss(2)  # exact for products of straight lines
    at = (0.2 * np.arange(5)[:, None] + 0.1 * (1 + points)).ravel()
    masses = np.concatenate([np.zeros(6), np.tile(0.1 * weight, 5)])
    fine = [
        np.concatenate([one, np.stack([np.interp(at, x, row) for row in one.T], axis=1)])
        for one in (nodes, *shapes)
    ]
    turned = np.pad(turns, [(0, 0), (0, 10), (0, 0)])
    fine = mbd.flexible.ModalBasis(fine[0], masses, np.array(fine[1:]), turned, coarse.stiffness)
    q, _, _ = state(machine(coarse), rng)
    expected = mass_matrix_by_bodies(machine(fine), q)
    for one in (coarse, wide):
        assert np.allclose(mass_matrix_by_bodies(machine(one), q), expected, rtol=ROUND_OFF)
    skewed = np.kron(m, np.diag([1.0, 1.0, 1.5]))
    with pytest.raises(mbd.errors.ModelError, match="same in x, y and z"):
        mbd.flexible.ModalBasis(nodes, skewed, shapes, turns, K)


def test_rotary_inertia_of_a_node_is_that_of_masses_around_it():
    rng = np.random.default_rng(8)
    nodes = rng.normal(size=(4, 3))
    nodes[0] = 0.0
    nodes[3] = LENGTH, 0, 0
    shapes, turns = 0.3 * rng.normal(size=(2, 3, 4, 3))
    plain = mbd.flexible.ModalBasis(nodes, np.ones(4), shapes, turns, np.eye(3))
    around, inertia = plain, np.zeros((4, 3, 3))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0] * [[0.1], [0.2], [0.3]]
    for arm in (*axes, *-axes):
        around = around.with_interface(nodes[2] + arm, [2])
    for arm in around.nodes[4:] - nodes[2]:
        inertia[2] += 0.5 * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    around = replace(around, masses=np.array([1, 1, 0, 1, *([0.5] * 6)]))
    lumped = replace(plain, masses=np.array([1.0, 1.0, 3.0, 1.0]), inertias=inertia)
    at = state(machine(lumped), rng)
    found, expected = (recursive_loads(machine(one), *at).forces for one in (lumped, around))
    assert np.allclose(found, expected, rtol=ROUND_OFF, atol=ROUND_OFF)


def test_an_interface_moves_with_the_section_it_is_fixed_to():
    _, columns = held(3)
    plain = as_basis(columns)
    ring = plain
    for k, offset in enumerate([(0.0, 0.02, 0.0), (0.0, -0.01, 0.03), (0.01, -0.01, -0.02)]):
        ring = ring.with_interface(np.add((LENGTH, 0, 0), offset), [109], 200 + k)
    solid = replace(ring, rotation=np.where(np.arange(12)[:, None] < 9, ring.rotation, np.nan))
    solid = solid.with_interface((LENGTH + 0.05, 0.0, 0.0), [200, 201, 202])
    assert solid.numbers[-1] == 203
    arm = plain.with_interface((LENGTH + 0.05, 0.0, 0.0), [109])
    assert np.allclose(solid.displacement[:, -1], arm.displacement[:, -1], atol=1e-12)
    assert np.allclose(solid.rotation[:, -1], arm.rotation[:, -1], atol=1e-11)
    with pytest.raises(mbd.errors.ModelError, match="on one line"):
        plain.with_interface((LENGTH, 0, 0), [107, 108, 109])
    with pytest.raises(mbd.errors.ModelError, match="rotation is not known"):
        solid.with_interface((LENGTH, 0, 0), [201])


def test_a_basis_is_placed_in_the_link():
    _, columns = held(3)
    plain, rpy = as_basis(columns), (0.4, -0.7, 1.1)
    turn = matrix_from_rpy(*rpy)
    assert np.allclose(plain.moved((0.3, 0, 0), rpy).nodes[-1], turn[:, 0] + [0.3, 0, 0])

    def arm(shape, seen, placed):
        parts = mbd.Builder("arm")
        parts.joint("hinge", "revolute", "base", "rod", rpy=placed, axis=seen @ (0.6, 0.0, 0.8))
        parts.joint("elbow", "revolute", "rod", "bob", seen[:, 0], axis=seen @ (0.0, 0.6, 0.8))
        parts.link("bob", 0.5)
        return build_model(parts.flexible(mbd.flexible.FlexibleLink("rod", shape)).description())

    ours, other = arm(plain, np.eye(3), rpy), arm(plain.moved(rpy=rpy), turn, (0, 0, 0))
    at = state(ours, np.random.default_rng(7))
    expected, found = (recursive_loads(one, *at).forces for one in (ours, other))
    assert np.allclose(found, expected, rtol=ROUND_OFF, atol=ROUND_OFF * np.abs(expected).max())


def test_attachments_that_modes_violate_are_refused():
    _, from_tip = held(3, root=COUNT - 1)
    with pytest.raises(mbd.errors.ModelError, match=r"node 109 held, but .* holds\s+node 101"):
        machine(as_basis(from_tip))
    _, M, K = frame_model()
    inner = np.arange(2, 2 * COUNT - 2)
    both = np.zeros((2 * COUNT, 2))
    both[inner] = lowest(M[np.ix_(inner, inner)], K[np.ix_(inner, inner)], 2)[1]
    with pytest.raises(mbd.errors.ModelError, match=r"attached to node 109, which no mode moves"):
        machine(as_basis(both))
    good = as_basis(held(3)[1])
    unknown = np.array(good.rotation)
    unknown[:, -1] = np.nan
    with pytest.raises(mbd.errors.ModelError, match="node 109, whose rotation is not known"):
        machine(replace(good, rotation=unknown, inertias=None))
    rigid = as_basis(np.column_stack([held(1)[1], np.tile([1.0, 0.0], COUNT)]))
    with pytest.raises(mbd.errors.ModelError, match="nothing is left of mode 2"):
        machine(rigid)
    with pytest.raises(mbd.errors.ModelError, match="in mm"):
        machine(replace(good, nodes=1000.0 * good.nodes))


def test_masses_other_than_the_links_are_refused():
    good = as_basis(held(3)[1])
    parts = mbd.Builder("arm").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    flexible = mbd.flexible.FlexibleLink("rod", good)
    for mass, centre, message in (
        (1.62e-3, (0.5, 0, 0), r"1.62 kg, the link one of 0.00162 kg.*unit"),
        (1.6, (0.2, 0, 0), "centre of mass .* 0.3 m from"),
    ):
        parts.link("rod", mass, centre)
        with pytest.raises(mbd.errors.ModelError, match=message):
            build_model(parts.flexible(flexible).description())
        parts = mbd.Builder("arm").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    parts.link("rod", 1.6, (0.5, 0, 0))
    found = build_model(parts.flexible(flexible).description())
    assert np.isclose(found.flexible[0].integrals.mass, 1.62)


def test_frequencies_of_modes_that_the_masses_couple_are_refused(tmp_path):
    """As with masses in another order than nodes: each mode alone would be right."""
    omega, columns = held(3)
    whole = as_basis(columns)
    good = replace(whole, inertias=None, stiffness=omega / (2 * np.pi))
    wrong = np.array(good.masses)
    wrong[-1] *= 5.0
    with pytest.raises(mbd.errors.ModelError, match=r"couple modes 1 and 2 .* not the masses"):
        replace(good, masses=wrong, stiffness=omega / (2 * np.pi))
    mbd.flexible.save_modal_basis(good, tmp_path / "modes.csv")
    again = mbd.flexible.load_modal_basis(tmp_path / "modes.csv", modes=[2])
    assert len(again.stiffness) == 1
    with pytest.raises(mbd.errors.FileError, match="couple modes 1 and 3"):
        mbd.flexible.load_modal_basis(tmp_path / "modes.csv", masses=wrong, modes=[1, 3])


def test_the_root_link_is_held_at_the_node_at_its_origin():
    """Whatever the nodes' numbers: the ground holds it there, as it does by a joint."""
    nodes = np.array([[LENGTH, 0, 0], [0.0, 0, 0], [0.5 * LENGTH, 0.1, 0]])
    shapes, turns = 0.3 * np.random.default_rng(3).normal(size=(2, 2, 3, 3))
    for numbers in ([0, 1, 2], [7, 8, 9]):
        basis = mbd.flexible.ModalBasis(nodes, np.ones(3), shapes, turns, np.eye(2), numbers)
        bare = mbd.Builder("rod", root="rod").flexible(mbd.flexible.FlexibleLink("rod", basis))
        welded = mbd.Builder("rod").joint("weld", "fixed", "base", "rod")
        welded.flexible(mbd.flexible.FlexibleLink("rod", basis))
        ours, other = (mbd.Mechanism.build(one) for one in (bare, welded))
        at = state(ours.model, np.random.default_rng(1))
        assert np.allclose(ours.inverse_dynamics(*at), other.inverse_dynamics(*at), rtol=1e-12)
    lost = mbd.flexible.FlexibleLink("rod", basis.moved((0, 0, 0.2)))
    with pytest.raises(mbd.errors.ModelError, match=r"no node at \[0.0, 0.0, 0.0\]"):
        mbd.Mechanism.build(mbd.Builder("rod", root="rod").flexible(lost))


def test_a_mode_that_only_twists_has_an_angle():
    _, columns = held(2)
    bends = as_basis(columns)
    turns = np.zeros((1, COUNT, 3))
    turns[0, :, 0] = np.linspace(0.0, 1.0, COUNT)
    inertias = np.tile(1e-4 * np.eye(3), (COUNT, 1, 1))
    twists = replace(
        bends, displacement=0.0 * turns, rotation=turns, stiffness=[5.0], inertias=inertias
    )
    assert mbd.Mechanism(machine(bends)).model.joint("rod").type.slides() == (True, True)
    assert mbd.Mechanism(machine(twists)).model.joint("rod").type.slides() == (False,)


def test_stress_of_round_sections_is_exact():
    tube = mbd.flexible.Section.tube(0.04, 0.03)
    beam = mbd.flexible.Beam((0, 0, 0), (1, 0, 0), 7e10, 2.6e10, 2700, tube)
    modes = mbd.flexible.Modes("clamped-free", 2, 2, axial=1)
    parts = mbd.Builder("arm").joint("hinge", "spherical", "base", "rod")
    arm = mbd.Mechanism.build(parts.flexible(mbd.flexible.FlexibleLink("rod", beam, modes)))
    q, v, a = state(arm.model, np.random.default_rng(1))
    q[4:] *= 1e-3
    loads = arm.section_loads("rod", [0.0, 0.4], q, v, 30 * a)
    angle = np.linspace(0, 2 * np.pi, 3601)[:, None]
    fibres = loads.normal_stress(0.02 * np.cos(angle), 0.02 * np.sin(angle))
    assert np.allclose(loads.largest_stress, np.abs(fibres).max(axis=0), rtol=1e-6)
    with pytest.raises(mbd.errors.ModelError, match="one radius"):
        mbd.flexible.Section(1e-4, 1e-9, 1e-9, 2e-9, 0.01, 0.02, round=True)
