"""Some states of a motion that comes in pieces, evenly apart: what a film of it needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mbd_bridge.motion.motion import Motion

MOST = 512
"""Rows that are kept at most; of longer motions every second, fourth, ... row, MOST / 2 or more."""


class MotionSample:
    """Every k-th row of a motion, with k as small as there is room."""

    def __init__(self) -> None:
        self._step, self._rows = 1, 0
        self._kept: list[Motion] = []

    def add(self, motion: Motion) -> None:
        """Take in the next piece."""
        first = -self._rows % self._step
        self._kept.append(motion.part(slice(first, None, self._step)))
        self._rows += len(motion.time)
        while sum(len(piece.time) for piece in self._kept) > MOST:
            whole = joined(self._kept)
            self._kept, self._step = [whole.part(slice(None, None, 2))], 2 * self._step

    def motion(self, *others: Motion) -> Motion | None:
        """Return what was kept, with other states of the motion in their places; None of nothing.

        Parameters
        ----------
        others : single states that are to be among them, whether they were kept or not
        """
        whole = [piece for piece in (*self._kept, *others) if len(piece.time)]
        if not whole:
            return None
        motion = joined(whole)
        _, rows = np.unique(motion.time, return_index=True)
        return motion.part(rows)


def joined(pieces: list[Motion]) -> Motion:
    """Return motions of one machine, one after another."""
    time, q, v, a = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("time", "q", "v", "a")
    )
    each = [piece.efforts for piece in pieces]
    measured = [one for one in each if one is not None]
    efforts = np.concatenate(measured) if len(measured) == len(each) else None
    return replace(pieces[0], time=time, q=q, v=v, a=a, efforts=efforts)
