"""A free body held by every type of cut: the benchmark's pendulum, inclines and statics.

IFToMM A01: 1 kg at 1 m, released level at (-1, 0), g = 9.81 down. A body whose centre of mass is at
c from its pivot and whose moment about it is c (1 - c) swings like it: (J + c²) / c = 1 m.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame

G = 9.81
C = 0.4
"""m, from the pivot to the centre of mass."""
J = C * (1 - C)
PERIOD = 2.367841947576
PLACES = {5.0: (-0.9423054350, -0.3347543384), 10.0: (-0.2750874626, -0.9614192050)}
"""t -> (x, z) at 1 m."""
TENSION = 28.2945671
"""N, of the rod of the 1 kg at 1 m at t = 10 s."""

Y = (0, 1, 0)


def at(link, *xyz, rpy=(0, 0, 0)):
    return link, Frame.from_rpy(xyz or (0, 0, 0), rpy)


def swinging(centre=C, moment=J, arm=False):
    """A free body level to the left, its frame at the centre of mass; perhaps a massless arm."""
    b = mbd.Builder("pendulum").link("bob", 1.0, (0, 0, 0), (moment, moment, moment))
    b.joint("free", "floating", "base", "bob", (-centre, 0, 0))
    if arm:
        b.joint("hinge", "revolute", "base", "arm", axis=Y)
    return b


GROUND, PIVOT = at("base"), at("bob", C, 0, 0)
"""The two frames of a joint at the pivot."""

CUTS = {  # name -> builder with its cuts, degrees of freedom that they leave
    "revolute": (lambda: swinging().loop("pin", "revolute", GROUND, PIVOT, Y), 1),
    "spherical": (lambda: swinging().loop("pin", "spherical", GROUND, PIVOT), 3),
    "universal": (lambda: swinging().loop("pin", "universal", GROUND, PIVOT, Y, (1, 0, 0)), 2),
    "cylindrical": (lambda: swinging().loop("pin", "cylindrical", GROUND, PIVOT, Y), 2),
    "mask as revolute": (
        lambda: swinging().loop("pin", "mask", GROUND, PIVOT, rows=(1, 1, 1, 1, 0, 1)),
        1,
    ),
    "mask of x and z": (
        lambda: swinging().loop("pin", "mask", GROUND, PIVOT, rows=(1, 0, 1, 0, 0, 0)),
        4,
    ),
    "planar and a mask": (
        lambda: (
            swinging()
            .loop("plane", "planar", GROUND, PIVOT, Y)
            .loop("pin", "mask", GROUND, PIVOT, rows=(1, 0, 1, 0, 0, 0))
        ),
        1,
    ),
    "fixed on an arm": (
        lambda: swinging(arm=True).loop("pin", "fixed", at("arm"), PIVOT),
        1,
    ),
    "translational on an arm, and a rod": (
        lambda: (
            swinging(arm=True)
            .loop("sleeve", "translational", at("arm"), at("bob", 0, 0, 0), (1, 0, 0))
            .loop("rod", "distance", GROUND, at("bob", 0, 0, 0), length=C)
        ),
        1,
    ),
}


def turned(run, joint=0):
    """World axes of the free body's frame."""
    return Rotation.from_quat(run.q[:, joint + 3 : joint + 7]).as_matrix()


def record(run, t):
    return int(np.argmin(np.abs(run.time - t)))


def simulated(machine, **options):
    return machine.simulate(10.0, step=1e-3, every=100, **options)


@pytest.mark.parametrize("name", CUTS)
def test_a_pendulum_closed_by_every_cut_type(name):
    build, dof = CUTS[name]
    m = mbd.Mechanism.build(build())
    assert m.loops.report(m.neutral()).dof == dof
    run = simulated(m)
    R = turned(run)
    tip = run.q[:, :3] + [-C, 0, 0] + R @ [C - 1, 0, 0]
    for t, (x, z) in PLACES.items():
        assert np.abs(tip[record(run, t)] - (x, 0, z)).max() < 1e-8
    assert run.closure.max() < 1e-12
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8
    # what holds the body: T to the pivot and S across, the rest of its weight and of its motion
    wanted = [cut.name for cut in m.model.cuts if cut.name != "plane"]
    loads = run.joint_loads(wanted)
    force = np.einsum("kij,knj->ki", R, loads.force)
    sine, cosine = tip[:, 0], -tip[:, 2]
    towards = G * cosine * (1 + 2 * C)
    across = G * sine * (1 - C)
    expected = np.array(
        [-towards * sine + across * cosine, 0 * sine, towards * cosine + across * sine]
    )
    assert np.abs(force - expected.T).max() < 1e-6


def test_a_pendulum_on_a_rod():
    """A distance holds the centre at 1 m; nothing turns the body, and the rod has the tension."""
    b = swinging(1.0).loop("rod", "distance", GROUND, at("bob"), length=1.0)
    for more in (False, True):
        if more:
            b.loop("plane", "planar", GROUND, at("bob"), Y)
        m = mbd.Mechanism.build(b)
        run = simulated(m, v=np.array([0, 0, 0, 0, 0.3, 0]))
        place = run.q[:, :3] + [-1, 0, 0]
        for t, (x, z) in PLACES.items():
            assert np.abs(place[record(run, t)] - (x, 0, z)).max() < 1e-8
        assert np.abs(run.v[:, 3:] - [0, 0.3, 0]).max() < 1e-12
        force = run.joint_loads(["rod"]).force[record(run, 10.0), 0]
        assert np.isclose(np.linalg.norm(force), TENSION, atol=1e-6)
        pull = turned(run)[-1] @ force
        assert np.abs(pull / TENSION + place[-1]).max() < 1e-8  # towards the pivot


