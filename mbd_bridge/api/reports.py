"""``mbd.report``: one page about a machine and its motions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from mbd_bridge.api.histories import HistoryRequest
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.options import HistoryOptions
from mbd_bridge.api.report_parts import (
    WHOLE,
    NamedMotion,
    OneMotion,
    Reported,
    SeenPieces,
    draw,
    loop_report,
    named_motions,
    scene,
)
from mbd_bridge.api.simulated import mechanism_of, simulated_history
from mbd_bridge.base.arguments import file_path
from mbd_bridge.base.errors import FileError, ModelError, StateError
from mbd_bridge.base.options import Option, option_group, part, with_options
from mbd_bridge.engines.crosscheck import crosscheck
from mbd_bridge.loads import LoadRequest
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.options import ConventionOptions
from mbd_bridge.loads.streaming import EXPONENTS, LoadCase, LoadCases
from mbd_bridge.motion import Motion, MotionParts, Pieces, Reading, pieces_from_file
from mbd_bridge.motion.external import ExternalGiven, external_forces
from mbd_bridge.motion.options import ReadingOptions
from mbd_bridge.reports.title import TitleOptions
from mbd_bridge.simulation import Simulation
from mbd_bridge.solve.wrenches import Axes
from mbd_bridge.view.options import ExaggerateOptions

if TYPE_CHECKING:
    from mbd_bridge.view.source import Source

STATES = 20
"""Random states at which the other engines are asked."""


@option_group
class ReportOptions(HistoryOptions, TitleOptions, ExaggerateOptions, total=False):
    """What a report is about, and what is on it.

    Parameters
    ----------
    picture : draw the machine and its loads at the largest force
    view : show the machine along the motion in 3-D, to be turned and played
    check : ask pinocchio, and pybullet where it is installed
    """

    picture: Annotated[bool, Option(True)]
    view: Annotated[bool, Option(True)]
    check: Annotated[bool, Option(True)]


@with_options
def report(
    what: Simulation | Mechanism,
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
    motion : of the mechanism; or a file of any length with one, or `loads.streaming.MotionPieces`
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
    """
    from mbd_bridge import __version__
    from mbd_bridge.files.whole_file import check_place
    from mbd_bridge.reports import Subject, TitleBlock, write_report
    from mbd_bridge.view.exaggerate import check_factor

    path = file_path("path", path)
    if not path.lower().endswith((".html", ".htm")):
        raise FileError(
            "expected a name that ends with .html: the page is HTML (a browser prints it to PDF)",
            path,
        )
    check_place(path)
    title = TitleBlock.of(**part(TitleOptions, options))
    if not isinstance(what, Simulation | Mechanism):
        raise ModelError(f"expected a Simulation or a Mechanism, got {type(what).__name__}")
    factor = check_factor(what.model, options["exaggerate"])
    reading = Reading.of(**part(ReadingOptions, options))
    if isinstance(what, Simulation):
        if options["external"] is not None:
            raise StateError("a simulation has its own external forces; leave out external=")
        if motion is not None:
            raise StateError("a simulation has its own motion; leave out motion=")
        if options["minimum_norm"] or options["actuated"] is not None:
            raise StateError("a simulation knows its actuators; leave out actuated=, minimum_norm=")
        if weights is not None or reading.given:
            name = reading.given[0] if reading.given else "weights"
            raise StateError(f"{name}: a simulation has its own motion; leave it out")
        mechanism = mechanism_of(what)
        request = LoadRequest.of(what.model, joints, **part(ConventionOptions, options))
        counted = options["exponents"], None, options["motors"], options["bearings"]
        asked = HistoryRequest(request, None, *counted)
        parts = [_simulated(what, mechanism, asked)]
    else:
        mechanism = what
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
                _along(mechanism, asked, reading, named, options["view"], options["external_in"])
                for named in named_motions(motion, weights)
            ]
    cases = LoadCases(LoadCase(part.name, part.history, part.weight) for part in parts)
    worst = max(parts, key=lambda part: part.worst.force)
    there = worst.worst.q is not None
    drawn, caption = None, "" if there else "No picture: these load cases were computed before."
    if options["picture"] and there:
        drawn, caption = draw(what, worst.worst, options["actuated"], worst.external, factor)
    subject = Subject(
        mechanism.model,
        cases,
        parts[0].said if len(parts) == 1 else f"{len(parts)} load cases",
        __version__,
        loop_report(mechanism, worst.worst.q),
        drawn,
        caption,
        crosscheck(mechanism.model, states=STATES) if options["check"] else None,
        title,
        scene(worst.source(), worst.worst.time, factor) if options["view"] else None,
    )
    write_report(path, subject)
    return cases


def _simulated(run: Simulation, mechanism: Mechanism, asked: HistoryRequest) -> Reported:
    request = asked.request
    place = request.convention
    loads = run.joint_loads(request.joints, on=place.on, at=place.at, in_=place.in_)
    history = simulated_history(run, mechanism, loads, asked)
    part = Reported(WHOLE, 1.0, f"a simulation of {run.time[-1]:g} s", history)
    part.worst.look(run, loads)

    def source() -> "Source | None":
        from mbd_bridge.view.source import of_simulation

        return of_simulation(run, loads.joints)

    part.source = source
    return part


def _along(
    mechanism: Mechanism,
    asked: HistoryRequest,
    reading: Reading,
    named: NamedMotion,
    view: bool,
    external_in: Axes,
) -> Reported:
    """Return the loads along one motion, and what is seen of it."""
    own = external_forces(mechanism.model, named.external or None, external_in)
    if own is not None:
        forces = own if asked.external is None else asked.external + own
        asked = replace(asked, external=forces, request=replace(asked.request, links=forces.links))
    pieces, seen = _pieces(mechanism, named.motion, reading), SeenPieces(view)
    history = asked.along(mechanism, pieces, look=seen.look)

    def source() -> "Source | None":
        from mbd_bridge.view.load_scale import applied_along
        from mbd_bridge.view.source import Source

        found = seen.motion()
        if found is None:
            return None
        plain = mechanism.solver(replace(asked.request, convention=Convention()))
        states = plain.along(found, asked.external, threads=asked.threads)
        applied = applied_along(mechanism.model, found, asked.external)
        return Source(mechanism.model, found.time, found.q, states, asked.request.forces, applied)

    said = pieces.name.replace("\\", "/").rpartition("/")[2]
    return Reported(named.name, named.weight, said, history, seen.worst, asked.external, source)


def _pieces(mechanism: Mechanism, motion: OneMotion, reading: Reading) -> Pieces:
    """Return a motion in pieces, however it was given."""
    if isinstance(motion, str | PathLike):
        return pieces_from_file(motion, mechanism.model, reading)
    if reading.given:
        raise StateError(
            f"{reading.given[0]}: for files; this motion was read already: ("
            f"robot).read_motion(path, {reading.given[0]}=...)"
        )
    if isinstance(motion, Motion):
        return MotionParts(motion, "a motion")
    if not hasattr(motion, "assumed"):
        raise StateError(
            f"motion: expected a Motion, a file, or several by name, got {motion!r:.60}"
        )
    return motion


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
