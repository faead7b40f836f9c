"""The LLVM module of a kernel: body, transfers and the loop over groups of states.

LLVM text that moves states between the caller's arrays and the staging area.

The caller's arrays are rows of components, one row a state; the body wants one vector a component,
one lane a state. Rows whose components stand side by side are moved half a vector at a time and
transposed in registers; any other layout goes element by element through a table of byte offsets.

A group has `lanes` states. In the last one, which may have fewer, the lanes without a state of
their own read the last state once more, and are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from mbd_bridge.kernels import llvm_operations
from mbd_bridge.kernels.instructions import Program
from mbd_bridge.kernels.llvm_body import body_text
from mbd_bridge.kernels.llvm_operations import helpers_text
from mbd_bridge.kernels.places import Slots, cross

Unit = Callable[[int, int, str, str, bool], list[str]]

GROUPS_AHEAD = 2
PREFETCHED_FROM = 12
"""Rows of this many components or more are asked for two groups ahead. The body lies between two
transfers, and the processor's own prefetching does not look that far; short rows it does find.
Measured: 32 degrees of freedom and arrays beyond the caches, 130 ns a state without, 97 ns with;
7 degrees of freedom, 13.2 ns without, 14.0 ns with."""

HEAD = """  %stride_at = getelementptr i8, ptr %array, i64 8
  %table_at = getelementptr i8, ptr %array, i64 16
  %origin = load ptr, ptr %array
  %stride = load i64, ptr %stride_at
  %table = load ptr, ptr %table_at
  %ahead = mul i64 %first, %stride
  %base = getelementptr i8, ptr %origin, i64 %ahead
  %plain = icmp eq ptr %table, null"""
"""What every transfer begins with: the array's description (see `llvm_module.ARRAY_BYTES`)."""


def declarations(lanes: int) -> str:
    """Return what the transfers refer to."""
    half = lanes // 2
    t, b, v = f"<{half} x double>", f"<{half} x i1>", f"v{half}f64"
    return (
        f"declare {t} @llvm.masked.load.{v}.p0(ptr, i32 immarg, {b}, {t})\n"
        f"declare void @llvm.masked.store.{v}.p0({t}, ptr, i32 immarg, {b})\n"
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
        "declare i64 @llvm.umin.i64(i64, i64)\n"
    )


def pack_text(lanes: int, size: int) -> str:
    """Return ``@pack_SIZE(array, slot, first)``: a full group of rows to lanes."""
    rows, element = f"<{lanes} x double>", []
    vector = "poison"
    for r in range(lanes):
        element.append(f"  %e_from{r} = getelementptr i8, ptr %row{r}, i64 %offset")
        element.append(f"  %e{r} = load double, ptr %e_from{r}, align 1")
        element.append(f"  %e_v{r} = insertelement {rows} {vector}, double %e{r}, i64 {r}")
        vector = f"%e_v{r}"
    element += [
        f"  %e_to = getelementptr {rows}, ptr %slot, i64 %e",
        f"  store {rows} {vector}, ptr %e_to, align {8 * lanes}",
    ]
    return _transfer("pack", lanes, size, _unit_in, element)


def unpack_text(lanes: int, size: int) -> str:
    """Return ``@unpack_SIZE(array, slot, first)``: lanes to a full group of rows."""
    rows = f"<{lanes} x double>"
    element = [
        f"  %e_out_of = getelementptr {rows}, ptr %slot, i64 %e",
        f"  %e_v = load {rows}, ptr %e_out_of, align {8 * lanes}",
    ]
    for r in range(lanes):
        element.append(f"  %e{r} = extractelement {rows} %e_v, i64 {r}")
        element.append(f"  %e_to{r} = getelementptr i8, ptr %row{r}, i64 %offset")
        element.append(f"  store double %e{r}, ptr %e_to{r}, align 1")
    return _transfer("unpack", lanes, size, _unit_out, element)


