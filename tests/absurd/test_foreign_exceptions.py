"""Claims about odd input: it is refused with our errors, or it works; nothing foreign comes out."""

from __future__ import annotations

import ast
import copy
import os
import pickle
import shutil

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.formulas import symbolic
from mbd_bridge.base.errors import KernelError, MbdError, StateError
from mbd_bridge.files.tables import read_table
from tests.robots import OWN

ODD_BYTE = "\udcff"
"""Of a file's name that is no UTF-8, as Python has it."""


@pytest.fixture(scope="module")
def pendulum():
    return mbd.load(OWN / "pendulum.urdf")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_motion(name, step=0.05, rows=12):
    with open(name, "w") as file:
        file.write("time,hinge\n" + "".join(f"{k * step!r},{0.1 * k * k}\n" for k in range(rows)))
    return name


ALONG = (f"r{ODD_BYTE}.urdf", f"m{ODD_BYTE}.csv", "--joints", "hinge")
COMMANDS = [
    ("loads", *ALONG),
    *[("loads", *ALONG, "-o", f"o{ODD_BYTE}{end}") for end in (".csv", ".npz", ".parquet", ".h5")],
    ("spectrum", *ALONG, "-o", f"s{ODD_BYTE}.csv", "--loads", f"l{ODD_BYTE}.h5"),
    ("motors", *ALONG, "-o", f"o{ODD_BYTE}.csv"),
    ("report", *ALONG, "-o", f"o{ODD_BYTE}.html", "--no-check", "--no-picture", "--no-view"),
    ("simulate", ALONG[0], "--seconds", "0.01", "-o", f"o{ODD_BYTE}.csv"),
    ("export", ALONG[0], "--what", "mass_matrix", "-o", f"o{ODD_BYTE}.c"),
    ("convert", ALONG[0], f"o{ODD_BYTE}.sdf"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: f"{words[0]} {words[-1]!a}")
def test_names_of_files_may_be_any_bytes(folder, capsys, words):
    from mbd_bridge.cli import main

    shutil.copy(OWN / "pendulum.urdf", ALONG[0])
    write_motion(ALONG[1])
    assert main(list(words)) == 0, capsys.readouterr().err
    if words[-1].startswith("o"):
        assert os.path.getsize(words[-1]) > 100


def test_a_name_in_a_file_is_written_out(folder, pendulum):
    pendulum.load_history(write_motion(ALONG[1]), output="loads.csv")
    assert r"along m\udcff.csv" in read_table("loads.csv").attributes["content"]


@pytest.mark.parametrize("name", ["a\0b.csv", b"a.csv", 3, None, "a" * 300 + ".csv", "a/b\0"])
@pytest.mark.parametrize("call", ["read_motion", "load_history", "read_loads", "read_external"])
def test_what_is_no_name_of_a_file_is_refused(pendulum, call, name):
    with pytest.raises(MbdError):
        getattr(pendulum, call)(name)


@pytest.mark.parametrize("step", [5e-324, 1e-320, 1e-200, 1e200, 1e300])
def test_times_too_near_or_too_far_are_refused(folder, pendulum, step):
    name = write_motion("m.csv", step)
    with pytest.raises(MbdError, match=r"apart|at least"):
        pendulum.read_motion(name)
    table = np.arange(12) * step, np.ones(12)
    for what in ("torque", "prescribed"):
        with pytest.raises(MbdError):
            pendulum.simulate(0.01, **{what: {"hinge": table}})


@pytest.fixture(scope="module")
def machine(pendulum):
    return mbd.RealTime(mbd.System(pendulum, torque={"hinge": mbd.Input("motor")}), q=[0.1])


@pytest.mark.parametrize("inputs", [3, [1], "motor", True, np.zeros(2), [("motor", 1.0)], object()])
def test_inputs_of_a_run_are_numbers_by_name(machine, inputs):
    with pytest.raises(StateError, match="inputs: expected numbers by name"):
        machine.set(inputs)
    with pytest.raises(StateError, match="inputs: expected numbers by name"):
        machine.run(0.01, rate=1000.0, inputs=inputs)
    run = machine.run(0.01, rate=1000.0, inputs=lambda t, now: inputs)
    assert "inputs: expected numbers by name" in run.status


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_run_does_not_travel(machine, act):
    with pytest.raises(StateError, match="send its System"):
        act(machine)


@pytest.mark.parametrize("command", ["gcc 'x", "'", "\\"])
def test_a_compiler_that_is_no_command_is_refused(folder, pendulum, monkeypatch, command):
    monkeypatch.setenv("CC", command)
    with pytest.raises(KernelError, match="CC: expected a command"):
        pendulum.export_fmu("pendulum.fmu")


NAMES = ["x²", "ﬁ", "fi", "①", "ª", "a b", "class", "1", "", "é", "𝔵", "x", '"""', "\\", "·", "π"]


@pytest.mark.parametrize("name", NAMES)
def test_formulas_in_python_are_python_whatever_links_are_called(name):
    parts = mbd.Builder(f'{name} """; raise SystemExit; """', root="ground")
    first, second = name or "_", "ﬁ" if name == "fi" else "fi"  # which Python takes for the same
    parts.link(first, mass=2.0).link(second, mass=3.0)
    parts.joint(first, "revolute", "ground", first, axis=(0, 1, 0))
    parts.joint(second, "revolute", first, second, axis=(0, 1, 0), xyz=(1, 0, 0))
    source = symbolic(mbd.Mechanism.build(parts)).python()
    ast.parse(source)
    module: dict[str, object] = {}
    exec(source, module)
    M = module["equations"]([0.1, 0.2])[0]
    assert M.shape == (2, 2) and M[0, 0] == pytest.approx(3.0)  # the second mass, 1 m away
