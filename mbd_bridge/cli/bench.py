"""``mbd bench``: how fast our kernels are beside pinocchio, for the user's own robot."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.cli.parser import add_robot, whole_number

if TYPE_CHECKING:
    from mbd_bridge.crosscheck.bench import Bench
    from mbd_bridge.crosscheck.timing import Timing

SUMMARY = "measure our kernels and pinocchio side by side"
DESCRIPTION = """\
Measure, on this machine and for this robot, what a state costs: our kernels and pinocchio in
turns in one process, one thread each, the best of several turns.

  mbd bench urdf/kuka_iiwa.urdf
  mbd bench humanoid.urdf --floating --states 20000 --json humanoid.json

Out comes a table of ns a state and how many times faster we are, with the largest relative
difference of the two results where they are the same quantity; then compile times and versions.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument(
        "--joints",
        nargs="+",
        metavar="JOINT",
        help="whose loads are asked for; default: the moving joint in the middle",
    )
    parser.add_argument(
        "--states", type=whole_number, default=100_000, metavar="N", help="in a batch (100000)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file, in seconds")


def run(options: argparse.Namespace) -> int:
    """Print the measurements."""
    from mbd_bridge.cli import screen
    from mbd_bridge.crosscheck.bench import bench

    robot, remarks = screen.load_robot(options.robot, floating=options.floating)
    screen.say_remarks(remarks)
    with screen.waiting("preparing") as status:
        result = bench(
            robot.model,
            states=options.states,
            joints=options.joints,
            progress=lambda text: status.update(f"measuring: {text}"),
        )
    _show(result)
    if options.json is not None:
        import json

        from mbd_bridge.formats.whole_file import whole_file

        with whole_file(options.json) as file:
            json.dump(result.as_json(), file, indent=2)
            file.write("\n")
        screen.say(f"written to {options.json}")
    return 0


def _show(result: Bench) -> None:
    from mbd_bridge.cli import screen

    rows = [
        (
            row.what,
            _nanoseconds(row.ours),
            row.peer,
            "" if row.theirs is None else _nanoseconds(row.theirs),
            "" if row.ratio is None else f"{row.ratio:.1f}",
            "" if row.difference is None else f"{row.difference:.0e}",
        )
        for row in result.rows
    ]
    screen.show(
        screen.stdout(),
        f"{result.mechanism}: {result.freedoms} freedoms, batches of {result.states} states",
        "",
        screen.table(("ours", ">ns", "pinocchio", ">ns", ">times", ">difference"), rows),
        "",
        screen.table(("", ">ms"), [_compilation(row) for row in result.compilations]),
        "",
        ", ".join(f"{name} {value}" for name, value in result.facts.items()),
    )


def _compilation(row: Timing) -> tuple[str, str]:
    return row.what, f"{1e3 * row.ours:.1f}"


def _nanoseconds(seconds: float) -> str:
    return f"{1e9 * seconds:.1f}" if seconds < 1e-7 else f"{1e9 * seconds:.0f}"
