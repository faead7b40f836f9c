"""A modal basis of any link from elsewhere: shapes at nodes, lumped masses, stiffness.

Its nodes are where something can be attached. What it says of a node is displacement and rotation
by mode; the shapes may move the link as a whole (free-free modes), or be those of any supports: the
link's frame is made tangent at the node where its joint sits. Nodes have mass, but no inertia
against rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.arguments import finite_numbers
from mbd_bridge.errors import ModelError

Floats = NDArray[np.float64]

AT_NODE = 1e-4
"""How far a joint may be from its node, in parts of the largest distance between nodes."""
SYMMETRIC = 1e-9
"""How far from symmetric a stiffness may be, relative to its largest entry."""


@dataclass(frozen=True, eq=False)
class ModalBasis:
    """A modal basis.

    Attributes
    ----------
    nodes : (N, 3) m, in the link's frame
    masses : (N,) kg, lumped at the nodes; 0 for nodes that only carry something
    displacement, rotation : (n, N, 3) of each node by unit modal coordinate, along the link's axes
    stiffness : (n, n) modal stiffness; or (n,) the modes' frequencies in Hz, if they are orthogonal
        for these masses
    """

    nodes: Floats
    masses: Floats
    displacement: Floats
    rotation: Floats
    stiffness: Floats

    def __post_init__(self) -> None:
        where = "modal basis: "
        nodes = finite_numbers(f"{where}nodes", self.nodes, error=ModelError)
        if nodes.ndim != 2 or nodes.shape[1:] != (3,) or len(nodes) < 2:
            raise ModelError(f"{where}nodes: expected (N, 3), two or more, got {nodes.shape}")
        object.__setattr__(self, "nodes", nodes)
        masses = finite_numbers(f"{where}masses", self.masses, (len(nodes),), error=ModelError)
        object.__setattr__(self, "masses", masses)
        if not ((masses >= 0.0).all() and masses.sum() > 0.0):
            raise ModelError(f"{where}masses: expected none below 0, and some above")
        if not self.length > 0.0:
            raise ModelError(f"{where}all nodes are at one point")
        count = len(np.atleast_1d(self.displacement))
        for name in ("displacement", "rotation"):
            shape = (count, len(nodes), 3)
            own = finite_numbers(f"{where}{name}", getattr(self, name), shape, error=ModelError)
            object.__setattr__(self, name, own)
        K = finite_numbers(
            f"{where}stiffness", self.stiffness, (count,), (count, count), error=ModelError
        )
        if K.ndim == 1:
            modal = np.einsum("kni,kni,n->k", self.displacement, self.displacement, masses)
            K = np.diag((2.0 * np.pi * K) ** 2 * modal)
        if np.abs(K - K.T).max() > SYMMETRIC * np.abs(K).max() or not (
            np.linalg.eigvalsh(0.5 * (K + K.T))[0] > 0.0
        ):
            raise ModelError(
                f"{where}stiffness: expected a symmetric, positive definite matrix; leave rigid "
                f"modes (frequency 0) out"
            )
        object.__setattr__(self, "stiffness", 0.5 * (K + K.T))

    @property
    def length(self) -> float:
        """Largest extent, m."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    def place(self, point: ArrayLike) -> float:
        """Return the number (from 0) of the node at a point of the link."""
        far = np.linalg.norm(self.nodes - np.asarray(point), axis=1)
        nearest = int(far.argmin())
        if far[nearest] > AT_NODE * self.length:
            raise ModelError(
                f"modal basis: no node at {np.asarray(point).round(6).tolist()}, where something "
                f"is attached; the nearest, {self.nodes[nearest].round(6).tolist()}, is "
                f"{far[nearest]:.3g} m away. Attach it there, or add a node"
            )
        return float(nearest)

    def point(self, x: float) -> Floats:
        """Return where a node is in the link, not deformed."""
        return np.asarray(self.nodes[int(x)])

    def far_end(self, root: float) -> float:
        """Return the node that is farthest from another."""
        return float(np.linalg.norm(self.nodes - self.point(root), axis=1).argmax())

    def same(self, x: float, y: float) -> bool:
        """Return whether two places are one node."""
        return x == y

    def check_place(self, where: str, x: float) -> None:
        """Refuse what is no node's number."""
        if x != int(x) or not 0 <= x < len(self.nodes):
            raise ModelError(f"{where}: expected a node from 0 to {len(self.nodes) - 1}, got {x:g}")

    def tangent_at(self, root: float) -> tuple[Floats, Floats]:
        """Return displacement and rotation (n, N, 3) without the motion of the root node."""
        r = int(root)
        turn = self.rotation[:, r]
        arms = self.nodes - self.nodes[r]
        rigid = self.displacement[:, None, r] + np.cross(turn[:, None], arms[None])
        return self.displacement - rigid, self.rotation - turn[:, None]
