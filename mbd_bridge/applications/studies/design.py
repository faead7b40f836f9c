"""Designs: which values the factors of a study take.

A factor has a range (low, high), in which all values are equally likely, or a distribution of
`scipy.stats`, such as ``scipy.stats.norm(2.0, 0.1)``. Points of the unit cube become values by the
inverse of its distribution function (ppf).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, by_name
from mbd_bridge.base.errors import StateError, count, whole_number
from mbd_bridge.base.extras import needed
from mbd_bridge.model.spatial import Array

MOST = 100_000_000
"""Variants of one design: with five factors 4 GB."""


@runtime_checkable
class Distribution(Protocol):
    """What has an inverse distribution function: a frozen distribution of `scipy.stats`."""

    def ppf(self, q: Any) -> Any:
        """Return the values below which the parts q of all values lie."""


Factor: TypeAlias = tuple[float, float] | Distribution
"""The range (low, high) of a factor, or its distribution."""


@dataclass(frozen=True, eq=False)
class Design:
    """The values of each factor in N variants.

    Attributes
    ----------
    names : of the factors
    values : (N, P)
    kind : "grid", "latin hypercube", "sobol", "saltelli" or "table"
    shape : of a grid, the number of levels of each factor; else (N,)
    """

    names: tuple[str, ...]
    values: Array
    kind: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.values), len(self.names)):
            raise StateError(f"design: expected {len(self.names)} columns")
        bad = np.argwhere(~np.isfinite(self.values))
        if len(bad):
            row, column = bad[0]
            raise StateError(
                f"design: {self.names[column]!r} is {self.values[row, column]} in variant {row}; "
                f"give finite numbers"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> Array:
        """Return the values (N,) of a factor."""
        return self.values[:, self.names.index(name)]

    def columns(self, start: int = 0, stop: int | None = None) -> dict[str, Array]:
        """Return the values of some variants by factor."""
        part = self.values[start:stop]
        return {name: np.ascontiguousarray(part[:, k]) for k, name in enumerate(self.names)}

    def __repr__(self) -> str:
        return f"Design({self.kind}: {count(len(self), 'variant')} of {', '.join(self.names)})"


def grid(levels: Mapping[str, ArrayLike]) -> Design:
    """Return all combinations of the factors' levels, the last factor's fastest."""
    given = {
        name: as_floats(name, values)
        for name, values in _factors(levels, "{'rod.mass': [1.0, 2.0]}").items()
    }
    shape = tuple(np.atleast_1d(values).size for values in given.values())
    _check_number(int(np.prod(shape, dtype=float)))
    meshed = np.meshgrid(*(np.atleast_1d(values) for values in given.values()), indexing="ij")
    return Design(tuple(given), np.stack([m.ravel() for m in meshed], axis=1), "grid", shape)


def table(columns: Mapping[str, ArrayLike]) -> Design:
    """Return a design from values (N,) of each factor."""
    given = {
        name: as_floats(name, values)
        for name, values in _factors(columns, "{'rod.mass': masses}").items()
    }
    sizes = {name: values.shape for name, values in given.items()}
    if len(set(sizes.values())) != 1 or any(len(shape) != 1 for shape in sizes.values()):
        raise StateError(f"table: expected as many numbers of each factor, got {sizes}")
    values = np.stack(list(given.values()), axis=1)
    return Design(tuple(given), values, "table", (len(values),))


def latin_hypercube(factors: Mapping[str, Factor], number: int, *, seed: int = 0) -> Design:
    """Return a Latin hypercube: each factor's range in N equal parts, one variant in each."""
    from scipy.stats import qmc

    number = whole_number("number", number)
    _check_number(number)
    sampler = qmc.LatinHypercube(len(_factors(factors)), rng=np.random.default_rng(seed))
    return _scaled(factors, sampler.random(number), "latin hypercube")


def sobol(factors: Mapping[str, Factor], number: int, *, seed: int = 0) -> Design:
    """Return points of a scrambled Sobol sequence; powers of two fill space most evenly."""
    from scipy.stats import qmc

    number = whole_number("number", number)
    _check_number(number)
    sampler = qmc.Sobol(len(_factors(factors)), rng=np.random.default_rng(seed))
    points = sampler.random_base2(max(number - 1, 0).bit_length())[:number]
    return _scaled(factors, points, "sobol")


def saltelli(factors: Mapping[str, Factor], base: int, *, seed: int = 0) -> Design:
    """Return the base * (P + 2) variants from which Sobol indices are estimated (needs SALib).

    Parameters
    ----------
    base : a power of two; 1024 gives indices to some hundredths
    """
    sampler = needed("SALib.sample.sobol", "a Saltelli design needs SALib", "mbd_bridge[studies]")
    base = whole_number("base", base)
    if base & (base - 1):
        raise StateError(f"base: expected a power of two, such as 1024, got {base}")
    names = list(_factors(factors))
    _check_number(base * (len(names) + 2))
    unit = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    points = sampler.sample(unit, base, calc_second_order=False, seed=seed)
    return _scaled(factors, points, "saltelli")


def _factors(given: Mapping[str, Any], example: str = "{'rod.mass': (1.0, 2.0)}") -> dict[str, Any]:
    """Return the factors, of which there are some."""
    named = dict(by_name("factors", given, example))
    if not named:
        raise StateError(f"factors: expected one or more, such as {example}")
    return named


def _scaled(factors: Mapping[str, Factor], points: Array, kind: str) -> Design:
    """Return the design whose factors are at points (N, P) of the unit cube."""
    values = np.empty_like(points)
    for k, (name, factor) in enumerate(factors.items()):
        if isinstance(factor, Distribution):
            # 0 and 1 are infinitely far out in most distributions
            inside = np.clip(points[:, k], 2.0**-53, 1.0 - 2.0**-53)
            values[:, k] = factor.ppf(inside)
            continue
        ends = as_floats(name, factor)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise StateError(
                f"{name}: expected (low, high) with low < high, or a distribution of scipy.stats, "
                f"got {factor!r:.60}"
            )
        values[:, k] = ends[0] + (ends[1] - ends[0]) * points[:, k]
    return Design(tuple(factors), values, kind, (len(values),))


def _check_number(number: int) -> None:
    if number > MOST:
        told = min(number, 10**300)  # a larger one is no float
        raise StateError(f"a design of {told:g} variants; at most {MOST} in one: split it")
