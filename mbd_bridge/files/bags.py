"""Joint states in ROS bags (rosbag2 folders, .mcap, .db3, .bag) as a table.

The messages are ``sensor_msgs/msg/JointState``: names, positions (rad or m) and, where the
publisher fills them in, velocities and efforts (N m or N), in an order that may change from message
to message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import file_path
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, some, unknown_name
from mbd_bridge.base.extras import needed
from mbd_bridge.files.input_files import file_beside, regular_file
from mbd_bridge.files.table import Column, ColumnTable, check_finite, reading
from mbd_bridge.files.whole_file import note_input

Clock = Literal["header", "bag"]

MESSAGE = "sensor_msgs/msg/JointState"
SUFFIXES = (".mcap", ".db3", ".bag")
METADATA = "metadata.yaml"
OTHERS = "joints that are left out"
"""Key of a table's attribute: what else there is in the messages."""
CLOCK, HEADER, RECORDED = "clock", "stamps in the messages", "when messages were recorded"
EFFORT = ".effort"
SHOWN = 8
SECOND = 1_000_000_000


class Bag(NamedTuple):
    """What was read of a bag.

    Attributes
    ----------
    table : time [s] from the first message on, positions, velocities as ``<name>.vel``, and
        efforts as ``<name>.effort``
    notes : what was left out
    """

    table: ColumnTable
    notes: tuple[str, ...]


class StateSample(NamedTuple):
    """What a message says: its stamp and when it was recorded, ns, and numbers of joints by name.

    Velocities, efforts: empty where it has none.
    """

    stamp: int
    recorded: int
    names: tuple[str, ...]
    positions: Floats
    velocities: Floats
    efforts: Floats

    @staticmethod
    def of(message: Any, recorded: int) -> StateSample:
        """Return what a message of `MESSAGE` says."""
        stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
        parts = message.position, message.velocity, message.effort
        numbers = (np.asarray(x, dtype=np.float64) for x in parts)
        return StateSample(stamp, recorded, tuple(message.name), *numbers)


def is_bag(path: str | os.PathLike[str]) -> bool:
    """Return whether a path looks like a bag: by its suffix, or a folder with metadata."""
    bag = file_path("path", path)
    return Path(bag).suffix.lower() in SUFFIXES or os.path.isfile(os.path.join(bag, METADATA))


def read_bag(
    path: str | os.PathLike[str],
    wanted: Sequence[str],
    *,
    topic: str | None = None,
    joints: Mapping[str, str | None] | None = None,
    clock: Clock = "header",
    progress: Callable[[float], None] | None = None,
) -> Bag:
    """Return the states of some joints along a bag.

    Parameters
    ----------
    path : a rosbag2 folder, or a .mcap, .db3 or (ROS 1) .bag file
    wanted : names of the coordinates that there are; other joints in the bag are left out
    topic : of the joint states; None if the bag has one of them only
    joints : what joints in the bag are called here, where that differs; None leaves one out
    clock : times are the "header"'s stamps, or when messages came to the "bag"
    progress : is called with 1 for each message

    Raises
    ------
    FileError
        It is no bag, has no such topic or joints, or messages hold different joints or gaps.
    MissingPackageError
        The package rosbags is not installed.
    """
    name = os.fspath(path)
    if clock not in ("header", "bag"):
        raise FileError(f'clock={clock!r} is not known; use "header" or "bag"', name)
    if os.path.isdir(name):
        note_input(name)
        metadata = Path(name) / METADATA
        for part in sorted(Path(name).iterdir()):
            file_beside(part, metadata)
    else:
        regular_file(name)
    reader = _Reader(name, wanted, dict(joints or {}))
    states = []
    for state in reader.states(topic):
        states.append(state)
        if progress is not None:
            progress(1)
    if not states:
        raise FileError(
            f"no message has a joint that is wanted: {some(wanted, SHOWN)}; the bag has "
            f"{some(sorted(reader.seen), SHOWN) or 'none'}; map its names with "
            f'rename={{"name in the bag": "name here"}}',
            name,
        )
    reader.check_names()
    notes = reader.notes()
    stamps = np.array([state.stamp for state in states])
    if clock == "header" and not stamps.any():
        notes.append("the messages have no stamps: times are those of the recording")
        clock = "bag"
    if clock == "bag":
        stamps = np.array([state.recorded for state in states])
    notes.append(f"t = 0 s is {clock_text(int(stamps[0]))} s of the bag's clock")
    columns = [Column("time", "s"), *map(Column, reader.names)]
    parts = [(stamps - stamps[0]) / SECOND, np.array([state.positions for state in states])]
    rates, which = _where_given([s.velocities for s in states], reader.names, "velocities", notes)
    columns += [Column(f"{joint}.vel") for joint in which]
    values = np.column_stack([*parts, rates])
    check_finite(values, columns, name, 0, None)
    efforts, which = _where_given([s.efforts for s in states], reader.names, "efforts", notes)
    columns += [Column(joint + EFFORT) for joint in which]
    values = np.column_stack([values, efforts])
    attributes = {
        CLOCK: HEADER if clock == "header" else RECORDED,
        OTHERS: ", ".join(reader.others()),
    }
    return Bag(ColumnTable(tuple(columns), values, None, name, attributes), tuple(notes))


