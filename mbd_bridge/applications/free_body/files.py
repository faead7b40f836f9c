"""A free body as a file: a table (CSV) or loads for a finite element model (Nastran bulk data)."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.free_body.free_body import GRAVITY, INERTIA, FreeBody, LinkAction
from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.files.nastran import Combination, GridPoint, LoadSet, nastran_text
from mbd_bridge.files.tables.text import no_formula
from mbd_bridge.files.whole_file import check_place, whole_file
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.table import COMPONENTS

BULK = (".bdf", ".dat", ".nas", ".blk")
"""Suffixes of files of Nastran bulk data."""
LENGTHS = {"m": 1.0, "mm": 1000.0}
"""Units of length that a finite element model may have, in one metre."""
STEP = 10
"""Load sets an instant has room for."""


def write_free_body(
    body: FreeBody,
    path: str | os.PathLike[str],
    *,
    length: str = "m",
    first: int = 1,
    system: int = 0,
) -> None:
    """Write a free body: .csv as a table, .bdf (.dat, .nas, .blk) as Nastran bulk data.

    Parameters
    ----------
    length : "m" or "mm" (N and N mm), bulk data only
    first : number of the first grid; of the first load set too, bulk data only
    system : number of the coordinate system to write in, 0 for the basic one, bulk data only
    """
    check_output(path)
    if Path(path).suffix.lower() in BULK:
        text = bulk_data(body, length=length, first=first, system=system)
    else:
        text = table(body)
    with whole_file(path) as file:
        file.write(text)


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a file of another kind, or that cannot be written, before work is done."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", *BULK):
        raise StateError(
            f"a free body is not written as {suffix!r}; available: .csv, {', '.join(BULK)}"
        )
    check_place(path)


def table(body: FreeBody) -> str:
    """Return a free body as CSV text: a row for what each joint, gravity, ... does at an instant.

    Columns: instant (from 1), time, what the instant is, name and other link, point, force and
    moment about the point in the link's axes, names of undetermined components.
    """
    out = io.StringIO(newline="")
    for line in _words(body):
        out.write(f"# {line}\n")
    writer = csv.writer(out, lineterminator="\n")
    units = ["N", "N", "N", "N m", "N m", "N m"]
    heads = [f"{name} [{unit}]" for name, unit in zip(COMPONENTS, units, strict=True)]
    places = [f"{axis} [m]" for axis in "xyz"]
    writer.writerow(
        ["instant", "time [s]", "what", "name", "other", *places, *heads, "undetermined"]
    )
    for k, (time, label) in enumerate(zip(body.time.tolist(), body.labels, strict=True)):
        for one in _spread_out(body):
            numbers = [*one.point.tolist(), *one.wrench[k].tolist()]
            front = [k + 1, repr(time), *map(no_formula, (label, one.name, one.other))]
            writer.writerow([*front, *map(repr, numbers), _undetermined(one)])
    return out.getvalue()


def bulk_data(body: FreeBody, *, length: str = "m", first: int = 1, system: int = 0) -> str:
    """Return a free body as Nastran bulk data in large fields.

    A grid at every joint and at the centre of mass, or at the nodes of a link that bends; for the
    k-th instant (from 1) a load set ``first - 1 + 10 k + 1`` of what joints (and the outside) do,
    ``... + 2`` of gravity and inertia, and their sum ``... + 0``, which is in equilibrium. Rounding
    errors are zero, and vectors of zeros have no card.
    """
    if first < 1:
        raise StateError(f"expected a first number from 1, got {first}")
    factor, unit = LENGTHS[one_of("length", length, LENGTHS, StateError)], f"N {length}"
    acting = _spread_out(body)
    count = 1 if body.nodes is None else len(body.nodes.names)
    outer = len(acting) - 2 * count  # gravity and inertia share the last grids
    grids = []
    for k, one in enumerate(acting[: outer + count]):
        what = f"joint {one.name} to {one.other}" if one.other else one.name
        if k >= outer:
            what = "centre of mass" if body.nodes is None else body.nodes.names[k - outer]
        name = f"{what} of {body.link}" if k >= outer else f"{what}, on {body.link}"
        grids.append(GridPoint(first + k, f"grid {first + k}: {name}", one.point * factor))
    loads: list[LoadSet | Combination] = []
    for k, time in enumerate(body.time.tolist()):
        number = first - 1 + STEP * (k + 1)
        label = f"{body.labels[k]}; " if body.labels[k] else ""
        said = f"instant {k + 1}, t = {time:.9g} s: {label}residual {body.residual[k]:.1e}"
        wrenches = [_cleaned(body, one.wrench[k]) for one in acting]
        for wrench in wrenches:
            wrench[3:] *= factor
        outside: dict[int, ArrayLike] = {first + j: wrenches[j] for j in range(outer)}
        mass: dict[int, ArrayLike] = {
            first + j: wrenches[j] + wrenches[j + count] for j in range(outer, outer + count)
        }
        parts = [
            LoadSet(number + 1, f"set {number + 1}: joints and outside\n{said}", outside),
            LoadSet(number + 2, f"set {number + 2}: gravity and inertia\n{_moves(body, k)}", mass),
        ]
        used = [part.number for part in parts if np.any(np.array([*part.wrenches.values()]))]
        if used:
            loads.append(Combination(number, f"set {number}: all of it, in equilibrium", used))
        loads += parts
    units = f"units: {length}, N, {unit}"
    place = "the basic system" if system == 0 else f"the coordinate system {system}"
    words = [*_words(body), units, f"{place} is the frame of the link"]
    return nastran_text(words, grids, loads, system)


def _spread_out(body: FreeBody) -> list[LinkAction]:
    """Return what acts on a link, gravity and inertia node by node if it bends."""
    if body.nodes is None:
        return list(body.acting)
    out, sure = list(body.acting[:-2]), np.ones(6, dtype=bool)
    for kind, wrenches in ((GRAVITY, body.nodes.gravity), (INERTIA, body.nodes.inertia)):
        for p, (name, point) in enumerate(zip(body.nodes.names, body.nodes.points, strict=True)):
            own = wrenches[:, p]
            out.append(LinkAction(f"{kind} of {name}", "", point, own[:, :3], own[:, 3:], sure))
    return out


def _cleaned(body: FreeBody, wrench: Array) -> Array:
    """Return a wrench without rounding errors; small parts of many nodes are no such errors."""
    return wrench.copy() if body.nodes is not None else body.round_off.cleaned_wrench(wrench)


def _words(body: FreeBody) -> list[str]:
    """Return what a reader of the file must know."""
    from mbd_bridge import __version__

    lines = [
        f"mbd_bridge {__version__}: free body of the link {body.link} of {body.mechanism}",
        "forces act on the link, at the point given, in the axes of the link's frame; moments "
        "about that point",
        "inertia: -m times the acceleration of the centre of mass, and the negative of the rate of "
        "angular momentum about it",
        *_bending(body),
        f"all of it sums to zero; residual {body.residual.max():.1e} of the largest",
    ]
    unsure = [f"{one.name} ({_undetermined(one)})" for one in body.joints if not one.unique.all()]
    if unsure:
        lines.append(
            f"undetermined by rigid-body mechanics, one solution of many: {', '.join(unsure)}"
        )
    return lines


def _bending(body: FreeBody) -> list[str]:
    if body.nodes is None:
        return []
    return [
        "the link bends: gravity and inertia (of the motion and of the deformation) are those of "
        "its nodes, where these are undeformed; moments there include those of forces at the "
        "deformed places",
    ]


def _moves(body: FreeBody, k: int) -> str:
    """Return how the link moves, for those who rather apply accelerations than their forces."""

    def text(vector: Array) -> str:
        return "(" + ", ".join(f"{x:.9g}" for x in vector.tolist()) + ")"

    motion = body.motion
    return (
        f"acceleration {text(motion.acceleration[k])} m/s2, gravity {text(motion.gravity[k])} "
        f"m/s2\nangular velocity {text(motion.omega[k])} rad/s, acceleration "
        f"{text(motion.alpha[k])} rad/s2"
    )


def _undetermined(one: LinkAction) -> str:
    return " ".join(name for name, sure in zip(COMPONENTS, one.unique, strict=True) if not sure)
