"""A window on a machine that moves while the program goes on."""

from __future__ import annotations

import contextlib
import os
import pickle

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.bending import FEW_SLICES
from mbd_bridge.view.record import favourable
from mbd_bridge.view.show import check_display, end, tell, window_process
from mbd_bridge.view.source import Source
from mbd_bridge.view.take import Overlays, Take
from mbd_bridge.view.window import READY, Order

SIZE = (1200, 800)
"""Of the window, pixels."""

MOST = 511
"""Doubles that a pipe takes at once or not at all."""


class LiveWindow:
    """A window, in a process of its own, that shows the newest state which it gets.

    Parameters
    ----------
    q : (nq,) state to begin with

    Raises
    ------
    NoDisplayError
        No window can be opened here.
    """

    def __init__(self, model: Model, q: Array) -> None:
        check_display()
        if 1 + len(q) > MOST:
            raise StateError(
                f"a live window takes {MOST - 1} coordinates, the machine has {len(q)}"
            )
        source = Source(model, np.zeros(1), q[None])
        overlays = Overlays(slices=FEW_SLICES)
        take = Take(source, overlays)
        view = favourable(model, take.bodies(source.q)[0])
        order = Order(source, overlays, None, view, SIZE, 1.0, True, live=True)
        self._frame = np.zeros(1 + len(q))
        self._process = window_process()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipe = self._process.stdin.fileno()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(pickle.dumps(order))
            self._process.stdin.flush()
        said = self._process.stdout.readline().decode()
        if not said.startswith(READY):
            said += self._process.stdout.read().decode()
            end(self._process)
            tell(self._process, said)
        os.set_blocking(self._pipe, False)

    def put(self, t: float, q: Array) -> bool:
        """Show a state; return False if the window has been closed. It never waits."""
        self._frame[0], self._frame[1:] = t, q
        try:
            os.write(self._pipe, self._frame.data)
        except BlockingIOError:
            return True  # it has not drawn the last ones yet
        except BrokenPipeError:
            return False
        return True

    def close(self) -> None:
        """Close the window."""
        end(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
