"""The LLVM module for one state at a time: scalar code with an entry that Python calls directly.

A call through ctypes costs 60 ns and writing three vectors into buffers 60 ns each; on a small
mechanism that is more than the computation. The module therefore has a function of the form that
the interpreter itself calls (``METH_FASTCALL``), which takes the inputs through the buffer
protocol: 15 ns and 13 ns an input. It uses only functions of the stable interface (from 3.11).
"""

from __future__ import annotations

from math import prod

from mbd_bridge.kernels.instructions.program import Program
from mbd_bridge.kernels.text import sincos_text
from mbd_bridge.kernels.text.body_text import body_text
from mbd_bridge.kernels.text.helper_text import helpers_text
from mbd_bridge.kernels.text.module_text import lay_slots
from mbd_bridge.kernels.text.places import cross

BUFFER_BYTES = 80
"""``sizeof(Py_buffer)``: buf, obj, len, itemsize, readonly, ndim, format, ... at the offsets below
(fixed by the stable interface, for 64-bit machines)."""
_LENGTH_AT, _NDIM_AT, _FORMAT_AT = 16, 36, 40

_REQUEST = 0x0004 | 0x0008
"""``PyBUF_FORMAT | PyBUF_ND``: the element type, and components side by side."""

_DOUBLE = 0x0064
"""The format ``"d"`` with its end, as a little-endian 16-bit number."""


def single_module(program: Program, lanes: int, triple: str) -> tuple[str, int]:
    """Return a module that has ``run(self, arguments, number)``, and the bytes of its stage.

    ``self`` is a tuple whose first entry is a capsule around three pointers and a number: the stage
    (inputs and outputs, one double a component), the object to return, the callable that takes over
    when the arguments are not what is expected, and whether it takes over too when an output is not
    finite.
    """
    sizes = list(program.inputs.values())
    slots = lay_slots(program)
    crossing = cross(program, slots)
    split = len(sizes)
    lines = [
        f'target triple = "{triple}"',
        sincos_text.declarations(lanes),
        sincos_text.declarations(1, library=False),
        sincos_text.sincos_text(lanes),
        helpers_text(program.whole(), 1),
        body_text(program, 1, slots, crossing, sine_lanes=lanes),
        "declare void @Py_IncRef(ptr)",
        "declare i32 @PyObject_GetBuffer(ptr, ptr, i32)",
        "declare void @PyBuffer_Release(ptr)",
        "declare void @PyErr_Clear()",
        "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
        "declare ptr @PyTuple_GetItem(ptr, i64)",
        "declare ptr @PyCapsule_GetPointer(ptr, ptr)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "define ptr @run(ptr %self, ptr %arguments, i64 %number) #0 {",
        f"  %view = alloca [{BUFFER_BYTES} x i8], align 16",
        f"  %length_at = getelementptr i8, ptr %view, i64 {_LENGTH_AT}",
        f"  %ndim_at = getelementptr i8, ptr %view, i64 {_NDIM_AT}",
        f"  %format_at = getelementptr i8, ptr %view, i64 {_FORMAT_AT}",
        "  %capsule = call ptr @PyTuple_GetItem(ptr %self, i64 0)",
        "  %context = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)",
        "  %stage = load ptr, ptr %context",
        "  switch i64 %number, label %other [",
        "    i64 0, label %compute",
        f"    i64 {split}, label %read0" if split else "",
        "  ]",
    ]
    for k, size in enumerate(sizes):
        lines += _read(k, size, slots.inputs[k])
    lines += [
        f"read{split}:",
        "  br label %compute",
        "compute:",
        "  call void @body(ptr %stage)",
        "  %strict_at = getelementptr i8, ptr %context, i64 24",
        "  %strict = load i64, ptr %strict_at",
        "  %trusting = icmp eq i64 %strict, 0",
        "  br i1 %trusting, label %done, label %watch",
        *_watch(sum(sizes), sum(map(prod, program.shapes))),
        "done:",
        "  %result_at = getelementptr i8, ptr %context, i64 8",
        "  %result = load ptr, ptr %result_at",
        "  call void @Py_IncRef(ptr %result)",
        "  ret ptr %result",
        "refused:",
        "  call void @PyErr_Clear()",
        "  br label %other",
        "wrong:",
        "  call void @PyBuffer_Release(ptr %view)",
        "  br label %other",
        "other:",
        "  %fallback_at = getelementptr i8, ptr %context, i64 16",
        "  %fallback = load ptr, ptr %fallback_at",
        "  %answer = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %arguments, i64 %number, "
        "ptr null)",
        "  ret ptr %answer\n}",
        "attributes #0 = { nounwind }",
    ]
    return "\n".join(lines), crossing.end * 8


def _watch(first: int, count: int) -> list[str]:
    """Go on to `done` if so many numbers of the stage, side by side, are finite, else to `other`.

    0 times each, added up, is no number if one of them is infinite or none.
    """
    if not count:
        return ["watch:", "  br label %done"]
    return [
        "watch:",
        f"  %begin = getelementptr double, ptr %stage, i64 {first}",
        "  br label %each",
        "each:",
        "  %k = phi i64 [ 0, %watch ], [ %next, %each ]",
        "  %seen = phi double [ 0.0, %watch ], [ %sum, %each ]",
        "  %at = getelementptr double, ptr %begin, i64 %k",
        "  %number_at = load double, ptr %at",
        "  %none = fmul double %number_at, 0.0",
        "  %sum = fadd reassoc double %seen, %none",
        "  %next = add i64 %k, 1",
        f"  %more = icmp ult i64 %next, {count}",
        "  br i1 %more, label %each, label %sane",
        "sane:",
        "  %finite = fcmp ord double %sum, %sum",
        "  br i1 %finite, label %done, label %other",
    ]


def _read(k: int, size: int, slot: int) -> list[str]:
    """Copy argument k to the stage if it is a vector of `size` doubles."""
    return [
        f"read{k}:",
        f"  %argument_at{k} = getelementptr ptr, ptr %arguments, i64 {k}",
        f"  %argument{k} = load ptr, ptr %argument_at{k}",
        f"  %failed{k} = call i32 @PyObject_GetBuffer(ptr %argument{k}, ptr %view, i32 {_REQUEST})",
        f"  %given{k} = icmp eq i32 %failed{k}, 0",
        f"  br i1 %given{k}, label %check{k}, label %refused",
        f"check{k}:",
        f"  %length{k} = load i64, ptr %length_at",
        f"  %ndim{k} = load i32, ptr %ndim_at",
        f"  %format{k} = load ptr, ptr %format_at",
        f"  %named{k} = icmp ne ptr %format{k}, null",
        f"  br i1 %named{k}, label %type{k}, label %wrong",
        f"type{k}:",
        f"  %letter{k} = load i16, ptr %format{k}, align 1",
        f"  %fits{k} = icmp eq i64 %length{k}, {8 * size}",
        f"  %flat{k} = icmp eq i32 %ndim{k}, 1",
        f"  %double{k} = icmp eq i16 %letter{k}, {_DOUBLE}",
        f"  %both{k} = and i1 %fits{k}, %flat{k}",
        f"  %good{k} = and i1 %both{k}, %double{k}",
        f"  br i1 %good{k}, label %copy{k}, label %wrong",
        f"copy{k}:",
        f"  %data{k} = load ptr, ptr %view",
        f"  %slot{k} = getelementptr double, ptr %stage, i64 {slot}",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %slot{k}, ptr %data{k}, i64 {8 * size}, i1 false)",
        "  call void @PyBuffer_Release(ptr %view)",
        f"  br label %read{k + 1}",
    ]
