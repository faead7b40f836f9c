"""What was prepared for one model so far: the first question of a kind makes its kernel."""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge import solve
from mbd_bridge.base.arguments import flag
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.check_states import EXACT, explain, quaternion_ends, unit_quaternions
from mbd_bridge.solve.wrenches import (
    Axes,
    External,
    check_axes,
    flat_external,
    links_of,
    pack_external,
)

if TYPE_CHECKING:
    from mbd_bridge.kernels import Kernel
    from mbd_bridge.model.parameters import Parameters
    from mbd_bridge.solve.applied import Beside
    from mbd_bridge.solve.dynamics import Dynamics

# One state after the other, checked: new arrays for each, with little between caller and code.
#
# The ordinary road reads, converts and explains whatever it is given, for any number of states.
# For one state of contiguous float64 arrays there is nothing to convert, and where all that comes
# out is finite nothing to explain: `one_state` then answers, from the machine code for one state
# (`kernels.Single`). In all other cases it returns None, and the ordinary road says what is wrong.

REPEATED = 3
"""Questions with one state from which on machine code for one state is worth making: who asks once
or twice does not wait for it."""

Answer: TypeAlias = Callable[..., list[Array] | None]
"""Gives outputs, all of them finite, for one state; None where the ordinary road is to be taken."""


def one_state(model: Model, kernel: Kernel, wanted: int) -> Answer:
    """Return a kernel's first outputs at one state, as a function that several threads may call.

    Parameters
    ----------
    model : whose coordinates the first input of the kernel are
    wanted : how many of the outputs are returned
    """
    array, ends = np.ndarray, quaternion_ends(model)
    spare: list[tuple[Callable[..., Any], list[Callable[..., Array]]]] = []
    asked = 0

    def answer(*values: ArrayLike) -> list[Array] | None:
        for value in values:
            if type(value) is not array:  # a masked one, say, has numbers that do not count
                return None
        nonlocal asked
        try:
            caller = spare.pop()  # which no other thread has
        except IndexError:
            asked += np.ndim(values[0]) == 1
            if asked < REPEATED:
                return None
            single = kernel.single(strict=True)
            copies: list[Callable[..., Array]] = [output.copy for output in single.outputs[:wanted]]
            caller = single.run, copies
        run, copies = caller
        found: list[Array] | None = None
        if run(*values) is not None:
            found = []
            for copy in copies:
                found.append(copy())
        spare.append(caller)
        if ends and found is not None and not _are_unit(values[0], ends):
            return None
        return found

    return answer


def quick(model: Model, kernel: Kernel, outputs: int | None = None) -> Callable[..., Any]:
    """Return a kernel that answers one state with little around its machine code."""
    count = len(kernel.outputs) if outputs is None else outputs
    answer = one_state(model, kernel, count)

    def call(*arrays: Array) -> Any:
        answered = answer(*arrays) if arrays[0].ndim == 1 else None
        return kernel(*arrays) if answered is None else answered

    return call


def _are_unit(q: Any, ends: list[int]) -> bool:
    """Return whether the quaternions of a state are of unit length, to rounding."""
    for end in ends:
        x, y, z, w = q[end - 4 : end].tolist()
        if not abs(x * x + y * y + z * z + w * w - 1.0) <= EXACT:
            return False
    return True


Thing = TypeVar("Thing")

MOST_KEPT = 500
"""Kernels and solvers that all mechanisms of a process keep together. Each takes some 0.2 MB and
two memory maps or more; the one that was not asked for longest goes, and is made again."""

MOST_WORDINGS = 64
"""Ways of asking that a mechanism remembers."""

_NUMBERS = itertools.count()
_LATEST: OrderedDict[int, tuple[ReferenceType[Prepared], Hashable]] = OrderedDict()
"""Whose they are, and under which key, by a number of their own, the one asked for last at the
end."""


