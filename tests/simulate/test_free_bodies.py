"""Every link of every machine with loops, free of its joints, along simulations by every method."""

import numpy as np
import pytest

import mbd_bridge as mbd
from tests import free_bodies
from tests.robots import own_urdfs
from tests.simulate.test_loop_models import STARTS

METHODS = ("projection", "svd", "qr", "projection-reference", "multipliers")
DRIVEN = {
    "bricard": "joint_1",
    "crank_rocker": "crank",
    "four_bar": "crank",
    "knee_linkage_leg": "knee",
    "rrc_arm_gripping": "joint_1",
    "rssr": "crank",
    "slider_crank": "crank",
    "stewart": "leg_1",
}
"""A coordinate that is driven, pushed or braked."""

LEFT = 1e-10
"""What may be left over, relative to the largest force (times the size for moments)."""


def machine_run(name, method, driven):
    """A hundredth of a second with a push on the last link, a braked torque, perhaps a drive."""
    machine = mbd.load(own_urdfs()[name])
    at = machine.assemble(**STARTS[name])
    place = machine.model.velocity_names.index(DRIVEN[name])
    last = [link for link in machine.model.description.links if link.inertia][-1].name

    def torque(t, q, v):
        out = np.zeros(machine.nv, dtype=np.asarray(q).dtype)
        out[place] = 3.0 * np.cos(9 * t) - 0.5 * v[place]
        return out

    def push(t, q, v):
        return [5 + t, -3 * np.sin(9 * t), 4, 0.2, 0.3 * t, -0.1]

    options = {"q": at.q, "torque": torque, "external": {last: push}}
    if driven:
        q0, v0 = at.q[machine.coordinate_names.index(DRIVEN[name])], at.v[place]
        options["drives"] = {DRIVEN[name]: lambda t: q0 + v0 * t + t * t}
    return mbd.simulate(machine, 0.01, step=2.5e-4, v=at.v, method=method, **options)


CASES = [(name, method) for name in STARTS for method in METHODS]


@pytest.mark.parametrize("driven", [False, True], ids=["free", "driven"])
@pytest.mark.parametrize(("name", "method"), CASES)
def test_nothing_is_left_over_on_any_link(name, method, driven):
    run = machine_run(name, method, driven)
    model = run.model
    loads = run.joint_loads([*model.joint_index, *(cut.name for cut in model.cuts)])
    for k in (0, 7, 40):
        left = free_bodies.left_over(run, loads, k)
        assert left.force < LEFT * left.largest, left
        assert left.moment < LEFT * left.largest * max(model.size, 1.0), left
        assert free_bodies.idle_work(run, loads, k) < LEFT * left.largest * max(model.size, 1.0)
    for k in (3, 22):
        rate = free_bodies.energy_rate(run, k, 5e-5)
        assert abs(rate - free_bodies.power(run, k)) < 1e-6 * max(1.0, abs(rate)), k
