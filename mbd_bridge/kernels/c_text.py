"""A program as a C file that needs nothing but a C99 compiler and its mathematical library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isinf, isnan, prod
from typing import TYPE_CHECKING

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels.elementary_functions import (
    COS,
    HALF_PI,
    LARGEST_ANGLE,
    ROUNDER,
    SIN,
    TWO_OVER_PI,
)
from mbd_bridge.kernels.instructions import Program, depth_first, lower
from mbd_bridge.kernels.llvm_operations import helper_name, helpers_of, recipe_of
from mbd_bridge.kernels.ops import OPERATIONS, ROUTINE_CALLS, SINES
from mbd_bridge.kernels.recipe import Instruction
from mbd_bridge.kernels.table import PolynomialTable, arrays
from mbd_bridge.kernels.tracing import Graph

if TYPE_CHECKING:
    from mbd_bridge.kernels.kernel import Kernel


# C text of single operations, and of the functions behind those that are calls.

TYPES = {"double": "double", "condition": "int", "bits": "uint64_t"}
"""C types of the kinds of values."""


C = {
    "neg": "-{0}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "sqrt": "sqrt({0})",
    "fma": "fma({0}, {1}, {2})",
    "fms": "fma({0}, {1}, -{2})",
    "fnma": "fma(-{0}, {1}, {2})",
    "abs": "fabs({0})",
    "sign": "({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0} != {0} ? {0} : 0.0)",
    "min": "({0} != {0} ? {0} : {0} < {1} ? {0} : {1})",
    "max": "({0} != {0} ? {0} : {0} > {1} ? {0} : {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "not": "!{0}",
    "where": "({0} ? {1} : {2})",
    "bits": "{f}_bits({0})",
    "from_bits": "{f}_from_bits({0})",
    "bit_add": "{0} + {1}",
    "bit_and": "{0} & {1}",
    "bit_or": "{0} | {1}",
    "shift_left": "{0} << {1}",
    "shift_right": "{0} >> {1}",
    "bit_where": "({0} ? {1} : {2})",
    "bit_eq": "({0} == {1})",
    "look_up": "{d}[{0}]",
}
"""C expressions of operations: {0} ... the operands, {d} the data, {f} before the names of the
file's own functions."""


def literal(value: float) -> str:
    """Return a double as C99 writes it exactly."""
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = value.hex()
    return f"({text})" if text.startswith("-") else text


def names_of(program: Program, function: str) -> set[str]:
    """Return the names that the file's own functions and constants have."""
    names = {f"{function}_sincos", f"{function}_bits", f"{function}_from_bits"}
    for name in helpers_of(program.whole()):
        names |= {f"{function}_{name}{end}" for end in ("", "_knots", "_rows")}
    return names | {routine_name(function, k) for k in range(len(program.routines))}


def routine_name(function: str, number: int) -> str:
    """Return the name of the function of a routine, which the main function calls."""
    return f"{function}_routine{number}"


def expression(one: Instruction, values: list[str], function: str, data: str = "") -> str:
    """Return the C expression of an operation that is neither sine nor cosine."""
    if OPERATIONS[one.op].recipe is not None:
        return f"{function}_{helper_name(one)}({', '.join(values)})"
    return C[one.op].format(*values, f=function, d=data)


def functions_text(program: Program, function: str) -> str:
    """Return the functions that the program calls, exactly as the machine code forms them."""
    code = program.whole()
    helpers = helpers_of(code)
    texts = []
    for name, one in helpers.items():
        if isinstance(one.data, PolynomialTable):
            texts += [
                _array(f"{function}_{name}_{part}", numbers)
                for part, numbers in arrays(one.data).items()
            ]
        texts.append(_helper(f"{function}_{name}", one, function))
    calls = "\n".join(texts)
    moving = [text for name, text in _moving_bits(function).items() if f"{name}(" in calls]
    sines = [_sincos(function)] if any(one.op in SINES for one in code) else []
    return "\n".join([*sines, *moving, *texts])


def _moving_bits(function: str) -> dict[str, str]:
    """Return the functions between the bits of a double and the double of bits, by name."""
    return {
        f"{function}_bits": f"""\
/* The bits of a double. */
static uint64_t {function}_bits(double x)
{{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}}
""",
        f"{function}_from_bits": f"""\
/* The double of bits. */
static double {function}_from_bits(uint64_t bits)
{{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}}
""",
    }


