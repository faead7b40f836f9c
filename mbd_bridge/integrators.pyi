"""The public names of `mbd_bridge.integrators`, each with its module."""

from mbd_bridge.simulation.steps.schemes import (
    HHT as HHT,
    ExplicitNewmark as ExplicitNewmark,
    GeneralisedAlpha as GeneralisedAlpha,
    Integrator as Integrator,
    KeptMatrix as KeptMatrix,
    Newmark as Newmark,
    NullSpace as NullSpace,
)
