"""``NAME.flex.yaml`` beside ``NAME.urdf``: links that bend.

::

    units: SI                       # m, kg, Pa, s, rad
    links:
      - link: upper_arm
        beam:
          start: [0, 0, 0]          # ends of its axis in the link's frame
          end: [1.2, 0, 0]
          y: [0, 1, 0]              # direction near which the section's y lies; may be left out
          E: 70.0e9
          G: 26.0e9
          density: 2700
          section: {tube: {outer: 0.08, inner: 0.07}}
        modes: {kind: finite-element, bending_y: 2, bending_z: 2, torsion: 1}
        damping: {ratio: 0.01}
        stiffening: false
        slope: true                 # whether what is attached turns with the section there
        stations: {gauge: 0.4}      # m along the beam: links upper_arm.gauge

Sections are ``rectangle: {width_y, width_z}``, ``circle: {diameter}``, ``tube: {outer, inner}``,
``i_profile: {height, width, flange, web}``, plain ``{A, Iy, Iz, J}``, or a table along the length:
``{x: [0, 1.2], A: [...], Iy: [...], Iz: [...], J: [...]}`` or ``{file: arm.csv}``, with these as
columns of a table beside this file. In the place of `beam` and `modes` stands ``modal_basis`` where
modes come from a file (`modal_keys`). The keys are the parameters of `FlexibleLink`, `Beam`,
`Modes` and `Damping`, with their meanings, units and defaults.

The key ``modal_basis`` of ``NAME.flex.yaml``: a modal basis from a file beside it.

::

    - link: arm
      modal_basis:
        file: arm.op2             # .op2, .uff, .unv, .npz or a table
        model: arm.bdf            # of an .op2; may be left out if it has the same name
        unit: mm-t                # SI, mm-t, mm-kg or in-lbf
        modes: 6                  # the first 6 that deform the link, or [7, 8, 10]
        masses: 1.5               # in all, spread evenly; or a list, one for each node
        xyz: [0, 0, 0.1]          # where the file's axes are in the link's frame
        rpy: [0, 0, 0]
        interfaces:               # nodes that follow others, in the link's frame, m
          - {at: [0.4, 0, 0], nodes: [12, 13, 17, 18], number: 1000}

The keys are the parameters of `mbd.flexible.load_modal_basis` and `ModalBasis.with_interface`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mbd_bridge.files.modal import load_modal_basis
from mbd_bridge.files.sidecars import beside
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
