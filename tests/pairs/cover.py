"""Covering arrays: few rows in which any two values of any two options meet."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

TRIES = 30
"""Rows that are tried for each one that is taken."""


def all_pairs(options: Mapping[str, Sequence[str]], seed: int = 0) -> list[dict[str, str]]:
    """Return rows, a value of each option, in which every pair of values occurs (AETG).

    Each row begins with a pair that is open still; of some rows filled at random that which covers
    most is taken.
    """
    names = list(options)
    left = {
        pair
        for one, two in itertools.combinations(names, 2)
        for pair in itertools.product(
            ((one, value) for value in options[one]), ((two, value) for value in options[two])
        )
    }
    rng = np.random.default_rng(seed)
    rows: list[dict[str, str]] = []
    while left:
        start = min(left)
        tried = []
        for _ in range(TRIES):
            row = dict(start)
            for k in rng.permutation(len(names)):
                name = names[k]
                if name not in row:
                    gains = [len(_new(row | {name: v}, left)) for v in options[name]]
                    best = np.flatnonzero(np.array(gains) == max(gains))
                    row[name] = options[name][int(rng.choice(best))]
            tried.append(row)
        best_row = max(tried, key=lambda row: len(_new(row, left)))
        rows.append({name: best_row[name] for name in names})
        left -= _new(best_row, left)
    return rows


def _new(
    row: Mapping[str, str], left: set[tuple[tuple[str, str], tuple[str, str]]]
) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    """Return the open pairs that a row, full or not, covers."""
    items = row.items()
    both = itertools.permutations(items, 2)
    return {pair for pair in both if pair in left}
