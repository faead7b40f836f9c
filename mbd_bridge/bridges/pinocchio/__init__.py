"""The bridge to pinocchio.

- `from_pinocchio` makes our model of a ``pinocchio.Model``;
- `to_pinocchio` makes a ``pinocchio.Model`` of ours;
- `Twin` converts states and forces between the two;
- `prepare`, `rnea`, `aba`, `crba`, `joint_forces` keep pinocchio's calls and run our kernels;
- `prepare(model, constraint_models)` and `constraint_dynamics` do so with rigid constraints.
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
