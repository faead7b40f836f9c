"""Load spectra as rows: a signal each."""

from __future__ import annotations

from functools import partial

import numpy as np

from mbd_bridge.applications.durability.load_spectra import LoadSpectra
from mbd_bridge.base.tabular import Arrays, Rows, Series, of_units


def rows_of(spectra: LoadSpectra) -> Rows:
    """Return cycles, largest ranges and damage-equivalent ranges of one cycle per exponent."""
    each = spectra.spectra
    exponents = each[0].exponents if each else ()
    units = [one.unit for one in each]
    unit = units[0] if len(set(units)) == 1 else "see unit"
    columns = (
        Series("unit", "", units),
        Series("cycles", "", [float(one.cycles) for one in each]),
        Series("largest range", unit, [float(one.largest) for one in each]),
        *(
            Series(f"one cycle, m = {m:g}", unit, [float(one.powers[k]) for one in each])
            for k, m in enumerate(exponents)
        ),
        Series("determined", "", ["yes" if one.determined else "no" for one in each]),
    )
    index = Series("signal", "", [one.name for one in each])
    return Rows(repr(spectra), index, columns, arrays=partial(_arrays, spectra))


def _arrays(spectra: LoadSpectra) -> Arrays:
    """Return cycles and ranges over signals and exponents."""
    each = spectra.spectra
    units = [one.unit for one in each]
    signal, exponents = ("signal",), each[0].exponents if each else ()
    powers = np.array([one.powers for one in each]).reshape(len(each), len(exponents))
    ranges = [float(one.largest) for one in each]
    largest, *unit = of_units("largest_range", ranges, signal, units)
    one_cycle, *more = of_units("one_cycle", powers.T, ("exponent", *signal), units)
    variables = [
        Series("cycles", "", [float(one.cycles) for one in each], signal),
        largest,
        one_cycle,
        Series("determined", "", [one.determined for one in each], signal),
    ]
    places = [
        Series("signal", "", list(spectra), signal),
        *unit,
        *more,
        Series("exponent", "", exponents, ("exponent",)),
    ]
    return Arrays(variables, places, {"convention": spectra.convention})
