"""The public names of `mbd_bridge.loads.streaming`, each with its module."""

from mbd_bridge.loads.streaming.cases import LoadCase as LoadCase, LoadCases as LoadCases
from mbd_bridge.loads.streaming.envelope import Envelope as Envelope
from mbd_bridge.loads.streaming.load_history import (
    LoadHistory as LoadHistory,
    LoadHistoryCounter as LoadHistoryCounter,
)
from mbd_bridge.loads.streaming.statistics import (
    Extreme as Extreme,
    SignalStatistics as SignalStatistics,
)
from mbd_bridge.loads.streaming.traces import Traces as Traces
