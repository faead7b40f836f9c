"""How variants ended: a few kinds of endings, each with one of its sentences as an example."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array

FINISHED = "finished"
"""Output: 1 where a motion came to its end, or loads were found; 0 where not. And the sentence of
those."""
STATUS = "status"
"""Output: 0 where a variant finished, else the number of its kind of ending."""

_NUMBER = re.compile(r"(?<![\w.'])[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|nan|inf)(?![\w'])")


class KindOfEnding(NamedTuple):
    """A kind of ending.

    Attributes
    ----------
    kind : its sentence without the numbers in it, which differ from variant to variant
    first : the variant that is the example, counted from 0
    example : that one's sentence
    """

    kind: str
    first: int
    example: str


def endings_of(sentences: Sequence[str]) -> tuple[Array, tuple[KindOfEnding, ...]]:
    """Return the number of the kind of each variant's ending (N,), and the kinds in that order."""
    kinds: dict[str, KindOfEnding] = {}
    places: dict[str, int] = {}
    codes = np.empty(len(sentences))
    for variant, sentence in enumerate(sentences):
        place = places.get(sentence)
        if place is None:
            kind = _NUMBER.sub("...", sentence)
            kinds.setdefault(kind, KindOfEnding(kind, variant, sentence))
            place = places[sentence] = list(kinds).index(kind)
        codes[variant] = place
    return codes, tuple(kinds.values())


class Endings:
    """The endings of a whole study, of which parts come in any order.

    Parameters
    ----------
    number : of variants
    """

    def __init__(self, number: int) -> None:
        self._codes = np.full(number, -1)
        self._kinds: dict[str, KindOfEnding] = {}

    def take(self, start: int, codes: Array, endings: Sequence[KindOfEnding]) -> None:
        """Take in those of a part that begins with a variant."""
        for ending in endings:
            here = ending._replace(first=start + ending.first)
            known = self._kinds.setdefault(ending.kind, here)
            if here.first < known.first:
                self._kinds[ending.kind] = here
        order = list(self._kinds)
        numbers = np.array([order.index(ending.kind) for ending in endings])
        self._codes[start : start + len(codes)] = numbers[codes.astype(int)]

    def whole(self) -> tuple[Array, list[KindOfEnding]]:
        """Return the output "status" (N,) and the kinds by its numbers: finished, then as they come
        in the design.
        """
        kinds = sorted(self._kinds.values(), key=lambda one: (one.kind != FINISHED, one.first))
        if kinds[0].kind != FINISHED:
            kinds.insert(0, KindOfEnding(FINISHED, -1, FINISHED))
        order = [one.kind for one in kinds]
        numbers = np.array([order.index(kind) for kind in self._kinds], dtype=float)
        return numbers[self._codes], kinds
