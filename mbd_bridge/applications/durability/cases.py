"""Cycles of several load cases: their damage adds up, whatever the order.

Over all cases, with weights w_c and n_i cycles of the range R_i in each,

    R_eq(m) = (Σ_c w_c Σ_i n_i R_i^m / N_ref)^(1/m),    N_ref = frequency · Σ_c w_c duration_c

by Miner's rule.
"""

from __future__ import annotations

import math

from mbd_bridge.applications.durability.spectrum import Spectrum
from mbd_bridge.base.errors import StateError, real_number, unknown_name
from mbd_bridge.base.table import Series
from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases, OfCases

CAPTION = (
    "m = ...: cycles of all repetitions together, by Miner's rule, as the range that does the same "
    "damage once a second (1 Hz) over the whole time."
)


def damage_equivalent(
    cases: LoadCases,
    signal: str,
    exponent: float,
    *,
    frequency: float = 1.0,
    cycles: float | None = None,
) -> float:
    """Return the range that does the damage of all repetitions in so many equal cycles.

    Parameters
    ----------
    exponent : Woehler exponent, one of those of the histories
    frequency, cycles : frequency · `duration` equal cycles, or so many
    """
    number = frequency * cases.duration if cycles is None else cycles
    real_number("cycles", number, "one number of equal cycles above 0", positive=True)
    total = 0.0
    for case in cases.cases:
        one = _spectrum(case, signal)
        total += case.weight * one.damage_equivalent(exponent, cycles=1.0) ** exponent
    return float((total / number) ** (1.0 / exponent))


def largest_range(cases: LoadCases, signal: str) -> float:
    """Return the largest range of a cycle of a signal, over all cases."""
    return float(max(_spectrum(case, signal).largest for case in cases.cases))


def damage_shares(cases: LoadCases, signal: str, exponent: float) -> dict[str, float]:
    """Return the share of each case in the damage of a signal, by name; nan of no damage."""
    each = {}
    for case in cases.cases:
        one = _spectrum(case, signal).damage_equivalent(exponent, cycles=1.0)
        each[case.name] = math.log(case.weight) + exponent * math.log(one) if one else -math.inf
    top = max(each.values())
    if top == -math.inf:
        return dict.fromkeys(each, math.nan)
    sizes = {name: math.exp(x - top) for name, x in each.items()}
    return {name: x / sum(sizes.values()) for name, x in sizes.items()}


def _spectrum(case: LoadCase, signal: str) -> Spectrum:
    spectra = case.history.spectra
    names = [one.name for one in spectra.signals]
    if signal not in names:
        raise StateError(unknown_name("signal in these spectra", signal, names))
    return spectra.spectra[names.index(signal)]


def of_cases(cases: LoadCases) -> OfCases:
    """Return largest and damage-equivalent ranges, and the case that damages most."""
    spectra = cases.cases[0].history.spectra.spectra
    if not (cases.duration > 0.0 and spectra):
        return OfCases()
    units = [one.unit for one in cases.signals]
    sure = [cases.determined(one.name) for one in cases.signals]
    counted = [None if one.resultant else one.name for one in cases.signals]
    ranges = [name and largest_range(cases, name) for name in counted]
    columns = [Series("largest range", units, ranges, sure=sure)]
    exponents = spectra[0].exponents
    for m in exponents:
        ranges = [name and damage_equivalent(cases, name, m) for name in counted]
        columns.append(Series(f"m = {m:g}", units, ranges, sure=sure))
    most = [name and _most_damage(cases, name, exponents[0]) for name in counted]
    return OfCases([*columns, Series(f"most damage, m = {exponents[0]:g}", "", most)], CAPTION)


def _most_damage(cases: LoadCases, signal: str, exponent: float) -> str | None:
    """Return the case that damages most, and its share; None of no damage."""
    shares = damage_shares(cases, signal, exponent)
    case = max(shares, key=lambda name: shares[name])
    return f"{case} ({shares[case]:.0%})" if shares[case] > 0.0 else None
