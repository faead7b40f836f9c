"""What a set of results assumes, in one place: a sentence for each topic, with its numbers.

`TOPICS` lists what must be said. An `Assumptions` without one of the topics cannot be made, so that
nothing that was neglected, completed or smoothed goes unsaid. Whoever knows something (a model, a
motion, a request for loads) contributes an `Assumption`; `loads.assumed` collects them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Series, Table, Tabular

TOPICS: dict[str, str] = {
    "convention": "Loads",
    "base": "Base",
    "masses": "Masses",
    "payload": "Payload",
    "gravity": "Gravity",
    "external": "External forces",
    "elements": "Force elements",
    "friction": "Friction and damping",
    "rotors": "Rotors and gears",
    "limits": "Limits of the file",
    "efforts": "Measured efforts",
    "rigid": "Stiffness",
    "planar": "Planar",
    "loops": "Loops",
    "undetermined": "Undetermined components",
    "completed": "Coordinates",
    "rates": "Rates",
    "smoothing": "Smoothing",
    "uncertainty": "Uncertainty",
    "bearings": "Bearings",
    "cases": "Load cases",
    "round_off": "Shown as zero",
}
"""Every topic, in the order in which they are shown, with its heading."""


NONE = "none"
"""Text of a topic of which there is nothing."""


class Number(NamedTuple):
    """A number behind an assumption, such as ("mass", 2.0, "kg")."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """One sentence about one topic.

    Attributes
    ----------
    topic : a key of `TOPICS`
    text : the sentence, with its numbers and units in words
    numbers : the same numbers, to compute with
    neglected : whether something that a real machine has is left out of the results
    usual : the same in a few words where it is what results assume unless asked otherwise, ""
        where a reader should see the sentence
    """

    topic: str
    text: str
    numbers: tuple[Number, ...] = ()
    neglected: bool = False
    usual: str = ""

    def __post_init__(self) -> None:
        if self.topic not in TOPICS:
            raise StateError(unknown_name("topic of an assumption", self.topic, TOPICS))

    @property
    def heading(self) -> str:
        """The topic as it is shown."""
        return TOPICS[self.topic]

    def __str__(self) -> str:
        return f"{self.heading}: {self.text}"


@dataclass(frozen=True)
class Assumptions(Tabular, Named[tuple[Assumption, ...]], entries="topic of an assumption"):
    """All assumptions behind some results: at least one `Assumption` for every topic.

    Attributes
    ----------
    entries : in the order of `TOPICS`

    Raises
    ------
    StateError
        A topic has no entry.
    """

    entries: tuple[Assumption, ...]

    def __post_init__(self) -> None:
        there = {entry.topic for entry in self.entries}
        missing = [topic for topic in TOPICS if topic not in there]
        if missing:
            raise StateError(
                f"assumptions: nothing is said about {', '.join(missing)}; results need an "
                f"Assumption for every topic"
            )
        order = list(TOPICS)
        ordered = sorted(self.entries, key=lambda entry: order.index(entry.topic))
        object.__setattr__(self, "entries", tuple(ordered))

    @property
    def names(self) -> Collection[str]:
        """The topics."""
        return TOPICS

    def _entry(self, topic: str) -> tuple[Assumption, ...]:
        return tuple(entry for entry in self.entries if entry.topic == topic)

    def stating(self, *entries: Assumption) -> Assumptions:
        """Return the same with these entries in place of all that was said about their topics."""
        return Assumptions(replaced(self.entries, entries))

    def adding(self, *entries: Assumption) -> Assumptions:
        """Return the same with these entries beside what was said about their topics, if it was."""
        topics = {entry.topic for entry in entries}
        known = (one for one in self.entries if one.text != NONE or one.topic not in topics)
        return Assumptions((*known, *entries))

    def tables(self) -> tuple[Table, ...]:
        """Return every sentence with its topic, and what a real machine has beside."""
        left_out = ["neglected" if one.neglected else "" for one in self.entries]
        columns = [
            Series("assumed", "", [one.text for one in self.entries]),
            Series("", "", left_out, marks=["doubt" if word else "" for word in left_out]),
        ]
        labels = Series("topic", "", [one.heading for one in self.entries])
        return (Table("assumptions", labels, columns),)

    def brief(self, without: Iterable[str] = (), whole: bool = True, advice: str = "") -> Table:
        """Return headings and texts; the topics of which there is nothing share the last row.

        Parameters
        ----------
        without : topics that are shown already
        whole : with what is usual; if not, it shares the last row in a few words
        advice : how to see the whole, in that row
        """
        shown = [one for one in self.entries if one.topic not in without and one.text != NONE]
        rows = [(one.heading, one.text) for one in shown if whole or not one.usual]
        if whole:
            absent = [one.heading.lower() for one in self.entries if one.text == NONE]
            rows += [("None", ", ".join(absent))] if absent else []
        else:
            rows.append(("As always", "; ".join(one.usual for one in shown if one.usual) + advice))
        heads, texts = zip(*rows, strict=True)
        return Table("assumptions", Series("assumed", "", heads), [Series("", "", texts)])

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences alone."""
        return tuple(entry.text for entry in self.entries)

    @property
    def neglected(self) -> tuple[Assumption, ...]:
        """What a real machine has and these results leave out."""
        return tuple(entry for entry in self.entries if entry.neglected)

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


def replaced(entries: Iterable[Assumption], others: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return entries, but others in place of those about the same topics."""
    others = tuple(others)
    topics = {entry.topic for entry in others}
    return (*(entry for entry in entries if entry.topic not in topics), *others)
