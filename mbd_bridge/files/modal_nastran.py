"""Modes from Nastran: eigenvectors of an OP2 file (SOL 103) at the grids of a BDF file."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import file_beside, is_inside, regular_file
from mbd_bridge.files.raw_modes import RawModes, Whole, joined, no_rotation
from mbd_bridge.files.xml_reader import read_bytes

# Nodes, their coordinate systems and their masses from Nastran's bulk data, by pyNastran.
#
# The mass of an element is shared evenly by its nodes, as lumped masses of Nastran are for most of
# them; a CBEAM has inertia against twisting, ρ (I1 + I2) L; concentrated masses (CONM2) have an
# offset and rotary inertia. PARAM,WTMASS counts.

INCLUDE = re.compile(r"\s*include\s+['\"]?([^'\"$]+?)['\"]?\s*(\$.*)?$", re.IGNORECASE)
DEEPEST = 20
"""Files that include each other."""
MOST_FILES = 1000
"""Of a deck; a file that is included twice is two."""
MOST_BYTES = 2**30
"""Of a deck: some ten million cards."""
UNREADABLE = (
    RuntimeError, ValueError, KeyError, AssertionError, SyntaxError, TypeError, IndexError,
    NotImplementedError, AttributeError, OSError,
)  # fmt: skip
"""What pyNastran raises on decks that it cannot read."""


class Satellite(NamedTuple):
    """A concentrated mass beside its grid: the grid's row, offset (3,), mass."""

    row: int
    offset: Floats
    mass: float


class NastranModel(NamedTuple):
    """A model, in its own units, along the basic axes.

    numbers (N,), nodes (N, 3), axes (N, 3, 3) of each grid's displacement system as columns, masses
    (N,), inertias (N, 3, 3), and concentrated masses with an offset
    """

    numbers: Whole
    nodes: Floats
    axes: Floats
    masses: Floats
    inertias: Floats
    satellites: tuple[Satellite, ...]


def read_model(path: str) -> NastranModel:
    """Return the model in a file of bulk data (with or without executive and case control)."""
    bdf = needed("pyNastran.bdf.bdf", f"{path}: Nastran models need pyNastran", "mbd_bridge[modal]")
    files = _Files(path)
    lines = list(files.lines(regular_file(path)))
    punch = not any(line.strip().upper().startswith("BEGIN") for line in lines)
    deck = bdf.BDF(debug=None)
    try:
        deck.read_bdf(io.StringIO("\n".join(lines)), xref=True, punch=punch, read_includes=False)
    except UNREADABLE as problem:
        reason = str(problem).strip() if files.all_inside else "in files that it includes"
        raise FileError(
            f"pyNastran cannot read it: {type(problem).__name__}: {reason:.200}", path
        ) from None
    return _model(deck, path)


class _Files:
    """The files of a deck, which include each other; pyNastran opens none of them.

    Attributes
    ----------
    all_inside : whether all are in the folder of the first one, so that messages may quote them
    """

    def __init__(self, path: str) -> None:
        self._folder, self.all_inside = os.path.dirname(os.path.abspath(path)), True
        self._number = self._size = 0

    def lines(self, path: str, depth: int = 0) -> Iterator[str]:
        """Yield the lines of a file and, in their places, of those that it includes."""
        self._number += 1
        self.all_inside &= is_inside(path, self._folder)
        data = read_bytes(path, MOST_BYTES)
        self._size += len(data)
        if self._number > MOST_FILES or self._size > MOST_BYTES:
            raise FileError(
                f"the deck has more than {MOST_FILES} files or {MOST_BYTES} bytes with those that "
                f"it includes; each counts as often as it is included",
                path,
            )
        for number, line in enumerate(data.decode("latin-1").splitlines(), start=1):
            if not line.strip().upper().startswith("INCLUDE"):
                yield line
                continue
            name = INCLUDE.match(line)
            if name is None or depth > DEEPEST:
                what = "expected INCLUDE 'file' on one line"
                raise FileError(
                    f"{what}, files inside each other at most {DEEPEST} deep, got {line:.80}",
                    path,
                    number,
                )
            yield from self._included(name.group(1), path, depth)

    def _included(self, name: str, path: str, depth: int) -> Iterator[str]:
        included = str(Path(path).parent / name)
        file_beside(included, path)
        yield from self.lines(included, depth + 1)


