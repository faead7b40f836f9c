"""A completed motion that leaves the branch of the machine says so.

Machines of `tests.curves`, whose branches are known functions of an angle, are recorded in one
coordinate along ways through their flat positions, and completed from it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError, MbdWarning
from tests.crossings import curve
from tests.curves import MACHINES
from tests.sample import TIMES

OFF = 1e-3
"""rad: a coordinate that is farther off is on another branch."""


def completed(machine, name, q, time):
    """Return the motion completed from one column."""
    column = q[:, machine.coordinate_names.index(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        return machine.complete({name: column}, time, near=q[0], check=False)


@pytest.mark.parametrize("name", MACHINES)
def test_no_motion_changes_its_branch_in_silence(name):
    way, rng = curve(name), np.random.default_rng(6)
    for given in way.machine.coordinate_names:
        for _ in range(8 * TIMES):
            time = np.linspace(0.0, 1.0, int(rng.integers(20, 200)))
            turn = rng.uniform(-3.0, 3.0) + rng.uniform(0.5, 7.0) * time
            q = np.unwrap([way.state(s, 0.0)[0] for s in turn], axis=0)
            try:
                motion = completed(way.machine, given, q, time)
            except MbdError:
                continue  # refused: what is recorded does not determine a motion
            apart = np.abs((motion.q - q + np.pi) % (2.0 * np.pi) - np.pi).max()
            if motion.completed.reached.all() and apart > OFF:
                assert motion.completed.crossings or motion.completed.jumps, (given, apart)


@pytest.mark.parametrize("loops", [1, 2, 3])
def test_loops_that_are_flat_at_once_do_not_hide_each_other(loops):
    parts = mbd.Builder("bars", root="base").link("crank", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
    parts.joint("crank", "revolute", "base", "crank", axis=(0, 1, 0))
    for k in range(loops):
        parts.link(f"rod{k}", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
        parts.link(f"arm{k}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        parts.joint(f"elbow{k}", "revolute", "crank", f"rod{k}", (0, 0, 1), axis=(0, 1, 0))
        parts.joint(f"arm{k}", "revolute", "base", f"arm{k}", (2, 0, 0), axis=(0, 1, 0))
        ends = {"xyz": (2, 0, 0), "xyz2": (0, 0, 1), "axis": (0, 1, 0)}
        parts.loop(f"pin{k}", "revolute", f"rod{k}", f"arm{k}", **ends)
    machine = mbd.Mechanism.build(parts)
    time = np.linspace(0.0, 2.0, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        motion = machine.complete({"crank": 0.3 + np.pi * time}, time, near={"crank": 0.3})
    flat = [(angle - 0.3) / np.pi for angle in (np.pi / 2, 3 * np.pi / 2)]
    assert motion.completed.crossings == tuple(int(k) for k in np.searchsorted(time, flat))


@pytest.mark.parametrize("name", ["crank_rocker", "slider_crank"])
@pytest.mark.parametrize("rows", [12, 40, 400])
def test_a_whole_turn_far_from_flat_positions_is_not_doubted(name, rows):
    machine = mbd.load(f"urdf/{name}.urdf")
    time = np.linspace(0.0, 1.0, rows)
    motion = machine.complete({"crank": 2.0 * np.pi * time}, time, near={"crank": 0.0})
    assert motion.completed.crossings == motion.completed.jumps == ()
