"""Which instants of a motion to take: those of given times, or of the peaks of a link's loads.

The motion may come in pieces, each as the free body along it; what is asked for is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.base.readable import instant, on_clock
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.motion.peak import first_largest, is_larger
from mbd_bridge.motion.table import COMPONENTS, FORCES

if TYPE_CHECKING:
    from mbd_bridge.applications.free_body.free_body import FreeBody


class PeakInstants:
    """The instants at which components of the joints of one link are largest in size."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[float, int, FreeBody]] = {}
        self._round_off: RoundOff | None = None
        self._rows = 0

    def add(self, body: FreeBody) -> None:
        """Take in the next piece."""
        self._round_off = body.round_off.joined(self._round_off)
        for one in body.joints:
            values = np.abs(one.wrench)
            rows = map(first_largest, values.T)
            for k, (component, row) in enumerate(zip(COMPONENTS, rows, strict=True)):
                value, name = float(values[row, k]), (one.name, component)
                if name not in self._found or is_larger(value, self._found[name][0]):
                    self._found[name] = value, self._rows + row, body.pick([row])
        self._rows += len(body.time)

    def body(self, wanted: str | None = None) -> FreeBody:
        """Return the free body at the peaks, in the order of time; labels say what peaks there.

        Parameters
        ----------
        wanted : a component such as ``elbow.fx``, or a joint; None for all components

        Notes
        -----
        Components that are nothing but rounding errors have no peak.
        """
        found: dict[int, tuple[FreeBody, list[str]]] = {}
        for (joint, component), (value, row, body) in self._found.items():
            name = f"{joint}.{component}"
            if wanted not in (None, name, joint):
                continue
            assert self._round_off is not None
            floor = self._round_off.floor("N" if component in FORCES else "N m")
            if wanted == name or value > floor:
                found.setdefault(row, (body, []))[1].append(name)
        if not found:
            names = [*dict.fromkeys(joint for joint, _ in self._found)]
            names += [f"{joint}.{component}" for joint, component in self._found]
            if wanted is not None and wanted not in names:
                raise StateError(unknown_name("joint or component of the link", wanted, names))
            raise StateError("no load on the link has a peak: all are zero; give times")
        chosen = [found[row] for row in sorted(found)]
        return joined(
            [body for body, _ in chosen], ["peak of " + ", ".join(names) for _, names in chosen]
        )


class NearestInstants:
    """The instants nearest to some times, s: see `on_clock` for stamps of a clock."""

    def __init__(self, times: ArrayLike) -> None:
        self._given: list[float] = finite_numbers("at", times).reshape(-1).tolist()
        if not self._given:
            raise StateError('at: expected "peak", a component or times, got none')
        self._found: dict[float, FreeBody] = {}
        self._begin, self._end, self._step = np.inf, -np.inf, 0.0

    def add(self, body: FreeBody) -> None:
        """Take in the next piece."""
        time = body.time
        self._begin, self._end = min(self._begin, float(time[0])), float(time[-1])
        self._step = max(self._step, float(np.diff(time).max(initial=0.0)))
        for wanted in self._times():
            row = int(np.argmin(np.abs(time - wanted)))
            before = self._found.get(wanted)
            if before is None or abs(time[row] - wanted) < abs(before.time[0] - wanted):
                self._found[wanted] = body.pick([row])

    def body(self) -> FreeBody:
        """Return the free body at these instants.

        Raises
        ------
        StateError
            A time is not in the motion.
        """
        for wanted in self._times():
            within = 0.5 * self._step
            if not self._begin - within <= wanted <= self._end + within:
                raise StateError(
                    f"t = {instant(wanted)} s is not in the motion, which goes from "
                    f"{instant(self._begin)} to {instant(self._end)} s"
                )
        return joined([self._found[wanted] for wanted in self._times()])

    def _times(self) -> list[float]:
        return [on_clock(given, self._begin) for given in self._given]


def joined(bodies: Iterable[FreeBody], labels: Iterable[str] | None = None) -> FreeBody:
    """Return free bodies of one link at some instants as one."""
    first, *rest = bodies
    return first.with_more(rest, labels)
