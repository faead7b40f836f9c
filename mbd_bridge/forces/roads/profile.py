"""A road whose height along x is given by a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError, one_of, real_number, whole_number
from mbd_bridge.forces.roads.shapes import Road, RoadSurface, TwoTracks
from mbd_bridge.functions import Lookup
from mbd_bridge.model.spatial import Array


@final
@dataclass(frozen=True, eq=False)
class Profile(Road):
    """A road of heights along x, the same at any y; beyond its ends it stays level.

    Parameters
    ----------
    x : (n,) m, increasing; evenly spaced is quicker
    z : (n,) m, heights
    kind : straight lines or a cubic spline between them
    """

    x: ArrayLike = field(repr=False)
    z: ArrayLike = field(repr=False)
    kind: Literal["linear", "cubic"] = "linear"
    _table: Lookup = field(init=False, repr=False)
    _slope: Lookup = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x, z = (finite_numbers(f"Profile: {name}", getattr(self, name)) for name in ("x", "z"))
        table = Lookup(x, z, self.kind)
        values = {"x": x, "z": z, "_table": table, "_slope": table.derivative()}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return the table's value and slope."""
        return RoadSurface(self._table(x), self._slope(x), 0.0)

    @property
    def digest(self) -> str:
        """The table's."""
        return f"Profile {self._table.digest}"


def enveloped(road: Road, radius: float, start: float, stop: float, spacing: float = 0.005) -> Road:
    """Return the road that the lowest point of a rigid, upright disc of a radius meets.

        z(x) = max_u [road(x + u) + √(r² - u²)] - r,   -r <= u <= r

    A wheel touches a bump before its centre is above it. With this road a tyre, which looks at the
    road below its centre, does the same, wherever and at how many points the disc touches.

    Parameters
    ----------
    road : the same at any y, or two tracks that are
    radius : r, m
    start, stop : where the table begins and ends, m
    spacing : of the table, m
    """
    for name, value in (("radius", radius), ("spacing", spacing)):
        real_number(f"enveloped: {name}", value, "a number above 0, m", positive=True)
    if isinstance(road, TwoTracks):
        left, right = (
            enveloped(side, radius, start, stop, spacing) for side in (road.left, road.right)
        )
        return TwoTracks(left, right, road.middle)
    if not isinstance(road, Road) or road.varies_across or any(road.motion):
        raise StateError(
            f"enveloped: expected a road that stays and is the same at any y, or TwoTracks of "
            f"such, got {road!r:.60}; envelop first, then add or move"
        )
    if not (np.isfinite(stop - start) and stop - start > spacing):
        raise StateError(f"enveloped: expected start < stop, m, got {start:g} and {stop:g}")
    reach = int(radius / spacing)
    if (stop - start) / spacing + 2 * reach > MOST_KNOTS:
        raise StateError(f"enveloped: expected at most {MOST_KNOTS} places; try a wider spacing")
    count = int(np.ceil((stop - start) / spacing)) + 1
    x = start + spacing * np.arange(-reach, count + reach)
    heights = np.broadcast_to(np.asarray(road(x, 0.0), dtype=float), x.shape)
    found = np.full(count, -np.inf)
    for k in range(-reach, reach + 1):
        rim = np.sqrt(max(radius**2 - (k * spacing) ** 2, 0.0)) - radius
        found = np.maximum(found, heights[reach + k : reach + k + count] + rim)
    return Profile(x[reach : reach + count], found)


MOST_KNOTS = 1_000_000
"""Places of a table that a road may have: 64 MB of machine code's constants."""


# Random roads by ISO 8608: two tracks of one roughness, more or less alike.
#
#     Φ(Ω) = Φ0 (Ω0/Ω)²,   Ω0 = 1 rad/m,   2π/λ_long <= Ω <= 2π/λ_short
#     z(x) = Σ_i a_i cos(Ω_i x + φ_i),   a_i²/2 = ∫ Φ dΩ over the band of the wave i
#     right track:  φ_i + s_i arccos c_i instead of φ_i,   s_i = 1 or -1
#
# The φ and s are random. The waves have the period of the length, so that the variance of each
# track over it is exactly Φ0 (1/Ω1 - 1/Ω2). The cross spectrum, averaged over neighbouring waves,
# is c Φ: the coherence of the tracks is γ² = c².

ROUGHNESS = {name: 1e-6 * 4.0**k for k, name in enumerate("ABCDEFGH")}
"""Φ0 at 1 rad/m by class, m³: the geometric mean of each class of ISO 8608."""

WAVELENGTHS = (0.3, 20.0)
"""m, shortest and longest wave: a tyre passes over shorter ones, a hill is longer."""

PLACES_PER_WAVE = 8
"""Knots of the cubic table to the shortest wave: errors below 1e-3 of its height."""


