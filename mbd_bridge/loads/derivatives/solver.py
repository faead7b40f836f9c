"""Derivatives of chosen loads in machine code: forward for all of them, backward for one number.

A tree's load is a plain function of q, v, a, what acts and the machine's numbers: its derivatives
are those of its graph (`kernels.derive`), exact to rounding. By q they are taken along the unit
velocities, q̇ = E(q) e_k.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.loads.derivatives.request import Columns, DerivativeRequest
from mbd_bridge.loads.derivatives.result import LoadDerivatives
from mbd_bridge.loads.solver import LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.model_kernel import model_kernel


def position_directions(model: Model, q: Array, along: Array) -> Array:
    """Return the rates of q (nq, K) for velocities (nv, K), floats or symbols."""
    out = zeros((model.nq, along.shape[1]), q, along)
    for k in range(along.shape[1]):
        out[:, k] = coordinate_rates(model, q, along[:, k])
    return out


class DerivativeSolver:
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
        if model.has_loops and not request.loads.open_tree:
            raise ModelError(
                "derivatives of loads are those of trees so far: this mechanism has loops; leave "
                "them open (open_tree=True), or take differences of joint_loads"
            )
        self.loads = LoadSolver(model, request.loads)
        self._columns = Columns(model, request)
        self.columns = self._columns.columns
        kernel = self.loads.kernel
        names = (*kernel.outputs, *(f"d_{name}" for name in kernel.outputs))
        self.kernel: Kernel = model_kernel(
            model, "load_derivatives", dict(kernel.inputs), names, self._derived, self.request
        )

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
    ) -> LoadDerivatives:
        """Return the loads and their derivatives at one state, or at N states.

        Parameters
        ----------
        q, v, a, external, t, threads, check : see `LoadSolver`
        """
        loads, inputs = self.loads.with_inputs(q, v, a, external, t=t, threads=threads, check=check)
        found = self.kernel(*inputs, threads=threads)
        slopes = found[len(found) // 2 :]
        force, moment, actuation, *reaction = slopes
        own_force, own_moment = reaction or (None, None)
        return LoadDerivatives(loads, self.columns, force, moment, actuation, own_force, own_moment)

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
        model = self._columns.own.model_with(p[: len(self._columns.own.live)])
        applied = self._columns.applied(self.loads.applied, p)
        return self.loads.function_of(model, applied)(*state)

    def _derived(self, *arguments: Array) -> tuple[Array, ...]:
        inputs = dict(zip(self.loads.kernel.inputs, arguments, strict=True))
        given = {**inputs, "p": self.parameters}
        rates = {name: self.seed(name, len(x)) for name, x in given.items() if name != "q"}
        along = self.seed("q", self.model.nv)
        rates["q"] = position_directions(self.model, inputs["q"], along)
        results, slopes = rates_along(self.function, given, rates)
        return (*results, *slopes)
