"""Pictures of a motion along time: coordinates and their rates, with units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mbd_bridge.base.arguments import chosen_names, known_name
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plots import Panel, PlotLine, draw_panels
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, RATE, model_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes


QUANTITIES = ("q", "v", "a", "tau")
WORDS = {"rad": ("angle", "angular velocity", "angular acceleration", "torque")}
WORDS |= {"m": ("displacement", "velocity", "acceleration", "force")}
WORDS |= {"1": ("quaternion", "", "", "")}
LINES = 9
"""Lines of a panel: more names would not stand beside it, and more colours not be told apart."""


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
    known = sorted({*model.coordinate_names, *model.velocity_names, *model.joint_index})
    kind, kinds = "coordinate or joint", "coordinates or joints"
    wanted = {*chosen_names("names", names, known, kind, kinds=kinds)}
    of_q, of_v = model_units(model)
    panels = []
    for what, values in parts.items():
        place = QUANTITIES.index(known_name("quantity", what, QUANTITIES))
        own, units = (model.coordinate_names, of_q) if what == "q" else (model.velocity_names, of_v)
        for unit in dict.fromkeys(units):
            lines = tuple(
                PlotLine(name, values[:, k])
                for k, name in enumerate(own)
                if units[k] == unit and _is_of(name, wanted)
            )
            if lines:
                label = FORCE_UNIT[unit] if what == "tau" else unit + RATE[place]
                title = f"{model.name}: {WORDS[unit][place]}"
                pieces = -(-len(lines) // LINES)
                for k in range(pieces):
                    part = lines[k * len(lines) // pieces : (k + 1) * len(lines) // pieces]
                    which = f" ({k + 1} of {pieces})" if pieces > 1 else ""
                    word = WORDS[unit][place]
                    panels.append(Panel(title + which, word, label, part, tuple(marks)))
    if not panels:
        raise StateError("there is nothing to draw: these joints have no coordinates")
    return draw_panels(time, "time [s]", panels, ax=ax, size=(8.0, 2.4))


def _is_of(name: str, wanted: set[str]) -> bool:
    return name in wanted or any(name.startswith(f"{joint}.") for joint in wanted)
