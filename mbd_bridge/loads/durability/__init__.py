"""What loads do to the life of a part: cycles, spectra, damage-equivalent loads."""

from mbd_bridge.loads.durability.cycles import CycleCounter, Cycles, rainflow
from mbd_bridge.loads.durability.load_spectra import (
    LoadSpectra,
    LoadSpectraCounter,
    Worst,
    load_spectra,
)
from mbd_bridge.loads.durability.spectrum import (
    EXPONENTS,
    Exceedance,
    Spectrum,
    SpectrumCounter,
    spectrum,
)

__all__ = [
    "EXPONENTS",
    "CycleCounter",
    "Cycles",
    "Exceedance",
    "LoadSpectra",
    "LoadSpectraCounter",
    "Spectrum",
    "SpectrumCounter",
    "Worst",
    "load_spectra",
    "rainflow",
    "spectrum",
]
