"""What a user holds and calls; what few need is imported at its first use (`mbd_bridge`)."""

from mbd_bridge import forces
from mbd_bridge.api.deflections import deflections
from mbd_bridge.api.functions import (
    assemble_batch,
    crosscheck,
    load,
    load_external,
    load_history,
    load_loads,
    load_motion,
)
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.pictures import render, show, web_view
from mbd_bridge.api.reports import report
from mbd_bridge.api.sections import section_loads
from mbd_bridge.api.sensors import compensate_sensors
from mbd_bridge.forces.outside import Input
from mbd_bridge.simulate.batch.run import simulate_batch
from mbd_bridge.simulate.equations import Equations
from mbd_bridge.simulate.inputs.signal import Sampled
from mbd_bridge.simulate.right_hand_side import right_hand_side
from mbd_bridge.simulate.run.driver import simulate
from mbd_bridge.simulate.steps.source import step_source
from mbd_bridge.simulate.system import System

__all__ = [
    "Equations",
    "Input",
    "Mechanism",
    "Sampled",
    "System",
    "assemble_batch",
    "compensate_sensors",
    "crosscheck",
    "deflections",
    "forces",
    "load",
    "load_external",
    "load_history",
    "load_loads",
    "load_motion",
    "render",
    "report",
    "right_hand_side",
    "section_loads",
    "show",
    "simulate",
    "simulate_batch",
    "step_source",
    "web_view",
]
