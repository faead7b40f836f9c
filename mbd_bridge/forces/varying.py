"""An element whose numbers vary: formulas, functions of (t, q, v), inputs from outside.

    stiffness="2e4*(1 + 0.5*sin(t))",  damping=lambda t, q, v: 100 + 20*q[0],  force=Input("valve")

At each state the element is bound anew with its numbers there, of floats or symbols, so that its
own checks and defaults hold. What it stores would change without any motion: its power counts as
work, and D = -power - U̇ is not stated (0 where it has no damping of its own).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import FunctionError, KernelError, MbdError, StateError
from mbd_bridge.forces.base import NO_STATES, Bodies, Effect, ForceElement, Units
from mbd_bridge.forces.formula import Formula
from mbd_bridge.functions import Lookup
from mbd_bridge.kernels import is_traced, trace
from mbd_bridge.kernels.expression import Tape
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

# Numbers that come from outside while a machine moves.


@dataclass(frozen=True, eq=False)
class Input:
    """Numbers that come from outside under a name: from a control loop, a stepper, C.

    Attributes
    ----------
    name : of the input
    value : until another one is given, in N, N m: one number, or as many as act

    Examples
    --------
    >>> arm.simulate(1.0, torque={"grip": mbd.Input("grip")},
    ...              inputs={"grip": 2.0})                              # doctest: +SKIP
    """

    name: str
    value: ArrayLike = 0.0
    number = 1


@dataclass(frozen=True, eq=False)
class Sampled:
    """A Python function of (t, q, v), called at the start of each step and held during it.

    A step that calls Python costs some microseconds, and holding is an error of the first order in
    the step: what can be written with `mbd_bridge.functions` is better traced.

    Attributes
    ----------
    element : name of the force element that it is the function of, if it is one's

    Examples
    --------
    >>> arm.simulate(1.0, torque=mbd.Sampled(controller))          # doctest: +SKIP
    """

    function: Callable[[Any, Array, Array], Any]
    element: str = field(default="", kw_only=True)
    number = 1

    @property
    def label(self) -> str:
        """What it is, for messages."""
        return f"GeneralForce {self.element!r}" if self.element else "Sampled"


# A user's function in a force element: told from others by what it computes, not by its name.


class TracedFunction:
    """A function of scalars and vectors that can be traced.

    Attributes
    ----------
    digest : of what it computes: two functions with the same one have the same machine code
    timed : whether its result depends on its argument t
    """

    def __init__(self, function: Callable[..., Any], digest: str, timed: bool) -> None:
        self._function, self.digest, self.timed = function, digest, timed

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns."""
        return self._function(*arguments)

    def __repr__(self) -> str:
        return str(getattr(self._function, "__qualname__", self._function))

    @staticmethod
    def of(
        label: str,
        function: Callable[..., Any],
        inputs: Mapping[str, int | None],
        size: int | None = None,
    ) -> TracedFunction:
        """Return a checked function.

        Parameters
        ----------
        label : of the element, for messages
        inputs : its arguments: sizes of vectors, None of scalars
        size : of the vector that it returns; None for a scalar
        """
        if isinstance(function, TracedFunction):
            return function

        def flat(*vectors: Array) -> tuple[Array, ...]:
            arguments = [
                vector[0] if inner is None else vector
                for vector, inner in zip(vectors, inputs.values(), strict=True)
            ]
            found = np.asarray(function(*arguments))
            if found.shape != (() if size is None else (size,)):
                expected = "a number" if size is None else f"({size},) numbers"
                raise StateError(
                    f"{label}: the function returned the shape {found.shape}; expected {expected}"
                )
            return (found.reshape(-1),)

        sizes = {name: 1 if inner is None else inner for name, inner in inputs.items()}
        try:
            graph = trace(flat, sizes)
        except KernelError as problem:
            raise StateError(f"{label}: {problem}") from problem
        content = repr((graph.nodes, graph.outputs, graph.shapes))
        timed = any(node[:2] == ("input", "t") for node in graph.nodes)
        return TracedFunction(function, hashlib.sha256(content.encode()).hexdigest(), timed)


