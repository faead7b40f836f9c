"""What was prepared for one model so far: the first question of a kind makes its kernel."""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import flag
from mbd_bridge.kernels import Kernel
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.closed_forward import ClosedForward
from mbd_bridge.solve.closed_inverse import ClosedInverse
from mbd_bridge.solve.dynamics import (
    Dynamics,
    prepare,
    prepare_placement,
    prepare_variants,
    prepare_velocity,
)
from mbd_bridge.solve.finite import explain
from mbd_bridge.solve.forward import ForwardDynamics
from mbd_bridge.solve.quaternions import unit_quaternions
from mbd_bridge.solve.wrenches import (
    Axes,
    External,
    check_axes,
    flat_external,
    links_of,
    pack_external,
)
from mbd_bridge.spatial import Array

Thing = TypeVar("Thing")

MOST_KEPT = 500
"""Kernels and solvers that all mechanisms of a process keep together. Each takes some 0.2 MB and
three memory maps or more; the one that was not asked for longest goes, and is made again."""

_NUMBERS = itertools.count()
_LATEST: OrderedDict[tuple[int, Hashable], ReferenceType[Prepared]] = OrderedDict()
"""Whose they are, by the owner's number and the key, the one asked for last at the end."""


class Prepared:
    """Kernels and solvers of one model, each made at the first question for it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._found: dict[Hashable, Any] = {}
        self._number = next(_NUMBERS)

    def __reduce__(self) -> tuple[type[Prepared], tuple[Model]]:
        """Return the model alone: machine code does not travel, it is found or made again."""
        return Prepared, (self.model,)

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return what is kept under `key`, made now if it is not there."""
        try:
            found: Thing = self._found[key]
            _LATEST.move_to_end((self._number, key))
        except KeyError:  # or another thread has just let it go
            found = self._found[key] = make()
            _LATEST[self._number, key] = ref(self)
            _let_go()
        return found

    def kernel(self, what: Dynamics, links: Sequence[str] = (), axes: Axes = "link") -> Kernel:
        """Return the kernel of a function of `solve.dynamics`."""
        numbers = tuple(self.model.link_number(name) for name in links)
        return self.get((what, numbers, axes), lambda: prepare(self.model, what, numbers, axes))

    def variants(self, parameters: Parameters, what: Dynamics) -> Kernel:
        """Return such a kernel with a mechanism's parameters as its last input."""
        key = what, parameters.identity
        return self.get(key, lambda: prepare_variants(parameters, what))

    def placement(self, link: str) -> Kernel:
        """Return the kernel of the placement of a link in the world."""
        number = self.model.link_number(link)
        return self.get(("placement", number), lambda: prepare_placement(self.model, number))

    def velocity(self, link: str) -> Kernel:
        """Return the kernel of the velocity of a point of a link, in world axes."""
        number = self.model.link_number(link)
        return self.get(("velocity", number), lambda: prepare_velocity(self.model, number))

    def run(
        self,
        what: Dynamics,
        inputs: Mapping[str, ArrayLike],
        external: External | None,
        external_in: str,
        threads: int,
        check: bool,
    ) -> Array:
        """Return the first output of a function at one state or at N states."""
        inputs, check = dict(inputs), flag("check", check)
        if check:
            inputs["q"] = unit_quaternions(self.model, inputs["q"])
        axes = check_axes(external_in)
        links = links_of(external)
        if external:
            inputs["external"] = flat_external(external, links)
        numbers = tuple(self.model.link_number(name) for name in links)
        if what == "forward_dynamics" and self.model.has_loops:
            closed = self.get(
                ("closed forward", numbers, axes),
                lambda: ClosedForward(self.model, numbers, axes=axes),
            )
            return closed(*inputs.values(), threads=threads, check=check)[0]
        if what == "forward_dynamics":
            forward = self.get(
                ("forward", numbers, axes), lambda: ForwardDynamics(self.model, numbers, axes)
            )
            result = forward(*inputs.values(), threads=threads)
            finite = bool(np.isfinite(result).all())  # its pivots may be what is not
        else:
            outputs, finite = self.kernel(what, links, axes).run(*inputs.values(), threads=threads)
            result = outputs[0]
        if check and not finite:
            explain(self.model, inputs, result)
        return result

    def drives(
        self,
        inputs: Sequence[ArrayLike],
        external: External | None,
        external_in: str,
        actuated: tuple[str, ...],
        **options: Any,
    ) -> Array:
        """Return the drives of motions of a mechanism with loops; see `ClosedInverse`."""
        axes, links = check_axes(external_in), links_of(external)
        numbers = tuple(self.model.link_number(name) for name in links)
        closed = self.get(
            ("closed inverse", numbers, axes, actuated),
            lambda: ClosedInverse(self.model, actuated, numbers, axes),
        )
        pushes = (flat_external(external, links),) if external else ()
        q, v, a = inputs
        own_q = unit_quaternions(self.model, q) if flag("check", options["check"]) else q
        return closed(own_q, v, a, *pushes, **options).tau


def in_link_axes(
    prepared: Prepared, q: ArrayLike, external: External | None, given: str
) -> External | None:
    """Return external wrenches, given in the axes of their "link" or the "world", in the links'."""
    if check_axes(given) == "link" or not external:
        return external
    packed, turned = pack_external(external, links_of(external)), {}
    for k, link in enumerate(external):
        turn = prepared.placement(link)(q)[0][..., :3, :3]
        halves = packed[..., k, :3], packed[..., k, 3:]
        both = [np.einsum("...ji,...j->...i", turn, half) for half in halves]
        turned[link] = np.concatenate(both, axis=-1)
    return turned


def _let_go() -> None:
    """Keep no more than `MOST_KEPT`."""
    while len(_LATEST) > MOST_KEPT:
        with contextlib.suppress(KeyError):  # another thread does the same
            (_, key), owner = _LATEST.popitem(last=False)
            prepared = owner()
            if prepared is not None:
                prepared._found.pop(key, None)
