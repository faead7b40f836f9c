"""Derivatives of joint loads of trees: imaginary steps, differences, pinocchio, scaling laws."""

import warnings
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import KernelError, ModelError, StateError
from mbd_bridge.forces import Bushing, Effect, ForceElement, JointSpring, PointSpring
from mbd_bridge.loads.derivatives.loops import position_rates
from mbd_bridge.model.spatial import zeros
from tests.complex_steps import derivatives, varied
from tests.robots import OWN, robot
from tests.tolerances import DIFFERENCE, KERNEL
from tests.trees import random_state, random_tree

OPTIONS = [{}, {"on": "parent", "in_": "world"}, {"at": (0.1, -0.2, 0.3), "in_": "parent"}]


def machine(seed):
    rng = np.random.default_rng(seed)
    mechanism = mbd.Mechanism.build(random_tree(rng, 5, mimics=0.3), gravity=(1.0, -2.0, -9.0))
    return mechanism, random_state(mechanism.model, rng)


def arm():
    """Return an arm, a state of it and one of its joints."""
    mechanism = mbd.load(OWN / "kuka_iiwa.urdf")
    return mechanism, np.random.default_rng(0).uniform(-1, 1, (3, 7)), mechanism.joint_names[2]


def names_of(mechanism, rng):
    """Return numbers of a machine of every kind, some as single components."""
    link, other = rng.choice([x.name for x in mechanism.model.links], 2, replace=False)
    joint = rng.choice(mechanism.joint_names)
    mine = [f"{link}.mass", f"{link}.centre", f"{other}.inertia", f"{joint}.xyz"]
    return [*mine, f"{joint}.rpy.pitch", "gravity"]


def close(found, expected, tolerance):
    scale = np.abs(expected).max() + 1e-9
    np.testing.assert_allclose(found, expected, atol=tolerance * scale, rtol=0.0)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_loads_are_those_of_imaginary_steps(seed):
    mechanism, state = machine(seed)
    rng = np.random.default_rng(seed + 100)
    by = ["q", "v", "a", *names_of(mechanism, rng)]
    options = OPTIONS[seed % 3] | {"reaction": seed % 2 == 0}
    solver = mechanism.compile_derivatives(None, by, **options)
    found = solver(*state)
    p = solver.parameters
    arguments = dict(zip(("q", "v", "a"), state, strict=True))
    if solver.loads.point is not None:
        arguments["point"] = solver.loads.point
    arguments["p"] = p
    directions = {name: solver.seed(name, len(x)) for name, x in arguments.items()}
    directions["q"] = position_rates(mechanism.model, state[0], solver.seed("q", mechanism.nv))
    exact = derivatives(solver.function, arguments, directions)
    force, moment, actuation, *_ = exact
    count = len(found.columns)
    close(found.force.reshape(-1, count), force, KERNEL)
    close(found.moment.reshape(-1, count), moment, KERNEL)
    close(found.actuation, actuation.reshape(-1, count), KERNEL)
    same = mechanism.joint_loads(*state, **options)
    np.testing.assert_array_equal(found.loads.wrench, same.wrench)


@pytest.mark.parametrize("seed", range(2))
def test_derivatives_by_numbers_of_the_model_are_those_of_differences(seed):
    mechanism, state = machine(seed)
    found = mechanism.load_derivatives(
        *state, by=names_of(mechanism, np.random.default_rng(seed)), reaction=True
    )
    for k, column in enumerate(found.columns):
        h = 1e-6
        ahead, behind = (
            varied(mechanism, column.name, s).joint_loads(*state, reaction=True) for s in (h, -h)
        )
        for part in ("force", "moment", "actuation", "reaction_force", "reaction_moment"):
            difference = (getattr(ahead, part) - getattr(behind, part)) / (2.0 * h)
            scale = np.abs(getattr(found, part)).max() + 1.0
            own = getattr(found, part)[..., k]
            np.testing.assert_allclose(own, difference, atol=DIFFERENCE * scale)


