"""The usual spellings of columns: times, units behind a name, what of a joint a column holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mbd_bridge.formats.table import Column, Table
from mbd_bridge.units import PLAIN, Unit, find_unit

_CLOCKS = (
    "t time times timestamp timestamps time_stamp zeit sec secs seconds x_value elapsed "
    "elapsed_time sim_time clock header_stamp"
)
TIMES = frozenset(_CLOCKS.split())
"""What columns of times are called, as `plain` writes it."""

KINDS = {
    "": ("position", "positions", "pos", "angle", "ang", "q"),
    ".vel": ("velocity", "velocities", "vel", "speed", "rate", "qd", "dq", "qdot"),
    ".acc": ("acceleration", "accelerations", "acc", "accel", "qdd", "ddq"),
    ".effort": ("effort", "efforts", "tau"),
    ".torque": ("torque", "torques"),
    ".force": ("force", "forces"),
}
"""What is behind or before a joint's name, by what it is called here."""

MEASURED_IN = {".torque": "N m", ".force": "N"}
"""What is an effort of a joint whose efforts are measured in this unit, and nothing of others."""

_KIND = {word: kind for kind, words in KINDS.items() for word in words}
_WORDS = "|".join(sorted(_KIND, key=len, reverse=True))
_BEHIND = re.compile(rf"(?P<base>.*[^._/ -])[._/ -]+(?P<kind>{_WORDS})", re.I)
_BEFORE = re.compile(rf"(?P<kind>{_WORDS})[._/ -]+(?P<base>.+)", re.I)
_SIGN = re.compile(r"[._/ -]+")
"""What stands between a name and its unit: elbow_deg, elbow.vel_deg_per_s."""


def plain(name: str) -> str:
    """Return a name in small letters, with one underscore for all else."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def unit_and_base(name: str) -> Iterator[tuple[str, Unit]]:
    """Yield what a name may be without a unit behind it, and the unit."""
    for sign in _SIGN.finditer(name):
        base, text = name[: sign.start()], name[sign.end() :]
        unit = find_unit(text)
        if base and unit is not None and text not in PLAIN:
            yield base, unit


def kind_and_base(name: str) -> Iterator[tuple[str, str]]:
    """Yield what joint a name may be of, and which rate of it: "", ".vel" or ".acc"."""
    for form in (_BEHIND, _BEFORE):
        said = form.fullmatch(name)
        if said:
            yield said["base"], _KIND[said["kind"].lower()]
    if name[:1] == "/" or "." in name:
        base = re.split(r"[/.]", name)[-1]
        yield base, ""


def last_part(name: str) -> str:
    """Return a name without the topic or structure before it: ``/joint_states/elbow``."""
    return re.split(r"/", name)[-1]


class Spellings:
    """Names of columns, and how else they are written: other cases, blanks, signs, units behind.

    Attributes
    ----------
    measures : what each column is measured in, in SI units, by its name here
    """

    def __init__(self, measures: Mapping[str, str]) -> None:
        self.measures = measures
        self._plain: dict[str, list[str]] = {}
        for name in measures:
            self._plain.setdefault(plain(name), []).append(name)

    def plainly(self, name: str) -> str | None:
        """Return a name that is known, but for its case, blanks and signs."""
        if name in self.measures:
            return name
        same = self._plain.get(plain(name), [])
        if len(same) == 1:
            return same[0]
        return "time" if plain(name) in TIMES and not same else None

    def column(self, column: Column) -> Column:
        """Return a column by its name here, with the unit behind its name; others as they are."""
        ours = self.plainly(column.name.strip())
        if ours is not None:
            return Column(ours, column.unit)
        for base, unit in unit_and_base(column.name.strip()):
            ours = self.plainly(base)
            if ours is not None and self.measures.get(ours) == unit.measures:
                return Column(ours, column.unit or unit.name)
        return column

    def table(self, table: Table) -> Table:
        """Return a table with its columns as they are called here, where no other is called so."""
        columns = [self.column(column) for column in table.columns]
        names = [column.name for column in columns]
        return replace(
            table,
            columns=tuple(
                ours if names.count(ours.name) == 1 or ours.name == theirs.name else theirs
                for ours, theirs in zip(columns, table.columns, strict=True)
            ),
        )
