"""The LLVM module of a march: the body called again and again, its results fed back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mbd_bridge.kernels import helper_text
from mbd_bridge.kernels.body_text import body_text
from mbd_bridge.kernels.helper_text import helpers_text
from mbd_bridge.kernels.instructions import Program
from mbd_bridge.kernels.module_text import ATTRIBUTES, lay_slots
from mbd_bridge.kernels.places import cross, held_outputs


def march_module(
    program: Program,
    state: int,
    lanes: int,
    sine_lanes: int,
    triple: str,
    streamed: bool = False,
    recorded: Sequence[int] | None = None,
) -> tuple[str, int]:
    """Return a module that has ``march(stage, steps, every, places, limit, stream)``, and the
    bytes of a stage.

    The first `state` outputs have the sizes of the first `state` inputs and become them after each
    step. Every `every`-th step the outputs are written where `places` says: for each output and
    lane an address, at which its records follow each other; 0 for an output that is not wanted.
    With `streamed` the last input is read from `stream` before each step, one vector a component.
    `recorded` are sizes of outputs in records, where these have less than all of them.

    Where a step's last output is not below `limit`, or one of its results is not finite, it is not
    taken: with one lane the march stops, of several the one concerned stays where it is (and comes
    to the same step again, which it does not take either), until none is left. The steps that each
    lane took are in the stage's last vector. It returns the number of steps taken, of several
    lanes by the last to stay.
    """
    sizes = [prod(shape) for shape in program.shapes]
    slots = lay_slots(program)
    crossing = cross(program, slots)
    held = held_outputs(program, slots, state)
    vector, width, watch = f"<{lanes} x double>", 8 * lanes, crossing.end
    fed, total = sum(sizes[:state]), sum(sizes)
    first, last = slots.outputs[0], slots.outputs[0] + total - 1
    wide = [helper_text.declarations(lanes)]
    if sine_lanes != lanes:
        wide = [
            helper_text.declarations(sine_lanes),
            helper_text.declarations(lanes, library=False),
        ]
    lines = [
        f'target triple = "{triple}"',
        *wide,
        helper_text.sincos_text(sine_lanes),
        helpers_text(program.whole(), lanes),
        f"declare i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1>)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        body_text(program, lanes, slots, crossing, sine_lanes, watch, held),
        _record_text(sizes if recorded is None else recorded, slots.outputs, lanes),
        "define i64 @march(ptr %stage, i64 %steps, i64 %every, ptr %places, double %limit, "
        "ptr %stream) #1 {",
        f"  %watch = getelementptr i8, ptr %stage, i64 {watch * width}",
        f"  %results = getelementptr i8, ptr %stage, i64 {first * width}",
        f"  %risk_at = getelementptr i8, ptr %stage, i64 {last * width}",
        f"  %count_at = getelementptr i8, ptr %stage, i64 {(watch + 1) * width}",
        f"  store {vector} zeroinitializer, ptr %watch, align {width}",
        f"  store {vector} zeroinitializer, ptr %count_at, align {width}",
        f"  %limit_first = insertelement {vector} poison, double %limit, i64 0",
        f"  %limits = shufflevector {vector} %limit_first, {vector} poison, "
        f"<{lanes} x i32> zeroinitializer",
        *([_copied("%results", "%stage", fed * width)] if held else []),
        "  %some = icmp sgt i64 %steps, 0",
        "  br i1 %some, label %step, label %none",
        "step:",
        "  %i = phi i64 [ 0, %0 ], [ %i_next, %onward ]",
        "  %records = phi i64 [ 0, %0 ], [ %records_next, %onward ]",
        "  %wait = phi i64 [ %every, %0 ], [ %wait_next, %onward ]",
        *(_streamed(program, slots.inputs[-1], width) if streamed else []),
        "  call void @body(ptr %stage)",
        f"  %risk = load {vector}, ptr %risk_at, align {width}",
        f"  %seen = load {vector}, ptr %watch, align {width}",
        f"  %sane = fcmp olt {vector} %risk, %limits",
        f"  %finite = fcmp ord {vector} %seen, %seen",
        f"  %good = and <{lanes} x i1> %sane, %finite",
        *_counted(lanes),
        f"  %every_one = call i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1> %good)",
        "  br i1 %every_one, label %take, label %doubt",
        "take:",
        _copied("%stage", "%results", fed * width),
        "  br label %taken",
        "doubt:",
        f"  %one = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %good)",
        "  br i1 %one, label %some_take, label %end",
        "some_take:",
        *_partly_fed(fed, first, lanes, {one.component for each in held.values() for one in each}),
        "  br label %taken",
        "taken:",
        "  %i_next = add i64 %i, 1",
        "  %less = sub i64 %wait, 1",
        "  %due = icmp eq i64 %less, 0",
        "  br i1 %due, label %record, label %onward",
        "record:",
        "  call void @record(ptr %stage, ptr %places, i64 %records)",
        "  %one_more = add i64 %records, 1",
        "  br label %onward",
        "onward:",
        "  %records_next = phi i64 [ %records, %taken ], [ %one_more, %record ]",
        "  %wait_next = phi i64 [ %less, %taken ], [ %every, %record ]",
        "  %more = icmp slt i64 %i_next, %steps",
        "  br i1 %more, label %step, label %all",
        "all:",
        "  ret i64 %steps",
        "none:",
        "  ret i64 0",
        "end:",
        "  ret i64 %i",
        "}",
        ATTRIBUTES,
    ]
    return "\n".join(lines), (watch + 2) * width


def _copied(to: str, of: str, size: int) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {size}, i1 0)"


def _streamed(program: Program, slot: int, width: int) -> list[str]:
    """Copy this step's values of the last input to its place."""
    size = list(program.inputs.values())[-1] * width
    return [
        f"  %ahead = mul i64 %i, {size}",
        "  %now = getelementptr i8, ptr %stream, i64 %ahead",
        f"  %last_input = getelementptr i8, ptr %stage, i64 {slot * width}",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %last_input, ptr %now, i64 {size}, i1 0)",
    ]


