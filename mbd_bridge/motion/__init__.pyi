"""The public names of `mbd_bridge.motion`, each with its module."""

from mbd_bridge.motion.motion import Motion as Motion, motion_from_table as motion_from_table
from mbd_bridge.motion.pieces import (
    MotionParts as MotionParts,
    MotionPieces as MotionPieces,
    Pieces as Pieces,
    motion_from_file as motion_from_file,
    motion_pieces as motion_pieces,
    pieces_from_file as pieces_from_file,
)
from mbd_bridge.motion.reading import CompletionOptions as CompletionOptions, Reading as Reading
