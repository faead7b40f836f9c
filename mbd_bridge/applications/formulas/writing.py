"""Forms as text, LaTeX, Python and sympy: names instead of numbers, sines instead of exponentials.

Names are shortened where that leaves them different: the coordinate ``crank`` is q_crank, the mass
``coupler.mass`` m_coupler, ``coupler.centre.x`` cx_coupler, ``elbow.xyz.z`` z_elbow,
``coupler.inertia.yy`` Iyy_coupler, ``gravity.z`` g_z. sympy is needed for LaTeX and sympy only.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.applications.formulas.form import Algebra, Form
from mbd_bridge.base.errors import visible
from mbd_bridge.base.extras import needed
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.applications.formulas.model import SymbolicModel


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
        own = {names[number]: power for number, power in powers}
        if not harmonic:
            yield Term(value.real, own, {}, "")
            continue
        if harmonic[0][1] < 0:
            continue  # its opposite stands for both
        angle = {
            names[algebra.variables.index(algebra.angles[k])]: factor for k, factor in harmonic
        }
        if value.real:
            yield Term(2.0 * value.real, own, angle, "cos")
        if value.imag:
            yield Term(-2.0 * value.imag, own, angle, "sin")


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
