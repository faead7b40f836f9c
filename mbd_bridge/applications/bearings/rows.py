"""What bearings carry, as rows: a bearing each."""

from __future__ import annotations

import numpy as np

from mbd_bridge.applications.bearings.bearings import Bearings
from mbd_bridge.base.tabular import Rows, Series


def rows_of(bearings: Bearings) -> Rows:
    """Return the largest loads and the lives."""
    each = bearings.duties
    lives = [
        np.nan if d.life is None or d.life.hours is None else float(d.life.hours) for d in each
    ]
    columns = (
        Series("bearing", "", [duty.name for duty in each]),
        Series("radial", "N", [float(duty.radial.value) for duty in each]),
        Series("axial", "N", [float(duty.axial.value) for duty in each]),
        Series("tilting", "N m", [float(duty.tilting.value) for duty in each]),
        Series("travel", "rad or m", [float(duty.travel) for duty in each]),
        Series("L10h", "h", lives),
        Series("determined", "", ["yes" if all(duty.determined) else "no" for duty in each]),
    )
    title = f"Bearings of {bearings.mechanism}"
    return Rows(title, Series("joint", "", [duty.joint for duty in each]), columns)
