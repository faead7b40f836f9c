"""What the rest of a pybullet world does to a body: contact points, and constraints of the user.

``getContactPoints`` without a filter names the two bodies as the solver has them, and normal and
friction act on the first. With a filter it exchanges bodies and normal, but not the friction.
``getConstraintState`` gives a point-to-point's force on the child, but a fixed one's force and
moment on the parent; forces along the world's axes, the moment along those of the parent's frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.loaded_body import BASE, LoadedBody
from mbd_bridge.model.spatial import Array, Frame, quaternion_matrix


class Touch(NamedTuple):
    """What another body does to a link, in pybullet's world axes.

    Attributes
    ----------
    link : name of the link
    other : pybullet's number of the other body (-1: the world)
    other_link : its link
    position : (3,) m, where the force acts
    force : (3,) N on the link
    moment : (3,) N m on the link; contacts give none
    """

    link: str
    other: int
    other_link: int
    position: Array
    force: Array
    moment: Array


Placement = Callable[[int], Frame]
"""Our link's frame in pybullet's world, by its index."""


def touches(body: LoadedBody, placement: Placement) -> tuple[Touch, ...]:
    """Return what acted on a body in pybullet's last step."""
    return (*_contacts(body), *_constraints(body, placement))


def _contacts(body: LoadedBody) -> Iterator[Touch]:
    names, none = body.model.links, np.zeros(3)
    for row in body.client.getContactPoints():
        if body.number not in row[1:3] or not any((row[9], row[10], row[12])):
            continue
        _, first, second, link, other_link, place, other_place, normal, _, *sizes = row[:14]
        push, along, way, across, side = sizes
        force = push * np.array(normal) + along * np.array(way) + across * np.array(side)
        if first == body.number:
            name = names[body.links[link]].name
            yield Touch(name, second, other_link, np.array(place), force, none)
        if second == body.number:
            name = names[body.links[other_link]].name
            yield Touch(name, first, link, np.array(other_place), -force, none)


def _constraints(body: LoadedBody, placement: Placement) -> Iterator[Touch]:
    client, engine = body.client, body.client.engine
    for row, number in _constraints_of(client):
        parent, parent_link, child, child_link, kind = row[:5]
        if (parent == body.number) == (child == body.number):
            continue
        ours_is_child = child == body.number
        if kind not in (engine.JOINT_POINT2POINT, engine.JOINT_FIXED):
            raise ModelError(
                f"constraint {number} holds pybullet's body {body.number}, and only the forces of "
                f"JOINT_POINT2POINT and JOINT_FIXED can be read; remove it"
            )
        link, other, other_link = (
            (child_link, parent, parent_link) if ours_is_child else (parent_link, child, child_link)
        )
        ours = body.links[link]
        centre = placement(ours) @ body.centre(link)
        force, moment = np.array(client.getConstraintState(number)[:3]), np.zeros(3)
        if kind == engine.JOINT_FIXED:
            turn = _turn_of(client, parent, parent_link) if ours_is_child else centre.rotation
            turn = turn @ quaternion_matrix(np.array(row[8]))
            force, moment = -force, -turn @ client.getConstraintState(number)[3:]
        sign = 1.0 if ours_is_child else -1.0  # so far they were on the child
        place = centre.rotation @ row[7 if ours_is_child else 6] + centre.translation
        name = body.model.links[ours].name
        yield Touch(name, other, other_link, place, sign * force, sign * moment)


class Inside(NamedTuple):
    """Constraints between links of one body, whose forces pass inside of it.

    Attributes
    ----------
    geared : names of the joints along which gears act
    others : whether there are such of which it is not told what they do to joints
    """

    geared: frozenset[str]
    others: bool


def inside(body: LoadedBody) -> Inside:
    """Return which constraints of pybullet are between links of a body."""
    gear = body.client.engine.JOINT_GEAR
    rows = [row for row, _ in _constraints_of(body.client) if row[0] == row[2] == body.number]
    numbers = {number for row in rows if row[4] == gear for number in (row[1], row[3])}
    geared = frozenset(joint.name for joint in body.joints if joint.number in numbers)
    return Inside(geared, any(row[4] != gear for row in rows))


def _turn_of(client: Client, body: int, link: int) -> Array:
    """Return the rotation of pybullet's frame of any link, at its centre of mass, in the world."""
    if link == BASE:
        return quaternion_matrix(np.array(client.getBasePositionAndOrientation(body)[1]))
    return quaternion_matrix(np.array(client.getLinkState(body, link)[1]))


def _constraints_of(client: Client) -> Iterator[tuple[tuple[int, ...], int]]:
    for k in range(client.getNumConstraints()):
        number = client.getConstraintUniqueId(k)
        yield client.getConstraintInfo(number), number
