"""C text of single operations, and of the functions behind those that are calls."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf, isnan

from mbd_bridge.kernels.elementary.sincos import COS, HALF_PI, LARGEST, ROUNDER, SIN, TWO_OVER_PI
from mbd_bridge.kernels.elementary.table import PolynomialTable, arrays
from mbd_bridge.kernels.graph.ops import OPERATIONS, SINES
from mbd_bridge.kernels.instruction import Instruction
from mbd_bridge.kernels.instructions.program import Program
from mbd_bridge.kernels.text.helper_text import helper_name, helpers_of, recipe_of

TYPES = {"double": "double", "condition": "int", "bits": "uint64_t"}
"""C types of the kinds of values."""


def literal(value: float) -> str:
    """Return a double as C99 writes it exactly."""
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = value.hex()
    return f"({text})" if text.startswith("-") else text


def names_of(program: Program, function: str) -> set[str]:
    """Return the names that the file's own functions and constants have."""
    names = {f"{function}_sincos", f"{function}_bits", f"{function}_from_bits"}
    for name in helpers_of(program.whole()):
        names |= {f"{function}_{name}{end}" for end in ("", "_knots", "_rows")}
    return names | {routine_name(function, k) for k in range(len(program.routines))}


def routine_name(function: str, number: int) -> str:
    """Return the name of the function of a routine, which the main function calls."""
    return f"{function}_routine{number}"


def expression(one: Instruction, values: list[str], function: str, data: str = "") -> str:
    """Return the C expression of an operation that is neither sine nor cosine."""
    row = OPERATIONS[one.op]
    if row.recipe is not None:
        return f"{function}_{helper_name(one)}({', '.join(values)})"
    return row.c.format(*values, f=function, d=data)


def functions_text(program: Program, function: str) -> str:
    """Return the functions that the program calls, exactly as the machine code forms them."""
    code = program.whole()
    helpers = helpers_of(code)
    texts = []
    for name, one in helpers.items():
        if isinstance(one.data, PolynomialTable):
            texts += [
                _array(f"{function}_{name}_{part}", numbers)
                for part, numbers in arrays(one.data).items()
            ]
        texts.append(_helper(f"{function}_{name}", one, function))
    calls = "\n".join(texts)
    moving = [text for name, text in _moving_bits(function).items() if f"{name}(" in calls]
    sines = [_sincos(function)] if any(one.op in SINES for one in code) else []
    return "\n".join([*sines, *moving, *texts])


def _moving_bits(function: str) -> dict[str, str]:
    """Return the functions between the bits of a double and the double of bits, by name."""
    return {
        f"{function}_bits": f"""\
/* The bits of a double. */
static uint64_t {function}_bits(double x)
{{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}}
""",
        f"{function}_from_bits": f"""\
/* The double of bits. */
static double {function}_from_bits(uint64_t bits)
{{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}}
""",
    }


def _array(name: str, numbers: Iterable[float]) -> str:
    values = ",\n    ".join(literal(float(x)) for x in numbers)
    return f"static const double {name}[] = {{\n    {values}\n}};\n"


def _helper(name: str, one: Instruction, function: str) -> str:
    names: list[str] = []
    arguments: list[str] = []
    lines: list[str] = []
    for index, step in enumerate(recipe_of(one)):
        if step.op == "load":
            names.append(f"_a{step.data}")
            arguments.append(f"double _a{step.data}")
        elif step.op == "const":
            names.append(literal(step.data))
        elif step.op == "whole":
            names.append(f"UINT64_C({step.data})")
        else:
            values = [names[k] for k in step.operands]
            formed = expression(step, values, function, f"{name}_{step.data}")
            names.append(f"_{index}")
            lines.append(f"    const {TYPES[OPERATIONS[step.op].kind]} _{index} = {formed};")
    return "\n".join(
        [
            f"static double {name}({', '.join(arguments)})",
            "{",
            *lines,
            f"    return {names[-1]};",
            "}\n",
        ]
    )


def _sincos(function: str) -> str:
    """Return sine and cosine exactly as the machine code forms them."""
    reduce = "\n".join(f"    r = fma(k, {literal(-part)}, r);" for part in HALF_PI)
    series = "\n".join(
        f"    s = fma(z, s, {literal(p)});\n    c = fma(z, c, {literal(q)});"
        for p, q in zip(SIN[-2::-1], COS[-2::-1], strict=True)
    )
    return f"""\
/* Sine and cosine: reduction by multiples of pi/2 in three parts, two polynomials; angles beyond
   {LARGEST:.0f} rad go to the library. */
static void {function}_sincos(double x, double *sine, double *cosine)
{{
    const double shifted = fma(x, {literal(TWO_OVER_PI)}, {literal(ROUNDER)});
    const double k = shifted - {literal(ROUNDER)};
    double r = x, z, s, c, swap;
    uint64_t bits;
    if (fabs(x) > {literal(LARGEST)}) {{
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }}
{reduce}
    z = r * r;
    s = {literal(SIN[-1])};
    c = {literal(COS[-1])};
{series}
    s = fma(z * r, s, r);
    c = fma(z, fma(z, c, {literal(-0.5)}), {literal(1.0)});
    memcpy(&bits, &shifted, sizeof bits);
    if (bits & 1) {{
        swap = s;
        s = c;
        c = swap;
    }}
    *sine = bits & 2 ? -s : s;
    *cosine = (bits + 1) & 2 ? -c : c;
}}
"""
