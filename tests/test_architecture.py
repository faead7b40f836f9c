"""The shape of the house: who imports whom, what an import costs, who may print."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bounds import WAIT

PACKAGE = "mbd_bridge"
ROOT = Path(__file__).parents[1] / PACKAGE

ORDER = (
    "base",
    "model.spatial",
    "model.flexible",
    "model",
    "files",
    "equations",
    "kernels",
    "functions",
    "forces",
    "solve",
    "motion",
    "loads",
    "simulation",
    "engines",
    "view",
    "reports",
    "api",
    "cli",
    "applications",
)
"""The rooms, in the order in which data flows: each imports from itself and from those above."""

ONLY = {"kernels": {"base"}}
"""Rooms that import less than the order allows: compilation knows nothing of mechanics."""

TYPED = f"{PACKAGE}.applications.typed"
"""What applications add to classes of the core, for type checkers: there is no such module."""

KERNELS = (
    "recipe",
    "elementary_functions",
    "table",
    "ops",
    "expression",
    "tracing",
    "derive",
    "instructions",
    "llvm_operations",
    "places",
    "llvm_body",
    "llvm_module",
    "llvm_march",
    "object_code",
    "machine",
    "cache",
    "layout",
    "kernel",
    "march",
    "c_text",
    "compile",
)
"""The files of that room, in the same sense."""

LATE = {"engines.pinocchio", "engines.pybullet", "engines.mujoco"}
"""What `api` and `crosscheck.compare` may import inside functions only: they load engines."""

ENGINES = {"pinocchio", "pybullet", "pybullet_data", "mujoco", "pydrake", "exudyn", "hppfcl"}
"""Other engines; only the bridges know them."""

FRONT = {"flexible", "integrators", "__init__", "__main__"}
"""The package's own two files, and modules of public names: they open the house, in no room."""

LONGEST = 600
"""Lines of a file: longer, and there are two things in it."""

IMPORT_NUMPYS = 2
"""What ``import mbd_bridge`` may take of a processor, by what NumPy alone takes: seconds are
others on a busy machine. Below 1 is measured: a name is imported when it is first used."""

HEAVY = ("pinocchio", "pybullet", "matplotlib", "llvmlite", "scipy")
"""Packages that only what uses them may load."""

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
"""What may have a docstring of its own."""


class Import(NamedTuple):
    """An import of one module by a file."""

    file: Path
    line: int
    module: str
    inside_function: bool


def source_files() -> list[Path]:
    """Return all files of the package."""
    return sorted(ROOT.rglob("*.py"))


def room(file: Path) -> str:
    """Return the room that a file is in."""
    return room_of(".".join(file.relative_to(ROOT).with_suffix("").parts))


def room_of(module: str) -> str:
    """Return the room of a module without the package's name: the longest that it begins with."""
    rooms = [name for name in ORDER if f"{module}.".startswith(f"{name}.")]
    return max(rooms, key=len, default=module.partition(".")[0])


def imports(file: Path) -> Iterator[Import]:
    """Yield the imports of a file; ``from a import b`` counts as ``a.b`` where b is a module."""

    def walk(node: ast.AST, inside: bool) -> Iterator[Import]:
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, inside)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(file, node.lineno, whole if _module(whole) else node.module, inside)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), False)


def _module(name: str) -> bool:
    parts = name.split(".")
    place = ROOT.parent.joinpath(*parts)
    return parts[0] == PACKAGE and (place.is_dir() or place.with_suffix(".py").is_file())


def own_imports(file: Path) -> Iterator[tuple[Import, str]]:
    """Yield the imports of our own rooms, with the room; the bare package tells its version."""
    for found in imports(file):
        package, _, module = found.module.partition(".")
        if package == PACKAGE and module:
            yield found, room_of(module)


def test_no_public_name_is_hidden_by_a_module_of_its_room() -> None:
    """A room imports its names at first use, and a module of the same name would be found first."""
    hidden = []
    for stub in ROOT.rglob("__init__.pyi"):
        package = ".".join(stub.parent.relative_to(ROOT.parent).parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                name = alias.asname or alias.name
                inside = stub.parent / f"{name}.py", stub.parent / name / "__init__.py"
                if node.module != package and any(path.exists() for path in inside):
                    hidden.append(f"{package}.{name}")
    assert not hidden


def test_every_room_is_in_the_order() -> None:
    assert {room(file) for file in source_files()} - FRONT == set(ORDER)
    assert len({name.partition(".")[0] for name in ORDER}) <= 18


def test_a_room_imports_only_from_itself_and_from_rooms_above() -> None:
    wrong = []
    for file in source_files():
        here = room(file)
        if here in FRONT:
            continue
        above = ONLY.get(here, set(ORDER[: ORDER.index(here)]))
        for found, other in own_imports(file):
            if found.module == TYPED:
                continue
            if other != here and other not in above:
                wrong.append(f"{file.relative_to(ROOT)}:{found.line}: {here} imports {other}")
    assert not wrong


def test_a_file_of_the_kernels_imports_only_from_those_above() -> None:
    wrong, known = [], set()
    for file in (ROOT / "kernels").rglob("*.py"):
        here = file.relative_to(ROOT / "kernels").parts[0].removesuffix(".py")
        if here in FRONT:
            continue
        known.add(here)
        for found, room_of_it in own_imports(file):
            other = found.module.split(".")[2:3] if room_of_it == "kernels" else []
            if other and KERNELS.index(other[0]) > KERNELS.index(here):
                wrong.append(f"{file.relative_to(ROOT)}:{found.line}: imports {found.module}")
    assert not wrong
    assert known == set(KERNELS)


def test_loading_and_checking_reach_for_engines_only_when_asked() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{found.line}"
        for file in (*(ROOT / "api").glob("*.py"), ROOT / "engines" / "crosscheck" / "compare.py")
        for found, _ in own_imports(file)
        if found.module.startswith(tuple(f"{PACKAGE}.{name}" for name in LATE))
        and not found.inside_function
    ]
    assert not wrong


