"""How a motion ended: the kind of its end, when, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MotionEnd(Enum):
    """Kinds of ends of a motion."""

    FINISHED = "finished"
    EVENT = "event"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not started"


@dataclass(frozen=True)
class Outcome:
    """How a motion ended; as a text, the sentence that is shown.

    Attributes
    ----------
    end : the kind
    time : s, of the last state, where it ended before its time; else None
    reason : why it did, and what to try; "" where nothing was wrong
    """

    end: MotionEnd
    time: float | None = None
    reason: str = ""

    @staticmethod
    def stopped(time: float, reason: object) -> Outcome:
        """Return that of a motion that could not go on."""
        return Outcome(MotionEnd.STOPPED, float(time), str(reason))

    @staticmethod
    def not_started(reason: object) -> Outcome:
        """Return that of a motion without a first step."""
        return Outcome(MotionEnd.NOT_STARTED, reason=str(reason))

    @property
    def finished(self) -> bool:
        """Whether the motion came to its end, or to an event that ends it."""
        return self.end in (MotionEnd.FINISHED, MotionEnd.EVENT)

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time:.6g} s"
        return f"{self.end.value}{when}{': ' if self.reason else ''}{self.reason}"


FINISHED, EVENT = Outcome(MotionEnd.FINISHED), Outcome(MotionEnd.EVENT)
