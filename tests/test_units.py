"""Claims about units: however they are written, they are the same."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from mbd_bridge.base.units import COMMON, WORDS, find_unit, in_si, measured, units_of

SAME = {
    "deg": "° [°] (deg) Grad degrees Degree DEG",
    "rpm": "1/min [1/min] U/min min^-1 min-1 min⁻¹ rev/min Umdrehungen/Minute RPM r/min",
    "deg/s": "°/s deg_per_s deg_s Grad/Sekunde degrees/second deg*s^-1",
    "m/s^2": "m/s² m/s2 m/s**2 m·s⁻² m_s2 metres/s^2",
    "N m": "Nm N·m N*m N-m NM Newtonmeter",
    "kN m": "kNm kN·m KNM",
    "N mm": "Nmm mNm mN·m",
    "kN": "Kilonewton KN",
    "mm": "Millimeter MM millimetres",
    "us": "µs μs usec Mikrosekunden",
    "s": "sec Sekunden seconds S",
}
NONE = "furlong,s2x,/,//,m/m,1/,lb-ft,°C,bar,counts,2,s^,^2,-m,m--s,m/s/,[mm,("


@pytest.mark.parametrize("name", SAME)
def test_spellings_of_a_unit_are_that_unit(name):
    for text in SAME[name].split():
        assert find_unit(text) == find_unit(name)._replace(name=find_unit(text).name), text
        assert math.isclose(find_unit(text).factor, find_unit(name).factor, rel_tol=1e-15)


def test_products_and_quotients_are_those_of_their_parts():
    for (a, (of_a, size)), (b, (of_b, other)) in itertools.product(WORDS.items(), repeat=2):
        if of_a != of_b:
            assert find_unit(f"{a}/{b}").factor == size / other
            assert math.isclose(find_unit(f"{a}*{b}^-2").factor, size / other**2, rel_tol=1e-15)
            assert find_unit(f"{a} {b}").measures == find_unit(f"{of_b}·{of_a}").measures


def test_common_units_have_their_own_names_and_are_offered_by_what_they_measure():
    assert [find_unit(name).name for name in COMMON] == list(COMMON)
    assert units_of("N m") == ["N m", "N mm", "kN m"]
    assert find_unit("rpm") == ("rpm", "rad/s", math.pi / 30.0)


def test_what_is_no_unit_is_none_and_nothing_raises():
    assert not [text for text in NONE.split(",") if find_unit(text) is not None]
    signs = [*"msN1/^-²_*·°[]()%9é2 ", "rad", "min", "_per_", "^-"]
    draw = random.Random(1)
    for _ in range(20_000):
        unit = find_unit("".join(draw.choices(signs, k=draw.randint(1, 7))))
        assert unit is None or (math.isfinite(unit.factor) and unit.factor > 0.0)


def test_numbers_with_units_are_in_si():
    for text, measures, value in (
        ("30deg", "rad", math.pi / 6.0),
        ("60 1/min", "rad/s", 2.0 * math.pi),
        ("-1e-3 mm", "m", -1e-6),
        ("2.5", "rad", 2.5),
        ("3 kN m", "N m", 3000.0),
    ):
        assert math.isclose(in_si("x", *measured(text), measures), value, rel_tol=1e-14)
    for text in ("x", "1.5.2", "", "deg", "/min"):
        with pytest.raises(ValueError, match="expected a number"):
            measured(text)
    with pytest.raises(ValueError, match="is in rad, which 'mm' is not a unit of"):
        in_si("crank", *measured("3mm"), "rad")
