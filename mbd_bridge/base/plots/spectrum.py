"""Range spectra: how large the ranges are that so many cycles reach or exceed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.arrays import Floats
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            _draw(one, panel)
        explain(axes, text, own_figure=ax is None)
    return axes


def _draw(ax: Axes, panel: SpectrumPanel) -> None:
    most, drawn = RIGHT, list[Steps]()
    for k, steps in enumerate(panel.steps):
        if not len(steps.ranges):
            continue
        look: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "linestyle": DASHES[k // len(COLOURS) % len(DASHES)],
        }
        name = steps.name
        if any(_coincide(steps, other) for other in drawn):
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


def _coincide(one: Steps, other: Steps) -> bool:
    """Return whether a spectrum is another one's, such as an actuator's and its moment's."""
    same = one.largest == other.largest and len(one.cycles) == len(other.cycles)
    return same and bool(np.array_equal(one.cycles, other.cycles))