def test_the_pendulum_has_the_period_of_the_benchmark():
    m = mbd.Mechanism.build(CUTS["revolute"][0]())
    watch = {"still": lambda t, q, v: v[4]}
    run = m.simulate(5.0, step=1e-3, every=5, events=watch)
    stops = run.events["still"].time
    stops = stops[stops > 0.1]
    assert np.allclose(stops, PERIOD * np.array([0.5, 1.0, 1.5, 2.0]), atol=1e-9)


def test_a_geared_pendulum():
    """A flywheel at twice the speed adds 4 J to the moment; the gears carry its torque."""
    wheel = 0.02
    moment = C * (1 - C) - 4 * wheel
    b = mbd.Builder("geared").link("bob", 1.0, (-C, 0, 0), (1, moment, 1))
    b.link("wheel", 1.0, (0, 0, 0), (1, wheel, 1))
    b.joint("swing", "revolute", "base", "bob", axis=Y).joint(
        "spin", "revolute", "base", "wheel", axis=Y
    )
    m = mbd.Mechanism.build(b.couple("gears", "spin", "swing", -2.0, 0.5))
    run = simulated(m, q=[0.0, 0.5])
    angle = run.q[:, 0]
    assert np.abs(run.q[:, 1] - (0.5 - 2 * angle)).max() < 1e-12
    for t, (x, z) in PLACES.items():
        k = record(run, t)
        assert np.hypot(-np.cos(angle[k]) - x, np.sin(angle[k]) - z) < 1e-8
    bend = -G * np.cos(angle)  # downwards is negative about y for what lies to the left
    gears = run.joint_loads(["gears"]).actuation[:, 0]
    assert np.abs(gears - wheel * -2.0 * bend).max() < 1e-7
    assert np.abs(run.a[:, 0] - bend).max() < 1e-7


SLOPE = np.radians(25.0)
DOWN = np.array([np.cos(SLOPE), 0, -np.sin(SLOPE)])
UP = np.array([np.sin(SLOPE), 0, np.cos(SLOPE)])


@pytest.mark.parametrize("kind", ["translational", "cylindrical", "planar", "mask"])
def test_a_block_slides_down_an_incline(kind):
    """s = g sin(α) t² / 2; the incline pushes with m g cos(α), through the centre of mass."""
    b = mbd.Builder("block").link("block", 2.0, (0, 0, 0), (0.3, 0.4, 0.5))
    b.joint("free", "floating", "base", "block")
    lean = (0, SLOPE, 0)
    ends = at("base", rpy=lean), at("block", rpy=lean)
    spin, axis = np.zeros(3), (1, 0, 0)
    if kind == "cylindrical":
        b = mbd.Builder("block").link("block", 2.0, (0, 0, 0), (0.3, 0.3, 0.3))
        b.joint("free", "floating", "base", "block")
        spin = 3.0 * DOWN
    if kind == "planar":
        b = mbd.Builder("block").link("block", 2.0, (0, 0, 0), (0.3, 0.3, 0.3))
        b.joint("free", "floating", "base", "block")
        spin, axis = 3.0 * UP, (0, 0, 1)
    rows = (0, 1, 1, 1, 1, 1) if kind == "mask" else None
    m = mbd.Mechanism.build(b.loop("guide", kind, *ends, axis, rows=rows))
    run = m.simulate(2.0, step=1e-3, every=50, v=np.concatenate([np.zeros(3), spin]))
    way = 0.5 * G * np.sin(SLOPE) * run.time**2
    assert np.abs(run.q[:, :3] - way[:, None] * DOWN).max() < 1e-10
    assert np.abs(np.einsum("kij,kj->ki", turned(run), run.v[:, 3:]) - spin).max() < 1e-10
    loads = run.joint_loads(["guide"])
    assert loads.unique.all()
    axes = turned(run)  # of the block, on which the loads are stated
    force = np.einsum("kij,kj->ki", axes, loads.force[:, 0])
    moment = np.einsum("kij,kj->ki", axes, loads.moment[:, 0])
    assert np.abs(force - 2 * G * np.cos(SLOPE) * UP).max() < 1e-9
    assert np.abs(moment).max() < 1e-9


def test_a_weld_carries_the_weight_and_its_moment():
    b = mbd.Builder("bracket").link("plate", 2.0, (0.3, 0.1, 0), (0.3, 0.4, 0.5))
    b.joint("free", "floating", "base", "plate")
    m = mbd.Mechanism.build(b.loop("weld", "fixed", at("base", 0, 0, 0.2), at("plate", 0, 0, 0.2)))
    with pytest.warns(mbd.MbdWarning, match="no degree of freedom"):
        run = m.simulate(0.1, step=1e-2)
    loads = run.joint_loads(["weld"])
    assert np.abs(loads.force - [0, 0, 2 * G]).max() < 1e-12
    # the weld gives what the weight at (0.3, 0.1) takes: -(r × (0, 0, -m g))
    assert np.abs(loads.moment - [0.1 * 2 * G, -0.3 * 2 * G, 0]).max() < 1e-12
    assert loads.unique.all()
