"""What loads do to the life of a part: cycles, spectra, damage-equivalent loads."""

from mbd_bridge.applications.durability.cycles import CycleCounter, Cycles, rainflow
from mbd_bridge.applications.durability.load_spectra import (
    LoadSpectra,
    SpectraObserver,
    WorstDirection,
    load_spectra,
)
from mbd_bridge.applications.durability.spectrum import (
    EquivalentRange,
    Exceedance,
    Spectrum,
    SpectrumCounter,
    equivalent_range,
    spectrum,
)
from mbd_bridge.loads.options import EXPONENTS

__all__ = [
    "EXPONENTS",
    "CycleCounter",
    "Cycles",
    "EquivalentRange",
    "Exceedance",
    "LoadSpectra",
    "SpectraObserver",
    "Spectrum",
    "SpectrumCounter",
    "WorstDirection",
    "equivalent_range",
    "load_spectra",
    "rainflow",
    "spectrum",
]
