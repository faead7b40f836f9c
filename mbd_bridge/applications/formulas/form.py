"""Sums of products in normal form: what the terms of a mechanism's equations are, exactly.

    f = Σ c · Π variables^powers · exp(i Σ k_j q_j)

Angles q_j occur in harmonics alone, everything else (parameters, displacements, modal coordinates)
in powers. Products of sines and cosines become sums of harmonics of sums of angles, in which equal
terms meet and cancel: what is zero is seen to be zero, and what is left is short.

What is no such sum (the length of a rod: a square root) is a variable of its own, of which the
derivatives are known.
"""

from __future__ import annotations

import cmath
import keyword
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mbd_bridge.base.errors import ModelError, visible
from mbd_bridge.base.extras import needed
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.applications.formulas.model import SymbolicModel


Powers: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers of variables and their powers, in order, none of them 0."""
Harmonic: TypeAlias = tuple[tuple[int, float], ...]
"""Numbers of angles and their factors, in order, none of them 0."""
Key: TypeAlias = tuple[Powers, Harmonic]

NOTHING = 1e-13
"""What is left of a sum, relative to its terms, that is the rounding of their cancelling."""
MOST_TERMS = 200_000
"""Terms of one sum: beyond it nobody reads them."""


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of terms; see above."""

    terms: Mapping[Key, complex]

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def number(self) -> float | None:
        """The value of a form without variables; None of another."""
        if not self.terms:
            return 0.0
        if self.terms.keys() == {((), ())}:
            return self.terms[(), ()].real
        return None


ZERO = Form({})


@dataclass(slots=True)
class Opaque:
    """A function of forms that is a variable: its name, operands, and derivative by each."""

    name: str
    operands: tuple[Form, ...]
    partials: tuple[Form, ...] = ()


