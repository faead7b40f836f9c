"""Pieces of the C files that are made for each machine: tables, texts, calls."""

from __future__ import annotations

from collections.abc import Sequence


def prototype(function: str, inputs: int, outputs: int) -> str:
    """Return the declaration of a function of equations.c."""
    arguments = ", ".join(["const double *"] * inputs + ["double *"] * outputs)
    return f"void {function}({arguments});"


def called(what: str, own: str) -> str:
    """Return what is called for the step, the outputs or the residuals; see `dispatch`."""
    return f"CALL({own}_{what})"


def dispatch(prototypes: Sequence[str]) -> str:
    """Return the choice between two compilations of equations.c.

    With fused multiply-adds it gives the same digits several times faster.
    """
    fast = [one.replace("(", "_fma(", 1) for one in prototypes]
    return "\n".join(
        [
            "#ifdef MODEL_WITH_FMA",
            "/* equations.c is there twice: also compiled for fused multiply-adds. */",
            *fast,
            '#define CALL(name) (__builtin_cpu_supports("fma") ? name##_fma : name)',
            "#else",
            "#define CALL(name) name",
            "#endif\n",
        ]
    )


def table(head: str, rows: Sequence[str]) -> str:
    """Return the definition of an array."""
    return f"{head} = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def text_literal(text: str) -> str:
    """Return a C string literal of UTF-8."""
    found = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{found}"'


def comment(text: str) -> str:
    """Return a text that may stand in a C comment."""
    return text.replace("*/", "* /").replace("\n", " ").replace("??", "? ?")
