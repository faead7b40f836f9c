"""The modes of a flexible link from what its user asked for, tangent to it at its root.

Closed forms of the modes of a uniform beam, scaled to a largest deflection of 1 m or 1 rad.

Bending, with λ the k-th root and ξ = x / L, f = cosh λξ - cos λξ - σ (sinh λξ - sin λξ):

    clamped-free      cos λ cosh λ = -1,   σ = (cosh λ + cos λ) / (sinh λ + sin λ)
    clamped-clamped   cos λ cosh λ =  1,   σ = (cosh λ - cos λ) / (sinh λ - sin λ)
    clamped-pinned    tan λ = tanh λ,      σ as clamped-clamped
    pinned-pinned     f = sin kπξ

ω = λ² sqrt(EI / (ρA L⁴)). Hyperbolic functions of large λ cancel; f is written with e^(λ(ξ-1)).
Torsion and extension: sin((k - 1/2)πξ) with a free end, sin kπξ with a held one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.beam import Beam
from mbd_bridge.model.flexible.finite_element import (
    Direction,
    Elements,
    Function,
    ShapeMode,
    ShapeValues,
    Sum,
    elements,
    gauss,
    intervals,
    lowest,
)
from mbd_bridge.model.flexible.link import FlexibleLink, Modes

Ends = Literal["clamped-free", "pinned-pinned", "clamped-clamped", "clamped-pinned"]
BISECTIONS = 60
"""Halvings of an interval of length pi: the root is then known to rounding."""


@dataclass(frozen=True)
class SineFunction(Function):
    """sin(k x)."""

    k: float

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        k, f = self.k, np.sin(self.k * x)
        return ShapeValues(f, k * np.cos(k * x), -(k**2) * f)


@dataclass(frozen=True)
class Bent(Function):
    """c (cosh kx - cos kx - σ (sinh kx - sin kx)), with 1 - σ = `gap` · e^(-kL)."""

    k: float
    length: float
    sigma: float
    gap: float
    scale: float

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        k, s = self.k, self.sigma
        grow = 0.5 * self.gap * np.exp(k * (x - self.length))
        fall = 0.5 * (1.0 + s) * np.exp(-k * x)
        cos, sin, c = np.cos(k * x), np.sin(k * x), self.scale
        return ShapeValues(
            c * (grow + fall - cos + s * sin),
            c * k * (grow - fall + sin + s * cos),
            c * k**2 * (grow + fall + cos - s * sin),
        )


def roots(ends: Ends, count: int) -> list[float]:
    """Return the first values of λ for bending."""
    if ends == "pinned-pinned":
        return [k * np.pi for k in range(1, count + 1)]
    first = {"clamped-free": 0.5, "clamped-pinned": 1.25, "clamped-clamped": 1.5}[ends]
    sign = {"clamped-free": 1.0, "clamped-clamped": -1.0, "clamped-pinned": 0.0}[ends]

    def residual(x: float) -> float:
        if ends == "clamped-pinned":
            return float(np.sin(x) - np.cos(x) * np.tanh(x))
        return float(np.cos(x) + sign / np.cosh(x))

    centres = [(first + k) * np.pi for k in range(count)]
    return [_bisect(residual, c - 0.5 * np.pi + 0.3, c + 0.5 * np.pi - 0.3) for c in centres]


def _bisect(residual: Callable[[float], float], low: float, high: float) -> float:
    rising = residual(high) > 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if (residual(middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def analytic_modes(ends: Ends, direction: Direction, count: int, length: float) -> list[ShapeMode]:
    """Return the first modes of a uniform beam in one direction."""
    if direction in ("torsion", "axial"):
        shift = 0.5 if ends == "clamped-free" else 0.0
        return [
            ShapeMode(direction, SineFunction((k - shift) * np.pi / length))
            for k in range(1, count + 1)
        ]
    modes = []
    for root in roots(ends, count):
        if ends == "pinned-pinned":
            modes.append(ShapeMode(direction, SineFunction(root / length)))
            continue
        sign = 1.0 if ends == "clamped-free" else -1.0
        below = np.sinh(root) + sign * np.sin(root)
        sigma = (np.cosh(root) + sign * np.cos(root)) / below
        gap = (sign * (np.sin(root) - np.cos(root)) - np.exp(-root)) / below * np.exp(root)
        shape = Bent(root / length, length, sigma, gap, 1.0)
        x = np.linspace(0.0, length, 40 * count + 41)
        largest = 2.0 if ends == "clamped-free" else float(np.abs(shape.at(x).f).max())
        tip = float(shape.at(np.array([length])).f[0]) if ends == "clamped-free" else 1.0
        scale = np.sign(tip) / largest
        modes.append(ShapeMode(direction, Bent(root / length, length, sigma, gap, scale)))
    return modes


@dataclass(frozen=True)
class PowerFunction(Function):
    """((x - root) / L)^n."""

    n: int
    root: float
    length: float

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        n, L, t = self.n, self.length, (x - self.root) / self.length
        second = n * (n - 1) * t ** max(n - 2, 0) / L**2
        return ShapeValues(t**n, n * t ** (n - 1) / L, second)


def basis(
    flexible: FlexibleLink, beam: Beam, root: float, stations: Sequence[float]
) -> tuple[ShapeMode, ...]:
    """Return a link's modes.

    Parameters
    ----------
    root : m along the beam: where the link's frame is tangent to it
    stations : m along the beam: where something is attached
    """
    wanted = flexible.modes
    if beam.rotary_inertia is False and wanted.torsion is not None:
        raise ModelError(
            f"flexible link {flexible.link!r}: torsion needs the rotary inertia of the sections; "
            f"leave rotary_inertia at True"
        )
    if beam.length - root < 1e-9 * beam.length and wanted.kind in (
        "clamped-free",
        "clamped-pinned",
    ):
        raise ModelError(
            f"flexible link {flexible.link!r}: its joint holds the end of the beam, where modes "
            f"{wanted.kind!r} are free: they violate the attachment. Exchange start and end of the "
            f"beam, or use kind='finite-element'"
        )
    modes: list[ShapeMode] = []
    for direction in wanted.directions:
        count = wanted.count(direction) or 0
        modes += _in_direction(wanted, beam, direction, count, root, stations)
    return tuple(mode.tangent_at(root) for mode in modes)


def _in_direction(
    wanted: Modes,
    beam: Beam,
    direction: Direction,
    count: int,
    root: float,
    stations: Sequence[float],
) -> list[ShapeMode]:
    kind = wanted.kind
    if kind == "polynomial":
        first = 2 if direction in ("bending_y", "bending_z") else 1
        powers = [
            ShapeMode(direction, PowerFunction(n, root, beam.length))
            for n in range(first, first + count)
        ]
        return natural(beam, powers)
    if kind == "finite-element":
        grid = _grid(wanted, beam, direction, [root, *stations])
        return _held(grid, count, grid.of_node(root))
    if kind == "craig-bampton":
        grid = _grid(wanted, beam, direction, [root, *stations])
        return natural(beam, _craig_bampton(grid, count, root, stations))
    return analytic_modes(kind, direction, count, beam.length)


def _grid(wanted: Modes, beam: Beam, direction: Direction, places: Sequence[float]) -> Elements:
    """Return the beam in elements with nodes at these places."""
    even = np.linspace(0.0, beam.length, wanted.elements + 1)
    return elements(beam, direction, intervals_at(even, np.array(places), beam))


def intervals_at(even: Floats, places: Floats, beam: Beam) -> Floats:
    """Return an even division with the beam's breaks and these places among its nodes."""
    needed = np.unique(np.concatenate([beam.breaks, np.clip(places, 0.0, beam.length)]))
    apart = np.concatenate([[True], np.diff(needed) > 1e-9 * beam.length])
    needed = needed[apart]
    spacing = even[1] - even[0]
    far = np.abs(even[:, None] - needed).min(axis=1) > 0.25 * spacing
    return np.sort(np.concatenate([needed, even[far]]))


