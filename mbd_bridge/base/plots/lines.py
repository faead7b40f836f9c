"""Panels of lines over a common axis, such as the components of a load along time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.plots.decimate import envelope, spread
from mbd_bridge.base.plots.style import (
    COLOURS,
    DASHES,
    FAINT,
    UNDETERMINED,
    UNSURE,
    axes_for,
    explain,
    legend_above,
    readable_axis,
    style,
)
from mbd_bridge.base.readable import instant, on_clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
