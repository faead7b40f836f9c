"""The gradient of one number that is made of loads: a component, a length, a user's function.

It is formed backwards, from the number to all that it is derived by, at the cost of a few loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel, pulled_back, trace
from mbd_bridge.kernels.derive import colouring
from mbd_bridge.loads.derivatives.loops import position_rates
from mbd_bridge.loads.derivatives.request import WRENCH, DerivativeColumn
from mbd_bridge.loads.result import JointLoads, OneJoint
from mbd_bridge.model.parameters import ParameterValues
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.tolerances import REFINED_RISK

if TYPE_CHECKING:
    from mbd_bridge.loads.derivatives.solver import DerivativeSolver

LoadFunction = Callable[[Mapping[str, OneJoint]], Any]
"""Gives one number of loads by joint: ``lambda loads: loads["pin"].force @ loads["pin"].force``."""

PARTS = (*WRENCH, "force", "moment", "actuation")


@dataclass(frozen=True, eq=False)
class NumberGradient:
    """A number made of loads and its derivatives by K others, at one state or at N states.

    Attributes
    ----------
    value : () or (N,)
    gradient : (K,) or (N, K), nan where it is not `trusted`
    columns : the K numbers: name, unit
    loads : that the number is made of
    trusted : () or (N,) False near singular positions, where the number is made of components that
        rigid-body mechanics does not determine, and where it has no slope: a length at zero
    """

    value: Array
    gradient: Array
    columns: tuple[DerivativeColumn, ...]
    loads: JointLoads
    trusted: Array


class _LoadsByJoint(dict[str, OneJoint]):
    """What a user's function of loads takes."""

    def __missing__(self, name: str) -> OneJoint:
        raise ModelError(f"of: {unknown_name('joint', name, self)}")


class GradientSolver:
    """Value and gradient of one number made of loads, prepared once.

    Parameters
    ----------
    solver : of the loads' derivatives: its joints, and what is derived by
    of : "JOINT.fx" ... "JOINT.mz"; "JOINT.force", "JOINT.moment": their lengths;
        "JOINT.actuation"; or a function of the loads by joint that can be traced

    Attributes
    ----------
    kernel : of the inputs of the loads' kernel; it gives value (1,) and gradient (K,)
    """

    def __init__(self, solver: DerivativeSolver, of: str | LoadFunction) -> None:
        self._solver, self._given = solver, of
        loads = solver.loads
        self._of = self._named(of) if isinstance(of, str) else of
        sizes = dict(loads.kernel.inputs)
        shapes = dict(zip(("force", "moment", "actuation"), loads.kernel.shapes, strict=False))
        flat = {name: int(np.prod(shape)) for name, shape in shapes.items()}
        graph = trace(lambda *parts: self._number(shapes, parts), flat)
        if [len(indices) for indices in graph.outputs] != [1]:
            raise ModelError("of: expected a function that returns one number")
        (used,) = colouring(graph, tuple(flat)).pattern
        self._used = np.isin(np.arange(sum(flat.values())), list(used))
        self._shapes = shapes
        names = ("value", "gradient") if solver.loops is None else ("value", "gradient", "risk")
        self._request = (solver.request, of) if isinstance(of, str) else None
        self.kernel: Kernel = model_kernel(
            solver.model, "load_gradient", sizes, names, self._derived, self._request
        )

    @cached_property
    def live(self) -> Kernel:
        """The kernel of loads, value and gradient whose last input are the machine's numbers."""
        solver = self._solver

        def function(*arguments: Array) -> tuple[Array, ...]:
            return (*solver.function(*arguments), *self._derived(*arguments))

        names = (*solver.loads.kernel.outputs, *self.kernel.outputs)
        return solver.live_kernel("varied_load_gradient", names, function, self._request)

    def __reduce__(self) -> tuple[type[GradientSolver], tuple[Any, ...]]:
        """Return what makes it again: machine code does not travel, it is found or made there."""
        return GradientSolver, (self._solver, self._given)

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
    ) -> NumberGradient:
        """Return the number and its gradient at one state, or at N states; see `LoadSolver`.

        Parameters
        ----------
        parameters : other values of the machine's numbers; see `DerivativeSolver`
        """
        solver = self._solver
        loads, found = solver.evaluated(self, (q, v, a), external, t, threads, check, parameters)
        value, gradient, *risk = found[: len(self.kernel.outputs)]
        states = loads.force.shape[:-2]
        flags = loads.unique[..., :3], loads.unique[..., 3:], loads.actuation_unique
        known = np.concatenate([flag.reshape(*states, -1) for flag in flags], axis=-1)
        trusted: Array = np.asarray((known | ~self._used).all(axis=-1))
        if risk:
            trusted = np.asarray(trusted & (risk[0][..., 0] < REFINED_RISK))
        trusted = np.asarray(trusted & np.isfinite(gradient).all(axis=-1))
        gradient = np.where(trusted[..., None], gradient, np.nan)
        return NumberGradient(value[..., 0], gradient, solver.columns, loads, trusted)

    def _named(self, of: str) -> LoadFunction:
        """Return the function of a name."""
        joint, _, part = of.rpartition(".")
        names = self._solver.loads.joints
        if joint not in names:
            raise ModelError(f"of: {unknown_name('joint', joint or of, names)}")
        if part not in PARTS:
            raise ModelError(f"of: {unknown_name('part of a load', part, PARTS)}")

        def number(loads: Mapping[str, OneJoint]) -> Any:
            one = loads[joint]
            if part in WRENCH:
                return one.wrench[list(WRENCH).index(part)]
            vector = getattr(one, part)
            if part != "actuation":
                return np.sqrt((vector * vector).sum())
            if len(vector) != 1:
                raise ModelError(
                    f"of: {of!r}: the joint has {len(vector)} actuators; give a function of loads"
                )
            return vector[0]

        return number

    def _number(
        self, shapes: Mapping[str, tuple[int, ...]], parts: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Return the number (1,) of force, moment, actuation, flat or not."""
        loads = self._solver.loads
        each = zip(parts, shapes.values(), strict=False)
        force, moment, actuation = (x.reshape(shape) for x, shape in each)
        sure = np.ones(6, dtype=bool)
        by_joint = _LoadsByJoint(
            (joint, OneJoint(force[k], moment[k], actuation[place], sure, sure))
            for k, (joint, place) in enumerate(zip(loads.joints, loads.places, strict=True))
        )
        return (np.array(self._of(by_joint)).reshape(-1),)

    def _derived(self, *arguments: Array) -> tuple[Array, ...]:
        solver = self._solver
        given = solver.given(arguments)
        names = [name for name in given if name != "point"]

        def number(*values: Array) -> tuple[Array, ...]:
            return self._number(self._shapes, solver.function(*values)[:3])

        (value,), slopes = pulled_back(number, given, [np.ones(1)], names)
        state: tuple[Array, ...] = ()
        if solver.loops is None:
            unit = position_rates(solver.model, given["q"], np.eye(solver.model.nv))
            slopes["q"] = unit.T @ slopes["q"]
        else:
            slopes, risk = solver.loops.gradient(given, slopes, solver.variant)
            state = (np.array([risk]),)
        total = sum(solver.seed(name, len(x)).T @ x for name, x in slopes.items())
        return (value, np.asarray(total), *state)
