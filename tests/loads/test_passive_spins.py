"""Rods between balls: their spin has no actuator, and its acceleration is solved for."""

from types import SimpleNamespace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Frame
from tests import free_bodies
from tests.delta import MOTORS, Kinematics, delta
from tests.machines import MANY, rssr
from tests.tolerances import LOOPS

RODS = tuple(f"rod{k}{side}" for k in range(3) for side in "ab")
RATES, ACCELERATIONS = np.array([2.0, -1.0, 3.0]), np.array([5.0, 7.0, -4.0])
PLACES = ((0.0, 0.0, -0.6), (0.1, -0.05, -0.62), (-0.12, 0.15, -0.55))


def moving_delta(place, axial=0.0):
    """The machine, its kinematics, and a state at which the motors have the rates above."""
    machine, kin = delta(axial), Kinematics(place)
    rates = dict(zip(MOTORS, RATES, strict=True))
    changes = dict(zip(MOTORS, ACCELERATIONS, strict=True))
    q = kin.position(machine.model)
    at = machine.assemble(q, fixed=MOTORS, velocity=rates, acceleration=changes)
    assert np.abs(at.q - q).max() < 1e-12
    return machine, kin, at


def without_spin(machine, at):
    """v with rods that do not turn about themselves, and accelerations that fit it."""
    v = at.v.copy()
    for _ in range(2):  # the rod that carries the platform takes the platform's ball with it
        links = free_bodies.moving_links(machine.model, at.q, v, at.a)
        for name in RODS:
            spin = links[name].R[:, 2] @ links[name].w
            body = machine.model.bodies[machine.model.joint(f"ball{name[3:]}").body]
            v[body.v] -= [0.0, 0.0, spin]
            if name == "rod0a":
                plate = machine.model.bodies[machine.model.joint("ball").body]
                v[plate.v] += links["plate"].R.T @ links[name].R[:, 2] * spin
    tau = np.zeros(machine.nv)
    tau[[machine.model.velocity_names.index(name) for name in MOTORS]] = 3.0, -2.0, 5.0
    return v, machine.forward_dynamics(at.q, v, tau)


@pytest.mark.parametrize("place", PLACES)
def test_a_delta_with_slender_rods_has_the_torques_of_its_lagrangian(place):
    machine, kin, at = moving_delta(place)
    tau = machine.inverse_dynamics(at.q, at.v, at.a, actuated=MOTORS)
    motors = [machine.model.velocity_names.index(name) for name in MOTORS]
    right = kin.torques(RATES, ACCELERATIONS)
    assert np.abs(tau[motors] - right).max() < LOOPS * np.abs(right).max()
    assert np.count_nonzero(tau) == 3
    states = [np.tile(x, (MANY, 1)) for x in (at.q, at.v, at.a)]
    assert (machine.inverse_dynamics(*states, actuated=MOTORS) == tau).all()


@pytest.mark.parametrize("place", PLACES)
def test_rods_with_inertia_about_themselves_have_the_same_torques_where_they_do_not_spin(place):
    machine, kin, at = moving_delta(place, axial=1e-3)
    v, a = without_spin(machine, at)
    motors = [machine.model.velocity_names.index(name) for name in MOTORS]
    tau = machine.inverse_dynamics(at.q, v, a, actuated=MOTORS)
    right = kin.torques(RATES, a[motors])
    assert np.abs(tau[motors] - right).max() < LOOPS * np.abs(right).max()


