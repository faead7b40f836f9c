"""The parts of a system that users give: along velocities, on links, inside force elements.

Wrenches enter the equations of motion as the generalised forces J_linkᵀ w, beside the torques, and
the loads of the joints as what they are: a push on one link. Inputs get their signals here
(`simulate(..., inputs={"grip": 2.0})`); those inside force elements are held during a step, like
those of torques.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import by_name, known_name
from mbd_bridge.base.errors import StateError, unknown_name
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.formula import Formula
from mbd_bridge.forces.varying import Input, Sampled, Varying
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.external.force import ExternalForce, Reference
from mbd_bridge.motion.external.forces import ExternalForces, File, external_forces
from mbd_bridge.simulation.signals.signal import (
    HELD,
    WRENCH,
    Constant,
    Signal,
    StateFunction,
    TracedSignal,
    signal_of,
)
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from mbd_bridge.solve.wrenches import check_axes, links_of

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


Force: TypeAlias = (
    float
    | str
    | Formula
    | tuple[ArrayLike, ArrayLike]
    | StateFunction
    | Sampled
    | Input
    | ArrayLike
)
"""Along one velocity: a number (of a batch N of them), a formula of t ("5*sin(t)"), a table
(times, values) with straight lines from row to row, a function of (t, q, v) that is traced, a
`Sampled` one that is called, an `Input`."""


Torque: TypeAlias = Mapping[str, Force] | ArrayLike | StateFunction | Sampled | Input | None
"""Forces by velocity name; constants (nv,), of a batch also (N, nv); a function of (t, q, v) that
returns (nv,), traced or `Sampled`; an `Input` of nv numbers; or none."""


EXPECTED = (
    "a number, one for each trajectory, a formula such as '5*sin(t)', a table (times, values), "
    "a function of (t, q, v), mbd.Sampled(function) or mbd.Input(name)"
)


class TorquePart(NamedTuple):
    """One signal, and the velocities (indices) along which its numbers act."""

    places: tuple[int, ...]
    signal: Signal


class ElementPart(NamedTuple):
    """A signal of numbers that a force element holds during a step.

    Attributes
    ----------
    field : "ELEMENT.field"
    element, size : number of the element; how many numbers they are
    own : what the element has by itself
    """

    field: str
    signal: Signal
    element: int
    size: int
    own: Input | Sampled


def torque_parts(model: Model, torque: Torque) -> tuple[TorquePart, ...]:
    """Return what acts along velocities, checked."""
    if torque is None:
        return ()
    if isinstance(torque, Mapping):
        return tuple(
            TorquePart((velocity_place(model, name),), force_signal(name, given))
            for name, given in torque.items()
        )
    expected = (
        f"forces by velocity name, numbers ({model.nv},) or (N, {model.nv}), or a function of "
        f"(t, q, v) that returns ({model.nv},), along {', '.join(model.velocity_names)}"
    )
    every = tuple(range(model.nv))
    return (TorquePart(every, signal_of("torque", torque, model.nv, expected)),)


def force_signal(name: str, given: Any) -> Signal:
    """Return the signal that is given along one velocity."""
    return signal_of(f"torque {name!r}", given, None, EXPECTED)


def velocity_place(model: Model, name: str) -> int:
    """Return the index of a velocity by its name."""
    known_name("velocity", name, model.velocity_names, "torque: ")
    return model.velocity_names.index(name)


Wrench: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike] | StateFunction | Sampled | Input
"""On a link, N and N m: (6,) numbers (of a batch also (N, 6)), a table (times (n,), values (n, 6)),
a function of (t, q, v) that returns six, traced or `Sampled`, or an `Input` of six numbers."""


ByLink: TypeAlias = Mapping[str, Wrench]


External: TypeAlias = ByLink | ExternalForces | File | Sequence[ByLink | ExternalForces | File]
"""Wrenches by link; `robot.read_external(...)`, or its file; or several of these."""


FAR = 1e9
"""s, beyond the ends of a table whose end goes on: longer than any run."""


ADVICE = "force in N, then moment in N m, about the link's origin"

A_WRENCH = (
    f"a wrench, (6,), (N, 6) for N trajectories, a table, or a function of (t, q, v) that returns "
    f"six: {ADVICE}, in the link's axes (external_in='world': in the world's)"
)


class WrenchPart(NamedTuple):
    """A wrench on a link (its number), about a point (3,) m of the link in its frame.

    `said` is a sentence about one from a table.
    """

    name: str
    link: int
    reference: Reference
    signal: Signal
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    said: str = ""


def wrench_parts(
    model: Model, external: External | None, external_in: str = "link"
) -> tuple[WrenchPart, ...]:
    """Return what pushes on links, checked."""
    axes = check_axes(external_in)
    parts: list[WrenchPart] = []
    for one in external if _are_several(external) else (external,):
        if isinstance(one, ExternalForces | str | PathLike):
            parts += [_tabulated(model, force) for force in external_forces(model, one) or ()]
            continue
        by_link = cast("ByLink | None", one)
        for name in links_of(by_link):
            where, given = f"external[{name!r}]", (by_link or {})[name]
            signal = signal_of(where, given, WRENCH, A_WRENCH)
            parts.append(WrenchPart(name, model.link_number(name), axes, signal))
    return tuple(parts)


def _are_several(
    external: External | None,
) -> TypeGuard[Sequence[ByLink | ExternalForces | File]]:
    several = isinstance(external, list | tuple) and len(external) > 0
    kinds = (Mapping, ExternalForces, str, PathLike)
    return several and all(isinstance(one, kinds) for one in cast("list[object]", external))


def _tabulated(model: Model, force: ExternalForce) -> WrenchPart:
    """Return a force that a table gives, as a part of a system."""
    where = f"external[{force.link!r}]"
    number = model.link_number(force.link)
    signal: Signal
    if len(force.x) == 1 and force.outside == "hold":
        signal = Constant(force.wrenches)
    elif force.abscissa.is_time:
        low, high = force.span
        x, w = force.nodes
        if low == -np.inf:
            x, w = np.append(min(x[0] - 1.0, -FAR), x), np.vstack([w[:1], w])
        if high == np.inf:
            x, w = np.append(x, max(x[-1] + 1.0, FAR)), np.vstack([w, w[-1:]])
        signal = PolynomialSignal.lines(where, (x, w), size=6)
    else:
        if not np.isinf(force.span).all():
            raise StateError(
                f"{where}: a simulation may go beyond the table over {force.abscissa.name}, which "
                f"ends with forces: end it with rows of zeros, or say what holds there: "
                f"outside='zero' or 'hold' (--external-outside zero)"
            )
        signal = TracedSignal(_Traced(model, force), f"table {force.digest}")
    return WrenchPart(force.link, number, force.reference, signal, force.point, force.text)


@dataclass(frozen=True, eq=False)
class _Traced:
    """A force over a coordinate or a position, as a function of (t, q, v)."""

    model: Model
    force: ExternalForce

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return the wrench (6,) as it is given."""
        return self.force.traced(self.model, t, q, v)


