"""The operations: for each one what every pass wants to know of it.

To add an operation: a row here; where it is more than one machine instruction, a recipe in
`elementary`; a function in `mbd_bridge.functions`; a line in its tests.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd_bridge.kernels.elementary import exponential, inverse_tangent, table
from mbd_bridge.kernels.elementary.writer import Recipe

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
    llvm : lines of LLVM text: {v} the result's name, {0} ... the operands, {t}, {i}, {b} vectors of
        doubles, 64-bit integers and bits, {s} the suffix of intrinsics, {n} lanes, {d} the data
    c : a C expression of the operands, {f} before the names of the file's own functions
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
    llvm: str = ""
    c: str = ""
    kind: Kind = "double"
    recipe: Recipe | None = None
    partials: Callable[..., tuple[Any, ...]] | None = None
    choice: Callable[..., Any] | None = None
    fold: Callable[..., Any] | None = None


def _call(name: str, number: int) -> str:
    values = ", ".join(f"{{t}} {{{k}}}" for k in range(number))
    return f"{{v}} = call {{t}} @llvm.{name}.{{s}}({values})"


_FMA = "{v} = call {t} @llvm.fma.{s}({t} {v}n, {t} {1}, {t} {2})"
_UNARY_C, _PLAIN = "-{0}", "{{v}} = {} {{t}} {{0}}, {{1}}"


def _compared(evaluate: Callable[..., Any], word: str, sign: str) -> Operation:
    return Operation(
        2,
        evaluate,
        llvm=f"{{v}} = fcmp {word} {{t}} {{0}}, {{1}}",
        c=f"({{0}} {sign} {{1}})",
        kind="condition",
        partials=lambda do, y, a, b: (0.0, 0.0),
    )


def _extreme(
    evaluate: Callable[..., Any], word: str, sign: str, first: Callable[..., Any]
) -> Operation:
    return Operation(
        2,
        evaluate,
        llvm=f"{{v}}w = fcmp {word} {{t}} {{0}}, {{1}}\n"
        "{v}m = select {b} {v}w, {t} {0}, {t} {1}\n"
        "{v}u = fcmp uno {t} {0}, {0}\n"
        "{v} = select {b} {v}u, {t} {0}, {t} {v}m",
        c=f"({{0}} != {{0}} ? {{0}} : {{0}} {sign} {{1}} ? {{0}} : {{1}})",
        choice=first,
        fold=lambda do, a, b: a if a is b else None,
    )


def _bits(llvm: str, c: str, arity: int = 2) -> Operation:
    return Operation(arity, llvm=llvm, c=c, kind="bits", latency=1)


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
    "neg": Operation(
        1, operator.neg, 1, "{v} = fneg {t} {0}", _UNARY_C, partials=lambda do, y, a: (-1.0,)
    ),
    "add": Operation(
        2,
        operator.add,
        3,
        _PLAIN.format("fadd"),
        "{0} + {1}",
        partials=lambda do, y, a, b: (1.0, 1.0),
    ),
    "sub": Operation(
        2,
        operator.sub,
        3,
        _PLAIN.format("fsub"),
        "{0} - {1}",
        partials=lambda do, y, a, b: (1.0, -1.0),
    ),
    "mul": Operation(
        2,
        operator.mul,
        3,
        _PLAIN.format("fmul"),
        "{0} * {1}",
        partials=lambda do, y, a, b: (b, a),
    ),
    "div": Operation(
        2,
        operator.truediv,
        13,
        _PLAIN.format("fdiv"),
        "{0} / {1}",
        partials=lambda do, y, a, b: (1.0 / b, -(y / b)),
    ),
    "sqrt": Operation(
        1,
        np.sqrt,
        20,
        _call("sqrt", 1),
        "sqrt({0})",
        partials=lambda do, y, a: (0.5 / y,),
    ),
    "fma": Operation(3, lambda a, b, c: a * b + c, llvm=_call("fma", 3), c="fma({0}, {1}, {2})"),
    "fms": Operation(
        3,
        lambda a, b, c: a * b - c,
        llvm="{v}m = fneg {t} {2}\n{v} = call {t} @llvm.fma.{s}({t} {0}, {t} {1}, {t} {v}m)",
        c="fma({0}, {1}, -{2})",
    ),
    "fnma": Operation(
        3, lambda a, b, c: c - a * b, llvm="{v}n = fneg {t} {0}\n" + _FMA, c="fma(-{0}, {1}, {2})"
    ),
    "sin": Operation(1, np.sin, 60, partials=lambda do, y, a: (do("cos", a),), fold=_odd("sin")),
    "cos": Operation(1, np.cos, 60, partials=lambda do, y, a: (-do("sin", a),), fold=_even("cos")),
    "exp": _function(np.exp, exponential.exp, 55, lambda do, y, a: (y,)),
    "log": _function(np.log, exponential.log, 65, lambda do, y, a: (1.0 / a,)),
    "tanh": _function(
        np.tanh, exponential.tanh, 80, lambda do, y, a: ((1.0 - y) * (1.0 + y),), _odd("tanh")
    ),
    "atan": _function(
        np.arctan,
        inverse_tangent.atan,
        80,
        lambda do, y, a: (1.0 / (1.0 + a * a),),
        _odd("atan"),
    ),
    "atan2": _function(np.arctan2, inverse_tangent.atan2, 95, _by_atan2, arity=2),
    "asin": _function(
        np.arcsin, inverse_tangent.asin, 120, lambda do, y, a: (_over_circle(do, a),), _odd("asin")
    ),
    "acos": _function(
        np.arccos, inverse_tangent.acos, 120, lambda do, y, a: (-_over_circle(do, a),)
    ),
    "table": _function(lambda x, data: data.evaluate(x), table.look_up, 60, _table_slope),
    "abs": Operation(
        1,
        np.abs,
        1,
        _call("fabs", 1),
        "fabs({0})",
        partials=lambda do, y, a: (do("sign", a),),
        fold=_even("abs"),
    ),
    "sign": Operation(
        1,
        np.sign,
        llvm="{v}p = fcmp ogt {t} {0}, zeroinitializer\n"
        "{v}m = fcmp olt {t} {0}, zeroinitializer\n"
        "{v}u = fcmp uno {t} {0}, {0}\n"
        "{v}x = select {b} {v}u, {t} {0}, {t} zeroinitializer\n"
        "{v}y = select {b} {v}m, {t} splat (double -1.0), {t} {v}x\n"
        "{v} = select {b} {v}p, {t} splat (double 1.0), {t} {v}y",
        c="({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0} != {0} ? {0} : 0.0)",
        partials=lambda do, y, a: (0.0,),
        fold=_odd("sign"),
    ),
    "min": _extreme(np.minimum, "olt", "<", lambda do, a, b: do("lt", a, b)),
    "max": _extreme(np.maximum, "ogt", ">", lambda do, a, b: do("lt", b, a)),
    "lt": _compared(np.less, "olt", "<"),
    "le": _compared(np.less_equal, "ole", "<="),
    "eq": _compared(np.equal, "oeq", "=="),
    "ne": _compared(np.not_equal, "une", "!="),
    "and": Operation(2, np.logical_and, 1, "{v} = and {b} {0}, {1}", "({0} & {1})", "condition"),
    "or": Operation(2, np.logical_or, 1, "{v} = or {b} {0}, {1}", "({0} | {1})", "condition"),
    "not": Operation(
        1, np.logical_not, 1, "{v} = xor {b} {0}, splat (i1 true)", "!{0}", "condition"
    ),
    "where": Operation(
        3,
        np.where,
        2,
        "{v} = select {b} {0}, {t} {1}, {t} {2}",
        "({0} ? {1} : {2})",
        choice=lambda do, condition, a, b: condition,
        fold=_same,
    ),
    "call": Operation(ALL_BUT_DATA, latency=1_000),
    "call_if": Operation(ALL_BUT_DATA, latency=1_000),  # the first operand is the condition
    "part": Operation(1, latency=0),
    # What only recipes use: bits of doubles as unsigned integers, and entries of constant arrays.
    "whole": Operation(0, kind="bits"),
    "bits": _bits("{v} = bitcast {t} {0} to {i}", "{f}_bits({0})", 1),
    "from_bits": Operation(1, llvm="{v} = bitcast {i} {0} to {t}", c="{f}_from_bits({0})"),
    "bit_add": _bits("{v} = add {i} {0}, {1}", "{0} + {1}"),
    "bit_and": _bits("{v} = and {i} {0}, {1}", "{0} & {1}"),
    "bit_or": _bits("{v} = or {i} {0}, {1}", "{0} | {1}"),
    "shift_left": _bits("{v} = shl {i} {0}, {1}", "{0} << {1}"),
    "shift_right": _bits("{v} = lshr {i} {0}, {1}", "{0} >> {1}"),
    "bit_where": _bits("{v} = select {b} {0}, {i} {1}, {i} {2}", "({0} ? {1} : {2})", 3),
    "bit_eq": Operation(2, llvm="{v} = icmp eq {i} {0}, {1}", c="({0} == {1})", kind="condition"),
    "look_up": Operation(
        1,
        llvm="{v}p = getelementptr double, ptr @{d}, {i} {0}\n"
        "{v} = call {t} @llvm.masked.gather.{s}.v{n}p0(<{n} x ptr> {v}p, i32 8, "
        "{b} splat (i1 true), {t} poison)",
        c="{d}[{0}]",
    ),
}
"""What there is, by name."""

COMPARISONS = ("lt", "le", "eq", "ne")

SINES = ("sin", "cos")
"""Formed together by ``@sincos`` (see `sincos`), and in machine code of one state side by side."""

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
