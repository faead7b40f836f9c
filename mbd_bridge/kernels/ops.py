"""The operations: for each one what every pass wants to know of it.

To add an operation: a row here, and its text in `llvm_operations` and `c_text`; where it is more
than one machine instruction, a recipe in `elementary_functions` instead; a function in
`mbd_bridge.functions`; a line in its tests.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd_bridge.kernels import elementary_functions, table
from mbd_bridge.kernels.recipe import Recipe

Do = Callable[..., Any]
"""``do(op, *operands, data=None)``: how a derivative forms values, be they floats or symbols."""

Kind = Literal["double", "condition", "bits"]

ALL_BUT_DATA = -2
"""As arity: whatever stands between an operation and the one thing that it has beside operands.
(`operands` and the like count from behind: 1 - 2 is the last place.)"""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes
    ----------
    arity : number of operands, or `ALL_BUT_DATA`
    evaluate : the value for floats or arrays of floats; None for what only machine code does
    latency : cycles from operands to result, about, on processors of today
    kind : of the result
    recipe : how the function over the lanes is written, where the operation is a call
    partials : ``partials(do, y, *operands)``: the derivative of y by each operand
    choice : ``choice(do, *operands)`` of an operation whose result is one of its two last operands:
        the condition under which it is the first of them
    fold : ``fold(do, *operands)`` on symbols: something simpler, or None
    """

    arity: int
    evaluate: Callable[..., Any] | None = None
    latency: int = 4
    kind: Kind = "double"
    recipe: Recipe | None = None
    partials: Callable[..., tuple[Any, ...]] | None = None
    choice: Callable[..., Any] | None = None
    fold: Callable[..., Any] | None = None


def _compared(evaluate: Callable[..., Any]) -> Operation:
    return Operation(2, evaluate, kind="condition", partials=lambda do, y, a, b: (0.0, 0.0))


def _extreme(evaluate: Callable[..., Any], first: Callable[..., Any]) -> Operation:
    return Operation(2, evaluate, choice=first, fold=lambda do, a, b: a if a is b else None)


def _bits(arity: int = 2) -> Operation:
    return Operation(arity, kind="bits", latency=1)


def _function(
    evaluate: Callable[..., Any],
    recipe: Recipe,
    latency: int,
    partials: Callable[..., tuple[Any, ...]],
    fold: Callable[..., Any] | None = None,
    arity: int = 1,
) -> Operation:
    return Operation(arity, evaluate, latency, recipe=recipe, partials=partials, fold=fold)


def _odd(name: str) -> Callable[..., Any]:
    """Return the rule f(-x) = -f(x)."""

    def fold(do: Do, x: Any) -> Any:
        return -do(name, -x) if x.node[0] == "neg" else None

    return fold


def _even(name: str) -> Callable[..., Any]:
    """Return the rule f(-x) = f(x)."""

    def fold(do: Do, x: Any) -> Any:
        return do(name, -x) if x.node[0] == "neg" else None

    return fold


def _over_circle(do: Do, x: Any) -> Any:
    """Return 1 / √(1 - x²)."""
    return 1.0 / do("sqrt", (1.0 - x) * (1.0 + x))


