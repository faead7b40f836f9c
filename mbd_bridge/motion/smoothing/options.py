"""How positions are smoothed before rates are derived: what a user may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, get_args

from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.motion.options import SmoothMethod

METHODS = get_args(SmoothMethod)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How noise is kept out of velocities and accelerations.

    Attributes
    ----------
    method : "auto", smoothing splines where the data are noisy, interpolation where they are not;
        "spline", smoothing splines for everything that is derived; "savgol", Savitzky-Golay
        filters; "lowpass", Butterworth filters run forwards and backwards; "off", interpolation
    cutoff : Hz, at which a sine is halved; None: what noise and motion ask for
    """

    method: SmoothMethod = "auto"
    cutoff: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise StateError(
                f"smooth: expected one of {', '.join(METHODS)}, got {self.method!r:.60}"
            )
        if self.cutoff is None:
            return
        cutoff = real_number("cutoff", self.cutoff, "a positive frequency in Hz", positive=True)
        object.__setattr__(self, "cutoff", cutoff)
        if self.method == "off":
            raise StateError('cutoff: nothing is smoothed with smooth="off"; leave one of them out')

    @staticmethod
    def of(smooth: Smooth = "auto", cutoff: float | None = None) -> Smoothing:
        """Return the checked options that a call gives."""
        if isinstance(smooth, Smoothing):
            if cutoff is not None:
                raise StateError("cutoff: stands in smooth=Smoothing(...) already")
            return smooth
        method = "off" if smooth is None or smooth is False else smooth
        return Smoothing("auto" if method is True else method, cutoff)


Smooth: TypeAlias = Smoothing | SmoothMethod | bool | None
"""What callers may give for `smooth`: None and False are "off"."""
OFF = Smoothing("off")
