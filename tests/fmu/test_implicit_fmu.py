"""FMUs that step by implicit schemes: the digits of a run, and their memory where forces jump."""

from __future__ import annotations

import subprocess
import zipfile

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.simulation.steps.stepping import Stepping
from tests.c_compiler import needs_compiler
from tests.fmu.importer import JUMP, STRICT, Importer
from tests.simulate.implicit import Q, V, arm

__all__ = ["arm"]

pytestmark = needs_compiler

SCHEMES = ["newmark", mbd.integrators.GeneralisedAlpha(rho=0.4), "explicit_newmark"]


@pytest.fixture(scope="module")
def rocker():
    robot = mbd.load("urdf/crank_rocker.urdf")
    at = robot.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 3.0})
    return robot, {"q": at.q, "v": at.v}


def system_of(robot, **more):
    spring = mbd.forces.JointSpring("rocker", stiffness=3.0, damping=0.2, name="spring")
    torque = {"crank": mbd.Input("motor", 2.0), "elbow": 0.1}
    return mbd.System(robot, torque=torque, forces=[spring], **more)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_digits_are_those_of_a_run(tmp_path, rocker, scheme):
    robot, start = rocker
    system = system_of(robot, parameters={"coupler.mass": 2.0})
    step = 1e-3 if scheme == "explicit_newmark" else 5e-3
    run = system.simulate(0.1, step=step, integrator=scheme, **start)
    assert bool(run.detours) == (step == 5e-3)  # steps in halves, in which Newton converges
    system.export_fmu(tmp_path / "it.fmu", step=step, integrator=scheme, **start)
    with Importer(tmp_path / "it.fmu") as found:
        found.start()
        for k in range(10):
            found.set({"motor": 2.0})  # no change
            found.step(0.01 * k, 0.01)
            kept = found.packed()
            found.step(0.01 * (k + 1), 0.0234)
            found.unpack(kept)  # its memory too
        assert np.array_equal(found.get("q."), run.q[-1])
        assert np.array_equal(found.get("v."), run.v[-1])


def test_inputs_that_change_and_odd_steps_keep_the_second_order(tmp_path, rocker):
    """Against Runge-Kutta, with inputs held over 12.5 ms and a start that the importer sets."""
    robot, start = rocker
    system, ends = system_of(robot), []
    rates = dict(zip(robot.model.velocity_names, 0.7 * start["v"], strict=True))
    scheme = mbd.integrators.GeneralisedAlpha(rho=0.4)
    for integrator, h in (("rk4", 1e-4), (scheme, 2e-3), (scheme, 1e-3), (scheme, 5e-4)):
        path = tmp_path / f"{len(ends)}.fmu"
        system.export_fmu(path, step=h, integrator=integrator, **start)
        with Importer(path) as found:
            found.set({f"v.{name}": rate for name, rate in rates.items()})
            found.start()
            for k in range(24):
                found.set({"motor": 2.0 * np.sin(k)})
                found.step(0.0125 * k, 0.0125)
            ends.append(np.array(found.get("q.")))
    errors = np.array([np.abs(end - ends[0]).max() for end in ends[1:]])
    assert np.all(np.log2(errors[:-1] / errors[1:]) > 1.7) and errors[-1] < 1e-4, errors


def test_jumps_of_tables_and_clean_sources(tmp_path, rocker):
    robot, start = rocker
    given = {"torque": {"crank": JUMP}}
    run = robot.simulate(0.1, integrator="hht", **given, **start)
    path = tmp_path / "it.fmu"
    mbd.System(robot, **given).export_fmu(path, integrator="hht", fmi=2, **start)
    with Importer(path) as found:
        found.start()
        found.step(0.0, 0.1)
        assert np.abs(found.get("q.") - run.q[-1]).max() < 1e-12
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "it")
    for source in sorted((tmp_path / "it" / "sources").glob("*.c")):
        command = ["cc", *STRICT, "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_numbers_of_force_elements_are_parameters_that_may_be_set(tmp_path, rocker):
    """Before and between steps, with the digits of a run that has them from the start."""
    robot, start = rocker
    path, stiff = tmp_path / "it.fmu", {"spring.stiffness": 9.0, "spring.damping": 0.5}
    fmu = system_of(robot, parameters={"spring.stiffness": 3.0, "spring.damping": 0.2}).export_fmu(
        path, **start
    )
    assert set(stiff) <= set(fmu.names("tunable"))
    run = system_of(robot, parameters=stiff).simulate(0.1, **start)
    soft = system_of(robot).simulate(0.1, **start)
    with Importer(path) as found:
        found.start()
        found.step(0.0, 0.1)
        assert np.abs(found.get("q.") - soft.q[-1]).max() < 1e-13
        found.reset()
        found.set(stiff)
        found.start()
        found.step(0.0, 0.1)
        assert np.abs(found.get("q.") - run.q[-1]).max() < 1e-13 < np.abs(run.q - soft.q).max()


def test_newtons_matrix_is_kept_over_changes_of_inputs_as_in_real_time(tmp_path, arm):
    scheme = mbd.integrators.GeneralisedAlpha(rho=0.4)
    arm.export_fmu(tmp_path / "it.fmu", step=1e-3, integrator=scheme, q=Q, v=V)
    stepping = Stepping(arm, np.concatenate([Q, V]), 1e-3, scheme)
    with Importer(tmp_path / "it.fmu") as found:
        found.start()
        for k in range(100):
            push = np.sin(k // 3)
            found.set({"push": push})
            found.step(1e-3 * k, 1e-3)
            stepping.held[:] = push
            stepping.advance()
        assert np.array_equal(found.get("q."), stepping.q)
        assert np.array_equal(found.get("v."), stepping.v)
