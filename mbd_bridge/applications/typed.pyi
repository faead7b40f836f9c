# Methods that classes of the core get by ``entry_points.txt``, for type checkers and editors: when
# the program runs there is no such module, and `mbd_bridge.base.extensions` adds them.

from mbd_bridge.api import (
    convert as converting,
    crosscheck as checking,
    derivatives,
    flexible,
    histories,
    kinematics,
    motions,
    pictures,
    pybullet_arrows,
    report as reporting,
)
from mbd_bridge.applications.autodiff import frameworks
from mbd_bridge.applications.bearings import bearings as bearings_of
from mbd_bridge.applications.bearings.bearing_set import BearingSet, BearingsGiven as BearingsGiven
from mbd_bridge.applications.bearings.bearings import Bearings, bearing_hours as bearing_hours
from mbd_bridge.applications.durability import methods as cases_of
from mbd_bridge.applications.durability.load_spectra import LoadSpectra, load_spectra
from mbd_bridge.applications.durability.methods import (
    equivalent_band as band_of,
    equivalents as equivalents_of,
)
from mbd_bridge.applications.fmu import export
from mbd_bridge.applications.formulas import model as formulas
from mbd_bridge.applications.free_body import methods
from mbd_bridge.applications.motors import motors as motors_of
from mbd_bridge.applications.motors.actuator import Actuator as Actuator
from mbd_bridge.applications.motors.files import Actuators as Actuators
from mbd_bridge.applications.motors.motors import Motors
from mbd_bridge.applications.studies import run as studies
from mbd_bridge.simulation.batch import run as simulation
from mbd_bridge.simulation.rates import right_hand_side as rates_of
from mbd_bridge.simulation.steps import source

class OfSystem:
    simulate = simulation.simulate
    right_hand_side = rates_of
    export_fmu = export.export_fmu
    study = studies.study

class OfEquations:
    step_source = source.step_source

class Shown:
    show = pictures.show
    render = pictures.render
    web_view = pictures.web_view
    deflections = flexible.deflections
    report = reporting.report

class OfMechanism(OfSystem, Shown):
    placement = kinematics.placement
    velocity = kinematics.velocity
    frame_kinematics = kinematics.frame_kinematics
    centroid = kinematics.centroid
    inverse_kinematics = kinematics.inverse_kinematics
    assemble = kinematics.assemble
    assemble_batch = kinematics.assemble_batch
    worst_pose = kinematics.worst_pose
    sample_poses = kinematics.sample_poses
    read_motion = motions.read_motion
    motion = motions.motion
    external_force = motions.external_force
    read_external = motions.read_external
    complete = motions.complete
    read_loads = motions.read_loads
    load_history = histories.load_history
    section_loads = flexible.section_loads
    load_derivatives = derivatives.load_derivatives
    compile_derivatives = derivatives.compile_derivatives
    compile_derivatives_of = derivatives.compile_derivatives_of
    compile_simulation_derivatives = derivatives.compile_simulation_derivatives
    inverse_dynamics_derivatives = derivatives.inverse_dynamics_derivatives
    forward_dynamics_derivatives = derivatives.forward_dynamics_derivatives
    convert = converting.convert
    crosscheck = checking.crosscheck
    symbolic = formulas.symbolic
    compensate_sensors = methods.compensate_sensors
    @property
    def stated_actuators(self) -> Actuators | None: ...
    @property
    def actuators(self) -> tuple[Actuator, ...]: ...
    @property
    def has_motors(self) -> bool: ...
    moved_by = motors_of.moved_by
    with_actuators = motors_of.with_actuators
    motors = motors_of.motors
    @property
    def stated_bearings(self) -> BearingSet | None: ...
    with_bearings = bearings_of.with_bearings
    bearings = bearings_of.bearings
    free_body = methods.free_body_of

class OfDerivativeSolver:
    to_jax = frameworks.to_jax
    to_torch = frameworks.to_torch
    to_casadi = frameworks.to_casadi

class OfJointLoads:
    spectra = load_spectra

class OfLoadHistory:
    @property
    def spectra(self) -> LoadSpectra: ...
    @property
    def motors(self) -> Motors | None: ...
    @property
    def bearings(self) -> Bearings | None: ...
    equivalent_band = band_of
    equivalents = equivalents_of

class OfLoadCases:
    damage_equivalent = cases_of.damage_equivalent
    damage_shares = cases_of.damage_shares
    largest_range = cases_of.largest_range
    bearing_hours = bearing_hours

class OfStepper:
    draw_loads = pybullet_arrows.draw_loads

class OfSimulation(Shown):
    free_body = methods.free_body_of_motion
