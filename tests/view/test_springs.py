"""What acts between points is drawn from point to point, and loads in pictures count it."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.view.arrows import OTHER, SPRING, connectors, ends_of, springs
from mbd_bridge.view.draw_loads import Take
from mbd_bridge.view.source import Rest, of_simulation
from tests.forces.elements import ENDS, Q, machine

ELEMENTS = [
    forces.PointSpring(("ground", "hand"), ENDS, 80.0, name="spring"),
    forces.PointActuator(("arm", "slide"), ENDS, 5.0, name="rope"),
    forces.JointSpring("wrist", 3.0, name="coil"),
]


def test_elements_are_drawn_from_point_to_point():
    robot = machine().with_forces(ELEMENTS)
    take = Take(Rest(robot.model, forces=robot.forces).start(Q))
    (bodies,) = take.bodies(Q[None])
    pieces = springs(robot.model, robot.forces, bodies, take.span)
    for colour, links in ((SPRING, ("ground", "hand")), (OTHER, ("arm", "slide"))):
        corners = np.array(
            [
                piece.pose[:3, :3] @ vertex + piece.pose[:3, 3]
                for piece in pieces
                if piece.colour == colour
                for vertex in piece.surface.vertices
            ]
        )
        for link, point in zip(links, ENDS, strict=True):
            pose = np.eye(4) if link == "ground" else robot.placement(Q, link)
            place = pose[:3, :3] @ point + pose[:3, 3]
            assert np.linalg.norm(corners - place, axis=1).min() < 0.02 * take.span
    lengths = [piece for piece in pieces if piece.colour == OTHER]
    assert 1 <= len(lengths) <= 2
    shown = take.moment(0.0).machine
    assert len(shown) == len(take.scene.pieces(bodies)) + len(pieces)


def test_what_is_shown_of_a_run_has_its_elements():
    run = machine().simulate(0.01, q=Q, forces=ELEMENTS)
    source = of_simulation(run)
    assert [one.name for one in source.forces] == ["spring", "rope", "coil"]
    bare = Take(of_simulation(machine().simulate(0.01, q=Q)))
    assert len(Take(source).moment(0.0).machine) > len(bare.moment(0.0).machine)


def test_loads_in_a_picture_count_the_elements():
    robot = machine().with_forces(ELEMENTS)
    state = Rest(robot.model, "all", forces=robot.forces).at(Q)
    still = np.zeros(3)
    assert np.array_equal(state.loads.force[0], robot.joint_loads(Q, still, still).force)


def test_a_spring_of_no_length_is_not_drawn():
    robot = machine()
    where = robot.placement(Q, "hand")[:3, 3]
    spring = forces.PointSpring(("ground", "hand"), (where, (0, 0, 0)), 5.0, free_length=0.0)
    loose = robot.with_forces([spring])
    take = Take(Rest(loose.model, forces=loose.forces).start(Q))
    assert springs(loose.model, loose.forces, take.bodies(Q[None])[0], take.span) == []


def test_the_rod_of_a_distance_joint_is_drawn_from_end_to_end():
    parts = mbd.Builder("swing", root="beam").link("seat", 1.0, inertia=(0.1, 0.1, 0.1))
    parts.joint("free", "floating", "beam", "seat", xyz=(0.2, 0, -1))
    parts.loop("rope", "distance", "beam", "seat", xyz=(0.1, 0, 0), xyz2=(0, 0, 0.3))
    robot = mbd.Mechanism.build(parts)
    q = robot.neutral()
    (rod,) = connectors(robot.model, ())
    take = Take(Rest(robot.model).start(q))
    (bodies,) = take.bodies(q[None])
    assert np.allclose(next(ends_of([rod], bodies)), [[0.1, 0, 0], [0.2, 0, -0.7]])
    assert rod.name == "rope" and springs(robot.model, (), bodies, take.span)
    assert np.ptp(take.reach[:, 2]) >= 0.7
