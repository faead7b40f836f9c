"""``mbd load-cases``: several motions of one machine, with weights; variants side by side."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot

if TYPE_CHECKING:
    from mbd_bridge.base.table import Table
    from mbd_bridge.loads.streaming.cases import LoadCases


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
    along.add_motions(parser)
    parser.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="files of variants of the machine, whose peaks are shown beside those of ROBOT",
    )
    shared.add_joints(parser, "whose loads; default: all")
    add_output(parser, "write the table as .csv, in SI units")
    shared.add_exponents(parser)
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the envelope, or the variants."""
    from os.path import basename

    from mbd_bridge.base.errors import FileError
    from mbd_bridge.cli import screen

    if options.output is not None and not options.output.lower().endswith(".csv"):
        raise FileError("expected a name that ends with .csv", options.output)
    files = along.case_files(options)
    weights = along.case_weights(options, files)
    cases = _cases(options.robot, files, weights, options)
    names = [basename(path) for path in options.compare]
    names = names if len({*names}) == len(names) else options.compare
    pairs = zip(names, options.compare, strict=True)
    variants = {name: _cases(path, files, weights, options) for name, path in pairs}
    table = cases.beside(variants) if variants else cases.tables()[0]
    convention = cases.cases[0].history.convention
    console = screen.stdout()
    screen.show(console, convention)
    screen.show(console, table)
    if options.output is not None:
        _write(options.output, table, convention)
        screen.rows_written(len(table), options.output)
    return 0


def _write(path: str, table: Table, convention: str) -> None:
    """Write the rows of a table: the convention above, units in brackets behind the names."""
    import csv

    from mbd_bridge.files.whole_file import whole_file

    columns = (*table.index, *table.flat())
    with whole_file(path) as file:
        file.write(f"# {convention}\n")
        writer = csv.writer(file, lineterminator="\n")
        heads = [(one.name, one.plain_unit) for one in columns]
        plain = ("", "see unit")  # which stands in a column of its own
        writer.writerow(name if unit in plain else f"{name} [{unit}]" for name, unit in heads)
        writer.writerows(zip(*(one.values for one in columns), strict=True))


def _cases(
    path: str, files: dict[str, str], weights: dict[str, float], options: argparse.Namespace
) -> LoadCases:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.observers import Needs
    from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases

    robot = along.load_robot(argparse.Namespace(**{**vars(options), "robot": path}))
    found = []
    for name, own in along.of_each_case(options, files).items():
        acting = along.load_inputs(own, robot)
        needs = Needs(shared.joints(options))
        asked = HistoryRequest(
            acting.request(needs),
            acting.external,
            options.exponents,
            motors=False,
            threads=options.threads,
        )
        history = asked.along(robot, along.CasePieces(own, robot.model))
        for note in history.notes:
            screen.say(f"{name}: {note}")
        found.append(LoadCase(name, history, weights.get(name, 1.0)))
    return LoadCases(found)
