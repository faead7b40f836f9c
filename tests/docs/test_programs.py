"""Programs that draw and count for the pages run short, and pages print what they compute."""

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mbd_bridge.kernels import trace
from mbd_bridge.simulation.steps.compiled import SystemStep
from tests import papers
from tests.benchmarks import vehicle_steps
from tests.referees import REFEREES, Referee, printed
from tests.vehicles.scripts import example

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.py"))
LAST_DIGIT = 0.6
"""Of a number that a page prints: what it may be off."""


@cache
def program(name: str) -> ModuleType:
    (path,) = DOCS.rglob(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def rows(page: str, *heads: str) -> dict[str, list[str]]:
    """Return the cells of the table whose first heads are given, by the first of each row."""
    (path,) = DOCS.rglob(page)
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:]] for line in lines]
    (start,) = [k for k, own in enumerate(cells) if own[: len(heads)] == [*heads]]
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found[name] = cells
    return found


def prints(cell: str, *computed: float) -> bool:
    """Return whether the numbers of a cell are those computed, to its last digit and a little."""
    texts = re.findall(r"\d+\.?\d*(?:e-?\d+)?", cell)
    assert len(texts) >= len(computed), (cell, computed)
    return all(
        abs(float(text) - x) <= LAST_DIGIT * _last_digit(text)
        for text, x in zip(texts, computed, strict=False)
    )


def _last_digit(text: str) -> float:
    mantissa, _, power = text.partition("e")
    return float(10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "conf.py"])
def test_programs_of_the_pages_find_all_that_they_import(name: str) -> None:
    assert program(name)


def test_kimyoo97s_forms_and_ours_end_alike_on_a_four_bar_and_on_the_car() -> None:
    """Figs 4 to 7, short: the projected basis, as printed, loses speed (papers/verification.md)."""
    kimyoo97 = program("verification/kimyoo97.py")
    cases = (kimyoo97.turning_bar(), (0.0, 0.1)), (kimyoo97.falling_car(), (0.0, 0.005))
    for case, span in cases:
        steps = kimyoo97.computed(case._replace(span=span), 5e-3, corrected=True)
        first, *ends = (own.end for own in steps.values())
        errors = [np.abs(end - first).max() / np.abs(first).max() for end in ends]
        *others, projected, held = errors
        assert max(*others, held) < 1e-6
        assert projected < 1e-3
        assert max(own.left.max() for own in steps.values()) < 1e-9


def test_figures_of_verification_are_drawn(tmp_path: Path, monkeypatch) -> None:
    """Of Lee94 and KimYoo97 of short motions; of KimYou97's stiffnesses with given numbers."""
    pytest.importorskip("exudyn")
    kimyoo97, rssr = program("verification/kimyoo97.py"), program("verification/rssr.py")
    kimyou97 = program("verification/kimyou97.py")
    for one in (kimyoo97, rssr, kimyou97):
        monkeypatch.setattr(one, "PICTURES", tmp_path)
    drop = kimyoo97.falling_car()._replace(span=(0.0, 0.02))
    bar = kimyoo97.turning_bar()._replace(span=(0.0, 0.05))
    steps = dict.fromkeys((f"ours, {m}" for m in kimyoo97.BASES), kimyoo97.ours(drop, "svd", 5e-3))
    steps |= {name: kimyoo97.printed(drop, how, 5e-3) for name, how in kimyoo97.PRINTED.items()}
    monkeypatch.setattr(kimyoo97, "everything", lambda *_: steps)
    kimyoo97.lane(drop)
    kimyoo97.violation(drop, drop)
    kimyoo97.sizes(drop, bar)
    for name, value in {"SECONDS": 0.05, "TURNS": 1}.items():
        monkeypatch.setattr(rssr, name, value)
    rssr.main()
    powers = np.array([-1.0, -0.5, -1.0, -1.0, -0.5, 0.5])
    monkeypatch.setattr(kimyou97, "differences", lambda exact, k: [k, *k**powers])
    kimyou97.stiffness(None)
    drawn = {path.name for path in tmp_path.iterdir()}
    pages = {path.name for path in (DOCS / "papers" / "verification").glob("*.png")}
    assert drawn == pages - {"kimyou97_1.png", "kimyou97_2.png"}  # drawn by the test below


