"""The public names of `mbd_bridge.solve`, each with its module."""

from mbd_bridge.solve.applied import (
    AppliedForces as AppliedForces,
    check_stateless as check_stateless,
    element_links as element_links,
    prepare_element_forces as prepare_element_forces,
)
from mbd_bridge.solve.assembly import Assembly as Assembly, assemble as assemble
from mbd_bridge.solve.check_states import explain as explain
from mbd_bridge.solve.closed_forward import ClosedForward as ClosedForward
from mbd_bridge.solve.closed_inverse import ClosedInverse as ClosedInverse
from mbd_bridge.solve.constrained import ConstrainedDynamics as ConstrainedDynamics
from mbd_bridge.solve.dynamics import (
    FUNCTIONS as FUNCTIONS,
    Dynamics as Dynamics,
    ForwardDynamics as ForwardDynamics,
    prepare as prepare,
    prepare_placement as prepare_placement,
    prepare_variants as prepare_variants,
    prepare_velocity as prepare_velocity,
)
from mbd_bridge.solve.loops import LoopReport as LoopReport, report as report