@pytest.mark.parametrize(
    ("name", "floating"),
    [("erd/talos/talos_reduced", True), ("own/kuka_iiwa", False), ("own/humanoid", True)],
)
def test_derivatives_of_torques_are_those_of_pinocchio(name, floating):
    pin = pytest.importorskip("pinocchio")
    path = OWN / f"{name[4:]}.urdf" if name.startswith("own/") else robot(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = mbd.load(path, floating=floating)
        peer = mechanism.to_pinocchio()
    rng = np.random.default_rng(0)
    q, v, a = random_state(mechanism.model, rng)
    found = mechanism.load_derivatives(q, v, a, [*mechanism.joint_names, "root_joint"])
    names = found.loads.actuation_names
    order = [names.index(name) for name in mechanism.model.velocity_names]
    data = peer.createData()  # the results are views of it
    theirs = pin.computeRNEADerivatives(peer, data, q, v, a)
    for by, expected in zip("qva", theirs, strict=True):
        whole = np.triu(expected) + np.triu(expected, 1).T if by == "a" else expected
        close(found.by(by).actuation[order], whole, 1e-10)


def test_loads_of_many_states_have_the_derivatives_of_each():
    mechanism, _ = machine(1)
    rng = np.random.default_rng(5)
    states = [random_state(mechanism.model, rng) for _ in range(19)]
    batch = mechanism.load_derivatives(*(np.array(x) for x in zip(*states, strict=True)))
    for k in (0, 7, 18):
        one = mechanism.load_derivatives(*states[k])
        np.testing.assert_array_equal(batch.wrench[k], one.wrench)
        np.testing.assert_array_equal(batch.actuation[k], one.actuation)


def test_loads_grow_with_external_wrenches_springs_and_time_as_differences_say():
    mechanism, state, joint = arm()
    link = mechanism.model.links[-1].name
    spring = JointSpring(joint, stiffness=3.0, rest=0.2, name="spring")
    wrench = np.arange(1.0, 7.0)
    by = ["external", "spring.stiffness", "q", "gravity"]

    def loads(stiffness, push, method="joint_loads", **more):
        forces = [replace(spring, stiffness=stiffness)]
        return getattr(mechanism, method)(*state, external={link: push}, forces=forces, **more)

    found = loads(3.0, wrench, "load_derivatives", by=by)
    h = 1e-5
    along = (loads(3.0 + h, wrench).wrench - loads(3.0 - h, wrench).wrench) / (2.0 * h)
    np.testing.assert_allclose(found.by("spring.stiffness").wrench[..., 0], along, atol=1e-8)
    for k in range(6):
        d = h * np.eye(6)[k]
        along = (loads(3.0, wrench + d).wrench - loads(3.0, wrench - d).wrench) / (2.0 * h)
        np.testing.assert_allclose(found.by("external").wrench[..., k], along, atol=1e-8)
    assert found.by("external").units == ("N", "N", "N", "N m", "N m", "N m")


def test_a_direction_is_a_sum_of_columns():
    mechanism, state = machine(2)
    found = mechanism.load_derivatives(*state, by=["q", "v", "link1.mass"])
    dq = np.linspace(0.1, 1.0, mechanism.nv)
    solver = mechanism.compile_derivatives(None, ["q", "v", "link1.mass"])
    along = solver.jvp(*state, {"q": dq, "link1.mass": 2.0})
    expected = found.by("q").wrench @ dq + 2.0 * found.by("link1.mass").wrench[..., 0]
    np.testing.assert_allclose(along.wrench[..., 0], expected, rtol=1e-12, atol=1e-11)
    many = [np.tile(x, (2, 1)) for x in state]
    each = solver.jvp(*many, {"q": [dq, 0.0 * dq], "link1.mass": [2.0, 4.0]})
    np.testing.assert_array_equal(each.wrench[0], along.wrench)
    expected = 4.0 * found.by("link1.mass").wrench[..., 0]
    np.testing.assert_allclose(each.wrench[1, ..., 0], expected, rtol=1e-12, atol=1e-11)


def test_one_coordinate_and_one_component_are_columns_of_the_whole():
    mechanism, state = machine(4)
    name = mechanism.model.velocity_names[1]
    few = mechanism.load_derivatives(*state, by=[f"q.{name}", "link2.inertia.xy", "gravity.z"])
    whole = mechanism.load_derivatives(*state, by=["q", "link2.inertia", "gravity"])
    assert few.column_names == (f"q.{name}", "link2.inertia.xy", "gravity.z")
    for column in few.column_names:
        np.testing.assert_allclose(
            few.by(column).wrench, whole.by(column).wrench, rtol=1e-12, atol=1e-11
        )


def test_coordinates_of_one_joint_go_by_its_name_whatever_parts_are_called():
    builder = mbd.Builder("named").link("q", 1.0, (0, 0, 0.5)).link("arm", 1.0, (0, 0, 0.5))
    builder.joint("ball", "spherical", "base", "q").joint("q", "revolute", "q", "arm", (0, 0, 1))
    mechanism = mbd.Mechanism.build(builder)
    spring = JointSpring("q", stiffness=3.0, name="external")
    state = random_state(mechanism.model, np.random.default_rng(0))

    def columns(by):
        found = mechanism.load_derivatives(*state, ["q"], by, forces=[spring])
        return found.column_names

    assert columns("q.ball") == ("q.ball.wx", "q.ball.wy", "q.ball.wz")
    assert columns(["v.q", "q.mass", "q.xyz.x"]) == ("v.q", "q.mass", "q.xyz.x")
    assert columns("external.stiffness") == ("external.stiffness",)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "at least one name"),
        (["q.nowhere"], "no number named 'q.nowhere'.*Available: q.joint"),
        (["link1.weight"], "no parameter 'link1.weight'"),
        (["nothing.mass"], "no link named 'nothing'"),
        (["t"], "nothing that acts depends on time"),
        (["external"], "no link carries an external wrench"),
        (["link1.inertia.xw"], "no parameter"),
    ],
)
def test_what_loads_cannot_be_derived_by_is_named(by, message):
    mechanism, state = machine(0)
    with pytest.raises((ModelError, StateError), match=message):
        mechanism.load_derivatives(*state, by=by)


