"""Points and frames on links and on the ground: where they are, and how they move.

Two links are seen from the root frame, so that digits do not depend on where the machine is; what
is fixed to the ground is seen from the world.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.forces.base import NO_STATES, Checked, Effect, ForceElement, Units, model_in
from mbd_bridge.forces.joints import CoordinateEffect
from mbd_bridge.functions import maximum, sqrt
from mbd_bridge.model import Model
from mbd_bridge.model.model import GROUND
from mbd_bridge.model.spatial import Array, cross, is_zero

SMALLEST = 1e-200
"""m²: squares of lengths are taken as no smaller, so that a direction at length 0 is 0, not nan."""


class Placed(NamedTuple):
    """A point of a link, or of the ground, in the frame that it is seen from.

    Attributes
    ----------
    link : its index, or None for the ground
    inside : (3,) m, the point in the link's frame
    rotation : (3, 3) of the link
    position, velocity : (3,) m, m/s of the point
    omega : (3,) rad/s of the link
    """

    link: int | None
    inside: Array
    rotation: Array
    position: Array
    velocity: Array
    omega: Array

    def wrench(self, force: Array, moment: Array | None = None) -> Array:
        """Return the wrench (6,) on the link of a force and a moment at the point."""
        turn = self.rotation.T
        pushed = turn @ force
        twist = cross(self.inside, pushed)
        return np.concatenate([pushed, twist if moment is None else twist + turn @ moment])


def link_or_ground(model: Model, name: Any) -> int | None:
    """Return the index of a link, None for "ground", unless a link has that name."""
    if isinstance(name, str) and name == GROUND and name not in model.link_index:
        return None
    try:
        return model.link_number(name)
    except ModelError as problem:
        raise ModelError(f"{problem}; or {GROUND!r}") from None


def _two_links(element: ForceElement, name: str, names: Any, model: Model) -> tuple[str, str]:
    """Return the names of the two links that an element connects, checked."""
    if isinstance(names, str) or not isinstance(names, tuple | list) or len(names) != 2:
        raise StateError(
            f"{element.label}: {name}: expected two names, such as ('{GROUND}', 'arm'), got "
            f"{names!r:.60}"
        )
    first, second = names
    try:
        same = link_or_ground(model, first) == link_or_ground(model, second)
    except ModelError as problem:
        raise ModelError(f"{element.label}: {problem}") from None
    if same:
        raise StateError(
            f"{element.label}: {name}: expected two different links, got {first!r} twice"
        )
    return str(first), str(second)


def _two_vectors(
    element: ForceElement, name: str, value: Any, model: Model
) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise StateError(f"{element.label}: {name}: expected two {name} (3,), one on each link")
    return tuple(element.vector(name, one) for one in value)


TwoLinks: TypeAlias = Annotated[tuple[str, str], Checked(_two_links)]
"""Names of two links; "ground" is the world."""

TwoVectors: TypeAlias = Annotated[Sequence[ArrayLike], Checked(_two_vectors)]
"""Three numbers in the frame of each of these."""


def placed(model: Model, state: MechanismState, name: str, inside: Array) -> Placed:
    """Return a point of a link, or of the ground, in the frame of the state vectors."""
    link = link_or_ground(model, name)
    still = np.zeros(3)
    if link is None:
        return Placed(None, inside, np.eye(3), inside, still, still)
    entry = model.links[link]
    if any(part.link == link for part in model.flexible) and not is_zero(inside):
        raise ModelError(
            f"link {name!r} bends, and the point asked for is no station of it: name the place in "
            f"stations={{'NAME': x}} of the flexible link (x in m along its beam) and use the link "
            f"'{name}.NAME', or '{name}.tip' at its end"
        )
    body = state.bodies[entry.body]
    rotation = body.rotation @ entry.frame.rotation
    position = body.position + body.rotation @ (
        entry.frame.translation + entry.frame.rotation @ inside
    )
    omega = body.Y[3:]
    return Placed(link, inside, rotation, position, body.Y[:3] - cross(position, omega), omega)


def both(
    model: Model, q: Array, v: Array, links: tuple[str, str], points: Any
) -> tuple[Placed, Placed]:
    """Return two points in one frame."""
    grounded = any(link_or_ground(model, name) is None for name in links)
    state = state_vectors(model, q, v, "world" if grounded else "root")
    first, second = (
        placed(model, state, name, np.array(point))
        for name, point in zip(links, points, strict=True)
    )
    return first, second


def link_numbers(model: Model, links: tuple[str, str]) -> tuple[int, ...]:
    """Return the indices of two links; the ground has none."""
    numbers = (link_or_ground(model, name) for name in links)
    return tuple(number for number in numbers if number is not None)


def in_link_axes(model: Model, q: Array, v: Array, effect: Effect) -> Mapping[int, Array]:
    """Return the wrenches (6,) of an effect at the origins of their links, in the links' axes."""
    if effect.about == "link":
        return effect.wrenches
    state, found = state_vectors(model, q, v, "root"), {}
    for link, wrench in effect.wrenches.items():
        at = placed(model, state, model.links[link].name, np.zeros(3))
        force = wrench[:3]
        found[link] = at.wrench(force, wrench[3:] - cross(at.position, force))
    return found


def on_links(*pushed: tuple[Placed, Array]) -> dict[int, Array]:
    """Return wrenches by link; what the ground takes is left out."""
    return {at.link: wrench for at, wrench in pushed if at.link is not None}


# Elements that act along the line between two points: what they have in common.
#
#     d = p2 - p1,   l = |d|,   u = d / l
#
# A tension F pulls point 2 with -F u and point 1 with F u; its power is -F l̇. At l = 0 the
# direction u is taken as 0.


@dataclass(frozen=True, eq=False)
class PointElement(ForceElement):
    """An element between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    """

    links: TwoLinks
    points: TwoVectors = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    @abstractmethod
    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return what a bound element does at a length and its rate; its force is a tension."""

    def more_units(self) -> Units:
        """Return names and units of what it reports beside force, length and rate."""
        return {}

    def length_at(self, machine: Any, q: ArrayLike) -> float:
        """Return its length at coordinates q, m."""
        model = model_in(machine, "length_at")
        own = self.checked(model)
        state = finite_numbers("q", q, (model.nq,))
        first, second = both(model, state, np.zeros(model.nv), own.links, own.points)
        return float(np.linalg.norm(np.asarray(second.position - first.position, dtype=float)))

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrenches on the links, and the report."""
        first, second = both(model, q, v, self.links, self.points)
        d = second.position - first.position
        length = sqrt(maximum(d @ d, SMALLEST))
        u = d * (1.0 / length)
        rate = u @ (second.velocity - first.velocity)
        force, energy, dissipation, more = self.tension(t, length, rate)
        pull = force * u
        return Effect(
            forces={},
            wrenches=on_links((first, first.wrench(pull)), (second, second.wrench(-pull))),
            energy=energy,
            dissipation=dissipation,
            report={"force": force, "length": length, **more, "rate": rate},
        )

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is a tension."""
        return {"force": "N", "length": "m", **self.more_units(), "rate": "m/s"}

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of its ends."""
        return link_numbers(model, self.links)
