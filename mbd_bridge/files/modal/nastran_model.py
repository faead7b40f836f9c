"""Nodes, their coordinate systems and their masses from Nastran's bulk data, by pyNastran.

The mass of an element is shared evenly by its nodes, as lumped masses of Nastran are for most of
them; a CBEAM has inertia against twisting, ρ (I1 + I2) L; concentrated masses (CONM2) have an
offset and rotary inertia. PARAM,WTMASS counts.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import file_beside, is_inside, regular_file
from mbd_bridge.files.xml_reader import read_bytes

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

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
        return _model(deck, path)
    except UNREADABLE as problem:
        said = str(problem).strip() if files.all_inside else "in files that it includes"
        raise FileError(
            f"pyNastran cannot read it: {type(problem).__name__}: {said:.200}", path
        ) from None


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
        place = str(Path(path).parent / name)
        file_beside(place, path)
        yield from self.lines(place, depth + 1)


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
        own = [n for n in element.node_ids if n in rows]
        for n in own:
            masses[rows[n]] += factor * mass / len(own)
            if element.type == "CBEAM":
                inertias[rows[n]] += factor * _twisting(element) / len(own)
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
    own = element.pid_ref
    inertia = float(own.Rho()) * _polar(own) * length
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
