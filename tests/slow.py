"""Which tests are slow: ``python -m tests.slow`` runs all and writes the list anew.

`slow.txt` has a line for each test function that takes more than `LIMIT` with all its cases;
``[1:]`` behind it says that the first case is quick, and stays. The rest, ``pytest -m "not slow"``,
takes three minutes and goes through every room.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

LIST = Path(__file__).with_suffix(".txt")
LIMIT = 0.4
"""s of a function, with machine code that is compiled for it."""
QUICK = 0.25
"""s of the first of several cases, up to which it stays."""
STAYS = "tests/golden/"
"""What guards every move is not left out."""
FIRST_STAYS = "tests/absurd/test_absurd.py::test_absurd_"
"""Nor is the first part of what guards every call."""
REST = "[1:]"


def function_of(item: pytest.Item) -> str:
    """Return the path and the name of a test's function."""
    return item.nodeid.split("[")[0]


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests that are in the list."""
    slow, begun = set(LIST.read_text().split()), set[str]()
    for item in items:
        name = function_of(item)
        if name in slow or (name in begun and name + REST in slow):
            item.add_marker(pytest.mark.slow)
        begun.add(name)


class Clock:
    """Measures what each function takes."""

    def __init__(self) -> None:
        self.cases: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Measure a test with its fixtures."""
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.cases[function_of(item)].append(time.perf_counter() - began)

    @property
    def lines(self) -> list[str]:
        """The list."""
        return sorted(
            name + REST * (len(taken) > 1 and (taken[0] <= QUICK or name.startswith(FIRST_STAYS)))
            for name, taken in self.cases.items()
            if sum(taken) > LIMIT and not name.startswith(STAYS)
        )


if __name__ == "__main__":
    clock = Clock()
    code = pytest.main(sys.argv[1:], plugins=[clock])
    LIST.write_text("".join(f"{line}\n" for line in clock.lines))
    sys.exit(code)
