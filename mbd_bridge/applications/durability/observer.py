"""Spectra along motions, and what they add to a `LoadHistory` (``entry_points.txt``)."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.applications.durability.load_spectra import LoadSpectra, SpectraObserver
from mbd_bridge.base.table import Table
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.loads.watch import Needs
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


def _spectra(history: LoadHistory) -> LoadSpectra:
    """Rainflow cycles and damage-equivalent loads of the signals."""
    found: LoadSpectra = history.results["spectra"]
    return found


spectra = property(_spectra)


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
