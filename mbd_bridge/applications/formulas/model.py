"""The equations of a small mechanism as formulas that can be read (LeeJoo90).

    M(q) q̈ + Σ C_jk(i) q̇_j q̇_k + K q + D q̇ + G(q) + Φ_qᵀ λ = τ                          (23), (39)
    C_jk(i) = (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) / 2                                     (27)

M and Φ are the house's own equations, traced and brought into normal form (`form`); C, G and Φ_q
are their derivatives. With flexible links terms are kept up to a power of the modal coordinates.

From the traced equations to forms: each operation of a graph, on sums of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbd_bridge.applications.formulas.form import (
    ZERO,
    Algebra,
    Form,
    matrix_text,
    package,
    python_source,
    short_names,
    to_sympy,
)
from mbd_bridge.base.arguments import chosen_names, name_list
from mbd_bridge.base.errors import ModelError, unknown_name, whole_number
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.material_points import potential
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.tracing import Graph
from mbd_bridge.model import Model
from mbd_bridge.model.build import rebuilt
from mbd_bridge.model.description import Description, Joint, Loop, LoopEnd
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array, Frame


def forms_of(graph: Graph, algebra: Algebra, inputs: Mapping[str, list[Form]]) -> list[np.ndarray]:
    """Return the outputs of a graph as arrays of forms.

    Parameters
    ----------
    inputs : the components of each input
    """
    forms: list[Form] = []
    do = _operations(algebra)
    for node in graph.nodes:
        op = node[0]
        if op == "input":
            forms.append(inputs[node[1]][node[2]])
        elif op == "const":
            forms.append(algebra.constant(float(node[1])))
        elif op in do:
            forms.append(do[op](*(forms[k] for k in node[1:])))
        else:
            raise ModelError(
                f"the equations have the operation {op!r}, which a symbolic model has not; it is "
                f"made of sums, products, sines and square roots"
            )
    arrays = []
    for indices, shape in zip(graph.outputs, graph.shapes, strict=True):
        array = np.empty(len(indices), dtype=object)
        array[:] = [forms[k] for k in indices]
        arrays.append(array.reshape(shape))
    return arrays


def _operations(algebra: Algebra) -> dict[str, Callable[..., Form]]:
    """Return what each operation does with forms."""
    add, multiply = algebra.add, algebra.multiply
    return {
        "neg": lambda a: add(ZERO, a, -1.0),
        "add": add,
        "sub": lambda a, b: add(a, b, -1.0),
        "mul": multiply,
        "div": algebra.divide,
        "sqrt": algebra.root,
        "sin": algebra.sine,
        "cos": algebra.cosine,
    }


MOST = 16
"""Coordinates of a mechanism whose equations somebody reads."""
QUARTER_TURN = 1e-12
"""Entries of rotations in a file so near to -1, 0 or 1 are these: a quarter turn has its digits."""
ORDER = 1
"""Power of the modal coordinates up to which terms are kept, if not said otherwise."""
LATEX = {"M": "M", "C": "C", "G": "G", "K": "K", "phi": r"\Phi", "phi_q": r"\Phi_q"}
"""What can be asked for, and its sign in LaTeX."""
ANGULAR = ("revolute", "continuous", "helical")


@dataclass(frozen=True, eq=False)
class SymbolicModel:
    """Formulas of a mechanism.

    Attributes
    ----------
    model : whose formulas these are
    algebra : the variables of the forms
    names : of the coordinates
    parameters : names of the numbers that are symbols, and their values
    order : power of modal coordinates up to which terms are kept; None: exact
    mass, rows, potential : mass matrix (n, n), rows of the cuts (m,) and energy of gravity, as
        forms with one power more than the order, which derivatives take
    """

    model: Model
    algebra: Algebra
    names: tuple[str, ...]
    parameters: dict[str, float]
    order: int | None
    mass: Array
    rows: Array
    potential: Form

    @cached_property
    def M(self) -> Array:
        """Mass matrix (n, n), (24)."""
        return self._kept(self.mass)

    @cached_property
    def phi(self) -> Array:
        """Φ (m,), the rows of the cuts."""
        return self._kept(self.rows)

    @cached_property
    def phi_q(self) -> Array:
        """Φ_q (m, n)."""
        return self._by_each(self.rows)

    @cached_property
    def G(self) -> Array:
        """Generalised forces of gravity (n,), (25), on the left side of the equations."""
        found: Array = self._by_each(np.array([self.potential], dtype=object))[0]
        return found

    @cached_property
    def C(self) -> Array:
        """Christoffel symbols C[i, j, k] = C_jk(i), (27)."""
        add, n = self.algebra.add, len(self.names)
        dM = self._by_each(self.mass)
        found = np.full((n, n, n), ZERO, dtype=object)
        for i in range(n):
            for j in range(n):
                for k in range(j, n):
                    both = add(add(dM[i, j, k], dM[i, k, j]), dM[j, k, i], -1.0)
                    found[i, j, k] = found[i, k, j] = self.algebra.scaled(both, 0.5)  # (33)
        return found

    @cached_property
    def K(self) -> Array:
        """Stiffness (n, n), (26): numbers."""
        return self._of_modes("stiffness")

    @cached_property
    def D(self) -> Array:
        """Damping of the modes (n, n): numbers."""
        return self._of_modes("damping")

    @property
    def elastic(self) -> tuple[int, ...]:
        """Numbers of the modal coordinates."""
        return tuple(k for part in self.model.flexible for k in range(part.q.start, part.q.stop))

    @cached_property
    def short(self) -> list[str]:
        """Short names of all variables, coordinates first; see `writing`."""
        return short_names(self.algebra, len(self.names))

    def text(self, what: Iterable[str] | str = ("M", "C", "G", "K", "phi")) -> str:
        """Return formulas as plain text, a line for each entry that is not zero.

        Parameters
        ----------
        what : of "M", "C", "G", "K", "phi" and "phi_q"
        """
        blocks = []
        for label, values in self._asked(what):
            if label == "C":
                blocks += [
                    matrix_text(values[i], self.algebra, self.short, f"C({i + 1})")
                    for i in range(len(values))
                ]
            else:
                blocks.append(matrix_text(values, self.algebra, self.short, label))
        return "\n\n".join(blocks)

    def sympy(self, what: str = "M") -> Any:
        """Return a matrix of sympy expressions; of "C" a list of matrices.

        Parameters
        ----------
        what : "M", "C", "G", "K", "phi" or "phi_q"
        """
        ((_, values),) = self._asked(what)
        matrix = package().Matrix

        def made(forms: Array) -> Any:
            flat = forms.reshape(len(forms), -1)
            rows, columns = flat.shape
            return matrix(
                rows, columns, lambda i, j: to_sympy(flat.item(i, j), self.algebra, self.short)
            )

        return [made(one) for one in values] if what == "C" else made(values)

    def latex(self, what: Iterable[str] | str = ("M", "C", "G", "K", "phi")) -> str:
        """Return formulas as LaTeX, an aligned matrix each."""
        write, blocks = package().latex, []
        for label, _ in self._asked(what):
            found = self.sympy(label)
            parts = found if label == "C" else [found]
            for k, part in enumerate(parts):
                head = LATEX[label] + (f"^{{({k + 1})}}" if label == "C" else "")
                blocks.append(f"\\[ {head} = {write(part)} \\]")
        return "\n".join(blocks)

    def python(self) -> str:
        """Return a Python function of q that returns M, C, G, K and Φ, and needs NumPy alone."""
        return python_source(self)

    def _asked(self, what: Iterable[str] | str) -> list[tuple[str, Array]]:
        matrices = []
        for label in name_list("what", what, "matrices"):
            if label not in LATEX:
                raise ModelError(unknown_name("matrix", label, LATEX))
            values = getattr(self, label)
            if label == "K":
                values = np.vectorize(self.algebra.constant, otypes=[object])(values)
            if values.size:
                matrices.append((label, values))
        return matrices

    def _of_modes(self, what: str) -> Array:
        found = np.zeros((len(self.names), len(self.names)))
        for part in self.model.flexible:
            found[part.v, part.v] += getattr(part, what)
        return found

    def _kept(self, forms: Array) -> Array:
        """Return forms up to the order."""
        if self.order is None:
            return forms
        found = np.empty(forms.shape, dtype=object)
        for place, one in np.ndenumerate(forms):
            found[place] = self.algebra.kept(one, self.order)
        return found

    def _by_each(self, forms: Array) -> Array:
        """Return the derivatives of forms (...) by the coordinates, (..., n)."""
        found = np.empty((*forms.shape, len(self.names)), dtype=object)
        for place, one in np.ndenumerate(forms):
            for k, name in enumerate(self.names):
                found[(*place, k)] = self.algebra.derivative(one, name)
        return found


def symbolic(
    mechanism: Any, parameters: Iterable[str] | str | None = None, *, order: int | None = None
) -> SymbolicModel:
    """Return the equations of a mechanism as formulas.

    Parameters
    ----------
    mechanism : a `Mechanism` or its model, of up to 16 coordinates, without quaternions
    parameters : which numbers are symbols: names as in `simulate(parameters=)`, such as
        "coupler.mass", "elbow.xyz", "gravity"; None for all that are not zero; () for none
    order : keep terms up to this power of the modal coordinates of flexible links (1, as in the
        paper); has no meaning for rigid links, which are exact
    """
    given = getattr(mechanism, "model", mechanism)
    if not isinstance(given, Model):
        raise ModelError(f"expected a Mechanism, got {type(mechanism).__name__}; mbd.load(...)")
    if given.nq != given.nv:
        raise ModelError(
            "a symbolic model needs coordinates of which the velocities are the rates; this "
            "mechanism has quaternions (spherical, planar or floating joints)"
        )
    if given.nv > MOST:
        raise ModelError(
            f"{given.nv} coordinates: nobody reads such equations; a symbolic model has up to "
            f"{MOST}. mbd export writes the equations as C"
        )
    if given.velocity_rows.any():
        raise ModelError("rolling wheels have velocity rows, which a symbolic model has not")
    model = rebuilt(given, _rounded(given.description))
    chosen = _parameters(model, parameters)
    used = order if order is None else whole_number("order", order, least=0)
    if model.flexible and used is None:
        used = ORDER
    return _traced(model, chosen, used if model.flexible else None)


def _traced(model: Model, chosen: Parameters, order: int | None) -> SymbolicModel:
    """Return the formulas of a model."""
    names = model.coordinate_names
    angles = [
        names[body.q.start]
        for joint in model.joints
        if joint.moving and joint.follows is None and joint.type.name in ANGULAR
        for body in [model.bodies[joint.body]]
        if body.q.stop - body.q.start == 1
    ]
    columns = [c for c, live in zip(chosen.columns, chosen.live, strict=True) if live]
    symbols = dict(zip((c.name for c in columns), chosen.inputs[0], strict=True))
    modal = {k for part in model.flexible for k in range(part.q.start, part.q.stop)}
    algebra = Algebra(
        angles, [*names, *symbols], frozenset(modal), None if order is None else order + 1
    )  # a derivative takes one power

    def equations(q: Array, p: Array) -> tuple[Array, ...]:
        own = chosen.model_with(p) if len(p) else model
        M = mass_matrix_by_bodies(own, q)
        phi = constraints(own, state_vectors(own, q, np.zeros(own.nv))).phi
        return M, phi, np.array([potential(own, q)], dtype=object)

    graph = trace(equations, {"q": len(names), "p": len(symbols)})
    inputs = {
        "q": [algebra.variable(k) for k in range(len(names))],
        "p": [algebra.variable(len(names) + k) for k in range(len(symbols))],
    }
    M, phi, (energy,) = forms_of(graph, algebra, inputs)
    return SymbolicModel(model, algebra, names, symbols, order, M, phi, energy)


def _parameters(model: Model, wanted: Iterable[str] | str | None) -> Parameters:
    """Return the numbers that are symbols, with the values that the file gives them."""
    known = _values(model)
    kind = "number of this mechanism"
    names = chosen_names("parameters", wanted, known, kind, ModelError, kinds="numbers")
    return Parameters.of(model, {name: known[name] for name in names})


def _values(model: Model) -> dict[str, Any]:
    """Return what can be a symbol, and is not zero."""
    description = model.description
    bent = {one.link for one in description.flexible}
    values: dict[str, Any] = {}
    for link in description.links:
        if link.inertia is None or link.name in bent:
            continue
        values[f"{link.name}.mass"] = link.inertia.mass
        values[f"{link.name}.centre"] = link.inertia.centre
        values[f"{link.name}.inertia"] = link.inertia.central[None]
    for joint in description.joints:
        if joint.parent not in bent:
            values[f"{joint.name}.xyz"] = joint.origin.translation
    for loop in description.loops:
        for side in ("predecessor", "successor"):
            end = getattr(loop, side)
            if end.link not in bent:
                values[f"{loop.name}.{side}.xyz"] = end.frame.translation
        if loop.length is not None:
            values[f"{loop.name}.length"] = loop.length
    values["gravity"] = model.gravity
    return {name: value for name, value in values.items() if np.any(value)}


def _rounded(description: Description) -> Description:
    """Return a description whose quarter turns are exact."""

    def frame(one: Frame) -> Frame:
        near = np.round(one.rotation)
        return Frame(
            np.where(abs(one.rotation - near) < QUARTER_TURN, near, one.rotation), one.translation
        )

    def joint(one: Joint) -> Joint:
        return replace(one, origin=frame(one.origin), child_frame=frame(one.child_frame))

    def end(one: LoopEnd) -> LoopEnd:
        return replace(one, frame=frame(one.frame))

    def loop(one: Loop) -> Loop:
        return replace(one, predecessor=end(one.predecessor), successor=end(one.successor))

    return replace(
        description,
        joints=tuple(map(joint, description.joints)),
        loops=tuple(map(loop, description.loops)),
    )


# What LeeJoo90 looks at first: blocks, zeros and savings of the equations.
#
# Rigid coordinates θ and elastic ones ξ give M and each C(i) blocks (28)-(32). Of the n³
# Christoffel symbols the symmetry (33) leaves n²(n + 1)/2; C_ji(i) = 0 for j <= i (34) and C_jk(i)
# = -C_ji(k) for j <= i, k (35) leave fewer where they hold. (35) does not always hold for flexible
# arms.


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


def structure(model: SymbolicModel, coordinates: Iterable[str] | None = None) -> Structure:
    """Return the structure of a mechanism's equations.

    Parameters
    ----------
    coordinates : names: of these rows and columns alone, in this order
    """
    names = chosen_names("coordinates", coordinates, model.names, "coordinate", ModelError)
    rows = [model.names.index(name) for name in names]
    C, n = model.C[np.ix_(rows, rows, rows)], len(rows)
    upper = [C[i, j, k] for i in range(n) for j in range(n) for k in range(j, n)]
    kinds = {_kind(form): form for form in upper if form}
    of_34 = [C[i, j, i] for i in range(n) for j in range(i + 1)]
    pairs = [
        (C[i, j, k], C[k, j, i])
        for i in range(n)
        for k in range(i + 1, n)
        for j in range(min(i, k) + 1)
    ]
    add = model.algebra.add
    return Structure(
        n**3,
        len(upper),
        sum(map(bool, upper)),
        len(kinds),
        sum(not form for form in of_34),
        len(of_34),
        sum(not add(a, b) for a, b in pairs),
        len(pairs),
        sum(len(form.terms) for form in C.flat),
        sum(len(form.terms) for form in kinds.values()),
        _pattern(model.M[np.ix_(rows, rows)]),
        _pattern(C),
        tuple(k for k, row in enumerate(rows) if row in model.elastic),
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