def _array(name: str, numbers: Iterable[float]) -> str:
    values = ",\n    ".join(literal(float(x)) for x in numbers)
    return f"static const double {name}[] = {{\n    {values}\n}};\n"


def _helper(name: str, one: Instruction, function: str) -> str:
    names: list[str] = []
    arguments: list[str] = []
    lines: list[str] = []
    for index, step in enumerate(recipe_of(one)):
        if step.op == "load":
            names.append(f"_a{step.data}")
            arguments.append(f"double _a{step.data}")
        elif step.op == "const":
            names.append(literal(step.data))
        elif step.op == "whole":
            names.append(f"UINT64_C({step.data})")
        else:
            values = [names[k] for k in step.operands]
            formed = expression(step, values, function, f"{name}_{step.data}")
            names.append(f"_{index}")
            lines.append(f"    const {TYPES[OPERATIONS[step.op].kind]} _{index} = {formed};")
    return "\n".join(
        [
            f"static double {name}({', '.join(arguments)})",
            "{",
            *lines,
            f"    return {names[-1]};",
            "}\n",
        ]
    )


def _sincos(function: str) -> str:
    """Return sine and cosine exactly as the machine code forms them."""
    reduce = "\n".join(f"    r = fma(k, {literal(-part)}, r);" for part in HALF_PI)
    series = "\n".join(
        f"    s = fma(z, s, {literal(p)});\n    c = fma(z, c, {literal(q)});"
        for p, q in zip(SIN[-2::-1], COS[-2::-1], strict=True)
    )
    return f"""\
/* Sine and cosine: reduction by multiples of pi/2 in three parts, two polynomials; angles beyond
   {LARGEST_ANGLE:.0f} rad go to the library. */
static void {function}_sincos(double x, double *sine, double *cosine)
{{
    const double shifted = fma(x, {literal(TWO_OVER_PI)}, {literal(ROUNDER)});
    const double k = shifted - {literal(ROUNDER)};
    double r = x, z, s, c, swap;
    uint64_t bits;
    if (fabs(x) > {literal(LARGEST_ANGLE)}) {{
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }}
{reduce}
    z = r * r;
    s = {literal(SIN[-1])};
    c = {literal(COS[-1])};
{series}
    s = fma(z * r, s, r);
    c = fma(z, fma(z, c, {literal(-0.5)}), {literal(1.0)});
    memcpy(&bits, &shifted, sizeof bits);
    if (bits & 1) {{
        swap = s;
        s = c;
        c = swap;
    }}
    *sine = bits & 2 ? -s : s;
    *cosine = (bits + 1) & 2 ? -c : c;
}}
"""


# Names that no function and no argument of a C file may have, and what they are called instead.

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while asm typeof alignas alignof bool constexpr false nullptr static_assert thread_local
true typeof_unqual near far
and and_eq bitand bitor catch class compl concept const_cast decltype delete dynamic_cast explicit
export friend mutable namespace new noexcept not not_eq operator or or_eq private protected public
reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t
xor xor_eq
"""
"""Of C (to C23) and, since such files are included there, of C++."""

_BODY = "main i number"
"""What the file itself calls something."""

_MATHEMATICS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2
expm1 fabs fdim finite floor fma fmax fmaximum fmaximum_num fmin fminimum fminimum_num fmod frexp
gamma gamma_r hypot ilogb isinf isnan j0 j1 jn ldexp lgamma lgamma_r llogb llrint llround log log10
log1p log2 logb logp1 lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pow10
remainder remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh
tgamma trunc y0 y1 yn acospi asinpi atanpi atan2pi cospi sinpi tanpi compoundn pown powr rootn rsqrt
exp2m1 exp10m1 log2p1 log10p1 fromfp fromfpx ufromfp ufromfpx canonicalize totalorder totalordermag
getpayload setpayload setpayloadsig fmaximum_mag fminimum_mag fmaximum_mag_num fminimum_mag_num
fmaxmag fminmag cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cexpi cimag clog
clog10 conj cpow cproj creal csin csinh csqrt ctan ctanh ceilf fadd fsub fmul fdiv ffma fsqrt faddl
fsubl fmull fdivl ffmal fsqrtl dadd daddl dsubl dmull ddivl dfmal dsqrtl
"""
"""Each also with f and l behind it."""

