"""What files say of modes, in their own units, the modal basis that it makes; tables of modes."""

from __future__ import annotations

import contextlib
import operator
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, ModelError, count, one_of, some
from mbd_bridge.files.tables import Column, ColumnTable, TableWriter, check_output, read_table
from mbd_bridge.files.whole_file import whole_path
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


# Our own table of modes, as CSV or npz, read and written.
#
# CSV (or any table that `files.tables` reads): a row for each node in each mode, modes one below
# the other.
#
#     mode, frequency [Hz], node, x, y, z, mass, ux, uy, uz, rx, ry, rz
#
# ``rx``, ``ry``, ``rz`` may be left out: rotations are not known then; or `rotation_known` (0 or
# 1) says at which nodes. ``modal_mass`` may be given, to check masses. ``ixx``, ``iyy``, ``izz``,
# ``ixy``, ``ixz``, ``iyz`` (elements of the matrix) are rotary inertias of nodes.
#
# npz: the arrays of `ModalBasis` under their names (`stiffness`, or `frequencies` in Hz), all of
# one system of units; `rotation`, `numbers` and `inertias` may be left out.

PLACE, MOVE, TURN = ("x", "y", "z"), ("ux", "uy", "uz"), ("rx", "ry", "rz")
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
NEEDED = ("mode", "frequency", "node", *PLACE, "mass", *MOVE)
KNOWN = (*NEEDED, *TURN, *INERTIA, "rotation_known", "modal_mass")
NPZ_ARRAYS = (
    "nodes", "masses", "displacement", "rotation", "stiffness", "frequencies", "numbers", "inertias"
)  # fmt: skip
MAX_BYTES = 2**31
"""Largest arrays that are read, 2 GB."""
DIAGONAL = 1e-9
"""Coupling of modes by their stiffness below this is rounding."""


def read_table_of_modes(path: str, unit: UnitSystem) -> RawModes:
    """Return the modes in a table."""
    table = read_table(path)
    for name in NEEDED:
        table.column(name)
    unknown = [name for name in table.names if name not in KNOWN]
    if unknown:
        raise FileError(
            f"has columns that a table of modes has not: {', '.join(unknown[:5])}; known are "
            f"{', '.join(KNOWN)}",
            path,
        )
    turns = [name for name in TURN if name in table.names]
    if turns and len(turns) < 3:
        raise FileError(f"has {', '.join(turns)} alone; give {', '.join(TURN)}, or none", path)
    _check_headings(table, unit)
    labels, counts = np.unique(table.column("mode"), return_counts=True)
    numbers = table.column("node")[table.column("mode") == labels[0]]
    order = np.lexsort((table.column("node"), table.column("mode")))
    if (counts != len(numbers)).any() or len(np.unique(numbers)) < len(numbers):
        raise FileError("has modes at different nodes; give each node once in every mode", path)
    shape = (len(labels), len(numbers))

    def array(*names: str) -> Floats:
        columns = [table.column(name)[order].reshape(shape) for name in names]
        return np.stack(columns, axis=-1)

    for name in ("node", *PLACE, "mass", *(n for n in INERTIA if n in table.names)):
        if np.ptp(array(name), axis=0).any():
            raise FileError(
                f"column {name} differs from mode to mode; nodes have one number, place and mass",
                path,
            )
    for name in ("frequency", "modal_mass"):
        if name in table.names and np.ptp(array(name), axis=1).any():
            raise FileError(f"column {name} differs within a mode; a mode has one", path)
    if (labels != np.round(labels)).any() or (numbers != np.round(numbers)).any():
        raise FileError("columns mode and node: expected whole numbers", path)
    rotation = array(*TURN) if turns else np.full((*shape, 3), np.nan)
    if "rotation_known" in table.names:
        rotation[:, array("rotation_known")[0, :, 0] == 0.0] = np.nan
    inertias = None
    if "ixx" in table.names:
        xx, yy, zz, xy, xz, yz = array(*INERTIA)[0].T
        inertias = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
    return RawModes(
        path,
        array("node")[0, :, 0].astype(np.int64),
        array(*PLACE)[0],
        array(*MOVE),
        rotation,
        array("frequency")[:, 0, 0],
        modal_mass=array("modal_mass")[:, 0, 0] if "modal_mass" in table.names else None,
        masses=array("mass")[0, :, 0],
        inertias=inertias,
        labels=tuple(int(label) for label in labels),
    )


