"""Mass integrals of a flexible link, once: all that its equations need of its shapes.

A point of the link, in its frame, is  ρ = Σ_b α_b(η) β_b,  with shapes β and amplitudes α:

    β_0 = s         α_0 = 1               the undeformed link
    β_k = φ_k       α_k = η_k             the modes
    β_kl = ψ_kl     α_kl = η_k η_l        k < l, half of it for k = l, with `stiffening`:
                                          ψ_kl = -e_x ∫ f_k' f_l' dx, the shortening of a bent axis

    first_b = ∫ β_b dm  (3,) kg m          second_ab = ∫ β_a β_bᵀ dm  (3, 3) kg m²

A slice of a beam has β = u + θ × d at the distance d from the axis, so that rotary inertia and
torsion are in `second`. Everything else follows from the two (`equations.flexible`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.basis import basis, matrices, nodes_of
from mbd_bridge.model.flexible.beam import Beam
from mbd_bridge.model.flexible.finite_element import ShapeMode, gauss, intervals, lowest, running
from mbd_bridge.model.flexible.link import Damping, FlexibleLink
from mbd_bridge.model.flexible.modal_basis import ROTATES, ModalBasis

# Whether a modal basis fits its attachments: the joint that carries it, other joints, stations.

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


NOISE = 1e-13
"""Entries below this, relative to what they could be at most, are rounding of zeros."""


class MassIntegrals(NamedTuple):
    """Mass (kg), first (b, 3) and second (b, b, 3, 3) moments of the shapes; `pairs` (k, l) of the
    quadratic shapes, which stand behind the n modes.
    """

    mass: float
    first: Floats
    second: Floats
    pairs: tuple[tuple[int, int], ...]


class StationShape(NamedTuple):
    """What the modes do at a place: displacement (3, n), rotation (3, n) per unit coordinate, and
    shortening (n, n, 3), so that u = displacement η + ηᵀ shortening η / 2.
    """

    displacement: Floats
    rotation: Floats
    shortening: Floats


class Deformation(NamedTuple):
    """A flexible link in its own frame.

    Attributes
    ----------
    integrals : of its mass
    stiffness, damping : (n, n)
    lengths : which modal coordinates are in m, the others in rad
    shapes : what the modes do at each station
    """

    integrals: MassIntegrals
    stiffness: Floats
    damping: Floats
    lengths: tuple[bool, ...]
    shapes: tuple[StationShape, ...]


def deformation(flexible: FlexibleLink, root: float, stations: Sequence[float]) -> Deformation:
    """Return mass integrals, stiffness and damping of a link, and its modes at stations."""
    if isinstance(flexible.beam, ModalBasis):
        return _of_nodes(flexible.beam, flexible.damping, root, stations)
    modes = basis(flexible, flexible.beam, root, stations)
    M, K = matrices(flexible.beam, modes)
    return Deformation(
        mass_integrals(flexible.beam, modes, root, stiffening=flexible.stiffening),
        cleaned(K),
        cleaned(damping_matrix(flexible.damping, M, K)),
        tuple(mode.direction != "torsion" for mode in modes),
        tuple(
            station_shape(flexible.beam, modes, root, x, stiffening=flexible.stiffening)
            for x in stations
        ),
    )


def node_slices(basis: ModalBasis, root: float) -> Slices:
    """Return the nodes of a modal basis; their mass is a matrix (N, N) if it is one there."""
    shapes, turns = basis.tangent_at(root)
    count, nodes = 1 + len(shapes), len(basis.nodes)
    second = np.zeros((nodes, 3, 3))
    if basis.inertias is not None:
        trace = np.trace(basis.inertias, axis1=1, axis2=2)
        second = 0.5 * trace[:, None, None] * np.eye(3) - basis.inertias
    turn = np.zeros((count, nodes, 3, 3))
    turn[0] = np.eye(3)
    turn[1:] = _skews(np.nan_to_num(turns).reshape(-1, 3)).reshape(-1, nodes, 3, 3)
    u = np.concatenate([basis.nodes[None], shapes])
    return Slices(u, turn, basis.masses, second, ())


def _of_nodes(
    basis: ModalBasis, damping: Damping, root: float, stations: Sequence[float]
) -> Deformation:
    """Return the same of a modal basis: sums over its nodes."""
    check_attached(basis, root, stations)
    shapes, turns = basis.tangent_at(root)
    u = np.concatenate([basis.nodes[None], shapes])
    weighted = basis.weighted(u)
    first, second = weighted.sum(axis=1), np.einsum("ani,bnj->abij", u, weighted)
    node_masses = node_slices(basis, root)
    second += np.einsum(
        "anij,njk,bnlk->abil", node_masses.turn, node_masses.second, node_masses.turn
    )
    M = np.trace(second[1:, 1:], axis1=2, axis2=3)
    check_modes(basis, M)
    none = np.zeros((len(shapes), len(shapes), 3))
    moved, turned = (np.nan_to_num(np.abs(part)).max(axis=(1, 2)) for part in (shapes, turns))
    at = [(shapes[:, row].T, turns[:, row].T) for row in map(basis.row, stations)]
    return Deformation(
        MassIntegrals(basis.mass, first, second, ()),
        basis.stiffness,
        damping_matrix(damping, M, basis.stiffness),
        tuple((moved > ROTATES * basis.length * turned).tolist()),
        tuple(StationShape(moved, turned, none) for moved, turned in at),
    )


class Slices(NamedTuple):
    """A link as slices of mass: positions (b, L, 3) and orientations (b, L, 3, 3) of the shapes in
    the link's frame, mass (L,) kg, second moments (L, 3, 3) kg m² in the slices' own axes.

    A point of slice l at the distance d has the shapes β = u + turn d.
    """

    u: Floats
    turn: Floats
    mass: Floats
    second: Floats
    pairs: tuple[tuple[int, int], ...]


def slices(
    beam: Beam,
    modes: tuple[ShapeMode, ...],
    root: float,
    between: tuple[float, float],
    *,
    stiffening: bool,
) -> Slices:
    """Return the slices of a part of a beam at its Gauss points.

    Parameters
    ----------
    between : m along the beam: of this part only
    """
    low, high = between
    places = _places(beam, modes, root, low, high)
    x, weight = gauss(places)
    inside = (x > low) & (x < high)
    section, frame = beam.at(x), beam.frame()
    pairs = quadratic_pairs(modes) if stiffening else ()
    count = 1 + len(modes) + len(pairs)
    u, turn = np.zeros((count, len(x), 3)), np.zeros((count, len(x), 3, 3))
    along = frame.rotation[:, 0]
    u[0] = frame.translation + x[:, None] * along
    turn[0] = frame.rotation
    for k, mode in enumerate(modes, start=1):
        u[k] = mode.displacement(x) @ frame.rotation.T
        turn[k] = frame.rotation @ _skews(mode.rotation(x))
    for k, (i, j) in enumerate(pairs, start=1 + len(modes)):
        u[k] = _shortening(modes[i], modes[j], places, root)[0][:, None] * along
    second = np.zeros((len(x), 3, 3))
    second[:, 1, 1], second[:, 2, 2] = weight * section.rotary_z, weight * section.rotary_y
    return Slices(
        u[:, inside], turn[:, inside], (weight * section.mass)[inside], second[inside], pairs
    )


def mass_integrals(
    beam: Beam,
    modes: tuple[ShapeMode, ...],
    root: float,
    between: tuple[float, float] | None = None,
    *,
    stiffening: bool,
) -> MassIntegrals:
    """Return the mass integrals of modes, in the link's frame.

    Parameters
    ----------
    between : m along the beam: of this part only
    """
    part = (0.0, beam.length) if between is None else between
    part_slices = slices(beam, modes, root, part, stiffening=stiffening)
    first = np.einsum("ani,n->ai", part_slices.u, part_slices.mass)
    second = np.einsum("ani,bnj,n->abij", part_slices.u, part_slices.u, part_slices.mass)
    second += np.einsum(
        "anij,njk,bnlk->abil", part_slices.turn, part_slices.second, part_slices.turn
    )
    sizes = np.sqrt(np.einsum("aaii->a", second))
    total = float(part_slices.mass.sum())
    first[np.abs(first) < NOISE * np.sqrt(total) * sizes[:, None]] = 0.0
    second[np.abs(second) < NOISE * np.outer(sizes, sizes)[:, :, None, None]] = 0.0
    return MassIntegrals(total, first, second, part_slices.pairs)


def quadratic_pairs(modes: tuple[ShapeMode, ...]) -> tuple[tuple[int, int], ...]:
    """Return the pairs k <= l of modes that shorten the axis together: bent in one plane."""
    return tuple(
        (k, j)
        for k, a in enumerate(modes)
        for j in range(k, len(modes))
        if a.bends and modes[j].direction == a.direction
    )


def station_shape(
    beam: Beam, modes: tuple[ShapeMode, ...], root: float, x: float, *, stiffening: bool
) -> StationShape:
    """Return what the modes do at x, m along the beam, in the link's frame."""
    at, R, n = np.array([x]), beam.frame().rotation, len(modes)
    displacement = np.column_stack([R @ mode.displacement(at)[0] for mode in modes])
    rotation = np.column_stack([R @ mode.rotation(at)[0] for mode in modes])
    shortening = np.zeros((n, n, 3))
    if stiffening:
        places = _places(beam, modes, root, x)
        here = int(np.abs(places - x).argmin())
        for i, j in quadratic_pairs(modes):
            shortening_of_pair = _shortening(modes[i], modes[j], places, root)[1][here] * R[:, 0]
            shortening[i, j] = shortening[j, i] = shortening_of_pair
    return StationShape(cleaned(displacement), cleaned(rotation), cleaned(shortening))


