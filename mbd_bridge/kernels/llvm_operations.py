"""LLVM text of operations, and of the functions behind those that are calls, over lanes."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.kernels.elementary_functions import (
    COS,
    HALF_PI,
    LARGEST_ANGLE,
    ROUNDER,
    SIN,
    TWO_OVER_PI,
)
from mbd_bridge.kernels.ops import OPERATIONS
from mbd_bridge.kernels.recipe import Instruction, written
from mbd_bridge.kernels.table import PolynomialTable, arrays


def _extreme(word: str) -> str:
    return (
        f"{{v}}w = fcmp {word} {{t}} {{0}}, {{1}}\n"
        "{v}m = select {b} {v}w, {t} {0}, {t} {1}\n"
        "{v}u = fcmp uno {t} {0}, {0}\n"
        "{v} = select {b} {v}u, {t} {0}, {t} {v}m"
    )


LLVM = {
    "neg": "{v} = fneg {t} {0}",
    "add": "{v} = fadd {t} {0}, {1}",
    "sub": "{v} = fsub {t} {0}, {1}",
    "mul": "{v} = fmul {t} {0}, {1}",
    "div": "{v} = fdiv {t} {0}, {1}",
    "sqrt": "{v} = call {t} @llvm.sqrt.{s}({t} {0})",
    "fma": "{v} = call {t} @llvm.fma.{s}({t} {0}, {t} {1}, {t} {2})",
    "fms": "{v}m = fneg {t} {2}\n{v} = call {t} @llvm.fma.{s}({t} {0}, {t} {1}, {t} {v}m)",
    "fnma": "{v}n = fneg {t} {0}\n{v} = call {t} @llvm.fma.{s}({t} {v}n, {t} {1}, {t} {2})",
    "abs": "{v} = call {t} @llvm.fabs.{s}({t} {0})",
    "sign": "{v}p = fcmp ogt {t} {0}, zeroinitializer\n"
    "{v}m = fcmp olt {t} {0}, zeroinitializer\n"
    "{v}u = fcmp uno {t} {0}, {0}\n"
    "{v}x = select {b} {v}u, {t} {0}, {t} zeroinitializer\n"
    "{v}y = select {b} {v}m, {t} splat (double -1.0), {t} {v}x\n"
    "{v} = select {b} {v}p, {t} splat (double 1.0), {t} {v}y",
    "min": _extreme("olt"),
    "max": _extreme("ogt"),
    "lt": "{v} = fcmp olt {t} {0}, {1}",
    "le": "{v} = fcmp ole {t} {0}, {1}",
    "eq": "{v} = fcmp oeq {t} {0}, {1}",
    "ne": "{v} = fcmp une {t} {0}, {1}",
    "and": "{v} = and {b} {0}, {1}",
    "or": "{v} = or {b} {0}, {1}",
    "not": "{v} = xor {b} {0}, splat (i1 true)",
    "where": "{v} = select {b} {0}, {t} {1}, {t} {2}",
    "bits": "{v} = bitcast {t} {0} to {i}",
    "from_bits": "{v} = bitcast {i} {0} to {t}",
    "bit_add": "{v} = add {i} {0}, {1}",
    "bit_and": "{v} = and {i} {0}, {1}",
    "bit_or": "{v} = or {i} {0}, {1}",
    "shift_left": "{v} = shl {i} {0}, {1}",
    "shift_right": "{v} = lshr {i} {0}, {1}",
    "bit_where": "{v} = select {b} {0}, {i} {1}, {i} {2}",
    "bit_eq": "{v} = icmp eq {i} {0}, {1}",
    "look_up": "{v}p = getelementptr double, ptr @{d}, {i} {0}\n"
    "{v} = call {t} @llvm.masked.gather.{s}.v{n}p0(<{n} x ptr> {v}p, i32 8, "
    "{b} splat (i1 true), {t} poison)",
}
"""Lines of an operation: {v} the result's name, {0} ... the operands, {t}, {i}, {b} vectors of
doubles, 64-bit integers and bits, {s} the suffix of intrinsics, {n} lanes, {d} the data."""


def literal(value: float) -> str:
    """Return a double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def splat(value: float) -> str:
    """Return a vector constant with the same value in every lane."""
    return f"splat (double {literal(value)})"


