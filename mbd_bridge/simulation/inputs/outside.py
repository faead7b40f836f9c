"""What the inputs of a system get: `simulate(..., inputs={"grip": 2.0})`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mbd_bridge.base.arguments import by_name
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.forces.outside import Input
from mbd_bridge.simulation.inputs.torques import TorquePart, force_signal, torque_parts
from mbd_bridge.simulation.inputs.within_elements import held_signal
from mbd_bridge.simulation.inputs.wrenches import WrenchPart, wrench_parts

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


def resolved(
    system: System, inputs: Mapping[str, Any] | None
) -> tuple[tuple[TorquePart, ...], tuple[WrenchPart, ...]]:
    """Return what acts on a system, with signals in the place of the inputs that are named.

    Each may be whatever may be given there directly.
    """
    inputs = by_name("inputs", inputs, "{'grip': 2.0}")
    if not inputs:
        return system.torques, system.wrenches
    known = {part.signal.name for part in system.parts if isinstance(part.signal, Input)}
    for name in inputs:
        if name not in known:
            raise StateError(unknown_name("input", name, sorted(known)))
    model = system.model

    def torque(part: TorquePart) -> TorquePart:
        name = _name(part.signal, inputs)
        if name is None:
            return part
        if part.field:
            return part._replace(signal=held_signal(part.field, inputs[name]))
        if len(part.places) == model.nv > 1:
            (whole,) = torque_parts(model, inputs[name])
            return whole
        velocity = model.velocity_names[part.places[0]]
        return part._replace(signal=force_signal(velocity, inputs[name]))

    def wrench(part: WrenchPart) -> WrenchPart:
        name = _name(part.signal, inputs)
        if name is None:
            return part
        (found,) = wrench_parts(model, {part.name: inputs[name]})
        return part._replace(signal=found.signal)

    return tuple(map(torque, system.torques)), tuple(map(wrench, system.wrenches))


def _name(signal: Any, inputs: Mapping[str, Any]) -> str | None:
    there = isinstance(signal, Input) and signal.name in inputs
    return signal.name if there else None
