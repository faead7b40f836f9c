"""What can go wrong, as one small family of exceptions.

Every message says what was expected, what came, what is available and what to try.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, SupportsIndex, TypeVar

T = TypeVar("T", bound=str)

MOST_COMPARED = 1000
"""Files of a folder whose names are compared with one that is not there: 10 ms."""

BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that make others change places."""


class MbdError(Exception):
    """The root of every error that mbd_bridge raises on purpose."""


class FileError(MbdError):
    """A file cannot be read or says something that no mechanism can be.

    Parameters
    ----------
    message : str
        What was expected, what came, what to try.
    file, line, element : optional
        Where: path of the file, line number (from 1), the element or name concerned.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        element: str | None = None,
    ) -> None:
        self.message, self.file, self.line, self.element = message, file, line, element
        place = ":".join(str(part) for part in (file, line) if part is not None)
        super().__init__(": ".join(part for part in (place, element, message) if part))


class ModelError(MbdError):
    """A description cannot become a mechanism, or a mechanism is asked for what it has not."""


class StateError(MbdError):
    """States, motions or forces have the wrong shape, order or content."""


class KernelError(MbdError):
    """A function cannot be traced or compiled."""


class SolveError(MbdError):
    """The equations have no (unique) solution at this state.

    Attributes
    ----------
    in_python : what those who call it from Python may do, behind the message
    """

    def __init__(self, message: str, *, in_python: str = "") -> None:
        super().__init__(f"{message}; {in_python}" if in_python else message)
        self.message, self.in_python = message, in_python


class FunctionError(MbdError):
    """A function of the user's that is called during a motion raised, or returned no number."""


class MissingPackageError(MbdError):
    """An optional package is needed for what was asked."""


class ExtensionError(MbdError):
    """Something that extends the package is not there, or cannot be imported."""


class NoDisplayError(MbdError):
    """There is no display on which a window could be opened."""


class MbdWarning(UserWarning):
    """Something in the input is unusual, but was read as it stands."""


class MissingMeshWarning(MbdWarning):
    """A mesh is not where a file says: pictures lack it, the dynamics do not."""


def warn(message: str, category: type[MbdWarning] = MbdWarning) -> None:
    """Warn at the line of the user's program that called us, however deep we are."""
    inside = os.path.dirname(os.path.dirname(__file__)) + os.sep
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def count(number: int, noun: str) -> str:
    """Return "1 joint", "2 joints", "2 degrees of freedom"."""
    if number == 1:
        return f"{number} {noun}"
    head, of, rest = noun.partition(" of ")
    return f"{number} {head}s{of}{rest}"


NAMED = 6
"""How many names a sentence gives before it counts."""


def some(names: Sequence[str], shown: int = NAMED, separator: str = ", ") -> str:
    """Return the first few of some names, and how many more there are: never "1 more"."""
    if len(names) <= shown + 1:
        return separator.join(names)
    return separator.join(names[:shown]) + f" and {len(names) - shown} more"


def visible(text: str) -> str:
    """Return a text whose control characters, which a terminal would obey, are written out."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or not _is_control(c) else ascii(c)[1:-1] for c in text)


def is_plain(text: str) -> bool:
    """Return whether a text has no control characters and no line ends."""
    return text.isprintable() or not any(c == "\n" or _is_control(c) for c in text)


def _is_control(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Zl", "Zp") or character in BIDIRECTIONAL


def massless(name: str) -> str:
    """Say that nothing with inertia moves along a coordinate."""
    return (
        f"no inertia resists {name!r}: what it moves is massless, or has no moment of inertia "
        f"about its axis. Give a link beyond it inertia, or weld the joint"
    )


def whole_number(name: str, value: object, least: int = 1) -> int:
    """Return a whole number of whatever integer type, or say what is expected."""
    number = least - 1
    if type(value) is int:  # the common case: to ask what another type supports takes 3 us
        number = value
    elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with contextlib.suppress(TypeError):  # arrays of floats have the method, and no number
            number = operator.index(value)
    if number < least:
        raise StateError(f"{name}: expected a whole number from {least}, got {value!r:.60}")
    return number


def real_number(name: str, value: Any, expected: str, *, positive: bool = False) -> float:
    """Return a finite number, or say what is expected."""
    number = math.nan
    # flags, texts, arrays of one entry and complex numbers of NumPy's become floats, too
    flag = getattr(getattr(value, "dtype", None), "kind", "") == "b"
    told = not flag and not isinstance(value, bool | str | bytes | complex)
    if told and getattr(value, "ndim", 0) == 0:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = float(value)
    if not math.isfinite(number) or (positive and number <= 0.0):
        raise StateError(f"{name}: expected {expected}, got {value!r:.60}")
    return number


def one_of(
    name: str, value: object, known: Iterable[T], error: type[MbdError], more: str = ""
) -> T:
    """Return the value of a parameter that takes a few words, or say which there are."""
    words = tuple(known)
    for word in words:
        if isinstance(value, str) and value == word:
            return word
    raise error(f"{name}={value!r} is not known; use one of {', '.join(words)}{more}")


def missing_file(path: str) -> str:
    """Say that there is no such file, where it was looked for, and what has nearly its name."""
    folder, name = os.path.split(path)
    where = os.path.abspath(folder) if "\0" not in path else folder
    try:
        names = sorted(os.listdir(where))
    except (OSError, ValueError):
        return f"there is no such file, and no folder {where}"
    stem, suffix = os.path.splitext(name)
    near = get_close_matches(name, names[:MOST_COMPARED], n=3)
    near = near or [one for one in names if stem and os.path.splitext(one)[0] == stem]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    alike = [one for one in names if suffix and one.endswith(suffix)]
    if alike and not near:
        hint = f"; of {suffix} there: {some(alike, 8)}"
    return f"there is no such file in {where}{hint}"


def unknown_name(kind: str, name: object, available: Iterable[str]) -> str:
    """Say that a name is unknown, what is near it and what there is."""
    names = list(available)
    near = get_close_matches(str(name), names, n=3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    shown = ", ".join(names[:20]) + (f", ... ({len(names)} in all)" if len(names) > 20 else "")
    return f"no {kind} named {name!r}{hint} Available: {shown or 'none'}"
