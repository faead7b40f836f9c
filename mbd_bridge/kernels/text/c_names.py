"""Names that no function and no argument of a C file may have, and what they are called instead."""

from __future__ import annotations

import re
from collections.abc import Collection

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
