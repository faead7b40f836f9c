"""``mbd cases``: several motions of one machine, with weights; two variants side by side."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import external, motion_file
from mbd_bridge.cli.parser import Names, add_robot, whole_number

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.loads.streaming.cases import LoadCases

SUMMARY = "loads over several motions with weights; two variants side by side"
DESCRIPTION = """\
Compute loads along several motions (load cases): the largest and smallest value of each component
over all of them, of which case it is, and damage-equivalent ranges of all repetitions together.

  mbd cases arm.urdf --case pick=pick.csv stop=stop.csv --weight pick=2e6 --joints elbow
  mbd cases arm.urdf --case pick=pick.csv --compare heavier_arm.urdf --joints elbow

"""
DESCRIPTION += motion_file.TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument(
        "--case",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME=MOTION",
        help="motions, each with a name",
    )
    parser.add_argument(
        "--weight",
        nargs="+",
        action=Names,
        default=[],
        metavar="NAME=N",
        help="repetitions of a case (1)",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER",
        help="file of a variant of the machine, whose peaks are shown beside those of ROBOT",
    )
    parser.add_argument(
        "--joints", nargs="+", action=Names, metavar="JOINT", help="whose loads; default: all"
    )
    parser.add_argument(
        "--actuated",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="in a mechanism with loops: the actuated joints",
    )
    parser.add_argument(
        "--exponent",
        nargs="+",
        type=float,
        default=[3.0, 5.0, 10.0],
        metavar="m",
        help="Woehler exponents of the damage-equivalent ranges (3 5 10)",
    )
    motion_file.add_arguments(parser)
    external.add_arguments(parser)
    parser.add_argument(
        "--threads", type=whole_number, default=1, metavar="N", help="share the rows among threads"
    )


def run(options: argparse.Namespace) -> int:
    """Print the envelope, or the two variants."""
    from mbd_bridge.cli import screen

    files = _pairs(options.case, "case", "pick=pick.csv")
    weights = {name: _number(n, word) for name, (n, word) in _weights(options, files).items()}
    robot = screen.load_robot(options)
    cases = _cases(robot, files, weights, options)
    console = screen.stdout()
    screen.show(console, cases.cases[0].history.convention)
    if options.compare is None:
        screen.show(console, _envelope(cases, options.exponent))
        return 0
    other = screen.load_robot(argparse.Namespace(**{**vars(options), "robot": options.compare}))
    theirs = _cases(other, files, weights, options)
    screen.show(console, _compared(cases, theirs))
    return 0


def _cases(
    robot: Mechanism,
    files: dict[str, str],
    weights: dict[str, float],
    options: argparse.Namespace,
) -> LoadCases:
    from functools import partial

    from mbd_bridge.cli import screen
    from mbd_bridge.loads import LoadRequest
    from mbd_bridge.loads.streaming import stream_loads
    from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases

    found = []
    for name, path in files.items():
        own = argparse.Namespace(**{**vars(options), "motion": path, "q": None})
        forces = external.read(own, robot)
        request = LoadRequest.of(
            robot.model,
            None if options.joints == ["all"] else options.joints,
            links=() if forces is None else forces.links,
            actuated=options.actuated,
            forces=robot.forces,
        )
        along = partial(robot.solver(request).along, external=forces, threads=options.threads)
        with contextlib.ExitStack() as stack:
            pieces = stack.enter_context(motion_file.pieces(own, robot.model))
            history = stream_loads(along, pieces, exponents=options.exponent)
        for note in history.notes:
            screen.say(f"{name}: {note}")
        found.append(LoadCase(name, history, weights.get(name, 1.0)))
    return LoadCases(found)


def _envelope(cases: LoadCases, exponents: list[float]) -> Any:
    from mbd_bridge.cli import screen

    rows: list[tuple[str, ...]] = []
    for signal in cases.signals:
        name = signal.name
        if signal.resultant:
            continue
        high, low = cases.largest(name), cases.smallest(name)
        ranges = [f"{cases.damage_equivalent(name, m):.5g}" for m in exponents]
        numbers = [f"{high.extreme.value:.5g}", high.case, f"{low.extreme.value:.5g}", low.case]
        if not cases.determined(name):
            numbers, ranges = ["undetermined", "", "", ""], ["" for _ in exponents]
        rows.append((signal.joint, signal.quantity, *numbers, *ranges, signal.unit))
    heads = [f">m = {m:g}" for m in exponents]
    columns = ("joint", "", ">largest", "case", ">smallest", "case", *heads, "unit")
    return screen.table(columns, rows)


def _compared(first: LoadCases, second: LoadCases) -> Any:
    from mbd_bridge.cli import screen

    rows: list[tuple[str, ...]] = []
    for signal, one, other, ratio in first.compare(second):
        sure = first.determined(signal.name) and second.determined(signal.name)
        cells = [f"{one.extreme.value:.5g}", one.case, f"{other.extreme.value:.5g}", other.case]
        cells += ["" if ratio != ratio else f"{ratio:.4g}"]
        if not sure:
            cells = ["undetermined", "", "", "", ""]
        rows.append((signal.joint, signal.quantity, *cells, signal.unit))
    return screen.table(
        ("joint", "", ">peak", "case", ">peak of the other", "case", ">ratio", "unit"), rows
    )


def _pairs(words: list[str], option: str, example: str) -> dict[str, str]:
    from mbd_bridge.errors import StateError

    found: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not (name and sign and text):
            raise StateError(f"--{option}: expected NAME=... such as {example}, got {word!r}")
        if name in found:
            raise StateError(f"--{option}: {name!r} is given twice; keep one")
        found[name] = text
    return found


def _weights(options: argparse.Namespace, files: dict[str, str]) -> dict[str, tuple[str, str]]:
    from mbd_bridge.errors import StateError, unknown_name

    pairs = _pairs(options.weight, "weight", "pick=2e6")
    for name in pairs:
        if name not in files:
            raise StateError(f"--weight: {unknown_name('case', name, files)}")
    return {name: (text, f"{name}={text}") for name, text in pairs.items()}


def _number(text: str, word: str) -> float:
    from mbd_bridge.errors import StateError

    try:
        return float(text)
    except ValueError:
        raise StateError(f"--weight: expected NAME=N such as pick=2e6, got {word!r}") from None