def _held(grid: Elements, count: int, held: Sequence[int]) -> list[ShapeMode]:
    """Return the lowest natural modes of a beam of which some unknowns are held."""
    loose = np.setdiff1d(np.arange(len(grid.M)), held)
    _enough(count, len(loose))
    _, vectors = lowest(grid.M[np.ix_(loose, loose)], grid.K[np.ix_(loose, loose)], count)
    out = []
    for k in range(count):
        values = np.zeros(len(grid.M))
        values[loose] = vectors[:, k]
        out.append(grid.mode(_scaled(values, grid.unknowns)))
    return out


def _craig_bampton(
    grid: Elements, count: int, root: float, stations: Sequence[float]
) -> list[ShapeMode]:
    """Return static modes of the stations and natural modes with all of them held."""
    held = grid.of_node(root)
    ends = sorted({k for x in stations for k in grid.of_node(x)} - set(held))
    inner = np.setdiff1d(np.arange(len(grid.M)), [*held, *ends])
    K = grid.K
    out = []
    for end in ends:
        values = np.zeros(len(K))
        values[end] = 1.0
        if len(inner):
            values[inner] = -np.linalg.solve(K[np.ix_(inner, inner)], K[inner, end])
        out.append(grid.mode(_scaled(values, grid.unknowns)))
    return out + (_held(grid, count, [*held, *ends]) if count else [])


