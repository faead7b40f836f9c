"""Load histories with their spectra, of loads that are there as a whole."""

from mbd_bridge.applications.durability.observer import SpectraObserver
from mbd_bridge.loads.streaming import LoadHistoryCounter


def history_counter():
    return LoadHistoryCounter({"spectra": SpectraObserver()})


def load_history(loads):
    counter = history_counter()
    counter.add(None, loads)
    return counter.history()
