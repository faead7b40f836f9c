"""What a person sees: tables, notes, errors and progress, plain where nobody looks."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import basename, exists, splitext
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from mbd_bridge.base.errors import (
    FileError,
    MbdError,
    MbdWarning,
    MissingMeshWarning,
    count,
    visible,
)
from mbd_bridge.base.table import HEAD, Cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.base.table import Table, Tabular


STYLES = {"good": "green", "bad": "bold red", "doubt": "yellow", HEAD: "bold"}
"""How marks look on a terminal."""

DECIDE = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which rich takes what is no terminal for one."""


class Plain(NamedTuple):
    """A file, a pipe: what has no styles, and needs no rich."""

    file: TextIO
    is_terminal: bool = False


Stream: TypeAlias = "Console | Plain"
"""Where something is printed."""


def stdout() -> Stream:
    """Return the console for results (rich obeys NO_COLOR and TERM)."""
    return _console(sys.stdout)


def data_stdout() -> TextIO:
    """Return stdout for files: UTF-8 and Unix line ends, whatever the terminal speaks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    return sys.stdout


def stderr() -> Stream:
    """Return the console for everything that is no result."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Stream:
    if not file.isatty() and not any(name in os.environ for name in DECIDE):
        return Plain(file)
    from rich.console import Console

    return Console(file=file, highlight=False, emoji=False)


_told: Callable[[str], object] | None = None
"""Where a line goes while something is shown that moves."""


@contextlib.contextmanager
def _telling(tell: Callable[[str], object]) -> Iterator[None]:
    global _told
    before, _told = _told, tell
    try:
        yield
    finally:
        _told = before


class Waiting(NamedTuple):
    """What is shown while something takes its time; nothing where nobody looks."""

    status: Status | None = None

    def update(self, text: str) -> None:
        """Show another text."""
        if self.status is not None:
            self.status.update(text)

    def tell(self, show: Callable[[], object]) -> None:
        """Print something meanwhile."""
        if self.status is not None:
            self.status.stop()
        show()
        if self.status is not None:
            self.status.start()


@contextlib.contextmanager
def waiting(text: str) -> Iterator[Waiting]:
    """Show on a terminal that something takes its time."""
    if not sys.stderr.isatty():
        yield Waiting()
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status, _telling(status.update):
        yield Waiting(status)


def say_compilation(lines: int, seconds: float) -> None:
    """Say, on a terminal, that much machine code is compiled now."""
    if sys.stderr.isatty():
        text = f"compiling {lines} lines of machine code, some {seconds:.0f} s (Ctrl-C ends it)"
        (_told or say)(text)


def show(console: Stream, *things: Table | str) -> None:
    """Print tables and plain text, without blanks at the ends of lines."""
    for one in things:
        lines = [[Cell(visible(one))]] if isinstance(one, str) else list(one.lines())
        _print(console, lines)


def _print(console: Stream, lines: Iterable[Sequence[Cell]]) -> None:
    """Print lines of marked texts; marks that are no mark are styles."""
    for line in lines:
        if isinstance(console, Plain):
            text = "".join(cell.text for cell in line)
            console.file.write("".join(part.rstrip() + "\n" for part in text.split("\n")))
            continue
        from rich.text import Text

        styled = Text.assemble(*((cell.text, STYLES.get(cell.mark, cell.mark)) for cell in line))
        styled.rstrip()
        console.print(styled, soft_wrap=True)


def show_tables(result: Tabular) -> None:
    """Print the tables of a result, a blank line between them."""
    for k, table in enumerate(result.tables()):
        show(stdout(), *[""] * (k > 0), table)


def say(text: str, kind: str = "note") -> None:
    """Say something on stderr: a note or a warning."""
    style = "yellow" if kind == "warning" else "cyan"
    _print(stderr(), [[Cell(f"{kind}: ", style), Cell(visible(text), "default")]])


def say_all(texts: Iterable[str]) -> None:
    """Say some notes on stderr; empty ones are none."""
    for text in filter(None, texts):
        say(text)


def rows_written(number: int, path: str) -> None:
    """Say that a table was written."""
    say(f"{count(number, 'row')} written to {path}")


def report_error(error: MbdError) -> None:
    """Say on stderr what was wrong."""
    said = visible(str(error)) + _sample(error)
    _print(stderr(), [[Cell("mbd: error: ", "bold red"), Cell(said, "default")]])


def _sample(error: MbdError) -> str:
    """Return where a file is that is not there, but is one of the package's sample models."""
    from mbd_bridge.api.load import models

    path = (error.file if isinstance(error, FileError) else None) or ""
    stem, _ = splitext(basename(path))
    names = [name for name in (basename(path), stem) if name and not exists(path)]
    found = [name for name in names if name in models()]
    return f'; a sample model of this name: "$(mbd models {found[0]})"' if found else ""


def load_robot(options: Namespace) -> Mechanism:
    """Return the mechanism that the options ask for; say how much is odd in its file."""
    robot, remarks = robot_and_remarks(options, pictures=False)
    if remarks:
        them = "it" if len(remarks) == 1 else "them"
        said = f"{count(len(remarks), 'warning')} about {basename(options.robot)}"
        say(f"{said} (mbd info shows {them})", "warning")
    return robot


def robot_and_remarks(
    options: Namespace, *, pictures: bool = True
) -> tuple[Mechanism, tuple[str, ...]]:
    """Return the mechanism that the options ask for, and all that is odd in its file.

    Parameters
    ----------
    pictures : remark on what pictures lack, too
    """
    from mbd_bridge.api.load import load

    given = {
        name: value
        for name in ("gravity", "rank_tolerance", "joint_dynamics")
        if (value := getattr(options, name)) is not None
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        robot = load(
            options.robot,
            floating=options.floating,
            package_path=options.package_path,
            arguments=options.xacro_arguments,
            forces=() if options.no_forces else options.forces,
            flexible=() if options.rigid else options.flexible,
            actuators=vars(options).get("actuators"),
            bearings=vars(options).get("bearings"),
            **given,
        )
    for link, mass, centre in options.payload:
        robot = robot.with_payload(link, mass, centre)
    wanted = [w for w in caught if issubclass(w.category, MbdWarning)]
    if not pictures:
        wanted = [w for w in wanted if not issubclass(w.category, MissingMeshWarning)]
    name = basename(options.robot)
    remarks = dict.fromkeys(str(w.message).replace(options.robot, name) for w in wanted)
    return robot, tuple(remarks)


def unused_in_file(robot: Mechanism, of: str) -> str:
    """Return what the file says of its joints and no force element of the robot stands for."""
    from mbd_bridge.forces.base import replaced_by
    from mbd_bridge.motion.warnings import left_out

    return left_out(robot.model, of, replaced_by(robot.model, robot.forces))


def forces_said(robot: Mechanism) -> tuple[str, ...]:
    """Return a sentence about the force elements of a machine, if it has some."""
    from mbd_bridge.forces.base import named

    return tuple(f"{sentence} act" for sentence in named(robot.forces))


@contextlib.contextmanager
def progress(task: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Show how far a task is, on a terminal only; call what is given with each step done."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar, _telling(bar.console.print):
        number = bar.add_task(task, total=total)
        yield lambda step: bar.update(number, advance=step)
