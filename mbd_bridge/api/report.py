"""The report: one page about a machine and its motions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from mbd_bridge.api.crosscheck import OneMotion, motion_pieces
from mbd_bridge.api.histories import HistoryRequest, ReportOptions
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import by_name, file_path, known_name
from mbd_bridge.base.errors import (
    FileError,
    MbdError,
    StateError,
    real_number,
)
from mbd_bridge.base.options import part, with_options
from mbd_bridge.base.readable import instant, quantity
from mbd_bridge.engines.crosscheck import Report, crosscheck
from mbd_bridge.engines.crosscheck.motion import MotionCheck, with_motions
from mbd_bridge.loads import JointLoads, LoadRequest
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.observers import Needs, Observer
from mbd_bridge.loads.options import EXPONENTS, ConventionOptions
from mbd_bridge.loads.streaming import LoadCase, LoadCases
from mbd_bridge.loads.streaming.load_history import watch_loads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, MotionParts, Reading
from mbd_bridge.motion.external import ExternalForces, ExternalGiven, external_forces
from mbd_bridge.motion.options import ReadingOptions
from mbd_bridge.motion.pieces import MotionSample
from mbd_bridge.reports.title import TitleOptions
from mbd_bridge.simulation import Simulation
from mbd_bridge.simulation.results.simulation import efforts
from mbd_bridge.solve import LoopReport

if TYPE_CHECKING:
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.view.source import Source
    from mbd_bridge.view.web.description import Description


SIZE = (1200, 800)
"""Width and height of the machine's picture, pixels."""

MOST_DRAWN = 3
"""Joints whose loads the picture has room for; of more, only that with the largest force."""

SEEN, CHECK = "seen", "check"
"""Names of what a report has looked at, and of the cross-check, among the results of a history."""

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

    def look(self, states: Motion, loads: JointLoads) -> None:
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
    check : of the loads along it with other engines; None: not asked
    """

    name: str
    weight: float
    said: str
    history: LoadHistory
    worst: WorstState = field(default_factory=WorstState)
    external: ExternalForces | None = None
    source: Callable[[], Source | None] = lambda: None
    check: Report | None = None


class SeenPieces:
    """Observer of what is shown of a motion: its worst state, and states for the 3-D view.

    Parameters
    ----------
    needs : whose loads
    view : keep what the 3-D view shows
    """

    def __init__(self, needs: Needs, view: bool) -> None:
        self._needs, self._view = needs, view
        self.worst, self.sample = WorstState(), MotionSample()

    def needs(self) -> Needs:
        """Return whose loads are looked at."""
        return self._needs

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        self.worst.look(motion, loads)
        if self._view:
            self.sample.add(motion)

    def result(self) -> SeenPieces:
        """Return what was kept so far."""
        return self

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
        known_name("load case", name, motion, "weights: ")
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
    from mbd_bridge.view.draw_loads import Overlays
    from mbd_bridge.view.web import describe

    if source is None or not len(source.model.links):
        return None
    return describe(source, Overlays(exaggerate=factor), keep=time)


def loop_report(mechanism: Mechanism, q: Array | None) -> LoopReport | None:
    """Return what the loops leave open at a position; None for a tree."""
    return mechanism.loops.report(q) if mechanism.model.has_loops and q is not None else None


def draw(
    machine: Simulation | Mechanism,
    worst: WorstState,
    actuated: Iterable[str] | None,
    forces: ExternalForces | None,
    factor: float,
) -> tuple[Any, str]:
    """Return the machine at its worst state, and what is seen; or None, and why."""
    from mbd_bridge.api.pictures import render

    if isinstance(machine, Simulation):
        when: dict[str, Any] = {"time": worst.time}
    else:
        when = {"motion": worst.motion, "actuated": actuated, "external": forces}
    try:
        drawn = render(machine, loads=worst.shown, size=SIZE, exaggerate=factor, **when)
    except MbdError as reason:
        return None, f"No picture: {reason}"
    return drawn, (
        f"At t = {instant(worst.time)} s, where the force of {worst.joint} is largest: "
        f"{quantity(worst.force, 'N')}."
    )


ROWS = 200
"""Rows of a motion's pieces at which the other engines are asked, beside 20 random states."""