def as_bytes(values: NDArray[np.float64]) -> str:
    """Return doubles as the bytes that they are in memory: quicker to read than numbers."""
    data = values.astype(np.float64).tobytes()
    return f'[{len(data)} x i8] c"\\{data.hex(chr(92))}"'


def helper_name(instruction: Instruction) -> str:
    """Return the name of the function behind an instruction, the same in all languages."""
    if isinstance(instruction.data, PolynomialTable):
        return f"{instruction.op}_{instruction.data.digest[:24]}"
    return f"f_{instruction.op}"


def helpers_of(program: Iterable[Instruction]) -> dict[str, Instruction]:
    """Return one instruction for each function that a program calls, by the function's name."""
    return {helper_name(one): one for one in program if OPERATIONS[one.op].recipe is not None}


def recipe_of(instruction: Instruction) -> tuple[Instruction, ...]:
    """Return the instructions of the function behind an instruction."""
    row = OPERATIONS[instruction.op]
    assert row.recipe is not None
    return written(row.recipe, row.arity, instruction.data)


def lines(
    instruction: Instruction, name: str, values: list[str], lanes: int, data: str = ""
) -> str:
    """Return the LLVM text of an operation that is no call."""
    return LLVM[instruction.op].format(
        *values,
        v=name,
        n=lanes,
        d=data,
        t=f"<{lanes} x double>",
        i=f"<{lanes} x i64>",
        b=f"<{lanes} x i1>",
        s=f"v{lanes}f64",
    )


def helpers_text(program: Iterable[Instruction], lanes: int) -> str:
    """Return ``@NAME_LANES`` for each function that a program calls, and its constants."""
    texts: list[str] = []
    helpers = helpers_of(program)
    tables = [one.data for one in helpers.values() if isinstance(one.data, PolynomialTable)]
    if tables:
        t, p, b = f"<{lanes} x double>", f"<{lanes} x ptr>", f"<{lanes} x i1>"
        name = f"llvm.masked.gather.v{lanes}f64.v{lanes}p0"
        texts.append(f"declare {t} @{name}({p}, i32 immarg, {b}, {t})")
    for name, one in helpers.items():
        if isinstance(one.data, PolynomialTable):
            for part, numbers in arrays(one.data).items():
                texts.append(f"@{name}_{part} = internal constant {as_bytes(numbers)}, align 64")
        texts.append(_function(name, recipe_of(one), lanes))
    return "\n".join(texts)


def _function(name: str, code: tuple[Instruction, ...], lanes: int) -> str:
    t = f"<{lanes} x double>"
    body: list[str] = []
    names: list[str] = []
    arguments = []
    for index, one in enumerate(code):
        if one.op == "load":
            names.append(f"%a{one.data}")
            arguments.append(f"{t} %a{one.data}")
        elif one.op == "const":
            names.append(splat(one.data))
        elif one.op == "whole":
            names.append(f"splat (i64 {one.data})")
        else:
            names.append(f"%v{index}")
            values = [names[k] for k in one.operands]
            body.append(lines(one, names[-1], values, lanes, f"{name}_{one.data}"))
    return "\n".join(
        [
            f"define internal {t} @{name}_{lanes}({', '.join(arguments)}) #0 {{",
            *body,
            f"ret {t} {names[-1]}",
            "}",
        ]
    )


# LLVM text of the sine and cosine of a vector (`elementary_functions` has the method).


