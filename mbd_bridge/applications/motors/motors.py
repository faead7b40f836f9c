"""What the motors of a machine have to do along a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.motors.actuator import FRICTION, ROTOR, Actuator, Torque, TorqueCurve
from mbd_bridge.applications.motors.duty import DutyCounter, MotorDuty, MotorStates, motor_side
from mbd_bridge.applications.motors.files import Actuators, actuated_coordinates, completed
from mbd_bridge.base.arguments import chosen_names, name_list
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import NAMED, ModelError, StateError, some
from mbd_bridge.base.named import Named
from mbd_bridge.base.options import with_options
from mbd_bridge.base.plot_style import axes_for, explain, style
from mbd_bridge.base.plots import LimitCurve, TorqueSpeed, draw_torque_speed
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads.observers import Needs, watch
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import ROUND_OFF
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.simulation import Simulation

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
        motors: dict[tuple[str, str, bool], list[str]] = {}
        for duty in self.duties:
            actuator = duty.actuator
            for topic, what in (("friction", FRICTION), ("rotors", ROTOR)):
                missing = what in actuator.not_counted
                sources = "; ".join(text for about, text in actuator.sources if about == topic)
                text = f"{what} {'not counted' if missing else 'counted'}"
                text += f" ({sources})" if sources else ""
                motors.setdefault((topic, text, missing), []).append(duty.name)
        said = [
            Assumption(topic, f"{self._motors(names)}: {text}", neglected=missing)
            for (topic, text, missing), names in motors.items()
        ]
        turning = any(duty.actuator.rotor_inertia for duty in self.duties)
        return (*said, *([Assumption("rotors", ROTORS, neglected=True)] if turning else []))

    def _motors(self, names: Sequence[str]) -> str:
        if 1 < len(names) == len(self.duties):
            return f"all {len(names)} motors"
        return f"motor of {some(names, NAMED)}"

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
        named = chosen_names("names", names, self.names, "motor", kinds="joints")
        chosen = [self[name] for name in named]
        if not chosen:
            raise StateError("there is nothing to draw: no motor was asked for")
        with style():
            axes = axes_for(len(chosen), min(len(chosen), 3), (4.2, 5.4), ax)
            for one, duty in zip(axes, chosen, strict=True):
                draw_torque_speed(one, torque_speed(duty))
            if ax is None:
                explain(axes, "at the motor's shaft, friction and rotor as stated", own_figure=True)
        return axes

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
        of_motors, uncertainty = self._states(motion, loads), loads.uncertainty
        for counter, states in zip(self._counters, of_motors, strict=True):
            if not np.abs(states.torque).max(initial=0.0) < LARGEST:
                raise StateError(
                    f"the torque of {counter.actuator.joint!r} is so large that its square is no "
                    f"number; check the units of the motion and of the external forces"
                )
        off = None if uncertainty is None or uncertainty.needed is None else uncertainty.needed
        if off is not None:
            off = off.reshape(len(motion.time), len(of_motors), -1)
        for k, (counter, states) in enumerate(zip(self._counters, of_motors, strict=True)):
            counter.add(states, None if off is None else off[:, k])
        if self._see is not None:
            self._see(self.result(), motion.time, of_motors)

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


# What motors add to a `Mechanism` and a `LoadHistory` (``entry_points.txt``).


@property  # type: ignore[misc]
def stated_actuators(mechanism: Mechanism) -> Actuators | None:
    """The actuators as a sidecar or `with_actuators` state them, or None."""
    stated: Actuators | None = mechanism.stated.get("actuators")
    return stated


@property  # type: ignore[misc]
def actuators(mechanism: Mechanism) -> tuple[Actuator, ...]:
    """The actuators, as they are stated and completed by what the file says.

    One for each degree of freedom, of a machine with loops for those that the file actuates.
    """
    return completed_actuators(mechanism, mechanism.forces, None, None)


def moved_by(mechanism: Mechanism, efforts: Array) -> tuple[Actuator, ...]:
    """Return the actuators of degrees of freedom along which forces (N, nv) act.

    Of a tree those of all; of a machine with loops also those that are stated.
    """
    stated = [one.joint for one in mechanism.stated_actuators or ()]
    acting = np.abs(efforts).max(axis=0, initial=0.0) > 0.0
    names = [n for n, acts in zip(mechanism.model.velocity_names, acting, strict=True) if acts]
    moved = tuple(
        joint.name
        for joint in mechanism.model.joints[1:]
        for suffix in joint.type.velocities
        if joint.moving and joint.name + suffix in (*stated, *names)
    )
    actuated = (*(mechanism.model.description.actuated or ()), *moved)
    return completed_actuators(
        mechanism, mechanism.forces, None, actuated if mechanism.model.has_loops else None
    )


def completed_actuators(
    mechanism: Mechanism,
    elements: tuple[ForceElement, ...],
    joints: Iterable[str] | str | None,
    actuated: Iterable[str] | str | None,
) -> tuple[Actuator, ...]:
    """Return the actuators of joints, as they are stated and completed by what the file says.

    Parameters
    ----------
    elements : that act
    joints, actuated : None: those that the file actuates
    """
    stated = Actuators() if mechanism.stated_actuators is None else mechanism.stated_actuators
    named = actuated if actuated is None else name_list("actuated", actuated, "joints")
    names = actuated_coordinates(mechanism.model, named)
    names = chosen_names("joints", joints, names, "actuated joint", ModelError)
    return completed(mechanism.model, stated.entries, names, elements, stated.use)


def with_actuators(mechanism: Mechanism, actuators: Iterable[Actuator] | Actuators) -> Mechanism:
    """Return the mechanism with these actuators, in place of those it has stated."""
    return mechanism.stating({"actuators": actuators})


@with_options
def motors(
    mechanism: Mechanism,
    motion: Motion,
    joints: Iterable[str] | str | None = None,
    *,
    threads: int = 1,
    **options: Unpack[ActingOptions],
) -> Motors:
    """Return what motors have to do along a motion: torque, speed, power, verdict.

    Parameters
    ----------
    joints : degrees of freedom by name, `joint.suffix` where a joint has several; None for all
        that are actuated
    threads : see `joint_loads`
    **options : of what acts. External wrenches of N states are those of the motion's rows

    Examples
    --------
    >>> robot.motors(motion)["elbow"].verdict                       # doctest: +SKIP
    """
    return motors_along([motion], LoadInputs.of(mechanism, motion, options, threads), joints)


def motors_along(
    pieces: Iterable[Motion],
    inputs: LoadInputs,
    joints: Iterable[str] | str | None = None,
    see: Callable[[Motors, Array, list[MotorStates]], None] | None = None,
) -> Motors:
    """Return what motors have to do along a motion in pieces; see `motors`, `MotorsObserver`."""
    actuators = completed_actuators(inputs.mechanism, inputs.forces, joints, inputs.actuated)
    observer = MotorsObserver(inputs.model, actuators, see)
    found: Motors = watch(pieces, inputs, {"motors": observer})["motors"]
    return found


@property  # type: ignore[misc]
def has_motors(mechanism: Mechanism) -> bool:
    """Whether actuators are stated, or the file says gears or rotors of a joint."""
    if mechanism.stated.get("actuators"):
        return True
    geared = mechanism.model.description.transmissions
    return any(x.reduction not in (None, 1.0) or x.rotor_inertia for x in geared)


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> MotorsObserver | None:
    """Return what sees the motors where a request asks for it, or a machine states actuators.

    Parameters
    ----------
    run : motors give what its torque inputs and prescribed motions did; of a machine with loops
        they are those of joints with an input or a stated actuator
    """
    if not (mechanism.has_motors if request.motors is None else request.motors):
        return None
    if run is None:
        asked = request.request
        actuators = completed_actuators(mechanism, asked.forces, None, asked.actuated)
        return MotorsObserver(mechanism.model, actuators)
    from mbd_bridge.simulation.results.simulation import efforts

    return MotorsObserver(run.model, mechanism.moved_by(efforts(run)))


@property  # type: ignore[misc]
def motors_of_history(history: LoadHistory) -> Motors | None:
    """What motors have to do, where that was computed, or None."""
    return history.results.get("motors")


# Pictures of motors: torque over speed at the shaft, with the motor's curve.


def torque_speed(duty: MotorDuty) -> TorqueSpeed:
    """Return what is drawn of a motor."""
    curve = duty.actuator.curve
    limits = [
        LimitCurve(name, *_points(torque, curve.max_speed))
        for name, torque in (("continuous", curve.continuous), ("peak", curve.peak))
        if torque is not None
    ]
    return TorqueSpeed(
        f"motor of {duty.name}",
        duty.time,
        duty.torque,
        duty.speed,
        duty.torque_unit,
        duty.speed_unit,
        None,
        curve.max_speed,
        "of the motor",
        duty.rms,
        tuple(limits),
    )


def _points(torque: Torque, fastest: float | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points of a limit; without an end it goes on as far as the picture."""
    if isinstance(torque, TorqueCurve):
        first = () if torque.speed[0] == 0.0 else (0.0,)
        return (*first, *torque.speed), (*torque.torque[: len(first)], *torque.torque)
    assert torque is not None
    return (0.0, float("inf") if fastest is None else fastest), (torque, torque)
