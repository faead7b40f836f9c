"""A modal basis of any link from elsewhere: shapes at nodes, masses, stiffness.

Its nodes are where something can be attached. What it says of a node is displacement and rotation
by mode; the shapes may move the link as a whole (free-free modes), or be those of any supports: the
link's frame is made tangent at the node where its joint sits.

Masses are lumped at the nodes, or a matrix m between them that is the same in all directions, as
consistent masses of solid elements are:  T = Σ m_ij u̇_i · u̇_j / 2. Nodes may have rotary inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import as_floats, finite_numbers
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.finite_element import lowest
from mbd_bridge.model.spatial import matrix_from_rpy

# The arrays of a modal basis, checked: numbers, masses, rotations, inertias of its nodes.


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
    numbers = finite_numbers("modal basis: numbers", given, (count,), error=ModelError)
    if (numbers != np.round(numbers)).any() or len(np.unique(numbers)) < count:
        raise ModelError("modal basis: numbers: expected a whole number for each node, each once")
    return np.asarray(numbers.astype(np.int64))


def nodal_masses(given: ArrayLike, count: int) -> Floats:
    """Return masses (N,) or a mass matrix (N, N), the same in all directions."""
    where = "modal basis: masses"
    masses = finite_numbers(
        where, given, (count,), (count, count), (3 * count, 3 * count), error=ModelError
    )
    if masses.ndim == 1:
        if not ((masses >= 0.0).all() and masses.sum() > 0.0):
            raise ModelError(f"{where}: expected none below 0, and some above")
        return masses
    largest = np.abs(masses).max()
    if np.abs(masses - masses.T).max() > SYMMETRIC * largest:
        raise ModelError(f"{where}: expected a symmetric matrix")
    if len(masses) == 3 * count:
        blocks = masses.reshape(count, 3, count, 3).transpose(1, 3, 0, 2)
        mean = (blocks[0, 0] + blocks[1, 1] + blocks[2, 2]) / 3.0
        if np.abs(blocks - np.eye(3)[:, :, None, None] * mean).max() > ISOTROPIC * largest:
            raise ModelError(
                f"{where}: expected a mass matrix that is the same in x, y and z and couples none "
                f"of them; lump the masses at the nodes instead, (N,)"
            )
        masses = mean
    if not (masses.sum() > 0.0 and np.linalg.eigvalsh(masses)[0] >= -SYMMETRIC * largest):
        raise ModelError(f"{where}: expected a positive (semi)definite matrix with a sum above 0")
    return np.asarray(0.5 * (masses + masses.T))


def nodal_rotations(given: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """Return rotations, nan in every mode for nodes where one is not known."""
    if given is None:
        return np.full(shape, np.nan)
    rotations = as_floats("modal basis: rotation", given, ModelError)
    if rotations.shape != shape or np.isinf(rotations).any():
        raise ModelError(
            f"modal basis: rotation: expected finite numbers {shape}, nan for nodes whose rotation "
            f"is not known, got {rotations.shape}"
        )
    unknown = np.asarray(np.isnan(rotations).any(axis=(0, 2)))
    return np.where(unknown[None, :, None], np.nan, rotations)


def nodal_inertias(given: ArrayLike | None, count: int) -> Floats | None:
    """Return inertias (N, 3, 3), None if all are 0."""
    if given is None:
        return None
    where = "modal basis: inertias"
    inertias = finite_numbers(where, given, (count, 3, 3), error=ModelError)
    largest = np.abs(inertias).max(initial=0.0)
    if (
        np.abs(inertias - np.swapaxes(inertias, 1, 2)).max(initial=0.0) > SYMMETRIC * largest
        or (np.linalg.eigvalsh(inertias) < -SYMMETRIC * largest).any()
    ):
        raise ModelError(f"{where}: expected symmetric matrices (N, 3, 3), none negative")
    return inertias if largest else None


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


AT_NODE = 1e-4
"""How far a joint may be from its node, in parts of the largest distance between nodes."""
RIGID = 1e-3
"""A mode whose nodes are this near to a rigid motion, in parts of its size, is one: files have six
digits, and modes that deform the link differ from rigid motions by about their size."""
HELD = 1e-9
"""Nodes that move by less than this part of the largest displacement in every mode were held."""
ROTATES = 1e-6
"""Displacements below this part of the rotations times the extent are noise of modes of torsion."""
FITTED = 1e-6
"""Second-largest extent of the nodes of an interface below this part of the largest: they lie on
one line, and the rotation about it is not known."""


@dataclass(frozen=True, eq=False)
class ModalBasis:
    """A modal basis.

    Attributes
    ----------
    nodes : (N, 3) m, in the link's frame
    masses : (N,) kg, lumped at the nodes, 0 for nodes that only carry something; or a mass matrix
        (N, N) kg, or (3 N, 3 N) of x, y, z of each node in turn, the same in all directions
    displacement : (n, N, 3) of each node by unit modal coordinate, along the link's axes
    rotation : (n, N, 3) rad; nan for a node whose rotation is not known (nodes of solid elements),
        None if none is: nothing can be attached to such nodes
    stiffness : (n, n) modal stiffness; or (n,) the modes' frequencies in Hz, if they are orthogonal
        for these masses
    numbers : (N,) of the nodes, 1 or more, each once; None numbers them from 0
    inertias : (N, 3, 3) kg m², of the nodes against rotation, along the link's axes; None: none
    """

    nodes: Floats
    masses: Floats
    displacement: Floats
    rotation: Floats | None
    stiffness: Floats
    numbers: NDArray[np.int64] | None = None
    inertias: Floats | None = None

    def __post_init__(self) -> None:
        where = "modal basis: "
        nodes = finite_numbers(f"{where}nodes", self.nodes, error=ModelError)
        if nodes.ndim != 2 or nodes.shape[1:] != (3,) or len(nodes) < 2:
            raise ModelError(f"{where}nodes: expected (N, 3), two or more, got {nodes.shape}")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "numbers", node_numbers(self.numbers, len(nodes)))
        object.__setattr__(self, "masses", nodal_masses(self.masses, len(nodes)))
        if not self.length > 0.0:
            raise ModelError(f"{where}all nodes are at one point")
        count = len(np.atleast_1d(self.displacement))
        shape = (count, len(nodes), 3)
        shapes = finite_numbers(f"{where}displacement", self.displacement, shape, error=ModelError)
        object.__setattr__(self, "displacement", shapes)
        object.__setattr__(self, "rotation", nodal_rotations(self.rotation, shape))
        object.__setattr__(self, "inertias", nodal_inertias(self.inertias, len(nodes)))
        if self.inertias is not None and (self.inertias.any(axis=(1, 2)) & ~self.turns).any():
            raise ModelError(
                f"{where}inertias: of a node whose rotation is not known; leave it out"
            )
        K = finite_numbers(
            f"{where}stiffness", self.stiffness, (count,), (count, count), error=ModelError
        )
        if K.ndim == 1:
            if (K < 0.0).any():
                raise ModelError(
                    f"{where}frequencies: expected none below 0, got {K.min():g} Hz: so programs "
                    f"write those of modes that need no force to grow; leave them out"
                )
            M = self.mass_matrix()
            deforming = np.flatnonzero(K)
            check_orthogonal(where, M[np.ix_(deforming, deforming)], (deforming + 1).tolist())
            K = np.diag((2.0 * np.pi * K) ** 2 * np.diag(M))
        largest = np.abs(K).max(initial=0.0)
        if (
            not largest
            or np.abs(K - K.T).max() > SYMMETRIC * largest
            or not (np.linalg.eigvalsh(0.5 * (K + K.T))[0] >= -SYMMETRIC * largest)
        ):
            raise ModelError(
                f"{where}stiffness: expected a symmetric matrix that is positive definite (or has "
                f"zeros of rigid motions), or frequencies from 0"
            )
        object.__setattr__(self, "stiffness", 0.5 * (K + K.T))

    @property
    def _ids(self) -> NDArray[np.int64]:
        assert self.numbers is not None
        return self.numbers

    @property
    def _turn(self) -> Floats:
        assert self.rotation is not None
        return self.rotation

    @property
    def length(self) -> float:
        """Largest extent, m."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    @property
    def mass(self) -> float:
        """Mass of the link, kg."""
        return float(self.masses.sum())

    @property
    def turns(self) -> NDArray[np.bool_]:
        """Whether the rotation of each node (N,) is known."""
        return np.asarray(np.isfinite(self._turn).all(axis=(0, 2)))

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Whether each node (N,) moves or rotates in any mode: the others were held."""
        size = np.abs(self.displacement).max(axis=(1, 2))
        sizes = np.where(size > 0.0, size, 1.0)[:, None, None]
        moved = np.abs(self.displacement / sizes).max(axis=(0, 2))
        turned = np.nan_to_num(np.abs(self._turn / sizes)).max(axis=(0, 2)) * self.length
        return np.asarray(np.maximum(moved, turned) > HELD)

    def mass_matrix(self) -> Floats:
        """Return the modal masses (n, n) of the modes as they are given."""
        M = np.einsum("ani,bni->ab", self.displacement, self.weighted(self.displacement))
        if self.inertias is not None:
            heavy = self.inertias.any(axis=(1, 2))
            turn = self._turn[:, heavy]
            M = M + np.einsum("ani,nij,bnj->ab", turn, self.inertias[heavy], turn)
        return np.asarray(0.5 * (M + M.T))

    def rigid_modes(self) -> NDArray[np.bool_]:
        """Return which modes (n,) move the link as a rigid body."""
        known = self.turns
        fields = np.zeros((6, len(self.nodes) + int(known.sum()), 3))
        arms = self.nodes - self.nodes.mean(axis=0)
        for k in range(3):
            fields[k, : len(arms), k] = 1.0
            fields[3 + k, : len(arms)] = np.cross(np.eye(3)[k], arms) / self.length
            fields[3 + k, len(arms) :, k] = 1.0
        turns = self._turn[:, known] * self.length
        shapes = np.concatenate([self.displacement, turns], axis=1)
        columns, basis = shapes.reshape(len(shapes), -1).T, fields.reshape(6, -1).T
        rest = columns - basis @ np.linalg.lstsq(basis, columns, rcond=None)[0]
        sizes = np.linalg.norm(columns, axis=0)
        return np.asarray(np.linalg.norm(rest, axis=0) <= RIGID * sizes)

    def weighted(self, shapes: Floats) -> Floats:
        """Return shapes (B, N, 3) times masses: nodal forces by unit acceleration."""
        if self.masses.ndim == 1:
            return np.asarray(shapes * self.masses[:, None])
        return np.asarray(np.einsum("nm,bmj->bnj", self.masses, shapes))

    def row(self, number: float) -> int:
        """Return the place of a node in the arrays, by its number."""
        return int(np.flatnonzero(self._ids == number)[0])

    def place(self, point: ArrayLike) -> float:
        """Return the number of the node at a point of the link."""
        point = np.asarray(point)
        far = np.linalg.norm(self.nodes - point, axis=1)
        # several nodes may be at one point: the one that something can be attached to
        nearest = int(np.lexsort((~self.turns, far > far.min() + AT_NODE * self.length))[0])
        if far[nearest] <= AT_NODE * self.length:
            return float(self._ids[nearest])
        raise ModelError(
            f"modal basis: no node at {point.round(6).tolist()}, where something is attached; the "
            f"nearest, {self.nodes[nearest].round(6).tolist()}, is {far[nearest]:.3g} m away. "
            f"Attach it there, or add a node (with_interface)" + self._unit_hint(point)
        )

    def _unit_hint(self, point: Floats) -> str:
        for factor, unit in ((1e3, "mm"), (39.37007874, "inches")):
            far = np.linalg.norm(self.nodes - factor * point, axis=1).min()
            if np.any(point) and far <= AT_NODE * self.length:
                return f". There is one in {unit}: are the nodes in {unit}? State the unit"
        return ""

    def point(self, x: float) -> Floats:
        """Return where a node is in the link, not deformed."""
        return np.asarray(self.nodes[self.row(x)])

    def far_end(self, root: float) -> float:
        """Return the node that is farthest from another, of those with a known rotation."""
        far = np.linalg.norm(self.nodes - self.point(root), axis=1)
        return float(self._ids[np.where(self.turns & self.moving, far, -1.0).argmax()])

    def same(self, x: float, y: float) -> bool:
        """Return whether two places are one node."""
        return x == y

    def check_place(self, where: str, x: float) -> None:
        """Refuse what is no node's number."""
        if x not in self._ids:
            low, high = self._ids.min(), self._ids.max()
            raise ModelError(f"{where}: expected the number of a node ({low} to {high}), got {x:g}")

    def moved(self, xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> ModalBasis:
        """Return the basis with the axes of its program placed in the link's frame.

        Parameters
        ----------
        xyz, rpy : (3,) m, rad: origin and axes of the program's frame in the link's frame
        """
        R = matrix_from_rpy(*finite_numbers("rpy", rpy, (3,), error=ModelError))
        turn = None if self.inertias is None else R @ self.inertias @ R.T
        return replace(
            self,
            nodes=self.nodes @ R.T + finite_numbers("xyz", xyz, (3,), error=ModelError),
            displacement=self.displacement @ R.T,
            rotation=self._turn @ R.T,
            inertias=turn,
        )

    def with_interface(
        self, point: ArrayLike, nodes: Sequence[int], number: int | None = None
    ) -> ModalBasis:
        """Return the basis with one more node, without mass, that follows other nodes.

        Its displacement and rotation are those of the rigid body that fits these nodes'
        displacements best (least squares; what RBE3 elements with equal weights do); with one node
        whose rotation is known, it is fixed to that node by a rigid arm.

        Parameters
        ----------
        point : (3,) m, in the link's frame
        nodes : their numbers
        number : of the new node; None takes the one after the largest
        """
        point = finite_numbers("interface: point", point, (3,), error=ModelError)
        for node in nodes:
            self.check_place("interface: nodes", node)
        number = int(self._ids.max()) + 1 if number is None else number
        rows = [self.row(node) for node in nodes]
        if len(rows) == 1:
            if not self.turns[rows[0]]:
                raise ModelError(
                    f"interface at one node, {nodes[0]}, whose rotation is not known: give three "
                    f"nodes or more that are not on one line"
                )
            turn = self._turn[:, rows[0]]
            move = self.displacement[:, rows[0]] + np.cross(turn, point - self.nodes[rows[0]])
        else:
            arms = self.nodes[rows] - point
            extents = np.linalg.svd(arms - arms.mean(axis=0))[1]
            if len(rows) < 3 or extents[1] <= FITTED * extents[0]:
                raise ModelError(
                    f"interface at nodes {list(nodes)!r:.80}: they lie on one line, and the "
                    f"rotation about it is not known; give three nodes or more that do not"
                )
            system = np.zeros((len(rows), 3, 6))
            system[:, :, :3] = np.eye(3)
            for k in range(3):  # u = move + turn × arm
                system[:, :, 3 + k] = np.cross(np.eye(3)[k], arms)
            wanted = self.displacement[:, rows].reshape(len(self.displacement), -1)
            fit = np.asarray(np.linalg.lstsq(system.reshape(-1, 6), wanted.T, rcond=None)[0].T)
            move, turn = fit[:, :3], fit[:, 3:]
        masses = np.pad(self.masses, [(0, 1)] * self.masses.ndim)
        none = None if self.inertias is None else np.pad(self.inertias, [(0, 1), (0, 0), (0, 0)])
        return ModalBasis(
            np.vstack([self.nodes, point]),
            masses,
            np.concatenate([self.displacement, move[:, None]], axis=1),
            np.concatenate([self._turn, turn[:, None]], axis=1),
            self.stiffness,
            np.append(self._ids, number),
            none,
        )

    def natural(self, count: int | None = None) -> ModalBasis:
        """Return the basis of the natural modes of these modes' span, without rigid motions.

        Static modes of interfaces (Craig-Bampton) move the link as a whole too, all together; this
        takes these motions out and leaves the natural modes of the free link, the lowest first.

        Parameters
        ----------
        count : how many modes to keep; None for all
        """
        M, K = self.mass_matrix(), self.stiffness
        size = np.sqrt(np.diag(M))
        if not (size > 0.0).all():
            raise ModelError(
                "modal basis: a mode without mass has no natural frequency; leave it out"
            )
        omega, vectors = lowest(M / np.outer(size, size), K / np.outer(size, size), len(M))
        combined = self.combined(vectors / size[:, None], np.diag(omega**2))
        return combined.pick(np.flatnonzero(~combined.rigid_modes())[:count])

    def combined(self, columns: Floats, stiffness: Floats) -> ModalBasis:
        """Return the basis of combinations (n, m) of the modes, of this stiffness (m, m), each
        scaled to a largest displacement of 1; to a largest rotation of 1 if it only rotates nodes.
        """
        shapes = np.einsum("kni,kj->jni", self.displacement, columns)
        largest = np.abs(shapes).max(axis=(1, 2))
        turns = np.einsum("kni,kj->jni", self._turn[:, self.turns], columns)
        turned = np.abs(turns).max(axis=(1, 2), initial=0.0)
        largest = np.where(largest > ROTATES * self.length * turned, largest, turned)
        scale = 1.0 / np.where(largest > 0.0, largest, 1.0)
        return replace(
            self,
            displacement=shapes * scale[:, None, None],
            rotation=np.einsum("kni,kj->jni", self._turn, columns) * scale[:, None, None],
            stiffness=stiffness * np.outer(scale, scale),
        )

    def scaled(self) -> ModalBasis:
        """Return the basis with each mode scaled as in `combined`."""
        return self.combined(np.eye(len(self.stiffness)), self.stiffness)

    def pick(self, modes: ArrayLike) -> ModalBasis:
        """Return the basis with some of its modes, by their places from 0."""
        rows = np.asarray(modes, dtype=int)
        if not len(rows):
            raise ModelError("modal basis: no mode is left that deforms the link")
        return replace(
            self,
            displacement=self.displacement[rows],
            rotation=self._turn[rows],
            stiffness=self.stiffness[np.ix_(rows, rows)],
        )

    def tangent_at(self, root: float) -> tuple[Floats, Floats]:
        """Return displacement and rotation (n, N, 3) without the motion of the root node."""
        r = self.row(root)
        turn = self._turn[:, r]
        arms = self.nodes - self.nodes[r]
        rigid = self.displacement[:, None, r] + np.cross(turn[:, None], arms[None])
        return self.displacement - rigid, self._turn - turn[:, None]
