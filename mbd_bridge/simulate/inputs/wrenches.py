"""Wrenches that a user gives, link by link: constants, tables, functions, inputs.

They enter the equations of motion as the generalised forces J_linkᵀ w, beside the torques, and the
loads of the joints as what they are: a push on one link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats
from mbd_bridge.errors import StateError
from mbd_bridge.kernels import is_traced
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.inputs.element_forces import ElementForces
from mbd_bridge.simulate.inputs.signal import (
    Constant,
    Expression,
    Input,
    Sampled,
    Signal,
    StateFunction,
    Table,
    finite,
)
from mbd_bridge.solve.wrenches import check_axes, links_of
from mbd_bridge.spatial import Array

Wrench: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike] | StateFunction | Sampled | Input
"""On a link, N and N m: (6,) numbers (of a batch also (N, 6)), a table (times (n,), values (n, 6)),
a function of (t, q, v) that returns six, traced or `Sampled`, or an `Input` of six numbers."""

External: TypeAlias = Mapping[str, Wrench]

Reference = Literal["link", "world", "origin"]
"""In the link's axes or the world's, about the link's origin; or in the world's axes about the
*world's* origin."""

ADVICE = "force in N, then moment in N m, about the link's origin"


class WrenchPart(NamedTuple):
    """A wrench on a link (its number)."""

    name: str
    link: int
    reference: Reference
    signal: Signal

    @property
    def of_element(self) -> bool:
        """Whether force elements exert it."""
        signal = self.signal
        return isinstance(signal, ElementForces) or bool(getattr(signal, "element", ""))


def wrench_parts(
    model: Model, external: External | None, external_in: str = "link"
) -> tuple[WrenchPart, ...]:
    """Return what pushes on links, checked."""
    axes = check_axes(external_in)
    return tuple(
        WrenchPart(name, model.link_number(name), axes, _signal(name, (external or {})[name]))
        for name in links_of(external)
    )


def _signal(name: str, given: Any) -> Signal:
    where = f"external[{name!r}]"
    if isinstance(given, Sampled | Input):
        return given
    if callable(given):
        return Expression(WrenchOf(name, given))
    if isinstance(given, tuple) and len(given) == 2:
        return Table.lines(where, *given, size=6)
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