class Prepared:
    """Kernels and solvers of one model, each made at the first question for it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._found: dict[Hashable, tuple[int, Any]] = {}
        self._wordings: dict[Hashable, tuple[int, Any]] = {}

    def __reduce__(self) -> tuple[type[Prepared], tuple[Model]]:
        """Return the model alone: machine code does not travel, it is found or made again."""
        return Prepared, (self.model,)

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return what is kept under `key`, made now if it is not there."""
        found: Thing
        try:
            number, found = self._found[key]
            _LATEST.move_to_end(number)
        except KeyError:  # or another thread has just let it go
            found, number = make(), next(_NUMBERS)
            self._found[key] = number, found
            _LATEST[number] = ref(self), key
            _let_go()
        return found

    def asked_as(self, wording: Hashable) -> Any:
        """Return what was kept for a question as its caller words it; None if nothing was."""
        known = self._wordings.get(wording)
        if known is None:
            return None
        try:
            _LATEST.move_to_end(known[0])
        except KeyError:  # another thread has just let it go
            return None
        return known[1]

    def remember(self, wording: Hashable, key: Hashable) -> None:
        """Find what is kept under `key` by the wording of a question, too, unread and unchecked."""
        if len(self._wordings) >= MOST_WORDINGS:
            self._wordings.clear()
        if key in self._found:
            self._wordings[wording] = self._found[key]

    def kernel(self, what: Dynamics, links: Sequence[str] = (), axes: Axes = "link") -> Kernel:
        """Return the kernel of a function of `solve.dynamics`."""
        numbers = tuple(self.model.link_number(name) for name in links)
        return self.get(
            (what, numbers, axes), lambda: solve.prepare(self.model, what, numbers, axes)
        )

    def variants(self, parameters: Parameters, what: Dynamics) -> Kernel:
        """Return such a kernel with a mechanism's parameters as its last input."""
        key = what, parameters.identity
        return self.get(key, lambda: solve.prepare_variants(parameters, what))

    def placement(self, link: str) -> Kernel:
        """Return the kernel of the placement of a link in the world."""
        number = self.model.link_number(link)
        return self.get(("placement", number), lambda: solve.prepare_placement(self.model, number))

    def velocity(self, link: str) -> Kernel:
        """Return the kernel of the velocity of a point of a link, in world axes."""
        number = self.model.link_number(link)
        return self.get(("velocity", number), lambda: solve.prepare_velocity(self.model, number))

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
        if (
            external is None
            and check is True
            and type(external_in) is str
            and external_in == "link"
            and type(threads) is int
            and threads == 1
        ):
            one = self.asked_as(what)
            found = None if one is None else one(*inputs.values())
            if found is not None:
                first: Array = found[0]
                return first
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
                lambda: solve.ClosedForward(self.model, numbers, axes=axes),
            )
            return closed(*inputs.values(), threads=threads, check=check)[0]
        if what == "forward_dynamics":
            forward = self.get(
                ("forward", numbers, axes), lambda: solve.ForwardDynamics(self.model, numbers, axes)
            )
            if not external:
                self._remember_one(what, forward.kernel)
            result = forward(*inputs.values(), threads=threads)
            finite = bool(np.isfinite(result).all())  # its pivots may be what is not
        else:
            kernel = self.kernel(what, links, axes)
            if not external:
                self._remember_one(what, kernel)
            outputs, finite = kernel.run(*inputs.values(), threads=threads)
            result = outputs[0]
        if check and not finite:
            explain(self.model, inputs, result)
        return result

    def _remember_one(self, what: Dynamics, kernel: Kernel | None) -> None:
        """Have a function's kernel answer for one state at a time, if there is one kernel."""
        if kernel is not None and self.asked_as(what) is None:
            key = "one state", what
            self.get(key, lambda: one_state(self.model, kernel, 1))
            self.remember(what, key)

    def element_forces(
        self,
        forces: tuple[ForceElement, ...],
        q: ArrayLike,
        v: ArrayLike,
        t: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return generalised forces (..., nv) of force elements, and their wrenches (..., 6 L)."""
        applied = solve.AppliedForces(forces=forces)

        def make() -> Kernel:
            solve.check_stateless(self.model, forces)
            return solve.prepare_element_forces(self.model, applied)

        kernel = self.get(("element forces", applied), make)
        total, wrenches = kernel(q, v, *applied.times(t))
        return total, wrenches

    def wrench_of(
        self,
        forces: tuple[ForceElement, ...],
        link: str,
        q: ArrayLike,
        v: ArrayLike,
        t: ArrayLike | None = None,
    ) -> Array | None:
        """Return the wrench (..., 6) of force elements on a link, in its axes; None for none.

        Those in cut joints are left out: they are part of the loads of these.
        """
        forces = tuple(one for one in forces if not one.cut_numbers(self.model))
        links, number = solve.element_links(self.model, forces), self.model.link_number(link)
        if number not in links:
            return None
        _, wrenches = self.element_forces(forces, q, v, t)
        place = 6 * links.index(number)
        return np.asarray(wrenches[..., place : place + 6])

    def inverse(
        self,
        inputs: Sequence[ArrayLike],
        beside: Beside,
        actuated: tuple[str, ...],
        *,
        threads: int,
        check: bool,
        minimum_norm: bool,
    ) -> Array:
        """Return the actuators' forces of motions of a mechanism with loops; see `ClosedInverse`.

        Parameters
        ----------
        inputs : q, v, a
        """
        external = beside.external
        axes, links = check_axes(beside.external_in), links_of(external)
        numbers = tuple(self.model.link_number(name) for name in links)
        applied = solve.AppliedForces(numbers, axes, beside.forces)
        closed = self.get(
            ("closed inverse", applied, actuated),
            lambda: solve.ClosedInverse(self.model, actuated, applied),
        )
        pushes = [flat_external(external, links)] if external else []
        pushes += applied.times(beside.t)
        q, v, a = inputs
        own_q = unit_quaternions(self.model, q) if flag("check", check) else q
        found = closed(
            own_q, v, a, *pushes, threads=threads, check=check, minimum_norm=minimum_norm
        )
        return found.tau


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
            _, (owner, key) = _LATEST.popitem(last=False)
            prepared = owner()
            if prepared is not None:
                prepared._found.pop(key, None)
                prepared._wordings.clear()
