"""External wrenches along a motion: constants, or formulas of time and state, link by link.

They enter the equations of motion as the generalised forces J_linkᵀ w, beside the torques, and the
loads of the joints as what they are: a push on one link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats
from mbd_bridge.equations.external import from_world_axes
from mbd_bridge.equations.newton_euler import external_forces
from mbd_bridge.errors import KernelError, StateError
from mbd_bridge.kernels import Kernel, compile_kernel, is_traced
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.step import Torque
from mbd_bridge.solve.wrenches import Axes, check_axes, links_of
from mbd_bridge.spatial import Array, zeros

Push: TypeAlias = ArrayLike | Callable[[Any, Array, Array], Any]
"""A wrench (6,) on a link, N and N m; or a traceable function of (t, q, v) that returns one."""

ADVICE = "force in N, then moment in N m, about the link's origin"


class Wrenches:
    """The external wrenches of one simulation.

    Attributes
    ----------
    model : the mechanism
    links : names of the links that carry them
    numbers : of these links
    axes : they are given in the axes of their "link" or of the "world"
    """

    def __init__(self, model: Model, given: Mapping[str, Push], axes: Axes) -> None:
        self.model, self.axes, self.links = model, axes, links_of(given)
        self.numbers = tuple(model.link_number(name) for name in self.links)
        self._pushes = [_function(name, given[name]) for name in self.links]

    def at(self, t: Any, q: Array, v: Array) -> Array:
        """Return the wrenches (6 L,) in the axes of their links, floats or symbols."""
        found = {}
        for name, number, push in zip(self.links, self.numbers, self._pushes, strict=True):
            found[number] = _wrench(name, push(t, q, v))
        given = found if self.axes == "link" else from_world_axes(self.model, q, found)
        out = zeros(6 * len(given), *given.values())
        for k, number in enumerate(self.numbers):
            out[6 * k : 6 * k + 6] = given[number]
        return out

    def forces(self, t: Any, q: Array, v: Array) -> Array:
        """Return the generalised forces (nv,) of the wrenches: symbols traced, floats compiled."""
        if is_traced(q, v, np.asarray(t)):
            return self._forces(q, v, self.at(t, q, v))
        return np.asarray(self.along(np.array([t]), q[None], v[None])[1][0])

    def along(self, time: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return wrenches (K, L, 6) in their links' axes, and generalised forces (K, nv)."""
        wrenches, forces = self._kernel(q, v, time[:, None])
        return wrenches.reshape(len(time), len(self.links), 6), forces

    def _forces(self, q: Array, v: Array, packed: Array) -> Array:
        numbered = {n: packed[6 * k : 6 * k + 6] for k, n in enumerate(self.numbers)}
        return external_forces(self.model, q, numbered)

    @cached_property
    def _kernel(self) -> Kernel:
        def function(q: Array, v: Array, t: Array) -> tuple[Array, ...]:
            packed = self.at(t[0], q, v)
            return packed, self._forces(q, v, packed)

        inputs = {"q": self.model.nq, "v": self.model.nv, "t": 1}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # constants are folded
                return compile_kernel(
                    function, inputs, outputs=("wrenches", "forces"), name="external"
                )
        except KernelError as problem:
            raise StateError(
                f"external: {problem}. A wrench is a constant, or a function of (t, q, v) made of "
                f"+ - * / ** and the functions of mbd_bridge.functions; placement and velocity of "
                f"the mechanism may be asked in it"
            ) from problem


def given_wrenches(
    model: Model,
    external: Mapping[str, Push] | None,
    external_in: str,
    t: float,
    q: Array,
    v: Array,
) -> Wrenches | None:
    """Return external wrenches, checked and tried at the start; None if there are none."""
    axes = check_axes(external_in)
    if not links_of(external):
        return None
    assert external is not None, "it names links"
    found = Wrenches(model, external, axes)
    (wrenches, _) = found.along(np.array([t]), q[None], v[None])
    for name, wrench in zip(found.links, wrenches[0], strict=True):
        _check_finite(name, wrench, f"at t = {t:g} s it is")
    return found


def all_forces(model: Model, torque: Torque | None, wrenches: Wrenches | None) -> Torque | None:
    """Return the sum of torques and of what external wrenches make along the velocities."""
    if wrenches is None:
        return torque
    if torque is None:
        return wrenches.forces
    return lambda t, q, v: torque(t, q, v) + wrenches.forces(t, q, v)


def _function(name: str, given: Push) -> Callable[[Any, Array, Array], Any]:
    if callable(given):
        return given
    constant = _wrench(name, given)
    _check_finite(name, constant, "got")
    return lambda t, q, v: constant


def _wrench(name: str, given: Any) -> Array:
    """Return a wrench as an array of floats or of symbols."""
    try:
        array = np.asarray(given)
    except ValueError:  # lists of several lengths
        array = np.zeros(0)
    if not is_traced(array):
        array = as_floats(f"external[{name!r}]", given)
    if array.shape != (6,):
        raise StateError(
            f"external[{name!r}] has the shape {array.shape}; along a simulation a wrench is (6,) "
            f"or a function of (t, q, v) that returns six: {ADVICE}, in the link's axes "
            f"(external_in='world': in the world's)"
        )
    return array


def _check_finite(name: str, wrench: Array, what: str) -> None:
    if not np.all(np.isfinite(wrench)):
        raise StateError(
            f"external[{name!r}]: {what} {wrench.tolist()}; expected finite numbers: {ADVICE}"
        )
