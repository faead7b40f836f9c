"""Every link of every machine, free of its joints, along simulations by every method."""

import functools

import numpy as np
import pytest

import mbd_bridge as mbd
from tests import free_bodies
from tests.robots import own_urdfs
from tests.simulate.starts import STARTS

METHODS = ("multipliers", "svd", "qr", "projection")
DRIVEN = {
    "bricard": "joint_1",
    "humanoid": "waist_yaw",
    "kuka_iiwa": "lbr_iiwa_joint_3",
    "rrc_arm": "joint_2",
    "knee_linkage_leg": "knee",
    "rrc_arm_gripping": "joint_1",
    "stewart": "leg_1",
    "whipple_bicycle": "rear_wheel",
}
"""A coordinate that is prescribed or braked, where it is not the first one."""

TREES = ("humanoid", "kuka_iiwa", "rrc_arm")

LEFT = 1e-10
"""What may be left over, relative to the largest force (times the size for moments)."""


@functools.cache
def started(name):
    """A machine with its position and velocity at the start."""
    machine = mbd.load(own_urdfs()[name], forces=(), flexible=())
    if name in TREES:
        return machine, np.linspace(-0.4, 0.5, machine.nq), np.linspace(-2.0, 1.0, machine.nv)
    at = machine.assemble(**STARTS[name])
    return machine, at.q, at.v


def machine_run(name, method, driven):
    """A hundredth of a second with a push on the last link, a braked torque, perhaps a prescribed
    motion.
    """
    machine, q, v = started(name)
    driven_name = DRIVEN.get(name, machine.model.velocity_names[0])
    place = machine.model.velocity_names.index(driven_name)
    last = [link for link in machine.model.description.links if link.inertia][-1].name

    def torque(t, q, v):
        out = np.zeros(machine.nv, dtype=np.asarray(q).dtype)
        out[place] = 3.0 * np.cos(9 * t) - 0.5 * v[place]
        return out

    def push(t, q, v):
        return [5 + t, -3 * np.sin(9 * t), 4, 0.2, 0.3 * t, -0.1]

    options = {"q": q, "v": v, "torque": torque, "external": {last: push}}
    if driven:
        q0, v0 = q[machine.coordinate_names.index(driven_name)], v[place]
        options["prescribed"] = {driven_name: lambda t: q0 + v0 * t + t * t}
    return machine.simulate(0.01, step=2.5e-4, method=method, **options)


LARGE = "macpherson_car"
"""26 links and 20 rows: one method of it is enough."""


def cases():
    """Each machine free and prescribed by the step that users run, and once by each other method:
    free and prescribed in turns, so that each method meets both.
    """
    for k, name in enumerate([*STARTS, *TREES]):
        yield from ((name, "multipliers", driven) for driven in ("free", "prescribed"))
        if name != LARGE:
            methods = () if name in TREES else METHODS[1:]
            for j, method in enumerate(methods):
                yield name, method, ("free", "prescribed")[(j + k) % 2]


@pytest.mark.parametrize(("name", "method", "driven"), cases())
def test_nothing_is_left_over_on_any_link(name, method, driven):
    run = machine_run(name, method, driven == "prescribed")
    model = run.model
    loads = run.joint_loads([*model.joint_index, *(cut.name for cut in model.cuts)])
    for k in (0, 7, 40):
        left = free_bodies.left_over(run, loads, k)
        assert left.force < LEFT * left.largest, left
        assert left.moment < LEFT * left.largest * max(model.size, 1.0), left
        assert free_bodies.idle_work(run, loads, k) < LEFT * left.largest * max(model.size, 1.0)
    for k in (3, 22):
        rate = free_bodies.energy_rate(run, k, 5e-5)
        size = max(1.0, abs(rate), free_bodies.weight_power(run, k))
        assert abs(rate - free_bodies.power(run, k)) < 1e-6 * size, k
