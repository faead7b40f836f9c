"""``planar: true``: out-of-plane reactions are zero by declaration, if the balance agrees."""

import shutil

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError, ModelError, SolveError, StateError

STATE = {"crank": 0.4}


def state(robot, rate=3.0):
    """Return a state of a moving four-bar that satisfies its loop."""
    found = robot.assemble(
        STATE, fixed="crank", velocity={"crank": rate}, acceleration={"crank": 2}
    )
    return found.q, found.v, found.a


def off_plane(loads, n=1):
    """Return force along y and moments across it, and whether they are determined."""
    others = [k for k in range(3) if k != n]
    numbers = np.concatenate([loads.force[:, n], loads.moment[:, others].ravel()])
    flags = np.concatenate([loads.unique[:, n], loads.unique[:, [3 + k for k in others]].ravel()])
    return numbers, flags


def test_out_of_plane_components_are_zero_and_determined_and_the_others_stay(bar):
    q, v, a = state(bar)
    kwargs = {"actuated": ["crank"], "reaction": True}
    free, held = (x.joint_loads(q, v, a, **kwargs) for x in (bar, bar.as_planar()))
    assert not free.unique.all() and held.unique.all() and held.reaction_unique.all()
    numbers, flags = off_plane(held)
    assert flags.all() and not numbers.any()
    assert held.force[:, [0, 2]] == pytest.approx(free.force[:, [0, 2]], abs=1e-9)
    assert held.moment[:, 1] == pytest.approx(free.moment[:, 1], abs=1e-9)
    assert held.actuation == pytest.approx(free.actuation, abs=1e-12)


@pytest.mark.parametrize("in_", ["child", "parent", "world"])
def test_it_holds_in_all_axes_for_many_states_and_whichever_joint_is_cut(bar, in_):
    run = bar.simulate(0.2, q=bar.assemble(STATE, fixed="crank").q, every=20)
    options = {"actuated": ["crank"], "in_": in_, "on": "parent", "at": "parent"}
    loads = bar.as_planar().joint_loads(run.q, run.v, run.a, **options)
    assert loads.unique.all() and not loads.force[..., 1].any()
    q, v, a = (x[-1] for x in (run.q, run.v, run.a))
    one = bar.as_planar().joint_loads(q, v, a, **options)
    assert one.force == pytest.approx(loads.force[-1], abs=1e-9)


def test_each_body_is_in_balance_without_loads_out_of_the_plane(bar):
    q, v, a = state(bar)
    for link in ("crank", "coupler", "rocker"):
        body = bar.as_planar().free_body(link, q, v, a, actuated=["crank"])
        assert np.abs(body.sum).max() < 1e-9  # N and N m, of loads of some 50


def test_the_report_of_the_loops_leaves_nothing_undetermined(bar):
    assert bar.loops.report(actuated=["crank"]).undetermined
    assert not bar.as_planar().loops.report(actuated=["crank"]).undetermined


def test_a_push_beside_the_plane_is_refused_with_the_residual(bar):
    q, v, a = state(bar)
    robot = bar.as_planar()
    push = {"coupler": (0, 5.0, 0, 0, 0, 0)}
    with pytest.raises(SolveError, match=r"planar: .* N along the plane's normal"):
        robot.joint_loads(q, v, a, "coupler_pin", external=push, actuated=["crank"])
    loads = robot.joint_loads(q, v, a, external=push, actuated=["crank"], check=False)
    assert not loads.unique.all()
    in_plane = {"coupler": (5.0, 0, 3.0, 0, 1.0, 0)}
    assert robot.joint_loads(q, v, a, external=in_plane, actuated=["crank"]).unique.all()


