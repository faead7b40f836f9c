"""Torque over speed: what a motor and its gears must be able to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.plots.decimate import envelope, spread
from mbd_bridge.base.plots.style import BLACK, BLUE, FAINT, ORANGE, VERMILION, readable_axis
from mbd_bridge.base.readable import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RPM = 30.0 / np.pi
"""Turns a minute in a rad/s."""
_RPM_AND_BACK: Any = (lambda speed: speed * RPM, lambda turns: turns / RPM)
FAR = 2.5
"""A limit so many times what is used lies outside of the picture, which shows what is used."""


@dataclass(frozen=True)
class LimitCurve:
    """A limit of the effort over the speed, the same for both signs.

    Attributes
    ----------
    name : "continuous", "peak"
    speed : growing from 0; inf at the end: it goes on as far as the picture
    effort : at these speeds
    """

    name: str
    speed: tuple[float, ...]
    effort: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TorqueSpeed:
    """An actuator along a motion.

    Attributes
    ----------
    name : of the actuation
    time : (N,) s
    effort, effort_unit : (N,) "N m" or "N"
    speed, speed_unit : (N,) "rad/s" or "m/s"
    most_effort, most_speed : limits, None where there are none
    limits_of : whose limits they are, for the legend
    mean_square : root of the mean square of the effort, where it is known; None: over the rows
    curves : limits over the speed
    """

    name: str
    time: Floats
    effort: Floats
    speed: Floats
    effort_unit: str = "N m"
    speed_unit: str = "rad/s"
    most_effort: float | None = None
    most_speed: float | None = None
    limits_of: str = "of the file"
    mean_square: float | None = None
    curves: tuple[LimitCurve, ...] = ()

    @property
    def turns(self) -> bool:
        """Whether it is a rotation."""
        return self.speed_unit == "rad/s"

    @property
    def power(self) -> Floats:
        """What the actuation gives, (N,) W; negative where it takes."""
        return np.asarray(self.effort * self.speed)

    @property
    def rms(self) -> float:
        """Root of the mean square of the effort."""
        if self.mean_square is not None:
            return self.mean_square
        return float(np.sqrt(np.mean(self.effort**2)))


def draw_torque_speed(ax: Axes, curve: TorqueSpeed) -> None:
    """Draw one actuator: where it motors and brakes, peak, RMS, the largest power either way, and
    its limits.
    """
    kept = envelope(curve.effort, curve.speed)
    speed, effort = curve.speed[kept], curve.effort[kept]
    braking = curve.power[kept] < 0.0
    unit = curve.effort_unit
    ax.axhline(0.0, color="0.75", linewidth=0.8, zorder=0.5)
    ax.axvline(0.0, color="0.75", linewidth=0.8, zorder=0.5)
    ax.plot(speed, np.where(spread(~braking), effort, np.nan), color=BLUE, label="motoring")
    if braking.any():
        ax.plot(speed, np.where(braking, effort, np.nan), color=ORANGE, label="braking")
    peak = int(np.argmax(np.abs(curve.effort)))
    what = "torque" if curve.turns else "force"
    ax.plot(
        curve.speed[peak],
        curve.effort[peak],
        "o",
        color=VERMILION,
        markersize=6,
        zorder=3,
        label=f"peak {quantity(curve.effort[peak], unit, digits=4)} at {curve.time[peak]:.4g} s",
    )
    ways = (("motoring", "s", curve.power), ("braking", "D", -curve.power))
    for what_it_does, mark, power in ways:
        strongest = int(np.argmax(power))
        if power[strongest] > 0.0:
            said = quantity(float(power[strongest]), "W", digits=4)
            ax.plot(
                curve.speed[strongest],
                curve.effort[strongest],
                mark,
                color=BLACK,
                markersize=5,
                zorder=3,
                label=f"{what_it_does} {said} at {curve.time[strongest]:.4g} s",
            )
    for sign in (1.0, -1.0):
        ax.axhline(
            sign * curve.rms,
            color=VERMILION,
            linestyle=":",
            linewidth=1.1,
            label=f"RMS {quantity(curve.rms, unit, digits=4)}" if sign > 0.0 else None,
        )
    _limits(ax, curve)
    ax.set_title(curve.name)
    ax.set_xlabel(f"speed [{curve.speed_unit}]")
    ax.set_ylabel(f"{what} [{readable_axis(ax.yaxis, unit, np.abs(curve.effort).max())}]")
    if curve.turns:
        top = ax.secondary_xaxis("top", functions=_RPM_AND_BACK)
        top.set_xlabel("speed [rpm]", fontsize=8.0, color=FAINT)
        top.tick_params(labelsize=8.0, labelcolor=FAINT, color=FAINT)
    ax.legend(loc="upper left", bbox_to_anchor=(-0.03, -0.17), ncols=1, labelspacing=0.3)


def _limits(ax: Axes, curve: TorqueSpeed) -> None:
    """Draw what is allowed, and say how much of it is used."""
    look: dict[str, Any] = {"color": FAINT, "linestyle": "--", "linewidth": 1.0}
    words = []
    for limit, values, unit, line, frame in (
        (curve.most_effort, curve.effort, curve.effort_unit, ax.axhline, ax.set_ylim),
        (curve.most_speed, curve.speed, curve.speed_unit, ax.axvline, ax.set_xlim),
    ):
        largest = float(np.abs(values).max())
        extent = 1.15 * largest or 1.0
        if limit is not None:
            used = f" ({largest / limit:.0%} used)" if limit else ""
            words.append(f"{quantity(limit, unit, digits=4)}{used}")
            for sign in (1.0, -1.0):
                line(sign * limit, **look)
            if limit <= FAR * largest:
                extent = max(extent, 1.1 * limit)
        frame(-extent, extent)
    for word in words:
        ax.plot([], [], label=f"limit {curve.limits_of} {word}", **look)
    _curves(ax, curve)


def _curves(ax: Axes, curve: TorqueSpeed) -> None:
    """Draw limits over the speed, in all quarters."""
    right = ax.get_xlim()[1]
    for one, dashes in zip(curve.curves, ("-.", "-"), strict=False):
        speed = np.minimum(np.array(one.speed), right)
        effort = np.array(one.effort)
        if one.speed[-1] < np.inf:  # it ends there
            speed, effort = np.append(speed, speed[-1]), np.append(effort, 0.0)
        both = np.concatenate([-speed[::-1], speed])
        size = np.concatenate([effort[::-1], effort])
        look: dict[str, Any] = {"color": FAINT, "linestyle": dashes, "linewidth": 1.2}
        number = quantity(float(effort.max()), curve.effort_unit, digits=4)
        level = effort.max() == effort[: len(one.effort)].min()
        said = f"{one.name} {curve.limits_of} {'' if level else 'up to '}{number}"
        ax.plot(both, size, label=said, **look)
        ax.plot(both, -size, **look)
        top, height = ax.get_ylim()[1], 1.1 * float(effort.max())
        if top < height < FAR * FAR * top:
            ax.set_ylim(-height, height)
