"""The cases of the sweep: a call, a parameter, and what is given for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np

from tests.absurd.judge import Outcome, numbers, outcome
from tests.absurd.surface import Call, calls
from tests.absurd.values import absurd, harmless

RELATIVE = 1e-12
"""How far the same argument written otherwise may take a result."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One call with one odd argument.

    Attributes
    ----------
    same : whether the argument means what the right one means
    """

    call: Call
    parameter: str
    label: str
    value: Callable[[], Any]
    same: bool

    def __str__(self) -> str:
        return f"{self.call.name}({self.parameter}={self.label})"


def cases(folder: Path, count: int | None = None, seed: int = 0, only: str = "") -> list[Case]:
    """Return all cases, or some of them at random."""
    found = []
    for call in calls(folder):
        if only not in call.name:
            continue
        for parameter, good in call.given.items():
            found += [Case(call, parameter, *odd, False) for odd in absurd(good)]
            found += [Case(call, parameter, *odd, True) for odd in harmless(good)]
    if count is None or count >= len(found):
        return found
    picked = np.random.default_rng(seed).choice(len(found), count, replace=False)
    return [found[k] for k in picked]


def try_case(case: Case) -> Outcome:
    """Return what comes of a case; of the same argument written otherwise, whether it is so."""
    call = case.call
    given = {name: call.given[name] for name in call.needed}
    checked = "check" in call.given and case.parameter != "check"
    pyplot.close("all")
    odd = outcome(
        lambda: call.make()(**(given | {case.parameter: case.value()})), case.parameter, checked
    )
    if odd.kind == "foreign" and case.label.endswith("a class"):
        return odd._replace(kind="refused")  # a function of the caller's own has raised
    if not case.same or odd.kind not in ("result", "refused", "unnamed"):
        return odd
    plain = {**given, case.parameter: call.given[case.parameter]}
    right = outcome(lambda: call.make()(**plain), case.parameter, checked)
    if right.kind != odd.kind:
        return Outcome("other", f"{odd.kind}: {odd.what!s:.100}, but {right.kind} as it is meant")
    if right.kind == "result":
        for one, two in zip(numbers(odd.what), numbers(right.what), strict=True):
            if one.shape != two.shape or not np.allclose(one, two, rtol=RELATIVE, atol=RELATIVE):
                return Outcome("other", f"{one!r:.80} for {two!r:.80}")
    return odd
