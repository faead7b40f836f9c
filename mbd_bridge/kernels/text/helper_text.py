"""LLVM text of the functions behind operations that are calls, over the lanes of a vector."""

from __future__ import annotations

from collections.abc import Iterable

from mbd_bridge.kernels.elementary.table import PolynomialTable, arrays
from mbd_bridge.kernels.elementary.writer import written
from mbd_bridge.kernels.graph.ops import OPERATIONS
from mbd_bridge.kernels.instruction import Instruction
from mbd_bridge.kernels.text.literals import as_bytes, splat


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
    return OPERATIONS[instruction.op].llvm.format(
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
