"""A program as a C file that needs nothing but a C99 compiler and its mathematical library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.graph.graph import Graph
from mbd_bridge.kernels.graph.ops import OPERATIONS, ROUTINE_CALLS, SINES
from mbd_bridge.kernels.instructions.order import depth_first
from mbd_bridge.kernels.instructions.program import Program, lower
from mbd_bridge.kernels.text.c_functions import (
    TYPES,
    expression,
    functions_text,
    literal,
    names_of,
    routine_name,
)
from mbd_bridge.kernels.text.c_names import identifier

if TYPE_CHECKING:
    from mbd_bridge.kernels.run.kernel import Kernel


def c_source(
    what: Graph | Kernel,
    name: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    notes: str = "",
    batch: bool = True,
) -> str:
    """Return a self-contained C99 file with the same operations in the same order.

    Compiled without contraction and reassociation (``cc -O2 -march=native -ffp-contract=off -c
    file.c``) it gives the digits of the kernel. Its functions are ``NAME`` for one state and
    ``NAME_batch`` for rows of states.

    Parameters
    ----------
    what : a graph, or a kernel (one from the cache traces its function again)
    name : of the C function; None: the kernel's name
    inputs, outputs : names of the arguments; None: the kernel's names
    notes : units, frames and conventions, for the comment at the head
    batch : with the function for rows of states
    """
    if isinstance(what, Graph):
        program, own_name = depth_first(lower(what)), "kernel"
        counts: Mapping[str, int] = what.counts()
        own_outputs: Sequence[str] = [f"out{k}" for k in range(len(what.shapes))]
    else:
        program, own_name, own_outputs = what.program, what.name, what.outputs
        counts = what.counts
    function = identifier(own_name if name is None else name, ())
    taken = {function, f"{function}_batch", *names_of(program, function)}
    given = _names(inputs, list(program.inputs), taken)
    results = _names(outputs, list(own_outputs), taken)
    return "\n".join(
        [
            _head(program, counts, function, given, results, notes),
            "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n",
            _prototypes(function, given, results, batch),
            functions_text(program, function),
            *(_routine(one, function, k) for k, one in enumerate(program.routines)),
            _one(program, function, given, results),
            *([_batch(program, function, given, results)] if batch else []),
        ]
    )


def _names(given: Sequence[str] | None, default: list[str], taken: set[str]) -> list[str]:
    chosen = default if given is None else list(given)
    if len(chosen) != len(default):
        raise KernelError(f"expected {len(default)} names, got {len(chosen)}: {chosen}")
    found = []
    for name in chosen:
        found.append(identifier(name, taken))
        taken.add(found[-1])
    return found


BUILD = """\
Build: cc -std=c99 -O2 -march=native -ffp-contract=off -c file.c    (link with -lm)

