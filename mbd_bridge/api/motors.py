"""The motors of a mechanism, as its user asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Self

from mbd_bridge.api.kinematics import MechanismKinematics
from mbd_bridge.arguments import an_instance, name_list
from mbd_bridge.errors import ModelError, unknown_name
from mbd_bridge.external import ExternalGiven, wrenches_at
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.motions import Motion
from mbd_bridge.solve.wrenches import Axes
from mbd_bridge.spatial import Array

if TYPE_CHECKING:
    from mbd_bridge.actuators import Actuator, Actuators, Motors, MotorsCounter


class MechanismMotors(MechanismKinematics):
    """What motors must do, so that a mechanism moves as it does."""

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators, as they are stated and completed by what the file says.

        One for each degree of freedom, of a machine with loops for those that the file actuates.
        """
        return self._actuators(self.forces, None, None)

    def _actuators(
        self,
        elements: tuple[ForceElement, ...],
        joints: Iterable[str] | str | None,
        actuated: Iterable[str] | str | None,
    ) -> tuple[Actuator, ...]:
        from mbd_bridge.actuators import Actuators
        from mbd_bridge.actuators.from_file import actuated_coordinates, completed

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
        return type(self)(self.model, self.forces, actuators)

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
        counter = self.motors_counter(
            True,
            joints,
            external=external,
            external_in=external_in,
            actuated=actuated,
            minimum_norm=minimum_norm,
            forces=forces,
            threads=threads,
        )
        assert counter is not None
        counter.add(motion)
        return counter.motors()

    def motors_counter(
        self,
        wanted: bool | None,
        joints: Iterable[str] | str | None = None,
        *,
        external: ExternalGiven | None = None,
        external_in: Axes = "link",
        actuated: Iterable[str] | str | None = None,
        minimum_norm: bool = False,
        forces: Iterable[ForceElement] | None = None,
        threads: int = 1,
    ) -> MotorsCounter | None:
        """Return what counts the duties of motors along a motion in pieces; see `motors`.

        Parameters
        ----------
        wanted : None: if the machine has stated actuators; None comes out if not
        """
        if wanted is False or (wanted is None and not self.stated_actuators):
            return None
        from mbd_bridge.actuators import MotorsCounter

        elements = self._elements(forces)
        actuated = actuated if actuated is None else name_list("actuated", actuated, "joints")
        inverse = partial(
            self._actuation,
            external=external,
            external_in=external_in,
            threads=threads,
            actuated=actuated,
            minimum_norm=minimum_norm,
            forces=elements,
        )
        return MotorsCounter(self.model, self._actuators(elements, joints, actuated), inverse)

    def _actuation(
        self,
        motion: Motion,
        *,
        external: ExternalGiven | None,
        external_in: Axes,
        threads: int,
        actuated: Iterable[str] | str | None,
        minimum_norm: bool,
        forces: tuple[ForceElement, ...],
    ) -> Array:
        """Return what the actuators do along a motion, (N, nv)."""
        states = motion.time, motion.q, motion.v
        given = wrenches_at(self.model, external, external_in, *states)
        return self.inverse_dynamics(
            motion.q,
            motion.v,
            motion.a,
            given.by_link,
            external_in=given.axes,
            threads=threads,
            actuated=actuated,
            minimum_norm=minimum_norm,
            forces=forces,
            t=motion.time,
        )
