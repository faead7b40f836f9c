"""LLVM text of the sine and cosine of a vector (see `sincos` for the method)."""

from __future__ import annotations

from mbd_bridge.kernels.elementary.sincos import COS, HALF_PI, LARGEST, ROUNDER, SIN, TWO_OVER_PI
from mbd_bridge.kernels.text.literals import splat


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

    def whole(value: int) -> str:
        return f"splat (i64 {value})"

    shifted = fma("%x", splat(TWO_OVER_PI), splat(ROUNDER))
    k = emit(f"fsub {t} {shifted}, {splat(ROUNDER)}")
    r = "%x"
    for part in HALF_PI:
        r = fma(k, splat(-part), r)
    z = emit(f"fmul {t} {r}, {r}")
    s, c = splat(SIN[-1]), splat(COS[-1])
    for p, q in zip(SIN[-2::-1], COS[-2::-1], strict=True):
        s, c = fma(z, s, splat(p)), fma(z, c, splat(q))
    cube = emit(f"fmul {t} {z}, {r}")
    s = fma(cube, s, r)
    c = fma(z, fma(z, c, splat(-0.5)), splat(1.0))
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
    large = emit(f"fcmp ogt {t} {size}, {splat(LARGEST)}")
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
