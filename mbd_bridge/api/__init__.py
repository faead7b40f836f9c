"""What a user holds and calls."""

from mbd_bridge import forces
from mbd_bridge.api.functions import (
    assemble_batch,
    crosscheck,
    load,
    load_history,
    load_loads,
    load_motion,
)
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.api.pictures import render, show
from mbd_bridge.api.reports import report
from mbd_bridge.fmu.export import export_fmu
from mbd_bridge.forces import load_forces, save_forces
from mbd_bridge.linear import equilibrium, linearise, plot_eigenvalues, steady_motion
from mbd_bridge.real_time.runner import RealTime
from mbd_bridge.simulate.batch.run import simulate_batch
from mbd_bridge.simulate.equations import Equations
from mbd_bridge.simulate.inputs.signal import Input, Sampled
from mbd_bridge.simulate.right_hand_side import right_hand_side
from mbd_bridge.simulate.run.driver import simulate
from mbd_bridge.simulate.steps.source import step_source
from mbd_bridge.simulate.system import System

__all__ = [
    "Equations",
    "Input",
    "Mechanism",
    "RealTime",
    "Sampled",
    "System",
    "assemble_batch",
    "crosscheck",
    "equilibrium",
    "export_fmu",
    "forces",
    "linearise",
    "load",
    "load_forces",
    "load_history",
    "load_loads",
    "load_motion",
    "plot_eigenvalues",
    "render",
    "report",
    "right_hand_side",
    "save_forces",
    "show",
    "simulate",
    "simulate_batch",
    "steady_motion",
    "step_source",
]
