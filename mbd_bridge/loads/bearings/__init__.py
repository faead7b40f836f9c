"""Bearing terms of joint loads: radial, axial, tilting moment; rating lives (ISO 281)."""

from mbd_bridge.loads.bearings.bearing_set import BearingOptions, BearingSet
from mbd_bridge.loads.bearings.bearing_set import load_bearings as load
from mbd_bridge.loads.bearings.bearing_set import save_bearings as save
from mbd_bridge.loads.bearings.bearings import Bearings, BearingsCounter
from mbd_bridge.loads.bearings.catalogue import Bearing
from mbd_bridge.loads.bearings.duty import BearingDuty, RatingLife
from mbd_bridge.loads.bearings.ring_frames import RingFrames
from mbd_bridge.loads.bearings.terms import BearingTerms

__all__ = [
    "Bearing",
    "BearingDuty",
    "BearingOptions",
    "BearingSet",
    "BearingTerms",
    "Bearings",
    "BearingsCounter",
    "RatingLife",
    "RingFrames",
    "load",
    "save",
]
