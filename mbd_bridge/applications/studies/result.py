"""What a study found: factors and outputs of all variants, as arrays and tables; their endings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.applications.studies.design import Design
from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.extras import needed
from mbd_bridge.base.table import Arrays, Series, Table, Tabular
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import TableWriter
from mbd_bridge.model.spatial import Array

# How variants ended: a few kinds of endings, each with one of its sentences as an example.

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


QUANTILES = {"least": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "largest": 1.0}


@dataclass(frozen=True, eq=False)
class StudyResult(Tabular):
    """Outputs of N variants.

    Attributes
    ----------
    design : the factors and their values
    outputs : by name, (N,); nan where a variant has none. "finished" says which came to their end,
        "status" has the number of the ending of each
    endings : in which ways variants ended, finished first, each with an example; () of a function
    units : of factors and outputs by name, "" where it is not known
    reused : variants that were not computed, since their part was there
    """

    design: Design
    outputs: dict[str, Array]
    endings: tuple[KindOfEnding, ...]
    units: Mapping[str, str]
    reused: int = 0

    def __len__(self) -> int:
        return len(self.design)

    def __getitem__(self, name: str) -> Array:
        """Return the values (N,) of an output or a factor."""
        known_name("output or factor", name, [*self])
        return self.outputs[name] if name in self.outputs else self.design[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.design.names, *self.outputs)))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    @property
    def columns(self) -> dict[str, Array]:
        """Factors, then outputs, (N,) each."""
        return {**self.design.columns(), **self.outputs}

    @property
    def statuses(self) -> dict[str, int]:
        """How many variants ended in which way, without the numbers in which sentences differ."""
        if not self.endings:
            return {}
        times = np.bincount(self.outputs[STATUS].astype(int), minlength=len(self.endings))
        pairs = zip(self.endings, times.tolist(), strict=True)
        return {ending.kind: number for ending, number in pairs if number}

    def trouble(self) -> list[str]:
        """Return a sentence for each way in which variants did not finish, with an example."""
        said = []
        for ending in self.endings:
            if ending.kind == FINISHED:
                continue
            factors = zip(self.design.names, self.design.values[ending.first], strict=True)
            values = ", ".join(f"{name} = {value:g}" for name, value in factors)
            number = self.statuses[ending.kind]
            such = ", such as that" if number > 1 else ", that"
            said.append(f"{number:,} of {len(self):,} variants{such} of {values}: {ending.example}")
        return said

    def save(self, path: str | PathLike[str]) -> None:
        """Write factors and outputs to .csv, .parquet, .npz or .h5, a row for each variant.

        A variant that did not finish has nan, and the number of its "status"; the file's attributes
        "status 1" and so on say what it means.
        """
        columns = [Column(name, self.units[name] or None) for name in self]
        words = f"{self.design.kind}, {count(len(self), 'variant')}"
        said = {f"{STATUS} {k}": one.example for k, one in enumerate(self.endings) if k}
        with TableWriter(path, columns, {"study": words, **said}, gaps=True) as file:
            file.append(np.stack(list(self.columns.values()), axis=1))

    def sensitivity(self, output: str) -> dict[str, Any]:
        """Return Sobol indices of an output, by factor: first order and total, with 95 % bounds.

        The design is one of `saltelli`; SALib estimates the indices.

        Returns
        -------
        dict with "names", "first", "first_bound", "total", "total_bound", (P,) each
        """
        if self.design.kind != "saltelli":
            raise StateError(
                f"Sobol indices need a design of mbd.studies.saltelli, this is a {self.design.kind}"
            )
        values = self[output]
        bad = int(np.count_nonzero(~np.isfinite(values)))
        if bad:
            raise StateError(
                f"{output!r} has no value in {bad} of {len(self)} variants ({ends(self)}): Sobol "
                f"indices need all; choose ranges in which every variant comes to its end"
            )
        sobol = needed("SALib.analyze.sobol", "Sobol indices need SALib", "mbd_bridge[studies]")
        names = list(self.design.names)
        unit = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
        found = sobol.analyze(unit, values, calc_second_order=False, seed=0)
        parts = {"first": "S1", "first_bound": "S1_conf", "total": "ST", "total_bound": "ST_conf"}
        return {"names": tuple(names)} | {own: np.asarray(found[k]) for own, k in parts.items()}

    def tables(self) -> tuple[Table, ...]:
        """Return factors and outputs of each variant; and how the outputs are spread."""
        columns = [Series(name, self.units[name], values) for name, values in self.columns.items()]
        variants = Series("variant", "", np.arange(len(self)))
        notes = (f"{len(self):,} variants: {ends(self)}",) if self.statuses else ()
        return Table(repr(self), variants, columns, notes=notes), self.spread()

    def spread(self) -> Table:
        """Return in how many variants each output has a value, and its quantiles."""
        known = {n: x[np.isfinite(x)] for n, x in self.outputs.items() if n != STATUS}
        units = [self.units.get(name, "") for name in known]
        columns = [Series("variants", "", [len(values) for values in known.values()])]
        for word, share in QUANTILES.items():
            each = [float(np.quantile(x, share)) if len(x) else None for x in known.values()]
            columns.append(Series(word, units, each))
        return Table("outputs over all variants", Series("output", "", [*known]), columns)

    def _arrays(self) -> Arrays:
        """Return the outputs over the factors of a grid, or over the variants."""
        design, units = self.design, self.units
        if design.kind == "grid":
            meshed = design.values.reshape(*design.shape, len(design.names))
            levels = (
                np.moveaxis(meshed[..., k], k, 0).reshape(design.shape[k], -1)[:, 0]
                for k in range(len(design.names))
            )
            dims = design.names
            coordinates = [
                Series(name, units[name], own, (name,))
                for name, own in zip(dims, levels, strict=True)
            ]
        else:
            dims = ("variant",)
            values = {"variant": np.arange(len(self)), **design.columns()}
            coordinates = [Series(name, units.get(name, ""), x, dims) for name, x in values.items()]
        outputs = [
            Series(name, units[name], values.reshape(design.shape), dims)
            for name, values in self.outputs.items()
        ]
        return Arrays(outputs, coordinates, {"design": design.kind})

    def __repr__(self) -> str:
        told = [f"{count(len(self), 'variant')} of {', '.join(self.design.names)}"]
        told += [f"outputs {', '.join(self.outputs)}", ends(self)]
        told += [f"{self.reused} read, not computed"] if self.reused else []
        return f"StudyResult({'; '.join(one for one in told if one)})"


def ends(found: StudyResult) -> str:
    """Return how many motions ended in which way, the most frequent first."""
    ordered = sorted(found.statuses.items(), key=lambda one: -one[1])
    return ", ".join(f"{times:,} {status}" for status, times in ordered[:3])
