"""Motions of a mechanism: read from tables and bags, checked, differentiated, drawn, saved."""

from mbd_bridge.motion.completed_pieces import motion_pieces
from mbd_bridge.motion.file import motion_from_file, pieces_from_file
from mbd_bridge.motion.motion import Motion, motion_from_table
from mbd_bridge.motion.pieces import MotionParts, MotionPieces, Pieces
from mbd_bridge.motion.reading import CompletionOptions, Reading

__all__ = [
    "CompletionOptions",
    "Motion",
    "MotionParts",
    "MotionPieces",
    "Pieces",
    "Reading",
    "motion_from_file",
    "motion_from_table",
    "motion_pieces",
    "pieces_from_file",
]
