"""Inverse dynamics, bias, mass matrix and forward dynamics of a tree.

    inverse_dynamics   τ = M(q) v̇ + h(q, v) - external       N m or N, along the velocities
    bias_forces        h(q, v): gravity, centrifugal and Coriolis
    mass_matrix        M(q)                                   KimYou97 (15)
    forward_dynamics   v̇ = M⁻¹ (τ - h), with the pivots of M
    constraints        Φ, Φ_q, γ of the cut joints               Lee94 (13), (17), (18)
    centroid           centre of mass, its Jacobian, momentum and energy
    inverse_dynamics_derivatives, forward_dynamics_derivatives: see `derivatives`

M and h come from body-fixed axes, which need the fewest operations and keep the most digits; the
papers' state vectors give the same (tests; docs/theory has counts and digits). For long chains
and floating machines of many degrees of freedom, forward dynamics goes by articulated bodies
instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, SolveError, unknown_name
from mbd_bridge.equations.articulated import articulated_accelerations
from mbd_bridge.equations.cartesian import body_placements, link_velocity, placement
from mbd_bridge.equations.centroid import Centroid, centroid
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.external import External, add, from_world_axes
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Cache, Kernel
from mbd_bridge.kernels.cache import DEFAULT_CACHE
from mbd_bridge.kernels.layout import check_inputs
from mbd_bridge.model import Model
from mbd_bridge.model.model import once_a_model
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.derivatives import (
    ForwardDerivatives,
    InverseDerivatives,
    forward_derivatives,
    inverse_derivatives,
    through_the_recursion,
)
from mbd_bridge.solve.factor import (
    articulated_is_cheaper,
    elimination_operations,
    factorise,
    mass_pattern,
    substitute,
)
from mbd_bridge.solve.model_kernel import model_kernel, shared_kernel, variants_kernel
from mbd_bridge.solve.wrenches import Axes

Dynamics = Literal[
    "inverse_dynamics",
    "bias_forces",
    "mass_matrix",
    "forward_dynamics",
    "constraints",
    "centroid",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
]
"""What can be prepared."""

FUNCTIONS: tuple[str, ...] = get_args(Dynamics)


@dataclass(frozen=True)
class Traceable:
    """One of the functions above for one model: arguments, outputs, and the function itself."""

    inputs: dict[str, int]
    outputs: tuple[str, ...]
    function: Callable[..., tuple[Array, ...]]


def traceable(
    model: Model, what: Dynamics, links: tuple[int, ...] = (), axes: Axes = "link"
) -> Traceable:
    """Return a function of arrays, floats or symbols.

    Parameters
    ----------
    links : link indices that carry external wrenches; the function then takes them as a last
        argument, six numbers a link (see `equations.external`)
    axes : the wrenches are given in the axes of their links, or in those of the world
    """
    nq, nv = model.nq, model.nv
    still = np.zeros(nv)
    carrying = {"external": 6 * len(links)} if links else {}

    def pushes(q: Array, *rest: Array) -> External:
        given = external_on(links, *rest)
        return from_world_axes(model, q, given) if axes == "world" else given

    def inverse(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
        return (recursive_loads(model, q, v, a, external=pushes(q, *rest)).forces,)

    def bias(q: Array, v: Array, *rest: Array) -> tuple[Array, ...]:
        return inverse(q, v, still, *rest)

    def mass(q: Array) -> tuple[Array, ...]:
        return (mass_matrix_by_bodies(model, q),)

    def forward(q: Array, v: Array, tau: Array, *rest: Array) -> tuple[Array, ...]:
        if articulated_is_cheaper(model):
            return articulated_accelerations(model, q, v, tau, pushes(q, *rest))
        factor = factorise(mass(q)[0], mass_pattern(model), model.velocity_names)
        return substitute(factor, tau - bias(q, v, *rest)[0]), factor.pivots

    def cut(q: Array, v: Array) -> tuple[Array, ...]:
        found = constraints(model, state_vectors(model, q, v))
        return found.phi, found.phi_q, found.gamma

    def inverse_by(q: Array, v: Array, a: Array, *rest: Array) -> InverseDerivatives:
        if model.flexible or (links and axes == "world"):  # wrenches that do not turn with q
            return through_the_recursion(model, inverse, q, v, a, *rest)
        return inverse_derivatives(model, q, v, a, external_on(links, *rest))

    def forward_by(q: Array, v: Array, tau: Array, *rest: Array) -> tuple[Array, ...]:
        return forward_derivatives(model, lambda *state: inverse_by(*state, *rest), q, v, tau)

    table = {
        "inverse_dynamics": Traceable({"q": nq, "v": nv, "a": nv, **carrying}, ("tau",), inverse),
        "bias_forces": Traceable({"q": nq, "v": nv, **carrying}, ("h",), bias),
        "mass_matrix": Traceable({"q": nq}, ("M",), mass),
        "forward_dynamics": Traceable(
            {"q": nq, "v": nv, "tau": nv, **carrying}, ("a", "pivots"), forward
        ),
        "constraints": Traceable({"q": nq, "v": nv}, ("phi", "phi_q", "gamma"), cut),
        "centroid": Traceable(
            {"q": nq, "v": nv}, Centroid._fields, lambda q, v: centroid(model, q, v)
        ),
        "inverse_dynamics_derivatives": Traceable(
            {"q": nq, "v": nv, "a": nv, **carrying}, InverseDerivatives._fields, inverse_by
        ),
        "forward_dynamics_derivatives": Traceable(
            {"q": nq, "v": nv, "tau": nv, **carrying},
            (*ForwardDerivatives._fields, "pivots"),
            forward_by,
        ),
    }
    if what not in table:
        raise ModelError(unknown_name("function", what, table))
    return table[what]


def external_on(links: tuple[int, ...], packed: Array | None = None) -> External:
    """Return wrenches packed in one vector, by link; those of a link named twice add."""
    found: dict[int, Array] = {}
    if packed is not None:
        for k, link in enumerate(links):
            add(found, {link: packed[6 * k : 6 * k + 6]})
    return found


def prepare(
    model: Model,
    what: Dynamics,
    links: tuple[int, ...] = (),
    axes: Axes = "link",
    *,
    cache: Cache | None = DEFAULT_CACHE,
) -> Kernel:
    """Return the kernel of one of the functions above, compiled or from the cache."""
    wanted = traceable(model, what, links, axes)
    inputs, outputs, request = wanted.inputs, wanted.outputs, (links, axes)
    return model_kernel(model, what, inputs, outputs, wanted.function, request, cache=cache)


def prepare_variants(parameters: Parameters, what: Dynamics) -> Kernel:
    """Return the kernel of such a function whose last input are the parameters of a variant."""
    model = parameters.model
    wanted = traceable(model, what)

    def function_of(own: Model) -> Callable[..., tuple[Array, ...]]:
        return traceable(own, what).function

    inputs, outputs = wanted.inputs, wanted.outputs
    return variants_kernel(model, parameters, what, inputs, outputs, function_of, ((), "link"))


def prepare_shared(model: Model, what: Dynamics) -> Callable[..., tuple[Array, ...]]:
    """Return one of the functions above; variants of one mechanism share its machine code."""
    wanted = traceable(model, what)

    def function_of(own: Model) -> Callable[..., tuple[Array, ...]]:
        return traceable(own, what).function

    return shared_kernel(model, what, wanted.inputs, wanted.outputs, function_of, ((), "link"))


@once_a_model
def constraint_values(model: Model) -> Callable[[Array, Array], tuple[Array, ...]]:
    """Return Φ, Φ_q and γ, with their dimensions, as a function of q and v, one state or many."""
    return prepare_shared(model, "constraints")


def prepare_placement(model: Model, link: int) -> Kernel:
    """Return the kernel of a link's placement in the world, (4, 4)."""
    name, inputs = "placement", {"q": model.nq}
    return model_kernel(model, name, inputs, (name,), lambda q: (placement(model, q, link),), link)


