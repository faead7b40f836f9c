"""Frames, their Jacobians, and motions that are completed from a part of their coordinates."""
