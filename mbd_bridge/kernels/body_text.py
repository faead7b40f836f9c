"""LLVM text of a program's straight-line body over vectors of states."""

from __future__ import annotations

import struct

from mbd_bridge.kernels.program import Program
from mbd_bridge.kernels.sincos import COS, HALF_PI, LARGEST, ROUNDER, SIN, TWO_OVER_PI

_PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_FUSED = {"fma": (False, False), "fms": (False, True), "fnma": (True, False)}
"""Whether the first factor and the summand change sign."""


def literal(value: float) -> str:
    """Return a double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def splat(value: float, lanes: int) -> str:
    """Return a vector constant with the same value in every lane."""
    return f"splat (double {literal(value)})"


def declarations(lanes: int, library: bool = True) -> str:
    """Return what body and sine refer to; without the C library's functions if asked."""
    v = f"v{lanes}f64"
    t = f"<{lanes} x double>"
    return (
        f"declare {t} @llvm.fma.{v}({t}, {t}, {t})\n"
        f"declare {t} @llvm.sqrt.{v}({t})\n"
        f"declare {t} @llvm.fabs.{v}({t})\n"
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)\n"
    ) + ("declare double @sin(double)\ndeclare double @cos(double)\n" if library else "")


def sincos_text(lanes: int) -> str:
    """Return ``@sincos``: the sine and the cosine of a vector of angles."""
    t, i, b = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>"
    lines: list[str] = []
    count = 0

    def emit(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %t{count} = {text}")
        return f"%t{count}"

    def fma(a: str, x: str, c: str) -> str:
        return emit(f"call {t} @llvm.fma.v{lanes}f64({t} {a}, {t} {x}, {t} {c})")

    def const(value: float) -> str:
        return splat(value, lanes)

    def whole(value: int) -> str:
        return f"splat (i64 {value})"

    shifted = fma("%x", const(TWO_OVER_PI), const(ROUNDER))
    k = emit(f"fsub {t} {shifted}, {const(ROUNDER)}")
    r = "%x"
    for part in HALF_PI:
        r = fma(k, const(-part), r)
    z = emit(f"fmul {t} {r}, {r}")
    s, c = const(SIN[-1]), const(COS[-1])
    for p, q in zip(SIN[-2::-1], COS[-2::-1], strict=True):
        s, c = fma(z, s, const(p)), fma(z, c, const(q))
    cube = emit(f"fmul {t} {z}, {r}")
    s = fma(cube, s, r)
    c = fma(z, fma(z, c, const(-0.5)), const(1.0))
    bits = emit(f"bitcast {t} {shifted} to {i}")
    odd = emit(f"trunc {i} {bits} to {b}")
    next_bits = emit(f"add {i} {bits}, {whole(1)}")
    results = []
    for even_value, odd_value, quadrant in ((s, c, bits), (c, s, next_bits)):
        value = emit(f"select {b} {odd}, {t} {odd_value}, {t} {even_value}")
        flag = emit(f"and {i} {quadrant}, {whole(2)}")
        sign = emit(f"shl {i} {flag}, {whole(62)}")
        raw = emit(f"bitcast {t} {value} to {i}")
        turned = emit(f"xor {i} {raw}, {sign}")
        results.append(emit(f"bitcast {i} {turned} to {t}"))
    size = emit(f"call {t} @llvm.fabs.v{lanes}f64({t} %x)")
    large = emit(f"fcmp ogt {t} {size}, {const(LARGEST)}")
    some = emit(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({b} {large})")
    pair = f"{{ {t}, {t} }}"
    body = "\n".join(lines)
    return f"""
define internal {pair} @sincos({t} %x) #0 {{
{body}
  br i1 {some}, label %slow, label %done
slow:
  br label %lane
lane:
  %j = phi i64 [ 0, %slow ], [ %j1, %next ]
  %s0 = phi {t} [ {results[0]}, %slow ], [ %s2, %next ]
  %c0 = phi {t} [ {results[1]}, %slow ], [ %c2, %next ]
  %is = extractelement {b} {large}, i64 %j
  br i1 %is, label %ask, label %next
ask:
  %a = extractelement {t} %x, i64 %j
  %sa = call double @sin(double %a)
  %ca = call double @cos(double %a)
  %s1 = insertelement {t} %s0, double %sa, i64 %j
  %c1 = insertelement {t} %c0, double %ca, i64 %j
  br label %next
next:
  %s2 = phi {t} [ %s0, %lane ], [ %s1, %ask ]
  %c2 = phi {t} [ %c0, %lane ], [ %c1, %ask ]
  %j1 = add i64 %j, 1
  %more = icmp ult i64 %j1, {lanes}
  br i1 %more, label %lane, label %done
done:
  %s = phi {t} [ {results[0]}, %0 ], [ %s2, %next ]
  %c = phi {t} [ {results[1]}, %0 ], [ %c2, %next ]
  %p0 = insertvalue {pair} poison, {t} %s, 0
  %p1 = insertvalue {pair} %p0, {t} %c, 1
  ret {pair} %p1
}}
"""


def body_text(
    program: Program,
    lanes: int,
    slots: tuple[tuple[int, ...], tuple[int, ...]],
    sine_lanes: int | None = None,
) -> str:
    """Return ``@body(stage)``: reads and writes vectors in a staging area.

    Parameters
    ----------
    program : what to compute
    lanes : states in a vector
    slots : the first slot (vector of `lanes` doubles) of each input and each output in the stage
    sine_lanes : lanes of ``@sincos`` where they are not `lanes`; with a single state (`lanes` = 1)
        the sines of several inputs share its lanes
    """
    writer = _Body(program, lanes, lanes if sine_lanes is None else sine_lanes)
    width = 8 * lanes
    writer.lines.append(f"define internal void @body(ptr noalias align {width} %stage) #0 {{")
    writer.load_at = [
        (first + k) * width
        for first, size in zip(slots[0], program.inputs.values(), strict=True)
        for k in range(size)
    ]
    if writer.sine_lanes != lanes:
        writer.sines_of_inputs()
    for index in range(len(program.instructions)):
        writer.instruction(index)
    serial = 0
    for first, indices in zip(slots[1], program.outputs, strict=True):
        for k, index in enumerate(indices):
            writer.store(serial, writer.names[index], (first + k) * width)
            serial += 1
    writer.lines.append("  ret void\n}")
    return "\n".join(writer.lines)


class _Body:
    """Writes one instruction after the other."""

    def __init__(self, program: Program, lanes: int, sine_lanes: int) -> None:
        self.code = program.instructions
        self.lanes, self.sine_lanes = lanes, sine_lanes
        self.type, self.suffix = f"<{lanes} x double>", f"v{lanes}f64"
        self.wide = f"<{sine_lanes} x double>"
        self.names: list[str] = []
        self.lines: list[str] = []
        self.load_at: list[int] = []
        self.sines: dict[int, tuple[str, str]] = {}

    def instruction(self, index: int) -> None:
        op, operands, value = self.code[index]
        name, t = f"%v{index}", self.type
        if op == "const":
            self.names.append(splat(value, self.lanes))
            return
        self.names.append(name)
        if op == "load":
            self.load(name, operands[0])
            return
        values = [self.names[k] for k in operands]
        if op in _PLAIN:
            self.lines.append(f"  {name} = {_PLAIN[op]} {t} {values[0]}, {values[1]}")
        elif op in _FUSED:
            minus_product, minus_sum = _FUSED[op]
            a, b, c = values
            if minus_product:
                self.lines.append(f"  %n{index} = fneg {t} {a}")
                a = f"%n{index}"
            if minus_sum:
                self.lines.append(f"  %m{index} = fneg {t} {c}")
                c = f"%m{index}"
            self.lines.append(
                f"  {name} = call {t} @llvm.fma.{self.suffix}({t} {a}, {t} {b}, {t} {c})"
            )
        elif op == "neg":
            self.lines.append(f"  {name} = fneg {t} {values[0]}")
        elif op == "sqrt":
            self.lines.append(f"  {name} = call {t} @llvm.sqrt.{self.suffix}({t} {values[0]})")
        else:
            assert op in ("sin", "cos")
            if operands[0] not in self.sines:
                self.sine(index, operands[0])
            self.names[-1] = self.sines[operands[0]][op == "cos"]

    def load(self, name: str, component: int) -> None:
        width = 8 * self.lanes
        self.lines.append(
            f"  {name}p = getelementptr i8, ptr %stage, i64 {self.load_at[component]}"
        )
        self.lines.append(f"  {name} = load {self.type}, ptr {name}p, align {width}")

    def store(self, serial: int, name: str, offset: int) -> None:
        width = 8 * self.lanes
        self.lines.append(f"  %o{serial} = getelementptr i8, ptr %stage, i64 {offset}")
        self.lines.append(f"  store {self.type} {name}, ptr %o{serial}, align {width}")

    def sine(self, index: int, argument: int) -> None:
        """Form sine and cosine of one value."""
        if self.sine_lanes == self.lanes:
            pair = f"{{ {self.type}, {self.type} }}"
            self.lines += [
                f"  %p{index} = call {pair} @sincos({self.type} {self.names[argument]})",
                f"  %s{index} = extractvalue {pair} %p{index}, 0",
                f"  %c{index} = extractvalue {pair} %p{index}, 1",
            ]
            self.sines[argument] = (f"%s{index}", f"%c{index}")
        else:
            self.shared_sines(f"g{index}", [(argument, self.names[argument])])

    def sines_of_inputs(self) -> None:
        """Form the sines and cosines of inputs, several in one call."""
        arguments = sorted(
            {
                operands[0]
                for op, operands, _ in self.code
                if op in ("sin", "cos") and self.code[operands[0]].op == "load"
            }
        )
        for first in range(0, len(arguments), self.sine_lanes):
            members = []
            for argument in arguments[first : first + self.sine_lanes]:
                self.load(f"%early{argument}", self.code[argument].operands[0])
                members.append((argument, f"%early{argument}"))
            self.shared_sines(f"e{first}", members)

    def shared_sines(self, tag: str, members: list[tuple[int, str]]) -> None:
        """Form sines and cosines of single states in the lanes of one call."""
        one, wide = self.type, self.wide
        assert self.lanes == 1
        vector = "zeroinitializer"
        for j, (_, name) in enumerate(members):
            self.lines += [
                f"  %{tag}x{j} = extractelement {one} {name}, i64 0",
                f"  %{tag}v{j} = insertelement {wide} {vector}, double %{tag}x{j}, i64 {j}",
            ]
            vector = f"%{tag}v{j}"
        pair = f"{{ {wide}, {wide} }}"
        self.lines.append(f"  %{tag}p = call {pair} @sincos({wide} {vector})")
        for part in (0, 1):
            self.lines.append(f"  %{tag}r{part} = extractvalue {pair} %{tag}p, {part}")
        for j, (argument, _) in enumerate(members):
            for part in (0, 1):
                self.lines += [
                    f"  %{tag}d{part}_{j} = extractelement {wide} %{tag}r{part}, i64 {j}",
                    f"  %{tag}y{part}_{j} = insertelement {one} poison, "
                    f"double %{tag}d{part}_{j}, i64 0",
                ]
            self.sines[argument] = (f"%{tag}y0_{j}", f"%{tag}y1_{j}")
