"""The LLVM module of a march: the body called again and again, its results fed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import NamedTuple

from mbd_bridge.kernels import llvm_operations
from mbd_bridge.kernels.instructions import Program
from mbd_bridge.kernels.llvm_body import body_text
from mbd_bridge.kernels.llvm_module import ATTRIBUTES, lay_slots
from mbd_bridge.kernels.llvm_operations import helpers_text
from mbd_bridge.kernels.places import HeldOutput, Slots, cross, held_outputs

READY = 1.0
"""First register of a detour up to which steps are taken; 0 or less: there is none."""

STEP_ON, ARRIVED, STAYS = 0.0, 1.0, 2.0
"""What a detour says: take the step that it wants; it is past; it does not find a way."""


def march_module(
    program: Program,
    state: int,
    lanes: int,
    sine_lanes: int,
    triple: str,
    streamed: bool = False,
    recorded: Sequence[int] | None = None,
    detour: Program | None = None,
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

    With a `detour` (see `march.Detour`) its registers follow the outputs in the stage.
    """
    sizes = [prod(shape) for shape in program.shapes]
    slots = lay_slots(program)
    registers = 0 if detour is None else prod(detour.shapes[0])
    crossing = cross(program, replace(slots, first_free=slots.first_free + registers))
    held = held_outputs(program, slots, state)
    vector, width, watch = f"<{lanes} x double>", 8 * lanes, crossing.end
    fed, total, count = sum(sizes[:state]), sum(sizes), watch + 1
    programs, other = [program], _Other("", ["doubt:", "  br label %stay"], count)
    if detour is not None:
        assert not held
        programs.append(detour)
        other = _detour(detour, slots, watch, (fed, total), lanes, sine_lanes)
        count = other.end
    first, last = slots.outputs[0], slots.outputs[0] + total - 1
    wide = [llvm_operations.declarations(lanes)]
    if sine_lanes != lanes:
        wide = [
            llvm_operations.declarations(sine_lanes),
            llvm_operations.declarations(lanes, library=False),
        ]
    lines = [
        f'target triple = "{triple}"',
        *wide,
        llvm_operations.sincos_text(sine_lanes),
        helpers_text([one for each in programs for one in each.whole()], lanes),
        f"declare i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1>)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        body_text(program, lanes, slots, crossing, sine_lanes, watch, held),
        other.functions,
        _record_text(sizes if recorded is None else recorded, slots.outputs, lanes),
        "define i64 @march(ptr %stage, i64 %steps, i64 %every, ptr %places, double %limit, "
        "ptr %stream) #1 {",
        f"  %watch = getelementptr i8, ptr %stage, i64 {watch * width}",
        f"  %results = getelementptr i8, ptr %stage, i64 {first * width}",
        f"  %risk_at = getelementptr i8, ptr %stage, i64 {last * width}",
        f"  %count_at = getelementptr i8, ptr %stage, i64 {count * width}",
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
        f"  %good_end = and <{lanes} x i1> %sane, %finite",
        *_ready(slots.first_free, lanes, detour is not None),
        f"  %every_one = call i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1> %good)",
        "  br i1 %every_one, label %take, label %doubt",
        "take:",
        _copied("%stage", "%results", fed * width),
        "  br label %taken",
        *other.way,
        *_staying(fed, first, lanes, held),
        "taken:",
        *_took(lanes, detour is not None),
        *_counted(lanes),
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
    return "\n".join(lines), (count + 1) * width


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
        f"  %step_or_none = uitofp <{lanes} x i1> %took to {vector}",
        f"  %taken_now = fadd {vector} %taken_before, %step_or_none",
        f"  store {vector} %taken_now, ptr %count_at, align {align}",
    ]


