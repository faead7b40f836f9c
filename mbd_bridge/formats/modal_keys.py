"""The key ``modal_basis`` of ``NAME.flex.yaml``: a modal basis from a file beside it.

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

The keys are the parameters of `mbd.load_modal_basis` and `ModalBasis.with_interface`.
"""

from __future__ import annotations

from mbd_bridge.flexible import ModalBasis
from mbd_bridge.formats.forces_sidecar import beside
from mbd_bridge.formats.modal import load_modal_basis
from mbd_bridge.formats.yaml_reader import Node

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
