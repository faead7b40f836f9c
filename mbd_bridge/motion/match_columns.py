"""Columns of files that others wrote, by the names and units that they have here.

A column is known by its name here, or by one of the usual spellings: other cases, blanks or signs
(``Shoulder Pan``), units in parentheses or behind the name (``q1 (deg)``, ``elbow_mm``), what a
column is behind or before it (``elbow_pos``, ``/joint_states/elbow/velocity``), ``Time``, ``t``,
``timestamp``; or numbers in the place of names (``actual_q_0``), for chains of joints, in their
order. `Naming` says what is not seen: renames, units, what is left out. What was taken for what
goes into the notes, and so does what was left out.

The usual spellings of columns: times, units behind a name, what of a joint a column holds.

Columns with numbers in the place of joints' names: ``actual_q_0`` ... ``actual_q_5``, ``q1``.

They are taken as the coordinates of a chain of joints with one degree of freedom each, from its
root on. Where a machine branches, nobody but its user knows the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from shlex import quote

from mbd_bridge.base.arguments import by_name, name_list
from mbd_bridge.base.errors import FileError, StateError, some, unknown_name
from mbd_bridge.base.units import PLAIN, Unit, find_unit, units_of
from mbd_bridge.files.table import Column, ColumnTable, TableSource
from mbd_bridge.model import Model
from mbd_bridge.model.units import RATE, model_units
from mbd_bridge.motion.frames import Frames, is_frame
from mbd_bridge.motion.named_source import NamedColumns, Unwrapping
from mbd_bridge.motion.options import Gaps
from mbd_bridge.motion.table import EFFORT, LOAD, effort_columns, is_load, measures_effort

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

    def table(self, table: ColumnTable) -> ColumnTable:
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


STEMS = {
    "": ("actual_q", "q", "joint", "j", "axis", "theta", "position", "positions", "pos"),
    ".vel": ("actual_qd", "qd", "dq", "qdot", "velocity", "velocities", "vel"),
    ".acc": ("qdd", "ddq", "acceleration", "accelerations", "acc"),
}
"""What stands before the number, the likeliest first, by what the columns are then called."""

_NUMBERED = re.compile(r"(?:.*[/.])?(?P<stem>[A-Za-z_]+?)[_.\[( ]?(?P<number>\d{1,3})[\])]?")


def numbered(names: Sequence[str], model: Model) -> dict[str, str]:
    """Return names of columns by number -> names here, if they are all of a chain's coordinates."""
    if not is_chain(model):
        return {}
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        said = _NUMBERED.fullmatch(name)
        if said:
            groups.setdefault(said["stem"].lower(), {}).setdefault(int(said["number"]), name)
    found: dict[str, str] = {}
    for suffix, stems in STEMS.items():
        for stem in stems:
            group = groups.get(stem, {})
            numbers = sorted(group)
            if numbers in (list(range(model.nv)), list(range(1, model.nv + 1))):
                each = zip(numbers, model.coordinate_names, strict=True)
                found |= {group[number]: name + suffix for number, name in each}
                break
        if not suffix and not found:
            return {}
    return found


def is_chain(model: Model) -> bool:
    """Return whether a machine is one chain of joints with a degree of freedom each."""
    joints = [joint for joint in model.joints if joint.moving and joint.follows is None]
    if model.has_loops or not joints or any(joint.type.nv != 1 for joint in joints):
        return False
    parents = [model.bodies[joint.body].parent for joint in joints]
    return len(set(parents)) == len(parents)


NAMED = 8
"""How many names a sentence gives before it counts."""
NEAR = 0.8
"""Likeness of a name to one that is missing, from which on it is a misspelt one."""
PARTS = ("nanosec", "nanosecs", "nanoseconds", "nsec", "nsecs")
"""Ends of names of columns that hold what a time in whole seconds lacks, as ROS writes them."""
POSE = {"x": "m", "y": "m", "z": "m", "roll": "rad", "pitch": "rad", "yaw": "rad"}
POSE |= dict.fromkeys(("qx", "qy", "qz", "qw"), "1")


def checked_units(
    unit: Sequence[str] | str, example: str, measures: Sequence[str]
) -> tuple[str, ...]:
    """Return the units of columns that a call gives, which must be of some measures."""
    units = name_list("unit", unit, f"units, such as {example!r}")
    for one in units:
        known = find_unit(one)
        if known is None or known.measures not in measures:
            raise StateError(f"unit: expected one of {', '.join(units_of(*measures))}, got {one!r}")
    return units


