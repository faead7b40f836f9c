"""Modal bases from files: our own table, Nastran (OP2 and BDF), universal files."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, file_path
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, ModelError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.modal_nastran import MODELS, read_nastran
from mbd_bridge.files.raw_modes import RawModes, UnitSystem, joined, no_rotation, unit_system
from mbd_bridge.files.table import reading
from mbd_bridge.files.tables import Column, ColumnTable, TableWriter, check_output, read_table
from mbd_bridge.files.whole_file import whole_path
from mbd_bridge.model.flexible import ModalBasis

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


# Modes of universal files, by pyuff: nodes (dataset 15, 2411), modes (55, 2414), units (164).

NODES, MODES = (15, 2411), (55, 2414)
UNITS, SYSTEMS = 164, (18, 2420)
RESPONSES = 58
NORMAL_MODE = 2
"""The analysis type of normal modes."""
SIX, THREE = 3, 2
"""Data characteristics: translations and rotations; translations."""
REAL = (2, 4)
"""Data types of real numbers, single and double."""
SAME_UNIT = 1e-3
"""How much a unit of length may differ from the stated one, relative."""
UNREADABLE = (RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError)
"""What pyuff raises on files that it cannot read."""


def read_universal(path: str, unit: UnitSystem) -> RawModes:
    """Return the modes of a universal file; it says nothing of nodal masses."""
    pyuff = needed("pyuff", f"{path}: universal files need pyuff", "mbd_bridge[modal]")
    try:
        file = pyuff.UFF(path)
        kinds = [int(kind) for kind in file.get_set_types()]
        wanted = (*NODES, *MODES, UNITS, *SYSTEMS)
        sets = [file.read_sets(k) for k, kind in enumerate(kinds) if kind in wanted]
    except UNREADABLE as problem:
        raise FileError(
            f"pyuff cannot read it: {type(problem).__name__}: {str(problem).strip():.200}", path
        ) from None
    nodes = [item for item in sets if int(item["type"]) in NODES]
    modes = [item for item in sets if int(item["type"]) in MODES]
    modes = [item for item in modes if item["analysis_type"] == NORMAL_MODE]
    if not nodes or not modes:
        what = "nodes (dataset 15 or 2411)" if not nodes else "normal modes (dataset 55 or 2414)"
        hint = "; its responses (58) need a modal analysis first" if RESPONSES in kinds else ""
        raise FileError(f"has no {what}; it has datasets {sorted(set(kinds))}{hint}", path)
    _check_units([item for item in sets if int(item["type"]) == UNITS], unit, path)
    table = nodes[0]
    numbers = np.asarray(table["node_nums"]).astype(np.int64)
    where = np.column_stack([np.asarray(table[axis], dtype=np.float64) for axis in "xyz"])
    _check_systems(table, [item for item in sets if int(item["type"]) in SYSTEMS], path)
    read = [_mode(item, path) for item in modes]
    node_numbers = read[0][0]
    if any(not np.array_equal(item[0], node_numbers) for item in read):
        raise FileError("has modes at different nodes; write all of them at the same", path)
    rows = joined(numbers, node_numbers, "with modes, but without coordinates", path)
    shapes = np.array([item[1] for item in read])
    move, turn = shapes[..., :3], shapes[..., 3:]
    turn[:, no_rotation(move, turn)] = np.nan
    mass = np.array([item[3] for item in read])
    return RawModes(
        path,
        node_numbers,
        where[rows],
        move,
        turn,
        np.array([item[2] for item in read]),
        modal_mass=mass if mass.any() else None,
        labels=tuple(range(1, len(read) + 1)),
    )


def _mode(item: dict[str, Any], path: str) -> tuple[Any, Floats, float, float]:
    """Return node numbers, (N, 6), Hz and the modal mass of a mode."""
    numbers = np.asarray(item["node_nums"]).astype(np.int64)
    if int(item["type"]) == 55:
        kind, data = item.get("data_ch", item.get("data_characteristic")), item["data_type"]
        count = 6 if kind == SIX else 3
        columns = [np.asarray(item[f"r{k}"]) for k in range(1, count + 1)]
        hertz, mass = float(item["freq"]), float(item["modal_m"])
        values = np.column_stack(columns)
    else:
        kind, data = item["data_characteristic"], item["data_type"]
        hertz, mass = float(item["record12_field2"]), float(item["record12_field4"])
        values = np.array(item["data_at_node"])
    if kind not in (THREE, SIX) or data not in REAL or np.iscomplexobj(values):
        raise FileError(
            f"has a mode that is not real displacements of nodes (data characteristic {kind}, data "
            f"type {data}); write real modes with three or six components",
            path,
        )
    out = np.zeros((len(numbers), 6))
    out[:, : values.shape[1]] = values
    if kind == THREE:
        out[:, 3:] = np.nan
    return numbers, out, hertz, mass


def _check_units(units: list[dict[str, Any]], unit: UnitSystem, path: str) -> None:
    for unit_set in units:
        factor = float(unit_set["length"])  # units of the file in 1 m
        if abs(factor * unit.length - 1.0) > SAME_UNIT:
            raise FileError(
                f"says that 1 m is {factor:g} of its units "
                f"({str(unit_set['units_description']).strip()}), but the unit stated has lengths "
                f"in {unit.length_word}; state the right one",
                path,
            )


def _check_systems(table: dict[str, Any], systems: list[dict[str, Any]], path: str) -> None:
    """Refuse nodes with axes of their own."""
    local = set()
    for item in systems:
        if int(item["type"]) == 2420:
            labels, matrices = item["CS_sys_labels"], item["CS_matrices"]
            plain = np.vstack([np.eye(3), np.zeros(3)])
            local |= {
                int(label)
                for label, matrix in zip(labels, matrices, strict=True)
                if not np.allclose(matrix, plain, atol=1e-9)
            }
        else:
            origins, points = np.atleast_2d(item["ref_o"]), np.atleast_2d(item["x_point"])
            for label, o, x, xz in zip(
                np.atleast_1d(item["cs_num"]), origins, points, np.atleast_2d(item["xz_point"]),
                strict=True,
            ):  # fmt: skip
                x, xz = x - o, xz - o
                if o.any() or x[1] or x[2] or x[0] <= 0.0 or xz[1] or xz[2] <= 0.0:
                    local.add(int(label))
    for key in ("def_cs", "disp_cs"):
        used = {int(label) for label in np.atleast_1d(table[key])} & local
        if used:
            raise FileError(
                f"has nodes in coordinate systems of their own ({sorted(used)[:5]}), which are not "
                f"read; write coordinates and modes along the global axes",
                path,
            )


__all__ = ["load_modal_basis", "save_modal_basis"]

NASTRAN, UNIVERSAL, ARRAYS = (".op2",), (".uff", ".unv"), ".npz"
DECK = re.compile(rb"^\s*(SOL[\s,]|CEND|BEGIN|GRID[\s,*]|PARAM[\s,*])", re.I | re.M)
"""What stands at the beginning of a line in Nastran's models, and in no table."""
LOOKED_AT = 2**16
"""Bytes at the beginning of a model in which this is looked for."""