-march=native (or any target with fused multiply-adds, such as -mfma) makes one instruction of
each fma(). Without it the file runs everywhere with the same digits, but calls a library
function for each: several times slower. -ffp-contract=off keeps the compiler from fusing
further products and sums, which would change last digits; so would -ffast-math.
"""
"""What the head of a C file says of the compiler."""


def _head(
    program: Program,
    counts: Mapping[str, int],
    function: str,
    given: list[str],
    results: list[str],
    notes: str,
) -> str:
    lines = [f"{function}: straight-line code made by mbd_bridge.", "", *BUILD.splitlines(), ""]
    for name, size in zip(given, program.inputs.values(), strict=True):
        lines.append(f"in   {name}[{size}]")
    for name, shape in zip(results, program.shapes, strict=True):
        extent = "".join(f"[{n}]" for n in shape) or "[1]"
        lines.append(f"out  {name}{extent}{', rows one after the other' if len(shape) > 1 else ''}")
    total = sum(counts.values())
    kinds = ", ".join(f"{number} {op}" for op, number in sorted(counts.items()))
    what = "operations for one state (a fused multiply-add is two)"
    lines += ["", f"{total} {what}: {kinds}" if total else "no operations"]
    if notes:
        lines += ["", *notes.splitlines()]
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    # A question mark after another could be a trigraph, a backslash at the end joins lines.
    safe = [line.replace("??", "? ?").rstrip("\\") for line in safe]
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in safe) + "\n */"


def _arguments(given: Iterable[str], results: Iterable[str]) -> list[str]:
    return [f"const double *{name}" for name in given] + [f"double *{name}" for name in results]


def _prototypes(function: str, given: list[str], results: list[str], batch: bool) -> str:
    one = ", ".join(_arguments(given, results)) or "void"
    many = ", ".join(["size_t number", *_arguments(given, results)])
    rows = "/* Rows of states in C order, one after the other. */\n"
    return f"void {function}({one});\n" + (
        f"{rows}void {function}_batch({many});\n" if batch else ""
    )


def _routine(program: Program, function: str, number: int) -> str:
    """Return the function of a routine, which the main function calls several times."""
    (size,), (indices,) = program.inputs.values(), program.outputs
    lines, names = _body(program, [f"x[{k}]" for k in range(size)], function)
    lines += [f"    y[{k}] = {names[index]};" for k, index in enumerate(indices)]
    head = f"static void {routine_name(function, number)}(const double *x, double *y)"
    return "\n".join([head, "{", *lines, "}\n"])


def _one(program: Program, function: str, given: list[str], results: list[str]) -> str:
    component = [
        f"{name}[{k}]"
        for name, size in zip(given, program.inputs.values(), strict=True)
        for k in range(size)
    ]
    lines, names = _body(program, component, function)
    used = {one.data for one in program.instructions if one.op == "load"}
    first = 0
    for name, size in zip(given, program.inputs.values(), strict=True):
        if not used.intersection(range(first, first + size)):
            lines.append(f"    (void){name};")
        first += size
    for name, indices in zip(results, program.outputs, strict=True):
        lines += [f"    {name}[{k}] = {names[index]};" for k, index in enumerate(indices)]
        if not indices:
            lines.append(f"    (void){name};")
    head = f"void {function}({', '.join(_arguments(given, results)) or 'void'})"
    return "\n".join([head, "{", *lines, "}\n"])


def _body(program: Program, component: Sequence[str], function: str) -> tuple[list[str], list[str]]:
    """Return the statements that compute a program's instructions, and what each is called.

    Parameters
    ----------
    component : C expressions of the numbers of the inputs
    """
    routines = {id(one): k for k, one in enumerate(program.routines)}
    names: list[str] = []
    lines: list[str] = []
    sines: dict[int, tuple[str, str]] = {}
    for index, one in enumerate(program.instructions):
        if one.op == "const":
            names.append(literal(one.data))
            continue
        name = f"_{index}"
        values = [names[k] for k in one.operands]
        if one.op in SINES:
            angle = one.operands[0]
            if angle not in sines:
                sines[angle] = (f"_s{index}", f"_c{index}")
                lines.append(f"    double _s{index}, _c{index};")
                lines.append(f"    {function}_sincos({values[0]}, &_s{index}, &_c{index});")
            names.append(sines[angle][one.op == "cos"])
            continue
        if one.op in ROUTINE_CALLS:
            names.append(f"_y{index}")
            called = routine_name(function, routines[id(one.data)])
            given = ", ".join(names[k] for k in one.arguments)
            size, condition = len(one.data.outputs[0]), ""
            start = ""
            if one.op == "call_if":
                start, condition = " = {0.0}", f"if ({values[0]}) "
            lines.append(f"    const double _x{index}[] = {{{given}}};")
            lines.append(f"    double _y{index}[{size}]{start};")
            lines.append(f"    {condition}{called}(_x{index}, _y{index});")
            continue
        if one.op == "part":
            names.append(f"{values[0]}[{one.data}]")
            continue
        formed = component[one.data] if one.op == "load" else expression(one, values, function)
        lines.append(f"    const {TYPES[OPERATIONS[one.op].kind]} {name} = {formed};")
        names.append(name)
    return lines, names


def _batch(program: Program, function: str, given: list[str], results: list[str]) -> str:
    sizes = [*program.inputs.values(), *(prod(shape) for shape in program.shapes)]
    calls = ", ".join(
        f"{name} + {size} * i" for name, size in zip([*given, *results], sizes, strict=True)
    )
    return f"""\
void {function}_batch({", ".join(["size_t number", *_arguments(given, results)])})
{{
    size_t i;
    for (i = 0; i < number; i++) {{
        {function}({calls});
    }}
}}
"""
