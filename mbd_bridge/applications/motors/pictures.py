"""Pictures of motors: torque over speed at the shaft, with the motor's curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mbd_bridge.applications.motors.actuator import Torque, TorqueCurve
from mbd_bridge.applications.motors.duty import MotorDuty
from mbd_bridge.applications.motors.motors import Motors
from mbd_bridge.base.arguments import chosen_names
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plot_style import axes_for, explain, style
from mbd_bridge.base.plots import LimitCurve, TorqueSpeed, draw_torque_speed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_motors(
    motors: Motors,
    names: Iterable[str] | str | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw torque over speed of motors; see `Motors.plot`."""
    named = chosen_names("names", names, motors.names, "motor", kinds="joints")
    chosen = [motors[name] for name in named]
    if not chosen:
        raise StateError("there is nothing to draw: no motor was asked for")
    with style():
        axes = axes_for(len(chosen), min(len(chosen), 3), (4.2, 5.4), ax)
        for one, duty in zip(axes, chosen, strict=True):
            draw_torque_speed(one, torque_speed(duty))
        if ax is None:
            explain(axes, "at the motor's shaft, friction and rotor as stated", own_figure=True)
    return axes


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
