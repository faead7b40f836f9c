"""Write the golden texts anew, of all commands and calls or of those whose names hold a word.

python -m tests.golden [WORD ...]
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tests.golden.calls import CALLS
from tests.golden.inputs import write_inputs
from tests.golden.keep import HERE, command_lines, machine, run, values
from tests.quick_code import quick_code


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str


class Streams:
    """The two streams of a command, read as pytest's ``capsys`` is."""

    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()

    def readouterr(self) -> Printed:
        """Return what was printed."""
        return Printed(self.out.getvalue(), self.err.getvalue())


def write(kind: str, name: str) -> None:
    """Write the text of one command or call."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        write_inputs(folder)
        os.chdir(folder)
        if kind == "commands":
            streams = Streams()
            with redirect_stdout(streams.out), redirect_stderr(streams.err):
                text = run(command_lines()[name], folder, streams)
        else:
            text = values(CALLS[name]())
        os.chdir(HERE)
    path = HERE / kind / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    text = f"{machine()}\n{text}"
    changed = not path.exists() or path.read_text(encoding="utf-8") != text
    path.write_text(text, encoding="utf-8")
    print("changed " if changed else "as it was", kind, name)


os.environ["COLUMNS"] = "100"
with quick_code():
    for kind, names in (("commands", list(command_lines())), ("calls", list(CALLS))):
        for path in (HERE / kind).glob("*.txt"):
            if path.stem not in names:
                path.unlink()
        for name in names:
            if len(sys.argv) < 2 or any(word in name for word in sys.argv[1:]):
                write(kind, name)
