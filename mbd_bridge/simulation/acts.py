"""What acts on a mechanism at one time: the equations' right-hand sides, of floats or symbols.

Kernels of a system take them, with the parameters of its model and force elements as last input.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.equations.external import add, from_world_axes
from mbd_bridge.equations.newton_euler import external_forces, root_forces
from mbd_bridge.forces.acts import Acts, along
from mbd_bridge.forces.base import Effect
from mbd_bridge.forces.formula import Jet
from mbd_bridge.forces.points import in_link_axes
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros
from mbd_bridge.simulation.signals.parts import WrenchPart
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.signal import TracedSignal
from mbd_bridge.simulation.steps.runge_kutta import Stage
from mbd_bridge.solve.balance import unbalanced
from mbd_bridge.solve.model_kernel import model_kernel

if TYPE_CHECKING:
    from mbd_bridge.simulation.system import System


NONE = np.zeros(0)

Machine = tuple[Model, Acts]
"""A model and its force elements, maybe with symbols for their parameters."""

Function = Callable[..., tuple[Array, ...]]
"""Of what acts, then q (nq,), v (nv,), t and z (nz,)."""


def system_kernel(
    system: System,
    function: Traceable,
    inputs: dict[str, int],
    outputs: tuple[str, ...],
    name: str,
    request: object,
) -> Kernel:
    """Return the kernel of a function of a system; of one with parameters, ``p`` is its last input.

    Parameters
    ----------
    request : all that the function depends on beside model and parameters; None: its graph tells
    """
    parameters = system.parameters
    if parameters is not None:
        inputs = {**inputs, "p": parameters.size}
        request = None if request is None else (request, parameters)
    return model_kernel(system.model, name, inputs, outputs, function, request)


class Acting:
    """What acts on a system at one time.

    Parameters
    ----------
    machine : see `System.machine`
    held : numbers that stay during a step (see `SystemLayout`)
    numbers : those of a table, by the number of the part: (size,), of a motion its `Jet`
    """

    def __init__(
        self, system: System, machine: Machine, held: Array, numbers: Callable[[int], Any]
    ) -> None:
        self.system, (self.model, acts) = system, machine
        self.acts = system.holding(acts, held)
        self._held, self._numbers = held, numbers

    @staticmethod
    def at(system: System, machine: Machine, held: Array, instant: Array) -> Acting:
        """Return what acts at one time, from the numbers of that time."""

        def numbers(part: int) -> Any:
            mine = instant[system.layout.instant[part]]
            return Jet(*mine) if system.moves(part) else mine

        return Acting(system, machine, held, numbers)

    def stage(self) -> Stage:
        """Return the generalised forces and the prescribed motions as functions."""
        system = self.system
        first = len(system.parts) - len(system.prescribed)
        follows = [partial(self.value, first + k) for k in range(len(system.prescribed))]
        rates = self.rates if system.nz else None
        joints = () if system.outputs is None else system.outputs.tree_joints
        return Stage(
            self.forces if system.pushed else None, motions(system, follows), rates, joints
        )

    def value(self, part: int, *state: Any) -> Any:
        """Return the numbers of a part at (t, q, v, z), a motion's at the `Jet` of time."""
        system = self.system
        signal = system.parts[part].signal
        if isinstance(signal, TracedSignal):
            return signal.function(*state[:3])
        if part not in system.layout.held:
            return self._numbers(part)
        mine = self._held[system.layout.held[part]]
        return mine[0] if system.moves(part) else mine

    def rates(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the rates (nz,) of the states of force elements."""
        return self.acts.rates(self.model, t, q, v, z)

    def forces(self, t: Any, q: Array, v: Array, z: Array, but: Container[int] = ()) -> Array:
        """Return all generalised forces (nv,), without those of some force elements."""
        effects = self.acts.effects(self.model, t, q, v, z, but)
        tau = self._torque(effects, t, q, v, z)
        at_root: dict[int, Array] = {}
        on_links: dict[int, Array] = {}
        for effect in effects:
            add(on_links if effect.about == "link" else at_root, effect.wrenches)
        given: dict[int, Array] = {}
        for k, part in self._pushes():
            add(given, {part.link: self._wrench(k, part, t, q, v, z)})
        add(given, on_links)
        on_bodies: dict[int, Array] = {}
        for link in sorted(at_root):
            add(on_bodies, {self.model.links[link].body: at_root[link]})
        if on_bodies:
            tau = tau + root_forces(self.model, q, v, on_bodies)
        if given:
            tau = tau + external_forces(self.model, q, given)
        return np.asarray(tau)

    def torque(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the generalised forces (nv,) along velocities.

        Those that are given are held at the effort limits, if these are used.
        """
        return self._torque(self.acts.effects(self.model, t, q, v, z), t, q, v, z)

    def _torque(self, effects: Sequence[Effect], t: Any, q: Array, v: Array, z: Array) -> Array:
        given = self.given(t, q, v, z)
        given = given if self.system.effort is None else self.system.effort.held(given)
        return given + along(self.model, effects, q, v)

    def given(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the forces (nv,) along velocities that no element exerts, as they are given."""
        torques = self.system.torques
        parts = [np.asarray(self.value(k, t, q, v, z)).reshape(-1) for k in range(len(torques))]
        if len(parts) == 1 and len(parts[0]) == self.model.nv:
            return parts[0]
        out = zeros(self.model.nv, *parts)
        for part, mine in zip(torques, parts, strict=True):
            out[list(part.places)] = out[list(part.places)] + mine
        return out

    def wrenches(self, t: Any, q: Array, v: Array, z: Array) -> Array:
        """Return the wrenches (6 L,) of `System.links`, in their axes, about their origins."""
        found = [self._wrench(k, part, t, q, v, z) for k, part in self._pushes()]
        sums: dict[tuple[int, bool], Array] = {}
        effects = self.acts.effects(self.model, t, q, v, z)
        for element, effect in zip(self.acts.elements, effects, strict=True):
            within = bool(element.cut_numbers(self.model))
            for link, wrench in in_link_axes(self.model, q, v, effect).items():
                own = sums.get((link, within))
                sums[link, within] = wrench if own is None else own + wrench
        found += [sums[place] for place in self.system.element_links]
        return np.concatenate([np.zeros(0), *found])

    def residual(
        self, rows: Sequence[int], t: Any, q: Array, v: Array, z: Array, a: Array, lam: Array
    ) -> Array:
        """Return M a + h + Φ_qᵀ λ + Eᵀ λ_d - τ (nv,), N m or N; it needs no mass matrix.

        Parameters
        ----------
        rows : of the loops' constraints, whose multipliers come first in `lam`
        """
        model, prescribed = self.model, list(self.system.prescribed_velocities)
        tau = self.forces(t, q, v, z) if self.system.pushed else None
        loops = lam[: len(rows)] if rows else None
        force = unbalanced(model, q, v, a, along=tau, lam=loops, rows=rows)
        if prescribed:
            force = force + np.eye(model.nv)[:, prescribed] @ lam[len(rows) :]
        return force

    def _pushes(self) -> Iterator[tuple[int, WrenchPart]]:
        """Yield the numbers of the given wrenches, and these."""
        system = self.system
        yield from enumerate(system.wrenches, len(system.torques) + len(system.element_parts))

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
        numbers = [part.link for part in self.system.wrenches]
        for k, link in enumerate([*numbers, *(link for link, _ in self.system.element_links)]):
            add(found, {link: wrenches[6 * k : 6 * k + 6]})
        return found


class Numbers(NamedTuple):
    """Parameters of a mechanism and what is given from outside at one time of a step.

    Attributes
    ----------
    basis : what steps in a null space keep of it
    """

    p: Array
    held: Array
    instant: Array
    basis: Array = NONE

    def acting(self, system: System) -> Acting:
        """Return what acts at that time."""
        return Acting.at(system, system.machine(self.p), self.held, self.instant)


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
    system: System, function: Function, outputs: tuple[str, ...], name: str, what: object = ()
) -> Kernel:
    """Return the kernel of a function of what acts, over (q, v, (t, z), held, instant), and p.

    Parameters
    ----------
    what : all that the function depends on beside the system; None: only its graph tells
    """
    model, (held, _, instant) = system.model, system.layout.sizes
    inputs = {"q": model.nq, "v": model.nv, "t": 1 + system.nz, "held": held}
    inputs["instant"] = instant
    request = None if what is None else (what, system)

    def traced(
        q: Array, v: Array, t: Array, held: Array, now: Array, *p: Array
    ) -> tuple[Array, ...]:
        acts = Acting.at(system, system.machine(*p), held, now)
        return function(acts, q, v, t[0], t[1:])

    return system_kernel(system, traced, inputs, outputs, name, request)


def given_kernel(system: System) -> Kernel:
    """Return the kernel of the forces (nv,) that are given along velocities, not held at limits."""

    def function(acts: Acting, q: Array, v: Array, t: Any, z: Array) -> tuple[Array, ...]:
        return (acts.given(t, q, v, z),)

    return _compiled(system, function, ("given",), "given")


def acting_kernel(system: System) -> Kernel:
    """Return the kernel of torques (nv,), wrenches (6 L,) and the forces of these (nv,)."""
    none = np.zeros(system.model.nv)

    def function(acts: Acting, q: Array, v: Array, t: Any, z: Array) -> tuple[Array, ...]:
        wrenches = acts.wrenches(t, q, v, z)
        tau = acts.torque(t, q, v, z) if system.torques or system.forces else none
        pushed = external_forces(acts.model, q, acts.on_links(wrenches)) if system.links else none
        return tau, wrenches, pushed

    return _compiled(system, function, ("tau", "wrenches", "pushed"), "acting")


def _compiled(system: System, function: Function, outputs: tuple[str, ...], name: str) -> Kernel:
    """Return a kernel of what is given; a function that cannot be traced is told to its author."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # constants are folded
            return kernel_of(system, function, outputs, name)
    except KernelError as problem:
        raise StateError(
            f"torque, external: {problem}. A force or a wrench is a constant, a table, or a "
            f"function of (t, q, v) made of + - * / ** and the functions of "
            f"mbd_bridge.functions; placement and velocity of the mechanism may be asked in "
            f"it. What cannot be traced can be called step by step: mbd.Sampled(function)"
        ) from problem