@dataclass(slots=True)
class Algebra:
    """The variables of some forms, and what is done with these.

    Attributes
    ----------
    angles : names
    variables : names of everything else
    small : numbers of variables whose products are left out beyond `order`; None: nothing is
    """

    angles: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    small: frozenset[int] = frozenset()
    order: int | None = None
    opaque: dict[int, Opaque] = field(default_factory=dict)
    _known: dict[Any, int] = field(default_factory=dict)

    def constant(self, value: float) -> Form:
        """Return a number."""
        return Form({((), ()): complex(value)}) if value else ZERO

    def variable(self, number: int) -> Form:
        """Return a variable."""
        return Form({(((number, 1),), ()): 1.0 + 0.0j})

    def add(self, a: Form, b: Form, sign: float = 1.0) -> Form:
        """Return a + b, or a - b."""
        found = dict(a.terms)
        for key, value in b.terms.items():
            _put(found, key, sign * value)
        return Form(found)

    def scaled(self, a: Form, factor: complex) -> Form:
        """Return a number times a form."""
        return Form({key: factor * value for key, value in a.terms.items()}) if factor else ZERO

    def multiply(self, a: Form, b: Form) -> Form:
        """Return the product, without what is too small."""
        if len(a.terms) * len(b.terms) > MOST_TERMS:
            raise ModelError(
                f"the symbolic model has more than {MOST_TERMS} terms in a product; make fewer "
                f"numbers symbols (parameters=), or take fewer modes"
            )
        found: dict[Key, complex] = {}
        for (p, h), one in a.terms.items():
            for (r, k), other in b.terms.items():
                powers = _merged(p, r)
                if self.order is None or self._size(powers) <= self.order:
                    _put(found, (powers, _merged(h, k)), one * other)
        return Form(found)

    def kept(self, a: Form, order: int) -> Form:
        """Return the terms up to a power of the small variables."""
        return Form({key: c for key, c in a.terms.items() if self._size(key[0]) <= order})

    def _size(self, powers: Powers) -> int:
        """Return the total power of the small variables."""
        return sum(power for number, power in powers if number in self.small)

    def divide(self, a: Form, b: Form) -> Form:
        """Return a / b."""
        return self.multiply(a, self.reciprocal(b))

    def reciprocal(self, a: Form) -> Form:
        """Return 1 / a: exact of one term, a series in small variables, or a variable."""
        if len(a.terms) == 1:
            ((powers, harmonic), value), *_ = a.terms.items()
            turned = tuple((angle, -factor) for angle, factor in harmonic)
            key = tuple((number, -power) for number, power in powers)
            if not any(number in self.small for number, _ in powers):
                return Form({(key, turned): 1.0 / value})
        series = self._series(a)
        if series is not None:
            return series
        square = self._new("reciprocal", (a,))
        number = next(iter(square.terms))[0][0][0]
        own = self.opaque[number]
        if not own.partials:
            own.partials = (self.scaled(self.multiply(square, square), -1.0),)
        return square

    def _series(self, a: Form) -> Form | None:
        """Return 1 / (c + small) = (1 - small/c + ...) / c, where c is one term without small."""
        if self.order is None:
            return None
        large = {key: value for key, value in a.terms.items() if not self._size(key[0])}
        if len(large) != 1:
            return None
        first = self.reciprocal(Form(large))
        rest = self.multiply(self.add(a, Form(large), -1.0), self.scaled(first, -1.0))
        power = total = self.constant(1.0)
        for _ in range(self.order):
            power = self.multiply(power, rest)
            total = self.add(total, power)
        return self.multiply(first, total)

    def root(self, a: Form) -> Form:
        """Return the square root, a variable unless it is a number."""
        if a.number is not None and a.number >= 0.0:
            return self.constant(a.number**0.5)
        found = self._new("sqrt", (a,))
        number = next(iter(found.terms))[0][0][0]
        own = self.opaque[number]
        if not own.partials:
            own.partials = (self.scaled(self.reciprocal(found), 0.5),)
        return found

    def _new(self, name: str, operands: tuple[Form, ...]) -> Form:
        """Return the variable that stands for a function of forms, always the same one."""
        key = name, tuple(frozenset(one.terms.items()) for one in operands)
        if key not in self._known:
            self._known[key] = len(self.variables)
            self.opaque[len(self.variables)] = Opaque(name, operands)
            self.variables.append(f"{name}_{len(self.opaque)}")
        return self.variable(self._known[key])

    def sine(self, a: Form) -> Form:
        """Return the sine of an angle."""
        plus, minus = self._turns(a)
        return self.add(self.scaled(plus, -0.5j), self.scaled(minus, -0.5j), -1.0)

    def cosine(self, a: Form) -> Form:
        """Return the cosine of an angle."""
        plus, minus = self._turns(a)
        return self.add(self.scaled(plus, 0.5), self.scaled(minus, 0.5))

    def _turns(self, a: Form) -> tuple[Form, Form]:
        """Return exp(i a) and exp(-i a) of a sum of angles, numbers times coordinates."""
        offset, factors = 0.0, []
        for (powers, harmonic), value in a.terms.items():
            if harmonic or len(powers) > 1 or (powers and powers[0][1] != 1):
                raise ModelError(
                    "the symbolic model needs angles that are sums of coordinates; sines of "
                    "other things, as in couplings by functions, have no normal form"
                )
            if not powers:
                offset = value.real
                continue
            name = self.variables[powers[0][0]]
            if name not in self.angles:
                raise ModelError(f"the sine of {name!r}, which is no angle, has no normal form")
            factors.append((self.angles.index(name), value.real))
        harmonic = tuple(sorted(factors))
        back = tuple((angle, -factor) for angle, factor in harmonic)
        turn = cmath.exp(1j * offset)
        return Form({((), harmonic): turn}), Form({((), back): turn.conjugate()})

    def derivative(self, a: Form, name: str) -> Form:
        """Return the derivative by a coordinate."""
        total = ZERO
        angle = self.angles.index(name) if name in self.angles else None
        for (powers, harmonic), value in a.terms.items():
            factor = dict(harmonic).get(angle) if angle is not None else None
            if factor:
                total = self.add(total, Form({(powers, harmonic): 1j * factor * value}))
            for number, power in powers:
                inner = self._of_variable(number, name)
                if inner:
                    rest = _merged(powers, ((number, -1),))
                    outer = Form({(rest, harmonic): power * value})
                    total = self.add(total, self.multiply(outer, inner))
        return total

    def _of_variable(self, number: int, name: str) -> Form:
        """Return the derivative of a variable by a coordinate."""
        if self.variables[number] == name:
            return self.constant(1.0)
        total, operation = ZERO, self.opaque.get(number)
        for operand, partial in (
            zip(operation.operands, operation.partials, strict=True) if operation else ()
        ):
            total = self.add(total, self.multiply(partial, self.derivative(operand, name)))
        return total


def _put(terms: dict[Key, complex], key: Key, value: complex) -> None:
    """Add a term; what cancels to rounding goes."""
    before = terms.get(key)
    if before is None:
        terms[key] = value
        return
    total = before + value
    if abs(total) <= NOTHING * (abs(before) + abs(value)):
        del terms[key]
        return
    terms[key] = _clean(total)


def _clean(value: complex) -> complex:
    """Return a number without a real or imaginary part that is rounding."""
    size = NOTHING * abs(value)
    return complex(
        0.0 if abs(value.real) <= size else value.real,
        0.0 if abs(value.imag) <= size else value.imag,
    )


