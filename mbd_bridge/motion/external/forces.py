"""All external forces on a mechanism, and what may be given as them.

Wherever wrenches on links are given (`external=`), these may be

- a mapping link -> (6,) or (N, 6) numbers, or (times, (n, 6)): a table over time;
- `mbd.ExternalForces`, as `robot.read_external` reads them from tables;
- the name of such a file; or a list of all these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, file_path, finite_numbers
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.external.force import Abscissa, ExternalForce, Sizes, sizes_of
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.wrenches import AXES, Axes, check_axes

File: TypeAlias = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class ExternalForces:
    """External forces on the links of one mechanism.

    Attributes
    ----------
    model : the mechanism's
    forces : tables over time, coordinates or positions; several may act on one link
    notes : what was read from files, and what was left out
    """

    model: Model
    forces: tuple[ExternalForce, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links on which something acts, each once."""
        return tuple(dict.fromkeys(force.link for force in self.forces))

    @property
    def said(self) -> tuple[str, ...]:
        """A sentence about each force, and about what was left out."""
        return (*map(str, self.forces), *self.notes)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """The same, for results in which these forces count."""
        texts = (*(force.text for force in self.forces), *self.notes)
        return tuple(Assumption("external", text) for text in texts)

    def use(self, time: ArrayLike | None, q: ArrayLike, v: ArrayLike | None = None) -> ExternalUse:
        """Return how much of each force acts at N states; see `along`."""
        states = np.atleast_2d(as_floats("q", q))
        rates = None if v is None else np.atleast_2d(as_floats("v", v))
        given = [force.given(self._prepared, time, states, rates) for force in self.forces]
        acting = tuple(int(wrench.any(axis=1).sum()) for wrench in given)
        return ExternalUse(self, len(states), acting, tuple(map(sizes_of, given)))

    def along(
        self, time: ArrayLike | None, q: ArrayLike, v: ArrayLike | None = None
    ) -> dict[str, Array]:
        """Return wrenches (N, 6) by link, at their origins in their axes, at N states.

        Parameters
        ----------
        time : (N,) s, for tables over time
        q, v : (N, nq), (N, nv); velocities matter to forces with a direction only
        """
        states = np.atleast_2d(as_floats("q", q))
        rates = None if v is None else np.atleast_2d(as_floats("v", v))
        found: dict[str, Array] = {}
        for force in self.forces:
            wrench = force.on_link(self._prepared, time, states, rates)
            found[force.link] = found[force.link] + wrench if force.link in found else wrench
        return found

    @cached_property
    def _prepared(self) -> Prepared:
        return Prepared(self.model)

    def __add__(self, other: ExternalForces) -> ExternalForces:
        """Return these and others together."""
        if not isinstance(other, ExternalForces):
            return NotImplemented
        both = (*self.forces, *other.forces)
        return ExternalForces(self.model, both, (*self.notes, *other.notes))

    def __iter__(self) -> Iterator[ExternalForce]:
        return iter(self.forces)

    def __repr__(self) -> str:
        return f"ExternalForces({'; '.join(self.said) or 'none'})"