OF_COLUMNS = ("rad", "rad/s", "rad/s^2", "m", "m/s", "m/s^2", "s", "N", "N m")
"""What units of columns that do not say theirs measure."""


@dataclass(frozen=True)
class Naming:
    """What the columns of a file are, where their names do not say it.

    Attributes
    ----------
    rename : names there -> here; a ``*`` stands for any characters, the same on both sides; None
        (or "") leaves the column out
    ignore : patterns of names that are no part of the motion
    units : of columns without one: "deg" of angles (and deg/s, ... of their rates, unless one of
        these is there too), "mm" of lengths, "ms" of times
    drop_gaps : leave out rows in which a column that is read has no number, and rows with the time
        stamp of the row before
    unwrap : angles that are counted on where they begin again after a turn; see `Unwrapping`
    """

    rename: Mapping[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    drop_gaps: bool = False
    unwrap: tuple[str, ...] | None = None

    @staticmethod
    def of(
        rename: Mapping[str, str | None] | None = None,
        ignore: Sequence[str] | str = (),
        unit: Sequence[str] | str = (),
        gaps: Gaps = "refuse",
        unwrap: Iterable[str] | str | None = None,
    ) -> Naming:
        """Return a checked one."""
        renamed = by_name("rename", rename, "{'q1': 'elbow'}")
        for there, here in renamed.items():
            if here and (here.count("*") > there.count("*") or there.count("*") > 1):
                raise StateError(
                    f"rename: expected at most one * on each side, got {there!r}: {here!r}"
                )
        units = checked_units(unit, "deg", OF_COLUMNS)
        if gaps not in ("refuse", "drop"):
            raise StateError(f"gaps: expected 'refuse' or 'drop', got {gaps!r}")
        turning = None if unwrap is None else name_list("unwrap", unwrap, "names of joints")
        ignored = name_list("ignore", ignore, "columns")
        return Naming(renamed, ignored, units, gaps == "drop", turning)


def named_columns(
    source: TableSource,
    model: Model,
    naming: Naming,
    *,
    frames: Frames = None,
    rest: bool = False,
) -> NamedColumns:
    """Return a file with its columns called as they are here.

    Parameters
    ----------
    frames : of the caller's, whose poses the file may hold
    rest : coordinates may be missing

    Raises
    ------
    FileError
        A column has nearly the name of one that is missing, two are the same, or nothing tells
        where the coordinates are: what to say with --rename.
    """
    if naming.drop_gaps:
        source.gaps = True
    words = _Words(model, frames)
    kept, extra = _renamed(source, naming, words), list[int]()
    found, taken = dict[int, Column](), list[str]()
    for place, name in kept.items():
        column = source.columns[place]
        said = words.meaning(name)
        if said is None:
            extra.append(place)
            continue
        ours, unit = said
        unit = column.unit if column.unit is not None else unit
        if ours.endswith(EFFORT) and not measures_effort(Column(ours, unit), model):
            extra.append(place)  # a current, say: no effort
            continue
        found[place] = Column(ours, unit)
    exact = {name for place, name in kept.items() if place in found and found[place].name == name}
    for place in [k for k, c in found.items() if c.name in exact and kept[k] != c.name]:
        del found[place]
        extra.append(place)
    absent = [n for n in model.coordinate_names if n not in {c.name for c in found.values()}]
    if len(absent) == model.nq:
        by_number = numbered([source.columns[k].name for k in extra], model)
        for place in [k for k in extra if source.columns[k].name in by_number]:
            column = source.columns[place]
            found[place] = Column(by_number[column.name], column.unit)
            extra.remove(place)
            absent = [] if by_number else absent
    found = {place: words.with_unit(found[place], naming.units) for place in sorted(found)}
    _check_twice(source, found)
    _check_clock(source, found, extra)
    names = {column.name for column in found.values()}
    loads = [k for k in extra if is_load(source.columns[k].name, model)]
    others = [source.columns[k].name for k in sorted(set(extra) - set(loads))]
    _check_near(source, others, words, names)
    _check_there(source, names, absent, others, model, rest)
    for place, column in found.items():
        there = source.columns[place].name
        if there != column.name:
            taken.append(f"{there!r} as {column.name}")
    worth_saying = any(not one.endswith(" as time") for one in taken)
    notes = [f"columns taken: {some(taken, NAMED)}"] if worth_saying else []
    if LOAD not in source.attributes:
        others += [source.columns[k].name for k in loads]
    if others:
        notes.append(f"columns left out, which are no part of the motion: {some(others, NAMED)}")
    source.gaps |= any(name.endswith(EFFORT) for name in names)
    columns = list(found.values())
    unwrapping = Unwrapping(columns, model, naming.unwrap)
    return NamedColumns(source, list(found), columns, notes, naming.drop_gaps, unwrapping)


class _Words:
    """What columns of a model's motion are called, and what others call them."""

    def __init__(self, model: Model, frames: Frames) -> None:
        self._model, self._frames = model, frames
        followers = [joint.name for joint in model.joints if joint.follows is not None]
        of_q, of_v = model_units(model)
        self.measures = dict(zip(model.coordinate_names, of_q, strict=True))
        self.measures |= {n: _follower_unit(model, n) for n in followers}
        rates = [*zip(model.velocity_names, of_v, strict=True)]
        rates += [(name, self.measures[name]) for name in followers]
        for suffix, per in zip((".vel", ".acc"), RATE[1:], strict=True):
            self.measures |= {name + suffix: unit + per for name, unit in rates}
        self.measures |= effort_columns(model) | {"time": "s"}
        self._spellings = Spellings(self.measures)

    def meaning(self, name: str) -> tuple[str, str | None] | None:
        """Return what a column is called here, and the unit that its name says."""
        bare = name.strip()
        ours = self._plainly(bare)
        if ours is not None:
            return ours, None
        for base, unit in unit_and_base(bare):
            ours = self._plainly(base) or self._kinds(base)
            if ours is not None and unit.measures == self.measure(ours):
                return ours, unit.name
        ours = self._kinds(bare)
        return None if ours is None else (ours, None)

    def _plainly(self, name: str) -> str | None:
        """Return a name that is known, but for its case, blanks and signs."""
        return name if self._is_pose(name) else self._spellings.plainly(name)

    def _kinds(self, name: str) -> str | None:
        """Return a name with what the column holds before or behind it."""
        for base, kind in kind_and_base(name):
            for form in (base, last_part(base)):
                ours = self._plainly(form)
                if ours not in self._model.coordinate_names:
                    continue
                column = ours + (EFFORT if kind in MEASURED_IN else kind)
                measure = self.measures.get(column)
                if measure is not None and MEASURED_IN.get(kind, measure) == measure:
                    return column
        return None

    def _is_pose(self, name: str) -> bool:
        base = name.removesuffix(".vel").removesuffix(".acc")
        link, _, part = base.rpartition(".")
        rate = part in ("wx", "wy", "wz") and base != name
        return (part in POSE or rate) and is_frame(self._model, link, self._frames)

    def measure(self, name: str) -> str:
        """Return what a column is measured in, in SI units."""
        if name in self.measures:
            return self.measures[name]
        base = name.removesuffix(".vel").removesuffix(".acc")
        unit = POSE.get(base.rpartition(".")[2], "rad")
        return unit + RATE[0 if base == name else 1 if name.endswith(".vel") else 2]

    def with_unit(self, column: Column, units: Sequence[str]) -> Column:
        """Return a column with its unit as it is written here, or that which all have."""
        if column.unit is not None:
            known = find_unit(column.unit)
            return Column(column.name, column.unit if known is None else known.name)
        measure = self.measure(column.name)
        base, slash, rest = measure.partition("/")
        for suffix, fitting in (("", measure), (slash + rest, base)):
            for unit in units:
                known = find_unit(unit)
                if known is not None and known.measures == fitting:
                    return Column(column.name, known.name + suffix)
        return column


def _follower_unit(model: Model, name: str) -> str:
    return "m" if model.joint(name).type.name == "prismatic" else "rad"


def _renamed(source: TableSource, naming: Naming, words: _Words) -> dict[int, str]:
    """Return the columns that are not ignored with their new names."""
    names, found = source.names, dict[int, str]()
    used = set[str]()
    for place, name in enumerate(names):
        if any(fnmatchcase(name, pattern) for pattern in naming.ignore):
            continue
        new: str | None = name
        for there, here in naming.rename.items():
            caught = _caught(there, name)
            if caught is None:
                continue
            used.add(there)
            new = here.replace("*", caught) if here else None
            if new is not None and words.meaning(new) is None:
                raise FileError(
                    f"rename: {unknown_name('coordinate or rate', new, words.measures)}",
                    source.path,
                )
            break
        if new is not None:
            found[place] = new
    for there in naming.rename:
        if there not in used:
            raise FileError(f"rename: {unknown_name('column', there, names)}", source.path)
    return found


def _caught(pattern: str, name: str) -> str | None:
    """Return what the * of a pattern stands for in a name; None if it does not fit."""
    head, star, tail = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    fits = name.startswith(head) and name.endswith(tail) and len(name) >= len(head) + len(tail)
    return name[len(head) : len(name) - len(tail)] if fits else None


def _check_twice(source: TableSource, found: Mapping[int, Column]) -> None:
    first: dict[str, int] = {}
    for place, column in found.items():
        other = first.setdefault(column.name, place)
        if other != place:
            a, b = source.columns[other].name, source.columns[place].name
            raise FileError(
                f"columns {a!r} and {b!r} are both {column.name}; leave one out, --ignore {b!r} "
                f"(ignore=[{b!r}])",
                source.path,
            )


def _check_clock(source: TableSource, found: Mapping[int, Column], extra: Sequence[int]) -> None:
    """Refuse times of which a part is in another column: seconds here, nanoseconds there."""
    clock = [source.columns[k].name for k, column in found.items() if column.name == "time"]
    parts = [source.columns[k].name for k in extra if plain(source.columns[k].name).endswith(PARTS)]
    if clock and parts and plain(clock[0]).endswith(("sec", "secs", "seconds")):
        raise FileError(
            f"the time is in two columns, {clock[0]!r} and {parts[0]!r}: write one, the first + "
            f"1e-9 * the second, s; or say that {clock[0]!r} is all, --ignore {parts[0]!r} "
            f"(ignore=[{parts[0]!r}])",
            source.path,
        )


def _check_near(source: TableSource, others: Sequence[str], words: _Words, names: set[str]) -> None:
    """Refuse a column that has nearly the name of one that is missing: it may be misspelt."""
    needed = (name for name in words.measures if not name.endswith(EFFORT))
    missing = {plain(name): name for name in needed if name not in names}
    for name in others:
        near = get_close_matches(plain(name), missing, n=1, cutoff=NEAR)
        if near:
            here = missing[near[0]]
            raise source.error(
                f"is this {here}? Then say --rename {name}={here} (rename={{{name!r}: {here!r}}}), "
                f"else leave it out, --ignore {name!r} (ignore=[{name!r}])",
                column=name,
            )


def _numbered_alike(there: Sequence[str], here: Sequence[str]) -> tuple[str, str] | None:
    """Return ("A*", "joint_*") where names are numbered alike: A1, A2 and joint_1, joint_2."""
    if len(there) < 2 or len(there) != len(here):
        return None
    sides = []
    for names in (there, here):
        parts = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
        if not all(parts) or len({part[1] for part in parts if part}) > 1:
            return None
        sides.append([(part[1], part[2]) for part in parts if part])
    if [number for _, number in sides[0]] != [number for _, number in sides[1]]:
        return None
    return f"{sides[0][0][0]}*", f"{sides[1][0][0]}*"


def _check_there(
    source: TableSource,
    names: set[str],
    absent: Sequence[str],
    others: Sequence[str],
    model: Model,
    rest: bool,
) -> None:
    """Refuse a file in which nothing is known, or something is missing and others are unknown."""
    if not others or rest or not absent:
        return
    poses = any(name not in model.coordinate_names and "." in name for name in names)
    if (model.has_loops and names - {"time"}) or poses:
        return
    absent = [*({"time"} - names), *absent]
    there, here = _numbered_alike(others, absent) or (others[0], absent[0])
    shown = quote(f"{there}={here}")
    raise FileError(
        f"expected a column for the time and each coordinate, {len(absent)} missing: "
        f"{some(absent, NAMED)}; "
        f"other columns are {some(others, NAMED)}: say which is which, --rename {shown} "
        f"(rename={{{there!r}: {here!r}}}; a * stands for any characters), or "
        f"hold what is missing at zero with --rest (rest=True)",
        source.path,
    )