def element_parts(elements: Sequence[ForceElement]) -> tuple[ElementPart, ...]:
    """Return the numbers that elements hold during a step."""
    return tuple(
        ElementPart(f"{element.name}.{word}", one, number, size, one)
        for number, element in enumerate(elements)
        for word, (one, size) in element.held.items()
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
        numbers: dict[int, list[Array]] = {}
        for part in system.element_parts:
            if isinstance(part.own, Input):
                values = np.asarray(_values(part), dtype=np.float64)
                numbers.setdefault(part.element, []).append(np.full(1, pick(values)))
        for number, own in numbers.items():
            varying = system.forces[number].holding(own)
            assert isinstance(varying, Varying), "it has inputs"
            varying.at(model, 0.0, model.neutral(), np.zeros(model.nv))


def _values(part: ElementPart) -> ArrayLike:
    """Return what an input has; of what Python computes, the value that it has by itself."""
    if isinstance(part.signal, Constant):
        return part.signal.values
    own = part.signal if isinstance(part.signal, Input) else part.own
    assert isinstance(own, Input)
    return own.value


Given: TypeAlias = tuple[tuple[TorquePart, ...], tuple[ElementPart, ...], tuple[WrenchPart, ...]]
"""What is given along velocities, inside force elements, on links."""


def resolved(model: Model, parts: Given, inputs: Mapping[str, Any] | None) -> Given:
    """Return what is given, with signals in the place of the inputs that are named.

    Each may be whatever may be given there directly.
    """
    inputs = by_name("inputs", inputs, "{'grip': 2.0}")
    if not inputs:
        return parts
    signals = (part.signal for kind in parts for part in kind)
    known = {signal.name for signal in signals if isinstance(signal, Input)}
    for name in inputs:
        if name not in known:
            raise StateError(unknown_name("input", name, sorted(known)))

    def torque(part: TorquePart) -> TorquePart:
        name = _name(part.signal, inputs)
        if name is None:
            return part
        if len(part.places) == model.nv > 1:
            (whole,) = torque_parts(model, inputs[name])
            return whole
        velocity = model.velocity_names[part.places[0]]
        return part._replace(signal=force_signal(velocity, inputs[name]))

    def held(part: ElementPart) -> ElementPart:
        name = _name(part.signal, inputs)
        if name is None:
            return part
        return part._replace(signal=held_signal(part.field, inputs[name]))

    def wrench(part: WrenchPart) -> WrenchPart:
        name = _name(part.signal, inputs)
        if name is None:
            return part
        (found,) = wrench_parts(model, {part.name: inputs[name]})
        return part._replace(signal=found.signal)

    return tuple(map(torque, parts[0])), tuple(map(held, parts[1])), tuple(map(wrench, parts[2]))


def _name(signal: Any, inputs: Mapping[str, Any]) -> str | None:
    there = isinstance(signal, Input) and signal.name in inputs
    return signal.name if there else None
