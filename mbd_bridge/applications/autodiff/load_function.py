"""Loads as a plain function of one vector, with its Jacobian: what every framework can take.

    x = (q, v, a[, external][, t][, parameters]) (C,)      y = (force, moment, actuation) (R,)

of one state, or of many along leading axes, in lanes of machine code. By q the Jacobian is by its
entries: with q̇ = E v, whose columns are orthogonal, ∂y/∂q = ∂y/∂(q along v) (EᵀE)⁻¹ Eᵀ, which for a
quaternion is the derivative of the loads at the quaternion made unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, StateError
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
    inputs : sizes of the parts of x by name
    shapes : of force, moment and actuation
    """

    def __init__(self, solver: DerivativeSolver) -> None:
        self._solver, kernel = solver, solver.loads.kernel
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
        return self._flat(self._solver.loads(*state, more.get("external"), t=more.get("t")), rows)

    def slopes(self, x: ArrayLike) -> tuple[Array, Array]:
        """Return y (..., R) and its Jacobian (..., R, C) at x (..., C)."""
        rows, (state, more, p) = self._rows(x)
        found = self._solver(*state, more.get("external"), t=more.get("t"), parameters=p)
        y = self._flat(found.loads, rows)
        count, K = int(np.prod(y.shape[:-1])), len(found.columns)
        parts = found.force, found.moment, found.actuation
        rates = np.concatenate([part.reshape(count, -1, K) for part in parts], axis=1)
        unknown = np.isnan(y.reshape(count, -1))
        if unknown.any():
            rates[unknown] = 0.0  # the value says that it is not determined
        model = self._solver.model
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
        model = self._solver.model

        def unit(q: Array) -> tuple[Array, ...]:
            return (position_rates(model, q, np.eye(model.nv)),)

        return model_kernel(model, "unit_velocities", {"q": model.nq}, ("E",), unit, "E")

    def _velocities(self, q: Array) -> Array:
        """Return what makes of rates of q the velocities that are columns, (N, columns, nq)."""
        (E,) = self._unit(q)
        sizes = (E * E).sum(axis=1)[..., None]
        chosen = [self._solver.columns[k].number for k in self._of_q]
        return np.asarray((E.swapaxes(1, 2) / np.where(sizes == 0.0, 1.0, sizes))[:, chosen])
