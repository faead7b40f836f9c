"""The public names of `mbd_bridge`, each with its module."""

from mbd_bridge import forces as forces
from mbd_bridge.api.convert import convert as convert
from mbd_bridge.api.deflections import deflections as deflections
from mbd_bridge.api.functions import (
    assemble_batch as assemble_batch,
    crosscheck as crosscheck,
    load as load,
    load_external as load_external,
    load_history as load_history,
    load_loads as load_loads,
    load_motion as load_motion,
)
from mbd_bridge.api.mechanism import Mechanism as Mechanism
from mbd_bridge.api.pictures import render as render, show as show, web_view as web_view
from mbd_bridge.api.reports import report as report
from mbd_bridge.api.samples import models as models
from mbd_bridge.api.sections import section_loads as section_loads
from mbd_bridge.api.sensors import compensate_sensors as compensate_sensors
from mbd_bridge.applications import (
    linear as linear,
    motors as actuators,  # noqa: F401 - another name
    studies as studies,
)
from mbd_bridge.applications.fmu.export import export_fmu as export_fmu
from mbd_bridge.applications.formulas.model import symbolic as symbolic
from mbd_bridge.applications.linear.linearise import linearise as linearise
from mbd_bridge.applications.linear.pictures import plot_eigenvalues as plot_eigenvalues
from mbd_bridge.applications.linear.steady import (
    equilibrium as equilibrium,
    steady_motion as steady_motion,
)
from mbd_bridge.applications.real_time.runner import RealTime as RealTime
from mbd_bridge.applications.studies.run import study as study
from mbd_bridge.base.errors import (
    FileError as FileError,
    KernelError as KernelError,
    MbdError as MbdError,
    MbdWarning as MbdWarning,
    MissingPackageError as MissingPackageError,
    ModelError as ModelError,
    NoDisplayError as NoDisplayError,
    SolveError as SolveError,
    StateError as StateError,
)
from mbd_bridge.files.modal import (
    load_modal_basis as load_modal_basis,
    save_modal_basis as save_modal_basis,
)
from mbd_bridge.forces.files import load_forces as load_forces, save_forces as save_forces
from mbd_bridge.forces.varying import Input as Input
from mbd_bridge.loads import (
    JointLoads as JointLoads,
    LoadRequest as LoadRequest,
    LoadSolver as LoadSolver,
)
from mbd_bridge.loads.streaming.cases import LoadCase as LoadCase, LoadCases as LoadCases
from mbd_bridge.model import Builder as Builder
from mbd_bridge.model.flexible import (
    Beam as Beam,
    Damping as Damping,
    FlexibleLink as FlexibleLink,
    ModalBasis as ModalBasis,
    Modes as Modes,
    Section as Section,
    SectionTable as SectionTable,
)
from mbd_bridge.motion import Motion as Motion
from mbd_bridge.motion.external import ExternalForces as ExternalForces
from mbd_bridge.simulation import Simulation as Simulation
from mbd_bridge.simulation.batch.result import SimulationBatch as SimulationBatch
from mbd_bridge.simulation.batch.run import simulate_batch as simulate_batch
from mbd_bridge.simulation.equations import Equations as Equations
from mbd_bridge.simulation.right_hand_side import right_hand_side as right_hand_side
from mbd_bridge.simulation.run.driver import simulate as simulate
from mbd_bridge.simulation.signals.signal import Sampled as Sampled
from mbd_bridge.simulation.steps.schemes import (
    HHT as HHT,
    ExplicitNewmark as ExplicitNewmark,
    GeneralisedAlpha as GeneralisedAlpha,
    Newmark as Newmark,
)
from mbd_bridge.simulation.steps.source import step_source as step_source
from mbd_bridge.simulation.system import System as System

__version__: str