def _record_text(sizes: Sequence[int], slots: tuple[int, ...], lanes: int) -> str:
    """Return ``@record(stage, places, number)``: each lane's outputs go to its own rows."""
    vector, width = f"<{lanes} x double>", 8 * lanes
    lines = ["define internal void @record(ptr %stage, ptr %places, i64 %number) #0 {"]
    lines += ["  br label %output0"]
    for o, (size, slot) in enumerate(zip(sizes, slots, strict=True)):
        lines += [
            f"output{o}:",
            f"  %row{o} = getelementptr i8, ptr %places, i64 {o * width}",
            f"  %first{o} = load ptr, ptr %row{o}",
            f"  %unwanted{o} = icmp eq ptr %first{o}, null",
            f"  %from{o} = getelementptr i8, ptr %stage, i64 {slot * width}",
            f"  %at{o} = mul i64 %number, {8 * size}",
            f"  br i1 %unwanted{o}, label %output{o + 1}, label %some{o}",
            f"some{o}:",
            f"  br i1 {'true' if size else 'false'}, label %entry{o}, label %output{o + 1}",
            f"entry{o}:",
            f"  %k{o} = phi i64 [ 0, %some{o} ], [ %k_next{o}, %entry{o} ]",
            f"  %offset{o} = phi i64 [ %at{o}, %some{o} ], [ %offset_next{o}, %entry{o} ]",
            f"  %values_at{o} = getelementptr {vector}, ptr %from{o}, i64 %k{o}",
            f"  %values{o} = load {vector}, ptr %values_at{o}, align {width}",
        ]
        for lane in range(lanes):
            tag = f"{o}_{lane}"
            lines += [
                f"  %base_at{tag} = getelementptr i8, ptr %row{o}, i64 {8 * lane}",
                f"  %base{tag} = load ptr, ptr %base_at{tag}",
                f"  %to{tag} = getelementptr i8, ptr %base{tag}, i64 %offset{o}",
                f"  %value{tag} = extractelement {vector} %values{o}, i64 {lane}",
                f"  store double %value{tag}, ptr %to{tag}",
            ]
        lines += [
            f"  %k_next{o} = add i64 %k{o}, 1",
            f"  %offset_next{o} = add i64 %offset{o}, 8",
            f"  %more{o} = icmp ult i64 %k_next{o}, {size}",
            f"  br i1 %more{o}, label %entry{o}, label %output{o + 1}",
        ]
    lines += [f"output{len(sizes)}:", "  ret void", "}"]
    return "\n".join(lines)


def _counted(lanes: int) -> list[str]:
    """Count the step for the lanes that take it."""
    vector, align = f"<{lanes} x double>", 8 * lanes
    return [
        f"  %taken_before = load {vector}, ptr %count_at, align {align}",
        f"  %step_or_none = uitofp <{lanes} x i1> %good to {vector}",
        f"  %taken_now = fadd {vector} %taken_before, %step_or_none",
        f"  store {vector} %taken_now, ptr %count_at, align {align}",
    ]


def _partly_fed(fed: int, first: int, lanes: int, held: set[int]) -> list[str]:
    """Feed back the results of the lanes that take the step; held outputs go back, too."""
    vector, width = f"<{lanes} x double>", 8 * lanes
    lines = []
    for k in range(fed):
        lines += [
            f"  %old_at{k} = getelementptr i8, ptr %stage, i64 {k * width}",
            f"  %new_at{k} = getelementptr i8, ptr %stage, i64 {(first + k) * width}",
            f"  %old{k} = load {vector}, ptr %old_at{k}, align {width}",
            f"  %new{k} = load {vector}, ptr %new_at{k}, align {width}",
            f"  %next{k} = select <{lanes} x i1> %good, {vector} %new{k}, {vector} %old{k}",
            f"  store {vector} %next{k}, ptr %old_at{k}, align {width}",
        ]
        if k in held:
            lines.append(f"  store {vector} %next{k}, ptr %new_at{k}, align {width}")
    return lines
