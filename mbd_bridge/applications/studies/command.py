"""``mbd study``: thousands to millions of variants of a machine, from a file."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from mbd_bridge.applications.studies.options import StudyOptions
from mbd_bridge.applications.studies.run import Executor
from mbd_bridge.applications.studies.study_file import read_study
from mbd_bridge.base.errors import SolveError
from mbd_bridge.base.extras import needed
from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import add_output, whole_number
from mbd_bridge.cli.shared import add_options, values

GROUP = "close its loops, move it"
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
    parser.add_argument("study", metavar="FILE", help="study as YAML (see docs/guides/studies.md)")
    folder = {"help": "keep parts there, and go on from them"}
    add_options(parser, StudyOptions, ("folder", "batch"), folder=folder)
    parser.add_argument(
        "--workers", type=whole_number, default=1, metavar="N", help="processes (1: this one)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster that computes the parts"
    )
    add_output(parser, "table: .csv, .parquet, .npz or .h5")


def run(options: argparse.Namespace) -> int:
    """Compute, write the table, print the summary."""
    from mbd_bridge.api.load import load
    from mbd_bridge.applications.studies import study
    from mbd_bridge.cli import screen

    shared.check_table(options)
    file = read_study(options.study, load)
    with (
        executor_of(options.workers, options.scheduler) as executor,
        screen.progress("variants", len(file.design)) as progress,
    ):
        chosen = values(options, StudyOptions, executor=executor, progress=progress)
        result = study(file.machine, file.design, **{**file.options, **chosen})
    screen.show(screen.stdout(), result.spread())
    if result.reused:
        screen.say(f"{result.reused} of {len(result)} variants read from {options.folder}")
    trouble = result.trouble()
    for sentence in trouble[:MOST_TOLD]:
        screen.say(sentence, "warning")
    if len(trouble) > MOST_TOLD:
        screen.say(f"{len(trouble) - MOST_TOLD} more kinds of trouble; -o keeps all", "warning")
    if options.output is not None:
        result.save(options.output)
        screen.rows_written(len(result), options.output)
    return 0


# Where the parts of a study are computed: here, by processes of this machine, by a cluster.

SECONDS = 10.0
"""How long a cluster may take to answer, s."""


@contextlib.contextmanager
def executor_of(workers: int = 1, scheduler: str | None = None) -> Iterator[Executor | None]:
    """Give an executor, and end it afterwards.

    Parameters
    ----------
    workers : processes of this machine; 1: None, everything in this one
    scheduler : address of a Dask cluster, "tcp://host:8786", instead
    """
    if scheduler is not None:
        with _client(scheduler) as client:
            yield client
        return
    if workers == 1:
        yield None
        return
    # a fork of a process with threads may hang
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Executor]:
    dask = needed("distributed", "a cluster needs Dask", "mbd_bridge[studies]")
    try:
        client = dask.Client(scheduler, timeout=SECONDS)
    except (OSError, ValueError) as problem:
        raise SolveError(
            f"no Dask cluster answers at {scheduler!r} ({problem}); start one, such as "
            f"'dask scheduler' and 'dask worker {scheduler}'"
        ) from problem
    with client:
        yield client


# A study as a file, for the command line.
#
# ::
#
#     machine: crank_rocker.urdf          # beside this file
#     duration: 0.5                       # s; without it: joint loads at one state each
#     step: 1ms                           # numbers may have units, 0.001 is in s as well
#     every: 5                            # record every 5th step
#     near: {crank: 30deg}                # start, where loops are closed from
#     torque: {crank: 0.2}                # numbers or formulas of t, by velocity
#     prescribed: {crank: 2*pi*t}         # formulas of t, by coordinate
#     design: {kind: sobol, number: 10000, seed: 0}
#     vary:
#       coupler.mass: [0.5, 2.0]          # all values in between are equally likely
#       rocker.xyz.x: [390mm, 410mm]      # one number of a vector
#       crank.vel: {mean: 5, deviation: 0.1}                # a normal distribution
#     outputs:
#       pin: peak coupler_pin.force       # or a list of phrases
#
# `design` has a kind, grid, latin_hypercube, sobol or saltelli (`number` is then its base). Of a
# grid the factors have a list of levels, or ``{from: 0, to: 1, levels: 11}``.
