"""What acts on a mechanism at one time: the equations' right-hand sides, of floats or symbols.

Kernels of a system take them, with the parameters of its model and force elements as last input.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.equations.external import from_world_axes
from mbd_bridge.equations.newton_euler import external_forces, root_forces
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.formula import Jet
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros
from mbd_bridge.simulation.signals.parts import WrenchPart, with_inputs
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.signal import ElementForces, TracedSignal
from mbd_bridge.simulation.steps.runge_kutta import Stage
from mbd_bridge.solve.model_kernel import model_kernel

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


Forces = tuple[ForceElement, ...]
"""Bound force elements."""


def system_kernel(
    system: System,
    function_of: Callable[[Model, Forces], Traceable],
    inputs: dict[str, int],
    outputs: tuple[str, ...],
    name: str,
    identity: str | None,
) -> Kernel:
    """Return the kernel of a function of a system; of one with parameters, ``p`` is its last input.

    Parameters
    ----------
    function_of : returns the function, for a model and force elements, maybe with symbols in them
    identity : all that the function depends on beside model and parameters; None: its graph tells
    """
    parameters = system.parameters
    if parameters is not None:
        inputs = {**inputs, "p": parameters.size}
        identity = None if identity is None else f"{identity} {parameters.identity}"
    function = system_function(system, function_of)
    return model_kernel(system.model, name, inputs, outputs, function, identity)


def system_function(system: System, function_of: Callable[[Model, Forces], Traceable]) -> Traceable:
    """Return the function of a system, whose last argument are the parameters if it has some."""
    if system.parameters is None:
        return function_of(system.model, system.forces)

    def function(*arguments: Array) -> tuple[Array, ...]:
        *own, p = arguments
        return function_of(system.model_with(p), system.forces_with(p))(*own)

    return function


class Acting:
    """What the parts of a system make at one time.

    Parameters
    ----------
    model : the mechanism, maybe with symbols for its parameters
    held : numbers that stay during a step (see `SystemLayout`)
    numbers : those of a table, by the number of the part: (size,), of a motion its `Jet`
    elements : force elements, maybe with symbols for their parameters; None for the system's
    """

    def __init__(
        self,
        system: System,
        model: Model,
        held: Array,
        numbers: Callable[[int], Any],
        elements: Forces | None = None,
    ) -> None:
        self.system, self.model = system, model
        forces = system.forces if elements is None else elements
        self.elements = with_inputs(system, forces, held)
        self._held, self._numbers = held, numbers

    @staticmethod
    def at(
        system: System,
        model: Model,
        held: Array,
        instant: Array,
        elements: Forces | None = None,
    ) -> Acting:
        """Return what acts at one time, from the numbers of that time."""

        def numbers(part: int) -> Any:
            mine = instant[system.layout.instant[part]]
            return Jet(*mine) if system.moves(part) else mine

        return Acting(system, model, held, numbers, elements)

    def stage(self) -> Stage:
        """Return the generalised forces and the prescribed motions as functions."""
        system = self.system
        first = len(system.torques) + len(system.wrenches)
        follows = [partial(self.value, first + k) for k in range(len(system.prescribed))]
        rates = self.rates if system.nz else None
        joints = () if system.outputs is None else system.outputs.tree_joints
        return Stage(self.forces if first else None, motions(system, follows), rates, joints)

    def value(self, part: int, *state: Any) -> Any:
        """Return the numbers of a part at (t, q, v, z), a motion's at the `Jet` of time."""
        system = self.system
        signal = system.parts[part].signal
        if isinstance(signal, TracedSignal):
            return signal.function(*state[:3])
        if isinstance(signal, ElementForces):
            return signal.of(self.elements, self.model, *state)
        if part not in system.layout.held:
            return self._numbers(part)
        mine = self._held[system.layout.held[part]]
        return mine[0] if system.moves(part) else mine

    def rates(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the rates (nz,) of the states of force elements."""
        return self.system.states.rates(self.elements, self.model, t, q, v, z)

    def forces(self, t: Any, q: Array, v: Array, z: Array, but: Container[int] = ()) -> Array:
        """Return all generalised forces (nv,), without those of some parts."""
        tau = zeros(self.model.nv, q, v)
        if any(k not in but for k in range(len(self.system.torques))):
            tau = self.torque(t, q, v, z, but)
        at_root: dict[int, Array] = {}
        on_links: dict[int, Array] = {}
        for k, part in enumerate(self.system.wrenches, len(self.system.torques)):
            if k in but:
                continue
            wrench, there, place = None, at_root, self.model.links[part.link].body
            if isinstance(part.signal, ElementForces):
                wrench = part.signal.at_root(self.elements, self.model, t, q, v, z)
            if wrench is None:
                wrench, there, place = self._wrench(k, part, t, q, v, z), on_links, part.link
            there[place] = there[place] + wrench if place in there else wrench
        if at_root:
            tau = tau + root_forces(self.model, q, v, at_root)
        if on_links:
            tau = tau + external_forces(self.model, q, on_links)
        return np.asarray(tau)

    def torque(self, t: Any, q: Array, v: Array, z: Array, but: Container[int] = ()) -> Array:
        """Return the generalised forces (nv,) along velocities, without those of some parts.

        Those that are given are held at the effort limits, if these are used.
        """
        torques = enumerate(self.system.torques)
        parts = [k for k, part in torques if k not in but and not part.field]
        if self.system.effort is None:
            return self._along(parts, t, q, v, z)
        given = self.system.effort.held(self.given(t, q, v, z, but))
        rest = [k for k in parts if self.system.torques[k].of_element]
        return given + self._along(rest, t, q, v, z) if rest else given

    def given(self, t: Any, q: Array, v: Array, z: Array, but: Container[int] = ()) -> Array:
        """Return the forces (nv,) along velocities that no element exerts, as they are given."""
        own = [k for k, part in enumerate(self.system.torques) if not part.of_element]
        return self._along([k for k in own if k not in but], t, q, v, z)

    def _along(self, numbers: Sequence[int], t: Any, q: Array, v: Array, z: Array) -> Array:
        torques = [(k, self.system.torques[k]) for k in numbers]
        parts = [np.asarray(self.value(k, t, q, v, z)).reshape(-1) for k, _ in torques]
        if len(parts) == 1 and len(parts[0]) == self.model.nv:
            return parts[0]
        out = zeros(self.model.nv, *parts)
        for (_, part), mine in zip(torques, parts, strict=True):
            out[list(part.places)] = out[list(part.places)] + mine
        return out

    def wrenches(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the wrenches (6 L,) in the axes of their links, about their origins."""
        parts = enumerate(self.system.wrenches, len(self.system.torques))
        found = [self._wrench(k, part, t, q, v, z) for k, part in parts]
        out = zeros(6 * len(found), *found)
        for k, wrench in enumerate(found):
            out[6 * k : 6 * k + 6] = wrench
        return out

    def _wrench(self, k: int, part: WrenchPart, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the wrench (6,) of the part k in the axes of its link, about its origin."""
        wrench = np.asarray(self.value(k, t, q, v, z))
        if part.reference != "link":
            origin = part.reference == "origin"
            turned = from_world_axes(self.model, q, {part.link: wrench}, about_origin=origin)
            wrench = turned[part.link]
        if not any(part.point):
            return wrench
        moment = wrench[3:] + cross(np.array(part.point), wrench[:3])
        return np.concatenate([wrench[:3], moment])

    def pushed(self, q: Array, wrenches: Array) -> Array:
        """Return the generalised forces (nv,) of wrenches (6 L,)."""
        return external_forces(self.model, q, self.on_links(wrenches))

    def on_links(self, wrenches: Array) -> dict[int, Array]:
        """Return wrenches (6 L,) by link, summed up."""
        found: dict[int, Array] = {}
        for k, part in enumerate(self.system.wrenches):
            mine = wrenches[6 * k : 6 * k + 6]
            there = found.get(part.link)
            found[part.link] = mine if there is None else there + mine
        return found


def instant_in_step(system: System, stream: Array, k: int) -> Array:
    """Return the numbers (I,) at the start (k = 0), in the middle or at the end of a step.

    Of a motion f and f' are always those at the end, where alone they are needed.
    """
    instant = zeros(system.layout.sizes[2], stream)
    for part, place in system.layout.instant.items():
        mine = stream[system.layout.stream[part]]
        if system.moves(part):
            instant[place] = mine[3], mine[4], mine[k]
        else:
            size = len(mine) // 3
            instant[place] = mine[k * size : (k + 1) * size]
    return instant


def motions(system: System, functions: Sequence[Callable[[Any], Any]]) -> PrescribedMotions | None:
    """Return the prescribed motions of a system that follow such functions of time."""
    if not system.prescribed:
        return None
    names, q, v, _ = zip(*system.prescribed, strict=True)
    scale = system.model.velocity_scale[list(v)]
    return PrescribedMotions(names, q, v, tuple(functions), scale)


def kernel_of(
    system: System,
    function_of: Callable[[Callable[[Array, Array], Acting]], Traceable],
    outputs: tuple[str, ...],
    name: str,
    what: str = "",
) -> Kernel:
    """Return the kernel of a function of (q, v, (t, z), held, instant), and of parameters.

    Parameters
    ----------
    function_of : of what gives `Acting` from held and instant
    what : all that the function depends on beside the system
    """
    model, (held, _, instant) = system.model, system.layout.sizes
    inputs = {"q": model.nq, "v": model.nv, "t": 1 + system.nz, "held": held}
    inputs["instant"] = instant
    identity = None if system.identity is None else f"{name} {what} {system.identity}"

    def of(own: Model, elements: Forces) -> Traceable:
        return function_of(lambda held, now: Acting.at(system, own, held, now, elements))

    return system_kernel(system, of, inputs, outputs, name, identity)


def given_kernel(system: System) -> Kernel:
    """Return the kernel of the forces (nv,) that are given along velocities, not held at limits."""

    def of(acting: Callable[[Array, Array], Acting]) -> Traceable:
        def function(q: Array, v: Array, t: Array, held: Array, now: Array) -> tuple[Array, ...]:
            return (acting(held, now).given(t[0], q, v, t[1:]),)

        return function

    return _compiled(system, of, ("given",), "given")


def acting_kernel(system: System) -> Kernel:
    """Return the kernel of torques (nv,), wrenches (6 L,) and the forces of these (nv,)."""
    none = np.zeros(system.model.nv)

    def of(acting: Callable[[Array, Array], Acting]) -> Traceable:
        def function(q: Array, v: Array, t: Array, held: Array, now: Array) -> tuple[Array, ...]:
            acts = acting(held, now)
            wrenches = acts.wrenches(t[0], q, v, t[1:])
            tau = acts.torque(t[0], q, v, t[1:]) if system.torques else none
            return tau, wrenches, acts.pushed(q, wrenches) if system.wrenches else none

        return function

    return _compiled(system, of, ("tau", "wrenches", "pushed"), "acting")


def _compiled(
    system: System,
    function_of: Callable[[Callable[[Array, Array], Acting]], Traceable],
    outputs: tuple[str, ...],
    name: str,
) -> Kernel:
    """Return a kernel of what is given; a function that cannot be traced is told to its author."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # constants are folded
            return kernel_of(system, function_of, outputs, name)
    except KernelError as problem:
        raise StateError(
            f"torque, external: {problem}. A force or a wrench is a constant, a table, or a "
            f"function of (t, q, v) made of + - * / ** and the functions of "
            f"mbd_bridge.functions; placement and velocity of the mechanism may be asked in "
            f"it. What cannot be traced can be called step by step: mbd.Sampled(function)"
        ) from problem
