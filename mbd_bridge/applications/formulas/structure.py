"""What LeeJoo90 looks at first: blocks, zeros and savings of the equations.

Rigid coordinates θ and elastic ones ξ give M and each C(i) blocks (28)-(32). Of the n³ Christoffel
symbols the symmetry (33) leaves n²(n + 1)/2; C_ji(i) = 0 for j <= i (34) and C_jk(i) = -C_ji(k) for
j <= i, k (35) leave fewer where they hold. (35) does not always hold for flexible arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.applications.formulas.form import Form
from mbd_bridge.applications.formulas.model import SymbolicModel
from mbd_bridge.model.spatial import Array


@dataclass(frozen=True, eq=False)
class Structure:
    """Counts of a mechanism's Christoffel symbols, and where M and each C(i) are not zero.

    Attributes
    ----------
    entries : n³
    by_symmetry : those that (33) leaves
    nonzero : of these, not zero
    different : of the nonzero ones, up to their sign
    zero_34, of_34 : of the entries of which (34) says that they are zero, how many are
    holds_35, of_35 : of the pairs of which (35) speaks, for how many it holds
    terms, kept : products in all n³ entries, and in one of each different one: what is left to
        compute once these savings are made
    pattern, patterns : (n, n) of M, (n, n, n) of each C(i): where there is something
    elastic : numbers of the elastic coordinates
    """

    entries: int
    by_symmetry: int
    nonzero: int
    different: int
    zero_34: int
    of_34: int
    holds_35: int
    of_35: int
    terms: int
    kept: int
    pattern: Array
    patterns: Array
    elastic: tuple[int, ...]

    def __str__(self) -> str:
        n = len(self.pattern)
        lines = [
            f"Christoffel symbols: {self.entries}; symmetry (33) leaves {self.by_symmetry}, of "
            f"these {self.nonzero} are not zero, {self.different} different up to their sign",
            f"C_ji(i) = 0 for j <= i (34): {self.zero_34} of {self.of_34}",
            f"C_jk(i) = -C_ji(k) for j <= i, k (35): {self.holds_35} of {self.of_35}",
            f"terms in C: {self.terms} in all entries, {self.kept} in those that differ",
        ]
        lines += ["M" + ("" if not self.elastic else "  (| between rigid and elastic coordinates)")]
        lines += self._rows(self.pattern)
        for i in range(n):
            if self.patterns[i].any():
                lines += [f"C({i + 1})", *self._rows(self.patterns[i])]
            else:
                lines += [f"C({i + 1}) = 0"]
        return "\n".join(lines)

    def _rows(self, pattern: Array) -> list[str]:
        order = [k for k in range(len(pattern)) if k not in self.elastic]
        rigid = len(order)
        order += self.elastic
        rows = []
        for row, i in enumerate(order):
            marks = ["x" if pattern[i, j] else "." for j in order]
            if self.elastic:
                marks.insert(rigid, "|")
            if row == rigid and self.elastic:
                rows.append("  " + "-" * (2 * len(marks) - 1))
            rows.append("  " + " ".join(marks))
        return rows


def structure(found: SymbolicModel) -> Structure:
    """Return the structure of a mechanism's equations."""
    C, n = found.C, len(found.names)
    upper = [C[i, j, k] for i in range(n) for j in range(n) for k in range(j, n)]
    kinds = {_kind(one): one for one in upper if one}
    of_34 = [C[i, j, i] for i in range(n) for j in range(i + 1)]
    pairs = [
        (C[i, j, k], C[k, j, i])
        for i in range(n)
        for k in range(i + 1, n)
        for j in range(min(i, k) + 1)
    ]
    add = found.algebra.add
    return Structure(
        n**3,
        len(upper),
        sum(map(bool, upper)),
        len(kinds),
        sum(not one for one in of_34),
        len(of_34),
        sum(not add(a, b) for a, b in pairs),
        len(pairs),
        sum(len(one.terms) for one in C.flat),
        sum(len(one.terms) for one in kinds.values()),
        _pattern(found.M),
        _pattern(C),
        found.elastic,
    )


def _pattern(forms: Array) -> Array:
    return np.reshape([bool(one) for one in forms.flat], forms.shape)


def _kind(form: Form) -> frozenset[object]:
    """Return what two forms have in common that differ in sign at most."""

    def rounded(sign: float) -> list[object]:
        return [
            (key, complex(*(float(f"{sign * part:.10g}") + 0.0 for part in (one.real, one.imag))))
            for key, one in sorted(form.terms.items(), key=repr)
        ]

    return frozenset(map(str, (rounded(1.0), rounded(-1.0))))
