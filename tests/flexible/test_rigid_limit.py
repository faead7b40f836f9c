"""A machine that gets stiffer moves as the rigid one, at the rate of its stiffness."""

import numpy as np

from tests.flexible.models import STEEL, slider_crank, started

SECONDS = 0.01


def test_motion_tends_to_the_rigid_mechanisms_as_one_over_the_stiffness():
    """Deflections, and with them all ways between both motions, are of the size 1 / E."""
    rigid = slider_crank(bends=False)
    at = started(rigid)
    own = rigid.simulate(SECONDS, step=1e-5, q=at.q, v=at.v, every=100)
    apart = []
    for factor in (1.0, 4.0, 16.0):
        machine = slider_crank(STEEL * factor)
        at = started(machine)
        run = machine.simulate(SECONDS, step=5e-6, q=at.q, v=at.v, every=200)
        joints = [machine.coordinate_names.index(name) for name in rigid.coordinate_names]
        apart.append(np.abs(run.q[:, joints] - own.q).max(axis=0))
    ratios = np.array(apart[:-1]) / apart[1:]
    assert np.array(apart[0]).min() > 1e-6
    assert (np.abs(ratios - 4.0) < 0.5).all()
