"""On whom, where and in whose axes a load is given."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.equations.state_vectors import state_vectors
from tests.machines import boom
from tests.tolerances import ROUNDING
from tests.trees import TYPES, random_state, random_tree


def test_on_at_in():
    arm = boom()
    state = [0.3], [1.0], [-2.0]
    basic = arm.joint_loads(*state, ["pin"])
    opposite = arm.joint_loads(*state, ["pin"], on="parent")
    assert np.array_equal(opposite.wrench, -basic.wrench)
    world = arm.joint_loads(*state, ["pin"], in_="world")
    parent = arm.joint_loads(*state, ["pin"], in_="parent")
    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    assert np.allclose(world.force[0], R @ basic.force[0], rtol=ROUNDING)
    assert np.allclose(parent.wrench, world.wrench, rtol=ROUNDING)
    shifted = arm.joint_loads(*state, ["pin"], at=(1.0, 2.0, 3.0))
    expected = basic.moment[0] - np.cross([1, 2, 3], basic.force[0])
    assert np.allclose(shifted.moment[0], expected, rtol=ROUNDING)
    assert "child on parent" in str(opposite.convention)


@pytest.mark.parametrize("seed", range(3))
def test_conventions_are_those_of_the_links_in_the_world(seed):
    """Every joint of a tree, welds and the free root too, where its links really are."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 8, TYPES, mimics=0.2).joint(
        "weld", "fixed", "link8", "tip", rpy=(1, 2, 3)
    )
    m = mbd.Mechanism.build(tree, floating=True)
    state = q, v, _ = random_state(m.model, rng)
    bodies = state_vectors(m.model, q, v, "world").bodies

    def placed(link):
        """Rotation of a link in the world, and its origin; of the ground for -1."""
        if link < 0:
            return np.eye(3), np.zeros(3)
        entry = m.model.links[link]
        at = bodies[entry.body]
        inside = at.rotation @ entry.frame.translation
        return at.rotation @ entry.frame.rotation, at.position + inside

    names = [joint.name for joint in m.model.joints]
    basic = m.joint_loads(*state, names)
    scale = np.abs(basic.wrench).max()
    kinds = {"in_": ("parent", "world"), "at": ("parent", (0.1, 0.2, 0.3)), "on": ("parent",)}
    for option, values in kinds.items():
        for value in values:
            loads = m.joint_loads(*state, names, **{option: value})
            for k, joint in enumerate(m.model.joints):
                (R, x), (R_parent, x_parent) = placed(joint.child), placed(joint.parent)
                force, moment = basic.force[k], basic.moment[k]
                if option == "on":
                    force, moment = -force, -moment
                elif option == "in_":
                    turn = R if value == "world" else R_parent.T @ R
                    force, moment = turn @ force, turn @ moment
                else:
                    point = np.array(value) if value != "parent" else None
                    if point is None:
                        left = x_parent + R_parent @ joint.parent_frame.translation
                        point = R.T @ (left - x)
                    moment = moment - np.cross(point, force)
                apart = loads.wrench[k] - np.r_[force, moment]
                assert np.abs(apart).max() <= 10 * ROUNDING * scale, (joint.name, option, value)