def _model(deck: Any, path: str) -> NastranModel:
    numbers = np.array(sorted(deck.nodes), dtype=np.int64)
    if not len(numbers):
        raise FileError("has no grid points; give the file with GRID cards", path)
    rows = {int(n): k for k, n in enumerate(numbers)}
    grids = [deck.nodes[int(n)] for n in numbers]
    nodes = np.array([grid.get_position() for grid in grids])
    axes = np.array([_axes(grid.cd_ref, at) for grid, at in zip(grids, nodes, strict=True)])
    masses, inertias = np.zeros(len(numbers)), np.zeros((len(numbers), 3, 3))
    satellites = []
    factor = float(deck.params["WTMASS"].values[0]) if "WTMASS" in deck.params else 1.0
    for element in deck.elements.values():
        mass = _mass(element)
        carriers = [n for n in element.node_ids if n in rows]
        for n in carriers:
            masses[rows[n]] += factor * mass / len(carriers)
            if element.type == "CBEAM":
                inertias[rows[n]] += factor * _twisting(element) / len(carriers)
    for element in deck.masses.values():
        if element.type != "CONM2":
            raise FileError(f"has {element.type} {element.eid}, which is not read; use CONM2", path)
        row, turn = rows[element.Nid()], np.eye(3)
        offset = np.array(element.X, dtype=np.float64)
        if element.Cid() == -1:
            offset = offset - nodes[row]
        elif element.Cid() > 0:
            turn = np.array(element.cid_ref.beta()).T
            offset = turn @ offset
        xx, xy, yy, xz, yz, zz = (factor * value for value in element.I)
        inertia = np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])
        inertias[row] += turn @ inertia @ turn.T
        mass = factor * element.mass
        if offset.any():
            satellites.append(Satellite(row, offset, mass))
        else:
            masses[row] += mass
    return NastranModel(numbers, nodes, axes, masses, inertias, tuple(satellites))


def _twisting(element: Any) -> Floats:
    """Return a CBEAM's inertia against rotation about its axis (3, 3); a CBAR has none."""
    ends = [np.array(node.get_position()) for node in element.nodes_ref]
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    section = element.pid_ref
    inertia = float(section.Rho()) * _polar(section) * length
    return np.asarray(inertia * np.outer(along, along) / length**2)


def _polar(section: Any) -> float:
    """Return I1 + I2 of a PBEAM, or a PBEAML of the commonest shapes; 0 where it is not known.

    Modes that need it are refused, as their mass does not fit.
    """
    if section.type == "PBEAM":
        return float(section.I11()) + float(section.I22())
    if section.type != "PBEAML":
        return 0.0
    sizes = [float(size) for size in section.dim[0]]
    if section.beam_type == "ROD":
        return float(0.5 * np.pi * sizes[0] ** 4)
    if section.beam_type == "TUBE":
        return float(0.5 * np.pi * (sizes[0] ** 4 - sizes[1] ** 4))
    if section.beam_type == "BAR":
        return sizes[0] * sizes[1] * (sizes[0] ** 2 + sizes[1] ** 2) / 12.0
    return 0.0


def _mass(element: Any) -> float:
    """Return an element's mass; springs, dampers, gaps have none."""
    return float(element.Mass()) if hasattr(element, "Mass") else 0.0


