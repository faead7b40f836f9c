"""What every force element promises: an effect at one state, as a pure function.

    effect(model, t, q, v, z) -> generalised forces, wrenches on links, energy U,
                                 dissipated power D, rates ż of the element's own states

    P = Σ forces · v + Σ wrenches · velocities = -dU/dt - D,    D >= 0

The function takes floats or symbols and branches on structure only, so the same text is the Python
reference and the machine code.
"""

from __future__ import annotations

import contextlib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    get_args,
    get_type_hints,
)
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError, StateError, real_number, some
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.table import Series, Table
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.equations.state_vectors import MechanismState

# All bodies of a machine at one state, formed once for the force elements that look at them.


class Bodies:
    """The bodies of a model at coordinates q (nq,) and velocities v (nv,)."""

    def __init__(self, model: Model, q: Array, v: Array) -> None:
        self._model, self.q, self.v = model, q, v

    @cached_property
    def root(self) -> JointMotion:
        """The motion of the root in the world."""
        from mbd_bridge.equations.motions import body_motions

        return body_motions(self._model, self.q, self.v)[0]

    @cached_property
    def relative(self) -> MechanismState:
        """All bodies, in the root frame."""
        from mbd_bridge.equations.state_vectors import state_vectors

        return state_vectors(self._model, self.q, self.v, "root")


NO_STATES = np.zeros(0)
"""States z of an element that has none."""

PLACES = ("links", "link", "joints", "joint", "wheel")
"""Parameters that say where an element acts."""

SHOWN = 6
"""How many force elements a sentence names before it counts."""

Units = dict[str, str]
"""Unit of each number of a report, by name."""


class Effect(NamedTuple):
    """What a force element does at one state.

    Attributes
    ----------
    forces : generalised forces by the index of the velocity, N m or N
    wrenches : (6,) force N and moment N m by link index, `about` the link's origin in its axes
    energy : U, stored, J
    dissipation : D, W
    report : the element's own numbers by name
    rates : ż, one for each of the element's own states (`ForceElement.states`)
    about : "link", or "root" where the wrenches are about the root frame's origin, in its axes
        (`state_vectors`), as the equations of motion take them
    """

    forces: Mapping[int, Any]
    wrenches: Mapping[int, Array]
    energy: Any
    dissipation: Any
    report: Mapping[str, Any]
    rates: Sequence[Any] = ()
    about: Literal["link", "root"] = "link"


@dataclass(frozen=True)
class Checked:
    """How a field of an element is checked when it is bound: ``Annotated[type, Checked(f)]``.

    Attributes
    ----------
    check : of the element, the field's name, its value and the model; returns the checked value
    units : of its numbers in turn; they may have {s} and {f} for the units of a coordinate and of
        a force along it (`ForceElement.place_units`)
    """

    check: Callable[[Any, str, Any, Model], Any]
    units: tuple[str, ...] = ()


def number(unit: str, least: float = -np.inf, *, positive: bool = False) -> Checked:
    """Return the check of a number with a unit, as `Checked` takes it."""

    def check(element: ForceElement, name: str, value: Any, model: Model) -> Any:
        said = element.unit_of(name, model)
        return element.number(name, value, said, least, positive=positive)

    return Checked(check, (unit,))


def vector(*units: str) -> Checked:
    """Return the check of a vector of as many numbers as there are units."""

    def check(element: ForceElement, name: str, value: Any, model: Model) -> Any:
        return element.vector(name, value, len(units))

    return Checked(check, units)


def _link_name(element: ForceElement, name: str, value: Any, model: Model) -> str:
    try:
        model.link_number(value)
    except ModelError as problem:
        raise ModelError(f"{element.label}: {problem}") from None
    return str(value)


LinkName: TypeAlias = Annotated[str, Checked(_link_name)]
"""The name of a link."""

Vector: TypeAlias = Annotated[ArrayLike, vector("", "", "")]
"""Three numbers."""


