"""The public names of `mbd_bridge.solve`, each with its module."""

from mbd_bridge.solve.assembly import Assembly as Assembly, assemble as assemble
from mbd_bridge.solve.check_states import explain as explain
from mbd_bridge.solve.constrained import ConstrainedDynamics as ConstrainedDynamics
from mbd_bridge.solve.dynamics import (
    FUNCTIONS as FUNCTIONS,
    Dynamics as Dynamics,
    ForwardDynamics as ForwardDynamics,
    prepare as prepare,
)
from mbd_bridge.solve.loops import LoopReport as LoopReport, report as report
