"""Wrenches in ROS bags as a table: messages ``geometry_msgs/msg/WrenchStamped``.

A topic ``/wrist/ft/wrench`` is the columns ``wrist/ft.fx`` ... ``wrist/ft.mz``, and the other way
round. Time counts from the bag's first joint state where it has such, as that of a motion in it
does (where several publishers share its topic, that of the first whose joints it has), else from
the first wrench; the notes tell the bag's clock there, as those of a motion do. Of a component that
nobody determined the bag has nan; one that is nan throughout is no column.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, some
from mbd_bridge.base.units import Unit, find_unit
from mbd_bridge.files.bags import (
    MESSAGE as JOINT_STATES,
    METADATA,
    SECOND,
    SHOWN,
    clock_text,
    packages,
)
from mbd_bridge.files.table import UNDETERMINED, Block, Column, TableSource, reading

WRENCHES = "geometry_msgs/msg/WrenchStamped"
FORCE, TORQUE = ("fx", "fy", "fz"), ("mx", "my", "mz")
UNITS = dict.fromkeys(FORCE, "N") | dict.fromkeys(TORQUE, "N m")
END = "/wrench"
TIME = "time"
LATEST = 2.0**31
"""s, of stamps."""


class BagSource(TableSource):
    """The wrenches of a bag; those of topics whose stamps differ are read one by one."""

    def __init__(self, path: str) -> None:
        self._stamps, self._values, note = _read(path)
        if not self._values:
            raise FileError(f"no topic with wrenches, {WRENCHES}", path)
        columns = [
            Column(f"{name}.{component}", unit)
            for name, values in self._values.items()
            for k, (component, unit) in enumerate(UNITS.items())
            if not np.isnan(values[:, k]).all()
        ]
        lengths = {len(stamps) for stamps in self._stamps.values()}
        rows = lengths.pop() if len(lengths) == 1 else None
        super().__init__(path, [Column(TIME, "s"), *columns], {}, rows)
        self.notes = (note,)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield the rows at once: the topics are read already."""
        chosen = [self.names[k].rpartition(".") for k in places if self.names[k] != TIME]
        topics = list(dict.fromkeys(name for name, _, _ in chosen)) or list(self._stamps)[:1]
        time = self._stamps[topics[0]]
        for topic in topics[1:]:
            if not np.array_equal(self._stamps[topic], time):
                raise FileError(
                    f"wrenches of {topics[0]} and {topic} have different stamps; read them one by "
                    f"one, each as a sensor or by its columns",
                    self.path,
                )
        order = list(UNITS)
        columns = [
            time
            if name == TIME
            else self._values[name.rpartition(".")[0]][:, order.index(name.rpartition(".")[2])]
            for name in (self.names[k] for k in places)
        ]
        for start in range(0, len(time), rows):
            yield Block(np.column_stack(columns)[start : start + rows], None, 0.0)


def _read(path: str) -> tuple[dict[str, Floats], dict[str, Floats], str]:
    """Return times, s, and wrenches (N, 6) by the name of the topic; and from where time counts."""
    highlevel, typesys = packages(path)
    store = typesys.get_typestore(typesys.Stores.LATEST)
    found: dict[str, list[tuple[int, list[float]]]] = {}
    firsts: dict[str, int] = {}  # of topics with joint states
    with (
        reading(path, (Exception,), "a rosbag2 folder or a .mcap file"),
        highlevel.AnyReader([Path(path)], default_typestore=store) as reader,
    ):
        chosen = [c for c in reader.connections if c.msgtype in (WRENCHES, JOINT_STATES)]
        for connection, recorded, raw in reader.messages(connections=chosen):
            if connection.topic in firsts:
                continue
            message = reader.deserialize(raw, connection.msgtype)
            stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec or recorded
            if connection.msgtype == JOINT_STATES:
                firsts[connection.topic] = stamp
                continue
            parts = message.wrench.force, message.wrench.torque
            name = connection.topic.strip("/").removesuffix(END)
            numbers = [float(getattr(part, axis)) for part in parts for axis in "xyz"]
            found.setdefault(name, []).append((stamp, numbers))
    if len({*firsts.values()}) > 1:
        begin = ", ".join(f"{topic} at {at / SECOND:.3f} s" for topic, at in firsts.items())
        raise FileError(
            f"joint states begin at different times, {begin}, so it is open from where a motion's "
            f"and these wrenches' time counts; give a bag with one topic of joint states",
            path,
        )
    stamps_of_wrenches = (stamp for rows in found.values() for stamp, _ in rows)
    first = next(iter(firsts.values()), min(stamps_of_wrenches, default=0))
    stamps = {k: np.array([(at - first) / SECOND for at, _ in rows]) for k, rows in found.items()}
    whose = "the first joint state" if firsts else "the first wrench: there are no joint states"
    note = f"t = 0 s of the wrenches is {clock_text(first)} s of the bag's clock, {whose}"
    return stamps, {name: np.array([row for _, row in rows]) for name, rows in found.items()}, note


