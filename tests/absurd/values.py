"""Arguments that nobody can mean, and the same ones as they are meant but written otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np


def _holds_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


NUMBERS: dict[str, Any] = {
    "0": 0,
    "-1": -1,
    "3": 3,
    "1.5": 1.5,
    "-0.0": -0.0,
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "1e155": 1e155,
    "1e308": 1e308,
    "-1e308": -1e308,
    "5e-324": 5e-324,
    "10**400": 10**400,
    "2**63": 2**63,
    "1j": 1j,
    "True": True,
}

OTHERS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "''": lambda: "",
    "'nonsense'": lambda: "nonsense",
    "'1'": lambda: "1",
    "'nul'": lambda: "a\0b",
    "'surrogate'": lambda: "\udc80",
    "b'1'": lambda: b"1",
    "object": object,
    "a class": lambda: float,
    "[]": list,
    "()": tuple,
    "{}": dict,
    "{'nobody': 1}": lambda: {"nobody": 1.0},
    "{1: 2}": lambda: {1: 2},
    "{None: None}": lambda: {None: None},
    "[None]": lambda: [None],
    "['a', 'b']": lambda: ["a", "b"],
    "[[1], [1, 2]]": lambda: [[1], [1, 2]],
    "[{}]": lambda: [{}],
    "holds itself": _holds_itself,
    "set": lambda: {1.0, 2.0},
    "generator": lambda: iter(("a", 1.0)),
    "f()": lambda: lambda: None,
    "f(t)": lambda: lambda t: t,
    "f(...)": lambda: lambda *_: None,
    "zeros(0)": lambda: np.zeros(0),
    "zeros((0, 3))": lambda: np.zeros((0, 3)),
    "zeros((2, 3, 4))": lambda: np.zeros((2, 3, 4)),
    "ones(7)": lambda: np.ones(7),
    "array(nan)": lambda: np.array(np.nan),
    "complex": lambda: np.ones(3) * 1j,
    "objects": lambda: np.array([None, "a", 1.0], dtype=object),
    "big integers": lambda: np.array([10**400] * 3, dtype=object),
    "dates": lambda: np.zeros(3, dtype="datetime64[s]"),
    "texts": lambda: np.array(["a", "b", "c"]),
    "records": lambda: np.zeros(3, dtype=[("a", float)]),
    "masked": lambda: np.ma.masked_array(np.ones(3), [True, False, True]),
}

EXTREMES = ("nan", "inf", "1e155", "1e308", "-1e308", "5e-324")


def absurd(good: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what to give in the place of a good argument, with its name, made anew each time."""
    for label, number in NUMBERS.items():
        yield label, lambda number=number: number
    yield from OTHERS.items()
    if isinstance(good, np.ndarray):
        yield from _arrays(good)
    elif isinstance(good, Mapping) and good:
        yield from _mappings(good)
    elif isinstance(good, list | tuple) and good and isinstance(good[0], str):
        yield "a name more", lambda: [*good, "nobody"]
        yield "a number more", lambda: [*good, 7]
        yield "twice", lambda: [*good, *good]


def _arrays(good: np.ndarray) -> Iterator[tuple[str, Callable[[], Any]]]:
    for label in EXTREMES:
        yield f"all {label}", lambda label=label: np.full_like(good, NUMBERS[label])

        def one(label: str = label) -> np.ndarray:
            out = good.copy()
            out.flat[-1] = NUMBERS[label]
            return out

        if good.size:
            yield f"one {label}", one
    yield "an axis more", lambda: good[None, None]
    yield "transposed", lambda: np.stack([good, good], axis=-1)
    yield "one short", lambda: good[..., :-1]
    yield "none of them", lambda: np.zeros((0, *good.shape))
    yield "many texts", lambda: good.astype(str)
    yield "single", lambda: good.astype(np.float16)
    yield "as complex", lambda: good + 0j


def _mappings(good: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    name, value = next(iter(good.items()))
    yield "a name more", lambda: {**good, "nobody": value}
    yield "a number for a name", lambda: {**good, 3: value}
    for label, inner in absurd(None):
        yield f"{name}: {label}", lambda inner=inner: {**good, name: inner()}
    if isinstance(value, np.ndarray):
        for label, inner in _arrays(value):
            yield f"{name}: {label}", lambda inner=inner: {**good, name: inner()}


def harmless(good: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the same argument written otherwise: what comes of it must be the same."""
    if isinstance(good, np.ndarray):
        yield "list", good.tolist
        yield "tuple", lambda: tuple(good.tolist())
        yield "Fortran", lambda: np.asfortranarray(good)
        yield "objects", lambda: good.astype(object)
        yield "big-endian", lambda: good.astype(">f8")
        yield "strided", lambda: np.repeat(good, 3, axis=-1)[..., ::3]
        yield "backwards", lambda: good[..., ::-1].copy()[..., ::-1]
        yield "fractions", lambda: _fractions(good)

        def read_only() -> np.ndarray:
            out = good.copy()
            out.setflags(write=False)
            return out

        yield "read-only", read_only
    elif isinstance(good, bool):
        return
    elif isinstance(good, int | float):
        yield "0-d", lambda: np.array(good)
        yield "NumPy's", lambda: np.asarray(good)[()]
        if isinstance(good, float):
            yield "fraction", lambda: Fraction(good)
    elif isinstance(good, list) and good and isinstance(good[0], str):
        yield "tuple", lambda: tuple(good)
        yield "list", lambda: list(good)
        yield "generator", lambda: iter(tuple(good))
        yield "array", lambda: np.array(good)


def _fractions(good: np.ndarray) -> np.ndarray:
    out = np.empty(good.shape, dtype=object)
    out.flat = [Fraction(float(x)) for x in good.flat]
    return out