def test_a_mass_beside_the_plane_is_refused_though_the_joint_asked_for_is_free_of_it(bar):
    heavy = bar.with_payload("coupler", 0.5, (0.5, 0.02, 0.0)).as_planar()
    q, v, a = state(heavy)
    with pytest.raises(SolveError, match="A body's mass"):
        heavy.joint_loads(q, v, a, "coupler_pin", actuated=["crank"])
    beside = bar.with_payload("coupler", 0.5, (0.5, 0.0, 0.01)).as_planar()
    assert beside.joint_loads(*state(beside), "coupler_pin", actuated=["crank"]).unique.all()


def test_gravity_across_the_plane_is_refused():
    robot = mbd.load("urdf/four_bar.urdf", gravity=(0, -9.81, 0)).as_planar()
    with pytest.raises(SolveError, match="gravity"):
        robot.joint_loads(*state(robot), actuated=["crank"])


def test_a_point_beside_the_plane_is_refused(bar):
    q, v, a = state(bar)
    robot = bar.as_planar()
    with pytest.raises(ModelError, match="m beside the plane"):
        robot.joint_loads(q, v, a, actuated=["crank"], at=(0.1, 0.02, 0.0))
    there = robot.joint_loads(q, v, a, actuated=["crank"], at=(0.1, 0.0, 0.2))
    here = bar.joint_loads(q, v, a, actuated=["crank"], at=(0.1, 0.0, 0.2))
    assert there.moment[:, 1] == pytest.approx(here.moment[:, 1], abs=1e-9)


def test_machines_that_leave_a_plane_are_refused():
    with pytest.raises(
        ModelError, match=r"planar: the axis of joint .* is not parallel .* 1\.57 rad"
    ):
        mbd.load("urdf/kuka_iiwa.urdf").as_planar()
    with pytest.raises(StateError, match="planar"):
        mbd.load("urdf/four_bar.urdf").as_planar("yes")


def test_the_sidecar_declares_it_and_the_assumptions_say_so(tmp_path):
    for name in ("four_bar.urdf", "four_bar.loops.yaml"):
        shutil.copy(f"urdf/{name}", tmp_path / name)
    side = tmp_path / "four_bar.loops.yaml"
    text = side.read_text()
    side.write_text(text + "planar: true\n")
    robot = mbd.load(tmp_path / "four_bar.urdf")
    loads = robot.joint_loads(*state(robot), actuated=["crank"])
    assert loads.unique.all()
    (said,) = loads.assumptions["planar"]
    assert said.text.startswith("declared")
    side.write_text(text + "planar: perhaps\n")
    with pytest.raises(FileError, match=f":{len(text.splitlines()) + 1}: planar: .*true or false"):
        mbd.load(tmp_path / "four_bar.urdf")


def test_bearings_of_a_planar_linkage_are_all_determined(bar):
    run = bar.simulate(0.2, q=bar.assemble(STATE, fixed="crank").q, every=20)
    names = bar.coordinate_names, bar.model.velocity_names
    free = mbd.Motion(run.time, run.q, run.v, run.a, *names, (), bar.model)
    held = bar.as_planar().bearings(free, actuated=["crank"])
    assert all(all(duty.determined) for duty in held.duties)
    assert not any(duty.axial.value or duty.tilting.value for duty in held.duties)
    assert not all(all(d.determined) for d in bar.bearings(free, actuated=["crank"]).duties)


def test_loads_that_steps_report_are_as_determined_as_those_computed_afterwards(bar):
    robot, q = bar.as_planar(), bar.assemble(STATE, fixed="crank").q
    push = {"coupler": (0.0, 5.0, 0.0, 0.0, 0.0, 0.0)}
    for external, planar in ((None, True), (push, False)):
        options = {"loads": ["coupler_pin", "crank"], "external": external}
        run = robot.simulate(0.02, q=q, **options)
        batch = robot.simulate(0.02, q=np.tile(q, (2, 1)), **options)
        names = ["coupler_pin", "crank"]
        assert run.loads.unique.all() == batch.loads.unique.all() == planar
        assert batch.joint_loads(names, in_="world").unique.all() == planar
        if planar:
            assert run.joint_loads(names).unique.all()
            assert np.abs(run.loads.force[..., 1]).max() < 1e-9
