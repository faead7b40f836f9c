"""Loops as other programs write them for a URDF: in the file, in its names, in a file beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mbd_bridge.files.document import Document
from mbd_bridge.files.loop_dialects import gepetto, onshape, sw2robot
from mbd_bridge.files.loop_dialects.told import Told
from mbd_bridge.model.description import Joint, Link

READERS = ((gepetto.find, gepetto.read), (sw2robot.find, sw2robot.read))
"""Of files beside the robot's."""


def told_by_others(
    document: Document,
    path: Path | None,
    links: Sequence[Link],
    joints: tuple[Joint, ...],
    *,
    known: bool,
) -> Told:
    """Return what other programs' conventions say of the loops of a robot file.

    Parameters
    ----------
    path : of the robot file, or None for a text
    known : the file or ``NAME.loops.yaml`` says the loops already: others are remarked on only
    """
    for find, read in READERS:
        beside = None if path is None else find(path)
        if beside is None:
            continue
        if known:
            document.remark("not read, since the loops are told elsewhere", str(beside))
        else:
            return read(document, beside, links, joints)
    pairs = onshape.pairs(links)
    if pairs and known:
        document.remark("not closed, since the loops are told elsewhere", ", ".join(pairs))
    elif pairs:
        return onshape.read(document, pairs, links, joints)
    return Told(joints)
