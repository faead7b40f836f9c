"""What extends the package: plugins by entry points, and applications that can be deleted."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ExtensionError, MbdWarning
from mbd_bridge.base.extensions import APPLICATIONS, GROUPS, extension, of_applications, register
from tests.bounds import WAIT

ROOT = Path(__file__).parents[1]
PENDULUM = str(ROOT / "urdf" / "pendulum.urdf")

ENTRY_POINTS = """\
[mbd_bridge.commands]
weigh = weighing
broken = not_there_at_all

[mbd_bridge.tables]
pipes = pipes
"""

WEIGHING = """\
import mbd_bridge as mbd

SUMMARY, DESCRIPTION = "the mass of a machine", "Weigh a machine."


def add_arguments(parser):
    parser.add_argument("robot")


def run(options):
    print(sum(link.inertia.mass for link in mbd.load(options.robot).model.links))
    return 0
"""

PIPES = """\
import numpy as np

from mbd_bridge.files.table import Column, ColumnTable


def read(path):
    heads, *lines = [line.split("|") for line in open(path)]
    columns = tuple(Column.from_heading(head.strip()) for head in heads)
    return ColumnTable(columns, np.array(lines, dtype=float), None, path)


def write(path, table):
    with open(path, "w") as file:
        print(*table.columns, sep="|", file=file)
        for row in table.values.tolist():
            print(*row, sep="|", file=file)
"""

CORE = (
    "info arm",
    "assemble",
    "loads two joints",
    "loads of a loop",
    "loads noisy",
    "simulate loop",
    "convert",
    "load-cases",
    "report",
)
"""Golden command lines that are run without each application; those that are there."""

CONCERNED = {"durability": ("load-cases", "report")}
"""Those that tell what an application does; a report does of several."""

WITHOUT = """
import io, os, sys
from pathlib import Path
from types import SimpleNamespace

from tests.golden.inputs import write_inputs
from tests.golden.keep import HERE, command_lines, difference, run

application, *names = sys.argv[1:]
import mbd_bridge
from mbd_bridge.base.extensions import APPLICATIONS

assert not (APPLICATIONS / application).exists()


class Captured:
    def readouterr(self):
        found = SimpleNamespace(out=sys.stdout.getvalue(), err=sys.stderr.getvalue())
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        return found


def now(name, words):
    folder = Path.cwd().parent / name
    folder.mkdir()
    write_inputs(folder)
    os.chdir(folder)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        return run(words, folder, Captured())
    finally:
        sys.stdout, sys.stderr = streams


for name in names:
    kept = (HERE / "commands" / f"{name}.txt").read_text(encoding="utf-8")
    if found := difference(kept, now(name, command_lines()[name])):
        print(name, found)
print(now("help", "--help"))
"""


@pytest.fixture
def plugins(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which a package with plugins is installed."""
    about = tmp_path / "plugins-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "weighing.py").write_text(WEIGHING)
    (tmp_path / "pipes.py").write_text(PIPES)
    return os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}


def command(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mbd_bridge", *words],
        env=environment | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )


def test_a_command_of_an_installed_package_is_listed_and_runs(plugins: dict[str, str]) -> None:
    assert command(plugins, "weigh", PENDULUM).stdout.strip() == "1.0"
    listed = command(plugins, "--help")
    assert "weigh" in listed.stdout and "the mass of a machine" in listed.stdout


def test_a_plugin_that_cannot_be_imported_is_named_and_all_else_goes_on(
    plugins: dict[str, str],
) -> None:
    listed = command(plugins, "--help")
    assert listed.returncode == 0 and "'broken' of plugins" in listed.stderr
    asked = command(plugins, "broken")
    assert asked.returncode == 2
    for words in ("'broken' of plugins", "not_there_at_all", "uninstall"):
        assert words in asked.stderr


def test_a_kind_of_table_of_an_installed_package_is_written_and_read(
    plugins: dict[str, str], tmp_path: Path
) -> None:
    path = str(tmp_path / "run.pipes")
    written = command(plugins, "simulate", PENDULUM, "--seconds", "0.1", "-o", path)
    assert written.returncode == 0, written.stderr
    assert (tmp_path / "run.pipes").read_text().startswith("time [s]|hinge [rad]|")
    loads = command(plugins, "loads", PENDULUM, path, "--joints", "hinge")
    assert loads.returncode == 0 and loads.stdout.count("\n") > 100


