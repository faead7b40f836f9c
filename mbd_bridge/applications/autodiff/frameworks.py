"""Loads as functions of JAX, PyTorch and CasADi, which are imported when they are asked for.

Value and Jacobian come from one call of machine code, in lanes for all states; the framework only
multiplies: so forward and backward derivatives, batches and compiled functions of its own follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.applications.autodiff.load_function import PARAMETERS, LoadFunction, LoadParts
from mbd_bridge.base.errors import KernelError, whole_number
from mbd_bridge.base.extras import needed
from mbd_bridge.loads.derivatives import DerivativeSolver

Loads = Callable[..., LoadParts]

ALIVE: list[Any] = []
"""What functions of CasADi call: it holds no references, and expressions outlive functions."""


def to_jax(self: DerivativeSolver) -> Loads:
    """Return the loads as a function of JAX's arrays q, v, a, ... (..., n), in this order.

    It works under `jit`, `vmap`, `grad`, `jacfwd` and `jacrev`, once: there are no second
    derivatives. In single precision, JAX's own default, results are rounded to it.

    Examples
    --------
    >>> loads = robot.compile_derivatives(["elbow"], ["q", "v", "a", "rod.mass"]).to_jax()
    ... # doctest: +SKIP
    >>> jax.grad(lambda q, v, a, p: loads(q, v, a, p).actuation[0], 3)  # doctest: +SKIP
    """
    jax = needed("jax", "to_jax needs JAX", "mbd_bridge[jax]")
    function, many = LoadFunction(self), {"vmap_method": "broadcast_all"}

    def shape(x: Any, *own: int) -> Any:
        return jax.ShapeDtypeStruct((*x.shape[:-1], *own), x.dtype)

    def values(x: Any) -> Any:
        return function.values(x).astype(x.dtype)

    def slopes(x: Any) -> Any:
        return tuple(part.astype(x.dtype) for part in function.slopes(x))

    def called(x: Any) -> Any:
        return jax.pure_callback(values, shape(x, function.ends[-1]), x, **many)

    def rates(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        (x,), (dx,) = primals, tangents
        shapes = shape(x, function.ends[-1]), shape(x, function.ends[-1], function.size)
        y, J = jax.pure_callback(slopes, shapes, x, **many)
        return y, jax.numpy.einsum("...rc,...c->...r", J, dx)

    flat = jax.custom_jvp(called)
    flat.defjvp(rates)

    def loads(*arguments: Any) -> LoadParts:
        arrays = [jax.numpy.asarray(x) for x in arguments]
        return function.parts(flat(function.joined(jax.numpy, arrays)))

    return loads


def to_torch(self: DerivativeSolver) -> Loads:
    """Return the loads as a function of PyTorch's tensors q, v, a, ... (..., n), in this order.

    It works under `backward`, `torch.func.vmap`, `grad`, `jacrev` and `jvp`, once: there are no
    second derivatives. Tensors of double precision keep it.

    Examples
    --------
    >>> loads = robot.compile_derivatives(["elbow"]).to_torch()  # doctest: +SKIP
    >>> loads(q, v, a).force.square().sum().backward()           # doctest: +SKIP
    """
    torch = needed("torch", "to_torch needs PyTorch", "mbd_bridge[torch]")
    function = LoadFunction(self)

    def refused(*_: Any) -> Any:
        raise KernelError("loads have no second derivatives here; take differences of the first")

    class Slopes(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """The Jacobian at x, which depends on x, but is not derived by it."""

        generate_vmap_rule = True

        @staticmethod
        def forward(J: Any, x: Any) -> Any:
            return J.clone()

        @staticmethod
        def setup_context(*_: Any) -> None:
            """Keep nothing."""

        backward = jvp = staticmethod(refused)

    class TorchLoads(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """y and ∂y/∂x of x."""

        @staticmethod
        def forward(x: Any) -> Any:
            parts = function.slopes(x.detach().cpu().numpy())
            return tuple(torch.as_tensor(part, dtype=x.dtype, device=x.device) for part in parts)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any], output: tuple[Any, Any]) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(output[1], *inputs)
            ctx.save_for_forward(output[1], *inputs)

        @staticmethod
        def backward(ctx: Any, weights: Any, _: Any) -> Any:
            return torch.einsum("...rc,...r->...c", Slopes.apply(*ctx.saved_tensors), weights)

        @staticmethod
        def jvp(ctx: Any, dx: Any) -> Any:
            return torch.einsum("...rc,...c->...r", Slopes.apply(*ctx.saved_tensors), dx), None

        @staticmethod
        def vmap(info: Any, places: tuple[int], x: Any) -> Any:
            return TorchLoads.apply(x.movedim(places[0], 0)), (0, 0)

    def loads(*arguments: Any) -> LoadParts:
        arrays = [torch.as_tensor(x) for x in arguments]
        return function.parts(TorchLoads.apply(function.joined(torch, arrays))[0])

    return loads


def to_casadi(self: DerivativeSolver, states: int = 1) -> Any:
    """Return the loads as a function of CasADi, at one state, or at the N states of a motion.

    Its arguments q, v, a, ... are (n, N), the parameters (n,) of all of them; force and moment
    (3 J, N), joint after joint, actuation (F, N). Each evaluation is one call of machine code for
    all states; the Jacobian is known as sparse, a block for each.

    Examples
    --------
    >>> loads = robot.compile_derivatives(["elbow"]).to_casadi(states=50)  # doctest: +SKIP
    >>> peak = loads(q=q, v=v, a=a)["moment"]                              # doctest: +SKIP
    """
    ca = needed("casadi", "to_casadi needs CasADi", "mbd_bridge[casadi]")
    function, N = LoadFunction(self), whole_number("states", states, 1)
    C, R = function.size, function.ends[-1]
    block = ca.diagcat(*[ca.Sparsity.dense(R, C)] * N)

    class CasadiLoads(ca.Callback):  # type: ignore[misc, name-defined]
        """y (R, N) of x (C, N); or ∂y/∂x of x, y."""

        def __init__(self, name: str, slopes: bool, options: dict[str, Any]) -> None:
            super().__init__()
            self._slopes = slopes
            self._jacobian: Any = None  # CasADi holds no reference to it
            self.construct(name, options)

        def get_n_in(self) -> int:
            return 2 if self._slopes else 1

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, k: int) -> Any:
            return ca.Sparsity.dense(R if k else C, N)

        def get_sparsity_out(self, _: int) -> Any:
            return block if self._slopes else ca.Sparsity.dense(R, N)

        def eval(self, arguments: list[Any]) -> list[Any]:
            x = np.array(arguments[0]).T
            if not self._slopes:
                return [ca.DM(function.values(x).T)]
            columns = function.slopes(x)[1].swapaxes(1, 2)
            return [ca.DM(block, columns.ravel())]

        def has_jacobian(self) -> bool:
            return not self._slopes

        def get_jacobian(self, name: str, *_: Any) -> Any:
            self._jacobian = CasadiLoads(name, True, {})
            return self._jacobian

        def has_jac_sparsity(self, *_: int) -> bool:
            return not self._slopes

        def get_jac_sparsity(self, *_: Any) -> Any:
            return block

    names = [*function.inputs]
    given = [ca.MX.sym(x, n, 1 if x == PARAMETERS else N) for x, n in function.inputs.items()]
    wide = [
        ca.repmat(x, 1, N) if name == PARAMETERS else x
        for name, x in zip(names, given, strict=True)
    ]
    flat = CasadiLoads("flat_loads", False, {})
    y = flat(ca.vertcat(*wide))
    results = ca.vertsplit(y, [0, *function.ends])
    # what is not given would be 0; numbers of the machine are refused then
    unsaid = {"default_in": [np.nan if name == PARAMETERS else 0.0 for name in names]}
    loads = ca.Function("loads", given, results, names, [*LoadParts._fields], unsaid)
    ALIVE.append(flat)
    return loads
