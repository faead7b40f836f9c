"""LLVM text of a program's straight-line body over vectors of states.

A long body is cut into several functions: what the compiler does to one function grows faster than
its length. Values that cross a cut go through memory, as they would in any case: there are far
more of them than registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import copysign

from mbd_bridge.kernels.instructions import Program
from mbd_bridge.kernels.llvm_operations import helper_name, lines, splat
from mbd_bridge.kernels.ops import CONDITIONS, OPERATIONS, ROUTINE_CALLS, SINES
from mbd_bridge.kernels.places import Crossing, HeldOutput, Slots
from mbd_bridge.kernels.recipe import Instruction

FENCE = 64
"""Stores after which the compiler is told that all memory may have changed, which costs nothing at
run time. It else compares each store with hundreds before it, since results must not overtake each
other for all it knows: M and Phi_q of forty four-bars 15.7 s, with fences 1.2 s."""

LONG, BLOCK = 2_000, 1_000
"""Instructions from which on a function is cut into blocks, and of a block. LLVM chooses and orders
instructions block by block, in more than proportional time; a branch that is always taken keeps it
from joining them. Measured, with `machine.QUICK`: compile times of 0.6 to 0.8, run times of 0.92 to
0.98 (ten four-bars, Stewart platform, chains of 30); a four-bar's step, cut in two, took 1.06."""

CLEARED = 8
"""Zeros side by side among the outputs that are written together: Phi_q of forty four-bars has
16,000, of which each would be an instruction to compile."""

WATCHES = 4
"""Sums over the outputs that do not wait for each other."""


def body_text(
    program: Program,
    lanes: int,
    slots: Slots,
    crossing: Crossing,
    sine_lanes: int | None = None,
    watch: int | None = None,
    held: Mapping[int, Sequence[HeldOutput]] | None = None,
    name: str = "body",
) -> str:
    """Return ``@NAME(stage)``: reads and writes vectors in a staging area.

    Parameters
    ----------
    program : what to compute
    lanes : states in a vector
    slots, crossing : where inputs, outputs and all other values in the stage are
    sine_lanes : lanes of ``@sincos`` where they are not `lanes`; with a single state (`lanes` = 1)
        sines that stand side by side share its lanes
    watch : slot whose vector becomes nan when an output is not finite, or None
    held : for calls on a condition the outputs that have been written before, and that change only
        where the call is made (`places.held_outputs`); the watch does not see them
    """
    width = lanes if sine_lanes is None else sine_lanes
    texts = [
        _function(f"{name}_routine{one.number}", one.program, lanes, width, None, one.crossing)
        for one in crossing.routines.values()
    ]
    body = _function(name, program, lanes, width, slots, crossing, watch, held or {})
    return "\n".join([*texts, body])


def _function(
    name: str,
    program: Program,
    lanes: int,
    sine_lanes: int,
    slots: Slots | None,
    crossing: Crossing,
    watch: int | None = None,
    held: Mapping[int, Sequence[HeldOutput]] | None = None,
) -> str:
    """Return ``@NAME``, of the stage; without slots also of where its results go."""
    given = ["%stage"] if slots is not None else ["%stage", "%results"]
    takes = ", ".join(f"ptr {one}" for one in given)
    texts, calls = [], []
    writer = _Writer(name, program, lanes, sine_lanes, slots, crossing, watch, held or {})
    for k, span in enumerate(crossing.parts):
        texts.append(writer.part(f"@{name}_part{k}", given, span))
        calls.append(f"  call void @{name}_part{k}({takes})")
    return "\n".join(
        [*texts, f"define internal void @{name}({takes}) #0 {{", *calls, "  ret void\n}"]
    )


