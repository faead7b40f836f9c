"""The bridge to pinocchio.

- `from_pinocchio` makes our model of a ``pinocchio.Model``;
- `to_pinocchio` makes a ``pinocchio.Model`` of ours;
- `Twin` converts states and forces between the two;
- `prepare`, `rnea`, `aba`, `crba`, `joint_forces` keep pinocchio's calls and run our kernels;
- `computeRNEADerivatives`, `computeABADerivatives` and others give derivatives of dynamics;
- `computeFrameJacobian`, `centerOfMass`, `ccrba` and others do so for frames and the whole;
- `constraintDynamics` and its derivatives do so with rigid constraints.
"""

from mbd_bridge.base.extras import needed

# before the modules that import it, so that the message is this one; hence
# ruff: noqa: E402
pinocchio = needed("pinocchio", "this needs pinocchio", "pin")

from mbd_bridge.engines.pinocchio.adopt import from_pinocchio
from mbd_bridge.engines.pinocchio.drop_in import (
    PreparedModel,
    aba,
    computeABADerivatives,
    computeGeneralizedGravityDerivatives,
    computeJointTorqueRegressor,
    computeMinverse,
    computeRNEADerivatives,
    computeStaticTorque,
    computeStaticTorqueDerivatives,
    crba,
    joint_forces,
    nle,
    nonLinearEffects,
    prepare,
    rnea,
)
from mbd_bridge.engines.pinocchio.drop_in_constraints import (
    computeConstraintDynamicsDerivatives,
    constraintDynamics,
    initConstraintDynamics,
)
from mbd_bridge.engines.pinocchio.drop_in_kinematics import (
    ccrba,
    centerOfMass,
    computeCentroidalMap,
    computeCentroidalMomentum,
    computeFrameJacobian,
    computeGeneralizedGravity,
    computeJointJacobians,
    computeKineticEnergy,
    computeMechanicalEnergy,
    computePotentialEnergy,
    forwardKinematics,
    framesForwardKinematics,
    getFrameJacobian,
    jacobianCenterOfMass,
)
from mbd_bridge.engines.pinocchio.twin import Twin, to_pinocchio

__all__ = [
    "PreparedModel",
    "Twin",
    "aba",
    "ccrba",
    "centerOfMass",
    "computeABADerivatives",
    "computeCentroidalMap",
    "computeCentroidalMomentum",
    "computeConstraintDynamicsDerivatives",
    "computeFrameJacobian",
    "computeGeneralizedGravity",
    "computeGeneralizedGravityDerivatives",
    "computeJointJacobians",
    "computeJointTorqueRegressor",
    "computeKineticEnergy",
    "computeMechanicalEnergy",
    "computeMinverse",
    "computePotentialEnergy",
    "computeRNEADerivatives",
    "computeStaticTorque",
    "computeStaticTorqueDerivatives",
    "constraintDynamics",
    "crba",
    "forwardKinematics",
    "framesForwardKinematics",
    "from_pinocchio",
    "getFrameJacobian",
    "initConstraintDynamics",
    "jacobianCenterOfMass",
    "joint_forces",
    "nle",
    "nonLinearEffects",
    "prepare",
    "rnea",
    "to_pinocchio",
]


def __getattr__(name: str) -> object:
    """Refuse a name that is not here, with what to call in its place."""
    if not name.startswith("_") and hasattr(pinocchio, name):
        raise AttributeError(
            f"{__name__} has no {name}: call pinocchio's own, pinocchio.{name}(...), with "
            f"pinocchio's model. What is here: {', '.join(__all__)}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
