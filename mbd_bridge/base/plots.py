"""Pictures of plain arrays with names and units: lines along time, torque over speed, directions of
forces, spectra.

Nothing here knows mechanisms. Functions draw into axes that they are given, or into a new figure,
and return the axes; they show nothing and change no settings of matplotlib's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.plot_style import (
    BLACK,
    BLUE,
    COLOURS,
    DASHES,
    FAINT,
    ORANGE,
    UNDETERMINED,
    UNSURE,
    VERMILION,
    axes_for,
    envelope,
    explain,
    legend_above,
    readable_axis,
    spread,
    style,
)
from mbd_bridge.base.readable import instant, on_clock, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.projections.polar import PolarAxes

# Panels of lines over a common axis, such as the components of a load along time.

STILL = 1e-9
"""rad, m, their rates and shares: less is what rounding leaves. Loads have their own."""

HIDDEN = 3e-3
"""Share of a line's span within which another line lies on it."""


@dataclass(frozen=True, eq=False)
class PlotLine:
    """One quantity.

    Attributes
    ----------
    name : in the legend
    values : (N,)
    determined : whether rigid-body mechanics determines it: always, or (N,) at each point
    dots : draw the points, not what joins them
    band : (N,) half the width of a band about the values, or None
    """

    name: str
    values: Floats
    determined: bool | Flags = True
    dots: bool = False
    band: Floats | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines that share axes.

    Attributes
    ----------
    title, quantity, unit : e.g. "elbow", "force", "N"
    lines : drawn in order; none leaves the place empty, with the title
    marks : names and places on the horizontal axis that are marked with upright lines
    floor : size up to which values are rounding errors: a panel of such has an axis that says so
    """

    title: str
    quantity: str
    unit: str
    lines: tuple[PlotLine, ...]
    marks: tuple[tuple[str, float], ...] = field(default=())
    floor: float = STILL

    @property
    def label(self) -> str:
        """Quantity and unit: ``force [N]``."""
        return f"{self.quantity} [{self.unit}]"

    @property
    def largest(self) -> float:
        """Size of the largest value."""
        sizes = (np.abs(line.values).max(initial=0.0) for line in self.lines)
        return float(max(sizes, default=0.0))


def draw_panels(
    x: Floats,
    label: str,
    panels: Sequence[Panel],
    *,
    columns: int = 1,
    text: str = "",
    ax: Axes | Sequence[Axes] | None = None,
    size: tuple[float, float] | None = None,
) -> list[Axes]:
    """Draw panels, and return their axes.

    Parameters
    ----------
    x : (N,), common to all; stamps of a clock are drawn from the first one on, as `on_clock`
    label : of the horizontal axis, with its unit
    columns : panels side by side
    text : stands under the picture: the convention
    ax : axes to draw into, one a panel
    size : of a panel, inches
    """
    origin = on_clock(0.0, x[0]) if len(x) else 0.0
    if origin:
        x, label = x - origin, f"{label} after {instant(origin)}"
        marked = [[(name, place - origin) for name, place in one.marks] for one in panels]
        panels = [replace(one, marks=tuple(own)) for one, own in zip(panels, marked, strict=True)]
    inches = size or ((7.5, 2.3) if columns == 1 else (4.3, 2.2))
    with style():
        axes = axes_for(len(panels), columns, inches, ax, sharex=True)
        for k, (one, panel) in enumerate(zip(axes, panels, strict=True)):
            _draw(one, x, panel)
            below = panels[k + columns : k + columns + 1]
            if panel.lines and (ax is not None or not below or not below[0].lines):
                one.set_xlabel(label)
                one.xaxis.set_tick_params(labelbottom=True)
        explain(axes, text, own_figure=ax is None)
    return axes


def _draw(ax: Axes, x: Floats, panel: Panel) -> None:
    if not panel.lines:
        ax.set_axis_off()
        ax.set_title(panel.title, color=FAINT)
        return
    for k, line in enumerate(panel.lines):
        colour, dashes = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
        look: dict[str, Any] = {"color": colour, "linestyle": dashes}
        if any(_coincide(line, other) for other in panel.lines[:k]):
            look["linestyle"] = (0, (7, 5))  # through the gaps the other one is seen
        if line.dots:
            look |= {"linestyle": "none", "marker": ".", "markersize": 3.0}
        kept = envelope(line.values)
        flags = np.broadcast_to(line.determined, line.values.shape)[kept]
        there, values = x[kept], line.values[kept]
        if flags.any():
            ax.plot(there, np.where(flags, values, np.nan), label=line.name, **look)
        if line.band is not None:
            off = np.where(flags, line.band[kept], np.nan)
            ax.fill_between(there, values - off, values + off, color=colour, alpha=0.25, lw=0.0)
        if not flags.all():
            name = f"{line.name} {UNSURE}"
            rest = np.where(spread(~flags), values, np.nan)
            ax.plot(there, rest, label=name, zorder=1.9, **UNDETERMINED)
    for name, place in panel.marks:
        ax.axvline(place, color="0.6", linewidth=0.8)
        ax.annotate(
            f" {name}", (place, 0.98), xycoords=("data", "axes fraction"), va="top", fontsize=7.5
        )
    if len(x) == 1:
        for drawn in ax.lines:
            drawn.set_marker("o")
    unit = readable_axis(ax.yaxis, panel.unit, panel.largest)
    ax.set_ylabel(replace(panel, unit=unit).label)
    ax.margins(x=0.01)
    _no_magnified_zero(ax, panel)
    legend_above(ax, panel.title)


def _coincide(one: PlotLine, other: PlotLine) -> bool:
    """Return whether a line hides another one."""
    span = float(np.ptp(other.values)) or float(np.abs(other.values).max())
    return bool(np.abs(one.values - other.values).max() < HIDDEN * span)


def _no_magnified_zero(ax: Axes, panel: Panel) -> None:
    """Keep rounding errors around zero from filling the panel."""
    if panel.largest <= panel.floor:
        ax.set_ylim(-1.0, 1.0)


# Torque over speed: what a motor and its gears must be able to do.

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


# Where a force points in a plane along time: which side of a bearing carries it.


@dataclass(frozen=True, eq=False)
class Rose:
    """A force in a plane along time.

    Attributes
    ----------
    name : whose force
    time : (N,) s, or the number of the state
    first, second : (N,) N, along the two axes of the plane
    axes : their names
    determined : whether both are
    """

    name: str
    time: Floats
    first: Floats
    second: Floats
    axes: tuple[str, str] = ("x", "y")
    determined: bool = True
    unit: str = "N"

    @property
    def size(self) -> Floats:
        """Length of the force in the plane, (N,)."""
        return np.asarray(np.hypot(self.first, self.second))

    @property
    def angle(self) -> Floats:
        """Direction, (N,) rad, from the first axis to the second."""
        return np.asarray(np.arctan2(self.second, self.first))


def draw_rose(ax: PolarAxes, rose: Rose, text: str = "") -> None:
    """Draw the tip of the force as it moves, its peak and its RMS as a circle.

    Parameters
    ----------
    text : stands over the legend: the convention
    """
    kept = envelope(rose.first, rose.second)
    size, angle = rose.size, rose.angle
    if rose.determined:
        ax.plot(angle[kept], size[kept], color=BLUE, linewidth=1.2, label="tip of the force")
    else:
        ax.plot(angle[kept], size[kept], label="tip of the force (undetermined)", **UNDETERMINED)
    peak = int(np.argmax(size))
    largest = quantity(size[peak], rose.unit, digits=4)
    degrees = round(float(np.degrees(angle[peak]))) % 360
    ax.plot(
        angle[peak],
        size[peak],
        "o",
        color=VERMILION,
        markersize=6,
        zorder=3,
        label=f"peak {largest} at {degrees}°, {rose.time[peak]:.4g} s",
    )
    rms = float(np.sqrt(np.mean(size**2)))
    around = np.linspace(0.0, 2.0 * np.pi, 181)
    ax.plot(
        around,
        np.full_like(around, rms),
        color=VERMILION,
        linestyle=":",
        linewidth=1.1,
        label=f"RMS {quantity(rms, rose.unit, digits=4)}",
    )
    first, second = rose.axes
    names = [f"{first}+", "45°", f"{second}+", "135°", f"{first}-", "225°", f"{second}-", "315°"]
    ax.set_xticks(np.arange(8) * np.pi / 4.0, names)
    ax.set_ylim(0.0, 1.08 * float(size.max()) or 1.0)
    ax.set_rlabel_position(22.5)
    ax.tick_params(axis="y", labelsize=7.5)
    unit = readable_axis(ax.yaxis, rose.unit, float(size.max()))
    ax.set_title(f"{rose.name}: force [{unit}]", pad=12.0, loc="center")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), labelspacing=0.3, title=text)


# Range spectra: how large the ranges are that so many cycles reach or exceed.

LEFT = 0.3
"""Cycles where the axis begins: half of one is the smallest count."""
RIGHT = 10.0
"""Cycles up to which the axis goes at least."""
SEEN_THROUGH: Any = (0, (5, 4))
"""Dashes of a line that lies on another one."""


@dataclass(frozen=True, eq=False)
class Steps:
    """One spectrum.

    Attributes
    ----------
    name : in the legend
    ranges : (K,) growing lower edges of bins
    cycles : (K,) that have at least this range
    largest : the largest range
    determined : whether rigid-body mechanics determines it
    """

    name: str
    ranges: Floats
    cycles: Floats
    largest: float
    determined: bool = True


@dataclass(frozen=True, eq=False)
class SpectrumPanel:
    """Spectra that share axes: title, unit of the ranges, and the spectra."""

    title: str
    unit: str
    steps: tuple[Steps, ...]


def draw_spectra(
    panels: Sequence[SpectrumPanel],
    *,
    columns: int = 1,
    text: str = "",
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw spectra, ranges over cycles (logarithmic), and return the axes.

    Parameters
    ----------
    columns : panels side by side
    text : stands under the picture: the convention
    ax : axes to draw into, one a panel
    """
    with style():
        axes = axes_for(len(panels), columns, (4.3, 2.8), ax)
        for one, panel in zip(axes, panels, strict=True):
            _draw_spectrum(one, panel)
        explain(axes, text, own_figure=ax is None)
    return axes


