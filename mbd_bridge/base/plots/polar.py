"""Where a force points in a plane along time: which side of a bearing carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.plots.decimate import envelope
from mbd_bridge.base.plots.style import BLUE, UNDETERMINED, VERMILION, readable_axis
from mbd_bridge.base.readable import quantity

if TYPE_CHECKING:
    from matplotlib.projections.polar import PolarAxes


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
