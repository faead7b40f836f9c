"""Load histories with their spectra, of loads that are there as a whole."""

from mbd_bridge.applications.durability import SpectraObserver
from mbd_bridge.loads.streaming import LoadHistoryCounter


def load_history(*pieces):
    counter, spectra = LoadHistoryCounter(), SpectraObserver()
    for loads in pieces:
        counter.add(None, loads)
        spectra.add(None, loads)
    return counter.history(results={"spectra": spectra.result()})
