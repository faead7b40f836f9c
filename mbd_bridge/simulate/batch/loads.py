"""Joint loads along all motions of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mbd_bridge.arguments import place_among
from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.rows import load_arrays
from mbd_bridge.spatial import Array
from mbd_bridge.tabular import Arrays, Rows, Series, Tabular


@dataclass(frozen=True, eq=False)
class BatchLoads(Tabular, rows="mbd_bridge.simulate.batch.loads"):
    """Loads of some joints along N motions.

    Attributes
    ----------
    joints : names, in the order asked for
    time : (K,) s
    force, moment : (N, K, J, 3) N, N m; nan after a trajectory stopped
    actuation : (N, K, F) along each degree of freedom of the joints, N m or N
    unique : (J, 6) whether rigid-body mechanics determines the component, in all that was looked at
    """

    joints: tuple[str, ...]
    time: Array
    force: Array
    moment: Array
    actuation: Array
    unique: Array
    _one: JointLoads
    _v: Array

    @property
    def actuation_of(self) -> tuple[slice, ...]:
        """The columns of `actuation` that belong to each joint."""
        return self._one.actuation_of

    @property
    def actuation_unique(self) -> Array:
        """(F,) whether rigid-body mechanics determines the actuation, in all that was looked at."""
        return np.asarray(self._one.actuation_unique.all(axis=(0, 1)))

    def __len__(self) -> int:
        return len(self.force)

    def __getitem__(self, number: int) -> JointLoads:
        """Return the loads along one motion, as far as it goes: to plot, to save, to count."""
        number = place_among("number", number, len(self))
        there = np.isfinite(self._v[number]).all(axis=-1)
        names = ("force", "moment", "actuation", "unique", "actuation_unique")
        columns = {name: getattr(self._one, name)[number, there] for name in names}
        return replace(self._one, **columns).along(self.time[there], self._v[number, there])

    def __iter__(self) -> Iterator[JointLoads]:
        return (self[number] for number in range(len(self)))

    def peaks(self, joint: str) -> tuple[Array, Array]:
        """Return the largest force (N,) N and moment (N,) N m that a joint sees in each motion.

        Components that are not determined do not count.
        """
        if joint not in self.joints:
            raise StateError(unknown_name("joint in these loads", joint, self.joints))
        k = self.joints.index(joint)
        found = []
        for load, known in ((self.force, self.unique[k, :3]), (self.moment, self.unique[k, 3:])):
            sizes = np.linalg.norm(np.nan_to_num(load[:, :, k]) * known, axis=-1)
            found.append(sizes.max(axis=1, initial=0.0))
        return found[0], found[1]

    def __repr__(self) -> str:
        number, records = self.force.shape[:2]
        return f"BatchLoads({number} motions of {records} records; {', '.join(self.joints)})"


def rows_of(loads: BatchLoads) -> Rows:
    """Return the largest force and moment of each joint, a trajectory each."""
    index = Series("trajectory", "", np.arange(len(loads)))
    peaks = {joint: loads.peaks(joint) for joint in loads.joints}
    columns = tuple(
        Series(f"{joint}.{what}", unit, values)
        for joint, pair in peaks.items()
        for what, unit, values in zip(("force", "moment"), ("N", "N m"), pair, strict=True)
    )
    notes = ("largest sizes along each trajectory",)
    return Rows(repr(loads), index, columns, notes=notes, arrays=partial(_arrays, loads, index))


def _arrays(loads: BatchLoads, index: Series) -> Arrays:
    """Return the loads over trajectories, time, joints and axes or actuators."""
    return load_arrays(loads._one, [index, Series("time", "s", loads.time)])