def _merged(a: Any, b: Any) -> Any:
    """Return the sum of powers, or of harmonics."""
    if not a:
        return b
    if not b:
        return a
    found = dict(a)
    for number, power in b:
        total = found.get(number, 0) + power
        if abs(total) < NOTHING:
            found.pop(number, None)
        else:
            found[number] = total
    return tuple(sorted(found.items()))


# Forms as text, LaTeX, Python and sympy: names instead of numbers, sines instead of exponentials.
#
# Names are shortened where that leaves them different: the coordinate ``crank`` is q_crank, the
# mass ``coupler.mass`` m_coupler, ``coupler.centre.x`` cx_coupler, ``elbow.xyz.z`` z_elbow,
# ``coupler.inertia.yy`` Iyy_coupler, ``gravity.z`` g_z. sympy is needed for LaTeX and sympy only.

SHORT = {"mass": "m", "centre": "c", "inertia": "I", "xyz": "", "length": "l", "gravity": "g"}
RESERVED = ("q", "np", "sin", "cos", "sqrt", "M", "C", "G", "K", "phi", "phi_q")
"""Names that a written function has itself."""
DENOMINATOR = 64
"""Numbers that are fractions with a denominator up to this are written so."""
DIGITS = 12
"""Of other numbers; sums of products of a file's numbers have rounding beyond."""


class Term:
    """One product for people: a number, variables with powers, and a sine or cosine or neither.

    Attributes
    ----------
    factor : the number
    powers : variables by name
    angle : factors of coordinates in the sine or cosine
    function : "sin", "cos" or ""
    """

    __slots__ = ("angle", "factor", "function", "powers")

    def __init__(
        self, factor: float, powers: dict[str, int], angle: dict[str, float], function: str
    ) -> None:
        self.factor, self.powers, self.angle, self.function = factor, powers, angle, function


def terms_of(form: Form, algebra: Algebra, names: Sequence[str]) -> Iterator[Term]:
    """Yield the terms of a real form: each pair of opposite harmonics as cosine and sine."""
    for (powers, harmonic), value in sorted(form.terms.items(), key=lambda one: _order(one[0])):
        factors = {names[number]: power for number, power in powers}
        if not harmonic:
            yield Term(value.real, factors, {}, "")
            continue
        if harmonic[0][1] < 0:
            continue  # its opposite stands for both
        angle = {
            names[algebra.variables.index(algebra.angles[k])]: factor for k, factor in harmonic
        }
        if value.real:
            yield Term(2.0 * value.real, factors, angle, "cos")
        if value.imag:
            yield Term(-2.0 * value.imag, factors, angle, "sin")


def _order(key: Any) -> Any:
    powers, harmonic = key
    return len(harmonic), sum(abs(factor) for _, factor in harmonic), harmonic, powers


def short_names(algebra: Algebra, coordinates: int) -> list[str]:
    """Return a name for every variable, fit for Python, text and sympy, all different."""
    found: list[str] = []
    for number, name in enumerate(algebra.variables):
        word = _identifier(f"q_{name}" if number < coordinates else _short(name))
        if number in algebra.opaque:
            word = _identifier(name)
        while word in found or word in RESERVED or keyword.iskeyword(word):
            word += "_"
        found.append(word)
    return found


def _short(name: str) -> str:
    """Return the short name of a number of the mechanism."""
    parts = name.split(".")
    for k, part in enumerate(parts):
        if part in SHORT:
            owner, rest = "_".join(parts[:k]), "".join(parts[k + 1 :])
            head = SHORT[part] + rest
            return "_".join(one for one in ((head, owner) if owner else (SHORT[part], rest)) if one)
    return name


def _identifier(text: str) -> str:
    """Return a name that Python takes, in the form in which it compares names."""
    word = unicodedata.normalize("NFKC", text)
    word = "".join(c if f"_{c}".isidentifier() else "_" for c in word)
    return word if word.isidentifier() else f"_{word}"


def number_text(value: float) -> str:
    """Return a number as a fraction, or with as many digits as it has."""
    near = Fraction(value).limit_denominator(DENOMINATOR)
    if abs(float(near) - value) <= 1e-13 * abs(value):
        return str(near)
    return f"{value:.{DIGITS}g}"


