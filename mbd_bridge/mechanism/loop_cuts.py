"""Described loop joints as cuts: frames with z along the axis, rows of the joint's type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.formats.description import Loop, LoopEnd
from mbd_bridge.mechanism.axes import oblique, second_turn
from mbd_bridge.mechanism.cut_table import (
    CUT_ROWS,
    Cut,
    Distance,
    Row,
    mask_rows,
    rolling_rows,
    universal_rows,
)
from mbd_bridge.spatial import Frame, rotation_that_takes_z_to

OTHERS = ("distance", "mask", "rolling")
"""Types whose rows have numbers of their own."""


class CutEnd(NamedTuple):
    """One side of a loop joint: its link and body by index, the joint's frame in the body."""

    link: int
    body: int
    frame: Frame


def loop_cut(
    loop: Loop,
    find: Callable[[LoopEnd, str], CutEnd],
    at_zero: Callable[[CutEnd], np.ndarray],
) -> Cut:
    """Return the cut of a described loop joint.

    Parameters
    ----------
    find : returns a described end in the model; its second argument begins messages
    at_zero : returns where an end is in the world with every joint in its zero position
    """
    where = _where(loop)
    p, s = find(loop.predecessor, where), find(loop.successor, where)
    if p.body == s.body:
        raise ModelError(
            f"{where}both ends move together, on {loop.predecessor.link!r} and "
            f"{loop.successor.link!r}; a loop joint holds two links that can move against each "
            f"other"
        )
    a, b = p.frame, s.frame
    cut = Cut(loop.name, loop.type, p.body, s.body, (p.link, s.link), a, b, (), b)
    if loop.type == "distance":
        return replace(cut, rows=(Distance(_length(loop, lambda: at_zero(s) - at_zero(p))),))
    if loop.type == "mask":
        return replace(cut, rows=_mask(loop))
    if loop.type == "rolling":
        return _wheel(loop, cut)
    if loop.type not in CUT_ROWS:
        raise ModelError(where + unknown_name("loop type", loop.type, (*CUT_ROWS, *OTHERS)))
    turn = _turn(loop.axis)
    if loop.type == "universal":
        rows = universal_rows(oblique(loop, where))
        return replace(cut, a=a @ turn, b=b @ second_turn(loop, where), rows=rows)
    return replace(cut, a=a @ turn, b=b @ turn, rows=CUT_ROWS[loop.type])


def _turn(axis: tuple[float, float, float]) -> Frame:
    return Frame(rotation_that_takes_z_to(np.asarray(axis)), np.zeros(3))


def _wheel(loop: Loop, cut: Cut) -> Cut:
    """Return the cut of a rolling wheel: z of a is the plane's normal, z of b its axis."""
    radius: Any = loop.radius
    known = isinstance(radius, float | int)  # no symbol
    if loop.axis2 is None or radius is None or (known and not radius > 0.0):
        raise ModelError(
            f"{_where(loop)}a rolling wheel needs axis= (normal of the plane, in the predecessor's "
            f"frame), axis2= (the wheel's axis, in the successor's frame) and a radius= above 0 m; "
            f"got axis2={loop.axis2}, radius={loop.radius}"
        )
    a, b = cut.a @ _turn(loop.axis), cut.b @ _turn(loop.axis2)
    return replace(cut, a=a, b=b, rows=rolling_rows(radius))


def _mask(loop: Loop) -> tuple[Row, ...]:
    mask = loop.rows
    if mask is None or len(mask) != 6 or not set(mask) <= {0, 1} or not any(mask):
        raise ModelError(
            f"{_where(loop)}a mask has rows=(x, y, z, turns about x, y, z), six of 0 or "
            f"1 with some 1, e.g. (1, 1, 1, 0, 0, 1); got {mask}"
        )
    return mask_rows(mask)


def _length(loop: Loop, way: Callable[[], np.ndarray]) -> Any:
    """Return the length of a distance joint: given, or that of the way at zero coordinates."""
    if loop.length is not None:
        length: Any = loop.length
    else:
        between = way()
        length = np.sqrt(between @ between)
    if isinstance(length, float):  # no symbol
        length = float(length)
        if not length > 0.0:
            raise ModelError(
                f"{_where(loop)}a distance joint of length {length} holds nothing at a "
                f"distance; use a spherical joint for a common point"
            )
    return length


def _where(loop: Loop) -> str:
    """Return what a message about a loop begins with: file and line, if it has them, and name."""
    place = ":".join(str(part) for part in (loop.source, loop.line) if part is not None)
    return f"{place}: loop {loop.name!r}: " if place else f"loop {loop.name!r}: "