def prepare_velocity(model: Model, link: int) -> Kernel:
    """Return the kernel of the velocity (6,) of a point (3,) of a link, in world axes."""

    def function(q: Array, v: Array, point: Array) -> tuple[Array, ...]:
        return (link_velocity(model, q, v, link, point),)

    name, inputs = "velocity", {"q": model.nq, "v": model.nv, "point": 3}
    return model_kernel(model, name, inputs, (name,), function, link)


def prepare_placements(model: Model) -> Kernel:
    """Return the kernel of all bodies' placements in the world, (B, 4, 4)."""
    name, inputs = "placements", {"q": model.nq}
    return model_kernel(model, name, inputs, (name,), lambda q: (body_placements(model, q),), ())


# Forward dynamics of a mechanism of any size: v̇ = M⁻¹ (τ - h).
#
# The whole solution is straight-line machine code, which runs for several states in the lanes of a
# vector at once: through M and its factors for short branches, by articulated bodies for long
# chains, whose cost grows with the number of bodies. Only where couplings leave no choice but M,
# and its factorisation, which grows with the cube of the degrees of freedom, has more than
# `LARGEST` operations, a kernel gives M and h, and LAPACK solves, some thousand states at a time.

LARGEST = 50_000
"""Multiply-adds of a factorisation that is still worth compiling: about 8 s, 67 dense degrees of
freedom."""

