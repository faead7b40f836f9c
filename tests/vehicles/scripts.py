"""The vehicles' examples, run once: what they computed is what the tests look at."""

from __future__ import annotations

import contextlib
import io
import runpy
import warnings
from functools import cache
from typing import Any

from tests.docs.pages import PRINTED, ROOT


@cache
def example(name: str) -> dict[str, Any]:
    """Return the variables of an example after its run, and as `said` what it printed."""
    (path,) = (ROOT / "examples").glob(f"*_{name}.py")
    said, errors = io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors)
    with warnings.catch_warnings(), streams[0], streams[1]:
        warnings.simplefilter("error")
        made = runpy.run_path(str(path))
    assert errors.getvalue() == ""
    return made | {"said": said.getvalue()}


def says(name: str, words: list[str]) -> None:
    """Claim what an example prints; those without a vehicle: `tests/docs/test_examples.py`."""
    lines = example(name)["said"].splitlines()
    assert len(lines) <= PRINTED
    for part in words:
        assert any(part in line for line in lines), part
