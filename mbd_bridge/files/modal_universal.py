"""Modes of universal files, by pyuff: nodes (dataset 15, 2411), modes (55, 2414), units (164)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.raw_modes import Floats, RawModes, UnitSystem, joined, no_rotation

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