_LIBRARY = """
abort abs access aligned_alloc alarm alloca asctime assert atexit atof atoi atol atoll basename bcmp
bcopy bsearch bzero calloc chdir clearerr clock close creat ctime difftime div dup errno exit ext
explicit_bzero fclose fdopen feof ferror fflush ffs ffsl ffsll fgetc fgetpos fgets fileno fopen fork
fprintf fprintf_unlocked fputc fputc_unlocked fputs fputs_unlocked fread free freopen fscanf fseek
fsetpos ftell fwrite fwrite_unlocked getc getchar getenv gets getline gmtime imaxabs imaxdiv index
isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
isxdigit iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace
iswupper iswxdigit kill labs ldiv link llabs lldiv localeconv localtime longjmp lseek malloc mblen
mbstowcs mbtowc memccpy memchr memcmp memcpy memfrob memmem memmove mempcpy memrchr memset
memset_explicit memalignment mktime offsetof open pause perror pipe posix_memalign printf
printf_unlocked putc putchar putchar_unlocked putc_unlocked puts puts_unlocked qsort quick_exit
raise rand rawmemchr read realloc reallocarray remove rename rewind rindex scanf setbuf setjmp
setlocale setvbuf signal signgam sigsetjmp sleep snprintf sprintf srand sscanf stdin stdout stderr
stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup
strdupa strerror strerror_l strerror_r strfmon strfromd strfromf strfroml strfry strftime strlcat
strlcpy strlen strncasecmp strncat strncmp strncpy strndup strndupa strnlen strpbrk strrchr strsep
strsignal strspn strstr strtod strtof strtok strtok_r strtol strtold strtoll strtoul strtoull
strverscmp strxfrm swab system time timezone tmpfile tmpnam toascii tolower toupper towlower
towupper ungetc unlink va_arg va_copy va_end va_start vfork vfprintf vfscanf vprintf vscanf
vsnprintf vsprintf vsscanf wcstombs wctomb write _exit execl execlp execle execv execvp execve
dcgettext dgettext gettext
"""

_TYPES_AND_MACROS = """
NULL NAN INFINITY SNAN HUGE_VAL HUGE_VALF HUGE_VALL MAXFLOAT DOMAIN SING OVERFLOW UNDERFLOW PLOSS
TLOSS EOF BUFSIZ FILE RAND_MAX EXIT_SUCCESS EXIT_FAILURE errno math_errhandling MATH_ERRNO
MATH_ERREXCEPT I complex imaginary linux unix i386 mips
FP_ILOGB0 FP_ILOGBNAN FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_INFINITE FP_NAN FP_NORMAL
FP_SUBNORMAL FP_ZERO FP_LLOGB0 FP_LLOGBNAN FP_INT_UPWARD FP_INT_DOWNWARD FP_INT_TOWARDZERO
FP_INT_TONEARESTFROMZERO FP_INT_TONEAREST SNANF SNANL
fpclassify isfinite isnormal signbit isgreater isgreaterequal isless islessequal islessgreater
isunordered issignaling iscanonical issubnormal iszero iseqsig
size_t ptrdiff_t max_align_t wint_t float_t double_t locale_t ssize_t off_t intptr_t uintptr_t
intmax_t uintmax_t WCHAR_MIN WCHAR_MAX WINT_MIN WINT_MAX SIG_ATOMIC_MIN SIG_ATOMIC_MAX
WCHAR_WIDTH WINT_WIDTH SIG_ATOMIC_WIDTH PTRDIFF_WIDTH SIZE_WIDTH
SIZE_MAX PTRDIFF_MIN PTRDIFF_MAX X_TLOSS unreachable
"""

_FAMILIES = re.compile(
    r"u?int(_least|_fast)?\d+_t|U?INT(_LEAST|_FAST|MAX|PTR)?\d*_(MIN|MAX|C|WIDTH)|M_\w*[0-9A-Za-z]|"
    r"(str|wcs|is|to|mem)[a-z]+_l|_?Float\d+x?|[du]?_?Decimal\d+|(isinf|isnan|finite)(d\d+|[fl])"
)
"""Names of integers of a width, their bounds, and constants of mathematics."""

_SUFFIXED = re.compile(r"(?P<name>\w+?)(_r)?(f\d+x?|d\d+x?|[fl])(_r)?")
"""A mathematical function of other floats."""

