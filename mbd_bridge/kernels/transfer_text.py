"""LLVM text that moves states between the caller's arrays and the staging area.

The caller's arrays are rows of components, one row a state; the body wants one vector a component,
one lane a state. Rows whose components stand side by side are loaded whole and transposed in
registers; any other layout goes element by element through a table of byte offsets.

A group has up to `lanes` states. In the last group the lanes without a state of their own read the
last state once more, and are not written.
"""

from __future__ import annotations


def transpose(lanes: int, rows: list[str], prefix: str) -> tuple[list[str], list[str]]:
    """Return LLVM lines that transpose `lanes` vectors, and the names of the results."""
    t = f"<{lanes} x double>"
    lines: list[str] = []
    bit = lanes // 2
    while bit:
        low = ", ".join(f"i32 {lanes + (j ^ bit) if j & bit else j}" for j in range(lanes))
        high = ", ".join(f"i32 {lanes + j if j & bit else j | bit}" for j in range(lanes))
        result = list(rows)
        for a in range(lanes):
            if a & bit:
                continue
            b = a | bit
            for which, mask in ((a, low), (b, high)):
                name = f"%{prefix}{bit}_{which}"
                lines.append(
                    f"  {name} = shufflevector {t} {rows[a]}, {t} {rows[b]}, "
                    f"<{lanes} x i32> <{mask}>"
                )
                result[which] = name
        rows = result
        bit //= 2
    return lines, rows


def declarations(lanes: int) -> str:
    """Return what `pack_text` and `unpack_text` refer to."""
    t, b, v = f"<{lanes} x double>", f"<{lanes} x i1>", f"v{lanes}f64"
    return (
        f"declare {t} @llvm.masked.load.{v}.p0(ptr, i32 immarg, {b}, {t})\n"
        f"declare void @llvm.masked.store.{v}.p0({t}, ptr, i32 immarg, {b})\n"
        "declare i64 @llvm.umin.i64(i64, i64)\n"
    )


def _row_addresses(lanes: int) -> list[str]:
    """Return lines that form ``%row0`` ... from base, stride and the number of states left."""
    lines = []
    for r in range(lanes):
        lines.append(f"  %near{r} = call i64 @llvm.umin.i64(i64 {r}, i64 %last)")
        lines.append(f"  %index{r} = add i64 %first, %near{r}")
        lines.append(f"  %step{r} = mul i64 %index{r}, %stride")
        lines.append(f"  %row{r} = getelementptr i8, ptr %base, i64 %step{r}")
    return lines


_HEAD = """  %stride_at = getelementptr i8, ptr %array, i64 8
  %table_at = getelementptr i8, ptr %array, i64 16
  %base = load ptr, ptr %array
  %stride = load i64, ptr %stride_at
  %table = load ptr, ptr %table_at
  %last = sub i64 %count, 1"""


def _chunk_mask(lanes: int) -> list[str]:
    """Return lines that form ``%mask``: the columns of this chunk that exist."""
    ramp = ", ".join(f"i64 {j}" for j in range(lanes))
    return [
        "  %left = sub i64 %size, %k",
        f"  %left_0 = insertelement <{lanes} x i64> poison, i64 %left, i64 0",
        f"  %left_v = shufflevector <{lanes} x i64> %left_0, <{lanes} x i64> poison, "
        f"<{lanes} x i32> zeroinitializer",
        f"  %mask = icmp ugt <{lanes} x i64> %left_v, <{ramp}>",
    ]


