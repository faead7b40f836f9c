"""Claims about what is published: a source archive and a wheel, checked, with the sample models."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import mbd_bridge as mbd
from mbd_bridge.cli import main
from tests.lowest import ROOT, declared, lowest


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source archive and the wheel that is made of it."""
    place, copy = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("copy") / "project"
    # setuptools writes beside the sources: two workers that build at once disturbed each other
    others = shutil.ignore_patterns(".*_cache", ".git", ".hypothesis", "*.egg-info", "*venv")
    shutil.copytree(ROOT, copy, ignore=others)
    subprocess.run([sys.executable, "-m", "build", "--outdir", place, copy], check=True)
    return place


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_what_is_built_from_the_source_archive_passes_the_index_checks(built: Path) -> None:
    files = sorted(built.iterdir())
    assert len(files) == 2
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True, text=True,
    )  # fmt: skip
    assert checked.stdout.count("PASSED") == 2, checked.stdout


def test_the_wheel_has_every_module_every_model_and_no_test(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "mbd_bridge").rglob("*.py")}
    assert modules <= inside
    assert "mbd_bridge/py.typed" in inside
    models = {p.name for p in (ROOT / "urdf").iterdir()}
    assert models == {Path(name).name for name in inside if "/share/mbd_bridge/urdf/" in name}
    assert not [name for name in inside if name.startswith(("tests/", "docs/", "examples/"))]


@pytest.mark.parametrize("way", ["--prefix", "--target"])
def test_an_installed_package_finds_its_models_with_their_sidecars(
    wheel: Path, tmp_path: Path, way: str
) -> None:
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", way, target, wheel]
    subprocess.run([*pip, "--ignore-installed"], check=True)
    (package,) = target.rglob("mbd_bridge/py.typed")
    script = (
        "import mbd_bridge as mbd; path = mbd.models()['four_bar']; "
        "print(path); print(len(mbd.load(path).model.cuts))"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1]), "PYTHONSAFEPATH": "1"}
    said = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert Path(said[0]).is_relative_to(target)
    assert said[1] == "1"


def test_models_are_named_and_the_shell_prints_their_paths(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {p.stem for p in (ROOT / "urdf").glob("*.urdf")}
    assert names <= set(mbd.models())
    assert main(["models", "kuka_iiwa"]) == 0
    assert Path(capsys.readouterr().out.strip()) == mbd.models()["kuka_iiwa"]
    assert main(["models", "kuka_iiwo"]) == 2
    assert "did you mean 'kuka_iiwa'" in capsys.readouterr().err


def test_the_citation_file_has_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == mbd.__version__
    assert {one["abbreviation"] for one in cited["references"]} == {
        "Lee94", "KimYou97", "KimYoo97", "LeeJoo90", "Cho09",
    }  # fmt: skip


def imported(file: Path) -> Iterator[str]:
    """Yield the first names of the modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_what_the_tests_import_comes_with_the_test_extra() -> None:
    known = {name.lower() for name in declared("test")} | set(sys.stdlib_module_names)
    known |= {"mbd_bridge", "tests"}
    missing = {
        name: file.name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in imported(file)
        if name.lower() not in known
    }
    assert not missing


def test_every_requirement_has_one_lowest_version() -> None:
    names = [line.split("==")[0].lower() for line in lowest()]
    assert {"numpy", "pin", "mujoco", "pybullet", "dask", "pytest", "exudyn"} <= set(names)
    assert len(names) == len(set(names)), sorted(names)


def test_every_folder_of_tests_that_contributors_are_sent_to_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = set(re.findall(r"`(tests/[\w/]+)`", text))
    assert len(folders) > 20
    assert [name for name in sorted(folders) if not (ROOT / name).is_dir()] == []
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert all((ROOT / link).exists() for link in links)


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_forms_and_workflows_are_yaml_that_names_what_exists(file: Path) -> None:
    known = yaml.safe_load(file.read_text())
    assert known["name"]
    for step in known.get("jobs", {}).get("test", {}).get("steps", []):
        command = step.get("run", "")
        assert "bash" not in command or (ROOT / command.split()[1]).is_file()
