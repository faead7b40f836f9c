"""Claims: what changes the loads stands in a report as `load_derivatives` says it."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError, StateError
from tests.report.texts import ARM, FAST, MOTION, by_heading

JOINT, HEADING = "lbr_iiwa_joint_4", "What changes the loads"
BY = ["lbr_iiwa_link_5.mass", "lbr_iiwa_joint_5.xyz.z"]


def test_a_report_tells_what_changes_its_loads(tmp_path):
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    path = tmp_path / "page.html"
    found = robot.report(path, motion, [JOINT], sensitivity=BY, view=False, **FAST)
    expected = robot.load_derivatives(motion, joints=[JOINT], by=BY).sensitivities()
    force = found["motion"].results["sensitivity"][JOINT][0]
    np.testing.assert_allclose(force.d_rms, expected[JOINT][0].d_rms, rtol=1e-12)
    shown = by_heading(path, HEADING)
    percents = expected.percent(expected[JOINT][0].d_peak, expected[JOINT][0].peak)
    assert [row["by"] for row in shown] == BY
    said = [float(row["peak %/%"] or "nan") for row in shown]  # a place at zero has no per cent
    np.testing.assert_allclose(said, percents, rtol=1e-2)


def test_without_names_it_is_by_the_masses_of_the_links(tmp_path):
    robot = mbd.load(ARM)
    still = robot.read_motion(MOTION).part(slice(0, 2))
    path = tmp_path / "page.html"
    robot.report(path, still, [JOINT], sensitivity=[], view=False, **FAST)
    assert "lbr_iiwa_link_6.mass" in [row["by"] for row in by_heading(path, HEADING)]
    robot.report(path, still, [JOINT], view=False, **FAST)
    assert HEADING not in path.read_text(encoding="utf-8")


def test_a_simulation_and_a_name_that_is_none_are_refused(tmp_path):
    robot = mbd.load(ARM)
    path = tmp_path / "page.html"
    run = robot.simulate(0.01, step=1e-3)
    with pytest.raises(StateError, match="along a motion, not along a simulation"):
        run.report(path, sensitivity=[], view=False, **FAST)
    with pytest.raises(ModelError, match="no parameter"):
        robot.report(path, MOTION, [JOINT], sensitivity=["lbr_iiwa_link_5.mas"], **FAST)
