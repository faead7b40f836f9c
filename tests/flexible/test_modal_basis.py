"""Modal bases from elsewhere: the beam's own, written to a table, must move as the beam does."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import build_model
from mbd_bridge.model.flexible.basis import basis, matrices
from tests.flexible.beams import as_nodes, pendulum
from tests.flexible.models import bar, state

SUMS = 1e-9
"""Relative: Gauss points as nodes carry every integral of a bar exactly."""


@pytest.mark.parametrize("shifted", [0.0, 0.7])
def test_a_beams_modes_at_nodes_move_as_the_beam(shifted):
    beam, modes = bar(1.0, E=7e7), mbd.flexible.Modes("clamped-free", 2, 1)
    ours = pendulum(beam, modes)
    shapes = basis(ours.description.flexible[0], beam, 0.0, [1.0])
    other = pendulum(as_nodes(beam, shapes, shifted=shifted))
    q, v, a = state(ours, np.random.default_rng(2))
    M, expected = mass_matrix_by_bodies(other, q), mass_matrix_by_bodies(ours, q)
    assert np.abs(M - expected).max() < SUMS * np.abs(expected).max()
    found, known = (recursive_loads(one, q, v, a).forces for one in (other, ours))
    assert np.abs(found - known).max() < SUMS * np.abs(known).max()


def test_frequencies_stand_for_a_stiffness():
    modes = basis(
        mbd.flexible.FlexibleLink("a", bar(1.0), mbd.flexible.Modes("clamped-free", 2)),
        bar(1.0),
        0,
        [1],
    )
    plain = as_nodes(bar(1.0), modes)
    M, K = matrices(bar(1.0), modes)
    hertz = np.sqrt(np.diag(K) / np.diag(M)) / (2 * np.pi)
    again = mbd.flexible.ModalBasis(
        plain.nodes, plain.masses, plain.displacement, plain.rotation, hertz
    )
    assert np.allclose(again.stiffness, K, atol=1e-9 * K.max())


def test_modal_bases_that_do_not_fit_are_refused():
    modes = basis(mbd.flexible.FlexibleLink("a", bar(1.0)), bar(1.0), 0.0, [1.0])
    good = as_nodes(bar(1.0), modes)
    parts = (good.nodes, good.masses, good.displacement, good.rotation, good.stiffness)
    for place, wrong, message in (
        (0, good.nodes[:, :2], "nodes"),
        (1, -good.masses, "none below 0"),
        (2, good.displacement[:, :-1], "displacement"),
        (3, good.rotation[:1], "rotation"),
        (4, np.zeros((2, 2)), "positive definite"),
        (4, [12.0, -30.0], "none below 0"),
        (4, np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
    ):
        with pytest.raises(mbd.errors.ModelError, match=message):
            mbd.flexible.ModalBasis(*parts[:place], wrong, *parts[place + 1 :])
    builder = mbd.Builder("far").joint("hinge", "revolute", "base", "rod")
    builder.joint("weld", "fixed", "rod", "tool", xyz=(0.5, 0.1, 0))
    with pytest.raises(mbd.errors.ModelError, match=r"no node at \[0.5, 0.1, 0"):
        build_model(builder.flexible(mbd.flexible.FlexibleLink("rod", good)).description())
    with pytest.raises(mbd.errors.ModelError, match="number of a node"):
        mbd.flexible.FlexibleLink("rod", good, stations={"gauge": 0.5})
    with pytest.raises(mbd.errors.ModelError, match="own modes"):
        mbd.flexible.FlexibleLink("rod", good, stiffening=True)
    machine = mbd.Mechanism(pendulum(good))
    still = np.zeros(machine.nv)
    with pytest.raises(mbd.errors.ModelError, match="need a Beam"):
        machine.section_loads("rod", 0.5, still, still, still)
