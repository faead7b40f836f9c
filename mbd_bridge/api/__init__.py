"""What a user holds and calls."""

from mbd_bridge.api.functions import (
    crosscheck,
    load,
    load_loads,
    load_motion,
    simulate,
    simulate_batch,
)
from mbd_bridge.api.mechanism import Mechanism

__all__ = [
    "Mechanism",
    "crosscheck",
    "load",
    "load_loads",
    "load_motion",
    "simulate",
    "simulate_batch",
]
