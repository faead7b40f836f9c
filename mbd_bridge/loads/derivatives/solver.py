"""Derivatives of chosen loads in machine code: forward for all of them, backward for one number.

A tree's load is a plain function of q, v, a, what acts and the machine's numbers: its derivatives
are those of its graph (`kernels.derive`), exact to rounding. By q they are taken along the unit
velocities, q̇ = E(q) e_k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.errors import ModelError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.options import with_options
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.kernels.tracing import fewest_operations
from mbd_bridge.loads.derivatives.evaluation import Evaluation
from mbd_bridge.loads.derivatives.gradient import GradientSolver, LoadFunction, NumberGradient
from mbd_bridge.loads.derivatives.loops import (
    OPENED,
    LoopMotion,
    position_rates,
    velocities_named,
)
from mbd_bridge.loads.derivatives.request import (
    Columns,
    DerivativeColumn,
    DerivativeRequest,
    along_directions,
)
from mbd_bridge.loads.derivatives.result import LoadDerivatives
from mbd_bridge.loads.options import DerivativesAtStates
from mbd_bridge.loads.planar import planar_rates
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.solver import LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.tolerances import REFINED_RISK

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfDerivativeSolver as Extended
else:
    from mbd_bridge.base.extensions import Extended

WAYS = {"forward": False, "backward": True}
"""How derivatives are formed: along the columns, or from the results."""


class StateRates(NamedTuple):
    """Derivatives of a state by K numbers, nan where it does not follow from them.

    Attributes
    ----------
    q, v, a : (..., nq, K), (..., nv, K), (..., nv, K)
    columns : the K numbers: name, unit
    """

    q: Array
    v: Array
    a: Array
    columns: tuple[DerivativeColumn, ...]


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
        self._formed = Evaluation(self, "load_derivatives", names, self._derived, self.request)

    @property
    def kernel(self) -> Kernel:
        """The machine code."""
        return self._formed.kernel

    @cached_property
    def _along(self) -> Evaluation:
        """The derivatives along one direction, an input (K,)."""
        names, request = self.kernel.outputs, (self.request, "along")
        more = {"direction": len(self.columns)}
        return Evaluation(self, "load_rates", names, self._derived, request, more)

    def __reduce__(self) -> tuple[type[DerivativeSolver], tuple[Any, ...]]:
        """Return what makes it again: machine code does not travel, it is found or made there."""
        return DerivativeSolver, (self.model, self.request)

    @with_options
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        **options: Unpack[DerivativesAtStates],
    ) -> LoadDerivatives:
        """Return the loads and their derivatives at one state, or at N states.

        Parameters
        ----------
        q, v, a, external : see `LoadSolver`
        **options : of the call
        """
        return self._result(self.columns, *self._formed((q, v, a), external, options))

    @with_options
    def jvp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        directions: Mapping[str, ArrayLike],
        external: ArrayLike | None = None,
        **options: Unpack[DerivativesAtStates],
    ) -> LoadDerivatives:
        """Return the loads and their derivatives along a direction: Jacobian times vector.

        In one column, at the cost of some loads: no other derivative is formed.

        Parameters
        ----------
        q, v, a, external : see `LoadSolver`
        directions : by name, such as {"q": dq, "rod.mass": 1.0}; the other numbers stand
        **options : of the call
        """
        direction, column = along_directions(self.columns, directions, np.shape(q)[:-1])
        return self._result((column,), *self._along((q, v, a), external, options, direction))

    @with_options
    def vjp(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        weights: Mapping[str, ArrayLike],
        external: ArrayLike | None = None,
        **options: Unpack[DerivativesAtStates],
    ) -> NumberGradient:
        """Return a weighted sum of loads and its derivatives: vector times Jacobian.

        Parameters
        ----------
        q, v, a, external : see `LoadSolver`
        weights : by name, of what loads a joint has: {"elbow": (6,), "wrist.moment": (3,),
            "wrist.fx": 1.0, "elbow.actuation": 1.0}, or N of them
        **options : of the call
        """
        return self._weighted.along((q, v, a), weights, external, options)

    @with_options
    def state_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external: ArrayLike | None = None,
        **options: Unpack[DerivativesAtStates],
    ) -> StateRates:
        """Return how the state of a machine with loops follows what loads are derived along.

        They are the derivatives of `Mechanism.assemble`: of what it finds by what it holds fixed,
        and by numbers of the machine with that held. (Accelerations of rods that spin freely are
        those that no moment about them leaves.)

        Parameters
        ----------
        q, v, a, external : see `LoadSolver`
        **options : of the call
        """
        if self._carried is None:
            raise ModelError(
                "state_rates: no loops are closed here: all coordinates are independent"
            )
        _, (*rates, risk, opened) = self._carried((q, v, a), external, options)
        trusted = (risk < REFINED_RISK) & (opened < OPENED**2)
        of_q, of_v, of_a = (np.where(trusted[..., None, :], x, np.nan) for x in rates)
        return StateRates(of_q, of_v, of_a, self.columns)

    @cached_property
    def _carried(self) -> Evaluation | None:
        loops = self.loops
        if loops is None:
            return None

        def formed(given: dict[str, Array]) -> tuple[Array, ...]:
            rates, risk, opened = loops.rates(given, self._seeds(given), self.variant)
            return rates["q"], rates["v"], rates["a"], np.array([risk]), opened

        names, request = ("dq", "dv", "da", "risk", "open"), (self.request, "state")
        return Evaluation(self, "state_rates", names, formed, request)

    @cached_property
    def _weighted(self) -> GradientSolver:
        return GradientSolver(self, None)

    def _result(
        self,
        columns: tuple[DerivativeColumn, ...],
        loads: JointLoads,
        formed: tuple[Array, ...],
    ) -> LoadDerivatives:
        count = len(self.loads.kernel.outputs)
        trusted = np.ones((*loads.force.shape[:-2], len(columns)), dtype=bool)
        if self.loops is not None:
            risk, opened = formed[count:]
            with np.errstate(invalid="ignore"):
                trusted &= (risk < REFINED_RISK) & (opened < OPENED**2)
        slopes = self._determined(loads, formed[:count], trusted)
        force, moment, actuation, *reaction = slopes
        own_force, own_moment = reaction or (None, None)
        held = self.request.along
        return LoadDerivatives(
            loads, columns, force, moment, actuation, own_force, own_moment, held, trusted
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
        found = planar_rates(self.model, loads, slopes)
        if self.loops is None:
            return list(found)
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

    def values(self, given: ParameterValues | ArrayLike) -> Array:
        """Return `parameters` with other values among them, (P,) or (N, P)."""
        return self._columns.values(given)

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

    def _seeds(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return which entries of the inputs each column moves; of q which velocities."""
        sizes = {name: len(x) for name, x in given.items()} | {"q": self.model.nv}
        return {name: self.seed(name, size) for name, size in sizes.items()}

    def _derived(self, given: dict[str, Array], *direction: Array) -> tuple[Array, ...]:
        """Return what the kernel gives, for symbols; along one direction (K,) or all."""
        rates = self._seeds(given)
        for one in direction:
            rates = {name: (seed @ one)[:, None] for name, seed in rates.items()}
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
