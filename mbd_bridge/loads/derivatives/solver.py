"""Derivatives of chosen loads in machine code: forward for all of them, backward for one number.

A tree's load is a plain function of q, v, a, what acts and the machine's numbers: its derivatives
are those of its graph (`kernels.derive`), exact to rounding. By q they are taken along the unit
velocities, q̇ = E(q) e_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.kernels.tracing import Traceable, fewest_operations
from mbd_bridge.loads.derivatives.gradient import GradientSolver, LoadFunction
from mbd_bridge.loads.derivatives.loops import LoopMotion, position_rates, velocities_named
from mbd_bridge.loads.derivatives.request import Columns, DerivativeRequest
from mbd_bridge.loads.derivatives.result import LoadDerivatives
from mbd_bridge.loads.planar import planar_rates
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.solver import LoadSolver, MotionState
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.solve import explain
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.tolerances import REFINED_RISK

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfDerivativeSolver as Extended
else:
    from mbd_bridge.base.extensions import Extended

WAYS = {"forward": False, "backward": True}
"""How derivatives are formed: along the columns, or from the results."""

OPENED = 1e-6
"""How far redundant rows may open by a change of the machine, relative to the motion it makes: what
files round."""


class DerivativeSolver(Extended):
    """Derivatives of the loads of chosen joints, prepared once and evaluated for many states.

    Parameters
    ----------
    model : the mechanism
    request : which loads, by what (`Mechanism.compile` makes one of its arguments)

    Attributes
    ----------
    kernel : its inputs are those of the loads' kernel; it gives the loads, then their derivatives:
        force (J, 3, K), moment (J, 3, K), actuation (F, K), and of the reactions
    loads : the solver of the loads themselves
    columns : the K numbers that are derived by
    """

    def __init__(self, model: Model, request: DerivativeRequest) -> None:
        self.model = an_instance("model", model, Model, "mechanism.model")
        self.request = an_instance(
            "request", request, DerivativeRequest, "DerivativeRequest.of(model, loads, by)"
        )
        self.loads = LoadSolver(model, request.loads)
        self._columns = Columns(model, request)
        self.columns = self._columns.columns
        self.loops: LoopMotion | None = None
        kernel = self.loads.kernel
        names = (*kernel.outputs, *(f"d_{name}" for name in kernel.outputs))
        if "lam" in kernel.inputs:
            along = request.along
            held = None if along is None else velocities_named(model, along)
            self.loops = LoopMotion(self.loads.inverse, held)
            names = (*names, "risk", "open")
        self.kernel: Kernel = model_kernel(
            model, "load_derivatives", dict(kernel.inputs), names, self.derived, self.request
        )

    @cached_property
    def live(self) -> Kernel:
        """The kernel whose last input, ``p``, are the values of `parameters`."""
        name, names = "varied_load_derivatives", self.kernel.outputs
        return self.live_kernel(name, names, self.derived, self.request)

    def live_kernel(
        self, name: str, outputs: Sequence[str], function: Traceable, request: object
    ) -> Kernel:
        """Return the kernel of a function of the loads' inputs and of `parameters`.

        Of a machine with loops it forms the multipliers itself; behind the function's results are
        torques, what tells whether the state is sound, and what open multipliers do to loads.
        """
        sizes = {**self.loads.kernel.inputs, "p": len(self.parameters)}
        if self.loops is None:
            return model_kernel(self.model, name, sizes, outputs, function, request)
        loads, closed = self.loads, self.loads.inverse
        if closed.spins or self.model.description.planar:
            raise ModelError(
                "parameters: a machine with rods that spin freely, or that is declared planar, "
                "takes no other values; give the rods joints, or take robot.as_planar(False)"
            )
        del sizes["lam"]

        def whole(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            acts, point = rest[: len(loads.applied.inputs)], rest[len(loads.applied.inputs) : -1]
            model, applied = self.variant(rest[-1])
            tau, lam, opened, facts = closed.function_of(model, applied)(q, v, a, *acts)
            results = function(q, v, a, lam, *rest)
            return (*results, tau, facts, *loads.changes_of(model)(q, opened, *point))

        changes = ("wrench", "actuator", "reaction")[: 3 if loads.request.reaction else 2]
        names = (*outputs, "tau", "facts", *(f"open_{change}" for change in changes))
        return model_kernel(self.model, name, sizes, names, whole, request)

    def evaluated(
        self,
        of: DerivativeSolver | GradientSolver,
        state: MotionState,
        external: ArrayLike | None,
        t: ArrayLike | None,
        threads: int,
        check: bool,
        parameters: ParameterValues | ArrayLike | None,
    ) -> tuple[JointLoads, tuple[Array, ...]]:
        """Return the loads and what a kernel gives, or its live one with other parameters."""
        if parameters is None:
            whole = self.loads.with_inputs(*state, external, t=t, threads=threads, check=check)
            return whole[0], of.kernel(*whole[1], threads=threads)
        inputs, p = self.loads.inputs(state, external, t, check), self._columns.values(parameters)
        found, finite = of.live.run(*inputs.values(), *self.loads.more, p, threads=threads)
        if check and not finite:
            explain(self.model, {**inputs, "p": p}, *found)
        count, first = len(self.loads.kernel.outputs), of.live.outputs.index(of.kernel.outputs[0])
        if self.loops is None:
            return self.loads.result(found[:count]), found[first:]
        tau, facts, *changes = found[of.live.outputs.index("tau") :]
        if check:
            self.loads.inverse.refuse(np.atleast_2d(facts), self.request.loads.minimum_norm)
        flags = self.loads.determined(tuple(changes))
        return replace(self.loads.result(found[:count], flags), efforts=tau), found[first:]

    def __reduce__(self) -> tuple[type[DerivativeSolver], tuple[Any, ...]]:
        """Return what makes it again: machine code does not travel, it is found or made there."""
        return DerivativeSolver, (self.model, self.request)

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        *,
        t: ArrayLike | None = None,
        threads: int = 1,
        check: bool = True,
        parameters: ParameterValues | ArrayLike | None = None,
    ) -> LoadDerivatives:
        """Return the loads and their derivatives at one state, or at N states.

        Parameters
        ----------
        q, v, a, external, t, threads, check : see `LoadSolver`
        parameters : other values of the machine's numbers that loads are derived by, by name, of
            one variant or of N; or an array of them (K,) or (N, K), in the order of the columns.
            All values share the machine code, which the first call with any makes
        """
        count = len(self.loads.kernel.outputs)
        loads, found = self.evaluated(self, (q, v, a), external, t, threads, check, parameters)
        slopes = found[count : 2 * count]
        trusted = np.ones((*loads.force.shape[:-2], len(self.columns)), dtype=bool)
        if self.loops is not None:
            risk, opened = found[2 * count : 2 * count + 2]
            with np.errstate(invalid="ignore"):
                trusted &= (risk < REFINED_RISK) & (opened < OPENED**2)
        force, moment, actuation, *reaction = self._determined(loads, slopes, trusted)
        own_force, own_moment = reaction or (None, None)
        return LoadDerivatives(
            loads,
            self.columns,
            force,
            moment,
            actuation,
            own_force,
            own_moment,
            self.request.along,
            trusted,
        )

    def along(
        self, motion: Motion, external: ExternalForces | None = None, *, threads: int = 1
    ) -> LoadDerivatives:
        """Return the derivatives along a motion, with the times of their loads.

        Parameters
        ----------
        external : forces on the links of the request, in the links' axes
        """
        pushes = self.loads.pushes(external, motion)
        found = self(motion.q, motion.v, motion.a, pushes, t=motion.time, threads=threads)
        return replace(found, loads=found.loads.along_motion(motion))

    def _determined(
        self, loads: JointLoads, slopes: tuple[Array, ...], trusted: Array
    ) -> list[Array]:
        """Return derivatives with nan where nothing determines them."""
        flags = [loads.unique[..., :3], loads.unique[..., 3:], loads.actuation_unique]
        if loads.reaction_unique is not None:
            flags += [loads.reaction_unique[..., :3], loads.reaction_unique[..., 3:]]
        if self.loops is None:
            return list(slopes)
        found = planar_rates(self.model, loads, slopes)
        return [
            np.where(
                flag[..., None]
                & np.expand_dims(trusted, tuple(range(loads.force.ndim - 2, flag.ndim))),
                rate,
                np.nan,
            )
            for flag, rate in zip(flags, found, strict=True)
        ]

    @property
    def parameters(self) -> Array:
        """The machine's own values (P,) of the numbers that loads are derived by, and of those
        that stand beside them in a vector.
        """
        return self._columns.p

    def seed(self, name: str, size: int) -> Array:
        """Return which entry of an input (size, K) each column moves; of q which velocity."""
        return self._columns.seed(name, size)

    def function(self, *arguments: Array) -> tuple[Array, ...]:
        """Return the loads; the last argument are the parameters (P,), floats or symbols."""
        *state, p = arguments
        return self.loads.function_of(*self.variant(p))(*state)

    def variant(self, p: Array) -> tuple[Model, AppliedForces]:
        """Return the model and what acts, with parameters (P,), floats or symbols."""
        return self._columns.model_with(p), self._columns.applied(self.loads.applied, p)

    def given(self, arguments: Sequence[Array]) -> dict[str, Array]:
        """Return the inputs of `function` by name, from those of the kernel, or of a live one."""
        names = [*self.loads.kernel.inputs, "p"]
        return dict(zip(names, (*arguments, self.parameters)[: len(names)], strict=True))

    def gradient(self, of: str | LoadFunction) -> GradientSolver:
        """Return what gives one number made of the loads, and its derivatives by the K numbers.

        Parameters
        ----------
        of : "JOINT.fx" ... "JOINT.mz", "JOINT.force" and "JOINT.moment" (their lengths),
            "JOINT.actuation", or a function of the loads by joint

        Examples
        --------
        >>> bending = solver.gradient("elbow.moment")              # doctest: +SKIP
        >>> bending(q, v, a).gradient                              # doctest: +SKIP
        """
        return GradientSolver(self, of)

    def derived(self, *arguments: Array) -> tuple[Array, ...]:
        """Return what the kernel gives, for symbols."""
        given = self.given(arguments)
        sizes = {name: len(x) for name, x in given.items()} | {"q": self.model.nv}
        rates = {name: self.seed(name, size) for name, size in sizes.items()}
        state: tuple[Array, ...] = ()
        if self.loops is None:
            rates["q"] = position_rates(self.model, given["q"], rates["q"])
        else:
            rates, risk, opened = self.loops.rates(given, rates, self.variant)
            state = np.array([risk]), opened

        def formed(backward: bool) -> tuple[Array, ...]:
            results, slopes = rates_along(self.function, given, rates, backward=backward)
            return (*results, *slopes)

        known = [*state, *rates.values()]
        return (*fewest_operations(known, formed, WAYS), *state)
