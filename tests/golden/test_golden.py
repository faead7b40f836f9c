"""Commands and calls over all of the package give what they gave: bytes of text, digits of arrays.

``python -m tests.golden`` writes the texts anew; the commit says why one changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.calls import CALLS
from tests.golden.inputs import write_inputs
from tests.golden.keep import HERE, command_lines, difference, run, values


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the repository's root, which is the current one."""
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.parametrize("name", command_lines())
def test_command_prints_and_writes_what_it_did(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = run(command_lines()[name], folder, capsys)
    kept = (HERE / "commands" / f"{name}.txt").read_text(encoding="utf-8")
    assert not difference(kept, now)


@pytest.mark.parametrize("name", CALLS)
def test_call_returns_the_numbers_that_it_did(name: str, folder: Path) -> None:
    kept = (HERE / "calls" / f"{name}.txt").read_text(encoding="utf-8")
    assert not difference(kept, values(CALLS[name]()))


def test_each_kept_text_belongs_to_a_command_or_a_call() -> None:
    assert {path.stem for path in (HERE / "commands").glob("*.txt")} == set(command_lines())
    assert {path.stem for path in (HERE / "calls").glob("*.txt")} == set(CALLS)