@pytest.mark.parametrize("axial", [0.0, 1e-3])
def test_every_link_of_a_delta_is_in_balance_with_the_spins_solved_for(axial):
    machine, _, at = moving_delta(PLACES[1], axial)
    model = machine.model
    names = [*model.joint_index, *(cut.name for cut in model.cuts)]
    pushes = {"platform": (1.0, -2.0, 3.0, 0.1, 0.2, -0.3), "rod1b": (0.5, 0.2, 0.0, 0.1, 0, 0)}
    options = {"external": pushes, "actuated": MOTORS}
    loads = machine.joint_loads(at.q, at.v, at.a, names, **options)
    assert loads.spins == RODS
    assert loads.unique.all()
    tau = machine.inverse_dynamics(at.q, at.v, at.a, **options)
    external = {link: np.array([push]) for link, push in pushes.items()}
    state = {"q": at.q[None], "v": at.v[None], "a": loads.a[None], "tau": tau[None]}
    none = SimpleNamespace(names=())
    run = SimpleNamespace(model=model, external=external, prescribed_forces=none, **state)
    many = machine.joint_loads(at.q[None], at.v, at.a, names, **options)
    left = free_bodies.left_over(run, many, 0)
    assert left.force < LOOPS * left.largest, left
    assert left.moment < LOOPS * left.largest, left
    assert free_bodies.idle_work(run, many, 0) < LOOPS * left.largest
    body = machine.free_body("rod0a", at.q, at.v, at.a, external=pushes, actuated=MOTORS)
    assert body.residual.max() < LOOPS * left.largest
    if axial:
        assert np.abs(loads.a - at.a).max() > 1.0
        forward = machine.forward_dynamics(at.q, at.v, tau, external=pushes)
        assert np.abs(forward - loads.a).max() < LOOPS * np.abs(forward).max()


def test_the_spin_of_a_coupler_is_solved_for_and_said():
    machine = rssr()
    speeds = {"crank": 2.0, "ball.wy": 3.0}
    at = machine.assemble({"crank": 0.3}, fixed="crank", velocity=speeds)
    tau = machine.inverse_dynamics(at.q, at.v, at.a, actuated="crank")
    a = machine.forward_dynamics(at.q, at.v, tau)
    found = machine.constrained_dynamics(actuated=["crank"]).inverse(at.q, at.v, at.a)
    loads = machine.joint_loads(at.q, at.v, at.a, actuated="crank")
    assert np.abs(a - at.a).max() > 1e-3
    assert np.abs(found.a - a).max() < LOOPS * np.abs(a).max()
    assert np.array_equal(loads.a, found.a)
    assert loads.spins == ("coupler",)
    assert np.abs(loads["ball"].actuation).max() < 1e-12
    again = machine.joint_loads(at.q, at.v, a, actuated="crank")
    assert np.allclose(again.wrench, loads.wrench, rtol=0, atol=1e-11)
    assert machine.loops.report(at.q, "crank").actuation.too_few == 0


def test_what_is_suggested_is_what_actuated_takes():
    machine = rssr()
    at = machine.assemble({"crank": 0.3}, fixed="crank")
    with pytest.raises(SolveError, match=r"such as actuated=\['crank'\]"):
        machine.inverse_dynamics(at.q, at.v, at.a, actuated=())
    with pytest.raises(SolveError, match="2 degrees of freedom and 3 actuators") as problem:
        machine.inverse_dynamics(at.q, at.v, at.a, actuated="ball")  # its spin has an actuator
    assert "such as" not in str(problem.value)


@pytest.mark.parametrize("attachments", [1, 2])
def test_what_hangs_from_one_link_needs_a_actuator(attachments):
    """A hook on the coupler; a bail that hangs from it by two balls."""
    b, bar = mbd.Builder("hanging", root="ground"), rssr().model.description
    for link in bar.links[1:]:
        b.link(link.name, 1.0, link.inertia.centre, link.inertia.central)
    for j in bar.joints:
        b.joint(j.name, j.type, j.parent, j.child, j.origin.translation, axis=j.axis)
    (cut,) = bar.loops
    ends = ((end.link, end.frame) for end in (cut.predecessor, cut.successor))
    b.loop(cut.name, cut.type, *ends)
    b.link("hook", 0.5, (0, 0.1, -0.3), (0.01, 0.01, 0.01))
    kind = "revolute" if attachments == 1 else "spherical"
    b.joint("hang", kind, "coupler", "hook", (0, 0.3, 0), axis=(0, 1, 0))
    if attachments == 2:
        places = Frame.from_rpy((0, 0.2, 0)), Frame.from_rpy((0, 0.5, 0))
        b.loop("other", "spherical", ("hook", places[0]), ("coupler", places[1]))
    machine = mbd.Mechanism.build(b)
    at = machine.assemble({"crank": 0.3}, fixed="crank")
    with pytest.raises(
        SolveError, match=r"2 degrees of freedom, and the actuators .* move 1 of them"
    ):
        machine.inverse_dynamics(at.q, at.v, at.a, actuated="crank")
