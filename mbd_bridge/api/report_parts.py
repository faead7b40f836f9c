"""What a report needs of a motion beside its load history: its worst state, and the 3-D view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import MbdError, StateError, real_number, unknown_name
from mbd_bridge.base.readable import instant, quantity
from mbd_bridge.loads import JointLoads
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, Pieces
from mbd_bridge.motion.external import ExternalForces, ExternalGiven
from mbd_bridge.motion.pieces import MotionSample
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve import LoopReport

if TYPE_CHECKING:
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.view.source import Source
    from mbd_bridge.view.web.description import Description

SIZE = (1200, 800)
"""Width and height of the machine's picture, pixels."""

MOST_DRAWN = 3
"""Joints whose loads the picture has room for; of more, only that with the largest force."""

OneMotion = Motion | Pieces | str | PathLike[str]
"""A motion, a motion in pieces, or a file with one."""

WHOLE = "motion"
"""Name of the load case of a report about one motion."""


class NamedMotion(NamedTuple):
    """A motion of a report: its name and weight as a load case, and the forces of it alone."""

    name: str
    weight: float
    motion: OneMotion
    external: ExternalGiven | None = None


@dataclass
class WorstState:
    """The state with the largest force so far.

    Attributes
    ----------
    motion : this one state, of a motion that was given
    shown : joints whose loads are drawn in its picture
    """

    force: float = -1.0
    joint: str = ""
    time: float = 0.0
    q: Array | None = None
    motion: Motion | None = None
    shown: tuple[str, ...] = ()

    def look(self, states: Simulation | Motion, loads: JointLoads) -> None:
        """Take in states."""
        if not len(loads.joints):
            return
        squares = np.einsum("nji,nji->nj", loads.force, loads.force)
        row, joint = np.unravel_index(int(np.argmax(squares)), squares.shape)
        force = float(np.sqrt(squares[row, joint]))
        if force > self.force:
            self.force, self.joint = force, loads.joints[joint]
            self.time, self.q = float(states.time[row]), np.array(states.q[row])
            self.shown = loads.joints if len(loads.joints) <= MOST_DRAWN else (self.joint,)
            if isinstance(states, Motion):
                self.motion = states.part(np.array([row]))


@dataclass
class Reported:
    """One motion of a report.

    Attributes
    ----------
    name, weight : of its load case
    said : what it is, in words
    history : of its loads
    worst : its state with the largest force
    external : forces on links along it
    source : makes what the 3-D view shows
    """

    name: str
    weight: float
    said: str
    history: LoadHistory
    worst: WorstState = field(default_factory=WorstState)
    external: ExternalForces | None = None
    source: Callable[[], Source | None] = lambda: None


class SeenPieces:
    """What is kept of a motion as its pieces pass by.

    Parameters
    ----------
    view : keep what the 3-D view shows
    """

    def __init__(self, view: bool) -> None:
        self.worst, self.sample, self._view = WorstState(), MotionSample(), view

    def look(self, piece: Motion, loads: JointLoads) -> None:
        """Take in a piece."""
        self.worst.look(piece, loads)
        if self._view:
            self.sample.add(piece)

    def motion(self) -> Motion | None:
        """Return some of its states, the worst among them."""
        kept = () if self.worst.motion is None else (self.worst.motion,)
        return self.sample.motion(*kept)


def named_motions(motion: Any, weights: Any) -> list[NamedMotion]:
    """Return motions with their names and weights.

    Parameters
    ----------
    motion : one, or several by name, or a list of files, which are named after them. One with
        forces of its own is a pair
    """
    if isinstance(motion, list | tuple):
        files = [one for one in motion if isinstance(one, str | PathLike)]
        if len(files) != len(motion) or not files:
            raise StateError(
                "motion: of several motions that are no files expected a mapping with their names, "
                "{'pick': motion, 'stop': motion}"
            )
        names = [PurePath(fspath(one)).stem for one in files]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise StateError(
                f"motion: two files are called {twice!r}; give names: {{'name': file, ...}}"
            )
        motion = dict(zip(names, files, strict=True))
    if isinstance(motion, Mapping):
        motion = dict(motion)
    else:
        if weights is not None:
            raise StateError("weights: for several motions by name; leave it out")
        return [NamedMotion(WHOLE, 1.0, motion)]
    if not motion or not all(isinstance(name, str) and name for name in motion):
        raise StateError("motion: expected motions by name, {'pick': 'pick.csv', ...}")
    given = by_name("weights", weights, "{'pick': 2e6}")
    for name, number in given.items():
        if name not in motion:
            raise StateError(f"weights: {unknown_name('load case', name, motion)}")
        real_number(
            f"weights: {name!r}", number, "one number of repetitions above 0", positive=True
        )
    found = []
    for name, one in motion.items():
        pair = one if isinstance(one, tuple) and len(one) == 2 else (one, None)
        found.append(NamedMotion(name, given.get(name, 1.0), *pair))
    return found


def scene(source: Source | None, time: float, factor: float) -> Description | None:
    """Return what the 3-D view shows, first at a time, s; deflections are drawn by a factor."""
    from mbd_bridge.view.web import describe

    if source is None or not len(source.model.links):
        return None
    return describe(source, keep=time, exaggerate=factor)


def loop_report(mechanism: Mechanism, q: Array | None) -> LoopReport | None:
    """Return what the loops leave open at a position; None for a tree."""
    return mechanism.loops.report(q) if mechanism.model.has_loops and q is not None else None


def draw(
    what: Simulation | Mechanism,
    worst: WorstState,
    actuated: Iterable[str] | None,
    forces: ExternalForces | None,
    factor: float,
) -> tuple[Any, str]:
    """Return the machine at its worst state, and what is seen; or None, and why."""
    from mbd_bridge.api.pictures import render

    try:
        if isinstance(what, Simulation):
            drawn = render(what, time=worst.time, loads=worst.shown, size=SIZE, exaggerate=factor)
        else:
            drawn = render(
                what,
                None,
                worst.motion,
                loads=worst.shown,
                actuated=actuated,
                size=SIZE,
                external=forces,
                exaggerate=factor,
            )
    except MbdError as reason:
        return None, f"No picture: {reason}"
    return drawn, (
        f"At t = {instant(worst.time)} s, where the force of {worst.joint} is largest: "
        f"{quantity(worst.force, 'N')}."
    )
