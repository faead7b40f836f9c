"""Inputs inside force elements: their numbers are held during a step, like those of torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.outside import Input
from mbd_bridge.forces.varying import Varying
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.signal import HELD, Constant, Signal
from mbd_bridge.simulation.inputs.torques import TorquePart, force_signal

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


def input_parts(elements: Sequence[ForceElement]) -> tuple[TorquePart, ...]:
    """Return the inputs of elements as parts of a system that exert nothing themselves."""
    return tuple(
        TorquePart((), one, f"{element.name}.{word}", number)
        for number, element in enumerate(elements)
        if isinstance(element, Varying)
        for word, one in element.named_inputs.items()
    )


def held_signal(field: str, given: Any) -> Signal:
    """Return what an input inside an element gets: a number, one a trajectory, or a called one."""
    signal = force_signal(field, given)
    if not isinstance(signal, HELD):
        raise StateError(
            f"inputs: {field!r} of a force element is held during a step: expected a number, or "
            f"mbd.Sampled(function); a formula or function of (t, q, v) stands in the element "
            f"itself, in the place of the mbd.Input"
        )
    return signal


def check_numbers(system: System) -> None:
    """Let elements check the numbers that their inputs are given, the least and the largest."""
    model = system.model
    for pick in (np.min, np.max):
        numbers: dict[int, list[float]] = {}
        for part in system.torques:
            if part.field:
                value = float(pick(np.asarray(_values(system, part), dtype=np.float64)))
                numbers.setdefault(part.element, []).append(value)
        for number, values in numbers.items():
            varying = replace(_varying(system.forces[number]), inputs=tuple(values))
            varying.at(model, 0.0, model.neutral(), np.zeros(model.nv))


def _values(system: System, part: TorquePart) -> ArrayLike:
    """Return what an input has; of what Python computes, the value that it has by itself."""
    if isinstance(part.signal, Constant):
        return part.signal.values
    own = _varying(system.forces[part.element]).named_inputs[part.field.rpartition(".")[2]]
    return part.signal.value if isinstance(part.signal, Input) else own.value


def _varying(element: ForceElement) -> Varying:
    assert isinstance(element, Varying), "it has inputs"
    return element


def with_inputs(
    system: System, elements: tuple[ForceElement, ...], held: Array
) -> tuple[ForceElement, ...]:
    """Return the elements of a system with the numbers of their inputs, floats or symbols.

    Parameters
    ----------
    held : (H,) numbers that stay during a step
    """
    numbers: dict[int, list[Any]] = {}
    for k, part in enumerate(system.torques):
        if part.field:
            numbers.setdefault(part.element, []).append(held[system.layout.held[k]][0])
    if not numbers:
        return elements
    out = list(elements)
    for number, values in numbers.items():
        out[number] = replace(_varying(out[number]), inputs=tuple(values))
    return tuple(out)
