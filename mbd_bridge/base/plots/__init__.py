"""Pictures of plain arrays with names and units: lines along time, torque over speed, directions.

Nothing here knows mechanisms. Functions draw into axes that they are given, or into a new figure,
and return the axes; they show nothing and change no settings of matplotlib's.
"""

from mbd_bridge.base.plots.lines import Panel, PlotLine, draw_panels
from mbd_bridge.base.plots.polar import Rose, draw_rose
from mbd_bridge.base.plots.spectrum import SpectrumPanel, Steps, draw_spectra
from mbd_bridge.base.plots.style import axes_for, drawing, explain, style
from mbd_bridge.base.plots.torque_speed import LimitCurve, TorqueSpeed, draw_torque_speed

__all__ = [
    "LimitCurve",
    "Panel",
    "PlotLine",
    "Rose",
    "SpectrumPanel",
    "Steps",
    "TorqueSpeed",
    "axes_for",
    "draw_panels",
    "draw_rose",
    "draw_spectra",
    "draw_torque_speed",
    "drawing",
    "explain",
    "style",
]
