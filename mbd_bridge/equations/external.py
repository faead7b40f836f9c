"""External forces: a wrench on any link, given in the link's frame."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mbd_bridge.equations.cartesian import placement
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross

External = Mapping[int, Array]
"""Link index -> (6,) force (N) and moment (N m) on it, at its frame's origin, in its axes."""

NOTHING: External = MappingProxyType({})
"""No wrench on any link."""


def add(wrenches: dict[int, Array], more: External) -> None:
    """Add wrenches (6,) to those under the same numbers, of links, bodies or cuts."""
    for number, wrench in more.items():
        wrenches[number] = wrenches[number] + wrench if number in wrenches else wrench


def from_world_axes(
    model: Model, q: Array, external: External, *, about_origin: bool = False
) -> External:
    """Return wrenches given in the world's axes, in their links' axes and at their origins.

    Parameters
    ----------
    about_origin : their moments are about the world's origin, not the links'
    """
    found = {}
    for link, wrench in external.items():
        place = placement(model, q, link)
        turn, moment = place[:3, :3].T, wrench[3:]
        if about_origin:
            moment = moment - cross(place[:3, 3], wrench[:3])
        found[link] = np.concatenate([turn @ wrench[:3], turn @ moment])
    return found


def wrench_on(model: Model, links: tuple[int, ...], external: External) -> Array:
    """Return the (6,) sum of the external wrenches on some links of one body.

    It is taken at the body's origin, in the body's axes.
    """
    total = np.zeros(6)
    for link in links:
        if link in external:
            total = total + shift_to_body(model, link, external[link])
    return total


def shift_to_body(model: Model, link: int, wrench: Array) -> Array:
    """Return a wrench given at a link's frame, at its body's origin and in the body's axes."""
    frame = model.links[link].frame
    force = frame.rotation @ wrench[:3]
    return np.concatenate([force, frame.rotation @ wrench[3:] + cross(frame.translation, force)])


def shift_to_link(model: Model, link: int, wrench: Array) -> Array:
    """Return a wrench given at a body's origin, at a link's frame and in the link's axes."""
    frame = model.links[link].frame
    moment = wrench[3:] - cross(frame.translation, wrench[:3])
    return np.concatenate([frame.rotation.T @ wrench[:3], frame.rotation.T @ moment])