def _by_atan2(do: Do, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    square = a * a + b * b
    return b / square, -(a / square)


def _table_slope(do: Do, y: Any, x: Any, data: table.PolynomialTable) -> tuple[Any]:
    slope = do("table", x, data=data.slope())
    if data.hold:
        slope = do("where", do("lt", x, data.start), 0.0, slope)
        slope = do("where", do("lt", data.end, x), 0.0, slope)
    return (slope,)


def _same(do: Do, condition: Any, a: Any, b: Any) -> Any:
    return a if a is b or (type(a) is float and type(b) is float and repr(a) == repr(b)) else None


OPERATIONS: dict[str, Operation] = {
    "input": Operation(0),
    "load": Operation(0),
    "const": Operation(0, latency=0),
    "neg": Operation(1, operator.neg, 1, partials=lambda do, y, a: (-1.0,)),
    "add": Operation(2, operator.add, 3, partials=lambda do, y, a, b: (1.0, 1.0)),
    "sub": Operation(2, operator.sub, 3, partials=lambda do, y, a, b: (1.0, -1.0)),
    "mul": Operation(2, operator.mul, 3, partials=lambda do, y, a, b: (b, a)),
    "div": Operation(2, operator.truediv, 13, partials=lambda do, y, a, b: (1.0 / b, -(y / b))),
    "sqrt": Operation(1, np.sqrt, 20, partials=lambda do, y, a: (0.5 / y,)),
    "fma": Operation(3, lambda a, b, c: a * b + c),
    "fms": Operation(3, lambda a, b, c: a * b - c),
    "fnma": Operation(3, lambda a, b, c: c - a * b),
    "sin": Operation(1, np.sin, 60, partials=lambda do, y, a: (do("cos", a),), fold=_odd("sin")),
    "cos": Operation(1, np.cos, 60, partials=lambda do, y, a: (-do("sin", a),), fold=_even("cos")),
    "exp": _function(np.exp, elementary_functions.exp, 55, lambda do, y, a: (y,)),
    "log": _function(np.log, elementary_functions.log, 65, lambda do, y, a: (1.0 / a,)),
    "tanh": _function(
        np.tanh,
        elementary_functions.tanh,
        80,
        lambda do, y, a: ((1.0 - y) * (1.0 + y),),
        _odd("tanh"),
    ),
    "atan": _function(
        np.arctan,
        elementary_functions.atan,
        80,
        lambda do, y, a: (1.0 / (1.0 + a * a),),
        _odd("atan"),
    ),
    "atan2": _function(np.arctan2, elementary_functions.atan2, 95, _by_atan2, arity=2),
    "asin": _function(
        np.arcsin,
        elementary_functions.asin,
        120,
        lambda do, y, a: (_over_circle(do, a),),
        _odd("asin"),
    ),
    "acos": _function(
        np.arccos, elementary_functions.acos, 120, lambda do, y, a: (-_over_circle(do, a),)
    ),
    "table": _function(lambda x, data: data.evaluate(x), table.look_up, 60, _table_slope),
    "abs": Operation(1, np.abs, 1, partials=lambda do, y, a: (do("sign", a),), fold=_even("abs")),
    "sign": Operation(1, np.sign, partials=lambda do, y, a: (0.0,), fold=_odd("sign")),
    "min": _extreme(np.minimum, lambda do, a, b: do("lt", a, b)),
    "max": _extreme(np.maximum, lambda do, a, b: do("lt", b, a)),
    "lt": _compared(np.less),
    "le": _compared(np.less_equal),
    "eq": _compared(np.equal),
    "ne": _compared(np.not_equal),
    "and": Operation(2, np.logical_and, 1, kind="condition"),
    "or": Operation(2, np.logical_or, 1, kind="condition"),
    "not": Operation(1, np.logical_not, 1, kind="condition"),
    "where": Operation(3, np.where, 2, choice=lambda do, condition, a, b: condition, fold=_same),
    "call": Operation(ALL_BUT_DATA, latency=1000),
    "call_if": Operation(ALL_BUT_DATA, latency=1000),  # the first operand is the condition
    "part": Operation(1, latency=0),
    # What only recipes use: bits of doubles as unsigned integers, and entries of constant arrays.
    "whole": Operation(0, kind="bits"),
    "bits": _bits(1),
    "from_bits": Operation(1),
    "bit_add": _bits(),
    "bit_and": _bits(),
    "bit_or": _bits(),
    "shift_left": _bits(),
    "shift_right": _bits(),
    "bit_where": _bits(3),
    "bit_eq": Operation(2, kind="condition"),
    "look_up": Operation(1),
}
"""What there is, by name."""

COMPARISONS = ("lt", "le", "eq", "ne")

SINES = ("sin", "cos")
"""Formed together by ``@sincos`` (`llvm_operations`), in code of one state side by side."""

CALLS = frozenset(
    [*SINES, *(name for name, operation in OPERATIONS.items() if operation.recipe is not None)]
)
"""Operations that are calls, around which every register is saved."""

ROUTINE_CALLS = ("call", "call_if")
"""Operations that call a routine, their data."""

CONDITIONS = frozenset(name for name, row in OPERATIONS.items() if row.kind == "condition")
"""Operations whose results are conditions."""

ARITY = {name: operation.arity for name, operation in OPERATIONS.items()}


def operands(node: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands of a node of a graph: what follows them is data."""
    return node[1 : 1 + ARITY[node[0]]]


def data(node: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a node holds beside its operands."""
    return node[1 + ARITY[node[0]] :]


def moved(node: tuple[Any, ...], place: Any) -> tuple[Any, ...]:
    """Return a node whose operands have moved: the one at k to ``place[k]``."""
    stop = 1 + ARITY[node[0]]
    return (node[0], *[place[k] for k in node[1:stop]], *node[stop:])
