"""The mass matrix of long branches, where wrenches go from station to station."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations import mass_matrix
from mbd_bridge.equations.mass_matrix import FAR, mass_matrix_by_bodies, station_bodies
from mbd_bridge.kernels.tracing import trace
from mbd_bridge.model import build_model
from tests.benchmarks.dof import chain
from tests.trees import random_state, random_tree

DIGITS = 8 * FAR * np.finfo(float).eps
"""Of an entry, relative to the roots of those of its row and column on the diagonal."""

TURNING = ("revolute", "universal", "spherical")


def model_of(seed, types, joints=24):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, joints, types, mimics=0.2)
    return build_model(builder.description()), rng


def with_and_without(model, q, monkeypatch):
    found = []
    for long in (0, 10**9):
        monkeypatch.setattr(mass_matrix, "LONG", long)
        found.append(mass_matrix_by_bodies(model, q))
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("types", [TURNING, (*TURNING, "prismatic", "cylindrical", "fixed")])
def test_stations_do_not_change_the_mass_matrix(seed, types, monkeypatch):
    model, rng = model_of(seed, types)
    q = random_state(model, rng)[0]
    ours, plain = with_and_without(model, q, monkeypatch)
    monkeypatch.setattr(mass_matrix, "LONG", 0)
    assert len(station_bodies(model)) < len(model.bodies)
    size = np.sqrt(np.diagonal(plain))
    assert (np.abs(ours - plain) <= DIGITS * np.outer(size, size)).all()


def test_short_branches_have_the_digits_that_they_had():
    model, _ = model_of(0, TURNING)
    assert station_bodies(model) == set(range(len(model.bodies)))


def test_what_is_small_and_far_out_is_a_station_of_its_own(monkeypatch):
    """A hand of a millimetre on an arm of ten metres keeps its digits."""
    builder = mbd.Builder("crane")
    lengths = [10.0, 10.0, 0.001, 0.001, 0.001]
    before = "base"
    for k, length in enumerate(lengths):
        inertia = np.array([1, 1, 0]) * length**2 / 12
        builder.link(f"link{k}", 1.0, (0, 0, length / 2), inertia)
        at = (0, 0, lengths[k - 1] if k else 1.0)
        axis = (0, 1, 0) if k % 2 else (1, 0, 0)
        builder.joint(f"joint{k}", "revolute", before, f"link{k}", at, axis=axis)
        before = f"link{k}"
    model = mbd.Mechanism.build(builder).model
    q = np.array([0.3, -0.4, 0.5, 0.6, -0.7])
    ours, plain = with_and_without(model, q, monkeypatch)
    monkeypatch.setattr(mass_matrix, "LONG", 0)
    assert len(model.bodies) - 3 in station_bodies(model)
    size = np.sqrt(np.diagonal(plain))
    assert (np.abs(ours - plain) <= DIGITS * np.outer(size, size)).all()
    monkeypatch.setattr(mass_matrix, "FAR", 1e9)
    worse = mass_matrix_by_bodies(model, q)
    assert (np.abs(worse - plain) / np.outer(size, size)).max() > 10 * DIGITS


def test_long_branches_take_less_than_half_of_the_operations(monkeypatch):
    model = chain(60)
    counts = []
    for long in (mass_matrix.LONG, 10**9):
        monkeypatch.setattr(mass_matrix, "LONG", long)
        graph = trace(lambda q: (mass_matrix_by_bodies(model, q),), {"q": model.nq})
        counts.append(sum(graph.counts().values()))
    assert counts[0] < 0.5 * counts[1]
