"""The system of a call: the one that is held, or that of a mechanism and what acts on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.simulation.inputs.motions import Prescribed
from mbd_bridge.simulation.inputs.signal import StateFunction
from mbd_bridge.simulation.inputs.torques import Torque
from mbd_bridge.simulation.inputs.wrenches import External
from mbd_bridge.simulation.machine import HasModel
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.wrenches import Axes


class Given(TypedDict, total=False):
    """What acts on a mechanism and what is asked of its steps; see `System`."""

    torque: Torque
    effort_limits: bool
    external: External | None
    external_in: Axes
    forces: Iterable[ForceElement] | None
    prescribed: Mapping[str, Prescribed] | None
    parameters: ParameterValues | None
    inputs: Mapping[str, Any] | None
    loads: Sequence[str] | str | None
    outputs: Mapping[str, StateFunction] | None


def system_of(
    machine: HasModel | Model | System, start: float, end: float, **acts: Unpack[Given]
) -> System:
    """Return the system that is held, or that of a mechanism and what acts on it, over a time."""
    if not isinstance(machine, System):
        return System(machine, start=start, end=end, **acts)
    given = [
        name
        for name, value in acts.items()
        if value is not None
        and name != "external_in"
        and not (name == "effort_limits" and value is False)
    ]
    if given:
        raise StateError(
            f"{given[0]}: a System has its own; give it there, mbd.System(robot, {given[0]}=...)"
        )
    machine.check_covers(start, end)
    return machine
