"""The public names of `mbd_bridge.loads`, each with its module."""

from mbd_bridge.loads.convention import Convention as Convention
from mbd_bridge.loads.history import loads_from_table as loads_from_table
from mbd_bridge.loads.observers import (
    LoadSystem as LoadSystem,
    Needs as Needs,
    Observer as Observer,
    watch as watch,
)
from mbd_bridge.loads.request import LoadRequest as LoadRequest
from mbd_bridge.loads.result import JointLoads as JointLoads, OneJoint as OneJoint
from mbd_bridge.loads.solver import LoadSolver as LoadSolver
from mbd_bridge.loads.streaming.cases import LoadCase as LoadCase, LoadCases as LoadCases