def natural(beam: Beam, modes: list[ShapeMode]) -> list[ShapeMode]:
    """Return the natural modes of the span of some modes of one direction (Ritz)."""
    if not modes:
        return []
    M, K = matrices(beam, modes)
    size = np.sqrt(np.diag(M))
    _, vectors = lowest(M / np.outer(size, size), K / np.outer(size, size), len(modes))
    x = np.linspace(0.0, beam.length, 401)
    out = []
    for column in (vectors / size[:, None]).T:
        functions = tuple(mode.function for mode in modes)
        f = Sum(functions, tuple(column.tolist())).at(x).f
        factors = column / f[np.abs(f).argmax()]
        out.append(ShapeMode(modes[0].direction, Sum(functions, tuple(factors.tolist()))))
    return out


def matrices(beam: Beam, modes: Sequence[ShapeMode]) -> tuple[Floats, Floats]:
    """Return M and K (n, n) of modes of any directions, the link's frame at rest."""
    x, weight = gauss(intervals(beam.breaks, *(nodes_of(mode.function) for mode in modes)))
    at, n = beam.at(x), len(modes)
    M, K = np.zeros((n, n)), np.zeros((n, n))
    stiff = {
        "axial": at.EA, "bending_y": at.EIz, "bending_z": at.EIy, "torsion": at.GJ
    }  # fmt: skip
    rotary = np.stack([at.rotary_y + at.rotary_z, at.rotary_y, at.rotary_z], axis=1)
    for i, a in enumerate(modes):
        for j, b in enumerate(modes):
            if a.direction != b.direction:
                continue
            moved = (a.displacement(x) * b.displacement(x)).sum(axis=1) * at.mass
            turned = (a.rotation(x) * b.rotation(x) * rotary).sum(axis=1)
            M[i, j] = weight @ (moved + turned)
            K[i, j] = weight @ (stiff[a.direction] * a.strain(x) * b.strain(x))
    return M, K


def nodes_of(function: Function) -> Floats:
    """Return places where a function's derivatives jump."""
    if isinstance(function, Sum):
        return np.concatenate([np.zeros(0), *(nodes_of(part) for part in function.functions)])
    return np.asarray(getattr(function, "nodes", ()), dtype=np.float64)


def _scaled(values: Floats, unknowns: int) -> Floats:
    deflections = values[::unknowns]
    largest = deflections[np.abs(deflections).argmax()]
    return np.asarray(values / (largest if largest != 0.0 else np.abs(values).max()))


def _enough(count: int, available: int) -> None:
    if count > available:
        raise ModelError(
            f"modes: {count} asked for, but so few elements have only {available}; use more "
            f"elements"
        )
