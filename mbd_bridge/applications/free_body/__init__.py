"""A link cut free: every joint's wrench on it, gravity, inertia (`files` writes them)."""

from mbd_bridge.applications.free_body.free_body import (
    FreeBody,
    LinkAction,
    NearestInstants,
    PeakInstants,
    free_body,
    joints_of,
)

__all__ = [
    "FreeBody",
    "LinkAction",
    "NearestInstants",
    "PeakInstants",
    "free_body",
    "joints_of",
]
