"""Claims about ``--external``: every command counts the same forces as the library, and says so."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.tables import read_table
from tests.external.tables import COMPONENTS, wave, write
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
MOTION = str(OWN / "kuka_iiwa_motion.csv")
JOINT, LINK = "lbr_iiwa_joint_7", "lbr_iiwa_link_7"


@pytest.fixture
def force(tmp_path):
    """Return a file with a force of the environment on the last link, some 100 N."""
    time, table = wave(rows=11, end=2.0)
    columns = ["time", *(f"{LINK}.world.{c}" for c in COMPONENTS)]
    return write(tmp_path / "f.csv", columns, np.column_stack([time, 20 * table]))


def expected_loads(force):
    robot = mbd.load(ARM)
    return robot.joint_loads(robot.read_motion(MOTION), joints=[JOINT], external=force)


def test_loads_and_their_file_tell_the_force(run, force, tmp_path):
    out = tmp_path / "l.csv"
    code, _, err = run(
        "loads", ARM, MOTION, "--joints", JOINT, "--external", force, "--digits", "17", "-o", out
    )
    assert code == 0
    said = f"on {LINK} (f.csv): fx, fy, fz, mx, my, mz over time from 0 to 2 s"
    assert err.count(said) == 1
    table, loads = read_table(out), expected_loads(force)
    assert table.attributes["external"].startswith(f"external force {said}")
    for k, axis in enumerate("xyz"):
        assert np.allclose(table.column(f"{JOINT}.f{axis}"), loads.force[:, 0, k], rtol=1e-12)


def test_spectrum_and_report_and_plot_and_view_count_the_force(run, force, tmp_path):
    words = [ARM, MOTION, "--joints", JOINT, "--external", force]
    largest = np.ptp(expected_loads(force).force[:, 0, 2])
    code, out, err = run("spectrum", *words)
    assert code == 0 and f"{largest:.5g}" in out and "external force on" in err
    page = tmp_path / "r.html"
    code, _, err = run("report", *words, "--no-picture", "--no-check", "-o", page)
    assert code == 0 and err.count("external force on") == 1
    assert f"on {LINK} (f.csv)" in page.read_text()
    pictures = []
    for more in ([], ["--external", str(force)]):
        pictures.append(tmp_path / f"{len(more)}.svg")
        assert run("plot", *words[:4], *more, "-o", pictures[-1])[0] == 0
    assert pictures[0].read_text() != pictures[1].read_text()
    drawn = []
    for more in ([], ["--external", str(force)]):
        drawn.append(tmp_path / f"{len(more)}.png")
        options = ["--loads", JOINT, "--record", drawn[-1], "--size", "160x120"]
        assert run("view", ARM, MOTION, *options, *more)[0] == 0
    assert drawn[0].read_bytes() != drawn[1].read_bytes()


def test_free_bodies_name_the_force(run, force):
    code, out, _ = run("free-body", ARM, MOTION, "--link", LINK, "--external", force)
    assert code == 0
    assert "\nexternal " in out
    residuals = [float(line.split()[2]) for line in out.splitlines() if "residual" in line]
    assert max(residuals) < 1e-14


def test_a_simulation_moves_under_the_force(run, force, tmp_path):
    rod = str(OWN / "pendulum.urdf")
    tip = write(tmp_path / "p.csv", ["hinge [deg]", "rod.fx [N]"], [(-90, 5), (0, 0), (90, -5)])
    out = tmp_path / "run.csv"
    words = ["simulate", rod, "--seconds", "0.2", "--near", "hinge=0.5", "-o", out, "--joints"]
    code, _, err = run(*words, "hinge", "--external", tip, "--external-point", "0,0,-0.4")
    assert code == 2
    assert "--external-outside" in err
    words += ["hinge", "--external", tip, "--external-outside", "hold"]
    code, _, err = run(*words, "--external-point", "0,0,-0.4")
    assert code == 0, err
    assert "held beyond its ends, in link axes at 0 0 -0.4 m" in err
    robot = mbd.load(rod)
    given = robot.read_external(tip, outside="hold", point=(0, 0, -0.4))
    ours = robot.simulate(0.2, q=[0.5], external=given)
    assert np.allclose(read_table(out).column("hinge"), ours.q[:, 0], rtol=1e-14)


def test_a_bad_table_of_forces_is_told_before_work_is_done(run, tmp_path):
    bad = write(tmp_path / "bad.csv", ["time", "hand.fx"], [(0, 1), (1, 2)])
    code, out, err = run("loads", ARM, MOTION, "--joints", JOINT, "--external", bad)
    assert (code, out) == (2, "")
    assert "no link named 'hand'" in err and "bad.csv" in err