def damping_matrix(damping: Damping, M: Floats, K: Floats) -> Floats:
    """Return D (n, n): α M + β K + M V diag(2 ζ ω) Vᵀ M with the natural modes V."""
    D = damping.alpha * M + damping.beta * K
    if damping.ratio:
        size = np.sqrt(np.diag(M))
        with np.errstate(over="ignore"):  # then it says so
            scaled = M / np.outer(size, size), K / np.outer(size, size)
        omega, V = lowest(*scaled, len(M))
        MV = M @ (V / size[:, None])
        D = D + MV @ np.diag(2.0 * damping.ratio * omega) @ MV.T
    return np.asarray(0.5 * (D + D.T))


def _places(beam: Beam, modes: tuple[ShapeMode, ...], *more: float) -> Floats:
    """Return places between which everything is smooth, with `more` among them."""
    nodes = (nodes_of(mode.function) for mode in modes)
    return intervals(beam.breaks, *nodes, np.array(more))


def _shortening(a: ShapeMode, b: ShapeMode, places: Floats, root: float) -> tuple[Floats, Floats]:
    """Return -∫ f_a' f_b' from the root to each Gauss point, and to each place."""
    x, _ = gauss(places)
    points, ends = running(places, a.function.at(x).f1 * b.function.at(x).f1)
    start = ends[int(np.abs(places - root).argmin())]
    return start - points, start - ends


def _skews(vectors: Floats) -> Floats:
    out = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -z, y, -x
    out[:, 1, 0], out[:, 2, 0], out[:, 2, 1] = z, -y, x
    return out


def cleaned(matrix: Floats) -> Floats:
    """Return a matrix whose rounding is zero."""
    largest = np.abs(matrix).max(initial=0.0)
    return np.where(np.abs(matrix) < NOISE * largest, 0.0, matrix)
