"""mbd_bridge: the load in any joint of any machine, in machine code made for that machine.

>>> import mbd_bridge as mbd
>>> robot = mbd.load("urdf/kuka_iiwa.urdf")                          # doctest: +SKIP
>>> loads = robot.joint_loads(q, v, a, joints=["lbr_iiwa_joint_3"])  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from mbd_bridge import search_path as search_path  # first: see there

# isort: split
from mbd_bridge import forking as forking  # before a thread can import what takes longer
from mbd_bridge.api import (
    Equations,
    Input,
    Mechanism,
    Sampled,
    System,
    assemble_batch,
    compensate_sensors,
    crosscheck,
    deflections,
    forces,
    load,
    load_external,
    load_history,
    load_loads,
    load_motion,
    render,
    report,
    right_hand_side,
    section_loads,
    show,
    simulate,
    simulate_batch,
    step_source,
    web_view,
)
from mbd_bridge.errors import (
    FileError,
    KernelError,
    MbdError,
    MbdWarning,
    MissingPackageError,
    ModelError,
    NoDisplayError,
    SolveError,
    StateError,
)
from mbd_bridge.external import ExternalForces
from mbd_bridge.flexible import (
    Beam,
    Damping,
    FlexibleLink,
    ModalBasis,
    Modes,
    Section,
    SectionTable,
)
from mbd_bridge.formats.modal import load_modal_basis, save_modal_basis
from mbd_bridge.lazy import imported_at_first_use
from mbd_bridge.loads import JointLoads, LoadRequest, LoadSolver
from mbd_bridge.mechanism import Builder
from mbd_bridge.motions import Motion
from mbd_bridge.simulate import Simulation
from mbd_bridge.simulate.batch.result import SimulationBatch
from mbd_bridge.simulate.steps.schemes import HHT, ExplicitNewmark, GeneralisedAlpha, Newmark

if TYPE_CHECKING:
    from mbd_bridge import actuators, studies
    from mbd_bridge.api.convert import convert
    from mbd_bridge.api.samples import models
    from mbd_bridge.fmu.export import export_fmu
    from mbd_bridge.forces.files import load_forces, save_forces
    from mbd_bridge.formulas.model import symbolic
    from mbd_bridge.linear.linearise import linearise
    from mbd_bridge.linear.pictures import plot_eigenvalues
    from mbd_bridge.linear.steady import equilibrium, steady_motion
    from mbd_bridge.loads.streaming.cases import LoadCase, LoadCases
    from mbd_bridge.real_time.runner import RealTime
    from mbd_bridge.studies.run import study

_PLACES = {
    "LoadCase": "mbd_bridge.loads.streaming.cases",
    "LoadCases": "mbd_bridge.loads.streaming.cases",
    "actuators": "mbd_bridge.actuators",
    "convert": "mbd_bridge.api.convert",
    "RealTime": "mbd_bridge.real_time.runner",
    "equilibrium": "mbd_bridge.linear",
    "export_fmu": "mbd_bridge.fmu.export",
    "linearise": "mbd_bridge.linear",
    "load_forces": "mbd_bridge.forces.files",
    "models": "mbd_bridge.api.samples",
    "plot_eigenvalues": "mbd_bridge.linear",
    "save_forces": "mbd_bridge.forces.files",
    "steady_motion": "mbd_bridge.linear",
    "studies": "mbd_bridge.studies",
    "study": "mbd_bridge.studies",
    "symbolic": "mbd_bridge.formulas.model",
}
__getattr__, __dir__ = imported_at_first_use(__name__, _PLACES)

__version__ = "0.1.0"

__all__ = [
    "HHT",
    "Beam",
    "Builder",
    "Damping",
    "Equations",
    "ExplicitNewmark",
    "ExternalForces",
    "FileError",
    "FlexibleLink",
    "GeneralisedAlpha",
    "Input",
    "JointLoads",
    "KernelError",
    "LoadCase",
    "LoadCases",
    "LoadRequest",
    "LoadSolver",
    "MbdError",
    "MbdWarning",
    "Mechanism",
    "MissingPackageError",
    "ModalBasis",
    "ModelError",
    "Modes",
    "Motion",
    "Newmark",
    "NoDisplayError",
    "RealTime",
    "Sampled",
    "Section",
    "SectionTable",
    "Simulation",
    "SimulationBatch",
    "SolveError",
    "StateError",
    "System",
    "__version__",
    "actuators",
    "assemble_batch",
    "compensate_sensors",
    "convert",
    "crosscheck",
    "deflections",
    "equilibrium",
    "export_fmu",
    "forces",
    "linearise",
    "load",
    "load_external",
    "load_forces",
    "load_history",
    "load_loads",
    "load_modal_basis",
    "load_motion",
    "models",
    "plot_eigenvalues",
    "render",
    "report",
    "right_hand_side",
    "save_forces",
    "save_modal_basis",
    "section_loads",
    "show",
    "simulate",
    "simulate_batch",
    "steady_motion",
    "step_source",
    "studies",
    "study",
    "symbolic",
    "web_view",
]
