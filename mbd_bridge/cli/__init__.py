"""The command line, ``mbd COMMAND ...``: `cli.parser` lists the commands, each is a module.

The only room that prints. Results go to stdout, everything else to stderr; the exit code is 0,
1 for a disagreement that ``mbd check`` found, 2 for input that cannot be used, 130 for Ctrl-C, 143
for SIGTERM, 129 for SIGHUP, 70 for a fault of ours.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from mbd_bridge.base.errors import MbdError

DISAGREEMENT = 1
BAD_INPUT = 2
FAULT = 70
"""EX_SOFTWARE: an error that nobody foresaw, told apart from a disagreement."""
PIPE_CLOSED = 141
"""128 + SIGPIPE: whoever read our output has had enough."""
INTERRUPTED = 130
"""128 + SIGINT."""
INPUTS = ("robot", "motion", "path", "study")
"""Options that are names of files to read."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    with answered() as ending, _few_collections():
        try:
            code = _main(arguments)
        except KeyboardInterrupt:
            _tell("interrupted")
            code = INTERRUPTED
        return ending.exit_code(code)


def _main(arguments: Sequence[str] | None) -> int:
    from mbd_bridge.cli.parser import (
        make_parser,
        near_option,
        output_files,
        placed_motion,
        several_motions,
        xacro_arguments,
    )
    from mbd_bridge.files.whole_file import inputs_kept, note_input
    from mbd_bridge.kernels import machine

    sys.stderr = sys.stderr or io.StringIO()
    sys.stdout = sys.stdout or _Closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without → shows ?
    try:
        words, given = xacro_arguments(sys.argv[1:] if arguments is None else arguments)
        parser = make_parser(words)
        options, unknown = parser.parse_known_args(words)
        options.xacro_arguments = given
        if given and not hasattr(options, "robot"):
            unknown += [f"{name}:={value}" for name, value in given.items()]
        if options.command is None and not unknown:
            parser.print_help()
            return 0
        if unknown and not placed_motion(options, unknown):
            own = getattr(options, "parser", parser)  # the usage of mbd does not help
            own.error(
                f"unknown arguments: {' '.join(unknown)}{near_option(own, unknown)}"
                f"{several_motions(options, unknown)}"
            )
        machine.listener = _say_compilation
        with inputs_kept(output_files(options)), warnings.catch_warnings():
            warnings.showwarning = _say_warning
            for name in INPUTS:  # the readers tell of these and of all others, later
                if isinstance(path := getattr(options, name, None), str):
                    note_input(path)
            code: int = options.run(options)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse's own: --help, --version, wrong usage
        return leaving.code if isinstance(leaving.code, int) else BAD_INPUT
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:  # the readers and writers of files have told theirs better
        _drop_output()
        _tell(f"mbd: error: {error}; is there room where it goes?")
        return BAD_INPUT
    except MemoryError:
        _tell("mbd: error: not enough memory; ask for fewer states or rows at a time")
        return BAD_INPUT
    except MbdError as error:
        from mbd_bridge.cli.screen import report_error

        report_error(error)
        return BAD_INPUT
    except Exception:  # whatever else there is: nobody but us can mend it
        import traceback

        traceback.print_exc()
        _tell("mbd: this is a fault of mbd_bridge; please report it with the above")
        return FAULT
    return code


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Look for unreachable objects less often: modules and tables make many, and all of them stay.

    It takes a tenth of the time of a short command otherwise.
    """
    before = gc.get_threshold()
    gc.set_threshold(*(25 * number for number in before))
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _say_compilation(lines: int, seconds: float) -> None:
    """Say that much machine code is compiled now."""
    from mbd_bridge.cli.screen import say_compilation

    say_compilation(lines, seconds)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Say a warning that no command has taken up, without a line of Python."""
    from mbd_bridge.cli.screen import say

    say(str(message), "warning")


def _tell(text: str) -> None:
    """Write a line to stderr; a terminal that was closed takes none."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")


class _Closed(io.StringIO):
    """Stands for a stream that the caller has closed: what is written to it is refused."""

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(errno.EBADF, "stdout is closed")


def _drop_output() -> None:
    """Send what is still to be flushed to nowhere: stdout takes no more."""
    with contextlib.suppress(OSError):  # a stdout that is no file of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Signals that ask a command to end: answered as Ctrl-C is, so that results can be written.

ENDING = ("SIGTERM", "SIGHUP")
"""From `kill`, a service manager or a batch system; from a terminal that was closed."""

PATIENCE = 5.0
"""s, for which further such signals are left out: a shell that ends sends a second SIGHUP, and the
first one is still being answered."""


class Ending:
    """What a command received.

    Attributes
    ----------
    number : of the first signal that asked it to end; None: none did
    """

    number: int | None = None

    def __init__(self) -> None:
        self._process, self._last = os.getpid(), -PATIENCE

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Interrupt what is done."""
        if os.getpid() != self._process:  # a worker has nothing to write
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        now = time.monotonic()
        if now - self._last < PATIENCE:
            return
        self._last = now
        self.number = self.number or number
        raise KeyboardInterrupt

    def exit_code(self, code: int) -> int:
        """Return the exit code of a command: that of the signal, if one ended it."""
        return code if self.number is None else 128 + self.number


@contextlib.contextmanager
def answered() -> Iterator[Ending]:
    """Answer these signals with KeyboardInterrupt; those that the caller ignores stay ignored."""
    ending, before = Ending(), {}
    if threading.current_thread() is threading.main_thread():  # no other may
        for name in ENDING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, ending.receive)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            # The program ends where one came: a second one must not change its exit code.
            signal.signal(number, handler if ending.number is None else signal.SIG_IGN)
