"""``mbd bench``: how fast our kernels are beside pinocchio, for the user's own robot."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from mbd_bridge.base.errors import count
from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import add_output, add_robot, whole_number

if TYPE_CHECKING:
    from mbd_bridge.engines.crosscheck.bench import Bench, Timing

GROUP = "look at a machine"
SUMMARY = "measure our kernels and pinocchio side by side"
DESCRIPTION = """\
Measure, on this machine and for this robot, what a state costs: our kernels and pinocchio in
turns in one process, one thread each, the best of several turns.

  mbd bench urdf/kuka_iiwa.urdf
  mbd bench humanoid.urdf --floating --states 20000 --json humanoid.json

Out comes, row by row, what a state costs in ns on both sides and how many times faster we are, with
the largest relative difference of the two results where they are the same quantity; then compile
times and versions. It takes about half a minute for an arm, minutes for a humanoid.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    shared.add_joints(parser, "whose loads are asked for; default: the moving joint in the middle")
    parser.add_argument(
        "--states", type=whole_number, default=100_000, metavar="N", help="in a batch (100000)"
    )
    add_output(parser, "write all numbers to a file, in seconds", flag="--json")


def run(options: argparse.Namespace) -> int:
    """Print the measurements."""
    from mbd_bridge.cli import screen
    from mbd_bridge.engines.crosscheck.bench import bench

    robot = screen.load_robot(options)
    model, console = robot.model, screen.stdout()
    screen.show(
        console,
        f"{model.name}: {count(model.nv, 'degree of freedom')}, batches of {options.states} states",
        "",
        f"{'':>9}  {'pinocchio':>9}",
        f"{'ns/state':>9}  {'ns/state':>9}  {'times':>6}  {'difference':>10}  ours | pinocchio's",
    )
    with screen.waiting("preparing") as waiting:

        def tell(row: Timing) -> None:
            screen.show(console, _line(row))
            console.file.flush()

        def heard(row: Timing) -> None:
            waiting.tell(partial(tell, row))

        result = bench(
            model,
            states=options.states,
            joints=options.joints,
            progress=lambda text: waiting.update(f"measuring: {text}"),
            heard=heard,
        )
    _footer(result)
    if options.json is not None:
        import json

        from mbd_bridge.files.whole_file import whole_file

        with whole_file(options.json) as file:
            json.dump(result.as_json(), file, indent=2)
            file.write("\n")
        screen.say(f"written to {options.json}")
    return 0


def _line(row: Timing) -> str:
    theirs = "" if row.theirs is None else _nanoseconds(row.theirs)
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    difference = "" if row.difference is None else f"{row.difference:.0e}"
    numbers = f"{_nanoseconds(row.ours):>9}  {theirs:>9}  {ratio:>6}  {difference:>10}"
    return f"{numbers}  {row.what} | {row.peer}"


def _footer(result: Bench) -> None:
    from mbd_bridge.cli import screen

    screen.show(
        screen.stdout(),
        "",
        "difference: the largest one, relative, where both sides give the same quantity",
        *([result.note] if result.note else []),
        "",
        result.compiled(),
        "",
        result.measured_on(),
    )


def _nanoseconds(seconds: float) -> str:
    return f"{1e9 * seconds:.1f}" if seconds < 1e-7 else f"{1e9 * seconds:.0f}"