def _axes(system: Any, at: Floats) -> Floats:
    """Return the axes (columns) of a displacement system at a point."""
    if system is None or system.cid == 0:
        return np.eye(3)
    axes = np.array(system.beta()).T
    kind = system.type[-1]
    if kind == "R":
        return axes
    x, y, z = axes.T @ (at - system.origin)
    radius = float(np.hypot(x, y))
    if radius == 0.0:
        return axes  # on the axis a cylindrical system has no direction of its own
    radial = (x * axes[:, 0] + y * axes[:, 1]) / radius
    around = np.cross(axes[:, 2], radial)
    if kind == "C":
        return np.column_stack([radial, around, axes[:, 2]])
    outward = (radius * radial + z * axes[:, 2]) / np.hypot(radius, z)
    return np.column_stack([outward, np.cross(around, outward), around])


# Modes in an OP2 file of Nastran: the tables LAMA (frequencies) and OUG, OPHIG (eigenvectors).
#
# An OP2 file is a sequence of Fortran records: a length in bytes, the content, the length again.
# Records of one integer are keys: n > 0 says that the next record has n words, -n that the n-th
# logical record of a table begins, 0 that the table ends. Words have 4 or 8 bytes. A table begins
# with a record of its name; then come its ident records (146 words) and their data in turn:
#
#     LAMA   7 words a mode: number, order, eigenvalue, rad/s, Hz, modal mass, modal stiffness
#     OUG    8 words a node: 10 number + device, type (1: grid), 6 components (real, SORT1)

MAX_BYTES = 2**31
"""Largest file that is read, 2 GB."""
IDENT = 146
"""Words of an ident record."""
EIGENVECTORS = 7
"""The table's code for eigenvectors; 1 is for displacements."""
GRID = 1
"""The type of a grid point; scalar points have others."""


class Frequencies(NamedTuple):
    """Of modes: numbers (n,), Hz, modal masses and stiffnesses."""

    numbers: Whole
    hertz: Floats
    mass: Floats
    stiffness: Floats


@dataclass(frozen=True, eq=False)
class Op2Modes:
    """What an OP2 file says of modes.

    Attributes
    ----------
    frequencies : None if the file has no table of them
    eigenvalues : (n,) (rad/s)², as the eigenvectors have them
    numbers : (N,) of the grid points
    modes : (n,) numbers of the modes
    shapes : (n, N, 6) displacement and rotation
    basic : whether components are along the basic axes, not those of each point's own system
    """

    frequencies: Frequencies | None
    eigenvalues: Floats
    numbers: Whole
    modes: Whole
    shapes: Floats
    basic: bool


def read_op2(path: str) -> Op2Modes:
    """Return the modes in a file."""
    name = str(path)
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise FileError(f"has more than {MAX_BYTES} bytes; write eigenvectors only", name)
        data = Path(path).read_bytes()
    except OSError as problem:
        raise FileError(f"cannot be read: {problem.strerror}", name) from None
    if len(data) < 12 or int.from_bytes(data[:4], "little") not in (4, 8):
        raise FileError(
            "is no OP2 file of little-endian Fortran records; write it with PARAM,POST,-1 or -2, "
            "not formatted",
            name,
        )
    frequencies, shapes = None, None
    for table, records in _tables(data, name):
        if table in ("LAMA", "LAMAS", "BLAMA") and frequencies is None:
            frequencies = _frequencies_of_records(records)
        elif "OUG" in table or "OPHIG" in table:
            vectors = _eigenvectors(records, name)
            if vectors is not None and shapes is None:
                shapes = (*vectors, table.startswith("B"))
    if shapes is None:
        raise FileError(
            "has no eigenvectors of SORT1: solve for modes (SOL 103) with DISPLACEMENT(PLOT) = ALL "
            "and PARAM,POST,-1",
            name,
        )
    return Op2Modes(frequencies, *shapes)


def _tables(data: bytes, name: str) -> Iterator[tuple[str, list[bytes]]]:
    """Return names and logical records of the tables of a file."""
    word = int.from_bytes(data[:4], "little")
    position, records, current = 0, list[bytes](), b""
    while position < len(data):
        key, position = _key(data, position, word, name)
        if key == 0:
            if records:
                yield _text(records[0], word), [*records[1:], current]
            records, current = [], b""
        elif key < 0:
            records.append(current)
            current = b""
        else:
            content, position = _record(data, position, name)
            if len(content) != key * word:
                raise FileError(
                    f"is damaged near byte {position}: a record has another length", name
                )
            current += content


