"""One machine with all its choices of cuts."""

from itertools import combinations

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import build_model, recut
from mbd_bridge.solve.constrained import ConstrainedDynamics
from tests.carry import carry_state, link_accelerations, poses
from tests.tolerances import LOOPS


def choices(description):
    """All sets of joints that can be cut, and the weighted one."""
    names = [*(j.name for j in description.joints), *(loop.name for loop in description.loops)]
    found = ["weighted"]
    for names_cut in combinations(names, len(description.loops)):
        try:
            recut(description, names_cut)
        except ModelError:
            continue
        found.append(names_cut)
    return found


def free_fall(model, q, v):
    """Accelerations without actuators, and all loads by name."""
    dynamics = ConstrainedDynamics(model, actuated=())
    a, _ = dynamics.forward(q, v, np.zeros(model.nv))
    return a, LoadSolver(model, LoadRequest.of(model, actuated=()))(q, v, a)


def carried(model, q, v, cuts):
    """The machine with other cuts, and its state there; its links are where they were."""
    other = build_model(model.description, cuts=cuts, gravity=model.gravity)
    there_q, there_v = carry_state(model, other, q, v)
    there = poses(other, there_q)
    for name, (R, p) in poses(model, q).items():
        assert np.allclose(R, there[name][0], atol=1e-12), (cuts, name)
        assert np.allclose(p, there[name][1], atol=1e-12), (cuts, name)
    return other, there_q, there_v


def check_same_machine(model, q, v, cuts):
    other, there_q, there_v = carried(model, q, v, cuts)
    a, loads = free_fall(model, q, v)
    there_a, there = free_fall(other, there_q, there_v)
    wanted = link_accelerations(model, q, v, a)
    scale = 10 + max(np.abs(x).max() for x in wanted.values())
    for name, found in link_accelerations(other, there_q, there_v, there_a).items():
        assert np.abs(found - wanted[name]).max() <= LOOPS * scale, (cuts, name)
    size = max(np.abs(loads.wrench).max(), 1.0)
    for name in loads.joints:
        one, two = loads[name], there[name]
        assert np.array_equal(one.unique, two.unique), (cuts, name)
        difference = np.concatenate([one.force - two.force, one.moment - two.moment])
        assert np.abs(difference[one.unique]).max(initial=0.0) <= LOOPS * size, (cuts, name)
