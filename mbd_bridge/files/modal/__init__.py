"""Modal bases from files: our own table, Nastran (OP2 and BDF), universal files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance, file_path
from mbd_bridge.base.errors import FileError, ModelError
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.modal.nastran import MODELS, read_nastran
from mbd_bridge.files.modal.own_table import (
    read_arrays,
    read_table_of_modes,
    write_arrays,
    write_table_of_modes,
)
from mbd_bridge.files.modal.raw import RawModes
from mbd_bridge.files.modal.units import UnitSystem, unit_system
from mbd_bridge.files.modal.universal import read_universal
from mbd_bridge.files.tables.source import cannot_read
from mbd_bridge.model.flexible import ModalBasis

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
    try:
        with open(name, "rb") as file:
            return DECK.search(file.read(LOOKED_AT)) is not None
    except OSError as error:
        raise cannot_read(name, error, "the .op2 of a modal analysis") from error


def save_modal_basis(basis: ModalBasis, path: str | os.PathLike[str]) -> None:
    """Write a modal basis, in SI units.

    Parameters
    ----------
    path : .npz (all of it), or a table (.csv, .parquet, .h5) of natural modes with lumped masses
    """
    an_instance("basis", basis, ModalBasis, "mbd.ModalBasis(...)")
    name = file_path("path", path)
    if Path(name).suffix.lower() == ARRAYS:
        write_arrays(basis, name)
    else:
        write_table_of_modes(basis, name)
