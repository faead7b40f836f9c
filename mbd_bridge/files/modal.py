"""Links that bend, from files: ``NAME.flex.yaml``, modal bases of Nastran and universal files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
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
from mbd_bridge.files.raw_modes import (
    RawModes,
    UnitSystem,
    joined,
    no_rotation,
    read_arrays,
    read_table_of_modes,
    unit_system,
    write_arrays,
    write_table_of_modes,
)
from mbd_bridge.files.sidecars import beside
from mbd_bridge.files.table import reading
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.yaml_text import Node, read_yaml
from mbd_bridge.model.flexible import (
    Beam,
    Damping,
    FlexibleLink,
    ModalBasis,
    Modes,
    Section,
    SectionTable,
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


# ``NAME.flex.yaml`` beside ``NAME.urdf``: links that bend.
#
# ::
#
#     units: SI                       # m, kg, Pa, s, rad
#     links:
#       - link: upper_arm
#         beam:
#           start: [0, 0, 0]          # ends of its axis in the link's frame
#           end: [1.2, 0, 0]
#           y: [0, 1, 0]              # direction near which the section's y lies; may be left out
#           E: 70.0e9
#           G: 26.0e9
#           density: 2700
#           section: {tube: {outer: 0.08, inner: 0.07}}
#         modes: {kind: finite-element, bending_y: 2, bending_z: 2, torsion: 1}
#         damping: {ratio: 0.01}
#         stiffening: false
#         slope: true                 # whether what is attached turns with the section there
#         stations: {gauge: 0.4}      # m along the beam: links upper_arm.gauge
#
# Sections are ``rectangle: {width_y, width_z}``, ``circle: {diameter}``, ``tube: {outer, inner}``,
# ``i_profile: {height, width, flange, web}``, plain ``{A, Iy, Iz, J}``, or a table along the
# length: ``{x: [0, 1.2], A: [...], Iy: [...], Iz: [...], J: [...]}`` or ``{file: arm.csv}``, with
# these as columns of a table beside this file. The keys are the parameters of `FlexibleLink`,
# `Beam`, `Modes` and `Damping`, with their meanings, units and defaults. In the place of `beam` and
# `modes` stands ``modal_basis`` where modes come from a file beside it:
#
#     - link: arm
#       modal_basis:
#         file: arm.op2             # .op2, .uff, .unv, .npz or a table
#         model: arm.bdf            # of an .op2; may be left out if it has the same name
#         unit: mm-t                # SI, mm-t, mm-kg or in-lbf
#         modes: 6                  # the first 6 that deform the link, or [7, 8, 10]
#         masses: 1.5               # in all, spread evenly; or a list, one for each node
#         xyz: [0, 0, 0.1]          # where the file's axes are in the link's frame
#         rpy: [0, 0, 0]
#         interfaces:               # nodes that follow others, in the link's frame, m
#           - {at: [0.4, 0, 0], nodes: [12, 13, 17, 18], number: 1000}
#
# The keys are the parameters of `mbd.flexible.load_modal_basis` and `ModalBasis.with_interface`.

LINK_KEYS = ("link", "beam", "modal_basis", "modes", "damping", "stiffening", "slope", "stations")
PLAIN = ("A", "Iy", "Iz", "J")
SHAPES: dict[str, tuple[Callable[..., Section], tuple[str, ...]]] = {
    "rectangle": (Section.rectangle, ("width_y", "width_z")),
    "circle": (Section.circle, ("diameter",)),
    "tube": (Section.tube, ("outer", "inner")),
    "i_profile": (Section.i_profile, ("height", "width", "flange", "web")),
}
MAX_PLACES = 1000
"""Most rows of a table of sections."""


def read_flexible(path: str | Path) -> tuple[FlexibleLink, ...]:
    """Return the flexible links that a file describes.

    Raises
    ------
    FileError
        It cannot be read, or a beam in it cannot be: file, line and element are named.
    """
    root = read_yaml(path)
    root.in_si(("units", "links"), "m, kg, Pa, s, rad")
    return tuple(_link(node) for node in root.required("links").items())


def _link(node: Node) -> FlexibleLink:
    table = node.table(LINK_KEYS)
    name = node.required("link").text()
    node = node.named(f"link {name!r}")
    readers: dict[str, Callable[[Node], Any]] = {
        "modes": _modes,
        "damping": _damping,
        "stiffening": Node.flag,
        "slope": Node.flag,
        "stations": _stations,
    }
    options = {key: readers[key](item) for key, item in table.items() if key in readers}
    beam = _shape(node, table)
    with node.placed():
        return FlexibleLink(name, beam, **options)


def _modes(node: Node) -> Modes:
    counts = ("bending_y", "bending_z", "torsion", "axial", "elements")
    readers = dict.fromkeys(counts, Node.whole_number)
    return node.made(partial(Modes, bending_y=None), kind=Node.text, **readers)


def _damping(node: Node) -> Damping:
    return node.made(Damping, ratio=Node.number, alpha=Node.number, beta=Node.number)


def _stations(node: Node) -> dict[str, float]:
    if not isinstance(node.value, dict):
        raise node.error("expected a table of names and places: {gauge: 0.4}")
    return {key: station.number() for key, station in node.value.items()}


def _shape(node: Node, table: dict[str, Node]) -> Beam | ModalBasis:
    if "modal_basis" not in table:
        return _beam(node.required("beam"))
    if "beam" in table:
        raise node.error("expected either beam or modal_basis, got both; leave one out")
    return read_basis(table["modal_basis"])


def _beam(node: Node) -> Beam:
    readers: dict[str, Callable[[Node], Any]] = dict.fromkeys(("start", "end", "y"), Node.vector)
    readers |= dict.fromkeys(("E", "G", "density"), Node.number)
    return node.made(Beam, **readers, section=_section, rotary_inertia=Node.flag)


def _section(node: Node) -> Section | SectionTable:
    table = node.table((*SHAPES, *PLAIN, "x", "file"))
    shapes = [key for key in SHAPES if key in table]
    if shapes:
        if len(table) > 1:
            raise node.error(f"expected one shape, got {', '.join(table)}; keep one of them")
        make, sizes = SHAPES[shapes[0]]
        return table[shapes[0]].made(make, **dict.fromkeys(sizes, Node.number))
    if "file" in table:
        listed = read_table(beside(table["file"]), max_cells=8 * MAX_PLACES)
        columns = {key: listed.column(key).tolist() for key in ("x", *PLAIN)}
    elif "x" in table:
        columns = {key: node.required(key).numbers() for key in ("x", *PLAIN)}
    else:
        return node.made(Section, **dict.fromkeys(PLAIN, Node.number))
    counts = {len(column) for column in columns.values()}
    if len(counts) > 1:
        raise node.error(f"expected lists of one length, got lengths {sorted(counts)}")
    rows = zip(*(columns[key] for key in PLAIN), strict=True)
    with node.placed():
        sections = tuple(Section(A, Iy, Iz, J) for A, Iy, Iz, J in rows)
        return SectionTable(tuple(columns["x"]), sections)


def read_basis(node: Node) -> ModalBasis:
    """Return the modal basis that a table of the file asks for."""
    readers: dict[str, Callable[[Node], Any]] = {
        "file": beside,
        "model": beside,
        "unit": Node.text,
        "modes": partial(_one_or_list, Node.whole_number),
        "masses": partial(_one_or_list, Node.number),
        "xyz": Node.vector,
        "rpy": Node.vector,
        "interfaces": Node.items,
    }
    table = node.table(tuple(readers))
    if "file" not in table:
        raise node.error("the key 'file' is missing; name the file with the modes")
    options = {key: readers[key](item) for key, item in table.items()}
    interfaces: list[Node] = options.pop("interfaces", [])
    with node.placed():
        basis = load_modal_basis(options.pop("file"), **options)
        for interface in interfaces:
            basis = _with_interface(basis, interface)
    return basis


def _one_or_list(read: Callable[[Node], Any], node: Node) -> Any:
    """Return what one value says, or each of a list."""
    return [read(item) for item in node.items()] if isinstance(node.value, list) else read(node)


def _with_interface(basis: ModalBasis, node: Node) -> ModalBasis:
    """Return a modal basis with a node that follows others."""
    table = node.table(("at", "nodes", "number"))
    for key in ("at", "nodes"):
        if key not in table:
            raise node.error(f"the key {key!r} is missing; give at: [x, y, z] and nodes")
    nodes = [number.whole_number() for number in table["nodes"].items()]
    number = table["number"].whole_number() if "number" in table else None
    return basis.with_interface(table["at"].vector(), nodes, number)
