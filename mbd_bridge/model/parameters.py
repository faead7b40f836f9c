"""Numbers of a mechanism that differ from variant to variant: masses, lengths, gravity.

A parameter is named after what it belongs to, with the file's own word for it:

    LINK.mass                                kg
    LINK.centre             (3,)             m, of mass, in the link's frame
    LINK.inertia            (3,), (1, 3, 3)  kg m², principal moments or matrix, about the centre of
                                             mass along the link's axes
    JOINT.xyz, JOINT.rpy    (3,)             m, rad: where the joint sits on its parent
    LOOP.predecessor.xyz    (3,)             m, and .rpy: a loop joint's frame on its predecessor
    LOOP.successor.xyz      (3,)             m, and .rpy: on its successor
    LOOP.length, LOOP.radius                 m, of a distance joint; of a rolling wheel
    LINK.E, .G, .density, .A, .Iy, .Iz, .J   Pa, kg/m³, m², m⁴: of a flexible link's beam
    LINK.damping_ratio, .alpha, .beta        1, 1/s, s: of a flexible link
    LINK.mode1.frequency                     Hz, of one mode of a modal basis alone
    gravity                 (3,)             m/s², in the world's axes

One number of a vector is JOINT.xyz.x, JOINT.rpy.yaw, LINK.inertia.xx, gravity.z; the others then
stay as the file has them. Each replaces exactly the number of this name in the description, and
nothing else: a longer link does not move its centre of mass. The model is then built from the
description as ever, with numbers for one variant, or with symbols: a kernel that takes the
parameters as one more input.

Values of parameters as callers give them: one for all variants, or N of them; checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name, known_name
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.build import build_model
from mbd_bridge.model.builder import SYMMETRIC
from mbd_bridge.model.description import Description
from mbd_bridge.model.flexible_links import OF_DAMPING, OF_FLEXIBLE, FlexibleBody
from mbd_bridge.model.joint_table import DEFLECTION
from mbd_bridge.model.model import Model
from mbd_bridge.model.spatial import Array, Frame, Inertia, matrix_from_rpy, zeros


def value_rows(name: str, value: ArrayLike, size: int) -> Array:
    """Return values as (N, size): one for all variants has N = 1."""
    rows = _numbers(name, value)
    wanted = "one number or (N,)" if size == 1 else f"({size},) or (N, {size})"
    tail = () if size == 1 else (size,)
    if rows.ndim not in (len(tail), len(tail) + 1) or rows.shape[rows.ndim - len(tail) :] != tail:
        raise ModelError(f"parameter {name!r}: expected {wanted}, got {rows.shape}")
    return rows.reshape(-1, size)


def inertias(name: str, value: ArrayLike) -> Array:
    """Return principal moments (N, 3), or the entries xx, yy, zz, xy, xz, yz of matrices (N, 6)."""
    numbers = _numbers(name, value)
    if numbers.shape == (3, 3):
        raise ModelError(
            f"parameter {name!r}: (3, 3) numbers may be one matrix or the principal moments of "
            f"three variants; give the matrix as (1, 3, 3), or three variants as (3, 3, 3)"
        )
    if numbers.ndim < 3:
        return value_rows(name, numbers, 3)
    if numbers.ndim > 3 or numbers.shape[1:] != (3, 3):
        raise ModelError(f"parameter {name!r}: expected (N, 3) or (N, 3, 3), got {numbers.shape}")
    apart = np.abs(numbers - numbers.transpose(0, 2, 1)).max(initial=0.0)
    if apart > SYMMETRIC * np.abs(numbers).max(initial=0.0):
        raise ModelError(f"parameter {name!r}: an inertia is symmetric, this is not, by {apart:g}")
    both = 0.5 * (numbers + numbers.transpose(0, 2, 1))
    return np.asarray(both[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def matrix(p: Array) -> Array:
    """Return the inertia (3, 3) of principal moments (3,) or of entries (6,); see `inertias`."""
    out = zeros((3, 3), p)
    for k in range(3):
        out[k, k] = p[k]
    for value, (i, j) in zip(p[3:], ((0, 1), (0, 2), (1, 2)), strict=False):
        out[i, j] = out[j, i] = value
    return out


def _numbers(name: str, value: ArrayLike) -> Array:
    array = as_floats(f"parameter {name!r}", value, ModelError)
    if not array.size or not np.isfinite(array).all():
        raise ModelError(f"parameter {name!r}: expected finite numbers, got {value!r:.60}")
    return array


GRAVITY = "gravity"
OF_LINK = ("mass", "centre", "inertia")
OF_FRAME = ("xyz", "rpy")
OF_LOOP = {"length": ("distance", "distance joint"), "radius": ("rolling", "rolling wheel")}
"""Words of loops, with the type of those that have them and what messages call it."""

SIDES = ("predecessor", "successor")

COMPONENTS = {"rpy": ("roll", "pitch", "yaw"), "inertia": ("xx", "yy", "zz", "xy", "xz", "yz")}
"""What the numbers of a parameter are called where it is not x, y and z."""

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Where the components of an inertia are in its matrix."""

