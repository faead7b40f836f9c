"""Which instants of a motion to take: those of given times, or of the peaks of a link's loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.loads.export import COMPONENTS, FORCES
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.loads.free_body.free_body import FreeBody

ROUNDING = 1e-9
"""Share of the largest force (or moment) on the link below which a component has no peak."""


class PeakInstants:
    """The instants at which components of the joints of one link are largest.

    The motion may come in pieces: give each piece's free body and the number of its first row.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[float, int]] = {}
        self._force = self._moment = 0.0

    def add(self, body: FreeBody, first: int = 0) -> None:
        """Take in the instants of a free body; ``first`` is the row of its first one."""
        points = np.array([one.point for one in body.acting])
        span = float(np.linalg.norm(points[:, None] - points[None], axis=-1).max())
        for one in body.acting:
            force, moment = (float(np.abs(part).max()) for part in (one.force, one.moment))
            self._force = max(self._force, force)
            self._moment = max(self._moment, moment, force * span)
        for one in body.joints:
            values = one.wrench
            rows = np.argmax(np.abs(values), axis=0)
            for k, (component, row) in enumerate(zip(COMPONENTS, rows, strict=True)):
                value, name = abs(float(values[row, k])), (one.name, component)
                if name not in self._found or value > self._found[name][0]:
                    self._found[name] = value, first + int(row)

    def rows(self, wanted: str | None = None) -> dict[int, str]:
        """Return rows and what peaks there, in their order.

        Parameters
        ----------
        wanted : a component such as ``elbow.fx``, or a joint; None for all components

        Notes
        -----
        Components that are nothing but rounding errors have no peak.
        """
        found: dict[int, list[str]] = {}
        for (joint, component), (value, row) in self._found.items():
            name = f"{joint}.{component}"
            if wanted not in (None, name, joint):
                continue
            scale = self._force if component in FORCES else self._moment
            if wanted == name or value > ROUNDING * scale:
                found.setdefault(row, []).append(name)
        if not found:
            names = [*dict.fromkeys(joint for joint, _ in self._found)]
            names += [f"{joint}.{component}" for joint, component in self._found]
            if wanted is not None and wanted not in names:
                raise StateError(unknown_name("joint or component of the link", wanted, names))
            raise StateError("no load on the link has a peak: all are zero; give times")
        return {row: "peak of " + ", ".join(found[row]) for row in sorted(found)}


def rows_at(time: Array, wanted: ArrayLike) -> list[int]:
    """Return the rows nearest to some times, s.

    Raises
    ------
    StateError
        A time is not in the motion.
    """
    times = np.atleast_1d(np.asarray(wanted, dtype=np.float64))
    step = float(np.diff(time).max(initial=0.0))
    found = []
    for t in times.tolist():
        if not time[0] - 0.5 * step <= t <= time[-1] + 0.5 * step:
            raise StateError(
                f"t = {t:g} s is not in the motion, which goes from {time[0]:g} to {time[-1]:g} s"
            )
        found.append(int(np.argmin(np.abs(time - t))))
    return found
