"""What motors have to do, as rows: a motor each."""

from __future__ import annotations

from mbd_bridge.applications.motors.motors import Motors
from mbd_bridge.base.tabular import Rows, Series


def rows_of(motors: Motors) -> Rows:
    """Return torques, speeds, powers and verdicts."""
    each = motors.duties
    columns = (
        Series("peak", "", [float(duty.peak.value) for duty in each]),
        Series("RMS", "", [float(duty.rms) for duty in each]),
        Series("torque unit", "", [duty.torque_unit for duty in each]),
        Series("fastest", "", [float(duty.fastest.value) for duty in each]),
        Series("speed unit", "", [duty.speed_unit for duty in each]),
        Series("motoring", "W", [float(duty.motoring.value) for duty in each]),
        Series("braking", "W", [float(duty.braking.value) for duty in each]),
        Series("verdict", "", [str(duty.verdict) for duty in each]),
    )
    title = f"Motors of {motors.mechanism}"
    return Rows(title, Series("motor of", "", [duty.name for duty in each]), columns)
