"""The LLVM module of a march: the body called again and again, its results fed back."""

from __future__ import annotations

from math import prod

from mbd_bridge.kernels import sincos_text
from mbd_bridge.kernels.body_text import body_text, cross
from mbd_bridge.kernels.module_text import lay_slots
from mbd_bridge.kernels.program import Program


def march_module(
    program: Program, state: int, lanes: int, sine_lanes: int, triple: str
) -> tuple[str, int]:
    """Return a module that has ``march(stage, steps, every, out, limit)``, and a stage's bytes.

    The first `state` outputs have the sizes of the first `state` inputs and become them after each
    step. Every `every`-th step all outputs are appended to `out`. With one lane the march stops,
    before taking the step, where the last output is not below `limit`, or a result is not finite.
    It returns the number of steps taken.
    """
    sizes = [prod(shape) for shape in program.shapes]
    slots = lay_slots(program)
    crossing = cross(program, slots.first_free)
    vector, width, watch = f"<{lanes} x double>", 8 * lanes, crossing.end
    fed, total = sum(sizes[:state]), sum(sizes)
    first, last = slots.outputs[0], slots.outputs[0] + total - 1
    wide = [sincos_text.declarations(lanes)]
    if sine_lanes != lanes:
        wide = [
            sincos_text.declarations(sine_lanes),
            sincos_text.declarations(lanes, library=False),
        ]
    stop = [
        f"  %risk = load double, ptr %risk_at, align {width}",
        f"  %seen = load double, ptr %watch, align {width}",
        "  %sane = fcmp olt double %risk, %limit",
        "  %finite = fcmp ord double %seen, %seen",
        "  %good = and i1 %sane, %finite",
        "  br i1 %good, label %take, label %end",
    ]
    lines = [
        f'target triple = "{triple}"',
        *wide,
        sincos_text.sincos_text(sine_lanes),
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        body_text(program, lanes, slots, crossing, sine_lanes, watch),
        "define i64 @march(ptr %stage, i64 %steps, i64 %every, ptr %out, double %limit) #0 {",
        f"  %watch = getelementptr i8, ptr %stage, i64 {watch * width}",
        f"  %results = getelementptr i8, ptr %stage, i64 {first * width}",
        f"  %risk_at = getelementptr i8, ptr %stage, i64 {last * width}",
        f"  store {vector} zeroinitializer, ptr %watch, align {width}",
        "  %some = icmp sgt i64 %steps, 0",
        "  br i1 %some, label %step, label %none",
        "step:",
        "  %i = phi i64 [ 0, %0 ], [ %i_next, %onward ]",
        "  %to = phi ptr [ %out, %0 ], [ %to_next, %onward ]",
        "  %wait = phi i64 [ %every, %0 ], [ %wait_next, %onward ]",
        "  call void @body(ptr %stage)",
        *(stop if lanes == 1 else ["  br label %take"]),
        "take:",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %stage, ptr %results, i64 {fed * width}, i1 0)",
        "  %i_next = add i64 %i, 1",
        "  %less = sub i64 %wait, 1",
        "  %due = icmp eq i64 %less, 0",
        "  br i1 %due, label %record, label %onward",
        "record:",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %results, i64 {total * width}, i1 0)",
        f"  %further = getelementptr i8, ptr %to, i64 {total * width}",
        "  br label %onward",
        "onward:",
        "  %to_next = phi ptr [ %to, %take ], [ %further, %record ]",
        "  %wait_next = phi i64 [ %less, %take ], [ %every, %record ]",
        "  %more = icmp slt i64 %i_next, %steps",
        "  br i1 %more, label %step, label %all",
        "all:",
        "  ret i64 %steps",
        "none:",
        "  ret i64 0",
        *(["end:", "  ret i64 %i"] if lanes == 1 else []),
        "}",
        'attributes #0 = { nounwind "prefer-vector-width"="512" }',
    ]
    return "\n".join(lines), (watch + 1) * width
