"""pybullet's thousand single bodies, free to move: the reference equations against pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.engines.crosscheck.compare import random_states
from mbd_bridge.engines.pinocchio import Twin
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.equations.articulated import articulated_accelerations
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from tests.robots import random_objects
from tests.tolerances import REFEREE

NAMES = sorted(random_objects())
PARTS = 10


@pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")
@pytest.mark.parametrize("part", range(PARTS))
def test_single_bodies_agree_with_pinocchio(part):
    """Load of the root joint, actuators and M, 20 states each."""
    assert len(NAMES) == 1000
    for name in NAMES[part::PARTS]:
        path = random_objects()[name]
        model = mbd.load(path, floating=True).model
        with quiet():
            read = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        twin = Twin.by_name(model, read)
        rng = np.random.default_rng(part)
        for q, v, a in zip(*random_states(model, 20, rng), strict=True):
            there = twin.q(q)
            tau = pin.rnea(read, twin.data, there, v, a)
            load = recursive_loads(model, q, v, a, [0])
            size = np.abs(tau).max()
            assert np.abs(load.forces - tau).max() <= REFEREE * size, name
            theirs = twin.data.f[1].vector
            assert np.abs(load.wrench[0] - theirs).max() <= REFEREE * size, name
            M = pin.crba(read, twin.data, there)
            M = np.triu(M) + np.triu(M, 1).T
            assert np.abs(mass_matrix_by_bodies(model, q) - M).max() <= REFEREE * np.abs(M).max()
        # Their izz is 0 in the file: nothing resists a spin about z, and that is said.
        with pytest.raises(SolveError, match="no inertia resists 'root_joint'"):
            articulated_accelerations(model, q, v, tau)