_MATHEMATICAL = frozenset(_MATHEMATICS.split())
_WORDS = _MATHEMATICAL.union(
    _KEYWORDS.split(), _BODY.split(), _LIBRARY.split(), _TYPES_AND_MACROS.split()
)


def is_reserved(name: str) -> bool:
    """Return whether C, C++, their libraries or common compilers call something by this name."""
    if name in _WORDS or _FAMILIES.fullmatch(name):
        return True
    other = _SUFFIXED.fullmatch(name)
    return other is not None and other["name"] in _MATHEMATICAL


def identifier(text: str, taken: Collection[str]) -> str:
    """Return a C identifier that resembles `text`, is not reserved and not taken."""
    # The body's own names begin with an underscore, these never do.
    plain = re.sub(r"[^0-9A-Za-z_]", "_", text).lstrip("_")
    if not plain or plain[0].isdigit():
        plain = "x" + plain
    while plain in taken or is_reserved(plain):
        plain += "_"
    return plain


def c_source(
    what: Graph | Kernel,
    name: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    notes: str = "",
    batch: bool = True,
) -> str:
    """Return a self-contained C99 file with the same operations in the same order.

    Compiled without contraction and reassociation (``cc -O2 -march=native -ffp-contract=off -c
    file.c``) it gives the digits of the kernel. Its functions are ``NAME`` for one state and
    ``NAME_batch`` for rows of states.

    Parameters
    ----------
    what : a graph, or a kernel (one from the cache traces its function again)
    name : of the C function; None: the kernel's name
    inputs, outputs : names of the arguments; None: the kernel's names
    notes : units, frames and conventions, for the comment at the head
    batch : with the function for rows of states
    """
    if isinstance(what, Graph):
        program, own_name = depth_first(lower(what)), "kernel"
        counts: Mapping[str, int] = what.counts()
        own_outputs: Sequence[str] = [f"out{k}" for k in range(len(what.shapes))]
    else:
        program, own_name, own_outputs = what.program, what.name, what.outputs
        counts = what.counts
    function = identifier(own_name if name is None else name, ())
    taken = {function, f"{function}_batch", *names_of(program, function)}
    given = _names(inputs, list(program.inputs), taken)
    results = _names(outputs, list(own_outputs), taken)
    return "\n".join(
        [
            _head(program, counts, function, given, results, notes),
            "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n",
            _prototypes(function, given, results, batch),
            functions_text(program, function),
            *(_routine(one, function, k) for k, one in enumerate(program.routines)),
            _one(program, function, given, results),
            *([_batch(program, function, given, results)] if batch else []),
        ]
    )


def _names(given: Sequence[str] | None, default: list[str], taken: set[str]) -> list[str]:
    chosen = default if given is None else list(given)
    if len(chosen) != len(default):
        raise KernelError(f"expected {len(default)} names, got {len(chosen)}: {chosen}")
    found = []
    for name in chosen:
        found.append(identifier(name, taken))
        taken.add(found[-1])
    return found


BUILD = """\
Build: cc -std=c99 -O2 -march=native -ffp-contract=off -c file.c    (link with -lm)

-march=native (or any target with fused multiply-adds, such as -mfma) makes one instruction of
each fma(). Without it the file runs everywhere with the same digits, but calls a library
function for each: several times slower. -ffp-contract=off keeps the compiler from fusing
further products and sums, which would change last digits; so would -ffast-math.
"""
"""What the head of a C file says of the compiler."""


def _head(
    program: Program,
    counts: Mapping[str, int],
    function: str,
    given: list[str],
    results: list[str],
    notes: str,
) -> str:
    lines = [f"{function}: straight-line code made by mbd_bridge.", "", *BUILD.splitlines(), ""]
    for name, size in zip(given, program.inputs.values(), strict=True):
        lines.append(f"in   {name}[{size}]")
    for name, shape in zip(results, program.shapes, strict=True):
        extent = "".join(f"[{n}]" for n in shape) or "[1]"
        lines.append(f"out  {name}{extent}{', rows one after the other' if len(shape) > 1 else ''}")
    total = sum(counts.values())
    kinds = ", ".join(f"{number} {op}" for op, number in sorted(counts.items()))
    what = "operations for one state (a fused multiply-add is two)"
    lines += ["", f"{total} {what}: {kinds}" if total else "no operations"]
    if notes:
        lines += ["", *notes.splitlines()]
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    # A question mark after another could be a trigraph, a backslash at the end joins lines.
    safe = [line.replace("??", "? ?").rstrip("\\") for line in safe]
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in safe) + "\n */"