@final
@dataclass(frozen=True, eq=False)
class RandomRoad(Road):
    """A rough road of a class of ISO 8608.

    Parameters
    ----------
    roughness : the class "A" (very good) to "H" (very poor), or Φ0 in m³
    seed : another one is another road
    length : m, from `start`; before and behind the road is level
    start : m
    coherence : γ² of the two tracks, 0 ... 1; or "isotropic", as of a road that is equally rough in
        all directions, under wheels `track` apart
    track : distance between the tracks, m, for "isotropic"
    wavelengths : shortest and longest, m
    middle : y that parts the tracks, m
    """

    roughness: str | float = "C"
    seed: int = 0
    length: float = 200.0
    start: float = 0.0
    coherence: float | Literal["isotropic"] = 0.0
    track: float = 1.5
    wavelengths: tuple[float, float] = WAVELENGTHS
    middle: float = 0.0
    _tracks: TwoTracks = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.roughness, str):
            one_of("RandomRoad: roughness", self.roughness, ROUGHNESS, StateError, ", or Φ0 in m³")
        else:
            self._number("roughness", "m³", positive=True)
        whole_number("RandomRoad: seed", self.seed, least=0)
        for name in ("length", "track"):
            self._number(name, "m", positive=True)
        self._number("start", "m")
        self._numbers("wavelengths", (2,))
        short, long = self.wavelengths
        if not 0.0 < short < long <= self.length:
            raise StateError(
                f"RandomRoad: wavelengths: expected shortest, longest, m, above 0 and at most the "
                f"length, {self.length:g} m, got {self.wavelengths}"
            )
        if self.length / short * PLACES_PER_WAVE > MOST_KNOTS:
            raise StateError(
                f"RandomRoad: length: expected at most {MOST_KNOTS // PLACES_PER_WAVE} of the "
                f"shortest waves, got {self.length:g} m"
            )
        if self.coherence != "isotropic":
            self._number("coherence", "0 ... 1 or 'isotropic'")
            if not 0.0 <= self.coherence <= 1.0:
                raise StateError(f"RandomRoad: coherence: expected 0 ... 1, got {self.coherence:g}")
        left, right = (self._profile(waves) for waves in self._waves())
        object.__setattr__(self, "_tracks", TwoTracks(left, right, self.middle))

    def _profile(self, waves: NDArray[np.complex128]) -> Profile:
        """Return the table of the sum of waves at multiples of 2π/length."""
        count = int(np.ceil(self.length / self.wavelengths[0] * PLACES_PER_WAVE))
        spectrum = np.zeros(count // 2 + 1, dtype=complex)
        spectrum[: len(waves)] = 0.5 * count * waves
        z = np.fft.irfft(spectrum, count)
        x = self.start + self.length / count * np.arange(count + 1)
        return Profile(x, np.append(z, z[0]), "cubic")

    def _waves(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Return a exp(i φ), m, of the waves of both tracks at multiples of 2π/length."""
        rough = self.roughness
        level = ROUGHNESS[rough] if isinstance(rough, str) else rough
        first, last = (2.0 * np.pi / wave for wave in reversed(self.wavelengths))
        width = 2.0 * np.pi / self.length
        number = np.arange(int(np.ceil(last / width + 0.5)))
        low = np.clip((number - 0.5) * width, first, last)
        high = np.clip((number + 0.5) * width, first, last)
        amplitude = np.sqrt(2.0 * level * (1.0 / low - 1.0 / high))
        random = np.random.default_rng(self.seed).random((2, len(number)))
        left = amplitude * np.exp(2j * np.pi * random[0])
        turn = np.arccos(self._correlation(np.maximum(number * width, 0.5 * width)))
        return left, left * np.exp(1j * np.where(random[1] < 0.5, turn, -turn))

    def _correlation(self, omega: Array) -> Array:
        """Return c of each wave.

        For Φ ~ Ω^-2 that is isotropic, the tracks' cross spectrum over their spectrum is u K1(u),
        u = Ω track, with the modified Bessel function K1 (Kamash and Robson 1978).
        """
        if self.coherence != "isotropic":
            return np.full(omega.shape, np.sqrt(self.coherence))
        from scipy.special import k1  # here: importing mbd_bridge loads no SciPy

        u = omega * self.track
        return np.asarray(np.minimum(u * k1(u), 1.0))

    def surface(self, x: Any, y: Any, t: Any = 0.0) -> RoadSurface:
        """Return that of the track at y."""
        return self._tracks.surface(x, y, t)

    @property
    def tracks(self) -> TwoTracks:
        """The two tracks as tables."""
        return self._tracks

    @property
    def digest(self) -> str:
        """The tables'."""
        return f"RandomRoad {self._tracks.digest}"

    @property
    def varies_across(self) -> bool:
        """Yes."""
        return True