def text(form: Form, algebra: Algebra, names: Sequence[str], *, python: bool = False) -> str:
    """Return a form as a sum on one line."""
    power, parts = "**" if python else "^", []
    for term in terms_of(form, algebra, names):
        sign = "-" if term.factor < 0.0 else "+"
        above = [f"{n}{power}{k}" if k > 1 else n for n, k in term.powers.items() if k > 0]
        below = [f"{n}{power}{-k}" if k < -1 else n for n, k in term.powers.items() if k < 0]
        if term.function:
            above.append(f"{term.function}({_angle_text(term.angle)})")
        size = abs(term.factor)
        number = repr(size) if python else number_text(size)
        if size != 1.0 or not above:
            above.insert(0, number)
        product = "*".join(above) + "".join(f"/{one}" for one in below)
        parts.append(f"{sign} {product}")
    joined = " ".join(parts) or "0"
    return joined.removeprefix("+ ") if not joined.startswith("- ") else "-" + joined[2:]


def _angle_text(angle: dict[str, float]) -> str:
    parts = []
    for name, factor in angle.items():
        size = abs(factor)
        word = name if size == 1.0 else f"{number_text(size)}*{name}"
        parts.append(f"{'-' if factor < 0 else '+'} {word}")
    return " ".join(parts).removeprefix("+ ")


def matrix_text(forms: Array, algebra: Algebra, names: Sequence[str], label: str) -> str:
    """Return the entries of an array that are not zero, a line each."""
    lines = []
    for place, one in np.ndenumerate(forms):
        if one:
            index = ",".join(str(k + 1) for k in place)
            lines.append(f"{label}[{index}] = {text(one, algebra, names)}")
    return "\n".join(lines) or f"{label} = 0"


def to_sympy(form: Form, algebra: Algebra, names: Sequence[str]) -> Any:
    """Return a form as a sympy expression."""
    sympy = package()
    total = sympy.Integer(0)
    for term in terms_of(form, algebra, names):
        product = _sympy_number(sympy, term.factor)
        for name, power in term.powers.items():
            product *= sympy.Symbol(name, real=True) ** power
        if term.function:
            angle = sympy.Add(
                *(
                    _sympy_number(sympy, factor) * sympy.Symbol(name, real=True)
                    for name, factor in term.angle.items()
                )
            )
            product *= getattr(sympy, term.function)(angle)
        total += product
    return total


def _sympy_number(sympy: Any, value: float) -> Any:
    near = Fraction(value).limit_denominator(DENOMINATOR)
    if abs(float(near) - value) <= 1e-13 * abs(value):
        return sympy.Rational(near.numerator, near.denominator)
    return sympy.Float(value)


def package() -> Any:
    """Return sympy."""
    return needed("sympy", "LaTeX and sympy need sympy", "mbd_bridge[symbolic]")


# A symbolic model as a Python function.

HEAD = '''"""Equations of motion of {name}, in SI units.

M(q) a + C(i)_jk v_j v_k + K q + G(q) + phi_q' lambda = tau,  phi(q) = 0
q: {coordinates}
"""

import numpy as np
from numpy import cos, sin, sqrt


def equations({arguments}):
    """Return M (n, n), C (n, n, n), G (n,), K (n, n), phi (m,) and phi_q (m, n)."""
'''


def _in_docstring(text: str) -> str:
    """Return a text that neither ends a docstring nor means something else in one."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def python_source(model: SymbolicModel) -> str:
    """Return the source of a module with one function of q, numbers of the mechanism by name."""
    names, algebra = model.short, model.algebra
    count = len(model.names)
    defaults = [
        f"{names[count + k]}={value!r}"
        for k, value in enumerate(map(float, model.parameters.values()))
    ]
    lines = [
        HEAD.format(
            name=_in_docstring(model.model.name),
            coordinates=_in_docstring(", ".join(model.names)),
            arguments=", ".join(["q", *defaults]),
        )
    ]
    lines.append(f"    {', '.join(names[:count])}{',' if count == 1 else ''} = q")
    for number, own in algebra.opaque.items():
        (inner,) = (text(one, algebra, names, python=True) for one in own.operands)
        function = "sqrt" if own.name == "sqrt" else "1.0 / "
        lines.append(f"    {names[number]} = {function}({inner})")
    shapes = {
        "M": (model.M, f"({count}, {count})"),
        "C": (model.C, f"({count}, {count}, {count})"),
        "G": (model.G, f"{count}"),
        "phi": (model.phi, f"{len(model.phi)}"),
        "phi_q": (model.phi_q, f"({len(model.phi)}, {count})"),
    }
    for label, (forms, shape) in shapes.items():
        lines.append(f"    {label} = np.zeros({shape})")
        for place, one in np.ndenumerate(forms):
            if one:
                index = ", ".join(map(str, place))
                lines.append(f"    {label}[{index}] = {text(one, algebra, names, python=True)}")
    lines.append(f"    K = np.array({model.K.tolist()!r})")
    lines.append("    return M, C, G, K, phi, phi_q")
    return "\n".join(lines) + "\n"