@contextlib.contextmanager
def bag_rows(
    path: Path, columns: Sequence[Column], attributes: Mapping[str, str]
) -> Iterator[Callable[[Floats], object]]:
    """Give a function that takes rows: an ``.mcap`` with a topic for each six columns.

    Columns that are no part of a wrench are left out, such as a joint's actuation. Messages are in
    SI units.
    """
    del attributes  # messages have no place for them
    _, typesys = packages(os.fspath(path))
    from rosbags.rosbag2 import StoragePlugin, Writer

    names = [column.name for column in columns]
    places: dict[str, list[int | None]] = {}
    factors = np.ones(len(columns))
    for k, name in enumerate(names):
        prefix, _, component = name.removesuffix(UNDETERMINED).rpartition(".")
        if prefix and component in UNITS:
            sure = None if name.endswith(UNDETERMINED) else k
            places.setdefault(prefix, [None] * 6)[list(UNITS).index(component)] = sure
        if (measures := "s" if name == TIME else UNITS.get(component)) is not None:
            factors[k] = _factor(columns[k], measures, path)
    if TIME not in names or not places:
        raise FileError(
            f"a bag takes {TIME!r} and wrenches, <name>.fx ... <name>.mz; got "
            f"{some(names, SHOWN)}; write another kind of file",
            os.fspath(path),
        )
    called = {name: f"/{name.replace('.', '/').strip('/')}{END}" for name in places}
    for name, topic in called.items():
        if other := next((x for x in places if x != name and called[x] == topic), None):
            raise FileError(
                f"{other!r} and {name!r} would both be the topic {topic}; rename one of them",
                os.fspath(path),
            )
    store = typesys.get_typestore(typesys.Stores.LATEST)
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        bag = Path(folder) / "bag"
        with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as out:
            topics = {
                name: out.add_connection(topic, WRENCHES, typestore=store)
                for name, topic in called.items()
            }

            def write(rows: Floats) -> None:
                for row in rows * factors:
                    if not 0.0 <= row[names.index(TIME)] < LATEST:
                        raise FileError(
                            f"stamps of messages go from 0 to {LATEST:g} s, got "
                            f"{row[names.index(TIME)]:g} s; move the time's zero",
                            os.fspath(path),
                        )
                    stamp = round(row[names.index(TIME)] * SECOND)
                    for name, chosen in places.items():
                        message = _message(store.types, stamp, name, row, chosen)
                        out.write(topics[name], stamp, store.serialize_cdr(message, WRENCHES))

            yield write
        next(bag.glob("*.mcap")).replace(path)
        assert (bag / METADATA).exists()


def _factor(column: Column, measures: str, path: Path) -> float:
    """Return by what numbers of a column become those of the unit that messages have."""
    unit = find_unit(column.unit) if column.unit else Unit(measures, measures, 1.0)
    if unit is None or unit.measures != measures:
        raise FileError(
            f"expected a unit of {measures}, got [{column.unit}]",
            os.fspath(path),
            element=f"column {column.name!r}",
        )
    return unit.factor


def _message(
    types: Any, stamp: int, name: str, row: Floats, chosen: Sequence[int | None]
) -> object:
    time = types["builtin_interfaces/msg/Time"](*divmod(stamp, SECOND))
    vector = types["geometry_msgs/msg/Vector3"]
    numbers = [float("nan") if k is None else float(row[k]) for k in chosen]
    wrench = types["geometry_msgs/msg/Wrench"](vector(*numbers[:3]), vector(*numbers[3:]))
    return types[WRENCHES](types["std_msgs/msg/Header"](stamp=time, frame_id=name), wrench)
