"""The joint table, the graph, the spanning tree and the immutable model."""

from mbd_bridge.model.build import EARTH, build_model, rebuilt
from mbd_bridge.model.builder import Builder
from mbd_bridge.model.cut_table import CUT_ROWS, Across, Along, Coupled, Cut, Distance, Height, Slip
from mbd_bridge.model.flexible_links import FlexibleBody
from mbd_bridge.model.joint_table import JOINT_TYPES, JointMotion, JointType
from mbd_bridge.model.model import (
    GROUND,
    RANK_TOLERANCE,
    ROOT_JOINT,
    Body,
    Model,
    ModelJoint,
    ModelLink,
    address,
    digest,
)
from mbd_bridge.model.spanning_tree import (
    Cuts,
    Edge,
    TreeEdge,
    distance_matrix,
    path_matrix,
    recut,
    spanning_tree,
)

__all__ = [
    "CUT_ROWS",
    "EARTH",
    "GROUND",
    "JOINT_TYPES",
    "RANK_TOLERANCE",
    "ROOT_JOINT",
    "Across",
    "Along",
    "Body",
    "Builder",
    "Coupled",
    "Cut",
    "Cuts",
    "Distance",
    "Edge",
    "FlexibleBody",
    "Height",
    "JointMotion",
    "JointType",
    "Model",
    "ModelJoint",
    "ModelLink",
    "Slip",
    "TreeEdge",
    "address",
    "build_model",
    "digest",
    "distance_matrix",
    "path_matrix",
    "rebuilt",
    "recut",
    "spanning_tree",
]
