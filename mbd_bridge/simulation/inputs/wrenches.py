"""Wrenches that a user gives, link by link: constants, tables, functions, inputs.

They enter the equations of motion as the generalised forces J_linkᵀ w, beside the torques, and the
loads of the joints as what they are: a push on one link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.outside import Input
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.external.force import ExternalForce, Reference
from mbd_bridge.motion.external.forces import ExternalForces, File, external_forces
from mbd_bridge.simulation.inputs.signal import (
    Constant,
    PolynomialSignal,
    Sampled,
    Signal,
    StateFunction,
    TracedSignal,
    finite,
)
from mbd_bridge.simulation.inputs.torques import of_element
from mbd_bridge.solve.wrenches import check_axes, links_of

Wrench: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike] | StateFunction | Sampled | Input
"""On a link, N and N m: (6,) numbers (of a batch also (N, 6)), a table (times (n,), values (n, 6)),
a function of (t, q, v) that returns six, traced or `Sampled`, or an `Input` of six numbers."""

ByLink: TypeAlias = Mapping[str, Wrench]

External: TypeAlias = ByLink | ExternalForces | File | Sequence[ByLink | ExternalForces | File]
"""Wrenches by link; `mbd.load_external(...)`, or its file; or several of these."""

FAR = 1e9
"""s, beyond the ends of a table whose end goes on: longer than any run."""

ADVICE = "force in N, then moment in N m, about the link's origin"


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

    @property
    def of_element(self) -> bool:
        """Whether force elements exert it."""
        return of_element(self.signal)


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
            signal = _signal(name, (by_link or {})[name])
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


def _signal(name: str, given: Any) -> Signal:
    where = f"external[{name!r}]"
    if isinstance(given, Sampled | Input):
        return given
    if callable(given):
        return TracedSignal(WrenchOf(name, given))
    if isinstance(given, tuple) and len(given) == 2:
        return PolynomialSignal.lines(where, given, size=6)
    try:
        values = as_floats(where, given)
    except StateError:
        values = np.zeros(0)
    if values.shape[-1:] != (6,) or values.ndim > 2:
        raise _misshapen(name, np.shape(given) if values.size else values.shape)
    if not len(values):
        raise StateError(f"{where}: expected at least one trajectory, got none")
    return Constant(finite(where, np.atleast_2d(values)))


@dataclass(frozen=True, eq=False)
class WrenchOf:
    """A function of (t, q, v) that complains of what is no wrench."""

    name: str
    function: StateFunction

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return the wrench (6,)."""
        return as_wrench(self.name, self.function(t, q, v))


def as_wrench(name: str, given: Any) -> Array:
    """Return what a function has given as an array (6,) of floats or of symbols."""
    try:
        array = np.asarray(given)
    except ValueError:  # lists of several lengths
        array = np.zeros(0)
    if not is_traced(array):
        array = as_floats(f"external[{name!r}]", given)
    if array.shape != (6,):
        raise _misshapen(name, array.shape)
    return array


def _misshapen(name: str, shape: tuple[int, ...]) -> StateError:
    return StateError(
        f"external[{name!r}] has the shape {shape}; along a simulation a wrench is (6,), (N, 6) "
        f"for N trajectories, a table, or a function of (t, q, v) that returns six: {ADVICE}, in "
        f"the link's axes (external_in='world': in the world's)"
    )
