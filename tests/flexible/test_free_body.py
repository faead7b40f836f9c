"""Load sets of flexible links: in equilibrium, and a finite-element model bends by them as in
motion."""

from dataclasses import replace

import numpy as np
import pytest
from pyNastran.bdf.bdf import BDF

import mbd_bridge as mbd
from tests.flexible.models import random_arm, state
from tests.flexible.nodes import COUNT, as_basis, frame_model, held, machine

EQUILIBRIUM = 1e-13
"""Relative to the largest force or moment."""
SMALL = 1e-6
"""m: deflections whose squares do not count beside 1e-4 of them."""


@pytest.mark.parametrize("stiffening", [False, True])
def test_loads_on_flexible_links_are_in_equilibrium(stiffening):
    rng = np.random.default_rng(5)
    arm = mbd.Mechanism(random_arm(rng, stiffening=stiffening, quaternions=True))
    states = [state(arm.model, rng) for _ in range(3)]
    q, v, a = (np.array(part) for part in zip(*states, strict=True))
    for link in ("a", "b"):
        body = arm.free_body(link, q, v, a)
        assert body.residual.max() < EQUILIBRIUM
        for kind, own in (("gravity", body.nodes.gravity), ("inertia", body.nodes.inertia)):
            total = body.nodes.total(own, body[kind].point)
            assert np.allclose(total, body[kind].wrench, rtol=1e-12)
        some = body.pick([2, 0])
        assert np.array_equal(some.nodes.inertia[0], body.nodes.inertia[2])
        assert some.residual.max() < EQUILIBRIUM
        assert body.at("peak").residual.max() < EQUILIBRIUM


@pytest.mark.parametrize("matrix", [False, True])
def test_a_finite_element_model_bends_by_its_load_set_as_the_link_does(matrix):
    _, _, K = frame_model()
    basis = as_basis(held()[1])  # all its modes
    if matrix:  # coupled between neighbours, as consistent masses are
        m = np.diag(basis.masses) + np.diag(np.full(COUNT - 1, 0.02), 1)
        basis = replace(basis, masses=m + np.diag(np.full(COUNT - 1, 0.02), -1))
    rod = mbd.Mechanism(machine(basis))
    rng = np.random.default_rng(2)
    modes = slice(1, 1 + 2 * (COUNT - 1))
    loads = 0.1 * rng.normal(size=2 * (COUNT - 1))
    q, v = rng.normal(size=(2, rod.nv))
    q[modes], v[modes] = np.linalg.solve(basis.stiffness, SMALL * loads), 0.0
    a = rod.forward_dynamics(q, v, np.zeros(rod.nv))
    body = rod.free_body("rod", q, v, a)
    assert body.residual.max() < EQUILIBRIUM
    # forces and moments in the plane at the nodes; the root is held, where the hinge acts
    nodal = body.nodes.gravity[0] + body.nodes.inertia[0]
    vector = nodal[:, [1, 5]].ravel()
    vector[-2:] += body["rod"].wrench[0, [1, 5]]
    loose = slice(2, None)
    expected = np.einsum("k,kni->ni", q[modes], basis.displacement)[:, 1]
    turned = np.einsum("k,kni->ni", q[modes], basis.rotation)[:, 2]
    residual = vector[loose] - K[loose, loose] @ np.column_stack([expected, turned]).ravel()[loose]
    assert np.abs(residual).max() < 1e-4 * np.abs(vector).max()


def test_nastran_finds_the_load_sets_of_a_flexible_link_in_equilibrium(tmp_path):
    rod = mbd.Mechanism(machine(as_basis(held(4)[1])))
    q, v, a = state(rod.model, np.random.default_rng(1))
    body = rod.free_body("rod", q, v, a)
    body.write(tmp_path / "rod.bdf", length="mm")
    deck = BDF(debug=None)
    deck.read_bdf(tmp_path / "rod.bdf", punch=True)
    assert len(deck.nodes) == 2 + COUNT
    total, largest = np.zeros(6), 0.0
    for number in (11, 12):
        for load in deck.loads[number]:
            at = deck.nodes[load.node].get_position()
            vector = load.mag * np.asarray(load.xyz)
            total[3:] += vector if load.type == "MOMENT" else np.cross(at, vector)
            total[:3] += 0.0 if load.type == "MOMENT" else vector
            largest = max(largest, float(np.linalg.norm(vector)))
    assert np.abs(total).max() < 1e-9 * largest
    body.write(tmp_path / "rod.csv")
    rows = (tmp_path / "rod.csv").read_text().splitlines()
    assert sum("inertia of node" in row for row in rows) == COUNT
