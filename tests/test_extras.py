"""Claims about packages that are missing: who needs one names it, and what installs it."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.formulas.form import package as sympy
from mbd_bridge.applications.studies.command import executor_of
from mbd_bridge.base import extras, plots
from mbd_bridge.engines.crosscheck import crosscheck
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.files.modal_nastran import read_model
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import TableWriter
from mbd_bridge.forces.roads import Grid
from mbd_bridge.view.record import Shot, check_shot
from tests.lowest import declared
from tests.robots import OWN

PENDULUM = OWN / "pendulum.urdf"


def save(name):
    with TableWriter(name, [Column("hinge")], {}):
        pass


def pendulum_loads():
    robot = mbd.load(PENDULUM)
    return robot.joint_loads(np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv))


def derivatives():
    return mbd.load(PENDULUM).compile_derivatives()


def on_a_cluster():
    with executor_of(scheduler="tcp://127.0.0.1:1"):
        pass


NEEDS = {
    "matplotlib": ("plots", lambda: plots.style()),
    "embreex": ("view", lambda: mbd.load(PENDULUM).render()),
    "PIL": ("view", lambda: mbd.load(PENDULUM).render()),
    "mujoco": ("mjcf", lambda: mbd.load("m.xml")),
    "pxr": ("usd", lambda: mbd.load("m.usda")),
    "pyarrow": ("files", lambda: save("t.parquet")),
    "h5py": ("files", lambda: save("t.h5")),
    "openpyxl": ("excel", lambda: mbd.load(PENDULUM).read_motion("t.xlsx")),
    "rosbags": ("bags", lambda: mbd.load(PENDULUM).read_motion("t.bag")),
    "imageio_ffmpeg": ("video", lambda: check_shot(Shot(), "film.mp4")),
    "pyopencrg": ("roads", lambda: Grid.from_crg("road.crg")),
    "xacro": ("xacro", lambda: mbd.load("m.urdf.xacro")),
    "pyNastran": ("modal", lambda: read_model("m.bdf")),
    "pyuff": ("modal", lambda: mbd.flexible.load_modal_basis("m.uff", unit="SI")),
    "sympy": ("symbolic", sympy),
    "pandas": ("studies", lambda: pendulum_loads().to_dataframe()),
    "xarray": ("studies", lambda: pendulum_loads().to_xarray()),
    "distributed": ("studies", on_a_cluster),
    "jax": ("jax", lambda: derivatives().to_jax()),
    "torch": ("torch", lambda: derivatives().to_torch()),
    "casadi": ("casadi", lambda: derivatives().to_casadi()),
    "SALib": ("studies", lambda: mbd.studies.saltelli({"mass": (1.0, 2.0)}, 8)),
}
"""By module: the extra that brings it, and what cannot go on without."""


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Return a function that makes a package missing; small files are in the current folder."""
    monkeypatch.chdir(tmp_path)
    texts = {"m.xml": "<mujoco/>", "m.urdf.xacro": "<robot/>", "m.bdf": "", "m.usda": ""}
    for name, text in texts.items():
        Path(name).write_text(text)
    for name in ("t.xlsx", "t.bag", "road.crg", "m.uff"):
        Path(name).touch()

    def hide(package):
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    return hide


@pytest.mark.parametrize("package", NEEDS)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(without, package):
    extra, use = NEEDS[package]
    assert package.lower() in {name.lower() for name in declared(extra)}
    without(package)
    with pytest.raises(
        mbd.errors.MissingPackageError, match=rf": pip install 'mbd_bridge\[{extra}\]'$"
    ):
        use()


def test_every_extra_for_users_has_its_claim_here():
    rest = {"pybullet", "docs", "test", "bench", "all"}
    assert {extra for extra, _ in NEEDS.values()} | rest == set(declared_extras())


def declared_extras():
    import tomllib

    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    return tomllib.loads(text)["project"]["optional-dependencies"]


def test_a_package_that_is_there_but_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "brokenpackage.py").write_text("import a_part_that_is_gone")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(mbd.errors.MissingPackageError, match=r"a_part_that_is_gone'$"):
        extras.needed("brokenpackage", "this needs it", "mbd_bridge[files]")


def test_a_clone_that_is_not_installed_is_named_by_its_path(monkeypatch):
    def nowhere(_):
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.distribution", nowhere)
    clone = Path(__file__).parents[1]
    assert extras.install("mbd_bridge[files]") == f"pip install '{clone}[files]'"
    assert extras.install("pin") == "pip install pin"


def test_engines_are_named_as_the_index_has_them(without):
    robot = mbd.load(PENDULUM)
    for package in ("mbd_bridge.engines.pinocchio", "pinocchio", "pybullet"):
        without(package)
    del sys.modules["mbd_bridge.engines.pinocchio"]  # hidden only to be imported anew
    with pytest.raises(
        mbd.errors.MissingPackageError, match=r"this needs pinocchio: pip install pin$"
    ):
        robot.to_pinocchio()
    with pytest.raises(mbd.errors.MissingPackageError, match=r"pybullet.*: pip install pybullet$"):
        Client.direct()
    found = crosscheck(robot.model, states=2)
    assert found.verdict == "nothing compared" and not found.passed
    assert "pip install pin" in str(found) and "pip install pybullet" in str(found)
    with pytest.raises(mbd.errors.MissingPackageError, match="pip install pybullet"):
        crosscheck(robot.model, states=2, pybullet=True)