def load_modal_basis(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    unit: str = "SI",
    modes: int | Iterable[int] | None = None,
    masses: ArrayLike | Mapping[int, float] | None = None,
    xyz: ArrayLike = (0, 0, 0),
    rpy: ArrayLike = (0, 0, 0),
) -> ModalBasis:
    """Return the modal basis in a file, in SI units, modes scaled to a largest displacement of 1.

    Rigid motions of the link are left out: joints provide them.

    Parameters
    ----------
    path : .op2 of Nastran (eigenvectors of SOL 103), .uff or .unv (universal file), .npz (arrays
        of `ModalBasis`), or a table (.csv, .parquet, ...): see the page "Flexible links"
    model : of an .op2: the bulk data with GRID cards and masses; None takes NAME.bdf (.dat, ...)
        beside it
    unit : of the file: "SI", "mm-t" (mm, t, N, MPa), "mm-kg" (mm, kg, mN, kPa) or "in-lbf"
    modes : how many of those that deform the link, the first ones; or their numbers in the file;
        None takes all
    masses : of the nodes, in the file's unit: one number, spread evenly over them; one for each; or
        by number of node. None: what the file says (universal files say nothing)
    xyz, rpy : (3,) m, rad: where the file's axes are in the link's frame
    """
    name, system = file_path("path", path), unit_system(unit)
    raw = _read(name, None if model is None else file_path("model", model), system)
    if masses is not None:
        raw = raw.with_masses(masses)
    try:
        return raw.basis(system, modes).moved(xyz, rpy)
    except ModelError as problem:
        raise FileError(str(problem), name) from None


def _read(name: str, model: str | None, system: UnitSystem) -> RawModes:
    suffix = Path(name).suffix.lower()
    if suffix in (*NASTRAN, *UNIVERSAL, ARRAYS):
        regular_file(name)
    if suffix in MODELS and _is_deck(name):
        stem = Path(name).stem
        raise FileError(
            f"this is a Nastran model, which has no modes; give the results of SOL 103 on it: "
            f"load_modal_basis('{stem}.op2', model='{Path(name).name}') (PARAM,POST,-1 in the "
            f"model makes Nastran write them)",
            name,
        )
    if model is not None and suffix not in NASTRAN:
        raise FileError(f"model={model!r} is for .op2 files; leave it out", name)
    if suffix in NASTRAN:
        return read_nastran(name, model)
    if suffix in UNIVERSAL:
        return read_universal(name, system)
    if suffix == ARRAYS:
        return read_arrays(name)
    return read_table_of_modes(name, system)


def _is_deck(name: str) -> bool:
    """Return whether a text begins as Nastran's bulk data do; a table may end with .dat, too."""
    regular_file(name)
    with reading(name, (OSError,), "the .op2 of a modal analysis"), open(name, "rb") as file:
        return DECK.search(file.read(LOOKED_AT)) is not None


def save_modal_basis(basis: ModalBasis, path: str | os.PathLike[str]) -> None:
    """Write a modal basis, in SI units.

    Parameters
    ----------
    path : .npz (all of it), or a table (.csv, .parquet, .h5) of natural modes with lumped masses
    """
    an_instance("basis", basis, ModalBasis, "mbd.flexible.ModalBasis(...)")
    name = file_path("path", path)
    if Path(name).suffix.lower() == ARRAYS:
        write_arrays(basis, name)
    else:
        write_table_of_modes(basis, name)