class _Reader:
    """Reads messages; finds the joints wanted in each, wherever they stand."""

    def __init__(self, path: str, wanted: Sequence[str], joints: Mapping[str, str | None]) -> None:
        self.path, self._wanted, self._joints = path, wanted, joints
        self.names: list[str] = []
        self.seen: set[str] = set()
        self._orders: dict[tuple[str, ...], NDArray[np.intp]] = {}
        self._skipped = self._count = 0
        self._topic = ""

    def states(self, topic: str | None) -> Iterator[StateSample]:
        """Yield the states in the messages of a topic."""
        for message in self._messages(topic):
            state = self._state(message)
            if state is not None:
                yield state

    def _messages(self, topic: str | None) -> Iterator[StateSample]:
        """Yield what each message says."""
        highlevel, typesys = packages(self.path)
        store = typesys.get_typestore(typesys.Stores.LATEST)
        # from a damaged bag rosbags, apsw, zstandard raise anything
        with (
            reading(self.path, (Exception,), "a rosbag2 folder or a .mcap file"),
            highlevel.AnyReader([Path(self.path)], default_typestore=store) as reader,
        ):
            chosen = self._chosen(reader.connections, topic)
            for connection, recorded, raw in reader.messages(connections=chosen):
                yield StateSample.of(reader.deserialize(raw, connection.msgtype), recorded)

    def notes(self) -> list[str]:
        """Return what was left out."""
        notes, others = [], self.others()
        if others:
            notes.append(f"joints of {self._topic} that are left out: {some(others, SHOWN)}")
        if self._skipped:
            notes.append(f"{self._skipped} messages without any of the joints are left out")
        return notes

    def others(self) -> list[str]:
        """Return the joints of the bag that nobody asked for."""
        return sorted(name for name in self.seen if self._joints.get(name, name) not in self.names)

    def check_names(self) -> None:
        """Refuse names that were given for joints that no message has."""
        for joint, here in self._joints.items():
            if here is not None and joint not in self.seen:
                joints = unknown_name(f"joint of {self._topic}", joint, sorted(self.seen))
                raise FileError(joints, self.path)

    def _chosen(self, connections: Sequence[Any], topic: str | None) -> list[Any]:
        """Return the connections of the topic with joint states."""
        states = [c for c in connections if c.msgtype == MESSAGE]
        topics = sorted({c.topic for c in states})
        if topic is None and len(topics) > 1:
            message = f"there are several topics with joint states: {', '.join(topics)}; choose"
            raise FileError(f'{message} one with topic="..." (--topic)', self.path)
        chosen = [c for c in states if topic is None or c.topic == topic]
        if not chosen:
            topics_of_bag = sorted({f"{c.topic} ({c.msgtype})" for c in connections})
            what = "no topic" if topic is None else f"no topic {topic!r}"
            raise FileError(
                f"{what} with joint states, {MESSAGE}; the bag has "
                f"{some(topics_of_bag, SHOWN) or 'none'}",
                self.path,
            )
        self._topic = chosen[0].topic
        return chosen

    def _state(self, message: StateSample) -> StateSample | None:
        """Return the joints wanted, in one order."""
        named, positions = message.names, message.positions
        if len(positions) != len(named):
            raise self._error(
                f"expected a position of each of its {len(named)} joints, got {len(positions)}",
            )
        order = self._order(named)
        self._count += 1
        if order is None:
            self._skipped += 1
            return None
        more = message.velocities, message.efforts
        rates, efforts = (x[order] if len(x) == len(named) else np.zeros(0) for x in more)
        return message._replace(
            names=(),  # they are in one order now
            positions=positions[order],
            velocities=rates,
            efforts=efforts,
        )

    def _order(self, named: tuple[str, ...]) -> NDArray[np.intp] | None:
        """Return where the joints wanted stand in a message, None if it has none of them."""
        if named in self._orders:
            return self._orders[named]
        self.seen.update(named)
        here = [self._joints.get(name, name) for name in named]
        wanted = [name for name in self._wanted if name in here]
        if not wanted:
            return None
        for name in wanted:
            if here.count(name) > 1:
                raise self._error(f"the joint {name!r} stands there twice")
        if not self.names:
            self.names = wanted
        if wanted != self.names:
            missing = [name for name in self.names if name not in wanted]
            more = [name for name in wanted if name not in self.names]
            raise self._error(
                f"expected the joints of the first messages, {some(self.names, SHOWN)}; "
                + (f"{some(missing, SHOWN)} missing; " if missing else "")
                + (f"{some(more, SHOWN)} more; " if more else "")
                + "where several programs publish on one topic, leave joints out with "
                'rename={"name": None}'
            )
        self._orders[named] = np.array([here.index(name) for name in wanted])
        return self._orders[named]

    def _error(self, message: str) -> FileError:
        element = f"{self._topic}, message {self._count} (the first is 0)"
        return FileError(message, self.path, element=element)


def _where_given(
    each: Sequence[Floats], names: Sequence[str], what: str, notes: list[str]
) -> tuple[Floats, list[str]]:
    """Return velocities or efforts (N, n) and whose they are: those that the publisher gives."""
    stated = [sample for sample in each if len(sample)]
    if len(stated) < len(each):
        if stated:
            notes.append(f"{what} stand in {len(stated)} of {len(each)} messages: left out")
        return np.zeros((len(each), 0)), []
    rates = np.array(stated)
    kept = [k for k in range(len(names)) if not np.isnan(rates[:, k]).all()]
    absent = [name for k, name in enumerate(names) if k not in kept]
    if absent:
        notes.append(f"{what} that are nan throughout: {some(absent, SHOWN)}; left out")
    return rates[:, kept], [names[k] for k in kept]


def clock_text(stamp: int) -> str:
    """Return a stamp, ns, in s."""
    return f"{stamp // SECOND}.{stamp % SECOND:09}"


def packages(path: str) -> tuple[Any, Any]:
    """Return what reads bags, and what knows messages."""
    why = f"{path}: ROS bags need rosbags"
    return needed("rosbags.highlevel", why, "mbd_bridge[bags]"), needed(
        "rosbags.typesys", why, "mbd_bridge[bags]"
    )