def _staying(
    fed: int, first: int, lanes: int, held: Mapping[int, Sequence[HeldOutput]]
) -> list[str]:
    """Let the lanes stay where they are whose step is not to be taken."""
    components = {one.component for each in held.values() for one in each}
    return [
        "stay:",
        f"  %one = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %good)",
        "  br i1 %one, label %some_take, label %end",
        "some_take:",
        *_partly_fed(fed, first, lanes, components),
        "  br label %taken",
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


# Detours: steps of lanes whose own step is not to be taken, while the others wait.


class _Other(NamedTuple):
    """Text of a detour.

    Attributes
    ----------
    functions : of the module
    way : from ``doubt:`` to ``taken:``, or to ``stay:`` where no lane tries it
    end : slot after the last one
    """

    functions: str
    way: list[str]
    end: int


def _ready(registers: int, lanes: int, detours: bool) -> list[str]:
    """Say that steps of lanes which are on a detour are not taken."""
    bits, vector = f"<{lanes} x i1>", f"<{lanes} x double>"
    if not detours:
        return [f"  %good = or {bits} %good_end, zeroinitializer"]
    return [
        f"  %phase_at = getelementptr i8, ptr %stage, i64 {registers * 8 * lanes}",
        f"  %phase = load {vector}, ptr %phase_at, align {8 * lanes}",
        f"  %ready = fcmp ole {vector} %phase, {llvm_operations.splat(READY)}",
        f"  %good = and {bits} %good_end, %ready",
        f"  %may_try = fcmp ogt {vector} %phase, zeroinitializer",
    ]


def _took(lanes: int, detours: bool) -> list[str]:
    """Say which lanes have taken the step."""
    past = ", [ %took_some, %past_it ]" if detours else ""
    return [f"  %took = phi <{lanes} x i1> [ %good, %take ], [ %good, %some_take ]{past}"]


def _detour(
    program: Program,
    slots: Slots,
    watch: int,
    sizes: tuple[int, int],
    lanes: int,
    sine_lanes: int,
) -> _Other:
    """Return the text of a detour.

    Its inputs are read where they are. Inputs and outputs of the step are kept: the lanes that stay
    have them back, and what is told of the state at the step's start is that of the first call.

    Parameters
    ----------
    watch : slot that tells whether outputs are finite
    sizes : of the state, of all outputs
    """
    (fed, total), bits, vector = sizes, f"<{lanes} x i1>", f"<{lanes} x double>"
    registers, first, width = slots.first_free, slots.outputs[0], 8 * lanes
    inputs = (registers, *slots.inputs, *slots.outputs, watch)
    wanted, number = watch + 1, prod(program.shapes[0])
    outputs = tuple(accumulate(map(prod, program.shapes[:-1]), initial=wanted))
    signal = outputs[-1]
    before, told = signal + 1, signal + 2 + fed
    places = Slots(inputs, outputs, told + total)
    crossing = cross(program, places)

    def at(name: str, slot: int, index: str = "%k") -> list[str]:
        return [
            f"  %{name}_row = getelementptr i8, ptr %stage, i64 {slot * width}",
            f"  %{name}_at = getelementptr {vector}, ptr %{name}_row, i64 {index}",
            f"  %{name} = load {vector}, ptr %{name}_at, align {width}",
        ]

    def chosen(name: str, one: int, two: int, to: Sequence[int], count: int) -> str:
        """A function that writes the first where a condition holds, and else the second."""
        return "\n".join(
            [
                f"define internal void @{name}(ptr %stage, {vector} %number) #0 {{",
                f"  %mask = fcmp une {vector} %number, zeroinitializer",
                "  br label %entry",
                "entry:",
                "  %k = phi i64 [ 0, %0 ], [ %k_next, %entry ]",
                *at("one", one),
                *at("two", two),
                f"  %value = select {bits} %mask, {vector} %one, {vector} %two",
                *(
                    line
                    for j, slot in enumerate(to)
                    for line in (
                        f"  %to_row{j} = getelementptr i8, ptr %stage, i64 {slot * width}",
                        f"  %to{j} = getelementptr {vector}, ptr %to_row{j}, i64 %k",
                        f"  store {vector} %value, ptr %to{j}, align {width}",
                    )
                ),
                "  %k_next = add i64 %k, 1",
                f"  %more = icmp ult i64 %k_next, {count}",
                "  br i1 %more, label %entry, label %done",
                "done:",
                "  ret void",
                "}",
            ]
        )

    functions = [
        body_text(program, lanes, places, crossing, sine_lanes, name="detour"),
        chosen("remember", wanted, registers, [registers], number),
        chosen("want", wanted + number, 0, [0], fed + 1),
        chosen("bring_back", 0, before, [0], fed),
        chosen("take_step", first, 0, [0, first], fed),
        chosen("tell", first + fed, told + fed, [first + fed], total - fed),
    ]
    some = f"call i1 @llvm.vector.reduce.or.v{lanes}i1({bits}"

    def is_signal(name: str, value: float) -> str:
        return f"  %{name} = fcmp oeq {vector} %signal, {llvm_operations.splat(value)}"

    def as_number(name: str) -> str:  # code with arguments of bits is not made for all widths
        return f"  %{name}_number = uitofp {bits} %{name} to {vector}"

    def copied(to: int, of: int, count: int, name: str) -> list[str]:
        return [
            f"  %{name}_to = getelementptr i8, ptr %stage, i64 {to * width}",
            f"  %{name}_of = getelementptr i8, ptr %stage, i64 {of * width}",
            _copied(f"%{name}_to", f"%{name}_of", count * width),
        ]

    way = [
        "doubt:",
        f"  %bad = xor {bits} %good, splat (i1 true)",
        f"  %tries = and {bits} %bad, %may_try",
        f"  %some_try = {some} %tries)",
        "  br i1 %some_try, label %begin, label %stay",
        "begin:",
        *copied(before, 0, fed + 1, "before"),
        *copied(told, first, total, "told"),
        "  br label %detour",
        "detour:",
        f"  %on_way = phi {bits} [ %tries, %begin ], [ %goes_on, %again ]",
        f"  %past = phi {bits} [ zeroinitializer, %begin ], [ %past_now, %again ]",
        "  call void @detour(ptr %stage)",
        as_number("on_way"),
        f"  %signal_at = getelementptr i8, ptr %stage, i64 {signal * width}",
        f"  %signal = load {vector}, ptr %signal_at, align {width}",
        f"  call void @remember(ptr %stage, {vector} %on_way_number)",
        f"  call void @want(ptr %stage, {vector} %on_way_number)",
        is_signal("arrives", ARRIVED),
        is_signal("steps_on", STEP_ON),
        f"  %arrives_now = and {bits} %on_way, %arrives",
        f"  %past_now = or {bits} %past, %arrives_now",
        f"  %goes_on = and {bits} %on_way, %steps_on",
        f"  %some_go_on = {some} %goes_on)",
        "  br i1 %some_go_on, label %again, label %back",
        "again:",
        f"  store {vector} zeroinitializer, ptr %watch, align {width}",
        "  call void @body(ptr %stage)",
        "  br label %detour",
        "back:",
        f"  store {vector} zeroinitializer, ptr %watch, align {width}",
        f"  %took_some = or {bits} %good, %past_now",
        as_number("past_now"),
        as_number("good"),
        f"  call void @bring_back(ptr %stage, {vector} %past_now_number)",
        *copied(fed, before + fed, 1, "length"),
        f"  call void @take_step(ptr %stage, {vector} %good_number)",
        f"  call void @tell(ptr %stage, {vector} %good_number)",
        f"  %some_took = {some} %took_some)",
        "  br i1 %some_took, label %past_it, label %end",
        "past_it:",
        "  br label %taken",
    ]
    return _Other("\n".join(functions), way, crossing.end)
