"""The reflections of small matrices, beside LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import qr

from mbd_bridge.solve import rank
from mbd_bridge.solve.rank import SMALL, pivoted


@pytest.mark.parametrize("shape", [(3, 5), (9, 4), (1, 1), (SMALL, SMALL), (2, 7), (5, 1), (40, 3)])
def test_pivots_of_small_matrices_are_lapacks(shape, monkeypatch):
    """To the signs, so that a matrix on either side of `SMALL` is taken apart alike."""
    matrix = np.random.default_rng(0).normal(size=shape)
    ours = pivoted(matrix)
    monkeypatch.setattr(rank, "SMALL", 0)
    theirs = pivoted(matrix)
    assert np.array_equal(ours.order, theirs.order)
    for one, other in ((ours.Q, theirs.Q), (ours.R, theirs.R)):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_columns_that_depend_on_others_come_last():
    matrix = np.random.default_rng(1).normal(size=(6, 4))
    matrix[:, 0], matrix[:, 2] = 0.0, 0.2 * (matrix[:, 1] - matrix[:, 3])
    found = pivoted(matrix)
    assert found.rank == 2
    assert set(found.order[:2].tolist()) == {1, 3}
    np.testing.assert_allclose(found.Q @ found.R, matrix[:, found.order], atol=1e-15)
    assert np.abs(np.diag(found.R)) == pytest.approx(
        np.abs(np.diag(qr(matrix, pivoting=True)[1])), abs=1e-15
    )