def test_what_is_not_there_is_said_with_what_is() -> None:
    with pytest.raises(ExtensionError, match="actuators"):
        extension("sidecars", "actuator")
    with pytest.raises(ExtensionError, match="commands"):
        register("command", "weigh", None)


def test_a_sidecar_that_nothing_reads_is_named(tmp_path: Path) -> None:
    shutil.copy(PENDULUM, tmp_path / "rod.urdf")
    (tmp_path / "rod.gearboxes.yaml").write_text("units: SI\ngearboxes: []\n")
    (tmp_path / "rod.notes.yaml").write_text("by: me\n")
    with pytest.warns(MbdWarning) as caught:
        mbd.load(tmp_path / "rod.urdf")
    (said,) = [str(one.message) for one in caught]
    assert said.startswith("rod.gearboxes.yaml is not read")


def test_a_sidecar_called_as_that_of_a_urdf_is_named_beside_another_format(tmp_path: Path) -> None:
    sdf = '<sdf version="1.9"><model name="m"><link name="base"/></model></sdf>'
    (tmp_path / "m.sdf").write_text(sdf.replace("<link", "<static>true</static><link"))
    for word in ("forces", "flex"):
        (tmp_path / f"m.{word}.yaml").write_text("units: SI\n")
    with pytest.warns(MbdWarning) as said:
        mbd.load(tmp_path / "m.sdf")
    lines = [str(one.message) for one in said if "is not read" in str(one.message)]
    assert lines == [
        "m.forces.yaml is not read: beside m.sdf it is called m.sdf.forces.yaml",
        "m.flex.yaml is not read: beside m.sdf it is called m.sdf.flex.yaml",
    ]
    (tmp_path / "m.urdf").write_text('<robot name="m"><link name="base"/></robot>')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mbd.load(tmp_path / "m.sdf")
    assert not any("is not read" in str(one.message) for one in said)


def test_each_line_of_a_registration_names_something_that_is_there() -> None:
    for group in GROUPS:
        for one in of_applications(group).values():
            assert one.load() is not None


def test_type_checkers_know_what_applications_add_to_classes() -> None:
    tree = ast.parse((APPLICATIONS / "typed.pyi").read_text(encoding="utf-8"))
    members: dict[str, set[str]] = {}
    for node in (part for part in tree.body if isinstance(part, ast.ClassDef)):
        named = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        named |= {ast.unparse(x.targets[0]) for x in node.body if isinstance(x, ast.Assign)}
        members[node.name] = named.union(*(members[ast.unparse(base)] for base in node.bases))
    known = {
        f"{owner.removeprefix('Of')}.{name}"
        for owner, names in members.items()
        for name in names
        if owner.startswith("Of")
    }
    assert known == set(of_applications("methods"))


@pytest.mark.parametrize(
    "application", sorted(path.name for path in APPLICATIONS.iterdir() if path.is_dir())
)
def test_the_core_works_without_an_application(application: str, tmp_path: Path) -> None:
    """Its folder is deleted: what does not concern it is as before, its commands are gone."""
    if not (APPLICATIONS / application / "__init__.py").exists():
        pytest.skip("a folder of caches")
    package = tmp_path / "without"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mbd_bridge", package / "mbd_bridge", ignore=skipped)
    shutil.rmtree(package / "mbd_bridge" / "applications" / application)
    commands = [
        name
        for name, one in of_applications("commands").items()
        if one.target.startswith(f"mbd_bridge.applications.{application}.")
    ]
    names = [name for name in CORE if name not in CONCERNED.get(application, ())]
    folder = tmp_path / "work"
    folder.mkdir()
    path = os.pathsep.join((str(package), str(ROOT)))
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT, application, *names],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("$ mbd --help\nexit code 0"), found.stdout
    assert not [name for name in commands if f"\n    {name} " in found.stdout]
