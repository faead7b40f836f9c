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

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mbd_bridge.files.forces_sidecar import beside
from mbd_bridge.files.modal import load_modal_basis
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

KEYS = ("file", "model", "unit", "modes", "masses", "xyz", "rpy", "interfaces")
INTERFACE_KEYS = ("at", "nodes", "number")


def read_basis(node: Node) -> ModalBasis:
    """Return the modal basis that a table of the file asks for."""
    table = node.table(KEYS)
    if "file" not in table:
        raise node.error("the key 'file' is missing; name the file with the modes")
    modes: int | list[int] | None = None
    if "modes" in table:
        item = table["modes"]
        listed = isinstance(item.value, list)
        modes = [one.whole_number() for one in item.items()] if listed else item.whole_number()
    masses: float | list[float] | None = None
    if "masses" in table:
        item = table["masses"]
        listed = isinstance(item.value, list)
        masses = [one.number() for one in item.items()] if listed else item.number()
    none = (0.0, 0.0, 0.0)
    with node.placed():
        found = load_modal_basis(
            beside(table["file"]),
            model=beside(table["model"]) if "model" in table else None,
            unit=table["unit"].text() if "unit" in table else "SI",
            modes=modes,
            masses=masses,
            xyz=table["xyz"].vector() if "xyz" in table else none,
            rpy=table["rpy"].vector() if "rpy" in table else none,
        )
        for item in table["interfaces"].items() if "interfaces" in table else ():
            own = item.table(INTERFACE_KEYS)
            for key in ("at", "nodes"):
                if key not in own:
                    raise item.error(f"the key {key!r} is missing; give at: [x, y, z] and nodes")
            nodes = [one.whole_number() for one in own["nodes"].items()]
            number = own["number"].whole_number() if "number" in own else None
            found = found.with_interface(own["at"].vector(), nodes, number)
    return found


SUFFIX = ".flex.yaml"
LINK_KEYS = ("link", "beam", "modal_basis", "modes", "damping", "stiffening", "stations")
BEAM_KEYS = ("start", "end", "y", "E", "G", "density", "section", "rotary_inertia")
MODES_KEYS = ("kind", "bending_y", "bending_z", "torsion", "axial", "elements")
DAMPING_KEYS = ("ratio", "alpha", "beta")
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
    options: dict[str, Any] = {}
    if "modes" in table:
        readers = {"kind": Node.text} | dict.fromkeys(MODES_KEYS[1:], Node.whole_number)
        own = _values(table["modes"], readers)
        with table["modes"].placed():
            options["modes"] = Modes(**{"bending_y": None} | own)
    if "damping" in table:
        numbers = _values(table["damping"], dict.fromkeys(DAMPING_KEYS, Node.number))
        with table["damping"].placed():
            options["damping"] = Damping(**numbers)
    if "stiffening" in table:
        options["stiffening"] = table["stiffening"].flag()
    if "stations" in table:
        places = table["stations"].value
        if not isinstance(places, dict):
            raise table["stations"].error("expected a table of names and places: {gauge: 0.4}")
        options["stations"] = {key: place.number() for key, place in places.items()}
    beam = _shape(node, table)
    with node.placed():
        return FlexibleLink(name, beam, **options)


def _shape(node: Node, table: dict[str, Node]) -> Beam | ModalBasis:
    if "modal_basis" not in table:
        return _beam(node.required("beam"))
    if "beam" in table:
        raise node.error("expected either beam or modal_basis, got both; leave one out")
    return read_basis(table["modal_basis"])


def _beam(node: Node) -> Beam:
    node.table(BEAM_KEYS)
    readers: dict[str, Callable[[Node], Any]] = dict.fromkeys(("start", "end", "y"), Node.vector)
    readers |= dict.fromkeys(("E", "G", "density"), Node.number)
    readers |= {"section": _section, "rotary_inertia": Node.flag}
    for key in ("start", "end", "E", "G", "density", "section"):
        node.required(key)
    own = _values(node, readers)
    with node.placed():
        return Beam(**own)


def _section(node: Node) -> Section | SectionTable:
    known = (*SHAPES, *PLAIN, "x", "file")
    table = node.table(known)
    shapes = [key for key in SHAPES if key in table]
    if shapes:
        if len(table) > 1:
            raise node.error(f"expected one shape, got {', '.join(table)}; keep one of them")
        make, sizes = SHAPES[shapes[0]]
        inside = table[shapes[0]]
        inside.table(sizes)
        numbers = [inside.required(key).number() for key in sizes]
        with inside.placed():
            return make(*numbers)
    if "file" in table:
        found = read_table(beside(table["file"]), max_cells=8 * MAX_PLACES)
        columns = {key: found.column(key).tolist() for key in ("x", *PLAIN)}
    elif "x" in table:
        columns = {
            key: [one.number() for one in node.required(key).items()] for key in ("x", *PLAIN)
        }
    else:
        A, Iy, Iz, J = (node.required(key).number() for key in PLAIN)
        with node.placed():
            return Section(A, Iy, Iz, J)
    counts = {len(column) for column in columns.values()}
    if len(counts) > 1:
        raise node.error(f"expected lists of one length, got lengths {sorted(counts)}")
    rows = zip(*(columns[key] for key in PLAIN), strict=True)
    with node.placed():
        sections = tuple(Section(A, Iy, Iz, J) for A, Iy, Iz, J in rows)
        return SectionTable(tuple(columns["x"]), sections)


def _values(node: Node, readers: Mapping[str, Callable[[Node], Any]]) -> dict[str, Any]:
    return {key: readers[key](value) for key, value in node.table(tuple(readers)).items()}
