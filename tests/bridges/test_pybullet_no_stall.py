"""Nothing is compiled after the first step in a pybullet world, whatever is touched or asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.kernels import cache
from mbd_bridge.simulation.steps.stepping import CoupledStep
from tests.bridges import worlds
from tests.bridges.worlds import loose, world
from tests.machines import four_bar, rssr

URDF = Path(__file__).parents[2] / "urdf"


@pytest.fixture
def made(monkeypatch):
    """What is compiled, or read from the disk, from here on."""
    found: list[str] = []
    get = cache.Store.get

    def counted(self, form, make):
        found.append(form)
        return get(self, form, make)

    monkeypatch.setattr(cache.Store, "get", counted)
    monkeypatch.setattr(cache, "_RECENT", {})
    return found


def test_newly_touched_links_compile_nothing(made, tmp_path):
    """Balls that hit one link after the other, pushes on every link in either axes."""
    (tmp_path / "floater.urdf").write_text(worlds.FLOATER)
    with world(2e-3, gravity=(0, 0, 0)) as client:
        stepper = Stepper.load(tmp_path / "floater.urdf", client, floating=True)
        stepper.joint_loads()
        stepper.joint_loads(["hinge"], on="parent")
        stepper.step()
        made.clear()
        loose(client, 0.01, (0.7, 0, 0.3), v=(0, 0, -2.0))
        loose(client, 0.01, (-0.1, 0.05, 0.6), v=(0, 0, -2.0))
        touched = set()
        for k in range(300):
            pushed = {("body", "bar")[k % 2]: 1e-3 * np.arange(6.0)}
            axes = "world" if k % 2 else "link"
            stepper.step(1e-3 * np.ones(7), pushed if k % 3 else None, axes)
            touched |= {touch.link for touch in stepper.touches}
            assert np.isfinite(stepper.joint_loads().force).all()
            assert np.isfinite(stepper.joint_loads(["hinge"], on="parent").force).all()
        assert touched == {"body", "bar"}
        assert made == []


@pytest.mark.parametrize("machine", [four_bar, rssr, lambda: four_bar(1, 2, 1.7, 2.5)])
def test_a_prepared_step_compiles_nothing_on_the_way(made, machine):
    """The parallelogram passes positions where all its bars are in line."""
    bar = machine()
    name = bar.model.velocity_names[0]
    at = bar.assemble({name: 0.5}, fixed=name, velocity={name: 4.0})
    step = CoupledStep(bar.model, at.q, at.v)
    step.prepare()
    made.clear()
    q, v, none = at.q, at.v, np.zeros((len(bar.model.bodies), 6))
    tau, h = np.zeros(bar.model.nv), 2e-3
    for k in range(800):
        if k % 50 == 0:
            step.accelerations(q, v, tau, none)
            step.answer(q, v, tau, none)
        q, v = step(q, v, tau, none, h, k * h)
    assert np.isfinite(q).all()
    assert made == []


def test_placements_of_all_links_are_those_of_each():
    robot = mbd.load(URDF / "kuka_iiwa.urdf")
    with world() as client:
        stepper = Stepper.load(URDF / "kuka_iiwa.urdf", client, q=np.full(7, 0.3))
        for k, link in enumerate(robot.model.links):
            found, expected = (
                stepper._loads.placement(stepper.q, k),
                robot.placement(stepper.q, link.name),
            )
            assert np.abs(found.rotation - expected[:3, :3]).max() < 1e-14
            assert np.abs(found.translation - expected[:3, 3]).max() < 1e-14
