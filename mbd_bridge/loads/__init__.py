"""What the user asks: the loads of chosen joints."""

from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.history import loads_from_table
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.result import JointLoads, OneJoint
from mbd_bridge.loads.solver import LoadSolver

__all__ = [
    "Convention",
    "JointLoads",
    "LoadRequest",
    "LoadSolver",
    "OneJoint",
    "loads_from_table",
]