LIBRARY = """declare double @sin(double)
declare double @cos(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
"""What is the same for all lanes."""


def declarations(lanes: int, library: bool = True) -> str:
    """Return what body and sine refer to; without what is the same for all lanes if asked."""
    v = f"v{lanes}f64"
    t = f"<{lanes} x double>"
    return (
        f"declare {t} @llvm.fma.{v}({t}, {t}, {t})\n"
        f"declare {t} @llvm.sqrt.{v}({t})\n"
        f"declare {t} @llvm.fabs.{v}({t})\n"
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)\n"
    ) + (LIBRARY if library else "")


def sincos_text(lanes: int) -> str:
    """Return ``@sincos``: the sine and the cosine of a vector of angles."""
    t, i, b = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>"
    lines: list[str] = []
    count = 0

    def emit(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %t{count} = {text}")
        return f"%t{count}"

    def fma(a: str, x: str, c: str) -> str:
        return emit(f"call {t} @llvm.fma.v{lanes}f64({t} {a}, {t} {x}, {t} {c})")

    def whole(value: int) -> str:
        return f"splat (i64 {value})"

    shifted = fma("%x", splat(TWO_OVER_PI), splat(ROUNDER))
    k = emit(f"fsub {t} {shifted}, {splat(ROUNDER)}")
    r = "%x"
    for part in HALF_PI:
        r = fma(k, splat(-part), r)
    z = emit(f"fmul {t} {r}, {r}")
    s, c = splat(SIN[-1]), splat(COS[-1])
    for p, q in zip(SIN[-2::-1], COS[-2::-1], strict=True):
        s, c = fma(z, s, splat(p)), fma(z, c, splat(q))
    cube = emit(f"fmul {t} {z}, {r}")
    s = fma(cube, s, r)
    c = fma(z, fma(z, c, splat(-0.5)), splat(1.0))
    bits = emit(f"bitcast {t} {shifted} to {i}")
    odd = emit(f"trunc {i} {bits} to {b}")
    next_bits = emit(f"add {i} {bits}, {whole(1)}")
    results = []
    for even_value, odd_value, quadrant in ((s, c, bits), (c, s, next_bits)):
        value = emit(f"select {b} {odd}, {t} {odd_value}, {t} {even_value}")
        flag = emit(f"and {i} {quadrant}, {whole(2)}")
        sign = emit(f"shl {i} {flag}, {whole(62)}")
        raw = emit(f"bitcast {t} {value} to {i}")
        turned = emit(f"xor {i} {raw}, {sign}")
        results.append(emit(f"bitcast {i} {turned} to {t}"))
    size = emit(f"call {t} @llvm.fabs.v{lanes}f64({t} %x)")
    large = emit(f"fcmp ogt {t} {size}, {splat(LARGEST_ANGLE)}")
    some = emit(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({b} {large})")
    pair = f"{{ {t}, {t} }}"
    body = "\n".join(lines)
    return f"""
define internal {pair} @sincos({t} %x) #0 {{
{body}
  br i1 {some}, label %slow, label %done
slow:
  br label %lane
lane:
  %j = phi i64 [ 0, %slow ], [ %j1, %next ]
  %s0 = phi {t} [ {results[0]}, %slow ], [ %s2, %next ]
  %c0 = phi {t} [ {results[1]}, %slow ], [ %c2, %next ]
  %is = extractelement {b} {large}, i64 %j
  br i1 %is, label %ask, label %next
ask:
  %a = extractelement {t} %x, i64 %j
  %sa = call double @sin(double %a)
  %ca = call double @cos(double %a)
  %s1 = insertelement {t} %s0, double %sa, i64 %j
  %c1 = insertelement {t} %c0, double %ca, i64 %j
  br label %next
next:
  %s2 = phi {t} [ %s0, %lane ], [ %s1, %ask ]
  %c2 = phi {t} [ %c0, %lane ], [ %c1, %ask ]
  %j1 = add i64 %j, 1
  %more = icmp ult i64 %j1, {lanes}
  br i1 %more, label %lane, label %done
done:
  %s = phi {t} [ {results[0]}, %0 ], [ %s2, %next ]
  %c = phi {t} [ {results[1]}, %0 ], [ %c2, %next ]
  %p0 = insertvalue {pair} poison, {t} %s, 0
  %p1 = insertvalue {pair} %p0, {t} %c, 1
  ret {pair} %p1
}}
"""
