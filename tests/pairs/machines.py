"""Machines for pairs of options: a tree, a loop, a free tree and a free machine with a loop."""

from __future__ import annotations

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame

Y = (0, 1, 0)


def machine(kind: str, cuts: str = "authored") -> mbd.Mechanism:
    """Return one by name: "tree", "loop", "floating tree", "floating loop"."""
    b = mbd.Builder(kind)
    b.link("base", 5.0, (0, 0, 0), (0.3, 0.4, 0.5))
    b.link("crank", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.02))
    b.link("coupler", 1.5, (1, 0, 0), (0.02, 0.4, 0.4))
    b.joint("crank", "revolute", "base", "crank", (0, 0, 0), axis=Y)
    b.joint("elbow", "revolute", "crank", "coupler", (0, 0, 1), axis=Y)
    if "loop" in kind:
        b.link("rocker", 1.2, (0, 0, -0.75), (0.2, 0.2, 0.02))
        b.joint("wrist", "revolute", "coupler", "rocker", (2, 0, 0), axis=Y)
        ends = ("rocker", Frame.from_rpy((0, 0, -1.5))), ("base", Frame.from_rpy((2.5, 0, 0)))
        b.loop("pin", "revolute", *ends, axis=Y)
    return mbd.Mechanism.build(b, floating="floating" in kind, cuts=cuts)