def test_numbers_that_no_slope_has_are_refused_by_name():
    mechanism, state, joint = arm()
    forces = [JointSpring(joint, stiffness=3.0, name="spring")]
    with pytest.raises(StateError, match="no number of JointSpring 'spring' named 'joint'"):
        mechanism.load_derivatives(*state, by="spring.joint", forces=forces)
    with pytest.raises(StateError, match="no number in these derivatives named 'v'"):
        mechanism.load_derivatives(*state, by="q").by("v")


def test_a_motion_takes_the_place_of_its_states():
    mechanism = mbd.load(OWN / "kuka_iiwa.urdf")
    motion = mechanism.read_motion(OWN / "kuka_iiwa_motion.csv")
    found = mechanism.load_derivatives(motion, joints=["lbr_iiwa_joint_2"], by=["v"])
    same = mechanism.load_derivatives(motion.q, motion.v, motion.a, ["lbr_iiwa_joint_2"], ["v"])
    np.testing.assert_array_equal(found.wrench, same.wrench)
    with pytest.raises(StateError, match="leave them out"):
        mechanism.load_derivatives(motion, motion.v)
    with pytest.raises(StateError, match="zeros\\(nv\\) is rest"):
        mechanism.load_derivatives(motion.q)


@dataclass(frozen=True)
class Turns(ForceElement):
    """A torque of a whole number of turns: there is nothing between them."""

    joint: str
    turns: int = 2

    def units(self, model):
        return {}

    def effect(self, model, t, q, v, z=()):
        return Effect(zeros(model.nv, q), {})


def test_a_whole_number_has_no_slope():
    mechanism, state, joint = arm()
    with pytest.raises(ModelError, match="whole number, 2, and has no slope"):
        mechanism.load_derivatives(*state, by="coil.turns", forces=[Turns(joint, name="coil")])


def test_masses_of_a_body_without_mass_are_refused_and_its_inertial_numbers_are_not():
    builder = (
        mbd.Builder("ghost")
        .link("arm", 0.0)
        .link("tip", 0.0)
        .joint("pin", "revolute", "base", "arm")
    )
    mechanism = mbd.Mechanism.build(builder.joint("weld", "fixed", "arm", "tip", (1, 0, 0)))
    state = np.full((3, 1), 0.3)
    with pytest.raises(KernelError, match="divided by zero"):
        mechanism.load_derivatives(*state, by=["arm.mass", "tip.mass"])
    found = mechanism.load_derivatives(*state, ["pin"], by="tip.inertial.m")
    np.testing.assert_allclose(found.force[0, 2], 9.81, atol=1.5)


