"""The arrays of a modal basis, checked: numbers, masses, rotations, inertias of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import as_floats, finite_numbers
from mbd_bridge.base.errors import ModelError

Floats = NDArray[np.float64]

SYMMETRIC = 1e-9
"""How far from symmetric a stiffness or mass matrix may be, relative to its largest entry."""
ISOTROPIC = 1e-6
"""How much a mass matrix may differ between directions, relative to its largest entry."""

ORTHOGONAL = 0.1
"""Largest modal mass that couples two natural modes, in parts of their own: what is usually asked
of measured modes; those of a finite-element model with its own masses have 1e-6."""


def node_numbers(given: ArrayLike | None, count: int) -> NDArray[np.int64]:
    """Return the numbers of nodes, from 0 if none are given."""
    if given is None:
        return np.arange(count)
    found = finite_numbers("modal basis: numbers", given, (count,), error=ModelError)
    if (found != np.round(found)).any() or len(np.unique(found)) < count:
        raise ModelError("modal basis: numbers: expected a whole number for each node, each once")
    return np.asarray(found.astype(np.int64))


def nodal_masses(given: ArrayLike, count: int) -> Floats:
    """Return masses (N,) or a mass matrix (N, N), the same in all directions."""
    where = "modal basis: masses"
    own = finite_numbers(
        where, given, (count,), (count, count), (3 * count, 3 * count), error=ModelError
    )
    if own.ndim == 1:
        if not ((own >= 0.0).all() and own.sum() > 0.0):
            raise ModelError(f"{where}: expected none below 0, and some above")
        return own
    largest = np.abs(own).max()
    if np.abs(own - own.T).max() > SYMMETRIC * largest:
        raise ModelError(f"{where}: expected a symmetric matrix")
    if len(own) == 3 * count:
        blocks = own.reshape(count, 3, count, 3).transpose(1, 3, 0, 2)
        mean = (blocks[0, 0] + blocks[1, 1] + blocks[2, 2]) / 3.0
        if np.abs(blocks - np.eye(3)[:, :, None, None] * mean).max() > ISOTROPIC * largest:
            raise ModelError(
                f"{where}: expected a mass matrix that is the same in x, y and z and couples none "
                f"of them; lump the masses at the nodes instead, (N,)"
            )
        own = mean
    if not (own.sum() > 0.0 and np.linalg.eigvalsh(own)[0] >= -SYMMETRIC * largest):
        raise ModelError(f"{where}: expected a positive (semi)definite matrix with a sum above 0")
    return np.asarray(0.5 * (own + own.T))


def nodal_rotations(given: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """Return rotations, nan in every mode for nodes where one is not known."""
    if given is None:
        return np.full(shape, np.nan)
    found = as_floats("modal basis: rotation", given, ModelError)
    if found.shape != shape or np.isinf(found).any():
        raise ModelError(
            f"modal basis: rotation: expected finite numbers {shape}, nan for nodes whose rotation "
            f"is not known, got {found.shape}"
        )
    unknown = np.asarray(np.isnan(found).any(axis=(0, 2)))
    return np.where(unknown[None, :, None], np.nan, found)


def nodal_inertias(given: ArrayLike | None, count: int) -> Floats | None:
    """Return inertias (N, 3, 3), None if all are 0."""
    if given is None:
        return None
    where = "modal basis: inertias"
    found = finite_numbers(where, given, (count, 3, 3), error=ModelError)
    largest = np.abs(found).max(initial=0.0)
    if (
        np.abs(found - np.swapaxes(found, 1, 2)).max(initial=0.0) > SYMMETRIC * largest
        or (np.linalg.eigvalsh(found) < -SYMMETRIC * largest).any()
    ):
        raise ModelError(f"{where}: expected symmetric matrices (N, 3, 3), none negative")
    return found if largest else None


def check_orthogonal(where: str, M: Floats, names: Sequence[int]) -> None:
    """Refuse natural modes that their modal mass matrix M (n, n) couples; `names` are theirs."""
    size = np.sqrt(np.diag(M))
    scale = np.outer(size, size)
    coupled = np.abs(M - np.diag(np.diag(M))) / np.where(scale > 0.0, scale, 1.0)
    if coupled.max(initial=0.0) > ORTHOGONAL:
        i, j = divmod(int(coupled.argmax()), len(coupled))
        raise ModelError(
            f"{where}the masses couple modes {names[i]} and {names[j]} ({coupled[i, j]:.2g} of "
            f"their modal masses), as they do no natural modes: these are not the masses of this "
            f"model, or those of other nodes. If the modes are no natural ones, give their "
            f"stiffness matrix in the place of frequencies"
        )
