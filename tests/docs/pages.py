"""The fenced blocks of the documentation's pages, what they print, and how that is compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITTEN_BY_PROGRAM = {"urdf_coverage.md"}

PRINTED = 25
"""Lines that an example prints at most."""

LAST_DIGIT = 1.01
"""Units of the last digit shown by which a decimal number may differ: it may be rounded otherwise
on another machine. Whole numbers are equal or wrong."""
ROUNDING = 1e-9
"""Numbers below this are rounding errors, of which every machine has its own."""

_FENCE = re.compile(r"^```(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    info : what stands behind the fence: python, text, console, sh, ...
    line : of the first line of the text, from 1
    """

    page: Path
    info: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return the README, the changelog and all pages written by hand."""
    written = sorted((ROOT / "docs").rglob("*.md"), key=lambda page: (page.parent.name, page.name))
    by_hand = [page for page in written if page.name not in WRITTEN_BY_PROGRAM]
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *by_hand]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    info, start, lines = "", 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if not start and fence:
            info, start, lines = fence["info"].strip(), number + 1, []
        elif start and line == "```":
            yield Block(page, info, start, "".join(f"{text}\n" for text in lines))
            start = 0
        elif start:
            lines.append(line)
    assert not start, f"{page}:{start}: a block that does not end"


def differences(shown: str, printed: str) -> list[str]:
    """Return what a page shows and a program did not print; ``...`` stands for any lines."""
    wanted, got = _lines(shown), _lines(printed)
    place, free = 0, False
    for line in wanted:
        if line == ["..."]:
            free = True
            continue
        while place < len(got) and free and not _same(line, got[place]):
            place += 1
        if place >= len(got) or not _same(line, got[place]):
            found = " ".join(got[place]) if place < len(got) else "nothing more"
            return [f"shown:   {' '.join(line)}", f"printed: {found}"]
        place, free = place + 1, False
    if place < len(got) and not free:
        return [f"printed, not shown: {' '.join(got[place])}"]
    return []


def _lines(text: str) -> list[list[str]]:
    return [re.split(r"[\s,]+", line.strip()) for line in text.splitlines() if line.strip()]


def _same(wanted: list[str], got: list[str]) -> bool:
    if wanted and wanted[-1] == "...":
        wanted, got = wanted[:-1], got[: len(wanted) - 1]
    return len(wanted) == len(got) and all(map(_alike, wanted, got))


def _alike(wanted: str, got: str) -> bool:
    if wanted == got:
        return True
    try:
        bare, a, b = (
            kind(re.sub(r"^[(\[]*|[)\],;]*$", "", word))
            for kind, word in ((str, wanted), (float, wanted), (float, got))
        )
    except ValueError:
        return False
    return abs(a - b) <= max(_last_digit(bare), ROUNDING)


def _last_digit(number: str) -> float:
    """Return what the last digit shown is worth: 0.01 in 2.35, 1e-18 in 2.35e-16, 0 in 235."""
    digits, _, exponent = number.lower().partition("e")
    _, point, decimals = digits.partition(".")
    if not point and not exponent:
        return 0.0
    return LAST_DIGIT * 10.0 ** (int(exponent or 0) - len(decimals))