def _draw_spectrum(ax: Axes, panel: SpectrumPanel) -> None:
    most, drawn = RIGHT, list[Steps]()
    for k, steps in enumerate(panel.steps):
        if not len(steps.ranges):
            continue
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "linestyle": DASHES[k // len(COLOURS) % len(DASHES)],
        }
        name = steps.name
        if any(_steps_coincide(steps, other) for other in drawn):
            look["linestyle"] = SEEN_THROUGH
        if not steps.determined:
            look, name = dict(UNDETERMINED), f"{name} {UNSURE}"
        x = np.concatenate([[LEFT], steps.cycles[::-1]])
        y = np.concatenate([[steps.largest], np.minimum(steps.ranges[::-1], steps.largest)])
        ax.step(x, y, where="post", label=name, **look)
        most = max(most, float(steps.cycles[0]))
        drawn.append(steps)
    ax.set_xscale("log")
    ax.set_xlim(LEFT, 1.2 * most)
    ax.set_xlabel("cycles with at least this range")
    largest = max((one.largest for one in panel.steps), default=0.0)
    ax.set_ylabel(f"range [{readable_axis(ax.yaxis, panel.unit, largest)}]")
    if drawn:
        ax.set_ylim(bottom=0.0)
    else:
        ax.set_yticks([])
        where: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "color": FAINT}
        ax.text(0.5, 0.5, "no cycles", **where)
    legend_above(ax, panel.title)


def _steps_coincide(one: Steps, other: Steps) -> bool:
    """Return whether a spectrum is another one's, such as an actuator's and its moment's."""
    same = one.largest == other.largest and len(one.cycles) == len(other.cycles)
    return same and bool(np.array_equal(one.cycles, other.cycles))
