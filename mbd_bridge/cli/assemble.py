"""``mbd assemble``: close the loops, and say what they leave free."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli.parser import add_robot
from mbd_bridge.cli.shared import add_options
from mbd_bridge.solve.options import AssemblyOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.base.table import Table
    from mbd_bridge.cli import screen
    from mbd_bridge.model import Model
    from mbd_bridge.solve import Assembly, LoopReport


GROUP = "close its loops, move it"
SUMMARY = "close the loops nearest to an initial guess; degrees of freedom, redundancy"
DESCRIPTION = """\
Close the loops of a mechanism at the position nearest to an initial guess, and say what they do
there: residual of each loop, degrees of freedom, rows that are redundant, how far a singular
position is.

  mbd assemble urdf/crank_rocker.urdf --near crank=60deg --fixed crank
  mbd assemble urdf/four_bar.urdf --near crank=0.5 --fixed crank --velocity crank=2

An initial guess is NAME=VALUE in rad or m, or with a unit: crank=60deg, slider=20mm; coordinates
without an initial guess start at zero. --fixed ones stay exactly as given, the others move as
little as they must. The exit code is 1 if a loop stays open: then what was reached is shown, and
what to try is said.
"""

EXIT_INCOMPLETE = 1
"""Exit code of a mechanism that does not close."""

ROUNDING = 1e-12
"""rad or m, and their rates: less is shown as 0."""

TOLD = 1e-3
"""rad or m: a start that is so far from --near is told."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_state(parser)


def add_state(parser: argparse.ArgumentParser) -> None:
    """Add the words that choose a state."""
    pairs: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    parser.add_argument("--near", **pairs, metavar="NAME=VALUE", help="given coordinates")
    closed_to = {"flag": "--closed-to", "dest": "closed_to", "default": None}
    names = ("fixed", "velocity", "tolerance")
    changes = {"fixed": {"default": []}, "velocity": pairs, "tolerance": closed_to}
    add_options(parser, AssemblyOptions, names, **changes)


def run(options: argparse.Namespace) -> int:
    """Print the assembled state; return 1 if a loop stays open."""
    from mbd_bridge.base.errors import SolveError
    from mbd_bridge.cli import screen
    from mbd_bridge.model.outline import loop_table

    robot = screen.load_robot(options)
    problem = None
    with screen.waiting("assembling"):
        try:
            found = assembled(robot, options)
        except SolveError as error:
            problem, found = error, assembled(robot, options, check=False)
        report = robot.loops.report(found.q)
    console = screen.stdout()
    screen.show(console, _headline(robot, found, report), "")
    screen.show(console, _coordinates(robot, found, moving=bool(options.velocity)))
    if robot.model.cuts:
        screen.show(console, "", loop_table(robot.model, report.redundant, found.loops))
    if problem is None:
        for line in loop_remarks(report, found):
            screen.show(console, line)
        return 0
    screen.report_error(SolveError(problem.message))
    return EXIT_INCOMPLETE


def assembled(robot: Mechanism, options: argparse.Namespace, *, check: bool = True) -> Assembly:
    """Return the state that --near, --fixed and --velocity ask for."""
    near = guesses(options.near, "near", robot.model)
    velocity = guesses(options.velocity, "velocity", robot.model)
    given = {} if options.closed_to is None else {"tolerance": options.closed_to}
    return robot.assemble(near, fixed=options.fixed, velocity=velocity, check=check, **given)


def say_start(robot: Mechanism, options: argparse.Namespace, start: Assembly) -> None:
    """Say where a motion starts whose loops did not close at --near."""
    from mbd_bridge.cli import screen

    names = robot.coordinate_names
    guess = guesses(options.near, "near", robot.model)
    moved = [n for n in guess if abs(start.q[names.index(n)] - guess[n]) > TOLD]
    if moved:
        there = ", ".join(f"{n} = {start.q[names.index(n)]:.6g} for {guess[n]:.6g}" for n in moved)
        screen.say(
            f"starts at {there}: the closed position nearest to --near; to start exactly there: "
            f"--fixed {' '.join(moved)}"
        )