def test_only_engines_import_other_engines() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{found.line}: {found.module}"
        for file in source_files()
        if room(file) != "engines"
        for found in imports(file)
        if found.module.split(".")[0] in ENGINES
    ]
    assert not wrong


def test_importing_the_package_is_quick_and_loads_no_engine() -> None:
    script = (
        "import sys, time; start = time.process_time(); import numpy; "
        "alone = time.process_time() - start; import mbd_bridge; "
        "took = (time.process_time() - start) / alone; "
        f"print(took, *(name for name in {HEAVY!r} if name in sys.modules))"
    )
    ratios = []
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT.parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=WAIT,
        )
        took, *loaded = run.stdout.split()
        assert not loaded
        ratios.append(float(took))
    assert min(ratios) < IMPORT_NUMPYS


def test_nothing_is_kept_under_the_lock_of_functools() -> None:
    """A child that is forked while another thread holds it waits for ever (Python 3.11)."""
    wrong = [
        str(file.relative_to(ROOT))
        for file in source_files()
        if file.name != "lazy.py"
        if re.search(r"functools(\.| import .*)cached_property", file.read_text(encoding="utf-8"))
    ]
    assert not wrong


def test_only_the_command_line_prints() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in source_files()
        if room(file) != "cli"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert not wrong


def _public(node: ast.AST, name: str) -> Iterator[tuple[str, Definition]]:
    """Yield public classes, functions and methods under a node; not those inside functions, and
    of overloads the one that does it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Definition):
            continue
        if child.name.startswith("_") or "overload" in map(ast.unparse, child.decorator_list):
            continue
        yield f"{name}.{child.name}", child
        if isinstance(child, ast.ClassDef):
            yield from _public(child, f"{name}.{child.name}")


def test_everything_public_has_a_docstring() -> None:
    wrong = []
    for file in source_files():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        place = str(file.relative_to(ROOT))
        if not ast.get_docstring(tree):
            wrong.append(place)
        wrong += [name for name, node in _public(tree, place) if not ast.get_docstring(node)]
    assert not wrong


@pytest.mark.parametrize("folder", [PACKAGE, "docs", "examples", "tests"])
def test_no_file_holds_two_things(folder: str) -> None:
    lengths = {
        str(file.relative_to(ROOT.parent)): len(file.read_text(encoding="utf-8").splitlines())
        for file in sorted((ROOT.parent / folder).rglob("*.py"))
    }
    assert not {file: lines for file, lines in lengths.items() if lines > LONGEST}


def test_every_number_that_decides_has_one_name_a_reason_and_a_user() -> None:
    """None of `solve/tolerances.py` is defined once more, is unused or unexplained."""
    table = ROOT / "solve" / "tolerances.py"
    body = ast.parse(table.read_text(encoding="utf-8")).body
    explained = {
        node.targets[0].id: isinstance(after, ast.Expr)
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert len(explained) > 30 and all(explained.values())
    others = [
        file.read_text(encoding="utf-8")
        for file in source_files()
        if file != table and room(file) != "files"
    ]
    for name in explained:
        used = re.compile(rf"(?<!\.)\b{name}\b")
        defined = re.compile(rf"^{name}\b[^\n(]*= *[-\d(]", re.MULTILINE)
        assert any(used.search(text) for text in others), name
        assert not any(defined.search(text) for text in others), name


@pytest.mark.parametrize("package", [PACKAGE, f"{PACKAGE}.forces"])
def test_each_public_name_is_there_though_nothing_else_has_been_imported(package: str) -> None:
    """Subpackages were asked of the package, which asked itself again."""
    script = (
        f"import importlib, os\npackage = importlib.import_module({package!r})\n"
        "for name in package.__all__:\n"
        "    if not (child := os.fork()):\n"
        "        os._exit(getattr(package, name, None) is None)\n"
        "    assert os.waitpid(child, 0)[1] == 0, name\n"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT.parent, timeout=200, check=False)
    assert run.returncode == 0


def test_no_module_imports_from_a_module_of_tests() -> None:
    """What several share stands in a module of its own."""
    wrong = [
        f"{file}:{number}: {line}"
        for file in sorted(Path(__file__).parent.rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.match(r"\s*(from|import) tests\.([\w.]*\.)?test_\w+", line)
    ]
    assert not wrong, wrong


def test_a_class_name_stands_once() -> None:
    where: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                where.setdefault(node.name, []).append(path.name)
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
