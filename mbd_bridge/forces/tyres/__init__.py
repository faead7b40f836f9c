"""Tyres as force elements: on a wheel's link, on a road."""

from mbd_bridge.forces.tyres.fiala import FialaTyre
from mbd_bridge.forces.tyres.pacejka import PacejkaTyre
from mbd_bridge.forces.tyres.simple import SimpleTyre
from mbd_bridge.forces.tyres.table import TableTyre
from mbd_bridge.forces.tyres.tyre import Tyre

__all__ = ["FialaTyre", "PacejkaTyre", "SimpleTyre", "TableTyre", "Tyre"]