def _record(data: bytes, position: int, name: str) -> tuple[bytes, int]:
    size = int.from_bytes(data[position : position + 4], "little", signed=True)
    end = position + 4 + size
    if size < 0 or end + 4 > len(data) or data[position : position + 4] != data[end : end + 4]:
        raise FileError(f"is cut off or damaged near byte {position}", name)
    return data[position + 4 : end], end + 4


def _key(data: bytes, position: int, word: int, name: str) -> tuple[int, int]:
    content, position = _record(data, position, name)
    if len(content) != word:
        raise FileError(f"is damaged near byte {position}: expected a key of {word} bytes", name)
    return int.from_bytes(content, "little", signed=True), position


def _text(content: bytes, word: int) -> str:
    if word == 8:  # four letters in each word of eight bytes
        content = b"".join(content[k : k + 4] for k in range(0, len(content), 8))
    return content[:8].decode("latin-1").strip()


def _pairs(records: list[bytes], word: int) -> Iterator[tuple[bytes, bytes]]:
    """Return ident records and what follows each; every record begins with a word 0."""
    plain = [record[word:] for record in records if len(record) > word]
    for ident, content in pairwise(plain):
        if len(ident) == IDENT * word and len(content) != IDENT * word:
            yield ident, content


def _word(records: list[bytes]) -> int:
    """Return the bytes of a word: ident records have 146 and the one before them."""
    return 8 if any(len(record) == 8 * (IDENT + 1) for record in records) else 4


def _numbers(content: bytes, word: int) -> tuple[Whole, Floats]:
    """Return words as whole numbers and as floats."""
    whole, real = (np.int32, np.float32) if word == 4 else (np.int64, np.float64)
    size = len(content) // word * word
    return (
        np.frombuffer(content[:size], whole).astype(np.int64),
        np.frombuffer(content[:size], real).astype(np.float64),
    )


def _frequencies_of_records(records: list[bytes]) -> Frequencies | None:
    word = _word(records)
    rows: list[tuple[int, float, float, float]] = []
    for _, content in _pairs(records, word):
        whole, real = _numbers(content, word)
        width = len(whole) // 7 * 7
        for k in range(0, width, 7):
            rows.append((int(whole[k]), real[k + 4], real[k + 5], real[k + 6]))
    if not rows:
        return None
    numbers, hertz, mass, stiffness = zip(*rows, strict=True)
    values = (np.array(part, dtype=np.float64) for part in (hertz, mass, stiffness))
    return Frequencies(np.array(numbers, dtype=np.int64), *values)


def _eigenvectors(records: list[bytes], name: str) -> tuple[Floats, Whole, Whole, Floats] | None:
    word = _word(records)
    numbers: Whole | None = None
    modes, values, shapes = [], [], []
    for ident, content in _pairs(records, word):
        head, parts = _numbers(ident, word)
        code, mode, form, width = (int(head[k]) for k in (1, 4, 8, 9))
        if code % 1000 != EIGENVECTORS:
            continue
        if code // 1000 > 1 or form != 1 or width != 8:
            raise FileError(
                "has eigenvectors that are complex or of SORT2; write real ones of SORT1", name
            )
        whole, real = _numbers(content, word)
        rows = len(whole) // 8
        whole, real = whole[: 8 * rows].reshape(-1, 8), real[: 8 * rows].reshape(-1, 8)
        grids = whole[:, 1] == GRID
        grid_numbers = whole[grids, 0] // 10
        if numbers is not None and not np.array_equal(numbers, grid_numbers):
            break  # of another subcase or a residual structure
        if mode in modes:
            break
        numbers = grid_numbers
        modes.append(mode)
        values.append(parts[5])
        shapes.append(real[grids, 2:])
    if numbers is None:
        return None
    return np.array(values), numbers, np.array(modes, dtype=np.int64), np.array(shapes)


