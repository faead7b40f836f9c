"""What the motors of a machine have to do along a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.applications.motors.actuator import FRICTION, ROTOR, Actuator
from mbd_bridge.applications.motors.duty import DutyCounter, MotorDuty, MotorStates, motor_side
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import NAMED, StateError, some
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import ROUND_OFF
from mbd_bridge.loads.watch import Needs
from mbd_bridge.model import Model
from mbd_bridge.motion.motion import Motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROTORS = (
    "rotors are accelerated by their joint's rate alone; that they turn with the link that carries "
    "them (gyroscopic moments) is neglected"
)

SHAFT = (
    "At the motor's shaft, with gears, rotor and friction as stated. Motoring is power that the "
    "motor gives, braking what it takes."
)

LARGEST = 1e150
"""N m or N; squares of larger ones overflow."""


@dataclass(frozen=True, eq=False)
class Motors(Tabular, Named[MotorDuty], entries="motor"):
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

    def tables(self) -> tuple[Table, ...]:
        """Return torques, speeds, powers and energies; and the verdicts."""
        each = self.duties
        torques, speeds = [one.torque_unit for one in each], [one.speed_unit for one in each]
        peaks, energies = [one.peak for one in each], [one.energies for one in each]
        columns = [
            Series("peak", torques, [x.value for x in peaks], bands=[x.band for x in peaks]),
            Series("RMS", torques, [x.rms for x in each], bands=[x.rms_band for x in each]),
            Series("top speed", speeds, [abs(one.fastest.value) for one in each]),
            Series("motoring", "W", [one.motoring.value for one in each]),
            Series("braking", "W", [one.braking.value for one in each]),
            Series("energy out", "J", [one.motoring for one in energies]),
            Series("back", "J", [one.braking for one in energies]),
            Series("lost", "J", [one.lost for one in energies]),
        ]
        floors: dict[str, float] = {}
        for one in (columns[0], *columns[3:]):
            for k, value in enumerate(one.values):
                unit = one.unit_of(k)
                floors[unit] = max(floors.get(unit, 0.0), ROUND_OFF * abs(value))
        labels = Series("motor of", "", self.names)
        verdicts = [duty.verdict for duty in each]
        marks = [one.mark for one in verdicts]
        verdict = Series("verdict", "", [one.text for one in verdicts], marks=marks)
        title = f"Motors of {self.mechanism}"
        return (
            Table(title, labels, columns, caption=SHAFT, floors=floors),
            Table(title, labels, [verdict]),
        )

    def __repr__(self) -> str:
        each = "; ".join(f"{duty.name} {duty.verdict}" for duty in self.duties)
        return f"Motors({self.mechanism!r}: {each})"


class MotorsObserver:
    """Observer of what the motors of a machine have to do.

    Parameters
    ----------
    actuators : bound to the model
    see : gets the motors so far, and the times and their states along each piece
    """

    def __init__(
        self,
        model: Model,
        actuators: Iterable[Actuator],
        see: Callable[[Motors, Floats, list[MotorStates]], None] | None = None,
    ) -> None:
        self._model, self._see = model, see
        self._places: list[int] = []
        self._counters: list[DutyCounter] = []
        for one in actuators:
            self._places.append(model.velocity_names.index(one.joint))
            self._counters.append(
                DutyCounter(one, one.torque_unit(model), f"{one.motor_unit(model)}/s")
            )

    def needs(self) -> Needs:
        """Return what actuators do; what the motion's noise leaves open of the motors' states."""
        return Needs((), efforts=True, deviations=self._uncertain if self._places else None)

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        found, known = self._states(motion, loads), loads.uncertainty
        for counter, states in zip(self._counters, found, strict=True):
            if not np.abs(states.torque).max(initial=0.0) < LARGEST:
                raise StateError(
                    f"the torque of {counter.actuator.joint!r} is so large that its square is no "
                    f"number; check the units of the motion and of the external forces"
                )
        off = None if known is None or known.needed is None else known.needed
        if off is not None:
            off = off.reshape(len(motion.time), len(found), -1)
        for k, (counter, states) in enumerate(zip(self._counters, found, strict=True)):
            counter.add(states, None if off is None else off[:, k])
        if self._see is not None:
            self._see(self.result(), motion.time, found)

    def _uncertain(self, motion: Motion, loads: JointLoads) -> Floats:
        return np.hstack([states.uncertain for states in self._states(motion, loads)])

    def _states(self, motion: Motion, loads: JointLoads) -> list[MotorStates]:
        tau, model = loads.efforts, self._model
        assert tau is not None
        if model.rotors is not None:  # motors count their rotors themselves (`motor_side`)
            tau = tau - model.rotors * motion.a
        pairs = zip(self._places, self._counters, strict=True)
        return [
            motor_side(one.actuator, motion.time, tau[:, k], motion.v[:, k], motion.a[:, k])
            for k, one in pairs
        ]

    def result(self) -> Motors:
        """Return the duties of what came so far."""
        return Motors(self._model.name, tuple(counter.duty() for counter in self._counters))
