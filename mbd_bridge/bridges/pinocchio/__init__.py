"""The bridge to pinocchio.

| to ... | use |
|---|---|
| make our model of a ``pinocchio.Model`` | `from_pinocchio` |
| make a ``pinocchio.Model`` of ours | `to_pinocchio` |
| convert states and forces between the two | `Twin` |
| keep pinocchio's calls and run our kernels | `prepare`, `rnea`, `aba`, `crba`, `joint_forces` |
"""

from mbd_bridge.bridges.pinocchio.adopt import from_pinocchio
from mbd_bridge.bridges.pinocchio.build import to_pinocchio
from mbd_bridge.bridges.pinocchio.drop_in import (
    PreparedModel,
    aba,
    crba,
    joint_forces,
    nle,
    prepare,
    rnea,
)
from mbd_bridge.bridges.pinocchio.twin import Twin

__all__ = [
    "PreparedModel",
    "Twin",
    "aba",
    "crba",
    "from_pinocchio",
    "joint_forces",
    "nle",
    "prepare",
    "rnea",
    "to_pinocchio",
]
