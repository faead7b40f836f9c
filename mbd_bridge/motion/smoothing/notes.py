"""Sentences about the noise of a motion, and what was done about it."""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.base.errors import NAMED, count, some
from mbd_bridge.motion.smoothing.records import CoordinateNoise, MotionNoise

METHODS = {
    "auto": "smoothing splines",
    "spline": "smoothing splines",
    "savgol": "Savitzky-Golay filters",
    "lowpass": "Butterworth low-pass filters, run forwards and backwards",
}


def noise_notes(noise: MotionNoise, coordinates: int) -> list[str]:
    """Return a sentence about the clock, and one about each kind of coordinate that was smoothed.

    Parameters
    ----------
    coordinates : how many the model has
    """
    found = []
    if noise.clock is not None:
        clock = noise.clock
        found.append(
            f"time stamps jitter by {clock.jitter * 1e3:.2g} ms (standard deviation) about an even "
            f"clock of {1.0 / clock.period:.5g} Hz; its times are used"
        )
    smoothed = [one for one in noise.coordinates if one.smoothed]
    for unit in dict.fromkeys(one.unit for one in smoothed):
        part = [one for one in smoothed if one.unit == unit]
        found.append(_sentence(noise, part, unit, coordinates))
    poles = {one.name: one.filtered[0] for one in noise.coordinates if one.filtered}
    if poles:
        span = _span(min(poles.values()), max(poles.values()))
        found.append(
            f"positions look as if a low-pass filter of order 2 at {span} Hz had been before the "
            f"recording, or a drive of this frequency: {some(list(poles))}; bands hold what "
            f"a filter took away"
        )
    return [*found, *noise.doubts]


def fluctuation_doubts(coordinates: Sequence[CoordinateNoise]) -> tuple[str, ...]:
    """Return a sentence about coordinates that fluctuate all along, far above their motion."""
    part = [one for one in coordinates if one.fluctuates is not None]
    bands = [one.fluctuates for one in part if one.fluctuates is not None]
    if not bands:
        return ()
    sizes = "; ".join(
        f"{one.name} by {size:.2g} {one.unit}"
        for one, (_, _, size) in zip(part[:NAMED], bands, strict=False)
    )
    more = f"; and {count(len(part) - NAMED, 'more coordinate')}" if len(part) > NAMED else ""
    low, high = min(low for low, _, _ in bands), max(high for _, high, _ in bands)
    return (
        f"at {low:.2g} to {high:.2g} Hz there are fluctuations (RMS) all along: {sizes}{more}; "
        f"noise that was filtered before it was recorded looks like this, and like motion: bands "
        f"are wider by it; if it is noise, smooth it with cutoff= (--cutoff) below {low:.2g} Hz",
    )


def _sentence(
    noise: MotionNoise, part: Sequence[CoordinateNoise], unit: str, coordinates: int
) -> str:
    names = some([one.name for one in part])
    if len(part) == coordinates > 1:
        names = f"all {count(coordinates, 'coordinate')}"
    text = f"rates of {names} by {METHODS[noise.method]}, cut-off {_range(part, 'cutoff')} Hz"
    text += f": noise of {_range(part, 'sigma')} {unit} (standard deviation)"
    rounded = [one for one in part if one.step > 0.0]
    if rounded:
        text += f", rounded to {_range(rounded, 'step')} {unit}"
    if held := [one.name for one in part if one.held]:
        text += f"; the recorder repeats values until new ones come, copies of {some(held)} "
        text += "are not used"
    if wild := [one.name for one in part if one.glitches]:
        samples = count(sum(one.glitches for one in part), "single sample")
        text += f"; {samples} of {some(wild)} far from the neighbours not used"
    if any(one.velocity_sigma is not None for one in part):
        both = [one for one in part if one.velocity_sigma is not None]
        text += (
            f"; with the measured velocities, known to {_range(both, 'velocity_sigma')} {unit}/s"
        )
    if late := [one for one in part if one.velocity_apart > 0.0]:
        text += (
            f"; measured velocities of {some([one.name for one in late])} are not used: "
            f"they are {_range(late, 'velocity_apart')} {unit}/s (RMS) from the positions' rates, "
            f"more than their noise (filtered, late, or in other units?)"
        )
    return text


def _range(part: Sequence[CoordinateNoise], what: str) -> str:
    values = [float(getattr(one, what)) for one in part]
    return _span(min(values), max(values))


def _span(least: float, most: float) -> str:
    low, high = f"{least:.2g}", f"{most:.2g}"
    return low if low == high else f"{low} to {high}"
