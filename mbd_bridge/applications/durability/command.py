"""``mbd spectrum``: rainflow cycles and damage-equivalent loads along a motion of any length."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.loads import add_convention, add_joints
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.plot import picture_suffix, save_picture
from mbd_bridge.files.whole_file import PLOT_NAMES

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.applications.durability import LoadSpectra, Spectrum
    from mbd_bridge.loads.signals import LoadSignal
    from mbd_bridge.loads.streaming import LoadHistory

GROUP = "size its parts"
SUMMARY = "cycles and damage-equivalent loads of joints along a motion"
DESCRIPTION = f"""\
Count the rainflow cycles (ASTM E1049-85) of every component of the loads in chosen joints, and give
the damage-equivalent range for Woehler exponents m: (sum of n R^m / (frequency * seconds)) ^ (1/m).

  mbd spectrum urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --joints lbr_iiwa_joint_3

MOTION may be of any length: it is read, computed and counted piece by piece.

{along.TEXT}
With -o the spectra go into a CSV table: signal, unit, bin of ranges, cycles in it, cycles of at
least its lower edge.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="MOTION", help="table of the motion, or ROS bag")
    add_joints(parser)
    shared.add_exponents(parser)
    parser.add_argument(
        "--frequency",
        type=shared.positive,
        default=1.0,
        metavar="Hz",
        help="of the equal cycles that do the same damage in the same time (1)",
    )
    parser.add_argument(
        "--plane",
        choices=("xy", "yz", "zx"),
        help="look along 36 directions in this plane of the loads' axes, too: in which of them "
        "does force or moment damage most?",
    )
    parser.add_argument(
        "--resultants",
        action="store_true",
        help="count the lengths of force and moment, too (components are what fatigue needs)",
    )
    add_output(parser, "CSV file for the spectra")
    text = "write the loads along the motion there, too: .parquet, .csv, .npz or .h5"
    add_output(parser, text, flag="--loads")
    add_output(parser, f"picture of the spectra: {PLOT_NAMES}", flag="--plot")
    add_convention(parser)
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Count, show and write."""
    from mbd_bridge.applications.durability.load_spectra import RESULTANTS_MISLEAD
    from mbd_bridge.cli import screen
    from mbd_bridge.files.whole_file import whole_file

    if options.plot is not None:
        picture_suffix(options.plot)
    robot = along.load_robot(options)
    history = _count(robot, options)
    screen.say_all((*history.notes, screen.unused_in_file(robot, "these loads")))
    if options.resultants:
        screen.say(RESULTANTS_MISLEAD, "warning")
    spectra = history.spectra
    if options.output is not None:
        with whole_file(options.output) as file:
            file.write(_text(history, options))
    console = screen.stdout()
    cycles = f"{options.frequency:g} Hz for {spectra.duration:g} s"
    screen.show(console, spectra.convention, f"equivalent ranges of equal cycles at {cycles}")
    spectra.spectra[0].damage_equivalent(options.exponents[0])  # refuses one row
    counted = history.equivalents(frequency=options.frequency)
    kept = [options.resultants or not one.resultant for one in spectra.signals]
    screen.show(console, counted.rows(kept))
    if options.plane is not None:
        screen.show(console, "", spectra.directions(frequency=options.frequency))
    if options.plot is not None:
        save_picture(spectra.plot, options.plot)
    rows = f"{history.rows} rows"
    if history.file is not None:
        screen.say(f"{rows} written to {history.file}")
    if options.output is not None:
        screen.say(f"spectra of {rows} written to {options.output}")
    return 0


def _count(robot: Mechanism, options: argparse.Namespace) -> LoadHistory:
    from mbd_bridge.applications.durability import SpectraObserver
    from mbd_bridge.loads.convention import Convention
    from mbd_bridge.loads.observers import Needs
    from mbd_bridge.loads.streaming.load_history import watch_loads

    needs = Needs(shared.joints(options), Convention.of(options.on, options.at, options.in_))
    spectra = SpectraObserver(options.exponents, plane=options.plane, needs=needs)
    acting = along.load_inputs(options, robot)
    with along.pieces(options, robot.model) as pieces:
        return watch_loads(pieces, acting, needs, {"spectra": spectra}, output=options.loads)


def _shown(spectra: LoadSpectra, options: argparse.Namespace) -> list[tuple[LoadSignal, Spectrum]]:
    pairs = zip(spectra.signals, spectra.spectra, strict=True)
    return [pair for pair in pairs if options.resultants or not pair[0].resultant]


def _text(history: LoadHistory, options: argparse.Namespace) -> str:
    """Return the spectra as CSV text."""
    from mbd_bridge import __version__
    from mbd_bridge.files.tables.text import no_formula

    spectra, out = history.spectra, io.StringIO(newline="")
    out.write(
        f"# mbd_bridge {__version__}: rainflow cycles (ASTM E1049-85) of joint loads of "
        f"{history.mechanism} along {options.motion}, {spectra.duration:.9g} s\n"
        f"# load: {spectra.convention}\n"
        f"# a range goes from valley to peak; half cycles count 0.5\n"
    )
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["signal", "unit", "determined", "from", "to", "cycles", "cycles from here"])
    for signal, one in _shown(spectra, options):
        above = one.counts[::-1].cumsum()[::-1]
        for low, high, cycles, reached in zip(
            one.ranges[:-1].tolist(), one.ranges[1:].tolist(), one.counts, above, strict=True
        ):
            if reached > 0.0:
                sure = "yes" if one.determined else "no"
                edges = repr(low), repr(high)
                writer.writerow(
                    [
                        no_formula(signal.name),
                        signal.unit,
                        sure,
                        *edges,
                        f"{cycles:g}",
                        f"{reached:g}",
                    ]
                )
    return out.getvalue()
