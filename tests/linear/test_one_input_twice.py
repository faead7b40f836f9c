"""One input that acts in two places."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd


@pytest.fixture(scope="module")
def two():
    built = mbd.Builder("two", root="rail").link("left", 2.0).link("right", 4.0)
    for name in ("left", "right"):
        built.joint(f"{name}_slide", "prismatic", "rail", name, axis=(1.0, 0.0, 0.0))
    return mbd.Mechanism.build(built.description())


def test_an_input_given_twice_acts_in_both_places(two):
    """q̈ = u/2 and u/4, in the linear model as in a run and in a step that is driven by name."""
    springs = [mbd.forces.JointSpring(f"{name}_slide", 1.0) for name in ("left", "right")]
    pull = mbd.Input("pull")
    acts = {"torque": {"left_slide": pull, "right_slide": pull}}
    system = mbd.System(two, forces=springs, **acts)
    linear = mbd.linear.linearise(system)
    velocities = {"left_slide": 0.5, "right_slide": 0.25}
    assert linear.inputs[0] == "pull"
    moved = np.zeros(4)
    moved[2:] = [velocities[name] for name in two.model.velocity_names]
    assert np.allclose(linear.B[:, 0], moved, atol=1e-12)
    paced = mbd.RealTime(mbd.System(two, **acts), step=0.01).run(
        1.0, rate=1e6, inputs={"pull": 4.0}
    )
    assert np.allclose(paced.v[-1], [2.0, 1.0])


def test_an_input_of_one_number_and_of_six_is_refused_by_name(two):
    system = mbd.System(
        two,
        forces=[mbd.forces.JointSpring(f"{n}_slide", 1.0) for n in ("left", "right")],
        torque={"left_slide": mbd.Input("pull")},
        external={"right": mbd.Input("pull")},
    )
    with pytest.raises(mbd.errors.StateError, match="one number in one place and six in another"):
        mbd.linear.linearise(system)
