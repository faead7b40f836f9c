"""Tables of forces with other names and without units are read as the options say."""

import numpy as np
import pytest

from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.cli import main
from tests.external.tables import press, write

STROKE = np.array([0.0, 0.01, 0.02])
"""m"""
FORCE = np.array([0.0, -1500.0, 0.0])
"""N"""


def others(path):
    """Write the force in kN over the stroke in mm, in columns that say neither."""
    rows = np.column_stack([1e3 * STROKE, 1e-3 * FORCE, np.ones(3)])
    return write(path, ["Weg", "F1", "status"], rows)


def test_names_and_units_of_columns_are_those_that_are_given(tmp_path):
    machine = press()
    plain = write(tmp_path / "p.csv", ["stroke", "ram.fz"], np.column_stack([STROKE, FORCE]))
    rename = {"Weg": "stroke", "F1": "ram.fz", "status": None}
    found = machine.read_external(others(tmp_path / "o.csv"), rename=rename, unit=["mm", "kN"])
    q = np.linspace(0.0, 0.02, 7)[:, None]
    expected = machine.read_external(plain).along(None, q)["ram"]
    assert np.abs(expected).max() > 400.0
    assert np.allclose(found.along(None, q)["ram"], expected, rtol=1e-13, atol=1e-11)


def test_a_unit_that_a_column_says_stays(tmp_path):
    rows = np.column_stack([STROKE, FORCE])
    path = write(tmp_path / "p.csv", ["stroke [m]", "ram.fz [N]"], rows)
    found = press().read_external(path, unit=["mm", "kN"])
    assert found.along(None, [[0.01]])["ram"][0, 2] == -1500.0


def test_names_and_units_that_are_none_are_refused(tmp_path):
    path, machine = others(tmp_path / "o.csv"), press()
    with pytest.raises(FileError, match=r"rename: .*'F2'"):
        machine.read_external(path, rename={"F2": "ram.fz"})
    with pytest.raises(StateError, match=r"unit: expected one of .*got 'A'"):
        machine.read_external(path, unit="A")
    with pytest.raises(StateError, match="measure the same"):
        machine.read_external(path, unit=["N", "kN"])
    with pytest.raises(StateError, match="a sensor's columns have a prefix"):
        machine.read_external(path, sensors={"ram": "F"}, unit="kN")


def test_commands_take_the_same_options(tmp_path, capfd):
    machine, urdf = press(), tmp_path / "press.urdf"
    machine.convert(urdf)
    words = ["loads", str(urdf), "--q", "stroke=10mm", "--joints", "stroke"]
    words += ["--external", str(others(tmp_path / "o.csv")), "--external-unit", "mm", "kN"]
    names = ["Weg=stroke", "F1=ram.fz", "status="]
    output = tmp_path / "l.npz"
    assert main([*words, "--external-rename", *names, "-o", str(output)]) == 0
    force = machine.read_loads(output)["stroke"].force[0, 2]
    assert force == pytest.approx(3.0 * 9.81 + 1500.0, rel=1e-6)
    assert main([*words, "--external-rename", "Weg"]) == 2
    assert "--external-rename: expected THERE=HERE" in capfd.readouterr().err
