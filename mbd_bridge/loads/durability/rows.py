"""Load spectra as rows: a signal each."""

from __future__ import annotations

from mbd_bridge.loads.durability.load_spectra import LoadSpectra
from mbd_bridge.tabular import Rows, Series


def rows_of(spectra: LoadSpectra) -> Rows:
    """Return cycles, largest ranges and damage-equivalent ranges of one cycle per exponent."""
    each = spectra.spectra
    exponents = each[0].exponents if each else ()
    columns = (
        Series("unit", "", [one.unit for one in each]),
        Series("cycles", "", [float(one.cycles) for one in each]),
        Series("largest range", "", [float(one.largest) for one in each]),
        *(
            Series(f"one cycle, m = {m:g}", "", [float(one.powers[k]) for one in each])
            for k, m in enumerate(exponents)
        ),
        Series("determined", "", ["yes" if one.determined else "no" for one in each]),
    )
    return Rows(repr(spectra), Series("signal", "", [one.name for one in each]), columns)
