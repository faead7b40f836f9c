"""Pictures of a motion along time: coordinates and rates, and whether the loops stay closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.loads.units import DRIVE, RATE, model_units
from mbd_bridge.mechanism import Model
from mbd_bridge.plots import Line, Panel, draw_panels
from mbd_bridge.plots.style import FAINT, legend_above, style
from mbd_bridge.simulate.closure import closure
from mbd_bridge.solve.assembly import CLOSED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.simulate.simulation import Simulation

Floats = NDArray[np.float64]

QUANTITIES = ("q", "v", "a", "tau")
WORDS = {"rad": ("angle", "angular velocity", "angular acceleration", "torque")}
WORDS |= {"m": ("displacement", "velocity", "acceleration", "force")}
WORDS |= {"1": ("quaternion", "", "", "")}
FLOOR = 1e-18
"""Where residuals that are exactly zero are drawn: a logarithmic axis has no zero."""
MARKS = 12
"""As many events of one kind are marked with their name; more would hide the lines."""


def plot_motion(
    model: Model,
    time: Floats,
    parts: dict[str, Floats],
    names: Iterable[str] | str | None = None,
    *,
    marks: Sequence[tuple[str, float]] = (),
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw coordinates and their rates along time, angles and lengths in panels of their own.

    Parameters
    ----------
    parts : by "q", "v", "a" or "tau": (N, nq) or (N, nv)
    names : of coordinates or joints; None for all
    marks : names and times, s, of upright lines
    """
    wanted = None if names is None else {names} if isinstance(names, str) else set(names)
    known = {*model.coordinate_names, *model.velocity_names, *model.joint_index}
    for name in wanted or ():
        if name not in known:
            raise StateError(unknown_name("coordinate or joint", name, sorted(known)))
    of_q, of_v = model_units(model)
    panels = []
    for what, values in parts.items():
        if what not in QUANTITIES:
            raise StateError(unknown_name("quantity", what, QUANTITIES))
        place = QUANTITIES.index(what)
        own, units = (model.coordinate_names, of_q) if what == "q" else (model.velocity_names, of_v)
        for unit in dict.fromkeys(units):
            lines = tuple(
                Line(name, values[:, k])
                for k, name in enumerate(own)
                if units[k] == unit and (wanted is None or _is_of(name, wanted))
            )
            if lines:
                label = DRIVE[unit] if what == "tau" else unit + RATE[place]
                word = WORDS[unit][place]
                panels.append(Panel(f"{model.name}: {word}", word, label, lines, tuple(marks)))
    if not panels:
        raise StateError("there is nothing to draw: these joints have no coordinates")
    return draw_panels(time, "time [s]", panels, ax=ax, size=(8.0, 2.4))


def plot_closure(model: Model, time: Floats, q: Floats, *, ax: Axes | None = None) -> Axes:
    """Draw how far the loops are open along time.

    Parameters
    ----------
    time, q : (N,) s and (N, nq)
    """
    if not model.has_loops:
        raise StateError(f"{model.name!r} has no loops, so there is nothing to draw")
    values = np.maximum(closure(model, q), FLOOR)
    lines = (Line("largest residual", values, dots=True),)
    panel = Panel(f"{model.name}: loops", "residual", "of the size", lines)
    text = f"relative to the mechanism's size, {model.size:.4g} m, and to 1 rad"
    (axes,) = draw_panels(time, "time [s]", [panel], text=text, ax=ax, size=(8.0, 3.0))
    with style():
        axes.set_yscale("log")
        axes.set_ylim(min(values.min(), 1e-17) / 2.0, max(values.max(), CLOSED) * 5.0)
        look: dict[str, Any] = {"color": FAINT, "linestyle": "--", "linewidth": 1.0}
        axes.axhline(CLOSED, label=f"{CLOSED:g}: counts as closed", **look)
        legend_above(axes, panel.title)
    return axes


def marks(run: Simulation) -> list[tuple[str, float]]:
    """Return names and times of the events of a run."""
    found = []
    for name, events in run.events.items():
        if len(events.time) <= MARKS:
            found += [(name, float(t)) for t in events.time]
    return found


def _is_of(name: str, wanted: set[str]) -> bool:
    return name in wanted or any(name.startswith(f"{joint}.") for joint in wanted)
