"""``mbd study``: thousands to millions of variants of a machine, from a file."""

from __future__ import annotations

import argparse
from typing import Any

from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import OutputFile, whole_number

EXAMPLE = "mbd study variants.yaml --workers 2", "thousands of variants"
SUMMARY = "simulate thousands to millions of variants that a file describes"
DESCRIPTION = """\
Simulate the variants of a machine that a file describes, or compute their joint loads, and give a
table with a row for each: its factors, then the chosen outputs.

  machine: crank_rocker.urdf
  duration: 0.5
  near: {crank: 30deg}
  design: {kind: sobol, number: 4096, seed: 0}
  vary:
    coupler.mass: [0.5, 2.0]
    crank.vel: {mean: 5, deviation: 0.5}
  outputs:
    pin: peak coupler_pin.force

  mbd study coupler.yaml --workers 2 --folder parts -o coupler.parquet

With --folder parts are kept as they are done: a study that was killed goes on from them, and one
that was made before is read. Out comes a summary of each output, and with -o the table.
"""

MOST_TOLD = 8
"""Ways in which variants fail that are told on the screen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("study", metavar="FILE", help="study as YAML (see docs/studies.md)")
    parser.add_argument("--folder", metavar="FOLDER", help="keep parts there, and go on from them")
    parser.add_argument(
        "--workers", type=whole_number, default=1, metavar="N", help="processes (1: this one)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster that computes the parts"
    )
    parser.add_argument("--batch", type=whole_number, metavar="N", help="variants of a part (4096)")
    parser.add_argument(
        "-o", "--output", type=OutputFile, metavar="FILE", help="table: .csv, .parquet, .npz or .h5"
    )


def run(options: argparse.Namespace) -> int:
    """Compute, write the table, print the summary."""
    from mbd_bridge.api.load import load
    from mbd_bridge.applications.studies import study
    from mbd_bridge.applications.studies.executors import executor_of
    from mbd_bridge.applications.studies.file import read_study
    from mbd_bridge.cli import screen

    shared.check_table(options)
    said = read_study(options.study, load)
    more: dict[str, Any] = {} if options.batch is None else {"batch": options.batch}
    with (
        executor_of(options.workers, options.scheduler) as executor,
        screen.progress("variants", len(said.design)) as progress,
    ):
        found = study(
            said.machine,
            said.design,
            executor=executor,
            folder=options.folder,
            progress=progress,
            **said.options,
            **more,
        )
    screen.show(screen.stdout(), found.spread())
    if found.reused:
        screen.say(f"{found.reused} of {len(found)} variants read from {options.folder}")
    trouble = found.trouble()
    for sentence in trouble[:MOST_TOLD]:
        screen.say(sentence, "warning")
    if len(trouble) > MOST_TOLD:
        screen.say(f"{len(trouble) - MOST_TOLD} more kinds of trouble; -o keeps all", "warning")
    if options.output is not None:
        found.save(options.output)
        screen.rows_written(len(found), options.output)
    return 0