@cache
def _checks(kind: type[ForceElement]) -> dict[str, tuple[Checked, bool]]:
    """Return the checks of an element's fields that have one, and whether they may be None."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for one in getattr(hint, "__metadata__", ()):
            if isinstance(one, Checked):
                found[name] = one, type(None) in get_args(hint.__origin__)
    return found


@dataclass(frozen=True, eq=False)
class ForceElement(ABC):
    """A force element with constant numbers; concrete elements are final.

    Parameters
    ----------
    name : in results and messages; by default the kind and a number, such as "PointSpring 1"
    """

    name: str = field(default="", kw_only=True)

    def bind(self, model: Model) -> Self:
        """Return the element with its names and numbers checked and its defaults filled in."""
        return self.checked(model)

    def checked(self, model: Model) -> Self:
        """Return the element with the fields checked that say how (`Checked`)."""
        found = {}
        for name, (checked, optional) in _checks(type(self)).items():
            value = getattr(self, name)
            if value is not None or not optional:
                found[name] = checked.check(self, name, value, model)
        return replace(self, **found)

    def place_units(self, model: Model) -> Units:
        """Return the units "s" of the coordinate that it acts on, and "f" of a force along it."""
        return {"s": "m", "f": "N"}

    @abstractmethod
    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return what a bound element does at time t (s), coordinates q and velocities v.

        Parameters
        ----------
        z : the element's own states (`states`), such as a tyre's deflection that relaxes
        """

    @abstractmethod
    def units(self, model: Model) -> Units:
        """Return names and units of the report."""

    def states(self, model: Model) -> Units:
        """Return names and units of the element's own states z; they begin at zero."""
        return {}

    def check_start(self, model: Model, t: float, bodies: Bodies) -> None:
        """Raise a `StateError` where a bound element cannot act at the start of a motion."""
        return

    @property
    def depends_on_time(self) -> bool:
        """Whether its effect depends on t, which a state alone does not tell."""
        return False

    @property
    def passive(self) -> bool:
        """Whether it stores and loses energy only, and U and D >= 0 tell how much."""
        return not self.depends_on_time

    @property
    def foreign(self) -> bool:
        """Whether its class is not the library's."""
        return type(self).__module__.partition(".")[0] != __name__.partition(".")[0]

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links on which it exerts wrenches."""
        return ()

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocities along which it exerts generalised forces."""
        return ()

    def within_cuts(
        self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES
    ) -> Mapping[int, Array]:
        """Return what of its wrenches passes through cut joints: it is part of their loads.

        Returns
        -------
        By number of the cut, force and moment (6,) on its successor, about the origin and in the
        axes of the root frame.
        """
        return {}

    def cut_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the cut joints in which it acts; all of its wrenches then pass through them."""
        return ()

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return what it stands for in a file: (a kind, joint), kinds being "damping", "friction",
        "stiffness" and "limits".
        """
        return frozenset()

    @property
    def held(self) -> Mapping[str, tuple[Any, int]]:
        """Numbers that stay during a step, by field: where from (an `Input` or a `Sampled`), and
        how many.
        """
        return {}

    def holding(self, numbers: Sequence[Any]) -> Self:
        """Return the element with such numbers (n,), floats or symbols, in the order of `held`."""
        return self

    def changed(self, **numbers: Any) -> Self:
        """Return the element with other numbers, unbound."""
        return replace(self, **numbers)

    @property
    def kind(self) -> str:
        """The name of its class, for messages."""
        return type(self).__name__

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind} {self.name!r}" if self.name else self.kind

    @property
    def place(self) -> str:
        """Where it acts, for tables: its links or its joint."""
        parts = []
        for name in PLACES:
            value = getattr(self, name, "")
            parts += [value] if isinstance(value, str) else list(value)
        return " - ".join(part for part in parts if part)

    @property
    def numbers(self) -> str:
        """Its numbers that are not the default's, for tables."""
        said = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in ("name", *PLACES) and value is not None and value != one.default:
                said.append(f"{one.name} {_shown(value)}")
        return ", ".join(said)

    @property
    def identity(self) -> str | None:
        """A text that says all numbers of a bound element; tables and roads by their digests.

        None if only the graph of its effect tells it from others: of a class or a function that is
        not the library's, whose text may change from run to run.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        parts = {k: getattr(x, "digest", x) for k, x in values.items()}
        if self.foreign or any(map(callable, parts.values())):
            return None
        parts = {k: "a parameter" if is_traced(x) else x for k, x in parts.items()}
        return hashlib.sha256(f"{type(self).__name__} {parts!r}".encode()).hexdigest()

    def unit_of(self, name: str, model: Model) -> str:
        """Return the unit of a number, "stiffness" or "stiffness.1", "" where it has none."""
        word, _, place = name.partition(".")
        checked, _ = _checks(type(self)).get(word, (None, False))
        units = dict(enumerate(checked.units if checked else ()))
        unit = units.get(int(place or 0), "")
        return unit.format(**self.place_units(model)) if "{" in unit else unit

    def number(
        self,
        name: str,
        value: Any,
        unit: str,
        least: float = -np.inf,
        *,
        positive: bool = False,
    ) -> float:
        """Return one finite number of the element, not below `least`; a symbol as it is."""
        if is_traced(value):
            symbol: float = value
            return symbol
        where = f"{self.label}: {name}"
        kind = "number above 0" if positive else "number"
        expected = f"one {kind}, {unit}" if unit else f"one {kind}"
        if isinstance(value, list | tuple | np.ndarray) and np.ndim(value):
            raise StateError(
                f"{where}: expected {expected}, got {value!r:.60}; numbers that differ from "
                f"trajectory to trajectory are parameters of a batch: parameters="
                f"{{'{self.name or 'NAME'}.{name}': [...]}}"
            )
        number = real_number(where, value, expected, positive=positive)
        if not is_traced(least) and number < least:
            raise StateError(f"{where}: expected {expected}, at least {least:g}, got {number:g}")
        return number

    def vector(self, name: str, value: Any, size: int = 3) -> tuple[float, ...]:
        """Return a vector of so many finite numbers, or of symbols."""
        if is_traced(value) and np.shape(value) == (size,):
            return tuple(value)
        found = finite_numbers(f"{self.label}: {name}", value, (size,))
        return tuple(found.tolist())


def _shown(value: Any) -> str:
    """Return a parameter in a few characters."""
    if isinstance(value, tuple):
        inside = " ".join(map(_shown, value))
        return inside if len(value) == 1 else f"({inside})"
    return f"{value:g}" if isinstance(value, float) else str(value)


_BOUND: WeakKeyDictionary[ForceElement, ReferenceType[Model]] = WeakKeyDictionary()
"""The models to which elements are bound: they are not bound to these again."""


def bound(model: Model, elements: Iterable[ForceElement] | None) -> tuple[ForceElement, ...]:
    """Return the force elements of a machine, bound to its model, once, and named."""
    found = []
    for name, element in by_names(elements).items():
        known = _BOUND.get(element)
        if known is None or known() is not model or element.name != name:
            element = element.bind(model)
            element = element if element.name == name else replace(element, name=name)
            _BOUND[element] = ref(model)
        found.append(element)
    return tuple(found)


def by_names(elements: Iterable[ForceElement] | None) -> dict[str, ForceElement]:
    """Return force elements as they are given, by the names that they have or get."""
    if elements is None:
        return {}
    expected = "forces: expected a list of force elements, forces=[mbd.forces.PointSpring(...)]"
    given: list[object] | None = None
    if not isinstance(elements, ForceElement):
        with contextlib.suppress(TypeError):  # what cannot be iterated over
            given = list(elements)
    if given is None:
        raise StateError(f"{expected}, got {elements!r:.60}")
    from mbd_bridge.forces.varying import varying  # an element itself

    elements_by_name: dict[str, ForceElement] = {}
    for number, element in enumerate(given, start=1):
        if not isinstance(element, ForceElement):
            raise StateError(f"{expected}, got {element!r:.60} in it")
        if not isinstance(element.name, str):
            raise StateError(f"{element.kind}: name: expected a text")
        element = varying(element)
        name = element.name or f"{element.kind} {number}"
        if name in elements_by_name:
            raise StateError(
                f"forces: elements {[*elements_by_name].index(name) + 1} and {number} are both "
                f"named {name!r}; choose another name"
            )
        elements_by_name[name] = element
    return elements_by_name


def named(elements: Sequence[ForceElement]) -> tuple[str, ...]:
    """Return a sentence that names force elements, if there are some."""
    names = [element.name for element in elements]
    return (f"force elements {some(names, SHOWN)}",) if names else ()


def element_table(elements: Sequence[ForceElement]) -> Table:
    """Return what each force element is, where it acts, and its numbers."""
    columns = [
        Series("type", "", [type(element).__name__ for element in elements]),
        Series("acts", "", [element.place for element in elements]),
        Series("numbers", "", [element.numbers for element in elements]),
    ]
    labels = Series("name", "", [element.name for element in elements])
    return Table("force elements", labels, columns)


def replaced_by(model: Model, elements: Iterable[ForceElement]) -> frozenset[tuple[str, str]]:
    """Return what elements stand for in the file; see `ForceElement.replaces`."""
    return frozenset().union(*(element.replaces(model) for element in elements))


def model_in(machine: Any, call: str) -> Model:
    """Return the model of a `Mechanism`, or the model itself."""
    model = getattr(machine, "model", machine)
    if not isinstance(model, Model):
        raise ModelError(
            f"{call}: expected a Mechanism, got {type(machine).__name__}; load it first: "
            f'mbd.load("robot.urdf")'
        )
    return model
