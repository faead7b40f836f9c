"""Claims about papers/papers.md: every number has a row, and what it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "papers" / "papers.md").read_text(encoding="utf-8")


def numbers(first: int, last: int) -> set[str]:
    return {str(k) for k in range(first, last + 1)}


def sections(**lengths: int) -> set[str]:
    """Return numbers of equations such as 4.7."""
    return {f"{name[1:]}.{k}" for name, n in lengths.items() for k in range(1, n + 1)}


ITEMS = {
    "Lee94": {"": numbers(1, 30), "Table": numbers(1, 5), "Fig": numbers(1, 12)},
    "KimYou97": {"": numbers(1, 38), "Table": numbers(1, 3), "Fig": numbers(1, 8)},
    "KimYoo97": {
        "": (sections(s2=5, s3=7, s4=13, s5=2) - {"4.5"}) | {"A1", "A2", "A3"},  # 4.5 is no number
        "Table": {"1"},
        "Fig": numbers(1, 13),
    },
    "LeeJoo90": {"": numbers(1, 72), "Fig": numbers(1, 7)},
    "Cho09": {"": numbers(1, 10), "Table": numbers(1, 5), "Fig": numbers(1, 12)},
}


def rows(paper: str) -> list[list[str]]:
    """Return the cells of a paper's rows."""
    part = PAGE.split(f"\n## {paper}:")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(item: str) -> tuple[str, set[str]]:
    """Return of what kind an item is, and its numbers."""
    kind = re.match(r"(Table|Fig)s? ", item)
    if kind is None and not item.startswith("("):
        return "text", set()
    found = set[str]()
    text = item[kind.end() :] if kind else item.replace("(", "").replace(")", "")
    for part in text.split(", "):
        first, dash, last = part.partition("-")
        head, at = re.fullmatch(r"(.*?)(\d+)", first).groups()
        end = int(re.fullmatch(r".*?(\d+)", last)[1]) if dash else int(at)
        found |= {f"{head}{k}" for k in range(int(at), end + 1)}
    return (kind[1] if kind else ""), found


@pytest.mark.parametrize("paper", ITEMS)
def test_every_number_of_a_paper_has_one_row(paper: str) -> None:
    found: dict[str, list[str]] = {}
    for item, *_ in rows(paper):
        kind, numbers = named(item)
        found.setdefault(kind, []).extend(numbers)
    for kind, expected in ITEMS[paper].items():
        assert sorted(found[kind]) == sorted(expected), (paper, kind)
    assert any(item.startswith("conclusion") for item, *_ in rows(paper))


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("paper", ITEMS)
def test_every_file_and_test_named_exists(paper: str) -> None:
    for item, _, files, test, verdict in rows(paper):
        assert verdict, item
        for name in re.findall(r"`([\w./]+/[\w./]*)`", f"{files} {verdict}"):
            assert (ROOT / name).exists(), (item, name)
        path, colons, function = test.strip("`").partition("::")
        assert (ROOT / path).is_file(), (item, path)
        assert not colons or function in functions_of(ROOT / path), (item, test)


def test_nothing_of_the_papers_is_missing() -> None:
    verdicts = [verdict for paper in ITEMS for *_, verdict in rows(paper)]
    assert not [verdict for verdict in verdicts if re.search("not (built|compared)", verdict)]