BLOCK = 2_000_000
"""Entries of mass matrices that are held at a time: 16 MB."""


class ForwardDynamics:
    """Accelerations of one mechanism, prepared once.

    Parameters
    ----------
    model : the mechanism
    links : link indices that carry external wrenches (a further argument)
    axes : in which these are given

    Attributes
    ----------
    straight : whether one kernel does it all
    kernel : this one, or None
    """

    def __init__(self, model: Model, links: tuple[int, ...] = (), axes: Axes = "link") -> None:
        self.model = model
        cost = elimination_operations(mass_pattern(model))
        self.straight = cost <= LARGEST or articulated_is_cheaper(model)
        self.kernel: Kernel | None = None
        if self.straight:
            self.kernel = prepare(model, "forward_dynamics", links, axes)
        else:
            self._mass = prepare(model, "mass_matrix")
            self._bias = prepare(model, "bias_forces", links, axes)

    def __call__(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *external: ArrayLike, threads: int = 1
    ) -> Array:
        """Return the accelerations (nv,) or (N, nv)."""
        if self.kernel is not None:
            return self.kernel(q, v, tau, *external, threads=threads)[0]
        (q, v, tau), _ = check_inputs(
            (q, v, tau), {"q": self.model.nq, "v": self.model.nv, "tau": self.model.nv}
        )
        (h,) = self._bias(q, v, *external, threads=threads)
        force = tau - h
        if q.ndim == 1 and force.ndim == 1:
            return _solve(self._mass(q)[0], force)
        q = np.broadcast_to(q, (len(force), self.model.nq))
        out = np.empty(np.broadcast_shapes(force.shape, (len(q), self.model.nv)))
        size = max(1, BLOCK // self.model.nv**2)
        for start in range(0, len(out), size):
            part = slice(start, start + size)
            (M,) = self._mass(q[part], threads=threads)
            out[part] = _solve(M, np.broadcast_to(force, out.shape)[part])
        return out


def derivatives_are_straight(model: Model) -> bool:
    """Return whether the derivatives of the accelerations are worth one kernel: see `LARGEST`."""
    pattern = mass_pattern(model)
    substitutions = 3 * model.nv * int(pattern.sum())  # as many entries as L and Lᵀ have
    return elimination_operations(pattern) + substitutions <= LARGEST


def _solve(M: Array, force: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(M, force[..., None])[..., 0])
    except np.linalg.LinAlgError:
        raise SolveError(
            "the mass matrix is singular: something that moves has no mass. `mbd check` names it"
        ) from None
