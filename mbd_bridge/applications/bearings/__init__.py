"""Bearing terms of joint loads: radial, axial, tilting moment; rating lives (ISO 281)."""

from mbd_bridge.applications.bearings.bearing_set import (
    BearingOptions,
    BearingSet,
    load_bearings as load,
    save_bearings as save,
)
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsObserver
from mbd_bridge.applications.bearings.catalogue import Bearing
from mbd_bridge.applications.bearings.life import BearingDuty, RatingLife
from mbd_bridge.applications.bearings.terms import BearingTerms, RingFrames

__all__ = [
    "Bearing",
    "BearingDuty",
    "BearingOptions",
    "BearingSet",
    "BearingTerms",
    "Bearings",
    "BearingsObserver",
    "RatingLife",
    "RingFrames",
    "load",
    "save",
]
