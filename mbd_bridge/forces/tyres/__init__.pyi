"""The public names of `mbd_bridge.forces.tyres`, each with its module."""

from mbd_bridge.forces.tyres.fiala import FialaTyre as FialaTyre
from mbd_bridge.forces.tyres.pacejka import PacejkaTyre as PacejkaTyre
from mbd_bridge.forces.tyres.simple import SimpleTyre as SimpleTyre
from mbd_bridge.forces.tyres.table import TableTyre as TableTyre
from mbd_bridge.forces.tyres.tyre import Tyre as Tyre
