"""What files say of modes, in their own units, and the modal basis that it makes."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, ModelError, count, one_of, some
from mbd_bridge.model.flexible import ModalBasis
from mbd_bridge.model.flexible.modal_basis import check_orthogonal

# Systems of units of finite-element models; time is in seconds in all of them.


class UnitSystem(NamedTuple):
    """A system of units: factors to m and kg, and the words for them."""

    length: float
    mass: float
    length_word: str
    mass_word: str


INCH = 0.0254
"""m."""
POUND_FORCE = 4.4482216152605
"""N."""

SYSTEMS = {
    "SI": UnitSystem(1.0, 1.0, "m", "kg"),
    "mm-t": UnitSystem(1e-3, 1e3, "mm", "t"),  # N, MPa
    "mm-kg": UnitSystem(1e-3, 1.0, "mm", "kg"),  # mN, kPa
    "in-lbf": UnitSystem(INCH, POUND_FORCE / INCH, "in", "lbf s^2/in"),
}


def unit_system(name: str) -> UnitSystem:
    """Return the system of a name: "SI", "mm-t" (mm, t, N), "mm-kg" (mm, kg, mN) or "in-lbf"."""
    return SYSTEMS[one_of("unit", name, SYSTEMS, ModelError)]


Whole = NDArray[np.int64]

FITS = 0.1
"""How much a mode's mass may differ between its file and the nodal masses: lumped masses of meshes
that resolve a mode are nearer."""


@dataclass(frozen=True, eq=False)
class RawModes:
    """Modes at nodes.

    Attributes
    ----------
    source : path of the file
    numbers, nodes : (N,), (N, 3) of the nodes
    displacement, rotation : (n, N, 3), rotation nan where it is not known
    frequencies : (n,) Hz; or `stiffness` (n, n), None: not known
    modal_mass : (n,), None: the file does not say
    masses : (N,) or a mass matrix; None: the file does not say
    inertias : (N, 3, 3) or None
    labels : (n,) numbers of the modes in the file
    """

    source: str
    numbers: Whole
    nodes: Floats
    displacement: Floats
    rotation: Floats
    frequencies: Floats | None
    stiffness: Floats | None = None
    modal_mass: Floats | None = None
    masses: Floats | None = None
    inertias: Floats | None = None
    labels: tuple[int, ...] = ()

    def with_masses(self, masses: ArrayLike | Mapping[int, float]) -> RawModes:
        """Return the modes with the masses that a user gives.

        Parameters
        ----------
        masses : one number, spread evenly over the nodes; (N,), one for each node; or by number
        """
        if isinstance(masses, Mapping):
            unknown = [n for n in masses if n not in self.numbers]
            if unknown:
                raise FileError(
                    f"masses: of nodes that have no modes: {some([str(n) for n in unknown], 8)}",
                    self.source,
                )
            nodal = np.array([masses.get(int(n), 0.0) for n in self.numbers])
        else:
            nodal = finite_numbers("masses", masses, error=FileError)
            if nodal.shape == ():
                nodal = np.full(len(self.numbers), float(nodal) / len(self.numbers))
        return replace(self, masses=nodal, inertias=None)

    def basis(self, unit: UnitSystem, modes: int | Iterable[int] | None) -> ModalBasis:
        """Return the modal basis: in SI units, without rigid motions, largest displacements 1.

        Parameters
        ----------
        modes : how many of those that deform the link, the first ones; or their numbers in the file
        """
        if self.masses is None:
            raise FileError(
                "says nothing of masses: give masses= (in all, spread evenly; for each node; or by "
                "number of node)",
                self.source,
            )
        K = np.zeros((len(self.displacement),) * 2)
        if self.stiffness is not None:
            K = self.stiffness * (unit.mass * unit.length**2)
        inertias = self.inertias
        basis = ModalBasis(
            self.nodes * unit.length,
            self.masses * unit.mass,
            self.displacement * unit.length,
            self.rotation,
            K + np.eye(len(K)) * (0.0 if self.stiffness is not None else 1.0),
            self.numbers,
            None if inertias is None else inertias * (unit.mass * unit.length**2),
        )
        M = np.diag(basis.mass_matrix())
        if self.frequencies is not None:
            lost = [self.labels[k] for k in np.flatnonzero(self.frequencies < 0.0)]
            if lost:
                raise FileError(
                    f"mode {lost[0]} has a frequency below 0, as programs write those of modes "
                    f"that need no force to grow; leave it out of the file",
                    self.source,
                )
            basis = replace(basis, stiffness=_diagonal((2 * np.pi * self.frequencies) ** 2 * M))
        self._check_masses(M / (unit.mass * unit.length**2))
        chosen = self._chosen(basis, modes)
        basis = basis.pick(chosen).scaled()
        if self.frequencies is not None:
            check_orthogonal("", basis.mass_matrix(), [self.labels[k] for k in chosen])
        return basis

    def _check_masses(self, nodal: Floats) -> None:
        if self.modal_mass is None:
            return
        for label, summed, mass in zip(self.labels, nodal, self.modal_mass, strict=True):
            if mass > 0.0 and abs(summed - mass) > FITS * mass:
                raise FileError(
                    f"mode {label} has a modal mass of {mass:.6g} in the file, but the nodal "
                    f"masses give {summed:.6g}: masses or nodes are missing, or these are not the "
                    f"masses of this model, or its mesh does not resolve the mode (choose others: "
                    f"modes=)",
                    self.source,
                )

    def _chosen(self, basis: ModalBasis, modes: int | Iterable[int] | None) -> Sequence[int]:
        deforming = [int(k) for k in np.flatnonzero(~basis.rigid_modes())]
        if modes is None:
            return deforming
        with contextlib.suppress(TypeError):  # a list of numbers is none
            number = operator.index(cast(int, modes))
            if not 1 <= number <= len(deforming):
                raise FileError(
                    f"modes: expected 1 to {len(deforming)}, which deform the link, got {number}",
                    self.source,
                )
            return deforming[:number]
        try:
            wanted = [operator.index(number) for number in cast(Iterable[int], modes)]
        except TypeError:
            raise FileError(
                f"modes: expected how many, or a list of their numbers, got {modes!r:.60}",
                self.source,
            ) from None
        for number in wanted:
            if number not in self.labels:
                raise FileError(
                    f"no mode {number!r:.60}: there are {some([str(n) for n in self.labels], 20)}",
                    self.source,
                )
            if self.labels.index(number) not in deforming:
                raise FileError(
                    f"mode {number} moves the link as a rigid body; joints do that: leave it out",
                    self.source,
                )
        if len(set(wanted)) < len(wanted):
            raise FileError(f"modes: expected each number once, got {wanted}", self.source)
        return [self.labels.index(number) for number in wanted]


def no_rotation(move: Floats, turn: Floats) -> NDArray[np.bool_]:
    """Return which nodes (N,) move but have rotations of exactly 0 in all modes: files have that of
    nodes of solid elements.
    """
    return np.asarray(move.any(axis=(0, 2)) & ~turn.any(axis=(0, 2)))


def joined(numbers: Whole, wanted: Whole, what: str, source: str) -> Whole:
    """Return where the nodes `wanted` are among `numbers`; refuse those that are not."""
    order = np.argsort(numbers)
    places = np.minimum(np.searchsorted(numbers[order], wanted), len(numbers) - 1)
    rows = order[places]
    missing = wanted[numbers[rows] != wanted]
    if len(missing):
        raise FileError(
            f"{count(len(missing), 'node')} {what}: {some([str(n) for n in missing], 8)}", source
        )
    return np.asarray(rows)


def _diagonal(values: Floats) -> Floats:
    # zeros of rigid motions are left out later: a basis of nothing but zeros is none
    return np.diag(values if values.any() else values + 1.0)