def _transfer(name: str, lanes: int, size: int, unit: Unit, element: list[str]) -> str:
    """Return a transfer of whole groups, by units of half a vector of columns.

    A last unit that is not whole is moved back over columns that are done already: cheaper than
    a mask.
    """
    half = lanes // 2
    whole = size - size % half
    lines = [
        f"define internal void @{name}_{size}(ptr %array, ptr noalias %slot, i64 %first) #0 {{",
        HEAD,
        "  %row0 = getelementptr i8, ptr %base, i64 0",
    ]
    for r in range(1, lanes):
        lines.append(f"  %row{r} = getelementptr i8, ptr %row{r - 1}, i64 %stride")
    lines.append(f"  %ahead_by = mul i64 %stride, {lanes * GROUPS_AHEAD}")
    first = "unit" if whole else "last"
    lines.append(f"  br i1 %plain, label %{first}, label %element")
    if whole:
        lines += [
            "unit:",
            "  %k = phi i64 [ 0, %0 ], [ %k_next, %unit ]",
            *unit(lanes, half, "u", "%k", size >= PREFETCHED_FROM),
            f"  %k_next = add i64 %k, {half}",
            f"  %k_more = icmp ult i64 %k_next, {whole}",
            f"  br i1 %k_more, label %unit, label %{'last' if size > whole else 'done'}",
        ]
    if size > whole:
        columns = min(size, half)
        lines += [
            "last:",
            *unit(lanes, columns, "l", str(size - columns), False),
            "  br label %done",
        ]
    lines += [
        "element:",
        "  %e = phi i64 [ 0, %0 ], [ %e_next, %element ]",
        "  %offset_at = getelementptr i64, ptr %table, i64 %e",
        "  %offset = load i64, ptr %offset_at",
        *element,
        "  %e_next = add i64 %e, 1",
        f"  %e_more = icmp ult i64 %e_next, {size}",
        "  br i1 %e_more, label %element, label %done",
        "done:",
        "  ret void\n}",
    ]
    return "\n".join(lines)


def _mask(half: int, columns: int) -> str:
    return f"<{', '.join('i1 ' + ('true' if j < columns else 'false') for j in range(half))}>"


def _unit_in(lanes: int, columns: int, tag: str, k: str, ask: bool) -> list[str]:
    """Load `columns` components of all rows from component k on, store them as vectors of lanes."""
    half = lanes // 2
    part, full = f"<{half} x double>", f"<{lanes} x double>"
    both = ", ".join(f"i32 {j}" for j in range(lanes))
    lines = [f"  %{tag}b = shl i64 {k}, 3"]
    for r in range(lanes):
        name = f"%{tag}h{r}"
        lines.append(f"  {name}p = getelementptr i8, ptr %row{r}, i64 %{tag}b")
        lines += _prefetch(name, 0) if ask else []
        if columns == half:
            lines.append(f"  {name} = load {part}, ptr {name}p, align 1")
        else:
            lines.append(
                f"  {name} = call {part} @llvm.masked.load.v{half}f64.p0(ptr {name}p, i32 1, "
                f"<{half} x i1> {_mask(half, columns)}, {part} zeroinitializer)"
            )
    vectors = []
    for r in range(half):
        vectors.append(f"%{tag}j{r}")
        lines.append(
            f"  %{tag}j{r} = shufflevector {part} %{tag}h{r}, {part} %{tag}h{r + half}, "
            f"<{lanes} x i32> <{both}>"
        )
    moved, vectors = _exchange(lanes, vectors, tag)
    lines += [*moved, f"  %{tag}s = getelementptr {full}, ptr %slot, i64 {k}"]
    for j in range(columns):
        lines += [
            f"  %{tag}s{j} = getelementptr {full}, ptr %{tag}s, i64 {j}",
            f"  store {full} {vectors[j]}, ptr %{tag}s{j}, align {8 * lanes}",
        ]
    return lines


def _unit_out(lanes: int, columns: int, tag: str, k: str, ask: bool) -> list[str]:
    """Load `columns` vectors of lanes from component k on, store them as columns of all rows."""
    half = lanes // 2
    part, full = f"<{half} x double>", f"<{lanes} x double>"
    lines = [f"  %{tag}b = shl i64 {k}, 3", f"  %{tag}s = getelementptr {full}, ptr %slot, i64 {k}"]
    vectors = ["poison"] * half
    for j in range(columns):
        lines += [
            f"  %{tag}s{j} = getelementptr {full}, ptr %{tag}s, i64 {j}",
            f"  %{tag}v{j} = load {full}, ptr %{tag}s{j}, align {8 * lanes}",
        ]
        vectors[j] = f"%{tag}v{j}"
    moved, vectors = _exchange(lanes, vectors, tag)
    lines += moved
    for r in range(lanes):
        name = f"%{tag}h{r}"
        pick = ", ".join(f"i32 {j + (half if r >= half else 0)}" for j in range(half))
        lines += [
            f"  {name}p = getelementptr i8, ptr %row{r}, i64 %{tag}b",
            *(_prefetch(name, 1) if ask else []),
            f"  {name} = shufflevector {full} {vectors[r % half]}, {full} poison, "
            f"<{half} x i32> <{pick}>",
        ]
        if columns == half:
            lines.append(f"  store {part} {name}, ptr {name}p, align 1")
        else:
            lines.append(
                f"  call void @llvm.masked.store.v{half}f64.p0({part} {name}, ptr {name}p, "
                f"i32 1, <{half} x i1> {_mask(half, columns)})"
            )
    return lines


