"""The LLVM module of a kernel: body, transfers and the loop over groups of states."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from mbd_bridge.kernels.instructions.program import Program
from mbd_bridge.kernels.text import sincos_text, transfer_text
from mbd_bridge.kernels.text.body_text import body_text
from mbd_bridge.kernels.text.helper_text import helpers_text
from mbd_bridge.kernels.text.places import Slots, cross

ARRAY_BYTES = 24
"""Bytes of one array's description: address, bytes from state to state, address of the table of
byte offsets of its components (0 where they stand side by side)."""

ATTRIBUTES = """attributes #0 = { nounwind alignstack=64 "prefer-vector-width"="512" }
attributes #1 = { nounwind alignstack=64 "stackrealign" "prefer-vector-width"="512" }"""
"""Of functions inside, and of those that are called from outside. These align the stack to a cache
line, and the others rely on it: values that wait on the stack are vectors of that size, and one
that crosses lines takes twice as long (a step of a four-bar 24 to 29 ns, as it happened)."""


def _slots(sizes: Iterable[int], first: int) -> tuple[tuple[int, ...], int]:
    """Return the first slot of each array in the stage, and the slot after the last."""
    found = []
    for size in sizes:
        found.append(first)
        first += size
    return tuple(found), first


def lay_slots(program: Program) -> Slots:
    """Return where inputs and outputs are in the stage."""
    inputs, middle = _slots(program.inputs.values(), 0)
    outputs, end = _slots((prod(shape) for shape in program.shapes), middle)
    return Slots(inputs, outputs, end)


def batch_module(program: Program, lanes: int, triple: str) -> tuple[str, int]:
    """Return a module that has ``kernel(arrays, first, last, stage)``, and the bytes of a stage.

    It computes the states first, first + 1, ..., last - 1, and returns 0 if all results are
    finite. `stage` is aligned to a vector; every
    thread has its own.
    """
    in_sizes = list(program.inputs.values())
    out_sizes = [prod(shape) for shape in program.shapes]
    slots = lay_slots(program)
    crossing = cross(program, slots)
    vector, watch = f"<{lanes} x double>", crossing.end
    transfers = [
        *(transfer_text.pack_text(lanes, size) for size in sorted({*in_sizes} - {0})),
        *(transfer_text.unpack_text(lanes, size) for size in sorted({*out_sizes} - {0})),
        transfer_text.tail_text(lanes),
    ]
    addresses: list[str] = []
    moves: dict[str, list[str]] = {"pack": [], "unpack": []}
    tails: dict[str, list[str]] = {"pack": [], "unpack": []}
    sizes, places = in_sizes + out_sizes, slots.inputs + slots.outputs
    for k, (size, slot) in enumerate(zip(sizes, places, strict=True)):
        if size == 0:
            continue
        way = "pack" if k < len(in_sizes) else "unpack"
        addresses.append(f"  %array{k} = getelementptr i8, ptr %arrays, i64 {k * ARRAY_BYTES}")
        addresses.append(f"  %slot{k} = getelementptr i8, ptr %stage, i64 {slot * 8 * lanes}")
        both = f"ptr %array{k}, ptr %slot{k}"
        moves[way].append(f"  call void @{way}_{size}({both}, i64 %i)")
        tails[way].append(f"  call void @{way}_some({both}, i64 %full, i64 {size}, i64 %rest)")
    lines = [
        f'target triple = "{triple}"',
        sincos_text.declarations(lanes),
        transfer_text.declarations(lanes),
        sincos_text.sincos_text(lanes),
        helpers_text(program.whole(), lanes),
        *transfers,
        body_text(program, lanes, slots, crossing, watch=watch),
        "define i64 @kernel(ptr %arrays, i64 %begin, i64 %end, ptr noalias %stage) #1 {",
        *addresses,
        f"  %watch = getelementptr i8, ptr %stage, i64 {watch * 8 * lanes}",
        f"  store {vector} zeroinitializer, ptr %watch, align {8 * lanes}",
        "  %number = sub i64 %end, %begin",
        f"  %rest = urem i64 %number, {lanes}",
        "  %full = sub i64 %end, %rest",
        "  %some = icmp ult i64 %begin, %full",
        "  br i1 %some, label %group, label %tail",
        "group:",
        "  %i = phi i64 [ %begin, %0 ], [ %i_next, %group ]",
        *moves["pack"],
        "  call void @body(ptr %stage)",
        *moves["unpack"],
        f"  %i_next = add i64 %i, {lanes}",
        "  %more = icmp ult i64 %i_next, %full",
        "  br i1 %more, label %group, label %tail",
        "tail:",
        "  %any = icmp ne i64 %rest, 0",
        "  br i1 %any, label %last, label %done",
        "last:",
        *tails["pack"],
        "  call void @body(ptr %stage)",
        *tails["unpack"],
        "  br label %done",
        "done:",
        f"  %seen = load {vector}, ptr %watch, align {8 * lanes}",
        f"  %nan = fcmp uno {vector} %seen, %seen",
        f"  %bits = bitcast <{lanes} x i1> %nan to i{lanes}",
        f"  %flag = zext i{lanes} %bits to i64",
        "  ret i64 %flag\n}",
        ATTRIBUTES,
    ]
    return "\n".join(lines), (watch + 1) * lanes * 8