def test_the_page_prints_the_residuals_of_kimyoo97s_car() -> None:
    """Settling, of ours and of the projected form; steps of 5 ms, residuals of 10 ms."""
    kimyoo97 = program("verification/kimyoo97.py")
    case = kimyoo97.falling_car()
    steps = rows("verification.md", "steps (rejected); longest step 5 ms")
    left = rows("verification.md", "residual, relative to the car's size; longest step 10 ms")
    names = {
        "ours: projection, qr, svd": lambda h: kimyoo97.ours(case, "svd", h),
        "the paper's form, projected basis": lambda h: kimyoo97.printed(case, True, h),
    }
    for name, run in names.items():
        found = run(5e-3)
        count, rejected = map(int, re.findall(r"\d+", steps[name][0]))
        assert abs(len(found.time) - count) <= 0.02 * count and found.rejected == rejected, name
        residual = run(1e-2).left
        for shown, own in zip(left[name], (np.median(residual), residual.max()), strict=False):
            assert np.isclose(float(shown), own, rtol=0.5), name  # near to rounding


def test_the_page_prints_the_steps_and_errors_of_kimyoo97s_four_bar() -> None:
    kimyoo97 = program("verification/kimyoo97.py")
    case = kimyoo97.turning_bar()
    known = rows("verification.md", "steps (rejected); longest step 5 ms")
    steps = kimyoo97.everything(case, 5e-3)
    for name, shown in known.items():
        key = "ours, svd" if name.startswith("ours") else name.removeprefix("the ")
        found = steps[key]
        assert shown[1] == f"{len(found.time)} ({found.rejected})", name
    known = rows("verification.md", "error of the last velocity, relative to the largest")
    for name, error in kimyoo97.errors(case, 1e-2).items():
        assert prints(known[name][2], error), (name, error)


def test_the_page_prints_what_scipys_integrators_do_with_kimyou97s_spring() -> None:
    kimyou97 = program("verification/kimyou97.py")
    exact = papers.second_exact()
    known = rows("verification.md", "", "tolerance 1e-7: steps, evaluations")
    for name in ("Radau", "DOP853"):
        *counts, torque = kimyou97.by_scipy(exact, name, 1e-7)
        # which steps Radau refuses is a matter of last digits, such as those of BLAS's threads
        printed = [float(number) for number in known[name][0].split(",")]
        assert np.allclose(counts, printed, rtol=0.1 if name == "Radau" else 0.0)
        assert name == "Radau" or prints(known[name][1], torque)
        assert np.isclose(torque, float(known[name][1].split()[0]), rtol=0.3)
    soft = kimyou97.differences(exact, 1e5, step=1e-5)[1:]
    shown = rows("verification.md", "stiffness, N/m")["1e5"]
    assert all(prints(cell, x) for cell, x in zip(shown, np.delete(soft, [2, 4]), strict=True))


def test_lee94s_rssr_moves_as_in_exudyn(monkeypatch) -> None:
    """Fig 5, with twice the page's step; ours as the page prints it."""
    pytest.importorskip("exudyn")
    rssr = program("verification/rssr.py")
    monkeypatch.setattr(rssr, "TURNS", 1)
    exact, run, other = rssr.ours(1e-4), rssr.ours(1e-3), rssr.exudyn(2e-3)
    known = rows("verification.md", "2 s of motion")
    error = np.abs(run.upward - exact.upward).max()
    assert prints(known["mbd_bridge, 1 ms, a whole call of `simulate`"][1], error)
    right = np.interp(other.time, exact.time, exact.upward)
    assert np.abs(other.upward - right).max() < 0.05 < 1e-2 * np.abs(right).max()


def test_kimyou97s_simulations_run_beside_exudyn(tmp_path: Path, capsys, monkeypatch) -> None:
    """With few steps of Exudyn's, which come nearer by their square."""
    pytest.importorskip("exudyn")
    kimyou97 = program("verification/kimyou97.py")
    monkeypatch.setattr(kimyou97, "PICTURES", tmp_path)
    kimyou97.simulation_1((12_500,))
    kimyou97.simulation_2(12_500)
    said = capsys.readouterr().out
    apart = {
        what: float(number)
        for what, number in re.findall(r"(\S+ of \S+: \S+).* apart by (\S+) of its peak", said)
    }
    assert len(apart) == 10, said
    for what, number in apart.items():
        assert number < (1e-14 if "pinocchio" in what else 0.08), what
    angles = [float(x) for x in re.findall(r"(?:angles are|at 0.25 ms:)[^0-9]*(\S+) rad", said)]
    assert angles[1] < 6e-6 and angles[2] < 3e-8, said
    assert {path.name for path in tmp_path.iterdir()} == {"kimyou97_1.png", "kimyou97_2.png"}