@dataclass(frozen=True, eq=False)
class ExternalUse:
    """How much of external forces acts along a motion, or a piece of one.

    Attributes
    ----------
    forces : which
    rows : of the motion
    acting : of each force, the number of rows in which it is not zero
    sizes : of each force, the largest force (N) and moment (N m) there
    """

    forces: ExternalForces
    rows: int
    acting: tuple[int, ...]
    sizes: tuple[Sizes, ...]

    def __add__(self, other: ExternalUse) -> ExternalUse:
        """Return the use along this piece and the next one."""
        acting = tuple(a + b for a, b in zip(self.acting, other.acting, strict=True))
        pairs = zip(self.sizes, other.sizes, strict=True)
        sizes = tuple((max(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)
        return ExternalUse(self.forces, self.rows + other.rows, acting, sizes)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """A sentence about each force, and about what was left out."""
        each = zip(self.forces.forces, self.acting, self.sizes, strict=True)
        texts = [force.text_along(self.rows, acting, sizes) for force, acting, sizes in each]
        return tuple(Assumption("external", text) for text in (*texts, *self.forces.notes))


ExternalGiven: TypeAlias = (
    Mapping[str, Any] | ExternalForces | File | Sequence[Mapping[str, Any] | ExternalForces | File]
)
"""What may be given as external forces."""


def external_forces(
    model: Model,
    given: ExternalGiven | None,
    external_in: str = "link",
    time: ArrayLike | None = None,
) -> ExternalForces | None:
    """Return external forces however they are given; None for none.

    Parameters
    ----------
    external_in : axes of wrenches in a mapping
    time : (N,) s, at which (N, 6) numbers are given
    """
    axes = check_axes(external_in)
    if given is None:
        return None
    if isinstance(given, ExternalForces):
        _check_model(model, given)
        return given
    if isinstance(given, Mapping):
        forces = [_force(model, link, what, axes, time) for link, what in given.items()]
        return ExternalForces(model, tuple(forces))
    if isinstance(given, str | PathLike):
        from mbd_bridge.motion.external.files import external_from_file

        return external_from_file(file_path("external", given), model)
    if isinstance(given, list | tuple) and given:
        parts = [one for one in given if isinstance(one, Mapping | ExternalForces | str | PathLike)]
        if len(parts) == len(given):
            total = ExternalForces(model)
            for part in parts:
                total += external_forces(model, part, axes, time) or total
            return total
    raise StateError(
        f"external: expected wrenches by link {{'hand': (fx, fy, fz, mx, my, mz)}}, tables "
        f"{{'hand': (times, wrenches)}}, a file, robot.read_external(...), or a list of these, got "
        f"{given!r:.60}"
    )


def force_on_link(
    model: Model,
    link: str,
    force: ArrayLike,
    moment: ArrayLike,
    point: ArrayLike,
    axes: str,
    time: ArrayLike | None,
) -> ExternalForces:
    """Return one external force; see `Mechanism.external_force`."""
    model.link_number(link)
    parts = [finite_numbers(*one) for one in (("force", force), ("moment", moment))]
    if time is None and any(part.shape != (3,) for part in parts):
        raise StateError(
            f"force, moment: expected (3,) each, or (n, 3) with their times, time=, got "
            f"{parts[0].shape} and {parts[1].shape}"
        )
    x = np.zeros(1) if time is None else finite_numbers("time", time)
    if x.ndim != 1 or not {part.shape for part in parts} <= {(3,), (x.size, 3)}:
        shapes = " and ".join(str(part.shape) for part in parts)
        raise StateError(
            f"force, moment: expected (3,) or ({x.size}, 3) for {x.size} times, (n,), got {shapes} "
            f"and times {x.shape}"
        )
    wrenches = np.hstack([np.broadcast_to(part, (*x.shape, 3)) for part in parts])
    place = finite_numbers("point", point, (3,))
    reference: Axes = one_of("axes", axes, AXES, StateError)
    outside = "hold" if time is None else None
    found = ExternalForce(
        link, Abscissa("time", "s"), x, wrenches, reference, tuple(place), outside
    )
    return ExternalForces(model, (found.checked(),))


def is_table(given: Any) -> bool:
    """Return whether what is given for a link is a table (times, wrenches)."""
    return isinstance(given, tuple) and len(given) == 2


def is_numbers(given: object) -> bool:
    """Return whether external wrenches are a mapping of plain numbers."""
    return isinstance(given, Mapping) and not any(map(is_table, given.values()))


class Wrenches(NamedTuple):
    """External wrenches at states.

    Attributes
    ----------
    by_link : (6,) or (N, 6) N, N m; None for none
    axes : in which they are given, at the links' origins
    assumed : what results assume of them, if they come from tables
    """

    by_link: Mapping[str, ArrayLike] | None
    axes: Axes
    assumed: tuple[Assumption, ...] = ()


def wrenches_at(
    model: Model,
    given: ExternalGiven | None,
    external_in: Axes,
    time: ArrayLike | None,
    q: ArrayLike,
    v: ArrayLike | None,
) -> Wrenches:
    """Return wrenches as numbers at states; numbers pass as they are."""
    if given is None or is_numbers(given):
        return Wrenches(cast("Mapping[str, ArrayLike] | None", given), external_in)
    forces = external_forces(model, given, external_in, time)
    assert forces is not None
    found = forces.along(time, q, v)
    if np.ndim(q) == 1:
        found = {link: wrench[0] for link, wrench in found.items()}
    return Wrenches(found, "link", forces.use(time, q, v).assumed)


def _force(model: Model, link: str, what: Any, axes: Axes, time: ArrayLike | None) -> ExternalForce:
    model.link_number(link)
    over = Abscissa("time", "s")
    if is_table(what):
        return ExternalForce(link, over, what[0], what[1], axes).checked()
    numbers = as_floats(f"external[{link!r}]", what)
    if numbers.shape == (6,):
        return ExternalForce(link, over, np.zeros(1), numbers[None], axes, outside="hold").checked()
    if time is None:
        raise StateError(
            f"external[{link!r}]: (6,) numbers, or a table (times, (n, 6)), got the shape "
            f"{numbers.shape}"
        )
    return ExternalForce(link, over, np.asarray(time), numbers, axes).checked()


def _check_model(model: Model, given: ExternalForces) -> None:
    """Refuse forces that were made for another mechanism; one with a payload more is the same."""
    if given.model is model:
        return
    same = given.model.coordinate_names == model.coordinate_names
    if not same or [x.name for x in given.model.links] != [x.name for x in model.links]:
        raise StateError(
            f"external: these forces are for {given.model.name!r}, which has other links or "
            f"coordinates than {model.name!r}; read them for this one: ("
            f"robot).read_external(path)"
        )
