"""The vehicles' examples, run once: what they computed is what the tests look at."""

from __future__ import annotations

import contextlib
import io
import runpy
from functools import cache
from typing import Any

from tests.docs.pages import ROOT


@cache
def example(name: str) -> dict[str, Any]:
    """Return the variables of an example after its run."""
    (path,) = (ROOT / "examples").glob(f"*_{name}.py")
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(path))