def pack_text(lanes: int) -> str:
    """Return ``@pack(array, size, slot, first, count)``: rows to lanes."""
    t, b, v = f"<{lanes} x double>", f"<{lanes} x i1>", f"v{lanes}f64"
    lines = [
        "define internal void @pack(ptr %array, i64 %size, ptr noalias %slot, i64 %first, "
        "i64 %count) #0 {",
        _HEAD,
        *_row_addresses(lanes),
        "  %plain = icmp eq ptr %table, null",
        "  br i1 %plain, label %chunk, label %element",
        "chunk:",
        "  %k = phi i64 [ 0, %0 ], [ %k_next, %chunk ]",
        *_chunk_mask(lanes),
        "  %skip = shl i64 %k, 3",
    ]
    rows = []
    for r in range(lanes):
        lines.append(f"  %from{r} = getelementptr i8, ptr %row{r}, i64 %skip")
        lines.append(
            f"  %r{r} = call {t} @llvm.masked.load.{v}.p0(ptr %from{r}, i32 1, {b} %mask, "
            f"{t} zeroinitializer)"
        )
        rows.append(f"%r{r}")
    moved, columns = transpose(lanes, rows, "x")
    lines += moved
    lines.append(f"  %into = getelementptr {t}, ptr %slot, i64 %k")
    for j, column in enumerate(columns):
        lines.append(f"  %to{j} = getelementptr {t}, ptr %into, i64 {j}")
        lines.append(f"  store {t} {column}, ptr %to{j}, align {8 * lanes}")
    lines += [
        f"  %k_next = add i64 %k, {lanes}",
        "  %k_more = icmp ult i64 %k_next, %size",
        "  br i1 %k_more, label %chunk, label %done",
        "element:",
        "  %e = phi i64 [ 0, %0 ], [ %e_next, %element ]",
        "  %offset_at = getelementptr i64, ptr %table, i64 %e",
        "  %offset = load i64, ptr %offset_at",
    ]
    vector = "poison"
    for r in range(lanes):
        lines.append(f"  %e_from{r} = getelementptr i8, ptr %row{r}, i64 %offset")
        lines.append(f"  %e{r} = load double, ptr %e_from{r}, align 1")
        lines.append(f"  %e_v{r} = insertelement {t} {vector}, double %e{r}, i64 {r}")
        vector = f"%e_v{r}"
    lines += [
        f"  %e_to = getelementptr {t}, ptr %slot, i64 %e",
        f"  store {t} {vector}, ptr %e_to, align {8 * lanes}",
        "  %e_next = add i64 %e, 1",
        "  %e_more = icmp ult i64 %e_next, %size",
        "  br i1 %e_more, label %element, label %done",
        "done:",
        "  ret void\n}",
    ]
    return "\n".join(lines)


def unpack_text(lanes: int) -> str:
    """Return ``@unpack(array, size, slot, first, count)``: lanes to rows."""
    t, b, v = f"<{lanes} x double>", f"<{lanes} x i1>", f"v{lanes}f64"
    lines = [
        "define internal void @unpack(ptr %array, i64 %size, ptr noalias %slot, i64 %first, "
        "i64 %count) #0 {",
        _HEAD,
        *_row_addresses(lanes),
        "  %plain = icmp eq ptr %table, null",
        f"  %full = icmp eq i64 %count, {lanes}",
        "  %whole = and i1 %plain, %full",
        "  br i1 %whole, label %chunk, label %row",
        "chunk:",
        "  %k = phi i64 [ 0, %0 ], [ %k_next, %chunk ]",
        *_chunk_mask(lanes),
        "  %skip = shl i64 %k, 3",
        f"  %out_of = getelementptr {t}, ptr %slot, i64 %k",
    ]
    columns = []
    for j in range(lanes):
        lines.append(f"  %from{j} = getelementptr {t}, ptr %out_of, i64 {j}")
        lines.append(f"  %c{j} = load {t}, ptr %from{j}, align {8 * lanes}")
        columns.append(f"%c{j}")
    moved, rows = transpose(lanes, columns, "x")
    lines += moved
    for r, row in enumerate(rows):
        lines.append(f"  %to{r} = getelementptr i8, ptr %row{r}, i64 %skip")
        lines.append(
            f"  call void @llvm.masked.store.{v}.p0({t} {row}, ptr %to{r}, i32 1, {b} %mask)"
        )
    lines += [
        f"  %k_next = add i64 %k, {lanes}",
        "  %k_more = icmp ult i64 %k_next, %size",
        "  br i1 %k_more, label %chunk, label %done",
        "row:",
        "  %r = phi i64 [ 0, %0 ], [ %r_next, %row_end ]",
        "  %at = add i64 %first, %r",
        "  %at_bytes = mul i64 %at, %stride",
        "  %to = getelementptr i8, ptr %base, i64 %at_bytes",
        "  br label %element",
        "element:",
        "  %e = phi i64 [ 0, %row ], [ %e_next, %store ]",
        "  %e_plain = shl i64 %e, 3",
        "  br i1 %plain, label %store, label %look",
        "look:",
        "  %offset_at = getelementptr i64, ptr %table, i64 %e",
        "  %looked = load i64, ptr %offset_at",
        "  br label %store",
        "store:",
        "  %offset = phi i64 [ %e_plain, %element ], [ %looked, %look ]",
        f"  %e_lane = mul i64 %e, {lanes}",
        "  %e_index = add i64 %e_lane, %r",
        "  %e_from = getelementptr double, ptr %slot, i64 %e_index",
        "  %value = load double, ptr %e_from",
        "  %e_to = getelementptr i8, ptr %to, i64 %offset",
        "  store double %value, ptr %e_to, align 1",
        "  %e_next = add i64 %e, 1",
        "  %e_more = icmp ult i64 %e_next, %size",
        "  br i1 %e_more, label %element, label %row_end",
        "row_end:",
        "  %r_next = add i64 %r, 1",
        "  %r_more = icmp ult i64 %r_next, %count",
        "  br i1 %r_more, label %row, label %done",
        "done:",
        "  ret void\n}",
    ]
    return "\n".join(lines)