class _Writer:
    """Writes the instructions of a function, part after part."""

    def __init__(
        self,
        function: str,
        program: Program,
        lanes: int,
        sine_lanes: int,
        slots: Slots | None,
        crossing: Crossing,
        watch: int | None,
        held: Mapping[int, Sequence[HeldOutput]],
    ) -> None:
        self.function, self.watch, self.held = function, watch, held
        elsewhere = {one.choice for each in held.values() for one in each}
        self.code = program.instructions
        self.lanes, self.sine_lanes = lanes, sine_lanes
        self.type, self.suffix = f"<{lanes} x double>", f"v{lanes}f64"
        self.wide = f"<{sine_lanes} x double>"
        self.crossing = crossing
        self.results = "%results" if slots is None else "%stage"
        self.stores: dict[int, list[int]] = {}
        places = (0,) if slots is None else slots.outputs
        for first, indices in zip(places, program.outputs, strict=True):
            for k, index in enumerate(indices):
                if index not in elsewhere:
                    self.stores.setdefault(index, []).append(first + k)
        self.elsewhere = elsewhere
        self.cleared = self._zeros()
        self._begin([], 0)

    def _zeros(self) -> list[tuple[int, int]]:
        """Take out of the stores zeros side by side; return their first slots and numbers."""
        found = []
        for index, slots in self.stores.items():
            one = self.code[index]
            if one.op != "const" or one.data or copysign(1.0, one.data) < 0.0:
                continue
            kept, ordered = [], sorted(slots)
            # of slots side by side the distance to their place in the list is the same
            for _, group in itertools.groupby(enumerate(ordered), lambda one: one[1] - one[0]):
                run = [slot for _, slot in group]
                if len(run) < CLEARED:
                    kept += run
                else:
                    found.append((run[0], len(run)))
            self.stores[index] = kept
        return found

    def _begin(self, head: list[str], end: int) -> None:
        self.lines, self.end = head, end
        self.names: dict[int, str] = {}
        self.sines: dict[int, tuple[str, str]] = {}
        self.serial = self.stored = 0

    def part(self, name: str, given: list[str], span: tuple[int, int]) -> str:
        """Return the function with the instructions of a span."""
        align = 8 * self.lanes
        takes = ", ".join(f"ptr noalias align {align} {one}" for one in given)
        self._begin([f"define internal void {name}({takes}) #0 {{"], span[1])
        for slot, number in self.cleared if span[0] == 0 else ():
            place = f"ptr align {align} {self.at(slot, self.results)}"
            size = f"i64 {number * align}"
            self.lines.append(f"  call void @llvm.memset.p0.i64({place}, i8 0, {size}, i1 false)")
        cuts = range(span[0] + BLOCK, span[1], BLOCK) if span[1] - span[0] > LONG else range(0)
        for index in range(*span):
            if index in cuts:
                self.lines += [
                    f"  %cut{index} = icmp ne ptr %stage, null",
                    f"  br i1 %cut{index}, label %block{index}, label %never",
                    f"block{index}:",
                ]
            self.instruction(index)
            for slot in self.stores.get(index, ()):
                self.store(self.value(index), slot, self.results)
            if index in self.crossing.slot:
                self.store(self.plain(index), self.crossing.slot[index])
        if self.watch is not None:
            self.look_at([self.value(k) for k in range(*span) if self.stores.get(k)])
        self.lines.append("  ret void")
        if cuts:
            self.lines.append("never:\n  ret void")
        return "\n".join([*self.lines, "}"])

    def value(self, index: int) -> str:
        """Return the name of a value, fetched if another part has formed it."""
        name = self.names.get(index)
        if name is None:
            one = self.code[index]
            if one.op == "const":
                name = splat(one.data)
            elif one.op == "load":
                name = self.load(self.crossing.inputs[one.data])
            elif one.op == "part":
                name = self.load(self.crossing.results[one.operands[0]] + one.data)
            else:
                name = self.load(self.crossing.slot[index])
                if one.op in CONDITIONS:
                    self.lines.append(f"  {name}c = fcmp une {self.type} {name}, zeroinitializer")
                    name += "c"
            self.names[index] = name
        return name

    def plain(self, index: int) -> str:
        """Return the name of a value as doubles: of a condition 1 or 0."""
        name = self.names[index]
        if self.code[index].op in CONDITIONS:
            bits = f"<{self.lanes} x i1>"
            self.lines.append(f"  {name}d = uitofp {bits} {name} to {self.type}")
            name += "d"
        return name

    def instruction(self, index: int) -> None:
        """Write one instruction."""
        one = self.code[index]
        if one.op in ("const", "load"):
            self.value(index)
            return
        if one.op == "part" or index in self.elsewhere:
            return  # fetched where it is needed, or written behind a call
        if one.op in ROUTINE_CALLS:
            self.call(index, one)
            return
        if one.op in SINES:
            if one.operands[0] not in self.sines:
                self.sine(index, one.operands[0])
            self.names[index] = self.sines[one.operands[0]][one.op == "cos"]
            return
        name, values = f"%v{index}", [self.value(k) for k in one.operands]
        if OPERATIONS[one.op].recipe is not None:
            given = ", ".join(f"{self.type} {value}" for value in values)
            call = f"@{helper_name(one)}_{self.lanes}({given})"
            self.lines.append(f"  {name} = call {self.type} {call}")
        else:
            self.lines.append(lines(one, name, values, self.lanes))
        self.names[index] = name

    def call(self, index: int, one: Instruction) -> None:
        """Call a routine; one with a condition, if that holds in some lane."""
        routine = self.crossing.routines[id(one.data)]
        for operand, slot in routine.passed[index]:
            self.store(self.value(operand), slot)
        name, place = f"@{self.function}_routine{routine.number}", self.crossing.results[index]
        call = f"  call void {name}(ptr %stage, ptr {self.at(place)})"
        if one.op == "call":
            self.lines.append(call)
            return
        bits, condition = f"<{self.lanes} x i1>", self.value(one.operands[0])
        some = f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({bits} {condition})"
        self.lines += [
            f"  %some{index} = {some}",
            f"  br i1 %some{index}, label %call{index}, label %after{index}",
            f"call{index}:",
            call,
        ]
        for output in self.held.get(index, ()):
            new = self.load(self.crossing.results[index] + output.entry)
            old = self.load(self.crossing.inputs[output.component])
            name = f"%held{output.choice}_{output.slot}"
            both = f"{self.type} {new}, {self.type} {old}"
            self.lines.append(f"  {name} = select {bits} {condition}, {both}")
            self.store(name, output.slot)
        self.lines += [f"  br label %after{index}", f"after{index}:"]

    def at(self, slot: int, base: str = "%stage") -> str:
        """Return the address of a slot."""
        self.serial += 1
        offset = slot * 8 * self.lanes
        self.lines.append(f"  %p{self.serial} = getelementptr i8, ptr {base}, i64 {offset}")
        return f"%p{self.serial}"

    def load(self, slot: int) -> str:
        """Read a vector of the stage."""
        place = self.at(slot)
        self.lines.append(
            f"  %l{self.serial} = load {self.type}, ptr {place}, align {8 * self.lanes}"
        )
        return f"%l{self.serial}"

    def store(self, name: str, slot: int, base: str = "%stage") -> None:
        """Write a vector."""
        place = self.at(slot, base)
        self.lines.append(f"  store {self.type} {name}, ptr {place}, align {8 * self.lanes}")
        self.stored += 1
        if self.stored % FENCE == 0:
            self.lines.append('  call void asm sideeffect "", "~{memory}"()')

    def look_at(self, outputs: list[str]) -> None:
        """Add 0 times each output to the watch: zero, until one of them is not finite."""
        assert self.watch is not None
        zero = splat(0.0)
        sums = [self.load(self.watch)] + [zero] * (WATCHES - 1)
        for k, name in enumerate(outputs):
            self.lines.append(
                f"  %w{k} = call {self.type} @llvm.fma.{self.suffix}"
                f"({self.type} {name}, {self.type} {zero}, {self.type} {sums[k % WATCHES]})"
            )
            sums[k % WATCHES] = f"%w{k}"
        for k in range(1, WATCHES):
            self.lines.append(f"  %y{k} = fadd {self.type} {sums[0]}, {sums[k]}")
            sums[0] = f"%y{k}"
        self.store(sums[0], self.watch)

    def sine(self, index: int, argument: int) -> None:
        """Form sine and cosine of one value."""
        if self.sine_lanes == self.lanes:
            pair = f"{{ {self.type}, {self.type} }}"
            self.lines += [
                f"  %sc{index} = call {pair} @sincos({self.type} {self.value(argument)})",
                f"  %s{index} = extractvalue {pair} %sc{index}, 0",
                f"  %c{index} = extractvalue {pair} %sc{index}, 1",
            ]
            self.sines[argument] = (f"%s{index}", f"%c{index}")
        else:
            self.shared_sines(f"g{index}", self.sines_from(index))

    def sines_from(self, first: int) -> list[int]:
        """Return the angles of sines and cosines that stand side by side, for one call."""
        found: list[int] = []
        for op, operands, _ in itertools.islice(self.code, first, self.end):
            if op in SINES:
                angle = operands[0]
                if angle >= first and self.code[angle].op not in ("load", "const"):
                    break  # it is itself one of these sines
                if angle not in found and angle not in self.sines:
                    found.append(angle)
            elif op not in ("load", "const"):
                break
        return found[: self.sine_lanes]

    def shared_sines(self, tag: str, members: list[int]) -> None:
        """Form sines and cosines of single states in the lanes of one call."""
        one, wide = self.type, self.wide
        assert self.lanes == 1
        vector = "zeroinitializer"
        for j, argument in enumerate(members):
            self.lines += [
                f"  %{tag}x{j} = extractelement {one} {self.value(argument)}, i64 0",
                f"  %{tag}v{j} = insertelement {wide} {vector}, double %{tag}x{j}, i64 {j}",
            ]
            vector = f"%{tag}v{j}"
        pair = f"{{ {wide}, {wide} }}"
        self.lines.append(f"  %{tag}p = call {pair} @sincos({wide} {vector})")
        for part in (0, 1):
            self.lines.append(f"  %{tag}r{part} = extractvalue {pair} %{tag}p, {part}")
        for j, argument in enumerate(members):
            for part in (0, 1):
                self.lines += [
                    f"  %{tag}d{part}_{j} = extractelement {wide} %{tag}r{part}, i64 {j}",
                    f"  %{tag}y{part}_{j} = insertelement {one} poison, "
                    f"double %{tag}d{part}_{j}, i64 0",
                ]
            self.sines[argument] = (f"%{tag}y0_{j}", f"%{tag}y1_{j}")