@with_options
def report(
    machine: Simulation | Mechanism,
    path: str | PathLike[str],
    motion: OneMotion
    | Mapping[str, OneMotion | tuple[OneMotion, ExternalGiven]]
    | list[Any]
    | tuple[Any, ...]
    | LoadCases
    | None = None,
    joints: Iterable[str] | str | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    threads: int = 1,
    **options: Unpack[ReportOptions],
) -> LoadCases:
    """Write a self-contained HTML page: picture, tree, loads, actuators, spectra, other engines.

    Parameters
    ----------
    what : a `Simulation`, or a `Mechanism` that `motion` moves
    path : of the page
    motion : of a mechanism; or a file of any length with one, or `loads.streaming.MotionPieces`
        of it: then the loads are computed piece by piece. Several motions are load cases:
        {"pick": "pick.csv", "stop": motion}, or a list of files; a pair (motion, forces) has
        external forces of its own. Or `LoadCases` that were computed before, whose machine is
        neither drawn nor shown moving
    joints : whose loads; None for all, in a machine with loops the cut ones too
    weights : repetitions of load cases, 1 where not given: {"pick": 2e6}
    threads : share the rows of a motion among this many threads
    **options : of motions, loads and the page

    Returns
    -------
    What the page shows, as numbers: a `LoadHistory` by the name of each load case, of one motion
    alone ``["motion"]``.

    See Also
    --------
    load_history, render, web_view, crosscheck
    """
    from mbd_bridge.files.whole_file import check_place
    from mbd_bridge.reports import Subject, TitleBlock, write_report
    from mbd_bridge.reports.printing import installed_browser
    from mbd_bridge.view.scales import check_factor

    path = file_path("path", path)
    if not path.lower().endswith((".html", ".htm", ".pdf")):
        raise FileError("expected a name that ends with .html or .pdf", path)
    if path.lower().endswith(".pdf"):
        installed_browser()  # before the work
    check_place(path)
    title = TitleBlock.of(**part(TitleOptions, options))
    factor = check_factor(machine.model, options["exaggerate"])
    reading = Reading.of(**part(ReadingOptions, options))
    if isinstance(machine, Simulation):
        if options["external"] is not None:
            raise StateError("a simulation has its own external forces; leave out external=")
        if motion is not None:
            raise StateError("a simulation has its own motion; leave out motion=")
        if options["minimum_norm"] or options["actuated"] is not None:
            raise StateError("a simulation knows its actuators; leave out actuated=, minimum_norm=")
        if weights is not None or reading.given:
            name = reading.given[0] if reading.given else "weights"
            raise StateError(f"{name}: a simulation has its own motion; leave it out")
        mechanism = mechanism_of(machine)
        request = LoadRequest.of(machine.model, joints, **part(ConventionOptions, options))
        counted = options["exponents"], None, options["motors"], options["bearings"]
        asked = HistoryRequest(request, None, *counted, sensitivity=options["sensitivity"])
        parts = [_simulated(machine, mechanism, asked)]
    else:
        mechanism = machine
        if motion is None:
            raise StateError("a mechanism needs a motion: a Motion, or a file with one")
        asked = HistoryRequest.of(mechanism, joints, options, threads=threads)
        if isinstance(motion, LoadCases):
            _check_computed(mechanism, motion, asked, joints, reading, weights)
            parts = [
                Reported(x.name, x.weight, f"load case {x.name}", x.history) for x in motion.cases
            ]
        else:
            parts = [
                _along(mechanism, asked, reading, named, options)
                for named in named_motions(motion, weights)
            ]
    cases = LoadCases(LoadCase(part.name, part.history, part.weight) for part in parts)
    worst = max(parts, key=lambda part: part.worst.force)
    there = worst.worst.q is not None
    drawn, caption = None, "" if there else "No picture: these load cases were computed before."
    if options["picture"] and there:
        drawn, caption = draw(machine, worst.worst, options["actuated"], worst.external, factor)
    agreement = None
    if options["check"]:
        checks = {"" if part.name == WHOLE else part.name: part.check for part in parts}
        known = {name: check for name, check in checks.items() if check is not None}
        agreement = with_motions(crosscheck(mechanism.model), known)
    subject = Subject(
        mechanism.model,
        cases,
        parts[0].said if len(parts) == 1 else f"{len(parts)} load cases",
        loop_report(mechanism, worst.worst.q),
        drawn,
        caption,
        agreement,
        title,
        scene(worst.source(), worst.worst.time, factor) if options["view"] else None,
    )
    write_report(path, subject)
    return cases