def read_arrays(path: str) -> RawModes:
    """Return the modes in an npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise FileError(f"holds more than {MAX_BYTES} bytes", path)
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Floats] = {}
            for name in file.files:
                values = file[name]
                if values.dtype.kind not in "fiu":
                    raise FileError(f"array {name!r}: expected numbers, got {values.dtype}", path)
                arrays[name] = values.astype(np.float64)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as problem:
        raise FileError(f"cannot be read: {problem}", path) from None
    missing = [name for name in ("nodes", "masses", "displacement") if name not in arrays]
    unknown = [name for name in arrays if name not in NPZ_ARRAYS]
    if missing or unknown or ("stiffness" in arrays) == ("frequencies" in arrays):
        raise FileError(
            f"expected the arrays nodes, masses, displacement and either stiffness or frequencies "
            f"(and rotation, numbers, inertias), got {', '.join(arrays) or 'none'}",
            path,
        )
    move = np.asarray(arrays["displacement"])
    if move.ndim != 3 or arrays["nodes"].ndim != 2:
        raise FileError("expected nodes (N, 3) and displacement (n, N, 3)", path)
    count = len(arrays["nodes"])
    return RawModes(
        path,
        np.asarray(arrays.get("numbers", np.arange(count))).astype(np.int64),
        arrays["nodes"],
        move,
        arrays.get("rotation", np.full(move.shape, np.nan)),
        arrays.get("frequencies"),
        arrays.get("stiffness"),
        masses=arrays["masses"],
        inertias=arrays.get("inertias"),
        labels=tuple(range(1, len(move) + 1)),
    )


def write_arrays(basis: ModalBasis, path: str) -> None:
    """Write a modal basis as npz."""
    arrays = {name: getattr(basis, name) for name in NPZ_ARRAYS if name != "frequencies"}
    present = {name: value for name, value in arrays.items() if value is not None}
    with whole_path(path) as near, near.open("wb") as file:
        np.savez(file, **present)


def write_table_of_modes(basis: ModalBasis, path: str | os.PathLike[str]) -> None:
    """Write a modal basis of natural modes as a table: CSV, Parquet, HDF5, by the suffix."""
    check_output(path)
    name, K, M = os.fspath(path), basis.stiffness, basis.mass_matrix()
    size = np.sqrt(np.diag(K))
    coupled = np.abs(K / np.outer(size, size) - np.eye(len(K))).max() > DIAGONAL
    if coupled or basis.masses.ndim > 1 or basis.inertias is not None:
        raise FileError(
            "a table holds natural modes with lumped masses; write .npz, which holds stiffness "
            "and mass matrices and inertias too",
            name,
        )
    hertz = np.sqrt(np.diag(K) / np.diag(M)) / (2.0 * np.pi)
    count, known = len(basis.nodes), basis.turns
    assert basis.numbers is not None
    assert basis.rotation is not None
    blocks = [
        np.column_stack(
            [
                np.full(count, k + 1.0), np.full(count, hertz[k]), basis.numbers, basis.nodes,
                basis.masses, basis.displacement[k], np.nan_to_num(basis.rotation[k]), known,
            ]
        )
        for k in range(len(K))
    ]  # fmt: skip
    columns = [Column("mode"), Column("frequency", "Hz"), Column("node")]
    columns += [Column(name, "m") for name in PLACE] + [Column("mass", "kg")]
    columns += [Column(name) for name in (*MOVE, *TURN, "rotation_known")]
    with TableWriter(path, columns) as writer:
        writer.append(np.vstack(blocks))


def _check_headings(table: ColumnTable, unit: UnitSystem) -> None:
    """Refuse units in headings that are not those stated."""
    words = dict.fromkeys(PLACE, unit.length_word) | {"mass": unit.mass_word, "frequency": "Hz"}
    for column in table.columns:
        expected = words.get(column.name)
        if expected is not None and column.unit not in (None, expected):
            raise FileError(
                f"column {column.name} is in {column.unit}, but the unit stated has {expected}; "
                f"state the right one",
                table.source,
            )
