"""Loads as functions of JAX, PyTorch and CasADi, which are imported when they are asked for.

Value and Jacobian come from one call of machine code, in lanes for all states; the framework only
multiplies: so forward and backward derivatives, batches and compiled functions of its own follow.

They all take loads as a plain function of one vector, with its Jacobian:

    x = (q, v, a[, external][, t][, parameters]) (C,)      y = (force, moment, actuation) (R,)

of one state, or of many along leading axes, in lanes of machine code. By q the Jacobian is by its
entries: with q̇ = E v, whose columns are orthogonal, ∂y/∂q = ∂y/∂(q along v) (EᵀE)⁻¹ Eᵀ, which for a
quaternion is the derivative of the loads at the quaternion made unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import KernelError, ModelError, StateError, whole_number
from mbd_bridge.base.extras import needed
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels import Kernel
from mbd_bridge.loads.derivatives import DerivativeSolver
from mbd_bridge.loads.derivatives.loops import position_rates
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.solver import MotionState
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.model_kernel import model_kernel

PARAMETERS = "parameters"


class LoadParts(NamedTuple):
    """Loads of J joints as a framework's arrays.

    Attributes
    ----------
    force, moment : (..., J, 3), nan where rigid-body mechanics does not determine them
    actuation : (..., F)
    """

    force: Any
    moment: Any
    actuation: Any


class LoadFunction:
    """Loads and their Jacobian as functions of one vector.

    Parameters
    ----------
    solver : of derivatives by all of "q", "v", "a", by "external" and "t" where there are wrenches
        on links or forces that depend on time, and by numbers of the machine

    Attributes
    ----------
    solver : see above
    inputs : sizes of the parts of x by name
    shapes : of force, moment and actuation
    """

    def __init__(self, solver: DerivativeSolver) -> None:
        self.solver, kernel = solver, solver.loads.kernel
        self.inputs = {x: n for x, n in kernel.inputs.items() if x not in ("lam", "point")}
        missing = [name for name in self.inputs if name not in solver.request.by]
        if missing:
            needed = [*self.inputs, *(x for x in solver.request.by if x not in self.inputs)]
            raise ModelError(
                f"by: a framework derives by all arguments, and by {', '.join(missing)} there are "
                f"no derivatives; compile them with by={needed}"
            )
        numbers = [column.name for column in solver.columns if column.input == "p"]
        if numbers:
            self.inputs[PARAMETERS] = len(numbers)
        self.shapes = tuple(kernel.shapes[:3])
        ends = np.cumsum([0, *self.inputs.values()]).tolist()
        self._starts = dict(zip(self.inputs, ends, strict=False))
        self.size = ends[-1]
        self.ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes]).tolist()
        self._of_q = [k for k, column in enumerate(solver.columns) if column.input == "q"]
        self._places = np.array(
            [
                self._starts[PARAMETERS] + numbers.index(column.name)
                if column.input == "p"
                else self._starts[column.input] + column.number
                for column in solver.columns
            ]
        )

    def joined(self, library: Any, arrays: Sequence[Any]) -> Any:
        """Return arrays of jax.numpy or torch, the arguments, as one array (..., C)."""
        names, sizes = [*self.inputs], [*self.inputs.values()]
        shapes = [tuple(x.shape) for x in arrays]
        if [shape[-1:] for shape in shapes] != [(size,) for size in sizes]:
            expected = ", ".join(f"{x} (..., {n})" for x, n in zip(names, sizes, strict=True))
            raise StateError(f"expected {expected}; got {', '.join(map(str, shapes))}")
        states = np.broadcast_shapes(*(shape[:-1] for shape in shapes))
        each = zip(arrays, sizes, strict=True)
        return library.concatenate([library.broadcast_to(x, (*states, n)) for x, n in each], -1)

    def parts(self, y: Any) -> LoadParts:
        """Return force, moment and actuation of y (..., R) in a library's array."""
        starts = [0, *self.ends]
        each = zip(starts, self.ends, self.shapes, strict=False)
        states = tuple(y.shape[:-1])
        return LoadParts(*(y[..., a:b].reshape((*states, *shape)) for a, b, shape in each))

    def values(self, x: ArrayLike) -> Array:
        """Return y (..., R) at x (..., C)."""
        if PARAMETERS in self.inputs:
            return self.slopes(x)[0]
        rows, (state, more, _) = self._rows(x)
        return self._flat(self.solver.loads(*state, more.get("external"), t=more.get("t")), rows)

    def slopes(self, x: ArrayLike) -> tuple[Array, Array]:
        """Return y (..., R) and its Jacobian (..., R, C) at x (..., C)."""
        rows, (state, more, p) = self._rows(x)
        found = self.solver(*state, more.get("external"), t=more.get("t"), parameters=p)
        y = self._flat(found.loads, rows)
        count, K = int(np.prod(y.shape[:-1])), len(found.columns)
        parts = found.force, found.moment, found.actuation
        rates = np.concatenate([part.reshape(count, -1, K) for part in parts], axis=1)
        unknown = np.isnan(y.reshape(count, -1))
        if unknown.any():
            rates[unknown] = 0.0  # the value says that it is not determined
        model = self.solver.model
        if model.nq == model.nv and np.array_equal(self._places, np.arange(self.size)):
            return y, rates.reshape(*y.shape, self.size)
        J = np.zeros((*rates.shape[:2], self.size))
        J[..., self._places] = rates
        if model.nq > model.nv:
            J[..., : model.nq] = rates[..., self._of_q] @ self._velocities(np.asarray(state[0]))
        return y, J.reshape(*y.shape, self.size)

    def _rows(
        self, x: ArrayLike
    ) -> tuple[tuple[int, ...], tuple[MotionState, dict[str, Any], Any]]:
        """Return the states' shape, and q, v, a (N, ...), what acts, and parameters."""
        array = np.asarray(x, dtype=np.float64)
        flat = array.reshape(-1, self.size)
        named = {
            name: flat[:, start : start + self.inputs[name]] for name, start in self._starts.items()
        }
        if "t" in named:
            named["t"] = named["t"][:, 0]
        if "external" in named:
            named["external"] = named["external"].reshape(len(flat), -1, 6)
        state = named.pop("q"), named.pop("v"), named.pop("a")
        numbers = named.pop(PARAMETERS, None)
        return array.shape[:-1], (state, named, numbers)

    def _flat(self, loads: JointLoads, states: tuple[int, ...]) -> Array:
        """Return y (..., R); nan where it is not determined."""
        flags = loads.unique[..., :3], loads.unique[..., 3:], loads.actuation_unique
        parts = loads.force, loads.moment, loads.actuation
        each = [
            np.where(flag, part, np.nan).reshape(len(part), -1)
            for flag, part in zip(flags, parts, strict=True)
        ]
        return np.concatenate(each, axis=1).reshape(*states, -1)

    @cached_property
    def _unit(self) -> Kernel:
        """The kernel of E (nq, nv)."""
        model = self.solver.model

        def unit(q: Array) -> tuple[Array, ...]:
            return (position_rates(model, q, np.eye(model.nv)),)

        return model_kernel(model, "unit_velocities", {"q": model.nq}, ("E",), unit, "E")

    def _velocities(self, q: Array) -> Array:
        """Return what makes of rates of q the velocities that are columns, (N, columns, nq)."""
        (E,) = self._unit(q)
        sizes = (E * E).sum(axis=1)[..., None]
        chosen = [self.solver.columns[k].number for k in self._of_q]
        return np.asarray((E.swapaxes(1, 2) / np.where(sizes == 0.0, 1.0, sizes))[:, chosen])


