"""The bridge to pinocchio.

| to ... | use |
|---|---|
| make our model of a ``pinocchio.Model`` | `from_pinocchio` |
| make a ``pinocchio.Model`` of ours | `to_pinocchio` |
| convert states and forces between the two | `Twin` |
| keep pinocchio's calls and run our kernels | `prepare`, `rnea`, `aba`, `crba`, `joint_forces` |
| the same with rigid constraints | `prepare(model, constraint_models)`, `constraint_dynamics` |
"""

from mbd_bridge.bridges.pinocchio.adopt import from_pinocchio
from mbd_bridge.bridges.pinocchio.build import to_pinocchio
from mbd_bridge.bridges.pinocchio.constraints import ConstrainedMotion
from mbd_bridge.bridges.pinocchio.drop_in import (
    PreparedModel,
    aba,
    constraint_dynamics,
    crba,
    joint_forces,
    nle,
    prepare,
    rnea,
)
from mbd_bridge.bridges.pinocchio.twin import Twin

__all__ = [
    "ConstrainedMotion",
    "PreparedModel",
    "Twin",
    "aba",
    "constraint_dynamics",
    "crba",
    "from_pinocchio",
    "joint_forces",
    "nle",
    "prepare",
    "rnea",
    "to_pinocchio",
]
