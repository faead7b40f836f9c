"""Programs that draw and count for the pages: none dies at its imports, a paper's runs short."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.py"))


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).stem, DOCS / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "conf.py"])
def test_programs_of_the_pages_find_all_that_they_import(name: str) -> None:
    assert program(name)


def test_kimyoo97s_forms_and_ours_end_alike_on_a_four_bar_and_on_the_car() -> None:
    """Figs 4 to 7, short: the projected basis, as printed, loses speed (docs/verification.md)."""
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
