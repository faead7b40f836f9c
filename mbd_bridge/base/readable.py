"""Numbers and units as people read them: five digits, kN from 10 kN on, and 0 for rounding errors.

Every table, picture and page asks here; files keep what was computed, in SI units.
"""

from __future__ import annotations

from typing import NamedTuple

DIGITS = 5
"""Significant digits: more than any measured motion has."""

FROM = 1e4
"""Size from which a number is shown in thousands: 9,999 N, but 10 kN."""

SMALL = 1e-2
"""Size below which a number is shown in thousandths: 0.01 N, but 9.9 mN."""

BAND = 1e-3
"""Share of a number below which its band is not shown: no digit that matters depends on it."""

CLOCK = 1e5
"""s: times beyond are stamps of a clock, or days long."""

PREFIXED = ("N", "N m", "W", "J")
"""Units that take prefixes; rad, m and their rates stay as they are."""

PREFIXES = ("n", "µ", "m", "", "k", "M", "G")
"""Of powers of 1000, from the -3rd on."""

MIDDLE = PREFIXES.index("")
LOWEST = 1e-10
"""Sizes below have no unit that people read: they stay as they are."""


class Shown(NamedTuple):
    """A unit that is shown, and what a number in the SI unit is multiplied by."""

    unit: str
    factor: float


def shown_in(unit: str, largest: float) -> Shown:
    """Return the unit in which numbers up to a size, given in an SI unit, are shown.

    Examples
    --------
    >>> shown_in("N", 9_999.0).unit, shown_in("N m", 12_000.0), shown_in("rad", 1e5).unit
    ('N', Shown(unit='kN m', factor=0.001), 'rad')
    """
    size, power = abs(largest), 0
    if unit not in PREFIXED or not LOWEST <= size < float("inf"):
        return Shown(unit, 1.0)
    while size >= FROM and MIDDLE + power + 1 < len(PREFIXES):
        size, power = size / 1e3, power + 1
    while size < SMALL and MIDDLE + power > 0:
        size, power = size * 1e3, power - 1
    return Shown(PREFIXES[MIDDLE + power] + unit, float(f"1e{-3 * power}"))


def number(value: float, floor: float = 0.0, digits: int = DIGITS) -> str:
    """Return a number as it stands in tables; one of the size of rounding errors is 0.

    Parameters
    ----------
    floor : size up to which it is a rounding error
    """
    return "0" if abs(value) <= floor else f"{value:.{digits}g}"


def sentence(text: str) -> str:
    """Return words with a capital letter in front and a full stop behind."""
    return f"{text[:1].upper()}{text[1:]}."


def instant(time: float) -> str:
    """Return a time, s, to the millisecond where it is a clock's: six digits would hide it.

    Examples
    --------
    >>> instant(12.3456789), instant(1_700_000_012.34)
    ('12.3457', '1700000012.34')
    """
    return f"{time:g}" if abs(time) < CLOCK else f"{time:.3f}".rstrip("0").rstrip(".")


def life_in_words(hours: float) -> str:
    """Return a life in hours.

    Examples
    --------
    >>> life_in_words(1234.5678), life_in_words(float("inf"))
    ('1234.6', 'unlimited')
    """
    return number(hours) if hours < float("inf") else "unlimited"


def on_clock(time: float, first: float) -> float:
    """Return a time of a motion, s: where its first sample has a clock's stamp, times that are no
    stamps count from this sample.

    Examples
    --------
    >>> on_clock(2.0, 0.5), on_clock(2.0, 1_700_000_000.25), on_clock(1_700_000_001.0, 1.7e9)
    (2.0, 1700000002.25, 1700000001.0)
    """
    return first + time if abs(first) >= CLOCK > abs(time) else time


def quantity(value: float, unit: str, floor: float = 0.0, digits: int = DIGITS) -> str:
    """Return a number, given in an SI unit, with the unit in which it is shown.

    Examples
    --------
    >>> quantity(12_345.678, "N"), quantity(0.001, "N m"), quantity(1e-17, "N", floor=1e-9)
    ('12.346 kN', '1 mN m', '0 N')
    """
    if abs(value) <= floor:
        return f"0 {unit}"
    shown = shown_in(unit, value)
    return f"{number(value * shown.factor, digits=digits)} {shown.unit}"


def banded(value: float, unit: str, band: float | None, floor: float = 0.0) -> str:
    """Return a number with its unit, and what is left open of it, both in the unit shown.

    A band of less than a thousandth of the number, and one of zero, is not shown.

    Examples
    --------
    >>> banded(60_000.0, "N", 0.008), banded(60_000.0, "N", 80.0), banded(2.0, "N m", None)
    ('60 kN', '60 ± 0.08 kN', '2 N m')
    """
    text = quantity(value, unit, floor)
    if band is None or abs(value) <= floor or band < BAND * abs(value):
        return text
    shown = shown_in(unit, value)
    return f"{number(value * shown.factor)} ± {number(band * shown.factor, digits=2)} {shown.unit}"
