"""Whether a modal basis fits its attachments: the joint that carries it, other joints, stations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.finite_element import lowest
from mbd_bridge.model.flexible.modal_basis import Floats, ModalBasis

DEPENDENT = 1e-12
"""Least eigenvalue of the modes' mass matrix, scaled to a diagonal of ones: below it sixteen digits
do not tell the modes apart."""
SOFT = 1e-12
"""Least square of a natural frequency, in parts of the largest, that is not a zero."""


def check_attached(basis: ModalBasis, root: float, stations: Sequence[float]) -> None:
    """Refuse modes that do not let the link move as its attachments need it.

    Parameters
    ----------
    root : number of the node where the link is held
    stations : numbers of the nodes where something is attached
    """
    held = ~basis.moving
    for x in (root, *stations):
        if not basis.turns[basis.row(x)]:
            raise ModelError(
                f"modal basis: something is attached to node {x:g}, whose rotation is not known "
                f"(nodes of solid elements have none). Attach it to the independent node of an "
                f"RBE2 or RBE3, or add a node that follows several others: "
                f"with_interface(point, [numbers])"
            )
    assert basis.numbers is not None
    if held.any() and not held[basis.row(root)]:
        names = ", ".join(f"{n}" for n in basis.numbers[held][:5])
        raise ModelError(
            f"modal basis: its modes were found with node {names} held, but the link's joint holds "
            f"node {root:g}: they violate the attachment. Find the modes with node {root:g} held, "
            f"or with none held (free modes, or Craig-Bampton with static modes of both)"
        )
    for x in stations:
        if x != root and held[basis.row(x)]:
            raise ModelError(
                f"modal basis: something is attached to node {x:g}, which no mode moves: the modes "
                f"were found with it held, and violate the attachment. Free this node, add its "
                f"static modes (Craig-Bampton), or attach to node {root:g}, if it is rigid with it"
            )


def check_modes(basis: ModalBasis, M: Floats) -> None:
    """Refuse modes that say nothing, or twice the same, once the link is held; M is theirs then."""
    K, size = basis.stiffness, np.sqrt(np.maximum(np.diag(M), 0.0))
    free = np.sqrt(np.maximum(np.diag(basis.mass_matrix()), 0.0))
    rigid = np.flatnonzero((size <= np.sqrt(DEPENDENT) * free) | (size == 0.0))
    advice = "leave them out; ModalBasis.natural() and the readers of files do"
    if len(rigid):
        names = ", ".join(str(k + 1) for k in rigid)
        raise ModelError(
            f"modal basis: with the link held, nothing is left of mode {names}: rigid motions are "
            f"those of joints; {advice}"
        )
    scaled = M / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] < DEPENDENT:
        large = np.flatnonzero(np.abs(vectors[:, 0]) > 0.1 * np.abs(vectors[:, 0]).max())
        names = ", ".join(str(k + 1) for k in large)
        raise ModelError(
            f"modal basis: with the link held, modes {names} are linearly dependent. Rigid motions "
            f"among static modes do that: use ModalBasis.natural(), or leave out the static modes "
            f"of the node where the link is held"
        )
    omega, _ = lowest(scaled, K / np.outer(size, size), len(K))
    if omega[0] ** 2 <= SOFT * omega[-1] ** 2:
        raise ModelError(
            "modal basis: its modes can deform the link without any stiffness: a mechanism inside "
            "of it, or a stiffness that is not that of these modes; check the model"
        )
