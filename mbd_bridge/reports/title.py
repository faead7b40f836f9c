"""The title block of a report: whose it is, and when it was made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime

from mbd_bridge.base.errors import StateError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class TitleBlock:
    """What stands at the head of the page and at the foot of each sheet of paper.

    Attributes
    ----------
    project, author, revision : texts, "" where there is none
    day : when the report was made, with the time if nobody gave a date
    """

    project: str = ""
    author: str = ""
    revision: str = ""
    day: str = ""

    @staticmethod
    def of(
        project: str = "", author: str = "", revision: str = "", day: str | date | None = None
    ) -> TitleBlock:
        """Return a checked title block.

        Parameters
        ----------
        day : a date, or its text YYYY-MM-DD; None: now. With a date the page depends on what it is
            about alone
        """
        texts = {"project": project, "author": author, "revision": revision}
        for name, text in texts.items():
            if not isinstance(text, str):
                raise StateError(f"{name}: expected a text, got {text!r:.60}")
        shown = " ".join(project.split()), " ".join(author.split()), " ".join(revision.split())
        return TitleBlock(*shown, _day(day))

    def rows(self) -> list[tuple[str, str]]:
        """Return headings and texts of what is there."""
        each = ("Project", self.project), ("Author", self.author), ("Revision", self.revision)
        return [(head, text) for head, text in (*each, ("Date", self.day)) if text]

    @property
    def line(self) -> str:
        """All of it in a line."""
        revision = f"revision {self.revision}" if self.revision else ""
        return " · ".join(filter(None, (self.project, revision, self.author, self.day)))


def _day(day: str | date | None) -> str:
    if day is None:
        return f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    if isinstance(day, date):
        return f"{day:%Y-%m-%d}"
    try:
        if not (isinstance(day, str) and _DAY.fullmatch(day)):
            raise ValueError
        date.fromisoformat(day)
    except ValueError:
        raise StateError(
            f"date: expected YYYY-MM-DD, such as 2026-03-31, got {day!r:.60}"
        ) from None
    return day
