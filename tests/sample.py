"""How many random machines a test draws: few with every change of the code, many on request.

    python -m tests.sample 20 tests/mechanism tests/loads

runs the tests that are named with 20 times as many examples, other ones each time.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

VARIABLE = "MBD_TEST_SAMPLE"
"""Environment variable: how many times as many examples are drawn."""

TIMES = int(os.environ.get(VARIABLE, "1"))


def sample(few: int) -> settings:
    """Return the settings of a test that draws `few` examples in the ordinary run."""
    return settings(max_examples=few * TIMES, deadline=None)


if __name__ == "__main__":
    os.environ[VARIABLE] = sys.argv[1]
    os.environ.pop("CI", None)  # with it the examples are the same every time
    sys.exit(pytest.main(sys.argv[2:]))
