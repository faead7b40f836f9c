"""Units, however people and programs write them: the one table of them, read by `find_unit`.

A unit is a product of the words in `WORDS`, with powers, over other such products: ``N mm``,
``kN·m``, ``rad/s²``, ``deg_per_s``, ``m s^-2``, ``Grad/s``, ``Newtonmeter``. Rotational speeds are
written ``rpm``, ``1/min``, ``U/min`` or ``min^-1`` too.

Not among them are units whose zero is elsewhere (°C), and 1/s for speeds, which may be rad/s or
turns per second.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit as it is written here, the SI unit of what it measures, and how many of it it is."""

    name: str
    measures: str
    factor: float


WORDS = {
    "rad": ("rad", 1.0),
    "mrad": ("rad", 1e-3),
    "deg": ("rad", math.pi / 180.0),
    "rev": ("rad", 2.0 * math.pi),
    "m": ("m", 1.0),
    "km": ("m", 1e3),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
    "um": ("m", 1e-6),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "N": ("N", 1.0),
    "mN": ("N", 1e-3),
    "kN": ("N", 1e3),
    "MN": ("N", 1e6),
    "kg": ("kg", 1.0),
}
"""What units are written with: the SI unit of what each measures, and how many of it it is."""

_ORDER = ("N", "kg", "m", "rad", "s")
"""In which SI units stand in a product: N m, m/s^2, N m s/rad."""

_SPELLED = {
    "rad": "radian radians radiant",
    "deg": "° º degree degrees grad",
    "rev": "turn turns revolution revolutions umdrehung umdrehungen",
    "m": "meter meters metre metres",
    "mm": "millimeter millimeters millimetre millimetres",
    "cm": "centimeter centimeters centimetre centimetres zentimeter",
    "s": "sec secs sek second seconds sekunde sekunden",
    "ms": "msec millisecond milliseconds millisekunde millisekunden",
    "us": "µs μs usec microsecond microseconds mikrosekunde mikrosekunden",
    "um": "µm μm",
    "min": "minute minutes minuten",
    "h": "hour hours stunde stunden",
    "N": "newton newtons",
    "kN": "kilonewton kilonewtons",
    "N m": "nm newtonmeter newtonmeters newtonmetre newtonmetres",
    "kN m": "knm kilonewtonmeter",
    "N mm": "nmm newtonmillimeter",
    "N cm": "ncm",
    "mN m": "mnm",
    "rev/min": "rpm upm u/min r/min",
}
_MEANT = {word: unit for unit, words in _SPELLED.items() for word in words.split()}
"""Other spellings, in small letters."""
_MEANT |= {word.lower(): word for word in reversed(WORDS)} | {"MNm": "MN m"}

PLAIN = {"": 1.0, "1": 1.0, "-": 1.0, "%": 0.01}
"""Units of what has none."""

COMMON = (
    *("rad", "deg", "rev", "rad/s", "deg/s", "rpm", "rad/s^2", "deg/s^2"),
    *("m", "cm", "mm", "m/s", "cm/s", "mm/s", "m/s^2", "mm/s^2"),
    *("s", "ms", "us", "ns", "min", "N", "kN", "N m", "N mm", "kN m"),
)
"""Units that messages name, and how these are written here."""

LONGEST = 40
"""Characters of a unit; what is longer is none."""

_SIGNS = str.maketrans(dict(zip("¹²³·⋅×*", ["^1", "^2", "^3", *"    "], strict=True)))
_HYPHEN = re.compile(r"(?<=[A-Za-z])-(?=[A-Za-z])")
_WORD = re.compile(r"(?P<word>[^\d^-]+)(?:\^?(?P<power>-?[1-9]))?")
_NUMBER = re.compile(
    r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>1/.+|[^\d\s.].*)?"
)


@functools.lru_cache(maxsize=4096)
def find_unit(text: str) -> Unit | None:
    """Return the unit that a text such as ``mm``, ``[1/min]`` or ``Grad/s`` means, or None."""
    bare = text.strip()
    if bare[:1] + bare[-1:] in ("[]", "()"):
        bare = bare[1:-1].strip()
    if bare in PLAIN:
        return Unit(bare, "1", PLAIN[bare])
    if len(bare) > LONGEST:
        return None
    powers: Counter[str] = Counter()
    above = below = 1.0
    for word, power in _words(bare):
        if word not in WORDS:
            return None
        measures, size = WORDS[word]
        powers[measures] += power
        above, below = (above * size**power, below) if power > 0 else (above, below * size**-power)
    if not any(powers.values()):
        return None
    if below == WORDS["min"][1] and powers == {"s": -1}:  # 1/min are turns
        powers["rad"], above = 1, WORDS["rev"][1]
    unit = Unit(bare, _product(powers), above / below)
    return unit._replace(name=_usual().get(unit[1:], bare)) if bare not in COMMON else unit


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a unit with their powers; what is no word of one, as it is."""
    meant = text if text in WORDS else _MEANT.get(text) or _MEANT.get(text.lower(), text)
    plain = _HYPHEN.sub(" ", meant.replace("**", "^").replace("⁻", "^-").translate(_SIGNS))
    plain = plain.replace("^-^", "^-").replace("_per_", "/")
    above, *below = (plain if "/" in plain else plain.replace("_", "/")).split("/")
    parts = [(word, 1) for word in above.split() if word != "1" or not below]
    for word, sign in [*parts, *((word, -1) for part in below for word in part.split() or ["/"])]:
        match = _WORD.fullmatch(word)
        bare, power = (match["word"], sign * int(match["power"] or 1)) if match else (word, sign)
        if bare in WORDS or bare == text:
            yield bare, power
        else:
            yield from ((inner, power * times) for inner, times in _words(bare))


def _product(powers: Counter[str]) -> str:
    """Return the SI unit with these powers."""
    above = [f"{unit}^{powers[unit]}" for unit in _ORDER if powers[unit] > 0]
    below = [f"{unit}^{-powers[unit]}" for unit in _ORDER if powers[unit] < 0]
    return "/".join([" ".join(above) or "1", *below]).replace("^1", "")


@functools.cache
def _usual() -> dict[tuple[str, float], str]:
    """Return how units are written here, by what they measure and how many of it they are."""
    units = [(find_unit(name), name) for name in reversed(COMMON)]
    return {unit[1:]: name for unit, name in units if unit is not None}


def units_of(*measures: str) -> list[str]:
    """Return the names of the usual units that measure something, for messages."""
    units = {name: find_unit(name) for name in COMMON}
    return [name for name, unit in units.items() if unit and unit.measures in measures]


def measured(text: str) -> tuple[float, str]:
    """Return the number and the unit of a text such as "30deg" or "0.5"; ValueError if it is none.

    The unit is "" where none is written.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a number such as 0.5 or 30deg, got {text!r}")
    return float(match["number"]), match["unit"] or ""


def in_si(name: str, number: float, unit: str, measures: str) -> float:
    """Return a number in the SI unit `measures` of what has this name.

    A number without a unit is in it; ValueError where the unit measures something else.
    """
    if not unit:
        return number
    known = find_unit(unit)
    if known is None or known.measures != measures:
        kind = f"is in {measures}" if measures else "has no unit"
        raise ValueError(
            f"{name} {kind}, which {unit!r} is not a unit of; give the number in "
            f"{measures or 'its own'}"
        )
    return number * known.factor
