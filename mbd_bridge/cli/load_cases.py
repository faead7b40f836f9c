"""``mbd load-cases``: several motions of one machine, with weights; variants side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_robot

if TYPE_CHECKING:
    from mbd_bridge.base.assumptions import Assumption
    from mbd_bridge.loads.streaming.cases import LoadCases
    from mbd_bridge.model import Model
    from mbd_bridge.motion import Motion, Pieces


# Several motions of a machine in words: ``pick=pick.csv stop.csv --weight pick=2e6``.


def add_motions(parser: argparse.ArgumentParser) -> None:
    """Declare the motions and their repetitions."""
    parser.add_argument(
        "motion",
        nargs="+",
        metavar="[NAME=]MOTION",
        help="table or ROS bag of the motion; several are load cases, called NAME or after their "
        "files",
    )
    text = "repetitions of a load case (1)"
    shared.add_names(parser, "--weight", "NAME=N", text, default=[])


def case_files(options: argparse.Namespace) -> dict[str, str]:
    """Return the files of the motions by name."""
    from os.path import exists
    from pathlib import PurePath

    from mbd_bridge.base.errors import StateError

    found: dict[str, str] = {}
    for word in options.motion:
        name, sign, path = word.partition("=")
        if not (name and sign and path) or exists(word):
            name, path = PurePath(word).stem, word
        if name in found:
            raise StateError(f"two load cases are called {name!r}; name them: NAME={path}")
        found[name] = path
    return found


def of_each_case(
    options: argparse.Namespace, named: dict[str, str]
) -> dict[str, argparse.Namespace]:
    """Return the options of each load case, whose `motion` is one file."""
    return {
        name: argparse.Namespace(**{**vars(options), "motion": path, "q": None})
        for name, path in named.items()
    }


class CasePieces:
    """The motion of one load case in pieces; its file is opened when they are taken.

    Parameters
    ----------
    options : of this case (`of_each_case`)
    """

    def __init__(self, options: argparse.Namespace, model: Model) -> None:
        self.name, self.model, self._options = options.motion, model, options
        self._pieces: Pieces | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, held still or looks odd."""
        return () if self._pieces is None else self._pieces.notes

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion."""
        return () if self._pieces is None else self._pieces.assumed

    def __iter__(self) -> Iterator[Motion]:
        with along.pieces(self._options, self.model) as self._pieces:
            yield from self._pieces


def case_weights(options: argparse.Namespace, names: dict[str, str]) -> dict[str, float]:
    """Return the repetitions that --weight gives."""
    from mbd_bridge.base.arguments import known_name
    from mbd_bridge.base.errors import StateError

    found: dict[str, float] = {}
    form = "NAME=N such as pick=2e6"
    for name, text in shared.named(options.weight, "weight", form).items():
        known_name("load case", name, names, "--weight: ")
        try:
            found[name] = float(text)
        except ValueError:
            raise StateError(f"--weight: expected {form}, got {f'{name}={text}'!r}") from None
    return found


GROUP = "loads"
SUMMARY = "loads over several motions with weights; variants side by side"
DESCRIPTION = """\
Compute loads along several motions (load cases): the largest and smallest value of each component
over all of them, of which case it is, and damage-equivalent ranges of all repetitions together.

  mbd load-cases arm.urdf pick=pick.csv stop=stop.csv --weight pick=2e6 --joints elbow
  mbd load-cases arm.urdf pick.csv --joints elbow --compare heavier_arm.urdf longer_arm.urdf

mbd report takes the same motions, and writes a page about them.

"""
DESCRIPTION += along.TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_motions(parser)
    parser.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="files of variants of the machine, whose peaks are shown beside those of ROBOT",
    )
    shared.add_joints(parser, "whose loads; default: all")
    shared.add_exponents(parser)
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the envelope, or the variants."""
    from os.path import basename

    from mbd_bridge.cli import screen

    files = case_files(options)
    weights = case_weights(options, files)
    cases = _cases(options.robot, files, weights, options)
    console = screen.stdout()
    screen.show(console, cases.cases[0].history.convention)
    if not options.compare:
        screen.show(console, cases.tables()[0])
        return 0
    names = [basename(path) for path in options.compare]
    names = names if len({*names}) == len(names) else options.compare
    pairs = zip(names, options.compare, strict=True)
    variants = {name: _cases(path, files, weights, options) for name, path in pairs}
    screen.show(console, cases.beside(variants))
    return 0


def _cases(
    path: str, files: dict[str, str], weights: dict[str, float], options: argparse.Namespace
) -> LoadCases:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases
    from mbd_bridge.loads.watch import Needs

    robot = along.load_robot(argparse.Namespace(**{**vars(options), "robot": path}))
    found = []
    for name, own in of_each_case(options, files).items():
        acting = along.load_inputs(own, robot)
        needs = Needs(shared.joints(options))
        asked = HistoryRequest(
            acting.request(needs),
            acting.external,
            options.exponents,
            motors=False,
            threads=options.threads,
        )
        history = asked.along(robot, CasePieces(own, robot.model))
        for note in history.notes:
            screen.say(f"{name}: {note}")
        found.append(LoadCase(name, history, weights.get(name, 1.0)))
    return LoadCases(found)
