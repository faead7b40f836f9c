"""Loads along motions of any length: read, computed, condensed and written piece by piece."""

from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases
from mbd_bridge.loads.streaming.envelope import Envelope
from mbd_bridge.loads.streaming.load_history import LoadHistory, LoadHistoryCounter
from mbd_bridge.loads.streaming.observer import EXPONENTS, Observer
from mbd_bridge.loads.streaming.statistics import Extreme, SignalStatistics
from mbd_bridge.loads.streaming.stream import loads_writer, lost_components, stream_loads
from mbd_bridge.loads.streaming.traces import Traces

__all__ = [
    "EXPONENTS",
    "Envelope",
    "Extreme",
    "LoadCase",
    "LoadCases",
    "LoadHistory",
    "LoadHistoryCounter",
    "Observer",
    "SignalStatistics",
    "Traces",
    "loads_writer",
    "lost_components",
    "stream_loads",
]
