"""What callers give, read once at the door: numbers, flags, names, functions, files.

Each reader returns what is meant, or raises an `MbdError` that names the argument, what was
expected and what came. What comes in is anybody's: texts for numbers, numbers for texts, masked
arrays, lists that hold themselves. Nothing of it reaches the equations.
"""

from __future__ import annotations

import contextlib
import operator
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import MbdError, StateError, unknown_name

_FLOAT64 = np.dtype(np.float64)

SHORTEST_STEP, LONGEST_STEP = 1e-30, 1e30
"""s between two times: their fifth powers, and the inverses of these, are numbers."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def as_floats(name: str, value: ArrayLike, error: type[MbdError] = StateError) -> Floats:
    """Return `value` itself if it is a float64 array, else a converted copy, of any shape."""
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        return value
    try:
        # who has a masked array has imported numpy.ma, which takes longer than the rest here
        if "numpy.ma" in sys.modules and np.ma.is_masked(value):
            raise TypeError("some entries are masked, which no number stands for")
        array = np.asarray(value)
        if not array.size:
            return np.zeros(array.shape)
        if array.dtype.kind not in "fiuO":
            raise TypeError(f"its entries are of type {array.dtype}")
        if array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat):
            raise TypeError("some entries are texts")
        with np.errstate(over="ignore"):  # an inf of a wider type is an inf here
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(value, Mapping):
            raise error(
                f"{name}: expected an array, got numbers by name; robot.coordinate_names and "
                "mbd info have the order, and robot.assemble({...}).q makes a position of names"
            ) from problem
        raise error(
            f"{name}: expected real numbers, got {type(value).__name__}: {problem}; "
            "try numpy.asarray(..., dtype=float)"
        ) from problem


def finite_numbers(
    name: str, value: ArrayLike, *shapes: tuple[int, ...], error: type[MbdError] = StateError
) -> Floats:
    """Return a new array of finite floats of one of the shapes; of any shape if none is given."""
    expected = " or ".join("one number" if shape == () else str(shape) for shape in shapes)
    try:
        array = np.array(as_floats(name, value))
    except StateError as problem:
        wanted = expected or "numbers"
        raise error(f"{name}: expected {wanted}, got {value!r:.60} ({problem})") from None
    if shapes and array.shape not in shapes:
        raise error(f"{name}: expected {expected}, got the shape {array.shape}: {value!r:.60}")
    if not np.isfinite(array).all():
        raise error(f"{name}: expected finite numbers, got {value!r:.60}")
    return array


def flag(name: str, value: object) -> bool:
    """Return True or False; nothing else is taken for one of them."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise StateError(f"{name}: expected True or False, got {value!r:.60}")


def name_list(name: str, value: Iterable[str] | str, of: str) -> tuple[str, ...]:
    """Return names, of which one alone may be given as a text.

    Parameters
    ----------
    of : what they name, such as "joints"
    """
    if isinstance(value, str):
        return (value,)
    names: tuple[object, ...] = (value,)
    with contextlib.suppress(TypeError):
        names = tuple(value)
    known = tuple(one for one in names if isinstance(one, str))
    if len(known) < len(names):
        raise StateError(f"{name}: expected names of {of}, got {value!r:.60}")
    return known


ALL = "all"
"""Every name that there is, wherever several may be chosen, as None."""


def is_all(value: object, known: Collection[str] = ()) -> bool:
    """Return whether all of the known names are chosen: by None, or "all", if none is called so."""
    if not isinstance(value, str) and isinstance(value, Sequence) and len(value) == 1:
        value = value[0]
    return value is None or (isinstance(value, str) and value == ALL and ALL not in known)


def chosen_names(
    name: str,
    value: Iterable[str] | str | None,
    known: Collection[str],
    kind: str,
    error: Callable[[str], MbdError] = StateError,
    *,
    kinds: str = "",
) -> tuple[str, ...]:
    """Return the names that are chosen among those there are; None and "all" choose all.

    Parameters
    ----------
    kind, kinds : what messages call one of them, such as "joint", and several ("joints")
    """
    if is_all(value, known):
        return tuple(known)
    assert value is not None
    chosen = name_list(name, value, kinds or f"{kind}s")
    for one in chosen:
        known_name(kind, one, known, f"{name}: ", error)
    return chosen


def known_name(
    kind: str,
    name: object,
    known: Collection[str],
    where: str = "",
    error: Callable[[str], MbdError] = StateError,
    more: str = "",
) -> str:
    """Return a name that is among those there are, or refuse it with those nearest to it.

    Parameters
    ----------
    kind : what the message calls it, such as "joint"
    where, more : what stands before and behind the message
    """
    if not isinstance(name, str) or name not in known:
        raise error(f"{where}{unknown_name(kind, name, known)}{more}")
    return name


def by_name(name: str, value: Mapping[str, T] | None, example: str) -> Mapping[str, T]:
    """Return what is given by name, nothing for None.

    Parameters
    ----------
    example : how it is written
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise StateError(f"{name}: expected a mapping by name, {example}, got {value!r:.60}")
    return value


def function_or_none(name: str, value: F | None, expected: str) -> F | None:
    """Return a function, or None.

    Parameters
    ----------
    expected : its arguments and result
    """
    if value is None or callable(value):
        return value
    raise StateError(f"{name}: expected a function {expected}, got {value!r:.60}")


def file_path(name: str, value: str | os.PathLike[str]) -> str:
    """Return the name of a file as a text."""
    try:
        path = os.fspath(value)
        if not isinstance(path, str) or "\0" in path:
            raise TypeError
        path.encode(errors="surrogateescape")
    except (TypeError, UnicodeEncodeError):
        raise StateError(f"{name}: expected the path of a file, got {value!r:.60}") from None
    return path


def check_steps(time: Floats) -> None:
    """Refuse times that grow by so little or so much that their powers are no numbers.

    Raises
    ------
    StateError
        Times are less than `SHORTEST_STEP` or more than `LONGEST_STEP` apart.
    """
    steps = np.diff(time)
    if len(steps) and not SHORTEST_STEP <= steps.min() <= steps.max() <= LONGEST_STEP:
        raise StateError(
            f"expected times from {SHORTEST_STEP:g} to {LONGEST_STEP:g} s apart, got steps from "
            f"{steps.min():g} to {steps.max():g} s; is their unit right?"
        )


def place_among(name: str, value: object, count: int) -> int:
    """Return one of `count` places, counted from the end where it is negative."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with contextlib.suppress(TypeError):  # arrays of floats have the method, and no number
            place = operator.index(value)
            if -count <= place < count:
                return place % count
    raise StateError(
        f"{name}: expected a whole number below {count}, counted from the end where it is "
        f"negative, got {value!r:.60}"
    )


def an_instance(name: str, value: object, kind: type[T], try_this: str) -> T:
    """Return what is of a class; `try_this` says where one comes from."""
    if isinstance(value, kind):
        return value
    raise StateError(
        f"{name}: expected a {kind.__name__}, got {type(value).__name__}; try {try_this}"
    )
