"""The motors of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from mbd_bridge.api.kinematics import MechanismKinematics
from mbd_bridge.api.load_inputs import LoadInputs
from mbd_bridge.base.arguments import an_instance, flag, name_list
from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalGiven, external_forces
from mbd_bridge.solve.wrenches import Axes

if TYPE_CHECKING:
    from mbd_bridge.applications.motors import Actuator, Actuators, Motors, MotorsCounter


class MechanismMotors(MechanismKinematics):
    """What motors must do, so that a mechanism moves as it does."""

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators, as they are stated and completed by what the file says.

        One for each degree of freedom, of a machine with loops for those that the file actuates.
        """
        return self._actuators(self.forces, None, None)

    @property
    def has_motors(self) -> bool:
        """Whether actuators are stated, or the file says gears or rotors of a joint."""
        if self.stated_actuators:
            return True
        geared = self.model.description.transmissions
        return any(x.reduction not in (None, 1.0) or x.rotor_inertia for x in geared)

    def moved_by(self, efforts: Array) -> tuple[Actuator, ...]:
        """Return the actuators of degrees of freedom along which forces (N, nv) act.

        Of a tree those of all; of a machine with loops also those that are stated.
        """
        stated = [one.joint for one in self.stated_actuators or ()]
        acting = np.abs(efforts).max(axis=0, initial=0.0) > 0.0
        names = [n for n, acts in zip(self.model.velocity_names, acting, strict=True) if acts]
        moved = tuple(
            joint.name
            for joint in self.model.joints[1:]
            for suffix in joint.type.velocities
            if joint.moving and joint.name + suffix in (*stated, *names)
        )
        actuated = (*(self.model.description.actuated or ()), *moved)
        return self._actuators(self.forces, None, actuated if self.model.has_loops else None)

    def _actuators(
        self,
        elements: tuple[ForceElement, ...],
        joints: Iterable[str] | str | None,
        actuated: Iterable[str] | str | None,
    ) -> tuple[Actuator, ...]:
        from mbd_bridge.applications.motors import Actuators
        from mbd_bridge.applications.motors.from_file import actuated_coordinates, completed

        stated = Actuators() if self.stated_actuators is None else self.stated_actuators
        named = actuated if actuated is None else name_list("actuated", actuated, "joints")
        names = actuated_coordinates(self.model, named)
        if joints is not None:
            chosen = name_list("joints", joints, "joints")
            for name in chosen:
                if name not in names:
                    raise ModelError(f"joints: {unknown_name('actuated joint', name, names)}")
            names = chosen
        return completed(self.model, stated.entries, names, elements, stated.use)

    def with_actuators(self, actuators: Iterable[Actuator] | Actuators) -> Self:
        """Return the mechanism with these actuators, in place of those it has stated."""
        return type(self)(self.model, self.forces, actuators, self.stated_bearings)

    def motors(
        self,
        motion: Motion,
        joints: Iterable[str] | str | None = None,
        *,
        external: ExternalGiven | None = None,
        external_in: Axes = "link",
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
        forces: Iterable[ForceElement] | None = None,
        threads: int = 1,
    ) -> Motors:
        """Return what motors have to do along a motion: torque, speed, power, verdict.

        Parameters
        ----------
        joints : degrees of freedom by name, `joint.suffix` where a joint has several; None for all
            that are actuated
        external, external_in, actuated, minimum_norm, forces, threads : see `joint_loads`. External
            wrenches of N states are those of the motion's rows

        Examples
        --------
        >>> robot.motors(motion)["elbow"].verdict                       # doctest: +SKIP
        """
        motion = an_instance("motion", motion, Motion, "mbd.load_motion(...)")
        inputs = self._load_inputs(
            motion, external, external_in, actuated, minimum_norm, forces, threads
        )
        counter = self.motors_counter(inputs, joints)
        counter.add(motion)
        return counter.motors()

    def _load_inputs(
        self,
        motion: Motion,
        external: ExternalGiven | None,
        external_in: Axes,
        actuated: Iterable[str] | str | None,
        minimum_norm: bool,
        forces: Iterable[ForceElement] | None,
        threads: int,
    ) -> LoadInputs:
        """Return what acts along a motion, checked."""
        return LoadInputs(
            external_forces(self.model, external, external_in, motion.time),
            actuated if actuated is None else name_list("actuated", actuated, "joints"),
            flag("minimum_norm", minimum_norm),
            self._elements(forces),
            threads,
        )

    def motors_counter(
        self, inputs: LoadInputs, joints: Iterable[str] | str | None = None
    ) -> MotorsCounter:
        """Return what counts the duties of motors along a motion in pieces; see `motors`."""
        from mbd_bridge.applications.motors import MotorsCounter

        actuators = self._actuators(inputs.forces, joints, inputs.actuated)
        return MotorsCounter(self.model, actuators, partial(self._actuation, inputs))

    def _actuation(self, inputs: LoadInputs, motion: Motion, check: bool) -> Array:
        """Return what the actuators do along a motion, (N, nv), less what their rotors need."""
        external = inputs.external
        tau = self.inverse_dynamics(
            motion.q,
            motion.v,
            motion.a,
            None if external is None else external.along(motion.time, motion.q, motion.v),
            threads=inputs.threads,
            check=check,
            actuated=inputs.actuated,
            minimum_norm=inputs.minimum_norm,
            forces=inputs.forces,
            t=motion.time,
        )
        return without_rotors(self.model, tau, motion.a)


def without_rotors(model: Model, tau: Array, a: Array) -> Array:
    """Return forces (N, nv) along velocities less what accelerates the rotors in M.

    Motors count their rotors themselves (`actuators.motor_side`).
    """
    return tau if model.rotors is None else tau - model.rotors * a
