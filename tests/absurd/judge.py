"""What a call may do with an argument: give a right result, or refuse it by name."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.applications.free_body import FreeBody
from mbd_bridge.base.errors import MbdError, MbdWarning

SECONDS = 20.0
"""That one call may take; most take a millisecond."""

PYTHON = re.compile(
    r"unexpected keyword argument|missing \d+ required|positional argument|multiple values"
)
"""What Python itself says of a wrong call."""


class TooLong(BaseException):
    """A call that does not return; no handler of errors takes it."""


class Outcome(NamedTuple):
    """What a call did: "result", "refused", "unnamed" or a fault; and what was said or given."""

    kind: str
    what: Any


def outcome(call: Callable[[], Any], name: str, checked: bool) -> Outcome:
    """Return what a call does.

    Parameters
    ----------
    name : of the argument that is tried, which a refusal has to name
    checked : whether nan and inf in the result are a fault
    """
    try:
        with _bounded(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", MbdWarning)
            result = call()
    except MbdError as refusal:
        said = str(refusal)
        return Outcome("refused" if _names(said, name) else "unnamed", said)
    except TooLong:
        return Outcome("too long", f"more than {SECONDS:g} s")
    except Warning as leak:
        return Outcome("warning", f"{type(leak).__name__}: {leak}")
    except TypeError as problem:
        kind = "refused" if PYTHON.search(str(problem)) else "foreign"
        return Outcome(kind, f"TypeError: {problem}")
    except Exception as problem:
        return Outcome("foreign", f"{type(problem).__name__}: {problem}")
    if checked:
        for array in numbers(result):
            if not np.isfinite(array).all():
                return Outcome("not finite", array)
    return Outcome("result", result)


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _names(said: str, name: str) -> bool:
    words = (name, name.rstrip("_"), name.rstrip("s"))
    return any(word in said for word in words)


def numbers(result: Any, depth: int = 0) -> Iterator[np.ndarray]:
    """Yield the arrays of floats in a result."""
    if isinstance(result, np.ndarray):
        if result.dtype.kind == "f":
            yield result
    elif isinstance(result, float):
        yield np.array(result)
    elif isinstance(result, mbd.simulation.SimulationBatch):  # others have a status
        yield from (result.time, result.q[result.finished], result.v[result.finished])
    elif isinstance(result, FreeBody):  # one state has no time
        yield from (result.sum, result.motion.acceleration)
    elif depth < 3 and dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            yield from numbers(getattr(result, field.name), depth + 1)
    elif depth < 3 and isinstance(result, Mapping):
        for part in result.values():
            yield from numbers(part, depth + 1)
    elif depth < 3 and isinstance(result, tuple | list):
        for part in result:
            yield from numbers(part, depth + 1)
