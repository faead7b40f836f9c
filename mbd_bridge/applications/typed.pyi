# What applications add to classes of the core, for type checkers and editors: when the program runs
# there is no such module, and `mbd_bridge.base.extensions` adds what ``entry_points.txt`` says.

from mbd_bridge.applications.bearings import of_mechanism as bearings_of
from mbd_bridge.applications.bearings.bearing_set import BearingSet
from mbd_bridge.applications.free_body.of_mechanism import free_body_of
from mbd_bridge.applications.motors import of_mechanism as motors_of
from mbd_bridge.applications.motors.actuator import Actuator
from mbd_bridge.applications.motors.files import Actuators

class OfMechanism:
    @property
    def stated_actuators(self) -> Actuators | None: ...
    @property
    def actuators(self) -> tuple[Actuator, ...]: ...
    @property
    def has_motors(self) -> bool: ...
    moved_by = motors_of.moved_by
    with_actuators = motors_of.with_actuators
    motors = motors_of.motors
    motors_counter = motors_of.motors_counter
    @property
    def stated_bearings(self) -> BearingSet | None: ...
    with_bearings = bearings_of.with_bearings
    bearings = bearings_of.bearings
    bearings_counter = bearings_of.bearings_counter
    free_body = free_body_of
