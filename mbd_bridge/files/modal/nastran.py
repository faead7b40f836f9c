"""Modes from Nastran: eigenvectors of an OP2 file (SOL 103) at the grids of a BDF file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.modal.nastran_model import NastranModel, read_model
from mbd_bridge.files.modal.op2 import Op2Modes, read_op2
from mbd_bridge.files.modal.raw import Floats, RawModes, Whole, joined, no_rotation

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
    own = modes.frequencies
    if own is None:
        return np.sqrt(np.maximum(modes.eigenvalues, 0.0)) / (2.0 * np.pi), None
    rows = joined(own.numbers, modes.modes, "(modes) without a frequency", path)
    return own.hertz[rows], own.mass[rows]


def _with_satellites(plain: RawModes, deck: NastranModel, rows: Whole) -> RawModes:
    """Return the modes with a node for each concentrated mass beside its grid."""
    found = plain
    places = {int(row): k for k, row in enumerate(rows)}
    for one in deck.satellites:
        if one.row not in places:
            raise FileError(
                f"CONM2 on node {deck.numbers[one.row]}, which has no modes", plain.source
            )
        row = places[one.row]
        turn = found.rotation[:, row]
        move = found.displacement[:, row] + np.cross(turn, one.offset)
        if not np.isfinite(turn).all():
            raise FileError(
                f"CONM2 with an offset on node {deck.numbers[one.row]}, whose rotation is not "
                f"known; connect it by an RBE2 or RBE3",
                plain.source,
            )
        assert found.masses is not None
        assert found.inertias is not None
        found = RawModes(
            plain.source,
            np.append(found.numbers, found.numbers.max() + 1),
            np.vstack([found.nodes, found.nodes[row] + one.offset]),
            np.concatenate([found.displacement, move[:, None]], axis=1),
            np.concatenate([found.rotation, turn[:, None]], axis=1),
            plain.frequencies,
            modal_mass=plain.modal_mass,
            masses=np.append(found.masses, one.mass),
            inertias=np.concatenate([found.inertias, np.zeros((1, 3, 3))]),
            labels=plain.labels,
        )
    return found
