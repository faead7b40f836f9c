"""A link cut free: every joint's wrench on it, gravity, inertia (`files` writes them)."""

from mbd_bridge.loads.free_body.free_body import Acting, FreeBody, free_body, joints_of
from mbd_bridge.loads.free_body.instants import NearestInstants, PeakInstants

__all__ = [
    "Acting",
    "FreeBody",
    "NearestInstants",
    "PeakInstants",
    "free_body",
    "joints_of",
]
