"""What spectra add to a `LoadHistory` and to load cases (``entry_points.txt``)."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.applications.durability.load_spectra import LoadSpectra, SpectraObserver
from mbd_bridge.applications.durability.spectrum import Spectrum
from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import real_number
from mbd_bridge.base.table import Series, Table
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases, OfCases
from mbd_bridge.motion.smoothing import BAND

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.simulation import Simulation


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> SpectraObserver:
    """Return what counts the cycles that a request asks for."""
    needs = Needs.of(request.request)
    return SpectraObserver(request.exponents, plane=request.plane, needs=needs)


@property  # type: ignore[misc]
def spectra(history: LoadHistory) -> LoadSpectra:
    """Rainflow cycles and damage-equivalent loads of the signals."""
    found: LoadSpectra = history.results["spectra"]
    return found


def equivalent_band(
    history: LoadHistory, name: str, m: float, *, frequency: float = 1.0
) -> float | None:
    """Return half the width of the 95 % band of a signal's damage-equivalent range.

    The ends of a cycle are off independently, by the signal's `deviation` σ each, so that
    var(R_eq) = 2 σ² (R_eq^(1-m) / N_ref)² Σ n R^(2m-2). None: nothing is known of it.

    Parameters
    ----------
    name, m, frequency : see `Spectrum.damage_equivalent`
    """
    known, one = history[name].deviation, history.spectra[name]
    if known is None:
        return None
    equivalent = one.damage_equivalent(m, frequency=frequency)
    if equivalent == 0.0:
        return BAND * math.sqrt(2.0) * known
    middle = 0.5 * (one.ranges[1:] + one.ranges[:-1]) / equivalent
    total = math.sqrt(float(np.sum(one.counts * middle ** (2.0 * m - 2.0))))
    return BAND * math.sqrt(2.0) * known * total / (frequency * history.spectra.duration)


def equivalents(history: LoadHistory, *, frequency: float = 1.0) -> Table:
    """Return cycles and damage-equivalent ranges of the signals, with their bands."""
    bands = partial(equivalent_band, history, frequency=frequency)
    return history.spectra.equivalents(frequency=frequency, bands=bands)


# Cycles of several load cases: their damage adds up, whatever the order.
#
# Over all cases, with weights w_c and n_i cycles of the range R_i in each,
#
#     R_eq(m) = (Σ_c w_c Σ_i n_i R_i^m / N_ref)^(1/m),    N_ref = frequency · Σ_c w_c duration_c
#
# by Miner's rule.

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
    return spectra.spectra[names.index(known_name("signal in these spectra", signal, names))]


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
