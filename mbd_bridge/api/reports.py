"""``mbd.report``: one page about a machine and a motion."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.crosscheck import crosscheck
from mbd_bridge.errors import FileError, MbdError, ModelError, StateError
from mbd_bridge.external import ExternalForces, ExternalGiven, external_forces
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.convention import At, Convention, In, On, Point
from mbd_bridge.motions import Motion
from mbd_bridge.motions.sample import MotionSample
from mbd_bridge.readable import quantity
from mbd_bridge.simulate import Simulation
from mbd_bridge.solve import LoopReport
from mbd_bridge.solve.wrenches import Axes
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.motions import Pieces
    from mbd_bridge.view.source import Source
    from mbd_bridge.view.web.description import Description

SIZE = (1200, 800)
"""Width and height of the machine's picture, pixels."""

MOST_DRAWN = 3
"""Joints whose loads the picture has room for; of more, only that with the largest force."""

STATES = 20
"""Random states at which the other engines are asked."""


def report(
    what: Simulation | Mechanism,
    path: str | PathLike[str],
    motion: Motion | Pieces | str | PathLike[str] | None = None,
    joints: Iterable[str] | str | None = None,
    *,
    actuated: Iterable[str] | str | None = None,
    on: On = "child",
    at: At | Point = "joint",
    in_: In = "child",
    exponents: Sequence[float] = (3.0, 5.0, 10.0),
    picture: bool = True,
    check: bool = True,
    threads: int = 1,
    external: ExternalGiven | None = None,
    external_in: Axes = "link",
    project: str = "",
    author: str = "",
    revision: str = "",
    date: str | datetime.date | None = None,
    view: bool = True,
    exaggerate: float = 1.0,
) -> LoadHistory:
    """Write a self-contained HTML page: picture, tree, loads, actuators, spectra, other engines.

    Parameters
    ----------
    what : a `Simulation`, or a `Mechanism` that `motion` moves
    path : of the page
    motion : of the mechanism; or a file of any length with one, or `loads.streaming.MotionPieces`
        of it: then the loads are computed piece by piece
    joints : whose loads; None for all, in a machine with loops the cut ones too
    actuated, on, at, in_, threads : see `Mechanism.joint_loads`
    external, external_in : forces on links of a mechanism: numbers (6,), tables, files; see there
    exponents : Woehler exponents of the damage-equivalent loads
    picture : draw the machine and its loads at the largest force (with pybullet)
    view : show the machine along the motion in 3-D, to be turned and played
    exaggerate : factor on the deflections of links that bend, in picture and 3-D view
    project, author, revision : texts of the title block
    date : of the title block, as a date or YYYY-MM-DD; None: now. With a date the page is the same
        whenever it is made
    check : ask pinocchio, and pybullet where it is installed

    Returns
    -------
    LoadHistory
        What the page shows, as numbers.
    """
    from mbd_bridge import __version__
    from mbd_bridge.formats.whole_file import check_place
    from mbd_bridge.loads.streaming import load_history, stream_loads
    from mbd_bridge.reports import Subject, TitleBlock, write_report
    from mbd_bridge.view.exaggerate import check_factor
    from mbd_bridge.view.source import Source, of_simulation

    if not fspath(path).lower().endswith((".html", ".htm")):
        raise FileError(
            "expected a name that ends with .html: the page is HTML (a browser prints it to PDF)",
            fspath(path),
        )
    check_place(path)
    title = TitleBlock.of(project, author, revision, date)
    if not isinstance(what, Simulation | Mechanism):
        raise ModelError(f"expected a Simulation or a Mechanism, got {type(what).__name__}")
    factor = check_factor(what.model, exaggerate)
    worst, forces, sample = _Worst(), None, MotionSample()
    if isinstance(what, Simulation):
        if external is not None:
            raise StateError("a simulation has its own external forces; leave out external=")
        if motion is not None:
            raise StateError("a simulation has its own motion; leave out motion=")
        mechanism, said = Mechanism(what.model), f"a simulation of {what.time[-1]:g} s"
        loads = what.joint_loads(joints, on=on, at=at, in_=in_)
        worst.look(what, loads)
        history = load_history(loads, exponents)

        def shown() -> Source | None:
            return of_simulation(what, loads.joints)

    else:
        mechanism = what
        if motion is None:
            raise StateError("a mechanism needs a motion: a Motion, or a file with one")
        forces = external_forces(what.model, external, external_in)
        solver = mechanism.solver(
            LoadRequest.of(
                what.model,
                joints,
                on=on,
                at=at,
                in_=in_,
                links=() if forces is None else forces.links,
                actuated=actuated,
                forces=what.forces,
            )
        )

        def answer(piece: Motion) -> JointLoads:
            found = solver.along(piece, forces, threads=threads)
            worst.look(piece, found)
            if view:
                sample.add(piece)
            return found

        def shown() -> Source | None:
            kept = () if worst.motion is None else (worst.motion,)
            found = sample.motion(*kept)
            if found is None:
                return None
            plain = mechanism.solver(replace(solver.request, convention=Convention()))
            states = plain.along(found, forces, threads=threads)
            return Source(mechanism.model, found.time, found.q, states, what.forces)

        pieces = _pieces(mechanism, motion)
        said = pieces.name.rpartition("/")[2]
        counter = mechanism.motors_counter(
            None, external=forces, actuated=actuated, threads=threads
        )
        history = stream_loads(answer, pieces, exponents=exponents, motors=counter)
    drawn, caption = _picture(what, worst, actuated, forces, factor) if picture else (None, "")
    subject = Subject(
        mechanism.model,
        history,
        said,
        __version__,
        _loops(mechanism, worst.q),
        drawn,
        caption,
        crosscheck(mechanism.model, states=STATES) if check else None,
        title,
        _scene(shown(), worst.time, factor) if view else None,
    )
    write_report(path, subject)
    return history


def _scene(source: Source | None, time: float, factor: float) -> Description | None:
    """Return what the 3-D view shows, first at a time, s."""
    from mbd_bridge.view.web import describe

    if source is None or not len(source.model.links):
        return None
    return describe(source, keep=time, exaggerate=factor)


def _pieces(mechanism: Mechanism, motion: Motion | Pieces | str | PathLike[str]) -> Pieces:
    """Return a motion in pieces, however it was given."""
    from mbd_bridge.formats.bags import is_bag
    from mbd_bridge.formats.tables import open_table
    from mbd_bridge.motions import MotionParts, motion_from_file, motion_pieces

    if isinstance(motion, Motion):
        return MotionParts(motion, "a motion")
    if not isinstance(motion, str | PathLike):
        return motion
    if is_bag(motion):
        return MotionParts(motion_from_file(motion, mechanism.model), fspath(motion))
    return motion_pieces(open_table(motion), mechanism.model)


@dataclass
class _Worst:
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
                time, q, v, a = (
                    np.array(x[row : row + 1]) for x in (states.time, states.q, states.v, states.a)
                )
                self.motion = replace(states, time=time, q=q, v=v, a=a)


def _loops(mechanism: Mechanism, q: Array | None) -> LoopReport | None:
    return mechanism.loops.report(q) if mechanism.model.has_loops and q is not None else None


def _picture(
    what: Simulation | Mechanism,
    worst: _Worst,
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
        f"At t = {worst.time:g} s, where the force of {worst.joint} is largest: "
        f"{quantity(worst.force, 'N')}."
    )