CLASH = """<robot name="clash"><link name="base"/>
<joint name="gravity" type="revolute"><parent link="base"/><child link="external"/>
<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<link name="external"><inertial><mass value="1"/><origin xyz="0.1 0 0.2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="mass" type="revolute"><parent link="external"/><child link="q"/>
<origin xyz="0 0 0.5"/><axis xyz="1 0 0"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<link name="q"><inertial><mass value="1"/><origin xyz="0.1 0 0.2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def test_parts_may_be_called_what_inputs_are_called(tmp_path):
    path = tmp_path / "clash.urdf"
    path.write_text(CLASH)
    mechanism, state = mbd.load(path), np.full((3, 2), 0.3)
    spring = JointSpring("gravity", 3.0, 0.5, name="external")
    by = ["q.mass", "q.centre.x", "external.mass", "external.inertial.mx", "gravity.z"]
    by += ["mass.xyz.x", "external.stiffness"]  # the last is within the joint's own load
    found = mechanism.load_derivatives(*state, by=by, forces=[spring])
    assert found.column_names == tuple(by)
    assert found.units[:3] == ("rad", "m", "kg")
    assert np.abs(found.wrench[..., :-1]).max(axis=(0, 1)).min() > 1e-3
    pushed = mechanism.load_derivatives(*state, by="external.q", external={"q": np.zeros(6)})
    assert len(pushed.columns) == 6


def test_numbers_of_force_elements_have_the_units_of_where_they_act():
    mechanism, _, _ = arm()
    links, held = ("lbr_iiwa_link_3", "lbr_iiwa_link_6"), ("ground", "lbr_iiwa_link_3")
    units = {
        JointSpring("lbr_iiwa_joint_2", (9.0, 2.0), 3.0, 0.1, 0.2): {
            "stiffness": ["N m/rad", "N m/rad^2"],
            "damping": ["N m s/rad"],
            "rest": ["rad"],
            "preload": ["N m"],
        },
        PointSpring(held, stiffness=5.0, damping=(1.0, 2.0)): {
            "stiffness": ["N/m"],
            "damping": ["N s/m", "N s^2/m^2"],
        },
        Bushing(links, stiffness=np.ones(6)): {"stiffness": 3 * ["N/m"] + 3 * ["N m/rad"]},
    }
    for element, expected in units.items():
        own = replace(element, name="own")
        by = [f"own.{word}" for word in expected]
        solver = mechanism.compile_derivatives(["lbr_iiwa_joint_2"], by, forces=[own])
        assert [one.unit for one in solver.columns] == [*chain(*expected.values())]


def test_one_number_of_a_vector_of_an_element_is_a_column():
    mechanism, state, _ = arm()
    links = ("lbr_iiwa_link_3", "lbr_iiwa_link_6")
    mount = Bushing(links, stiffness=(9.0, 8.0, 7.0, 3.0, 2.0, 1.0), name="mount")
    few, whole = (
        mechanism.load_derivatives(*state, by=by, forces=[mount])
        for by in (["mount.stiffness.0", "mount.damping.4"], ["mount.stiffness", "mount.damping"])
    )
    assert few.column_names == ("mount.stiffness.0", "mount.damping.4")
    for name in few.column_names:
        np.testing.assert_allclose(few.by(name).wrench, whole.by(name).wrench, atol=1e-10)
    solver = mechanism.compile_derivatives(None, "mount.stiffness.0", forces=[mount])
    stiffer = replace(mount, stiffness=(12.0, 8.0, 7.0, 3.0, 2.0, 1.0))
    expected = mechanism.joint_loads(*state, forces=[stiffer])
    found = solver(*state, parameters={"mount.stiffness.0": 12.0}).loads
    np.testing.assert_allclose(found.wrench, expected.wrench, atol=1e-10)