@final
@dataclass(frozen=True, eq=False)
class Varying(ForceElement):
    """An element with numbers that vary.

    Parameters
    ----------
    element : as it is given, with other things in the places of these numbers
    how : how they vary, by field
    inputs : the numbers that inputs have, in their order; None: those that they have by themselves
    """

    element: ForceElement
    how: Mapping[str, Any]
    inputs: tuple[Any, ...] | None = None

    @property
    def held(self) -> dict[str, tuple[Input, int]]:
        """The inputs, by field."""
        return {word: (one, 1) for word, one in self.how.items() if isinstance(one, Input)}

    def holding(self, numbers: Sequence[Any]) -> Self:
        """Return the element with the numbers that its inputs have."""
        return replace(self, inputs=tuple(own[0] for own in numbers))

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its functions traced."""
        how = {word: self._function(model, word, given) for word, given in self.how.items()}
        element = replace(self.element, name=self.name)
        bound = replace(self, element=element, how=how)
        bound.at(model, 0.0, model.neutral(), np.zeros(model.nv))
        if any(is_traced(getattr(element, one.name)) for one in fields(element)):
            return bound  # with symbols for parameters
        sizes = {"t": 1, "q": model.nq, "v": model.nv, "inputs": len(self.held)}
        tape = Tape()
        t, q, v, inputs = (tape.vector(name, size) for name, size in sizes.items())
        try:
            replace(bound, inputs=tuple(inputs)).at(model, t[0], q, v)
        except (MbdError, TypeError, ValueError) as problem:
            raise StateError(
                f"{self.label}: {', '.join(how)} cannot vary, since the element decides by the "
                f"value what it is ({problem})"
            ) from problem
        return bound

    def _function(self, model: Model, word: str, number: Any) -> Any:
        where = f"{self.label}: {word}"
        if isinstance(number, Input):
            if not (isinstance(number.name, str) and number.name):
                raise StateError(f"{where}: expected an Input with a name, got {number.name!r:.60}")
            if not isinstance(number.value, Real):
                raise StateError(f"{where}: expected an Input of one number, got {number.value!r}")
            return number
        if isinstance(number, TracedFunction):
            return number
        function = number
        if isinstance(number, Formula):
            number = number.text
        if isinstance(number, str):
            names = [name for name in model.coordinate_names if name.isidentifier()]
            try:
                formula = Formula(number, names)
            except StateError as problem:
                raise StateError(
                    f"{where}: expected a number, a formula of t and coordinates, a function of "
                    f"(t, q, v) or mbd.Input(name), got {number!r:.60}: {problem}"
                ) from None
            function = _OfCoordinates(formula, model.coordinate_names)
        inputs = {"t": None, "q": model.nq, "v": model.nv}
        return TracedFunction.of(where, function, inputs)

    def changed(self, **numbers: Any) -> Self:
        """Return the element with other numbers."""
        return replace(self, element=replace(self.element, **numbers))

    def unit_of(self, name: str, model: Model) -> str:
        """Return the unit of a number of the element."""
        return self.element.unit_of(name, model)

    def at(self, model: Model, t: Any, q: Array, v: Array) -> ForceElement:
        """Return the element with its numbers at a state, bound."""
        inputs = iter(self._inputs)
        numbers = {
            word: next(inputs) if isinstance(one, Input) else one(t, q, v)
            for word, one in self.how.items()
        }
        return replace(self.element, **numbers).bind(model)

    @property
    def _inputs(self) -> tuple[Any, ...]:
        own = tuple(float(np.asarray(one.value)) for one, _ in self.held.values())
        return own if self.inputs is None else self.inputs

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return what it does with its numbers at this state.

        Raises
        ------
        FunctionError
            The element refuses a number that it has here.
        """
        try:
            now = self.at(model, t, q, v)
        except StateError as problem:
            raise FunctionError(f"at t = {t} s: {problem}") from None
        return now.effect(model, t, q, v, z)

    def within_cuts(
        self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES
    ) -> Mapping[int, Array]:
        """Return what of its wrenches passes through cut joints."""
        return self.at(model, t, q, v).within_cuts(model, t, q, v, z)

    def _now(self, model: Model) -> ForceElement:
        return self.at(model, 0.0, model.neutral(), np.zeros(model.nv))

    def units(self, model: Model) -> Units:
        """Return names and units of the report."""
        return self._now(model).units(model)

    def states(self, model: Model) -> Units:
        """Return names and units of the element's own states."""
        return self._now(model).states(model)

    def check_start(self, model: Model, t: float, bodies: Bodies) -> None:
        """Complain where it cannot act at the start of a motion."""
        self.at(model, t, bodies.q, bodies.v).check_start(model, t, bodies)

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links on which it exerts wrenches."""
        return self._now(model).link_numbers(model)

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocities along which it exerts forces."""
        return self._now(model).velocity_numbers(model)

    def cut_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the cut joints in which it acts."""
        return self._now(model).cut_numbers(model)

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return what it stands for in a file."""
        return self._now(model).replaces(model)

    @property
    def depends_on_time(self) -> bool:
        """Whether one of its numbers does."""
        timed = any(getattr(one, "timed", False) for one in self.how.values())
        return timed or self.element.depends_on_time

    @property
    def passive(self) -> bool:
        """What it stores changes without a motion."""
        return False

    @property
    def kind(self) -> str:
        """The element's kind."""
        return self.element.kind

    @property
    def place(self) -> str:
        """Where it acts."""
        return self.element.place

    @property
    def numbers(self) -> str:
        """Its numbers that are not the default's."""
        return self.element.numbers

    @property
    def identity(self) -> str | None:
        """A text that tells it from others."""
        nominal = dict.fromkeys(self.how, 0.0)
        own = self.element.changed(**nominal).identity
        if own is None:
            return None
        told = {
            word: "an input" if isinstance(one, Input) else getattr(one, "digest", repr(one))
            for word, one in self.how.items()
        }
        held = [] if self.inputs is None else [type(one).__name__ for one in self.inputs]
        values = [] if held else list(self._inputs)
        return hashlib.sha256(f"{own} {told!r} {held} {values}".encode()).hexdigest()


@dataclass(frozen=True)
class _OfCoordinates:
    """A formula of t and coordinates as a function of (t, q, v)."""

    formula: Formula
    names: tuple[str, ...]

    def __call__(self, t: Any, q: Array, v: Array) -> Any:
        """Return the value."""
        return self.formula(t, dict(zip(self.names, q, strict=True)))


def varying(element: ForceElement) -> ForceElement:
    """Return an element as it is, or as one that varies where a number is given as what does."""
    if isinstance(element, Varying):
        return element
    how = {}
    for one in fields(element):
        value = getattr(element, one.name)
        if isinstance(value, Input) or (_numeric(str(one.type)) and _is_how(value, str(one.type))):
            how[one.name] = value
    return Varying(element, how, name=element.name) if how else element


def _numeric(kind: str) -> bool:
    kind = kind.removeprefix("Annotated[").partition(",")[0].removesuffix(" | None")
    return kind in ("float", "Stiffness", "Damping", "Progressive", "Given")


def _is_how(value: Any, kind: str) -> bool:
    if kind == "Given":  # functions of (t, s, rate) and tables are the actuators' own
        return isinstance(value, str | Formula)
    return isinstance(value, str) or (callable(value) and not isinstance(value, Lookup))
