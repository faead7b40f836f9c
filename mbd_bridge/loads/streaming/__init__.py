"""What is kept of loads along motions of any length."""

from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases
from mbd_bridge.loads.streaming.envelope import Envelope
from mbd_bridge.loads.streaming.load_history import LoadHistory, LoadHistoryCounter
from mbd_bridge.loads.streaming.statistics import Extreme, SignalStatistics
from mbd_bridge.loads.streaming.traces import Traces

__all__ = [
    "Envelope",
    "Extreme",
    "LoadCase",
    "LoadCases",
    "LoadHistory",
    "LoadHistoryCounter",
    "SignalStatistics",
    "Traces",
]
