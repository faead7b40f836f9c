"""What a user holds and calls."""

from mbd_bridge.api.functions import (
    assemble_batch,
    crosscheck,
    load,
    load_history,
    load_loads,
    load_motion,
    simulate,
    simulate_batch,
)
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.pictures import render, show
from mbd_bridge.api.reports import report

__all__ = [
    "Mechanism",
    "assemble_batch",
    "crosscheck",
    "load",
    "load_history",
    "load_loads",
    "load_motion",
    "render",
    "report",
    "show",
    "simulate",
    "simulate_batch",
]