def guesses(words: list[str], option: str, model: Model) -> dict[str, float]:
    """Return the coordinates in SI units that NAME=VALUE words give; "velocity" takes rates."""
    from mbd_bridge.base.arguments import known_name
    from mbd_bridge.base.errors import StateError
    from mbd_bridge.base.units import in_si, measured
    from mbd_bridge.model.units import model_units

    of_q, of_v = model_units(model)
    units = dict(zip(model.coordinate_names, of_q, strict=True))
    if option == "velocity":
        units = {n: f"{unit}/s" for n, unit in zip(model.velocity_names, of_v, strict=True)}
    found = {}
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        try:
            number, unit = measured(value)
        except ValueError:
            raise StateError(
                f"--{option}: expected NAME=VALUE such as crank=0.5 or crank=30deg, got {word!r}"
            ) from None
        known_name("coordinate", name, units, f"--{option}: ")
        if name in found:
            raise StateError(f"--{option}: {name!r} is given twice; keep one")
        try:
            found[name] = in_si(name, number, unit, units[name])
        except ValueError as problem:
            raise StateError(f"--{option} {word}: {problem}") from None
    return found


def _headline(robot: Mechanism, found: Assembly, report: LoopReport) -> str:
    from mbd_bridge.base.errors import count

    steps = count(found.iterations, "iteration")
    state = f"closed in {steps}" if found.closed else "NOT CLOSED"
    if not robot.model.cuts:
        state = "no loops"
    dof = report.mobility
    tree = f" ({robot.nv} of the tree, {report.rank} taken by loops)" if robot.model.cuts else ""
    return f"{robot.name}: {state}, {dof}{tree}"


def _number(value: float) -> str:
    """Return a coordinate or rate without the rounding that is left of a zero."""
    return "0" if abs(value) < ROUNDING else f"{value:.9g}"


def _coordinates(robot: Mechanism, found: Assembly, *, moving: bool) -> Table:
    from mbd_bridge.base.table import Series, Table
    from mbd_bridge.model.units import model_units

    model, missing = robot.model, [None] * (robot.nq - robot.nv)
    of_q, of_v = model_units(model)
    units = ["" if unit == "1" else unit for unit in of_q]
    columns = [Series("value", units, found.q, shown=_number)]
    if moving:
        rates = [f"{unit}/s" for unit in of_v] + [""] * len(missing)
        columns.append(Series("velocity", "", [*model.velocity_names, *missing]))
        columns.append(Series("value", rates, [*found.v, *missing], shown=_number))
    return Table("coordinates", Series("coordinate", "", model.coordinate_names), columns)


# What the command line shows of loops: redundancy, what is left free.


def show_loops(console: screen.Stream, robot: Mechanism) -> None:
    """Show what the loops do at the assembled position nearest to zero."""
    from mbd_bridge.base.errors import MbdError
    from mbd_bridge.cli import screen
    from mbd_bridge.solve.tolerances import ASSEMBLED

    try:
        found = robot.assemble(check=False)
        report = robot.loops.report(found.q)
    except MbdError as error:
        screen.show(console, "", f"loops not assembled: {error}")
        return
    if not found.closed:
        open_ones = ", ".join(
            name for name, residual in found.loops.items() if residual > ASSEMBLED
        )
        screen.show(
            console,
            "",
            f"from zero position these loops do not close: {open_ones}; "
            "mbd assemble --near NAME=VALUE ... tells more",
        )
        return
    screen.show(console, "", "loops closed, nearest to zero position")
    for line in loop_remarks(report, found):
        screen.show(console, "  " + line)
    for name, rows in report.redundant.items():
        if rows:
            screen.show(console, f"  {name}: {rows} of its rows share in the redundancy")


def loop_remarks(report: LoopReport, found: Assembly) -> Iterator[str]:
    """Yield what is to be said of closed loops, a line each."""
    lost = report.rows - report.rank
    yield f"{report.mobility}; {report.rows} rows, {lost} of them redundant"
    if lost:
        loads = (
            "but loads along them are not determined, and are marked"
            if report.undetermined
            else "and loads along them are declared to be zero (planar)"
        )
        yield f"redundant rows forbid what others forbid already: no matter for the motion, {loads}"
    if not report.dof:
        yield "nothing can move: remove a loop, or let one forbid less"
    yield (
        f"condition {report.condition:.3g}; distance from a singular position "
        f"{report.distance:.3g} (0 is singular)"
    )
    yield from report.imprecise
    for name in report.passive:
        yield f"passive: {name} turns or slides without moving anything else"
    for name in found.reversed:
        yield f"REVERSED: the two axes of {name} point against each other; try another --near"
