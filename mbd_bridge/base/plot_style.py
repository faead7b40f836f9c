"""How our pictures look: colours that colour-blind people tell apart, sizes that can be read, fewer
points that look the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.extras import needed
from mbd_bridge.base.readable import shown_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, BLACK = "#CC79A7", "#E69F00", "#56B4E9", "#000000"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Okabe and Ito's, without the yellow that white paper swallows."""
DASHES = ("-", "-.", ":")
"""Styles of lines, when the colours are used up; dashes are for what is not determined."""
UNDETERMINED: dict[str, Any] = {"color": "0.55", "linestyle": (0, (4, 2)), "linewidth": 1.1}
"""What rigid-body mechanics does not determine: grey and dashed."""
UNSURE = "(undetermined)"
"""What its name in a legend ends with."""
FAINT = "0.45"
"""Grey of words that explain, and of lines that limit."""

SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "mbd_bridge",
}


def style() -> AbstractContextManager[None]:
    """Return the context in which our pictures are drawn; settings are as before behind it."""
    context: AbstractContextManager[None] = drawing("matplotlib").rc_context(SETTINGS)
    return context


def drawing(module: str) -> Any:
    """Return a module of matplotlib, which an extra brings."""
    return needed(module, "plots and reports need matplotlib", "mbd_bridge[plots]")


def axes_for(
    count: int,
    columns: int,
    size: tuple[float, float],
    ax: Axes | Sequence[Axes] | None,
    **options: Any,
) -> list[Axes]:
    """Return axes for so many panels: those given, or of a new figure.

    Parameters
    ----------
    columns : panels side by side
    size : of a panel, inches
    ax : one for each panel
    options : of `matplotlib.pyplot.subplots`
    """
    if ax is not None:
        given = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
        if len(given) != count:
            raise StateError(
                f"expected {count} axes in ax=, one a panel, got {len(given)}; ask for less, or "
                f"leave ax out"
            )
        if not all(hasattr(one, "plot") for one in given):
            raise StateError(f"ax: expected axes of matplotlib, got {ax!r:.60}")
        return given
    rows = -(-count // columns)
    figure, made = drawing("matplotlib.pyplot").subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows + 0.6),
        layout="constrained",
        squeeze=False,
        **options,
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    found = list(made.ravel())
    for empty in found[count:]:
        empty.remove()
    return found[:count]


def readable_axis(axis: Axis, unit: str, largest: float) -> str:
    """Give an axis over values in an SI unit ticks in the unit that people read; return that unit.

    Parameters
    ----------
    largest : size of the values; with 20,000 N the ticks are in kN
    """
    shown = shown_in(unit, largest)
    if shown.factor != 1.0:
        axis.set_major_formatter(lambda value, _: f"{value * shown.factor:.6g}")
    return shown.unit


def explain(axes: Sequence[Axes], text: str, own_figure: bool) -> None:
    """Write the convention under a picture: under the whole of ours, or under one axis given."""
    if not text:
        return
    figure: Any = axes[0].get_figure()
    if own_figure:
        figure.supxlabel(text, x=0.01, ha="left", fontsize=8.0, color=FAINT)
        return
    for one in axes:
        label = one.get_xlabel()
        one.set_xlabel(f"{label}\n{text}" if label else text)


IN_A_ROW = 4
"""Entries of a legend that fit into a row."""


def legend_above(ax: Axes, title: str) -> None:
    """Write the title, and the legend in a row of its own below it, where it hides nothing.

    A single line that the title names needs no legend; one of many stands beside the panel.
    """
    handles, labels = ax.get_legend_handles_labels()
    ax.yaxis.set_offset_position("right")  # "1e-5" would stand on the legend
    row = len(labels) > 1 or any(label not in title for label in labels)
    ax.set_title(title, pad=17.0 if row and len(labels) <= IN_A_ROW else 5.0)
    if row and len(labels) <= IN_A_ROW:
        where: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.01, 0.99)}
        ax.legend(handles, labels, ncols=len(labels), columnspacing=1.2, borderpad=0.2, **where)
    elif len(labels) > IN_A_ROW:
        where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.05)}
        ax.legend(handles, labels, ncols=1 + len(labels) // 14, **where)


MOST = 8000
"""Points of a line: more than a picture has columns of dots, four for each."""


def envelope(*values: Floats, most: int = MOST) -> NDArray[np.intp]:
    """Return the indices, in order, of the points that are worth drawing.

    The rows are cut into pieces; of each piece the rows with the least and the largest of every
    one of the values stay, and the first and last row of all. So peaks are where they were.

    Parameters
    ----------
    values : (N,) each
    most : rows that are kept at most (up to a few)
    """
    rows = len(values[0])
    if rows <= most:
        return np.arange(rows)
    pieces = max(1, most // (2 * len(values)))
    width = -(-rows // pieces)
    whole = rows // width * width
    kept = [np.array([0, rows - 1])]
    starts = np.arange(0, whole, width)
    for column in values:
        numbers = np.asarray(column, dtype=np.float64)
        cut = numbers[:whole].reshape(-1, width)
        kept += [starts + np.argmin(cut, axis=1), starts + np.argmax(cut, axis=1)]
        if whole < rows:
            rest = numbers[whole:]
            kept.append(whole + np.array([np.argmin(rest), np.argmax(rest)]))
    return np.unique(np.concatenate(kept))


def spread(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the flags spread by one point, so that what is drawn of them joins the others."""
    out = flags.copy()
    out[1:] |= flags[:-1]
    out[:-1] |= flags[1:]
    return out
