"""Claims: results show themselves in a notebook, and go on as tables with units."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mbd_bridge as mbd
from mbd_bridge.base.assumptions import TOPICS
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.table import MOST, Series, Table, Tabular
from mbd_bridge.engines.crosscheck.compare import Report, Row

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "27_in_a_notebook.ipynb"
JOINTS = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"]


@pytest.fixture(scope="module")
def loads(arm, motion):
    return arm.joint_loads(motion, joints=JOINTS)


def test_the_example_notebook_runs_and_shows_what_it_should(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [
        output.data
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert "lbr_iiwa_joint_7" in pages[0]  # the mechanism's joints
    assert "lbr_iiwa_joint_2.mx" in pages[1]
    assert any("iframe" in page and "webgl" in page for page in pages)
    (picture,) = [data["image/png"] for data in shown if "image/png" in data]
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        assert image.size == (480, 360)
        assert np.ptp(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0).min() > 60


def test_data_frames_have_the_numbers_and_units_of_the_file(loads, motion, tmp_path):
    table = loads.to_dataframe()
    path = tmp_path / "loads.csv"
    loads.save(path)
    heads = path.read_text().splitlines()
    head = next(line for line in heads if line.startswith("time"))
    units = dict(re.findall(r"([\w.?]+) \[([^\]]*)\]", head))
    assert {name: unit for name, unit in table.attrs["units"].items() if unit} == units
    assert np.array_equal(table["lbr_iiwa_joint_4.fy"], loads["lbr_iiwa_joint_4"].force[:, 1])
    assert np.array_equal(table.index, motion.time) and table.index.name == "time"
    data = loads.to_xarray()
    assert data.actuation.attrs == {"units": "N m"} and data["time"].attrs == {"units": "s"}
    for name in JOINTS:
        own = data.sel(joint=name)
        assert own.force.dims == ("time", "axis") and own.force.attrs == {"units": "N"}
        assert np.array_equal(own.moment, loads[name].moment)
        assert np.array_equal(data.actuation.sel(actuator=name), loads[name].actuation[:, 0])
    assert data.attrs["convention"] == str(loads.convention)
    states = motion.to_dataframe()
    assert np.array_equal(states[f"{JOINTS[0]}.acc"], motion.a[:, 1])
    assert states.attrs["units"][f"{JOINTS[0]}.acc"] == "rad/s^2"


def test_every_result_with_rows_shows_them(arm, motion, loads, tmp_path):
    still = np.zeros(7)
    pose = arm.joint_loads(still, still, still, JOINTS)
    pendulum = mbd.load(ROOT / "urdf" / "pendulum.urdf")
    run = pendulum.simulate(0.1, q=[0.5])
    batch = pendulum.simulate(0.1, q=[[0.1], [0.2], [0.3]])
    motor = mbd.actuators.Actuator(JOINTS[0], ratio=100.0)
    history = arm.load_history(ROOT / "urdf" / "kuka_iiwa_motion.csv", JOINTS)
    motors = arm.with_actuators([motor]).motors(motion)
    bearings = arm.bearings(motion, JOINTS)
    report = Report("arm", 3, (Row("loads", "pinocchio", 1e-14, 1e-11),), ("pinocchio",))
    for thing, words in (
        (arm, "lbr_iiwa_joint_ee"), (motion, f"{JOINTS[0]}.vel"), (loads, f"{JOINTS[1]}.mz"),
        (pose, JOINTS[1]), (run, "hinge.vel"), (batch, "finished"),
        (batch.joint_loads(["hinge"]), "hinge.moment"),
        (history, "smallest"),
        (mbd.loads.LoadCases([mbd.loads.LoadCase("pick", history)]), "largest range"),
        (history.spectra, "m = 3"),
        (motors, "motoring"), (bearings, "radial"), (report, "pinocchio"),
    ):  # fmt: skip
        assert isinstance(thing, Tabular)
        page = thing._repr_html_()
        assert words in page and "<table" in page and len(page) < 20_000
        assert not re.search(
            r"(?<![a-z-])color:(?!inherit)|background", page
        )  # the theme's own colours
        table = thing.to_dataframe()
        assert len(table) and set(table.attrs["units"]) == {*table.index.names, *table.columns}
        data = thing.to_xarray()
        along = ".".join(table.index.names)
        assert along in data.dims or thing in (batch, pose, history.spectra)
        assert all("units" in one.attrs for one in data.variables.values())
    assert len(run) == len(run.time) and len(motion) == 201


def test_a_mechanism_is_a_table_of_numbers(arm):
    table = arm.to_dataframe()
    first = table.loc[JOINTS[0]]
    assert (first.lower, first.effort, first.velocity) == (-2.0, 300.0, 1.5)
    assert table.mass.sum() == pytest.approx(sum(arm.model.masses))
    assert np.isnan(table.loc["root_joint", "effort"]) and table.effort.dtype == float
    units = table.attrs["units"]
    assert [units[name] for name in ("mass", "upper", "effort", "velocity")] == [
        *("kg", "rad", "N m", "rad/s")
    ]
    slider = mbd.load(ROOT / "urdf" / "slider_crank.urdf")
    mixed = slider.to_dataframe()
    assert mixed.attrs["units"]["effort"] == "see effort_units"
    assert set(mixed.effort_units) == {"N m", "N", ""}
    assert slider.to_xarray().effort.effort_units.dims == ("joint",)
    assert "├" in mbd.load(ROOT / "urdf" / "four_bar.urdf")._repr_html_()


def test_results_are_walked_and_completed_by_name(loads, arm):
    assert list(loads) == JOINTS == loads._ipython_key_completions_()
    assert JOINTS[0] in loads and "elbow" not in loads and loads.get("elbow") is None
    assert list(loads.assumptions) == list(TOPICS) == loads.assumptions._ipython_key_completions_()
    assert len(loads) == 2 and [loads[name].force.shape for name in loads] == [(201, 3)] * 2
    spectra = loads.spectra()
    assert len(spectra) == len(list(spectra)) and set(spectra._ipython_key_completions_()) == set(
        spectra
    )


def test_entries_of_several_units_tell_theirs():
    """A crank (rad) and a slider (m); a batch has trajectories before the times."""
    machine = mbd.load(ROOT / "urdf" / "slider_crank.urdf")
    q = machine.assemble({"crank": 0.5}).q
    batch = machine.simulate(0.01, q=np.stack([q, q]))
    data = batch.to_xarray()
    units = dict(zip(data.coordinate.values, data.q_units.values, strict=True))
    assert data.q.dims == ("trajectory", "time", "coordinate")
    assert data.q.attrs == {"units": "see q_units"} and set(units.values()) == {"rad", "m"}
    assert data.v.sel(velocity="crank").v_units.item() == "rad/s"
    run = batch[1].to_xarray()
    assert np.array_equal(run.q, data.q.sel(trajectory=1))


def test_spectra_tell_the_unit_of_each_signal(loads):
    spectra = loads.spectra()
    data = spectra.to_xarray()
    signal = f"{JOINTS[0]}.mz"
    assert data.one_cycle.attrs == data.largest_range.attrs | {"units": "see one_cycle_units"}
    assert data.one_cycle.sel(signal=signal).one_cycle_units == "N m"
    assert data.one_cycle.sel(signal=signal, exponent=3.0) == spectra[signal].powers[0]
    frame = spectra.to_dataframe()
    assert frame.attrs["units"]["largest range"] == "see unit"
    assert frame.unit[JOINTS[0], "mz"] == "N m"
    assert frame["one cycle, m = 3"][JOINTS[0], "mz"] == spectra[signal].powers[0]


def test_rounding_errors_are_shown_as_zero_and_names_as_text(loads):
    page = Table("<b>", Series("<i>", "", ["<u>"] * (MOST + 3)), [])._repr_html_()
    assert "<b>&lt;b&gt;</b>" in page and "&lt;u&gt;" in page and "3 more rows" in page
    assert "e-1" not in loads._repr_html_()


def test_a_motion_of_no_mechanism_has_no_units():
    motion = mbd.Motion(np.zeros(1), *np.zeros((3, 1, 1)), ("a",), ("a",))
    with pytest.raises(StateError, match="does not know its mechanism"):
        motion.to_dataframe()
