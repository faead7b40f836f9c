"""What the motors of a machine have to do along a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.applications.motors.actuator import FRICTION, ROTOR, Actuator
from mbd_bridge.applications.motors.duty import DutyCounter, MotorDuty
from mbd_bridge.applications.motors.motor_side import MotorStates, motor_side
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import StateError, some
from mbd_bridge.base.named import Named
from mbd_bridge.base.tabular import Tabular
from mbd_bridge.model import Model
from mbd_bridge.motion.motion import Motion
from mbd_bridge.motion.noise_deviations import noise_deviations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

NAMED = 6
"""How many names a sentence gives before it counts."""

ROTORS = (
    "rotors are accelerated by their joint's rate alone; that they turn with the link that carries "
    "them (gyroscopic moments) is neglected"
)

LARGEST = 1e150
"""N m or N; squares of larger ones overflow."""


@dataclass(frozen=True, eq=False)
class Motors(
    Tabular, Named[MotorDuty], rows="mbd_bridge.applications.motors.rows", entries="motor"
):
    """The duties of a machine's motors, by the name of what each of them moves.

    Attributes
    ----------
    mechanism : its name
    duties : one a motor
    """

    mechanism: str
    duties: tuple[MotorDuty, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The degrees of freedom that are moved."""
        return tuple(duty.name for duty in self.duties)

    def _entry(self, name: str) -> MotorDuty:
        return self.duties[self.names.index(name)]

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was counted of friction, rotors and gears, where it comes from, and what was not."""
        found: dict[tuple[str, str, bool], list[str]] = {}
        for duty in self.duties:
            one = duty.actuator
            for topic, what in (("friction", FRICTION), ("rotors", ROTOR)):
                missing = what in one.not_counted
                text = f"{what} {'not counted' if missing else 'counted'}"
                found.setdefault((topic, text, missing), []).append(duty.name)
            for topic, text in one.sources:
                found.setdefault((topic, text, False), []).append(duty.name)
        said = [
            Assumption(topic, f"motor of {some(names, NAMED)}: {text}", neglected=missing)
            for (topic, text, missing), names in found.items()
        ]
        turning = any(duty.actuator.rotor_inertia for duty in self.duties)
        return (*said, *([Assumption("rotors", ROTORS, neglected=True)] if turning else []))

    def plot(
        self,
        names: Iterable[str] | str | None = None,
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw torque over speed of each motor, with its curve, and return the axes.

        Parameters
        ----------
        names : of degrees of freedom; None for all
        ax : axes to draw into, one a motor; None makes a figure
        """
        from mbd_bridge.applications.motors.pictures import plot_motors

        return plot_motors(self, names, ax=ax)

    def __repr__(self) -> str:
        each = "; ".join(f"{duty.name} {duty.verdict}" for duty in self.duties)
        return f"Motors({self.mechanism!r}: {each})"


class MotorsCounter:
    """The motors of a machine along a motion that comes in pieces.

    Parameters
    ----------
    actuators : bound to the model
    inverse : gives what the actuators must do along a motion, (N, nv) N m or N; its second argument
        says whether the motion is checked
    """

    def __init__(
        self, model: Model, actuators: Iterable[Actuator], inverse: Callable[[Motion, bool], Floats]
    ) -> None:
        self._model, self._inverse = model, inverse
        self._places: list[int] = []
        self._counters: list[DutyCounter] = []
        for one in actuators:
            self._places.append(model.velocity_names.index(one.joint))
            self._counters.append(
                DutyCounter(one, one.torque_unit(model), f"{one.motor_unit(model)}/s")
            )

    def add(self, motion: Motion) -> list[MotorStates]:
        """Take in the next piece of a motion, and return the states of the motors along it."""
        found = self._states(motion, check=True)
        for counter, states in zip(self._counters, found, strict=True):
            if not np.abs(states.torque).max(initial=0.0) < LARGEST:
                raise StateError(
                    f"the torque of {counter.actuator.joint!r} is so large that its square is no "
                    f"number; check the units of the motion and of the external forces"
                )

        def uncertain(moved: Motion) -> Floats:
            return np.stack([x.uncertain for x in self._states(moved, check=False)], axis=1)

        known = noise_deviations(self._model, motion, uncertain) if found else None
        for k, (counter, states) in enumerate(zip(self._counters, found, strict=True)):
            counter.add(states, None if known is None else known[:, k])
        return found

    def _states(self, motion: Motion, *, check: bool) -> list[MotorStates]:
        tau = self._inverse(motion, check)
        pairs = zip(self._places, self._counters, strict=True)
        return [
            motor_side(one.actuator, motion.time, tau[:, k], motion.v[:, k], motion.a[:, k])
            for k, one in pairs
        ]

    def motors(self) -> Motors:
        """Return the duties of what came so far."""
        return Motors(self._model.name, tuple(counter.duty() for counter in self._counters))
