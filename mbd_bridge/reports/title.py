"""The title block of a report: whose it is, and when it was made."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, TypedDict, Unpack

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.options import Option, option_group, with_options

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@option_group
class TitleOptions(TypedDict, total=False):
    """The title block of a report.

    Parameters
    ----------
    project : text of the title block
    author : text of the title block
    revision : text of the title block
    date : of the title block, as a date or YYYY-MM-DD; with it the page is the same whenever it is
        made, without it it says when
    """

    project: Annotated[str, Option("", "TEXT")]
    author: Annotated[str, Option("", "TEXT")]
    revision: Annotated[str, Option("", "TEXT")]
    date: Annotated["str | date | None", Option(None, "YYYY-MM-DD")]


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
    @with_options
    def of(**options: Unpack[TitleOptions]) -> "TitleBlock":
        """Return a checked title block.

        Parameters
        ----------
        **options : of the title block
        """
        texts = {name: text for name, text in options.items() if name != "date"}
        for name, text in texts.items():
            if not isinstance(text, str):
                raise StateError(f"{name}: expected a text, got {text!r:.60}")
        project, author, revision = (" ".join(str(text).split()) for text in texts.values())
        return TitleBlock(project, author, revision, _day(options["date"]))

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