class FrameworkLoads:
    """Loads as a function of a framework's arrays; in another process it is made anew.

    Parameters
    ----------
    made_by : `to_jax` or `to_torch`
    function : the loads and their Jacobian
    flat : what the framework calls and derives: y (..., R) of x (..., C)
    library : that has the framework's arrays, with what makes one of a list or a number
    """

    def __init__(
        self,
        made_by: Callable[[DerivativeSolver], FrameworkLoads],
        function: LoadFunction,
        flat: Callable[[Any], Any],
        library: Any,
        as_array: Callable[[Any], Any],
    ) -> None:
        self._made_by, self._function, self._flat = made_by, function, flat
        self._library, self._as_array = library, as_array

    def __call__(self, *arguments: Any) -> LoadParts:
        """Return the loads of q, v, a, ... (..., n)."""
        arrays = [self._as_array(x) for x in arguments]
        return self._function.parts(self._flat(self._function.joined(self._library, arrays)))

    def __reduce__(
        self,
    ) -> tuple[Callable[[DerivativeSolver], FrameworkLoads], tuple[DerivativeSolver]]:
        """Return what makes it again: functions of a framework do not travel."""
        return self._made_by, (self._function.solver,)


ALIVE: list[Any] = []
"""What functions of CasADi call: it holds no references, and expressions outlive functions."""


def to_jax(self: DerivativeSolver) -> FrameworkLoads:
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

    return FrameworkLoads(to_jax, function, flat, jax.numpy, jax.numpy.asarray)


def to_torch(self: DerivativeSolver) -> FrameworkLoads:
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

    return FrameworkLoads(
        to_torch, function, lambda x: TorchLoads.apply(x)[0], torch, torch.as_tensor
    )


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
