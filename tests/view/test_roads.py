"""Roads under wheels and the bands of tracks are drawn where they are."""

from itertools import pairwise

import numpy as np

from mbd_bridge.forces import SimpleTyre
from mbd_bridge.forces.roads import Flat, Sine
from mbd_bridge.view.arrows import BAND, connectors, ends_of
from mbd_bridge.view.draw_loads import ROAD, road_pieces
from tests.forces.elements import bound
from tests.forces.tracked import track, vehicle
from tests.forces.wheels import free_wheel


def test_a_road_is_drawn_at_its_height_once_and_a_level_one_not_at_all():
    road, points = Sine(0.1, 2.0), np.array([[0.0, -1.0, 0.0], [9.0, 1.0, 2.0]])
    tyres = [
        SimpleTyre("wheel", 0.3, 1e5, road=one, name=name)
        for name, one in (("a", road), ("b", road), ("level", Flat()))
    ]
    (piece,) = road_pieces([bound(free_wheel(), tyre) for tyre in tyres], points)
    x, y, z = piece.surface.vertices.T
    assert piece.colour == ROAD
    assert np.abs(z - road(x, y)).max() < 1e-12 < np.ptp(z)
    assert x.min() < 0.0 and x.max() > 9.0 and y.min() < -1.0 and y.max() > 1.0
    up = piece.surface.vertices[piece.surface.triangles]
    assert (np.cross(up[:, 1] - up[:, 0], up[:, 2] - up[:, 0])[:, 2] > 0.0).all()


def test_a_band_is_drawn_from_idler_over_all_wheels_to_the_sprocket():
    machine = vehicle()
    element = bound(machine, track())
    rods = connectors(machine.model, (element,))
    assert {rod.colour for rod in rods} == {BAND} and len(rods) == len(element.band) - 1
    bodies = np.array([np.eye(4)] * len(machine.model.bodies))
    q = machine.neutral()
    for link in machine.model.links:
        bodies[link.body] = machine.placement(q, link.name) @ np.linalg.inv(link.frame.matrix())
    places = [(machine.placement(q, link) @ [*point, 1.0])[:3] for link, point in element.band]
    found = [*ends_of(rods, bodies)]
    assert np.allclose(found, [*pairwise(places)])
