"""Loops of onshape-to-robot: pairs of frames (massless links) with names that say so.

A mate ``closing_NAME`` leaves the links ``closing_NAME_1`` and ``closing_NAME_2``; for a revolute
mate also ``closing_NAME_1_z`` and ``_2_z``, off along the axis. The URDF says nothing else, so a
mate without these is closed at its point only: a ball, or a weld, as far as the file tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mbd_bridge.files.document import Document
from mbd_bridge.files.loop_dialects.told import Told
from mbd_bridge.model.description import Joint, Link, Loop, LoopEnd
from mbd_bridge.model.spatial import Frame

NAME = re.compile(r"(closing_.+)_1")


def pairs(links: Sequence[Link]) -> dict[str, str]:
    """Return the types of the loops that the links' names tell, by the name of the mate."""
    frames = {link.name for link in links if link.inertia is None or link.inertia.mass == 0.0}
    found = {}
    for link in links:
        match = NAME.fullmatch(link.name)
        if match and link.name in frames and f"{match[1]}_2" in frames:
            turns = f"{match[1]}_1_z" in frames and f"{match[1]}_2_z" in frames
            found[match[1]] = "revolute" if turns else "spherical"
    return found


def read(
    document: Document, named: Mapping[str, str], links: Sequence[Link], joints: tuple[Joint, ...]
) -> Told:
    """Return the loops between the frames of each pair."""
    lines = {link.name: link.line for link in links}
    loops = []
    for name, kind in named.items():
        a, b = (LoopEnd(f"{name}_{k}", Frame.identity()) for k in (1, 2))
        line = lines[f"{name}_1"]
        loops.append(Loop(name, kind, a, b, (0.0, 0.0, 1.0), line=line, source=document.file))
        how = "about z" if kind == "revolute" else "a point; if it is welded, say so in .loops.yaml"
        document.remark("loops closed between the frames of onshape-to-robot", f"{name} ({how})")
    return Told(joints, tuple(loops))