def _arguments(given: Iterable[str], results: Iterable[str]) -> list[str]:
    return [f"const double *{name}" for name in given] + [f"double *{name}" for name in results]


def _prototypes(function: str, given: list[str], results: list[str], batch: bool) -> str:
    one = ", ".join(_arguments(given, results)) or "void"
    many = ", ".join(["size_t number", *_arguments(given, results)])
    rows = "/* Rows of states in C order, one after the other. */\n"
    return f"void {function}({one});\n" + (
        f"{rows}void {function}_batch({many});\n" if batch else ""
    )


def _routine(program: Program, function: str, number: int) -> str:
    """Return the function of a routine, which the main function calls several times."""
    (size,), (indices,) = program.inputs.values(), program.outputs
    lines, names = _body(program, [f"x[{k}]" for k in range(size)], function)
    lines += [f"    y[{k}] = {names[index]};" for k, index in enumerate(indices)]
    head = f"static void {routine_name(function, number)}(const double *x, double *y)"
    return "\n".join([head, "{", *lines, "}\n"])


def _one(program: Program, function: str, given: list[str], results: list[str]) -> str:
    component = [
        f"{name}[{k}]"
        for name, size in zip(given, program.inputs.values(), strict=True)
        for k in range(size)
    ]
    lines, names = _body(program, component, function)
    used = {one.data for one in program.instructions if one.op == "load"}
    first = 0
    for name, size in zip(given, program.inputs.values(), strict=True):
        if not used.intersection(range(first, first + size)):
            lines.append(f"    (void){name};")
        first += size
    for name, indices in zip(results, program.outputs, strict=True):
        lines += [f"    {name}[{k}] = {names[index]};" for k, index in enumerate(indices)]
        if not indices:
            lines.append(f"    (void){name};")
    head = f"void {function}({', '.join(_arguments(given, results)) or 'void'})"
    return "\n".join([head, "{", *lines, "}\n"])


def _body(program: Program, component: Sequence[str], function: str) -> tuple[list[str], list[str]]:
    """Return the statements that compute a program's instructions, and what each is called.

    Parameters
    ----------
    component : C expressions of the numbers of the inputs
    """
    routines = {id(one): k for k, one in enumerate(program.routines)}
    names: list[str] = []
    lines: list[str] = []
    sines: dict[int, tuple[str, str]] = {}
    for index, one in enumerate(program.instructions):
        if one.op == "const":
            names.append(literal(one.data))
            continue
        name = f"_{index}"
        values = [names[k] for k in one.operands]
        if one.op in SINES:
            angle = one.operands[0]
            if angle not in sines:
                sines[angle] = (f"_s{index}", f"_c{index}")
                lines.append(f"    double _s{index}, _c{index};")
                lines.append(f"    {function}_sincos({values[0]}, &_s{index}, &_c{index});")
            names.append(sines[angle][one.op == "cos"])
            continue
        if one.op in ROUTINE_CALLS:
            names.append(f"_y{index}")
            called = routine_name(function, routines[id(one.data)])
            given = ", ".join(names[k] for k in one.arguments)
            size, condition = len(one.data.outputs[0]), ""
            start = ""
            if one.op == "call_if":
                start, condition = " = {0.0}", f"if ({values[0]}) "
            lines.append(f"    const double _x{index}[] = {{{given}}};")
            lines.append(f"    double _y{index}[{size}]{start};")
            lines.append(f"    {condition}{called}(_x{index}, _y{index});")
            continue
        if one.op == "part":
            names.append(f"{values[0]}[{one.data}]")
            continue
        formed = component[one.data] if one.op == "load" else expression(one, values, function)
        lines.append(f"    const {TYPES[OPERATIONS[one.op].kind]} {name} = {formed};")
        names.append(name)
    return lines, names


def _batch(program: Program, function: str, given: list[str], results: list[str]) -> str:
    sizes = [*program.inputs.values(), *(prod(shape) for shape in program.shapes)]
    calls = ", ".join(
        f"{name} + {size} * i" for name, size in zip([*given, *results], sizes, strict=True)
    )
    return f"""\
void {function}_batch({", ".join(["size_t number", *_arguments(given, results)])})
{{
    size_t i;
    for (i = 0; i < number; i++) {{
        {function}({calls});
    }}
}}
"""