MODELS = (".bdf", ".dat", ".nas", ".blk")


def read_nastran(path: str, model: str | None) -> RawModes:
    """Return the modes of an OP2 file.

    Parameters
    ----------
    model : the file with the grids and masses; None takes the file of the same name beside it
    """
    modes = read_op2(path)
    deck = read_model(_beside(path) if model is None else model)
    rows = joined(deck.numbers, modes.numbers, f"of {path} missing in the model", path)
    heavy = np.flatnonzero((deck.masses > 0.0) | deck.inertias.any(axis=(1, 2)))
    joined(modes.numbers, deck.numbers[heavy], "of the model with mass missing in the modes", path)
    shapes = modes.shapes
    if not modes.basic:
        axes = deck.axes[rows]
        parts = (np.einsum("nij,knj->kni", axes, shapes[..., p : p + 3]) for p in (0, 3))
        shapes = np.concatenate(tuple(parts), axis=2)
    move, turn = shapes[..., :3], shapes[..., 3:].copy()
    unknown = no_rotation(move, turn)
    turn[:, unknown] = np.nan
    frequencies, mass = _frequencies(modes, path)
    plain = RawModes(
        path,
        modes.numbers,
        deck.nodes[rows],
        move,
        turn,
        frequencies,
        modal_mass=mass,
        masses=deck.masses[rows],
        inertias=np.where(unknown[:, None, None], 0.0, deck.inertias[rows]),
        labels=tuple(modes.modes.tolist()),
    )
    return _with_satellites(plain, deck, rows)


def _beside(path: str) -> str:
    """Return the model beside an OP2 file."""
    for suffix in MODELS:
        near = file_beside(Path(path).with_suffix(suffix), path)
        if near is not None:
            return near
    raise FileError(
        f"there is no model beside it ({', '.join(Path(path).stem + s for s in MODELS)}): give "
        f"model=, the file with the GRID cards",
        path,
    )


def _frequencies(modes: Op2Modes, path: str) -> tuple[Floats, Floats | None]:
    """Return Hz and modal masses (n,) of the modes."""
    table = modes.frequencies
    if table is None:
        return np.sqrt(np.maximum(modes.eigenvalues, 0.0)) / (2.0 * np.pi), None
    rows = joined(table.numbers, modes.modes, "(modes) without a frequency", path)
    return table.hertz[rows], table.mass[rows]


def _with_satellites(plain: RawModes, deck: NastranModel, rows: Whole) -> RawModes:
    """Return the modes with a node for each concentrated mass beside its grid."""
    modes = plain
    places = {int(row): k for k, row in enumerate(rows)}
    for mass in deck.satellites:
        if mass.row not in places:
            raise FileError(
                f"CONM2 on node {deck.numbers[mass.row]}, which has no modes", plain.source
            )
        row = places[mass.row]
        turn = modes.rotation[:, row]
        move = modes.displacement[:, row] + np.cross(turn, mass.offset)
        if not np.isfinite(turn).all():
            raise FileError(
                f"CONM2 with an offset on node {deck.numbers[mass.row]}, whose rotation is not "
                f"known; connect it by an RBE2 or RBE3",
                plain.source,
            )
        assert modes.masses is not None
        assert modes.inertias is not None
        modes = replace(
            modes,
            numbers=np.append(modes.numbers, modes.numbers.max() + 1),
            nodes=np.vstack([modes.nodes, modes.nodes[row] + mass.offset]),
            displacement=np.concatenate([modes.displacement, move[:, None]], axis=1),
            rotation=np.concatenate([modes.rotation, turn[:, None]], axis=1),
            masses=np.append(modes.masses, mass.mass),
            inertias=np.concatenate([modes.inertias, np.zeros((1, 3, 3))]),
        )
    return modes
