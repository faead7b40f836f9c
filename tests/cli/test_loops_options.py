"""Every command that reads a machine with loops takes every option of its loops file."""

import shutil

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.robots import OWN

LOOPS = {
    "loops alone": "",
    "planar": "planar: true\n",
    "actuated": "actuated: [crank]\n",
    "coupled": ("couplings:\n  - {name: gears, joint: rocker, follows: crank, ratio: 1.0}\n"),
    "all": "planar: true\nactuated: [crank]\n",
}
"""What stands in the file beside the loop itself, which is the parallelogram's."""

COMMANDS = {
    "info": ("BAR",),
    "assemble": ("BAR", "--near", "crank=0.4", "--fixed", "crank"),
    "check": ("BAR", "--states", "3"),
    "bench": ("BAR", "--states", "64"),
    "loads": ("BAR", "MOTION", "--joints", "all", "--actuated", "crank"),
    "spectrum": ("BAR", "MOTION", "--joints", "all", "--actuated", "crank"),
    "motors": ("BAR", "MOTION", "--actuated", "crank"),
    "bearings": ("BAR", "MOTION", "--actuated", "crank"),
    "free-body": ("BAR", "MOTION", "--link", "rocker", "--actuated", "crank"),
    "report": ("BAR", "MOTION", "-o", "PAGE", "--actuated", "crank"),
    "simulate": ("BAR", "--seconds", "0.01", "--near", "crank=0.4", "-o", "RUN"),
    "export": ("BAR", "--what", "forward_dynamics", "-o", "SOURCE"),
    "convert": ("BAR", "COPY"),
    "worst-pose": ("BAR", "--samples", "64", "--joints", "coupler_pin", "--actuated", "crank"),
    "load-cases": ("BAR", "a=MOTION", "--joints", "all", "--actuated", "crank"),
    "complete-motion": ("BAR", "MOTION", "--given", "crank", "-o", "RUN"),
    "plot": ("BAR", "MOTION", "-o", "PICTURE", "--actuated", "crank"),
    "view": ("BAR", "MOTION", "--record", "PICTURE", "--loads", "all", "--actuated", "crank"),
    "vibrations": ("BAR", "--near", "crank=0.4"),
    "symbolic": ("BAR",),
    "real-time": ("BAR", "--seconds", "0.01", "--near", "crank=0.4"),
}


@pytest.fixture(scope="module", params=LOOPS)
def folder(request, tmp_path_factory):
    """A parallelogram whose loops file says more, and a motion of it."""
    folder = tmp_path_factory.mktemp("bar")
    shutil.copy(OWN / "four_bar.urdf", folder / "bar.urdf")
    loops = (OWN / "four_bar.loops.yaml").read_text(encoding="utf-8")
    (folder / "bar.loops.yaml").write_text(loops + LOOPS[request.param], encoding="utf-8")
    bar = mbd.load(folder / "bar.urdf")
    times = np.linspace(0.0, 1.0, 11)
    rows = [bar.assemble({"crank": 0.4 + 0.5 * np.sin(t)}, fixed="crank").q for t in times]
    head = ",".join(["time", *bar.coordinate_names])
    table = np.column_stack([times, rows])
    np.savetxt(folder / "motion.csv", table, delimiter=",", header=head, comments="", fmt="%.17g")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_every_option_of_the_loops(run, folder, command):
    files = {"BAR": "bar.urdf", "MOTION": "motion.csv", "PAGE": "page.html", "RUN": "run.csv"}
    files |= {"SOURCE": "bar.c", "COPY": "copy.urdf", "PICTURE": "bar.png"}
    files = {word: str(folder / name) for word, name in files.items()}
    files["a=MOTION"] = f"a={files['MOTION']}"
    code, out, err = run(command, *(files.get(word, word) for word in COMMANDS[command]))
    assert code == 0, out + err
    if command in ("info", "assemble"):
        planar = mbd.load(files["BAR"]).model.description.planar
        assert ("declared to be zero (planar)" in out) == planar
        assert ("are not determined, and are marked" in out) != planar


def test_the_crosscheck_asks_about_the_loops_too(folder):
    report = mbd.load(folder / "bar.urdf").crosscheck(states=3)
    assert report.passed
    if mbd.load(folder / "bar.urdf").model.description.couplings:
        return  # pybullet has no gears
    assert any("loops closed" in row.note for row in report.rows)
