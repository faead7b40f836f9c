"""The public names of `mbd_bridge.model`, each with its module."""

from mbd_bridge.model.build import EARTH as EARTH, build_model as build_model, rebuilt as rebuilt
from mbd_bridge.model.builder import Builder as Builder
from mbd_bridge.model.cut_table import (
    CUT_ROWS as CUT_ROWS,
    Across as Across,
    Along as Along,
    Coupled as Coupled,
    Cut as Cut,
    Distance as Distance,
    Height as Height,
    Slip as Slip,
)
from mbd_bridge.model.flexible_links import FlexibleBody as FlexibleBody
from mbd_bridge.model.joint_table import (
    JOINT_TYPES as JOINT_TYPES,
    JointMotion as JointMotion,
    JointType as JointType,
)
from mbd_bridge.model.model import (
    GROUND as GROUND,
    RANK_TOLERANCE as RANK_TOLERANCE,
    ROOT_JOINT as ROOT_JOINT,
    Body as Body,
    Model as Model,
    ModelJoint as ModelJoint,
    ModelLink as ModelLink,
    address as address,
    digest as digest,
)
from mbd_bridge.model.spanning_tree import (
    Cuts as Cuts,
    Edge as Edge,
    TreeEdge as TreeEdge,
    distance_matrix as distance_matrix,
    path_matrix as path_matrix,
    recut as recut,
)
