"""What is formed of loads at states, in machine code: with the machine's own numbers, or others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel
from mbd_bridge.loads.options import DerivativesAtStates
from mbd_bridge.loads.planar import declared_planar
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.solver import MotionState
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import explain
from mbd_bridge.solve.closed_inverse import closes
from mbd_bridge.solve.model_kernel import model_kernel

if TYPE_CHECKING:
    from mbd_bridge.loads.derivatives.solver import DerivativeSolver

CHANGES = "open_wrench", "open_actuator", "open_reaction"
"""What open multipliers do to loads."""

EVERY = "force_of_all", "moment_of_all"
"""Loads of all joints, which tell whether a machine is planar."""

Formed = Callable[..., tuple[Array, ...]]
"""Of the inputs of the loads' function by name, and of further inputs."""


class Evaluation:
    """Something that is formed of loads.

    Parameters
    ----------
    solver : of the loads' derivatives
    name, outputs : of the kernel
    formed : traceable; if its outputs begin with those of the loads it gives the loads, too
    request : what is compiled; None: the graph tells
    more : sizes of the further inputs, by name

    Attributes
    ----------
    kernel : of the inputs of the loads' kernel and the further ones
    """

    def __init__(
        self,
        solver: DerivativeSolver,
        name: str,
        outputs: Sequence[str],
        formed: Formed,
        request: object,
        more: Mapping[str, int] | None = None,
    ) -> None:
        self._solver, self._name, self._formed, self._request = solver, name, formed, request
        self._sizes = {**solver.loads.kernel.inputs, **(more or {})}
        of_loads = solver.loads.kernel.outputs
        self._gives_loads = tuple(outputs[: len(of_loads)]) == of_loads
        self.kernel: Kernel = model_kernel(
            solver.model, name, self._sizes, outputs, self.traced, request
        )

    def traced(self, *arguments: Array) -> tuple[Array, ...]:
        """Return what the kernel gives, of symbols; the last may be the machine's numbers."""
        loads, count = self._solver.loads.kernel.inputs, len(self._sizes)
        p = arguments[count] if len(arguments) > count else self._solver.parameters
        given = dict(zip(loads, arguments, strict=False)) | {"p": p}
        return self._formed(given, *arguments[len(loads) : count])

    @cached_property
    def live(self) -> Kernel:
        """The kernel whose last input, ``p``, are the machine's numbers; it gives the loads first.

        Of a machine with loops it forms the multipliers itself, and tells whether a state is sound.
        """
        solver, loads = self._solver, self._solver.loads
        acting, pointed = len(loads.applied.inputs), len(loads.more)
        sizes = {**self._sizes, "p": len(solver.parameters)}
        first = () if self._gives_loads else loads.kernel.outputs
        names = (*first, *self.kernel.outputs, *self._behind)
        if solver.loops is not None:
            del sizes["lam"]

        def whole(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            acts, point = rest[:acting], rest[acting : acting + pointed]
            model, applied = solver.variant(rest[-1])
            state: tuple[Array, ...] = q, v, a
            behind = dict[str, Array]()
            if solver.loops is not None:
                closed = loads.inverse.function_of(model, applied)
                tau, lam, opened, rates, facts = closed(q, v, a, *acts)
                state = q, v, rates, lam
                changes = loads.changes_of(model)(q, opened, *point)
                behind = {"tau": tau, "rates": rates, "facts": facts}
                behind |= dict(zip(CHANGES, changes, strict=False))
            results = self.traced(*state, *rest)
            if not self._gives_loads:
                results = (*loads.function_of(model, applied)(*state, *acts, *point), *results)
            if loads.all_joints is not None:
                every = loads.all_joints.function_of(model, applied)(*state, *acts)
                behind |= dict(zip(EVERY, every, strict=False))
            return (*results, *(behind[name] for name in self._behind))

        name = f"varied_{self._name}"
        return model_kernel(solver.model, name, sizes, names, whole, self._request)

    @property
    def _behind(self) -> tuple[str, ...]:
        """What a live kernel gives behind all else: of loops and of planar machines."""
        solver, loads = self._solver, self._solver.loads
        names: tuple[str, ...] = ()
        if solver.loops is not None:
            names = "tau", "rates", "facts", *CHANGES[: 3 if loads.request.reaction else 2]
        return names if loads.all_joints is None else (*names, *EVERY)

    def __call__(
        self,
        state: MotionState,
        external: ArrayLike | None,
        options: DerivativesAtStates,
        *more: ArrayLike,
    ) -> tuple[JointLoads, tuple[Array, ...]]:
        """Return the loads at states, and what else is formed there."""
        solver, loads, threads = self._solver, self._solver.loads, options["threads"]
        t, check, count = options["t"], options["check"], len(self._solver.loads.kernel.outputs)
        if options["parameters"] is None:
            own, inputs = loads.with_inputs(
                state, external, {"t": t, "threads": threads, "check": check}
            )
            formed = self.kernel(*inputs, *more, threads=threads)[count * self._gives_loads :]
            if check or solver.loops is None:
                return own, formed
            given = dict(zip(loads.kernel.inputs, inputs, strict=False))
            asked = [given[name] for name in ("q", "v", "a", *loads.applied.inputs)]
            closed = loads.inverse(*asked, threads=threads, check=False).closed
            return own, _risky(formed, closed)
        given, p = loads.inputs(state, external, t, check), solver.values(options["parameters"])
        found, finite = self.live.run(*given.values(), *loads.more, *more, p, threads=threads)
        if check and not finite:
            explain(solver.model, {**given, "p": p}, *found)
        behind = dict(zip(self.live.outputs, found, strict=True))
        end = len(found) - len(self._behind)
        formed = found[count:end]
        own = loads.result(found[:count])
        if solver.loops is not None:
            facts = np.atleast_2d(behind["facts"])
            if check:
                loads.inverse.refuse(facts, loads.request.minimum_norm)
            else:
                formed = _risky(formed, closes(facts).reshape(behind["facts"].shape[:-1]))
            flags = loads.determined(tuple(behind[name] for name in CHANGES if name in behind))
            own = replace(loads.result(found[:count], flags), efforts=behind["tau"])
            own = loads.with_spins(own, behind["rates"])
        if loads.all_joints is not None:
            own = declared_planar(loads.all_joints, own, [behind[name] for name in EVERY], check)
        return own, formed


def _risky(formed: tuple[Array, ...], closed: Array) -> tuple[Array, ...]:
    """Return what is formed, last but one its risk, which is infinite where loops are open."""
    *others, risk, opened = formed
    return *others, np.where(closed[..., None], risk, np.inf), opened
