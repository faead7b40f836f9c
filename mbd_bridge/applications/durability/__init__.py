"""What loads do to the life of a part: cycles, spectra, damage-equivalent loads."""

from mbd_bridge.applications.durability.cycles import CycleCounter, Cycles, rainflow
from mbd_bridge.applications.durability.load_spectra import (
    LoadSpectra,
    SpectraObserver,
    WorstDirection,
    load_spectra,
)
from mbd_bridge.applications.durability.spectrum import (
    Exceedance,
    Spectrum,
    SpectrumCounter,
    spectrum,
)
from mbd_bridge.loads.options import EXPONENTS

__all__ = [
    "EXPONENTS",
    "CycleCounter",
    "Cycles",
    "Exceedance",
    "LoadSpectra",
    "SpectraObserver",
    "Spectrum",
    "SpectrumCounter",
    "WorstDirection",
    "load_spectra",
    "rainflow",
    "spectrum",
]