def _simulated(run: Simulation, mechanism: Mechanism, asked: HistoryRequest) -> Reported:
    names = run.model.coordinate_names, run.model.velocity_names
    motion = Motion(run.time, run.q, run.v, run.a, *names, (), run.model)
    whole = MotionParts(motion, "a simulation", max(len(run.time), 1))
    needs = Needs.of(asked.request)
    seen = SeenPieces(needs, view=False)
    every = {**asked.observers(mechanism, run), SEEN: seen}
    history = watch_loads(whole, RunLoads(run), needs, every)

    def source() -> Source | None:
        from mbd_bridge.view.source import of_simulation

        return of_simulation(run, history.joints)

    said = f"a simulation of {run.time[-1]:g} s"
    return Reported(WHOLE, 1.0, said, history, seen.worst, source=source)


def _along(
    mechanism: Mechanism,
    asked: HistoryRequest,
    reading: Reading,
    named: NamedMotion,
    options: ReportOptions,
) -> Reported:
    """Return the loads along one motion, and what is seen of it."""
    own = external_forces(mechanism.model, named.external or None, options["external_in"])
    if own is not None:
        forces = own if asked.external is None else asked.external + own
        asked = replace(asked, external=forces, request=replace(asked.request, links=forces.links))
    pieces = motion_pieces(mechanism.model, named.motion, reading)
    seen = SeenPieces(Needs.of(asked.request), options["view"])
    observers: dict[str, Observer] = {SEEN: seen}
    with ExitStack() as stack:
        if options["check"]:
            acting = mechanism.prepared, asked.external, asked.request.forces
            observers[CHECK] = stack.enter_context(MotionCheck(*acting, ROWS))
        history = asked.along(mechanism, pieces, observers=observers)

    def source() -> Source | None:
        from mbd_bridge.view.scales import applied_along
        from mbd_bridge.view.source import Source

        found = seen.motion()
        if found is None:
            return None
        plain = mechanism.compile(replace(asked.request, convention=Convention()))
        states = plain.at_states(found, asked.external, threads=asked.threads)
        applied = applied_along(mechanism.model, found, asked.external)
        return Source(mechanism.model, found.time, found.q, states, asked.request.forces, applied)

    said = pieces.name.replace("\\", "/").rpartition("/")[2]
    check = history.results.get(CHECK)
    shown = seen.worst, asked.external, source, check
    return Reported(named.name, named.weight, said, history, *shown)


def _check_computed(
    mechanism: Mechanism,
    cases: LoadCases,
    asked: HistoryRequest,
    joints: Iterable[str] | str | None,
    reading: Reading,
    weights: Mapping[str, float] | None,
) -> None:
    """Refuse load cases of another machine, and options that come too late for them."""
    late = {
        "joints": joints is not None,
        "external": asked.external is not None,
        "actuated": asked.request.actuated is not None,
        "minimum_norm": asked.request.minimum_norm,
        "exponents": tuple(asked.exponents) != tuple(EXPONENTS),
        "on, at, in_": asked.request.convention != Convention(),
        "weights": weights is not None,
        "motors": asked.motors is not None,
        "bearings": asked.bearings is not None,
        "sensitivity": asked.sensitivity is not None,
        **dict.fromkeys(reading.given, True),
    }
    for name, given in late.items():
        if given:
            raise StateError(
                f"{name}: these load cases were computed already, with what they have; leave it "
                f"out, or give their motions in place of them"
            )
    name = cases.cases[0].history.mechanism
    if name != mechanism.name:
        raise StateError(f"motion: these are load cases of {name!r}, not of {mechanism.name!r}")


def mechanism_of(run: Simulation) -> Mechanism:
    """Return the mechanism that was simulated, with its actuators and bearings where it has some.

    Of a run that came from another process, or of a variant, only the model is known.
    """
    made_of = run.system.made_of
    machine = None if made_of is None else made_of[0]
    if isinstance(machine, Mechanism) and machine.model is run.model:
        return machine
    return Mechanism(run.model)


@dataclass(frozen=True, eq=False)
class RunLoads:
    """The loads of a simulation, for those who look at its motion (`loads.observers`)."""

    run: Simulation

    @property
    def model(self) -> Model:
        """The machine's model."""
        return self.run.model

    def loads(self, needs: Needs, motion: Motion, *, check: bool = True) -> JointLoads:
        """Return the loads at all records."""
        how = needs.convention
        return self.run.joint_loads(
            needs.joints, on=how.on, at=how.at, in_=how.in_, reaction=needs.reaction
        )

    def efforts(self, motion: Motion, *, check: bool = True) -> Array:
        """Return what inputs and prescribed motions do along the velocities, (N, nv)."""
        return efforts(self.run)
