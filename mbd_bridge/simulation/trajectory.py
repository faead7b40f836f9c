"""One trajectory of a system: its mechanism, and its numbers at any time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mbd_bridge.base.errors import FunctionError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.forces.base import NO_STATES, Bodies, ForceElement
from mbd_bridge.forces.formula import Jet
from mbd_bridge.forces.varying import Input, Sampled
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acts import Acting, motions
from mbd_bridge.simulation.signals.parts import ADVICE
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.signals.signal import Constant, TracedSignal, jets
from mbd_bridge.simulation.signals.tables import PolynomialSignal
from mbd_bridge.simulation.steps.runge_kutta import Stage
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.system import System


class Trajectory:
    """A system with the numbers of one of its trajectories.

    Attributes
    ----------
    system, number : whose it is, and which
    model, machine : the mechanism, and with it the force elements of this trajectory
    """

    def __init__(self, system: System, number: int = 0) -> None:
        self.system, self.number = system, number
        variants = system.parameters
        self.model: Model = system.model if variants is None else variants.variant(number)
        self.p = None if variants is None else variants.inputs[number]
        self.machine = self.model, system.acts_with(self.p)
        self._members = np.array([number])
        self.held: Array = held(system, self._members)[0]
        self._samples: Array | None = None

    @property
    def forces_in_cuts(self) -> tuple[ForceElement, ...]:
        """The force elements that act in cut joints; see `System.forces_in_cuts`."""
        names = {element.name for element in self.system.forces_in_cuts}
        called = [one for one in self.system.element_parts if isinstance(one.signal, Sampled)]
        if any(one.field.rpartition(".")[0] in names for one in called):
            raise StateError(
                "a force element in a cut joint has an input that Python computes: have the steps "
                "tell the loads, simulate(..., loads=[joints])"
            )
        return tuple(element for element in self.acting_forces if element.name in names)

    @property
    def acting_forces(self) -> tuple[ForceElement, ...]:
        """The force elements with the inputs that they were given."""
        return self.system.holding(self.machine[1], self.held).elements

    def __reduce__(self) -> tuple[type[Trajectory], tuple[System, int]]:
        return Trajectory, (self.system, self.number)

    def try_at(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Complain of what is not finite at the start, or where a force element cannot act."""
        bodies = Bodies(self.model, q, v)
        for element in self.system.forces:
            element.check_start(self.model, t, bodies)
        rates = self.rates(Now(t, q, v, z)) if len(z) else z
        for name, rate in zip(self.system.states.names, rates, strict=True):
            if not np.isfinite(rate):
                raise StateError(
                    f"forces: the rate of {name!r} is {rate} at t = {t:g} s; expected a finite "
                    f"number"
                )
        if not self.system.pushed:
            return
        tau, wrenches, _ = self.acting(np.array([t]), q[None], v[None], z=z[None])
        for name, wrench in zip(self.system.links, wrenches[0], strict=True):
            if not np.isfinite(wrench).all():
                raise StateError(
                    f"external[{name!r}]: at t = {t:g} s it is {wrench.tolist()}; expected finite "
                    f"numbers: {ADVICE}"
                )
        bad = np.flatnonzero(~np.isfinite(tau[0]))
        if len(bad):
            name = self.model.velocity_names[bad[0]]
            raise StateError(
                f"torque {name!r}: at t = {t:g} s it is {tau[0, bad[0]]}; expected finite numbers"
            )

    def sampled(self, t: float, q: Array, v: Array) -> Array:
        """Return what is held during a step that begins here; Python functions are called."""
        if not self.system.sampled:
            return self.held
        if self._samples is not None:
            return self._samples
        return sampled(self.system, self.held, t, q, v)

    @contextlib.contextmanager
    def holding(self, now: Now, samples: Array | None = None) -> Iterator[None]:
        """Hold the samples of a state: over singular positions steps of any length must agree.

        Parameters
        ----------
        samples : if they are known already; Python is not called then
        """
        if self.system.sampled:
            known = self.sampled(now.t, now.q, now.v) if samples is None else samples.copy()
            self._samples = known
        try:
            yield
        finally:
            self._samples = None

    def more(self, t: float, q: Array, v: Array) -> list[Array]:
        """Return the inputs of a step beside q, v, t, h and the stream."""
        there = self.system.more
        found = [self.sampled(t, q, v)] if "held" in there else []
        return [*found, self.p] if "p" in there and self.p is not None else found

    def now(self, t: float, q: Array, v: Array, z: Array) -> list[Array]:
        """Return the inputs of a kernel of one time (`acts.kernel_of`) behind q and v."""
        time = np.array([t, *z]) if len(z) else np.array([t])
        found = [time, self.sampled(t, q, v), self.instants(np.array([t]))[0]]
        return found if self.p is None else [*found, self.p]

    def without_torques(self) -> Trajectory:
        """Return the trajectory that nothing acts on along velocities."""
        return Trajectory(self.system.with_parts(torques=()), self.number)

    def stream(self, times: Array, h: float) -> Array | None:
        """Return the numbers (steps, S, 1) of tables for steps between times (steps + 1,)."""
        if not self.system.layout.sizes[1]:
            return None
        return stream(self.system, times, h, self._members)

    def instants(self, times: Array) -> Array:
        """Return the numbers (K, I) of tables at times."""
        return instants(self.system, times, self._members)[:, 0]

    def rates(self, now: Now) -> Array:
        """Return the rates (nz,) of the states of force elements at a state."""
        z = now.carried[: self.system.nz]
        acts = Acting(self.system, self.machine, self.held, lambda _: None)
        return np.asarray(acts.rates(now.t, now.q, now.v, z), dtype=np.float64)

    @cached_property
    def stage(self) -> Stage:
        """What acts, as functions of time and state in floats; Python functions are called."""
        system = self.system

        def rates(t: float, q: Array, v: Array, z: Array) -> Array:
            return self.rates(Now(t, q, v, z))

        of_states = rates if system.nz else None
        if not system.pushed:
            return Stage(None, self.motions, of_states)
        streamed = any(isinstance(part.signal, PolynomialSignal) for part in system.torques)

        def plain(t: float, q: Array, v: Array, z: Array = NO_STATES) -> Array:
            held = self.sampled(t, q, v)
            acts = Acting(system, self.machine, held, lambda _: None)
            return np.asarray(acts.torque(t, q, v, z), dtype=np.float64)

        def compiled(t: float, q: Array, v: Array, z: Array = NO_STATES) -> Array:
            tau, _, pushed = self.acting(np.array([t]), q[None], v[None], z=z[None])
            return np.asarray((tau + pushed)[0])

        torque = compiled if streamed or system.links else plain
        return Stage(torque, self.motions, of_states)

    @cached_property
    def motions(self) -> PrescribedMotions | None:
        """The prescribed motions, as functions of time."""
        system = self.system

        def function(signal: Constant | TracedSignal | PolynomialSignal) -> Any:
            if isinstance(signal, TracedSignal):
                return signal.function
            if isinstance(signal, Constant):
                (number,) = signal.of(self._members)[0]
                return lambda _: float(number)

            def table(t: Jet) -> Jet:
                parts = signal.at(np.array([t.value]), self._members, 2)
                return Jet(*(float(part[0, 0, 0]) for part in parts))

            return table

        return motions(system, [function(part.signal) for part in system.prescribed])

    def samples(self, times: Array, q: Array, v: Array) -> Array:
        """Return what steps from records hold (K, H); where a function failed, what was before."""
        found: list[Array] = []
        for state in zip(times.tolist(), q, v, strict=True):
            try:
                found.append(self.sampled(*state))
            except FunctionError:
                if not found:
                    raise
                found.append(found[-1])
        return np.array(found)

    def accelerations(self, times: Array) -> Array:
        """Return f'' (K, D) of the prescribed motions at times."""
        return prescribed(self.system, times, self._members)[:, 0, :, 2]

    def acting(
        self,
        times: Array,
        q: Array,
        v: Array,
        samples: Array | None = None,
        z: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return torques (K, nv), wrenches (K, L, 6) in link axes, and the forces of these.

        Parameters
        ----------
        samples : (K, H) what was held, where Python was called
        z : (K, nz) states of force elements, if they have some
        """
        system, count = self.system, len(times)
        if not system.pushed:
            return nothing(self.model.nv, count)
        if system.sampled and samples is None:
            samples = self.samples(times, q, v)
        own = np.broadcast_to(self.held, (count, len(self.held))) if samples is None else samples
        more = [] if self.p is None else [np.broadcast_to(self.p, (count, len(self.p)))]
        try:
            kernel = system.acting
        except StateError:
            found = self._called(times, q, v, z)
            if found is None:
                raise
            return found, *nothing(self.model.nv, count)[1:]
        now = self.instants(times)
        at = times[:, None] if z is None else np.column_stack([times, z])
        tau, packed, pushed = kernel(q, v, at, own, now, *more)
        return tau, packed.reshape(count, len(system.links), 6), pushed

    def _called(self, times: Array, q: Array, v: Array, z: Array | None) -> Array | None:
        """Return the torques (K, nv) by calling Python: methods run from there take any."""
        acts = None if self.system.links else self.stage.torque
        if acts is None:
            return None
        z = np.zeros((len(times), 0)) if z is None else z
        try:
            rows = [acts(*state) for state in zip(times.tolist(), q, v, z, strict=True)]
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return None
        return np.array(rows).reshape(len(times), self.model.nv)


def nothing(nv: int, *shape: int) -> tuple[Array, Array, Array]:
    """Return torques, wrenches and forces of these where there are none."""
    return np.zeros((*shape, nv)), np.zeros((*shape, 0, 6)), np.zeros((*shape, nv))


def held(system: System, members: Array) -> Array:
    """Return what stays during a step (L, H), for some trajectories; samples are not in it yet."""
    out = np.zeros((len(members), system.layout.sizes[0]))
    for part, place in system.layout.held.items():
        signal = system.parts[part].signal
        if isinstance(signal, Constant):
            out[:, place] = signal.of(members)
        elif isinstance(signal, Input):
            out[:, place] = signal.value
    return out


def sampled(system: System, held: Array, t: float, q: Array, v: Array) -> Array:
    """Return what is held by one trajectory during a step from here, with fresh samples."""
    out = held.copy()
    for part, place in system.layout.held.items():
        signal = system.parts[part].signal
        if isinstance(signal, Sampled):
            out[place] = _called(signal, t, q, v, place.stop - place.start)
    return out


def _called(signal: Sampled, t: float, q: Array, v: Array, size: int) -> Array:
    """Return what a function returns; what is wrong with it ends the motion (FunctionError)."""
    try:
        returned = signal.function(t, q.copy(), v.copy())
    except Exception as met:  # whatever the user's Python raises: the motion so far is kept
        raise FunctionError(
            f"{signal.label}: the function raised {type(met).__name__}: {met}"
        ) from met
    try:
        numbers = np.asarray(returned, dtype=np.float64)
        if np.isfinite(numbers).all():
            return np.broadcast_to(numbers, (size,))
    except (TypeError, ValueError):
        pass
    raise FunctionError(
        f"{signal.label}: the function returned {returned!r:.60}; expected ({size},) finite numbers"
    )


def stream(system: System, times: Array, h: float, members: Array) -> Array:
    """Return the numbers (steps, S, L) of tables for steps between times (steps + 1,)."""
    steps = len(times) - 1
    at = np.empty(2 * steps + 1)
    at[0::2], at[1::2] = times, times[:-1] + 0.5 * h
    out = np.empty((steps, system.layout.sizes[1], len(members)))
    for part, place in system.layout.stream.items():
        signal = system.parts[part].signal
        assert isinstance(signal, PolynomialSignal)
        mine = out[:, place]
        if system.moves(part):
            f, f1, f2 = (x[:, :, 0] for x in signal.at(at, members, 2))
            rows = f2[:-1:2], f2[1::2], f2[2::2], f[2::2], f1[2::2]
            for k, row in enumerate(rows):
                mine[:, k] = row
            continue
        (value,) = signal.at(at, members)
        value = np.moveaxis(value, 1, 2)
        size = value.shape[1]
        for k, row in enumerate((value[:-1:2], value[1::2], value[2::2])):
            mine[:, k * size : (k + 1) * size] = row
    return out


def instants(system: System, times: Array, members: Array) -> Array:
    """Return the numbers (K, L, I) of tables at times."""
    out = np.empty((len(times), len(members), system.layout.sizes[2]))
    for part, place in system.layout.instant.items():
        signal = system.parts[part].signal
        assert isinstance(signal, PolynomialSignal)
        if system.moves(part):
            out[:, :, place] = np.concatenate(signal.at(times, members, 2), axis=2)
        else:
            out[:, :, place] = signal.at(times, members)[0]
    return out


def prescribed(system: System, times: Array, members: Array) -> Array:
    """Return f, f', f'' (K, L, D, 3) of the prescribed motions at times."""
    out = np.zeros((len(times), len(members), len(system.prescribed), 3))
    for k, part in enumerate(system.prescribed):
        signal = part.signal
        if isinstance(signal, Constant):
            out[:, :, k, 0] = signal.of(members)[:, 0]
        elif isinstance(signal, PolynomialSignal):
            out[:, :, k] = np.concatenate(signal.at(times, members, 2), axis=2)
        else:
            jet = jets(signal, times)
            for order, value in enumerate((jet.value, jet.first, jet.second)):
                out[:, :, k, order] = np.broadcast_to(value, times.shape)[:, None]
    return out
