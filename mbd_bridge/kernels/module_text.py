"""The LLVM module of a kernel: body, transfers and the loop over groups of states."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from mbd_bridge.kernels import body_text, transfer_text
from mbd_bridge.kernels.program import Program

ARRAY_BYTES = 24
"""Bytes of one array's description: address, bytes from state to state, address of the table of
byte offsets of its components (0 where they stand side by side)."""


def _slots(sizes: Iterable[int], lanes: int, first: int) -> tuple[tuple[int, ...], int]:
    """Return the first slot of each array, padded to whole blocks, and the slot after the last."""
    found = []
    for size in sizes:
        found.append(first)
        first += -(-size // lanes) * lanes
    return tuple(found), first


def stage_bytes(inputs: Iterable[int], shapes: Iterable[tuple[int, ...]], lanes: int) -> int:
    """Return the size of the staging area."""
    sizes = [*inputs, *(prod(shape) for shape in shapes)]
    return _slots(sizes, lanes, 0)[1] * lanes * 8


def batch_module(program: Program, lanes: int, triple: str) -> str:
    """Return the text of the module that has ``kernel(arrays, first, last, stage)``.

    It computes the states first, first + 1, ..., last - 1. `stage` is aligned to a vector and
    `stage_bytes` large; one a thread.
    """
    in_sizes = list(program.inputs.values())
    out_sizes = [prod(shape) for shape in program.shapes]
    in_slots, middle = _slots(in_sizes, lanes, 0)
    out_slots, _ = _slots(out_sizes, lanes, middle)
    width = 8 * lanes
    body = body_text.body_text(program, lanes, (in_slots, out_slots))
    packs, unpacks, addresses = [], [], []
    for k, (size, slot) in enumerate(zip(in_sizes + out_sizes, in_slots + out_slots, strict=True)):
        if size == 0:
            continue
        addresses.append(f"  %array{k} = getelementptr i8, ptr %arrays, i64 {k * ARRAY_BYTES}")
        addresses.append(f"  %slot{k} = getelementptr i8, ptr %stage, i64 {slot * width}")
        move, lines = ("pack", packs) if k < len(in_sizes) else ("unpack", unpacks)
        lines.append(
            f"  call void @{move}(ptr %array{k}, i64 {size}, ptr %slot{k}, i64 %i, i64 %count)"
        )
    new_line = "\n"
    return f"""target triple = "{triple}"
{body_text.declarations(lanes)}
{transfer_text.declarations(lanes)}
{body_text.sincos_text(lanes)}
{transfer_text.pack_text(lanes)}
{transfer_text.unpack_text(lanes)}
{body}
define void @kernel(ptr %arrays, i64 %begin, i64 %end, ptr noalias %stage) #0 {{
{new_line.join(addresses)}
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %group, label %done
group:
  %i = phi i64 [ %begin, %0 ], [ %i_next, %group ]
  %left = sub i64 %end, %i
  %count = call i64 @llvm.umin.i64(i64 %left, i64 {lanes})
{new_line.join(packs)}
  call void @body(ptr %stage)
{new_line.join(unpacks)}
  %i_next = add i64 %i, {lanes}
  %more = icmp ult i64 %i_next, %end
  br i1 %more, label %group, label %done
done:
  ret void
}}
attributes #0 = {{ nounwind "prefer-vector-width"="512" }}
"""
