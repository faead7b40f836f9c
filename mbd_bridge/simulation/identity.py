"""What of the machine code of a system depends on what acts, as a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbd_bridge.forces.general_force import is_sampled
from mbd_bridge.simulation.inputs.element_forces import ElementForces
from mbd_bridge.simulation.inputs.signal import TracedSignal

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


def identity_of(system: System) -> str | None:
    """Return the text; None where only the graph tells the machine code from another."""
    said: list[str] = []
    for one in system.members if system.nz else ():
        if is_sampled(one.element):
            continue
        if one.identity is None:
            return None
        said.append(one.identity)
    for name, signal in system.signals:
        if isinstance(signal, ElementForces):
            if signal.text is None:
                return None
            name += f" {signal.text}"
        elif isinstance(signal, TracedSignal):
            if signal.text is None:
                return None
            name += f" = {signal.text!r}"
        said.append(f"{type(signal).__name__} {name}")
    pushed = [(part.link, part.reference, part.point) for part in system.wrenches]
    places = [part.places for part in system.torques], pushed
    parameters = "" if system.parameters is None else system.parameters.identity
    held = "" if system.effort is None else f" {system.effort}"
    return f"{said} {places} {system.prescribed_velocities} {system.layout} {parameters}{held}"
