"""Random roads by ISO 8608: two tracks of one roughness, more or less alike.

    Φ(Ω) = Φ0 (Ω0/Ω)²,   Ω0 = 1 rad/m,   2π/λ_long <= Ω <= 2π/λ_short
    z(x) = Σ_i a_i cos(Ω_i x + φ_i),   a_i²/2 = ∫ Φ dΩ over the band of the wave i
    right track:  φ_i + s_i arccos c_i instead of φ_i,   s_i = 1 or -1

The φ and s are random. The waves have the period of the length, so that the variance of each track
over it is exactly Φ0 (1/Ω1 - 1/Ω2). The cross spectrum, averaged over neighbouring waves, is c Φ:
the coherence of the tracks is γ² = c².
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import StateError, one_of, whole_number
from mbd_bridge.forces.roads.base import Road, RoadSurface
from mbd_bridge.forces.roads.combined import TwoTracks
from mbd_bridge.forces.roads.profile import MOST_KNOTS, Profile
from mbd_bridge.model.spatial import Array

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
