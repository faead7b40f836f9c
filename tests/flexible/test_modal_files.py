"""Modal bases in files: a finite-element model written and read again must move as it did."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pyuff
import yaml

import mbd_bridge as mbd
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.files.modal_nastran import read_op2
from tests.flexible.models import state
from tests.flexible.nodes import COUNT, LENGTH, as_basis, frame_model, held, machine
from tests.flexible.op2_file import op2

SINGLE = 2e-6
"""Relative: an OP2 file has numbers of 4 bytes."""
TURNED = 104
"""A grid whose displacements are along axes of its own."""


def frame_modes(count=4):
    """Return Hz, modal masses and (n, N, 6) of the frame model, held at its start, largest 1."""
    omega, columns = held(count)
    basis = as_basis(columns).scaled()
    shapes = np.concatenate([basis.displacement, basis.rotation], axis=2)
    return omega / (2 * np.pi), np.diag(basis.mass_matrix()), shapes


def bulk_data(offset=0.0, include=""):
    """Return the frame model as a deck in mm and t; one grid has cylindrical axes."""
    x, M, _ = frame_model()
    lines = ["SOL 103", "CEND", "BEGIN BULK", f"{include}"]
    lines += ["CORD2C,7,,500.,-200.,0.,500.,-200.,1.", ",500.,0.,0."]
    for k, at in enumerate(x):
        cd = 7 if 101 + k == TURNED else 0
        lines.append(f"GRID,{101 + k},,{1e3 * at},0.,0.,{cd}")
        mass, inertia = 1e-3 * M[2 * k, 2 * k], 1e3 * M[2 * k + 1, 2 * k + 1]
        if k == COUNT - 1 and offset:
            half = 0.5 * mass
            lines.append(f"CONM2,{61 + k},{101 + k},,{half:.12g},{1e3 * offset},0.,0.")
            lines.append(f"CONM2,{71 + k},{101 + k},,{half:.12g},{-1e3 * offset},0.,0.,,+")
            inertia -= mass * (1e3 * offset) ** 2
        else:
            lines.append(f"CONM2,{1 + k},{101 + k},,{mass:.12g},0.,0.,0.,,+")
        lines.append(f"+,0.,0.,0.,0.,0.,{inertia:.12g}")
    return "\n".join([*filter(None, lines), "ENDDATA", ""])


def write_nastran(folder, *, scale=1.0, offset=0.0, sort=0, numbers=None):
    """Write the frame model as Nastran would, in mm and t; eigenvectors have any size."""
    hertz, masses, shapes = frame_modes()
    shapes = shapes.copy()
    at = np.array([LENGTH * 3 / 8 - 0.5, 0.2, 0.0])  # of the turned grid, in the cylinder's frame
    angle = np.arctan2(at[1], at[0])
    radial = np.array([np.cos(angle), np.sin(angle), 0.0])
    turn = np.column_stack([radial, [-radial[1], radial[0], 0.0], [0.0, 0.0, 1.0]])
    k = TURNED - 101
    shapes[:, k] = np.concatenate([shapes[:, k, :3] @ turn, shapes[:, k, 3:] @ turn], axis=1)
    size = np.array([3.0, 0.2, 7.0, 1.0])  # displacement of 1 m is 1000 mm
    shapes = shapes * size[:, None, None] * ([1000.0] * 3 + [1.0] * 3)
    own = np.arange(101, 101 + COUNT) if numbers is None else numbers
    data = op2(own, hertz, scale * masses * size**2 * 1e-3 * 1e6, shapes, sort=sort)
    (folder / "frame.op2").write_bytes(data)
    (folder / "frame.bdf").write_text(bulk_data(offset))
    return folder / "frame.op2"


def same_motion(found, expected, tolerance):
    ours, other = machine(expected), machine(found)
    at = state(ours, np.random.default_rng(3))
    at[0][1:] *= 0.01
    wanted, got = (recursive_loads(one, *at) for one in (ours, other))
    assert np.abs(got.forces - wanted.forces).max() < tolerance * np.abs(wanted.forces).max()
    assert np.allclose(
        other.flexible[0].frequencies(), ours.flexible[0].frequencies(), rtol=tolerance
    )


@pytest.mark.parametrize("offset", [0.0, 0.004])
def test_a_model_from_nastran_moves_as_the_elements_it_was_made_of(tmp_path, offset):
    path = write_nastran(tmp_path, offset=offset)
    found = mbd.flexible.load_modal_basis(path, unit="mm-t")
    expected = as_basis(held(4)[1]).scaled()
    if offset:  # the last mass is two halves beside the node: inertias do not say where mass is
        for side in (1, -1):
            expected = expected.with_interface((LENGTH + side * offset, 0, 0), [109])
        masses, inertias = np.array(expected.masses), np.array(expected.inertias)
        half = 0.5 * masses[COUNT - 1]
        masses[COUNT - 1 :] = 0.0, half, half
        inertias[COUNT - 1, 2, 2] -= 2 * half * offset**2
        expected = replace(expected, masses=masses, inertias=inertias).scaled()
    assert np.isclose(found.mass, expected.mass, rtol=1e-9)
    assert len(found.nodes) == len(expected.nodes)
    same_motion(found, expected, SINGLE)


def test_an_op2_file_is_read_as_pynastran_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(np, "in1d", np.isin, raising=False)  # pyNastran 1.3 asks for what NumPy
    monkeypatch.setattr(np, "chararray", np.char.chararray, raising=False)  # 2.4 and 2.5 dropped
    from pyNastran.op2.op2 import OP2

    path = write_nastran(tmp_path)
    other = OP2(debug=False)
    other.read_op2(str(path), build_dataframe=False)
    (vectors,), ours = other.eigenvectors.values(), read_op2(str(path))
    assert np.array_equal(vectors.data, ours.shapes)
    assert np.array_equal(vectors.node_gridtype[:, 0], ours.numbers)
    (table,) = other.eigenvalues.values()
    assert np.array_equal(table.cycles, ours.frequencies.hertz)
    assert np.array_equal(table.generalized_mass, ours.frequencies.mass)


@pytest.mark.parametrize("name", ["frame.npz", "frame.csv", "frame.parquet"])
def test_our_own_table_keeps_every_digit(tmp_path, name):
    expected = as_basis(held(4)[1]).scaled()
    if not name.endswith("npz"):
        expected = replace(expected, inertias=None)
        expected = replace(expected, stiffness=np.diag(np.diag(expected.stiffness)))
        unknown = np.array(expected.rotation)
        unknown[:, 3] = np.nan
        expected = replace(expected, rotation=unknown)
    mbd.flexible.save_modal_basis(expected, tmp_path / name)
    found = mbd.flexible.load_modal_basis(tmp_path / name)
    assert np.array_equal(found.turns, expected.turns)
    assert np.array_equal(found.numbers, expected.numbers)
    same_motion(found, expected, 1e-12)
    few = mbd.flexible.load_modal_basis(tmp_path / name, modes=[2, 1])
    assert np.allclose(few.stiffness, expected.stiffness[np.ix_([1, 0], [1, 0])], rtol=1e-12)


def write_universal(path, *, length=1000.0, mode=55, kind=2):
    hertz, masses, shapes = frame_modes()
    x = frame_model()[0]
    numbers = np.arange(101, 101 + COUNT)
    file = pyuff.UFF(str(path))
    units = pyuff.prepare_164(
        units_code=1, units_description="of the test", temp_mode=1, length=length, force=1.0,
        temp=1.0, temp_offset=0.0, return_full_dict=True,
    )  # fmt: skip
    file.write_sets(units, "overwrite")
    same = np.zeros(COUNT, dtype=int)
    grid = pyuff.prepare_2411(
        node_nums=numbers, def_cs=same, disp_cs=same, color=same, x=1e3 * x, y=0.0 * x, z=0.0 * x,
        return_full_dict=True,
    )  # fmt: skip
    file.write_sets(grid, "add")
    for k, shape in enumerate(shapes):
        rows = shape * ([1000.0] * 3 + [1.0] * 3)
        one = pyuff.prepare_55(
            id1="NONE", id2="NONE", id3="NONE", id4="NONE", id5="NONE", model_type=1,
            analysis_type=2, data_ch=3, spec_data_type=8, data_type=2, n_data_per_node=6,
            load_case=0, mode_n=k + 1, freq=hertz[k], modal_m=1e3 * masses[k],
            modal_damp_vis=0.0, modal_damp_his=0.0, node_nums=numbers,
            r1=rows[:, 0], r2=rows[:, 1], r3=rows[:, 2], r4=rows[:, 3], r5=rows[:, 4],
            r6=rows[:, 5], return_full_dict=True,
        )  # fmt: skip
        file.write_sets(one, "add")
    return path


def test_universal_files_need_masses_and_say_their_unit(tmp_path):
    path = write_universal(tmp_path / "frame.uff")
    _, M, _ = frame_model()
    with pytest.raises(mbd.MbdError, match="says nothing of masses"):
        mbd.flexible.load_modal_basis(path, unit="mm-t")
    with pytest.raises(mbd.MbdError, match="1 m is 1000 of its units"):
        mbd.flexible.load_modal_basis(path)
    masses = {101 + k: 1e-3 * M[2 * k, 2 * k] for k in range(COUNT)}
    found = mbd.flexible.load_modal_basis(path, unit="mm-t", masses=masses)
    assert np.isclose(found.mass, np.diag(M)[::2].sum())
    hertz = np.sqrt(np.diag(found.stiffness) / np.diag(found.mass_matrix())) / (2 * np.pi)
    assert np.allclose(hertz, frame_modes()[0], rtol=1e-5)
    with pytest.raises(mbd.MbdError, match="mode 1 has a modal mass"):
        mbd.flexible.load_modal_basis(path, unit="mm-t", masses=5.0)
    sets = [s for s in pyuff.UFF(str(path)).read_sets() if s["type"] != 55]
    pyuff.UFF(str(tmp_path / "none.uff")).write_sets(sets, "overwrite")
    with pytest.raises(mbd.MbdError, match="has no normal modes"):
        mbd.flexible.load_modal_basis(tmp_path / "none.uff", unit="mm-t")


def test_nastran_files_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refused(match, **more):
        with pytest.raises(mbd.MbdError, match=match):
            mbd.flexible.load_modal_basis(tmp_path / "frame.op2", unit="mm-t", **more)

    path = write_nastran(tmp_path, scale=1.3)
    refused("mode 1 has a modal mass of .*masses or nodes are missing")
    write_nastran(tmp_path, sort=2)
    refused("SORT2")
    write_nastran(tmp_path, numbers=np.arange(103, 103 + COUNT))
    refused("2 nodes of .* missing in the model: 110, 111")
    write_nastran(tmp_path)
    refused("no mode 9", modes=[9])
    refused("expected 1 to 4", modes=5)
    refused("there is no such file", model=tmp_path / "other.bdf")
    deck = (tmp_path / "frame.bdf").read_text()
    (tmp_path / "frame.bdf").write_text(bulk_data(include="INCLUDE 'more.bdf'"))
    refused("more.bdf: there is no such file")
    (tmp_path / "frame.bdf").write_text(re.sub("GRID,109.*", "", deck))
    refused("pyNastran cannot read it")
    (tmp_path / "frame.bdf").unlink()
    refused("no model beside it")
    path.write_bytes(path.read_bytes()[:-100])
    refused("cut off or damaged")
    path.write_text("no")
    refused("no OP2 file")
    assert {one.name for one in tmp_path.iterdir()} == {"frame.op2"}


def test_tables_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "frame.csv"
    basis = replace(as_basis(held(2)[1]), inertias=None)
    mbd.flexible.save_modal_basis(
        replace(basis, stiffness=np.diag(np.diag(basis.stiffness))).scaled(), path
    )
    text = path.read_text()
    with pytest.raises(mbd.MbdError, match=r"column x is in m, but the unit stated has mm"):
        mbd.flexible.load_modal_basis(path, unit="mm-t")
    head, *rows = text.splitlines()
    third = [row.replace("2.0,", "3.0,", 1) if row.startswith("2.0,") else row for row in rows]
    path.write_text("\n".join([head, *third]))
    assert len(mbd.flexible.load_modal_basis(path, modes=[1, 3]).stiffness) == 2
    for heading, lines, message in (
        (head.replace("mass", "weight"), rows, "mass"),
        (head.replace("rx", "wx"), rows, "wx"),
        (head, [re.sub("^2.0,", "2.5,", row) for row in rows], "whole numbers"),
        (head, rows[:-1], "different nodes"),
        (head, [*rows[:-1], rows[-1].replace(",109.0,", ",108.0,")], "node differs from mode"),
        (head, [*rows[:-1], rows[-1].replace(",0.18,", ",0.19,")], "mass differs from mode"),
    ):
        path.write_text("\n".join([heading, *lines]))
        with pytest.raises(mbd.MbdError, match=message):
            mbd.flexible.load_modal_basis(path)
    with pytest.raises(mbd.MbdError, match=r"write \.npz"):
        mbd.flexible.save_modal_basis(as_basis(held(2)[1]), path)
    (tmp_path / "a.npz").write_bytes(b"PK")
    with pytest.raises(mbd.MbdError, match="cannot be read"):
        mbd.flexible.load_modal_basis(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", nodes=np.zeros((2, 3)))
    with pytest.raises(mbd.MbdError, match="either stiffness or frequencies"):
        mbd.flexible.load_modal_basis(tmp_path / "a.npz")


URDF = """<robot name="arm"><link name="base"/><link name="rod"/><link name="bob"><inertial>
<mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 0 1"/></joint><joint name="elbow" type="continuous"><parent link="rod"/>
<child link="bob"/><origin xyz="1.05 0 0"/><axis xyz="0 0 1"/></joint></robot>"""


def test_a_robots_sidecar_names_the_file_with_the_modes(tmp_path):
    write_nastran(tmp_path)
    (tmp_path / "arm.urdf").write_text(URDF)
    table = {
        "file": "frame.op2", "unit": "mm-t", "modes": 3, "xyz": [0, 0, 0],
        "interfaces": [{"at": [1.05, 0, 0], "nodes": [109], "number": 900}],
    }  # fmt: skip
    link = {"link": "rod", "modal_basis": table, "stations": {"gauge": 105}}
    (tmp_path / "arm.flex.yaml").write_text(yaml.safe_dump({"units": "SI", "links": [link]}))
    arm = mbd.load(tmp_path / "arm.urdf")
    assert arm.coordinate_names == ("hinge", "rod.mode1", "rod.mode2", "rod.mode3", "elbow")
    assert "rod.gauge" in {one.name for one in arm.model.links}
    expected = frame_modes()[0][:3]
    assert np.allclose(arm.model.flexible[0].frequencies(), expected, rtol=SINGLE)
    table["interfaces"][0]["at"] = [1.2, 0, 0]
    (tmp_path / "arm.flex.yaml").write_text(yaml.safe_dump({"units": "SI", "links": [link]}))
    with pytest.raises(mbd.MbdError, match=r"no node at \[1.05, 0"):
        mbd.load(tmp_path / "arm.urdf")
    table["modes"] = 2.5
    (tmp_path / "arm.flex.yaml").write_text(yaml.safe_dump({"units": "SI", "links": [link]}))
    with pytest.raises(mbd.MbdError, match=r"arm.flex.yaml:\d+.*whole number"):
        mbd.load(Path(tmp_path / "arm.urdf"))


@pytest.mark.parametrize("suffix", [".bdf", ".dat", ".nas"])
def test_a_model_without_results_asks_for_the_results(suffix, tmp_path):
    path = tmp_path / f"arm{suffix}"
    path.write_text("SOL 103\nCEND\nBEGIN BULK\nGRID,1,,0.0,0.0,0.0\nENDDATA\n")
    with pytest.raises(
        mbd.errors.FileError, match=r"which has no modes; give .*'arm\.op2', model='arm\."
    ):
        mbd.flexible.load_modal_basis(path)