PARAMETER_UNIT = {
    "mass": "kg",
    "centre": "m",
    "inertia": "kg m^2",
    "xyz": "m",
    "rpy": "rad",
    "length": "m",
    "radius": "m",
    GRAVITY: "m/s^2",
    **OF_FLEXIBLE,
}
"""By the last word of a parameter's name."""

VECTORS = ("centre", "inertia", *OF_FRAME, GRAVITY)
"""Last words of parameters that are several numbers."""


def split_component(name: str) -> tuple[str, int] | None:
    """Return of "elbow.xyz.y" the parameter "elbow.xyz" and 1; None if it is no such name."""
    whole, _, last = name.rpartition(".")
    word = whole.rpartition(".")[2]
    parts = COMPONENTS.get(word, tuple("xyz")) if word in VECTORS else ()
    return (whole, parts.index(last)) if last in parts else None


def parameter_unit(name: str) -> str:
    """Return the unit of a parameter of a mechanism, or of one of its numbers; "" of others."""
    whole, _ = split_component(name) or (name, 0)
    return PARAMETER_UNIT.get(whole.rpartition(".")[2], "")


ParameterValues = Mapping[str, ArrayLike]
"""Values by the parameter's name: one for all variants, or N of them."""


_VARIANTS: WeakKeyDictionary[Model, tuple[Parameters, Array]] = WeakKeyDictionary()


def variant_of(model: Model) -> tuple[Parameters, Array] | None:
    """Return the parameters that a model is a variant by, and its own (size,); None if it is none.

    Machine code of the parameters serves all their variants.
    """
    return _VARIANTS.get(model)


class ParameterColumn(NamedTuple):
    """One number of a parameter, such as "gravity.z" in "m/s^2"."""

    name: str
    unit: str