def _prefetch(name: str, write: int) -> list[str]:
    """Ask for the memory that the same transfer will want some groups later."""
    return [
        f"  {name}a = getelementptr i8, ptr {name}p, i64 %ahead_by",
        f"  call void @llvm.prefetch.p0(ptr {name}a, i32 {write}, i32 3, i32 1)",
    ]


def _exchange(lanes: int, rows: list[str], tag: str) -> tuple[list[str], list[str]]:
    """Exchange lanes at distances lanes/4, ..., 1 between lanes/2 vectors.

    Loading or storing by halves is the exchange at distance lanes/2; all together transpose.
    """
    t = f"<{lanes} x double>"
    lines: list[str] = []
    bit = lanes // 4
    while bit:
        low = ", ".join(f"i32 {lanes + (j ^ bit) if j & bit else j}" for j in range(lanes))
        high = ", ".join(f"i32 {lanes + j if j & bit else j | bit}" for j in range(lanes))
        result = list(rows)
        for a in range(lanes // 2):
            if a & bit:
                continue
            for which, mask in ((a, low), (a | bit, high)):
                name = f"%{tag}x{bit}_{which}"
                lines.append(
                    f"  {name} = shufflevector {t} {rows[a]}, {t} {rows[a | bit]}, "
                    f"<{lanes} x i32> <{mask}>"
                )
                result[which] = name
        rows = result
        bit //= 2
    return lines, rows


def tail_text(lanes: int) -> str:
    """Return ``@pack_some`` and ``@unpack_some(array, slot, first, size, count)``: any group."""
    return "\n".join(_some(name, lanes) for name in ("pack_some", "unpack_some"))


def _some(name: str, lanes: int) -> str:
    into = name == "pack_some"
    user, stage = ("%at", "%lane_at") if into else ("%lane_at", "%at")
    rows = lanes if into else "%count"
    return f"""
define internal void @{name}(ptr %array, ptr %slot, i64 %first, i64 %size, i64 %count) #0 {{
{HEAD}
  %last = sub i64 %count, 1
  br label %row
row:
  %r = phi i64 [ 0, %0 ], [ %r_next, %row_end ]
  %near = call i64 @llvm.umin.i64(i64 %r, i64 %last)
  %step = mul i64 %near, %stride
  %here = getelementptr i8, ptr %base, i64 %step
  br label %element
element:
  %e = phi i64 [ 0, %row ], [ %e_next, %move ]
  %e_plain = shl i64 %e, 3
  br i1 %plain, label %move, label %look
look:
  %offset_at = getelementptr i64, ptr %table, i64 %e
  %looked = load i64, ptr %offset_at
  br label %move
move:
  %offset = phi i64 [ %e_plain, %element ], [ %looked, %look ]
  %at = getelementptr i8, ptr %here, i64 %offset
  %e_lane = mul i64 %e, {lanes}
  %e_index = add i64 %e_lane, %r
  %lane_at = getelementptr double, ptr %slot, i64 %e_index
  %value = load double, ptr {user}, align 1
  store double %value, ptr {stage}, align 1
  %e_next = add i64 %e, 1
  %e_more = icmp ult i64 %e_next, %size
  br i1 %e_more, label %element, label %row_end
row_end:
  %r_next = add i64 %r, 1
  %r_more = icmp ult i64 %r_next, {rows}
  br i1 %r_more, label %row, label %done
done:
  ret void
}}"""


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
        *(pack_text(lanes, size) for size in sorted({*in_sizes} - {0})),
        *(unpack_text(lanes, size) for size in sorted({*out_sizes} - {0})),
        tail_text(lanes),
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
        llvm_operations.declarations(lanes),
        declarations(lanes),
        llvm_operations.sincos_text(lanes),
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


# The LLVM module for one state at a time: scalar code with an entry that Python calls directly.
#
# A call through ctypes costs 60 ns and writing three vectors into buffers 60 ns each; on a small
# mechanism that is more than the computation. The module therefore has a function of the form that
# the interpreter itself calls (``METH_FASTCALL``), which takes the inputs through the buffer
# protocol: 15 ns and 13 ns an input. It uses only functions of the stable interface (from 3.11).

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
        llvm_operations.declarations(lanes),
        llvm_operations.declarations(1, library=False),
        llvm_operations.sincos_text(lanes),
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
