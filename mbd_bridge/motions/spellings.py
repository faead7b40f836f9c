"""The usual spellings of columns: times, units behind a name, what of a joint a column holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mbd_bridge.mechanism.units import UNITS

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
_PARENTHESES = re.compile(r"(?P<base>.*\S)\s*\((?P<unit>[^()]*)\)")
_UNIT = r"deg|rad|°|mm|cm|m|ms|us|ns|sec|s"
_LAST = re.compile(
    rf"(?P<base>.*[^._ /-])[._ /-]+(?P<unit>(?:{_UNIT})(?:(?:/|_per_|_)s(?:\^?2|²)?)?)", re.I
)

SYNONYMS = {
    "degree": "deg",
    "degrees": "deg",
    "grad": "deg",
    "radian": "rad",
    "radians": "rad",
    "meter": "m",
    "meters": "m",
    "metre": "m",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "msec": "ms",
    "µs": "us",
}


def plain(name: str) -> str:
    """Return a name in small letters, with one underscore for all else."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def known_unit(text: str) -> str | None:
    """Return the unit that a text means, as it is written here; None if it is none."""
    bare = text.strip().strip("[]").strip()
    if bare in UNITS:
        return bare
    low = bare.lower().replace("_per_", "/").replace("_", "/").replace("°", "deg")
    head, slash, rest = low.partition("/")
    unit = SYNONYMS.get(head, head) + slash + rest
    return unit if unit in UNITS else None


def unit_and_base(name: str) -> Iterator[tuple[str, str]]:
    """Yield what a name may be without a unit behind it, and the unit."""
    for form in (_PARENTHESES, _LAST):
        said = form.fullmatch(name)
        unit = known_unit(said["unit"]) if said else None
        if said and unit:
            yield said["base"], unit


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
