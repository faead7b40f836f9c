"""What loads are derived by: names, read and checked once, and the columns that they are.

    q, v, a             every coordinate, velocity, acceleration: a column for each velocity
    q.NAME, ...         one of them, or those of one joint
    t                   time, where force elements depend on it
    external            the wrenches on links, a column for each number: external.LINK.fx ...
    LINK.mass, ...      numbers of the model (`model.parameters`), or one of their components
    ELEMENT.field       numbers of force elements
    inertial            the ten inertial parameters of all links (`mass_moments.INERTIAL`), in which
                        loads are linear: LINK.inertial.m, .mx, ... (.izz); LINK.inertial of one

By q means along the unit velocities: for joints with a quaternion the change of position is the
rotation vector (rad) in the child's axes, as everywhere v is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, name_list
from mbd_bridge.base.errors import ModelError, StateError, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.mass_moments import INERTIAL, MassMoments, with_moments
from mbd_bridge.forces.parameters import ElementParameters, owner_of
from mbd_bridge.loads.derivatives.loops import independent_velocities, velocities_named
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import (
    ParameterColumn,
    Parameters,
    ParameterValues,
    inertias,
    split_component,
    value_rows,
)
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import RATE, model_units
from mbd_bridge.solve.actuation import actuated_velocities
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.constrained import actuated_joints

STATE = ("q", "v", "a")
INERTIAL_WORD = "inertial"
WRENCH = {"fx": "N", "fy": "N", "fz": "N", "mx": "N m", "my": "N m", "mz": "N m"}


class DerivativeColumn(NamedTuple):
    """A number that loads are derived by.

    Attributes
    ----------
    name, unit : such as "coupler.mass" in kg
    by : the entry of the request that it belongs to
    input : of the kernel's function that moves with it: q, v, a, t, external or p
    number : which entry of the input; of q, v and a which velocity
    value : of a number of the machine, its own; else nan
    """

    name: str
    unit: str
    by: str
    input: str
    number: int
    value: float = np.nan


@dataclass(frozen=True)
class DerivativeRequest:
    """Derivatives of some loads. Hashable; what is compiled.

    Attributes
    ----------
    loads : what is derived
    by : names, see above
    along : of a mechanism with loops, the velocities that are independent, by name: the others
        follow, and by numbers of the machine derivatives are those at their fixed motion. None:
        q, v and a are fixed all, and loops may open
    """

    loads: LoadRequest
    by: tuple[str, ...] = STATE
    along: tuple[str, ...] | None = None

    @staticmethod
    def of(
        model: Model,
        loads: LoadRequest,
        by: Iterable[str] | str = STATE,
        along: Iterable[str] | str | None = None,
    ) -> DerivativeRequest:
        """Return a checked request.

        Parameters
        ----------
        along : "actuated", "independent" (chosen here), "fixed", or names of coordinates; None:
            "actuated" where there are loops to close, else "fixed"
        """
        names = tuple(dict.fromkeys(name_list("by", by, "what loads are derived by")))
        if not names:
            raise ModelError("by: expected at least one name, such as 'q' or 'LINK.mass'")
        held = _held(model, loads, along)
        chosen = None if held is None else tuple(model.velocity_names[k] for k in held)
        request = DerivativeRequest(loads, names, chosen)
        Columns(model, request)
        return request


def _held(
    model: Model, loads: LoadRequest, along: Iterable[str] | str | None
) -> tuple[int, ...] | None:
    """Return the independent velocities, None for all."""
    closed = model.has_loops and not loads.open_tree
    names = name_list("along", "actuated" if along is None else along, "coordinates")
    if names == ("fixed",) or (along is None and not closed):
        return None
    if not closed:
        raise ModelError(
            f"along={along!r}: no loops are closed here, so that all coordinates are independent; "
            f"leave it out"
        )
    if names == ("independent",):
        return independent_velocities(model)
    if names == ("actuated",):
        active = actuated_velocities(model, actuated_joints(model, loads.actuated))
        return tuple(np.flatnonzero(active).tolist())
    return velocities_named(model, names)


class Columns:
    """The columns of a request, and the numbers of the machine among them.

    Attributes
    ----------
    columns : one for each number
    own : parameters of the model
    numbers : of the machine, one for each entry of p
    elements : parameters of force elements, None without any
    """

    def __init__(self, model: Model, request: DerivativeRequest) -> None:
        self.model, self.request = model, request
        self._moved = model.velocity_names if request.along is None else request.along
        loads = request.loads
        self._applied = AppliedForces(forces=loads.forces, known=loads.known)
        self._elements = {element.name: element for element in loads.forces}
        numbers = [name for name in request.by if self._kind(name) == "p"]
        kinds = [self._kind(name) for name in request.by]
        self._heavy = tuple(range(len(model.links))) if INERTIAL_WORD in kinds else ()
        of_elements = [name for name in numbers if self._of_element(name)]
        self.elements = ElementParameters.own(model, self._elements, of_elements)
        self.own = Parameters.own(model, [name for name in numbers if name not in of_elements])
        listed: dict[str, DerivativeColumn] = {}
        for name in request.by:
            for column in self._columns(name):
                listed.setdefault(column.name, column)
        self.columns = tuple(listed.values())

    @property
    def p(self) -> Array:
        """What the function takes of the machine (P,): its own values of `numbers`."""
        return np.array([number.value for number in self.numbers])

    @cached_property
    def numbers(self) -> tuple[DerivativeColumn, ...]:
        """Numbers of the machine, then those of force elements, then inertial parameters."""
        listed = [*zip(self.own.columns, self.own.values[0].tolist(), strict=True)]
        if self.elements is not None:
            listed += zip(self.elements.columns, self.elements.values[0].tolist(), strict=True)
        for link in (self.model.links[k] for k in self._heavy):
            moments = MassMoments.of(link.inertia).seen_from(link.frame.inverse()).parameters()
            for (word, unit), value in zip(INERTIAL.items(), moments.tolist(), strict=True):
                column = ParameterColumn(f"{link.name}.{INERTIAL_WORD}.{word}", unit)
                listed.append((column, value))
        return tuple(
            DerivativeColumn(name, unit, name, "p", k, value)
            for k, ((name, unit), value) in enumerate(listed)
        )

    def values(self, given: ParameterValues | ArrayLike) -> Array:
        """Return `p` with other values in it, (P,) or (N, P).

        Parameters
        ----------
        given : by name, of some of `numbers`; or an array (..., K) of all those among `columns`
        """
        if not isinstance(given, Mapping):
            names = [column.name for column in self.columns if column.input == "p"]
            array = as_floats("parameters", given, ModelError)
            if array.ndim not in (1, 2) or array.shape[-1] != len(names):
                raise ModelError(
                    f"parameters: expected values by name, or an array ({len(names)},) or "
                    f"(N, {len(names)}) of {', '.join(names) or 'nothing'}; got {array.shape}"
                )
            given = dict(zip(names, np.moveaxis(array, -1, 0), strict=True))
        out = self.p[None]
        given = by_name("parameters", given, "{'rod.mass': 2.0}")
        for name, value in given.items():
            places = self._places(name)
            if name.endswith(".inertia"):
                rows = inertias(name, value)
                rows = np.pad(rows, ((0, 0), (0, len(places) - rows.shape[1])))
            else:
                rows = value_rows(name, value, len(places))
            if len(out) > 1 and len(rows) not in (1, len(out)):
                raise ModelError(
                    f"parameters: expected the same number of variants, got {len(rows)} of "
                    f"{name!r}, {len(out)} of others"
                )
            out = np.repeat(out, len(rows), axis=0) if len(out) == 1 else out
            out[:, places] = rows
        self._check(given, out)
        return out[0] if len(out) == 1 else out

    def _places(self, name: str) -> list[int]:
        """Return which entries of p a name stands for."""
        names = [number.name for number in self.numbers]
        places = [k for k, own in enumerate(names) if f"{own}.".startswith(f"{name}.")]
        if not places:
            raise ModelError(f"parameters: {unknown_name('number', name, names)}; name it in by=")
        return places

    def _check(self, given: ParameterValues, rows: Array) -> None:
        """Raise for values that the numbers cannot have."""
        first = self._of_elements.start
        of_machine = {name: x for name, x in given.items() if self._places(name)[0] < first}
        Parameters.of(self.model, of_machine)
        for name in of_machine:
            link = (split_component(name) or (name, 0))[0].rpartition(".")[0]
            twice = [x for x in given if f"{x}.".startswith(f"{link}.{INERTIAL_WORD}.")]
            if twice:
                raise ModelError(
                    f"parameters {name!r} and {twice[0]!r}: both say how mass is spread in "
                    f"{link!r}; give one of them"
                )
        if self.elements is not None and len(of_machine) < len(given):
            self.elements.check(rows[:, self._of_elements])

    @property
    def _of_elements(self) -> slice:
        """Where the numbers of force elements are."""
        return slice(len(self.own.live), len(self.numbers) - self._changes)

    @property
    def _changes(self) -> int:
        return len(INERTIAL) * len(self._heavy)

    def model_with(self, p: Array) -> Model:
        """Return the model with parameters (P,), floats or symbols."""
        model = self.own.model_with(p[: len(self.own.live)])
        if not self._heavy:
            return model
        first = len(p) - self._changes
        changes = (p[first:] - self.p[first:]).reshape(-1, len(INERTIAL))
        each = zip(self._heavy, changes, strict=True)
        return with_moments(model, {k: MassMoments.of_parameters(x) for k, x in each})

    def applied(self, applied: AppliedForces, p: Array) -> AppliedForces:
        """Return what acts, with the parameters (P,) of force elements in their places."""
        if self.elements is None:
            return applied
        return replace(applied, forces=self.elements.bound(applied.forces, p[self._of_elements]))

    def seed(self, name: str, size: int) -> Array:
        """Return which entry of an input (size, K) each column moves."""
        out = np.zeros((size, len(self.columns)))
        for k, column in enumerate(self.columns):
            if column.input == name:
                out[column.number, k] = 1.0
        return out

    def _kind(self, name: str) -> str:
        """Return the input that a name is of, p for parameters; parts may be called "q", too."""
        model, (first, _, rest) = self.model, name.partition(".")
        if name in (*STATE, "t", "external", INERTIAL_WORD):
            return name
        if self._of_element(name):
            return "p"
        links = [link.name for link in model.links]
        heavy = [link for link in links if f"{name}.".startswith(f"{link}.{INERTIAL_WORD}.")]
        if heavy:
            return INERTIAL_WORD
        if first in STATE and (rest in model.velocity_names or rest in model.joint_index):
            return first
        carrying = self.request.loads.links if first == "external" else ()
        if any(f"{rest}.".startswith(f"{link}.") for link in carrying):
            return first
        if any(name.startswith(f"{part}.") for part in self._parts):
            return "p"
        if INERTIAL_WORD in name.split(".")[-2:]:
            return INERTIAL_WORD
        return first if first in (*STATE, "external") else "p"

    @cached_property
    def _parts(self) -> frozenset[str]:
        """Names of links, joints and loops."""
        model, links = self.model, (link.name for link in self.model.links)
        return frozenset([*links, *model.joint_index, *(loop.name for loop in model.loops)])

    def _of_element(self, name: str) -> bool:
        """Say whether a name is of a force element; one may be called what a link is called."""
        owner, word = owner_of(name)
        element: Any = self._elements.get(owner)
        known = word in vars(getattr(element, "element", element)) if element else False
        return known or (element is not None and owner not in self._parts)

    def _columns(self, name: str) -> list[DerivativeColumn]:
        kind, model = self._kind(name), self.model
        if kind in STATE:
            units = [unit + RATE[STATE.index(kind)] for unit in model_units(model)[1]]
            places = enumerate(zip(model.velocity_names, units, strict=True))
            listed = [
                DerivativeColumn(f"{kind}.{x}", unit, name, kind, k)
                for k, (x, unit) in places
                if x in self._moved
            ]
        elif kind == "t":
            if not self._applied.timed:
                raise ModelError("by: 't': nothing that acts depends on time; remove it")
            listed = [DerivativeColumn("t", "s", name, kind, 0)]
        elif kind == "external":
            links = self.request.loads.links
            listed = [
                DerivativeColumn(f"external.{link}.{word}", unit, name, kind, 6 * n + k)
                for n, link in enumerate(links)
                for k, (word, unit) in enumerate(WRENCH.items())
            ]
        else:
            first = len(self.numbers) - self._changes
            own = self.numbers[first:] if kind == INERTIAL_WORD else self.numbers[:first]
            listed = [number._replace(by=name) for number in own]
        chosen = [
            column for column in listed if name == kind or f"{column.name}.".startswith(f"{name}.")
        ]
        if not chosen:
            known = [column.name for column in listed]
            if kind == "external" and not known:
                raise ModelError(
                    f"by: {name!r}: no link carries an external wrench; give external={{LINK: "
                    f"wrench}}, zeros too, or of a compiled solver links=[LINK]"
                )
            hint = ""
            if kind in STATE and self.request.along is not None:
                hint = "; the other coordinates follow from these; along= chooses others"
            raise ModelError(f"by: {unknown_name('number', name, known)}{hint}")
        return chosen


def places_named(columns: Sequence[DerivativeColumn], name: str) -> list[int]:
    """Return which columns a name stands for: "q", "q.crank", "rod.xyz", "rod.xyz.x"."""
    places = [k for k, column in enumerate(columns) if f"{column.name}.".startswith(f"{name}.")]
    if not places:
        known = [column.name for column in columns]
        raise StateError(unknown_name("number in these derivatives", name, known))
    return places


def along_directions(
    columns: Sequence[DerivativeColumn],
    directions: Mapping[str, ArrayLike],
    states: tuple[int, ...],
) -> tuple[Array, DerivativeColumn]:
    """Return the rates of all columns (..., K) along a direction, and the column that it is."""
    listed = by_name("directions", directions, "{'q': dq, 'rod.mass': 1.0}")
    vector = np.zeros((*states, len(columns)))
    for name, value in listed.items():
        put_numbers(vector, places_named(columns, name), f"directions[{name!r}]", value)
    return vector, DerivativeColumn(" + ".join(listed), "", "", "", 0)


def put_numbers(array: Array, places: Sequence[int], what: str, value: ArrayLike) -> None:
    """Write the same numbers for all states, or those of each, at places of an array (..., K).

    Parameters
    ----------
    what : is written, for messages
    """
    numbers = as_floats(what, value)
    each = len(places) == 1 and numbers.shape == array.shape[:-1]
    try:
        array[..., places] = numbers[..., None] if each else numbers
    except ValueError:
        raise StateError(
            f"{what}: expected {len(places)} numbers for each state, got {numbers.shape}"
        ) from None


def per(unit: str, by: str) -> str:
    """Return the unit of a derivative: "N/rad", "N m/(kg m^2)"."""
    if not by:
        return unit
    return f"{unit}/({by})" if "/" in by or " " in by else f"{unit}/{by}"
