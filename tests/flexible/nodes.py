"""A finite-element frame, its modes as a modal basis, and a machine with it."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model import build_model
from mbd_bridge.model.flexible.finite_element import elements, lowest
from tests.flexible.models import bar

LENGTH, COUNT = 1.0, 9


def frame_model():
    """Return a bar in the plane as finite elements, masses and inertias lumped: x, M, K (2 N)."""
    x = np.linspace(0.0, LENGTH, COUNT)
    K = elements(bar(LENGTH), "bending_y", x).K
    masses = np.full(COUNT, 2700 * 6e-4 * LENGTH / COUNT)
    return x, np.diag(np.column_stack([masses, 1e-4 * masses]).ravel()), K


def as_basis(columns):
    """Return modes (2 N, n) of the frame model as a modal basis, its nodes numbered from 101."""
    x, M, K = frame_model()
    masses = np.diag(M)[::2]
    shape = (columns.shape[1], COUNT, 3)
    moves, turns = np.zeros(shape), np.zeros(shape)
    moves[:, :, 1], turns[:, :, 2] = columns[::2].T, columns[1::2].T
    inertias = np.zeros((COUNT, 3, 3))
    inertias[:, 2, 2] = np.diag(M)[1::2]
    nodes = np.column_stack([x, 0 * x, 0 * x])
    k = columns.T @ K @ columns
    return mbd.flexible.ModalBasis(
        nodes, masses, moves, turns, 0.5 * (k + k.T), np.arange(101, 101 + COUNT), inertias
    )


def held(columns=None, *, root=0):
    """Return modes of the frame model, one node held."""
    _, M, K = frame_model()
    loose = np.setdiff1d(np.arange(2 * COUNT), [2 * root, 2 * root + 1])
    omega, vectors = lowest(M[np.ix_(loose, loose)], K[np.ix_(loose, loose)], columns or len(loose))
    out = np.zeros((2 * COUNT, len(omega)))
    out[loose] = vectors
    return omega, out


def machine(shape, **more):
    parts = mbd.Builder("arm").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    parts.joint("elbow", "revolute", "rod", "bob", xyz=(LENGTH, 0, 0), axis=(0, 0, 1))
    parts.link("bob", 0.5, (0.1, 0, 0), (0.01, 0.01, 0.01))
    return build_model(
        parts.flexible(mbd.flexible.FlexibleLink("rod", shape, **more)).description()
    )