def test_the_page_prints_the_pattern_of_leejoo90_and_its_misprints(capsys) -> None:
    program("verification/leejoo90.py").main()
    said = capsys.readouterr().out.splitlines()
    counts = [re.findall(r": (\d+) .*, (\d+) .* in (\d+ of \d+)", line) for line in said]
    known = rows("flexible.md", "angles").values()
    shown = [tuple(part) for cells in known for part in (cells[:3], cells[3:])]
    assert shown == [found[0] for found in counts if found]
    wrong = [line.split() for line in said if line.startswith("(6")]
    for place in ("C(2)[3,5]", "C(2)[4,6]", "C(5)[2,3]", "C(6)[2,4]"):
        assert [line[-1] for line in wrong if line[1] == f"{place}:"] == ["0"], place
    assert [line[2:] for line in wrong if line[1] == "C(4)[2,6]:"] == [["-d72/2,", "is", "-d72"]]
    assert len(wrong) == 12


@pytest.mark.parametrize("name", ["five_dof", "tracked", "car", "six"])
def test_figures_of_vehicles_are_drawn(name: str, tmp_path: Path, monkeypatch) -> None:
    figures = program("vehicles/figures.py")
    monkeypatch.setattr(figures, "PICTURES", tmp_path)
    monkeypatch.setattr(figures, "find_spec", lambda name: None)  # Exudyn takes a minute
    figures.FIGURES[name]()
    pictures = {path.name for path in tmp_path.iterdir()}
    assert len(pictures) == 2
    assert pictures <= {path.name for path in (DOCS / "papers" / "vehicles").iterdir()}


def test_the_page_prints_what_integrators_do_with_the_6x6() -> None:
    figures = program("vehicles/figures.py")
    shown = rows("vehicles.md", "slip stiffness, loads")
    assert {first: cells for first, *cells in figures.slip()} == shown
    known = rows("vehicles.md", "implicit Newmark", "heave, m/s²")
    computed = {first: cells[:-1] for first, *cells in figures.undivided()}  # but the time
    assert computed == {first: cells[:-1] for first, cells in known.items()}
    known = rows("vehicles.md", "RMS difference to the converged motion")
    said = {}
    for line in example("six_wheeler")["said"].splitlines():
        name, colon, text = line.partition(":")
        said[" ".join(name.split())] = text.strip() if colon else ""
    names = {"implicit Newmark": "newmark", "RK4": "rk4", "explicit Newmark": "explicit_newmark"}
    for row, cells in known.items():
        name, _, step = row.partition(", ")
        text = said[f"{names[name]} {step}"]
        expected = text if "given up" in text else text.replace(" m/s²", "").replace(" rad/s²", "")
        assert ", ".join(filter(None, cells)) == expected, row


def test_the_page_prints_how_far_long_steps_of_the_car_are_off() -> None:
    computed = {first: cells for first, *cells in program("vehicles/figures.py").implicit_car()}
    known = rows("vehicles.md", "step, ms", "RK4: chassis off by, mm")
    assert computed.keys() == known.keys()
    for step, cells in computed.items():
        for own, shown in zip(cells, known[step], strict=True):
            assert own == shown or np.isclose(float(own), float(shown), rtol=0.05), step


def test_the_page_prints_the_operations_of_cho09s_table_5() -> None:
    known = rows("vehicles.md", "", "operations", "us a step")
    names = {"with fresh J": 'implicit Newmark, `jacobian="fresh"`'}
    for name, scheme in vehicle_steps.SCHEMES.items():
        step = SystemStep(example("six_wheeler")["system"], (), scheme)
        graph = trace(*step.traceable(), calls=True)
        skipped = sum(
            sum(node[-1].graph.counts().values()) for node in graph.nodes if node[0] == "call_if"
        )
        whole = sum(graph.counts().values())
        numbers = [f"{number:,}" for number in dict.fromkeys((whole - skipped, whole))]
        assert known[names.get(name, name)][0] == " or ".join(numbers)


@pytest.mark.parametrize("referee", REFEREES, ids=lambda referee: referee.difference.__name__)
def test_a_referee_from_outside_agrees_and_the_page_says_how_far(referee: Referee) -> None:
    difference = referee.difference()
    page = (DOCS / "theory" / "who_agrees.md").read_text(encoding="utf-8")
    assert difference < referee.bound
    (row,) = [line for line in page.splitlines() if f"| `{referee.difference.__name__}` |" in line]
    who, what, cell = (text.strip() for text in row.split("|")[1:4])
    assert (who, what) == (referee.who, referee.what)
    text = printed(difference)
    assert cell == text or prints(cell, difference), (cell, text)