@dataclass(frozen=True, eq=False)
class Parameters:
    """Chosen numbers of a mechanism, for N variants of it.

    Attributes
    ----------
    model : that the variants are variants of
    names : of the parameters
    values : (N, P), those of each variant side by side
    live : (P,) which of them are symbols in a kernel; the others are 0 in every variant, and a
        plain 0 costs nothing
    beside : the last numbers, which are not of the mechanism (`with_beside`)
    """

    model: Model
    names: tuple[str, ...]
    values: Array
    live: Array
    _entries: tuple[_Entry, ...]
    _given: dict[str, Array]
    beside: tuple[ParameterColumn, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        names, columns = self.names[len(self._given) :], self.beside
        others = self.values[:, len(self.live) - len(columns) :]
        return _remade, (self.model, self._given, len(self), names, columns, others)

    def with_beside(
        self, names: tuple[str, ...], columns: tuple[ParameterColumn, ...], values: Array
    ) -> Parameters:
        """Return the parameters with numbers (N, B) of something else on the machine behind them.

        They are inputs of the same kernels; the model does not depend on them.
        """
        number = max(len(self), len(values))
        others = np.broadcast_to(values, (number, values.shape[1]))
        whole = np.hstack([self.repeated(number).values, others])
        return replace(
            self,
            names=(*self.names, *names),
            values=whole,
            live=np.asarray(whole.any(axis=0)),
            beside=(*self.beside, *columns),
        )

    def numbers_beside(self, p: Array) -> Array:
        """Return the numbers (B,) that are not of the mechanism, from what a kernel takes."""
        return self._full(p)[len(self.live) - len(self.beside) :]

    def with_numbers(self, p: Array) -> Parameters:
        """Return one variant, with these numbers (size,) of what a kernel takes."""
        return replace(self, values=self._full(p)[None])

    def _full(self, p: Array) -> Array:
        """Return all numbers (P,) from those that a kernel takes (size,)."""
        full = zeros(len(self.live), p)
        full[self.live] = p
        return full

    @staticmethod
    def of(model: Model, given: ParameterValues) -> Parameters:
        """Return the parameters that a caller gives by name, checked.

        Raises
        ------
        ModelError
            There is no such number, or a value that it cannot have.
        """
        entries, columns = [], []
        given = _whole(model, by_name("parameters", given, "{'rod.mass': 2.0}"))
        for name, value in given.items():
            entry, rows = _entry(model.description, name, value)
            entries.append(entry)
            columns.append(rows)
        numbers = {len(rows) for rows in columns} - {1}
        if len(numbers) > 1:
            listed = ", ".join(f"{n}: {len(rows)}" for n, rows in zip(given, columns, strict=True))
            raise ModelError(f"parameters: expected the same number of variants, got {listed}")
        number = numbers.pop() if numbers else 1
        wide = [np.broadcast_to(rows, (number, rows.shape[1])) for rows in columns]
        values = np.hstack([np.zeros((number, 0)), *wide])
        return Parameters(
            model,
            tuple(given),
            values,
            np.asarray(values.any(axis=0)),
            tuple(entries),
            {name: np.array(value, dtype=np.float64) for name, value in given.items()},
        )

    @staticmethod
    def own(model: Model, names: Iterable[str]) -> Parameters:
        """Return parameters with the model's own numbers, zeros too: a kernel takes all of them.

        Parameters
        ----------
        names : of parameters or of their numbers, whose parameter is then there as a whole
        """
        values = dict[str, ArrayLike]()
        for name in names:
            whole = (split_component(name) or (name, 0))[0]
            shape = np.ones((1, 3, 3)) if whole.endswith(".inertia") else np.ones(3)
            vector = whole.rpartition(".")[2] in VECTORS
            entry, _ = _entry(model.description, whole, shape if vector else 1.0)
            values[whole] = entry.now(_Draft(model))[None]
        found = Parameters.of(model, values)
        return replace(found, live=np.ones(len(found.live), dtype=bool))

    @property
    def size(self) -> int:
        """Numbers of one variant that a kernel takes."""
        return int(self.live.sum())

    @property
    def inputs(self) -> Array:
        """What a kernel takes of each variant (N, size)."""
        return np.ascontiguousarray(self.values[:, self.live])

    def __len__(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> tuple[ParameterColumn, ...]:
        """Name and unit of each of the P numbers of a variant."""
        columns = []
        for name, entry in zip(self.names, self._entries, strict=False):
            word = name.rpartition(".")[2]
            parts = COMPONENTS.get(word, "xyz") if entry.size > 1 else ("",)
            suffixes = [f".{part}" if part else "" for part in parts][: entry.size]
            columns += [ParameterColumn(name + end, PARAMETER_UNIT[word]) for end in suffixes]
        return (*columns, *self.beside)

    @property
    def identity(self) -> str:
        """Which numbers of the model these are, without their values: for kernels' addresses."""
        # names say it: a link's place in its file is not its place in the model
        places = self.names, [entry.size for entry in self._entries], [x.name for x in self.beside]
        live = self.live.astype(int).tolist()
        return f"parameters {places} {live}"

    def repeated(self, number: int) -> Parameters:
        """Return as many variants: the same, or N times the only one."""
        if len(self) not in (1, number):
            raise ModelError(f"parameters: expected {number} variants or one, got {len(self)}")
        values = np.broadcast_to(self.values, (number, len(self.live)))
        return replace(self, values=np.ascontiguousarray(values))

    def variant(self, number: int) -> Model:
        """Return the model of one variant."""
        model = self._model(self.values[number])
        if self._entries:
            _VARIANTS[model] = self, self.values[number][self.live]
        return model

    def model_with(self, p: Array) -> Model:
        """Return the model with symbols (size,) in the places of the parameters."""
        return self._model(self._full(p))

    def _model(self, p: Array) -> Model:
        """Return the model with these numbers (P,), floats or symbols, in their places."""
        if not self._entries:
            return self.model
        draft = _Draft(self.model)
        start = 0
        for entry in self._entries:
            entry.put(draft, p[start : start + entry.size])
            start += entry.size
        symbolic = p.dtype == object
        model = build_model(
            draft.description(symbolic),
            floating=self.model.floating,
            gravity=self.model.gravity if symbolic else draft.gravity[0],
            rank_tolerance=self.model.rank_tolerance,
        )
        if symbolic:
            model = replace(model, gravity=draft.gravity[0], flexible=draft.bent(model))
            # a scale of residuals, which decides nothing: that of the model itself will do
            vars(model)["size"] = self.model.size
        return model

    def traced(self, make: Callable[[Model], Callable[..., Any]]) -> Callable[..., Any]:
        """Return a function whose last argument are the parameters (size,).

        Parameters
        ----------
        make : returns the function of a given model
        """

        def function(*arguments: Array) -> Any:
            return make(self.model_with(arguments[-1]))(*arguments[:-1])

        return function


def _remade(
    model: Model,
    given: ParameterValues,
    number: int,
    names: tuple[str, ...],
    columns: tuple[ParameterColumn, ...],
    beside: Array,
) -> Parameters:
    """Return parameters that have travelled to another process."""
    parameters = Parameters.of(model, given).repeated(number)
    return parameters.with_beside(names, columns, beside) if names else parameters


def _whole(model: Model, given: ParameterValues) -> dict[str, ArrayLike]:
    """Return values with single numbers of vectors as vectors, their others from the file."""
    found = dict[str, ArrayLike]()
    for name, value in given.items():
        component = split_component(name)
        if component is None:
            found[name] = value
            continue
        whole, component_index = component
        if whole in given:
            raise ModelError(f"parameters {whole!r} and {name!r}: give the whole or its numbers")
        rows = value_rows(name, value, 1)
        is_inertia = whole.endswith(".inertia")
        if whole not in found:
            entry, _ = _entry(model.description, whole, np.zeros((1, 3, 3) if is_inertia else 3))
            found[whole] = entry.now(_Draft(model))[None]
        before = np.asarray(found[whole])
        if len(rows) > 1 and len(before) not in (1, len(rows)):
            raise ModelError(
                f"parameters: expected the same number of variants, got {len(rows)} of {name!r}, "
                f"{len(before)} of another number of {whole!r}"
            )
        values = np.repeat(before, len(rows) if len(before) == 1 else 1, axis=0)
        for i, j in (
            {PAIRS[component_index], PAIRS[component_index][::-1]}
            if is_inertia
            else {(component_index, None)}
        ):
            values[(slice(None), i) if j is None else (slice(None), i, j)] = rows[:, 0]
        found[whole] = values
    return found


@dataclass(frozen=True, eq=False)
class _Entry:
    """Where the numbers of a parameter stand in a draft.

    Attributes
    ----------
    size : how many they are
    parts, index : the list of the draft, and the place in it, of what has them
    path : attributes from there to what they make; of flexible links the word for the number
    made : returns that of numbers (size,)
    """

    size: int
    parts: str
    index: int
    path: tuple[str, ...]
    made: Callable[[Array], Any] = lambda p: p

    def put(self, draft: _Draft, p: Array) -> None:
        """Put numbers into their place."""
        parts = getattr(draft, self.parts)
        if self.parts == "flexible":
            parts.setdefault(self.index, {})[self.path[0]] = p[0]
            return
        parts[self.index] = _with(parts[self.index], self.path, self.made(p))

    def now(self, draft: _Draft) -> Array:
        """Return the numbers, of an inertia the matrix, that stand there."""
        if self.parts == "flexible":
            from mbd_bridge.model.flexible_numbers import flexible_number

            flexible = draft.given.flexible[self.index]
            return np.array(flexible_number(draft.given, flexible, self.path[0]))
        value = reduce(_inside, self.path, getattr(draft, self.parts)[self.index])
        if self.path[-1:] == ("rotation",):
            return np.array(Frame(value, np.zeros(3)).rpy())
        return np.array(value)


def _inside(whole: Any, name: str) -> Any:
    """Return an attribute; the inertia of a massless link is zero."""
    value = getattr(whole, name)
    return Inertia.zero() if value is None and name == "inertia" else value


def _with(whole: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a copy with another value at a path of attributes."""
    if not path:
        return value
    return replace(whole, **{path[0]: _with(_inside(whole, path[0]), path[1:], value)})


class _Draft:
    """A description whose numbers are being replaced."""

    def __init__(self, model: Model) -> None:
        self.given: Description = model.description
        self.links, self.joints = list(self.given.links), list(self.given.joints)
        self.loops, self.gravity = list(self.given.loops), [model.gravity]
        self.flexible: dict[int, dict[str, Any]] = {}

    def description(self, symbolic: bool) -> Description:
        """Return the description; with symbols its flexible links are as they were, see `bent`."""
        links, joints, loops = tuple(self.links), tuple(self.joints), tuple(self.loops)
        flexible = list(self.given.flexible)
        if self.flexible:
            from mbd_bridge.model.flexible_numbers import check_numbers, with_number
        for k, values in self.flexible.items():
            check_numbers(self.given, flexible[k], values)
            for word, value in values.items() if not symbolic else ():
                flexible[k] = with_number(self.given, flexible[k], word, float(value))
        changed = replace(self.given, links=links, joints=joints, loops=loops, source=None)
        return replace(changed, flexible=tuple(flexible))

    def bent(self, model: Model) -> tuple[FlexibleBody, ...]:
        """Return what flexible links add to their bodies, with symbols in the places of numbers."""
        parts, known = list(model.flexible), [model.links[x.link].name for x in model.flexible]
        if self.flexible:
            from mbd_bridge.model.flexible_numbers import varied
        for k, values in self.flexible.items():
            link = self.given.flexible[k]
            place = known.index(link.link)
            frame = model.links[parts[place].link].frame
            parts[place] = varied(self.given, link, parts[place], frame, values)
        return tuple(parts)


def _entry(description: Description, name: str, value: ArrayLike) -> tuple[_Entry, Array]:
    """Return what a name stands for, and its values (N, size)."""
    owner, _, word = name.rpartition(".")
    if name == GRAVITY:
        return _Entry(3, "gravity", 0, ()), value_rows(name, value, 3)
    if word in OF_FLEXIBLE:
        from mbd_bridge.model.flexible_numbers import number_named

        index, word = number_named(description, name)
        rows = value_rows(name, value, 1)
        if rows.min() < 0.0 or (rows.min() == 0.0 and word not in OF_DAMPING):
            expected = "0 or more" if word in OF_DAMPING else "a number above 0"
            raise ModelError(f"parameter {name!r}: expected {expected}, got {rows.min():g}")
        return _Entry(1, "flexible", index, (word,), _single), rows
    if word in OF_LINK:
        return _of_link(description, name, owner, word, value)
    if word in OF_FRAME:
        return _of_frame(description, name, owner, word), value_rows(name, value, 3)
    if word in OF_LOOP:
        return _of_loop(description, name, owner, word, value)
    words = [*(f"LINK.{word}" for word in OF_LINK), *(f"JOINT.{word}" for word in OF_FRAME)]
    words += [f"LOOP.{side}.{word}" for side in SIDES for word in OF_FRAME]
    words += ["one of their numbers, such as JOINT.xyz.x"]
    raise ModelError(
        f"no parameter {name!r}: there are {', '.join(words)}, LOOP.length, LOOP.radius and "
        f"{GRAVITY}, with the names of links, joints and loops; of flexible links LINK.E and other "
        f"words: {', '.join(OF_FLEXIBLE)}"
    )


def _of_link(
    description: Description, name: str, owner: str, word: str, value: ArrayLike
) -> tuple[_Entry, Array]:
    names = [link.name for link in description.links]
    index = names.index(known_name("link", owner, names, f"parameter {name!r}: ", ModelError))
    if any(flexible.link == owner for flexible in description.flexible):
        raise ModelError(
            f"parameter {name!r}: link {owner!r} bends, its mass is that of its beam: vary "
            f"{owner}.density or {owner}.A, or what is fixed to it"
        )
    if word == "inertia":
        rows = inertias(name, value)
        if (least := rows[:, :3].min()) < 0.0:
            raise ModelError(
                f"parameter {name!r}: a moment of inertia is not negative, this is {least:g} kg m^2"
            )
        return _Entry(rows.shape[1], "links", index, ("inertia", "central"), matrix), rows
    if word == "centre":
        return _Entry(3, "links", index, ("inertia", word)), value_rows(name, value, 3)
    rows = value_rows(name, value, 1)
    if rows.min() < 0.0:
        raise ModelError(f"parameter {name!r}: a mass is not negative, this is {rows.min():g} kg")
    return _Entry(1, "links", index, ("inertia", word), _single), rows


def _single(p: Array) -> Any:
    return p[0]


def _of_frame(description: Description, name: str, owner: str, word: str) -> _Entry:
    joints = [joint.name for joint in description.joints]
    loops = [loop.name for loop in description.loops]
    stem, _, last = owner.rpartition(".")
    side = last if last in SIDES and stem in (*joints, *loops) else SIDES[0]
    whose = stem if side == last else owner
    ends = [*joints, *loops]
    index = ends.index(known_name("joint", whose, ends, f"parameter {name!r}: ", ModelError))
    _on_rigid_links(description, name, whose)
    frame: tuple[str, ...]
    if index >= len(joints):
        parts, index, frame = "loops", index - len(joints), (side, "frame")
    else:
        # a joint that the tree walks backward sits with its described parent's frame on its child
        on_parent = (side == SIDES[0]) != description.joints[index].turned
        parts, frame = "joints", ("origin" if on_parent else "child_frame",)
    if word == "xyz":
        return _Entry(3, parts, index, (*frame, "translation"))
    return _Entry(3, parts, index, (*frame, "rotation"), lambda p: matrix_from_rpy(*p))


def _on_rigid_links(description: Description, name: str, joint: str) -> None:
    """Refuse frames on flexible links: their modes' values there are numbers."""
    stations = {item.child for item in description.joints if item.type == DEFLECTION}
    ends = [(item.name, item.parent, item.child) for item in description.joints]
    ends += [(item.name, item.predecessor.link, item.successor.link) for item in description.loops]
    for end_name, *links in ends:
        if end_name == joint and stations & set(links):
            raise ModelError(
                f"parameter {name!r}: joint {joint!r} is on a link that bends, where its place "
                f"cannot vary; make a mechanism for each place"
            )


def _of_loop(
    description: Description, name: str, owner: str, word: str, value: ArrayLike
) -> tuple[_Entry, Array]:
    kind, noun = OF_LOOP[word]
    known = [loop.name for loop in description.loops if loop.type == kind]
    known_name(noun, owner, known, f"parameter {name!r}: ", ModelError)
    index = [loop.name for loop in description.loops].index(owner)
    rows = value_rows(name, value, 1)
    if not rows.min() > 0.0:
        raise ModelError(f"parameter {name!r}: a {word} is positive, this is {rows.min():g} m")
    return _Entry(1, "loops", index, (word,), _single), rows
