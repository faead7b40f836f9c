"""Pictures of a simulation: whether the loops stay closed, and where its events are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plot_style import FAINT, legend_above, style
from mbd_bridge.base.plots import Panel, PlotLine, draw_panels
from mbd_bridge.model import Model
from mbd_bridge.simulation.guards.loops import closure
from mbd_bridge.solve.tolerances import ASSEMBLED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.simulation.results.simulation import Simulation

Floats = NDArray[np.float64]

FLOOR = 1e-18
"""Where residuals that are exactly zero are drawn: a logarithmic axis has no zero."""
MARKS = 12
"""As many events of one kind are marked with their name; more would hide the lines."""


def plot_closure(model: Model, time: Floats, q: Floats, *, ax: Axes | None = None) -> Axes:
    """Draw how far the loops are open along time.

    Parameters
    ----------
    time, q : (N,) s and (N, nq)
    """
    if not model.has_loops:
        raise StateError(f"{model.name!r} has no loops, so there is nothing to draw")
    values = np.maximum(closure(model, q), FLOOR)
    lines = (PlotLine("largest residual", values, dots=True),)
    panel = Panel(f"{model.name}: loops", "residual", "of the size", lines)
    text = f"relative to the mechanism's size, {model.size:.4g} m, and to 1 rad"
    (axes,) = draw_panels(time, "time [s]", [panel], text=text, ax=ax, size=(8.0, 3.0))
    with style():
        axes.set_yscale("log")
        axes.set_ylim(min(values.min(), 1e-17) / 2.0, max(values.max(), ASSEMBLED) * 5.0)
        look: dict[str, Any] = {"color": FAINT, "linestyle": "--", "linewidth": 1.0}
        axes.axhline(ASSEMBLED, label=f"{ASSEMBLED:g}: counts as closed", **look)
        legend_above(axes, panel.title)
    return axes


def marks(run: Simulation) -> list[tuple[str, float]]:
    """Return names and times of the events of a run."""
    found = []
    for name, events in run.events.items():
        if len(events.time) <= MARKS:
            found += [(name, float(t)) for t in events.time]
    return found
