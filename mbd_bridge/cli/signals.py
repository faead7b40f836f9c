"""Signals that ask a command to end: answered as Ctrl-C is, so that results can be written."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

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
