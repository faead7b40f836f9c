"""The report's pictures: the machine, loads along time, torque over speed, spectra."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.plot_style import FAINT, VERMILION, drawing, style
from mbd_bridge.base.plots import Panel, PlotLine, draw_panels
from mbd_bridge.loads.streaming import Envelope, LoadHistory
from mbd_bridge.motion.table import FORCES, MOMENTS
from mbd_bridge.reports.page import charts, figure
from mbd_bridge.reports.sizing import Sizing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SVG = "image/svg+xml"
FRAME = (0.155, 0.17, 0.825, 0.64)
"""Left, bottom, width and height of a chart's axes in it: beside them are numbers and words."""
CHART = (4.3, 2.5)
"""Width and height of a chart, inches: words in it are as large as the page's on a phone."""


def machine_picture(picture: NDArray[np.uint8], caption: str) -> str:
    """Return an RGB picture (height, width, 3) as part of the page."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(picture).save(out, format="PNG", optimize=True)
    return figure(out.getvalue(), "image/png", "the machine", caption)


def along_time(history: LoadHistory) -> str:
    """Return force and moment of each joint along time."""
    traces, round_off = history.traces, history.round_off
    drawn = []
    for joint in history.joints:
        for what, unit, names in (
            ("force", "N", FORCES),
            ("moment", "N m", MOMENTS),
        ):
            lines = tuple(
                PlotLine(name, traces.line(full), history[full].determined)
                for name, full in ((name, f"{joint}.{name}") for name in names)
            )
            panel = Panel(joint, what, unit, lines, floor=round_off.floor(unit))
            if panel.largest <= panel.floor:
                continue
            sheet, ax = chart()
            draw_panels(traces.times, "time [s]", [panel], ax=ax)
            drawn.append(svg(sheet, f"{what} of {joint} along time"))
    return charts(drawn)


def torque_over_speed(history: LoadHistory, found: list[Sizing]) -> str:
    """Return, for each actuator, its largest and smallest force at every speed."""
    envelopes = {envelope.name: envelope for envelope in history.envelopes}
    drawn = []
    for one in found:
        with style():
            sheet, ax = chart()
            _envelope(ax, envelopes[one.name], one)
        drawn.append(svg(sheet, f"torque over speed of {one.name}"))
    said = "Between the largest and the smallest at every speed; dotted: RMS; dashed: a near limit."
    return charts(drawn, said)


def _envelope(ax: Any, envelope: Envelope, one: Sizing) -> None:
    rate = "rad/s" if one.unit == "N m" else "m/s"
    speeds, high, low = _without_gaps(envelope)
    ax.stairs(high, speeds, baseline=low, fill=True, alpha=0.35)
    ax.axhline(0.0, color="0.75", linewidth=0.8)
    ax.axvline(0.0, color="0.75", linewidth=0.8)
    for sign in (1.0, -1.0):
        ax.axhline(sign * one.rms, color=VERMILION, linestyle=":", linewidth=1.0)
        if one.effort_limit is not None and one.effort_limit < 2.5 * abs(one.peak):
            ax.axhline(sign * one.effort_limit, color=FAINT, linestyle="--", linewidth=1.0)
    ax.set_title(one.name)
    ax.set_xlabel(f"speed [{rate}]")
    ax.set_ylabel(f"{'torque' if one.unit == 'N m' else 'force'} [{one.unit}]")


def _without_gaps(envelope: Envelope) -> tuple[NDArray[np.float64], ...]:
    """Return edges, largest and smallest in bins so wide that the motion was in each of them."""
    speeds, high, low = envelope.speeds, envelope.largest, envelope.smallest
    while np.isnan(high).any() and len(high) > 1:
        if len(high) % 2:
            speeds = np.append(speeds, 2.0 * speeds[-1] - speeds[-2])
            high, low = np.append(high, np.nan), np.append(low, np.nan)
        speeds = speeds[::2]
        high, low = (
            pick(x.reshape(-1, 2), axis=1)
            for pick, x in ((np.fmax.reduce, high), (np.fmin.reduce, low))
        )
    return speeds, high, low


def chart() -> tuple[Figure, Axes]:
    """Return an empty chart; its margins are fixed, for finding them takes as long as drawing."""
    with style():
        sheet = drawing("matplotlib.figure").Figure(figsize=CHART)
        return sheet, sheet.add_axes(FRAME)


def svg(sheet: Figure, alt: str) -> str:
    """Return a chart as part of the page."""
    out = io.BytesIO()
    with style():
        sheet.savefig(out, format="svg", metadata={"Date": None})
    return figure(out.getvalue(), SVG, alt)
