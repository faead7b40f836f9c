"""pinocchio's calls, run by our kernels.

    model = prepare(pin_model)                # once
    tau = rnea(model, model.createData(), q, v, a)

q, v and a are pinocchio's, one state or (N, n) arrays of states; results too. `data` receives
the fields that pinocchio's function fills, for one state, and may be None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio.adopt import adopt
from mbd_bridge.engines.pinocchio.constraints import ConstrainedMotion, multipliers
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.model import RANK_TOLERANCE
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import (
    ConstrainedDynamics,
    Dynamics,
    ForwardDynamics,
    prepare as prepare_kernel,
)
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.row_choice import row_choice


class PreparedModel:
    """A ``pinocchio.Model`` with kernels of ours for it.

    Attributes
    ----------
    twin : the two models, and the conversion of states between them
    """

    def __init__(
        self,
        model: pin.Model,
        constraints: Sequence[Any] = (),
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        self.twin = adopt(model, constraints, rank_tolerance)
        self.constraints = tuple(constraints)
        order = self.twin.order()
        if order is None:
            raise ModelError(
                "the model has planar joints, whose velocities pinocchio writes along turning "
                "axes; use Mechanism.from_pinocchio, whose coordinates are named"
            )
        self.order, self.inverse_order = order, np.argsort(order)
        self._kernels: dict[str, Any] = {}

    def createData(self) -> pin.Data:
        """Return pinocchio's data for the model."""
        return self.twin.model.createData()

    def kept(self, what: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, made at the first call."""
        if what not in self._kernels:
            self._kernels[what] = make()
        return self._kernels[what]

    def kernel(self, what: Dynamics) -> Any:
        """Return a kernel of `solve`."""
        return self.kept(what, lambda: prepare_kernel(self.twin.ours, what))

    def forward(self) -> ForwardDynamics:
        """Return forward dynamics for any number of degrees of freedom, prepared at the first
        call.
        """
        found: ForwardDynamics = self.kept("forward", lambda: ForwardDynamics(self.twin.ours))
        return found

    def loads(self) -> LoadSolver:
        """Return the solver for the loads of pinocchio's joints, in its order."""
        found: LoadSolver = self.kept("loads", self._load_solver)
        return found

    def _load_solver(self) -> LoadSolver:
        last = {at.joint: at.name for at in self.twin.places}  # a chain's load is its last's
        names = [last[j] for j in range(1, self.twin.model.njoints)]
        return LoadSolver(self.twin.ours, LoadRequest.of(self.twin.ours, names, open_tree=True))

    def closed(self) -> tuple[ConstrainedDynamics, LoadSolver]:
        """Return the dynamics with the constraints, and the loads of pinocchio's joints."""
        if not self.constraints:
            raise ModelError(
                "this model was prepared without constraints; use prepare(model, constraint_models)"
            )
        ours = self.twin.ours
        found: tuple[ConstrainedDynamics, LoadSolver] = self.kept(
            "closed",
            lambda: (
                ConstrainedDynamics(ours),
                LoadSolver(ours, LoadRequest.of(ours, self.loads().joints, actuated=())),
            ),
        )
        return found

    def multipliers(self) -> Any:
        """Return the kernel that turns our multipliers into pinocchio's."""
        ours = self.twin.ours
        rows = sum(len(cut.rows) for cut in ours.cuts)
        axes = [str(c.reference_frame) for c in self.constraints]
        return self.kept(
            "multipliers",
            lambda: model_kernel(
                ours,
                "multipliers",
                {"q": ours.nq, "v": ours.nv, "lam": rows},
                ("lambda_c",),
                partial(multipliers, ours, self.constraints),
                f"multipliers {axes}",
            ),
        )

    def coordinates(self, q: ArrayLike) -> Array:
        """Return pinocchio's coordinates in our order and form."""
        return self.twin.q_back(_last("q", q, self.twin.model.nq))

    def rates(self, v: ArrayLike, name: str = "v") -> Array:
        """Return pinocchio's velocities, accelerations or forces in our order."""
        return _last(name, v, self.twin.model.nv)[..., self.inverse_order]


def prepare(
    model: pin.Model, constraints: Sequence[Any] = (), rank_tolerance: float = RANK_TOLERANCE
) -> PreparedModel:
    """Return a model that the functions of this module take in the place of pinocchio's.

    ``RigidConstraintModel``s are for `constraint_dynamics`; the other functions are those of the
    open tree, as pinocchio's. For `rank_tolerance` see `mbd_bridge.load`.
    """
    return PreparedModel(model, constraints, rank_tolerance)


def rnea(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Return the joint torques (nv,) or (N, nv), as ``pinocchio.rnea``.

    For one state ``data.f`` is filled, too, by `joint_forces`.
    """
    kernel = model.kernel("inverse_dynamics")
    (tau,) = kernel(model.coordinates(q), model.rates(v), model.rates(a, "a"))
    if data is not None and tau.ndim == 1:
        for number, force in enumerate(joint_forces(model, None, q, v, a)[1:], 1):
            data.f[number] = pin.Force(force)  # data.f[0] is no result of pinocchio's rnea
    return _give(data, "tau", tau[..., model.order])


def nonLinearEffects(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike
) -> Array:
    """Return the nonlinear effects, as ``pinocchio.nonLinearEffects``."""
    (h,) = model.kernel("bias_forces")(model.coordinates(q), model.rates(v))
    return _give(data, "nle", h[..., model.order])


nle = nonLinearEffects
"""pinocchio has both names."""


def aba(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike, tau: ArrayLike
) -> Array:
    """Return the accelerations (nv,) or (N, nv), as ``pinocchio.aba``."""
    a = model.forward()(model.coordinates(q), model.rates(v), model.rates(tau, "tau"))
    return _give(data, "ddq", a[..., model.order])


def crba(model: PreparedModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the mass matrix (nv, nv) or (N, nv, nv), as ``pinocchio.crba``."""
    (M,) = model.kernel("mass_matrix")(model.coordinates(q))
    return _give(data, "M", M[..., model.order, :][..., model.order])


def joint_forces(
    model: PreparedModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Return force and moment on every joint, (njoints, 6) or (N, njoints, 6).

    Row j is what pinocchio leaves in ``data.f[j]``: the load of the parent on the child, at the
    joint's origin, in the joint's frame. Row 0, the universe, is zero.
    """
    loads = model.loads()(model.coordinates(q), model.rates(v), model.rates(a, "a"))
    wrench = loads.wrench
    return np.concatenate([np.zeros((*wrench.shape[:-2], 1, 6)), wrench], axis=-2)


def constraint_dynamics(
    model: PreparedModel, q: ArrayLike, v: ArrayLike, tau: ArrayLike
) -> ConstrainedMotion:
    """Return accelerations and multipliers, as ``pinocchio.constraintDynamics``, and joint forces.

    The state satisfies the constraints, so that their correctors have nothing to correct; the
    multipliers of redundant constraints are the smallest. One state or (N, n) arrays of states.

    Raises
    ------
    StateError
        A constraint is open at a state: by how much.
    """
    dynamics, solver = model.closed()
    ours, own_q, own_v = solver.model, model.coordinates(q), model.rates(v)
    phi, phi_q = (np.atleast_2d(x) for x in model.kernel("constraints")(own_q, own_v)[:2])
    scaled = ours.scaled_jacobian(phi_q.reshape(*phi.shape, -1))
    residual = np.abs(phi / ours.row_scale)
    if not row_choice(ours).closed(scaled, residual).all():
        raise StateError(
            f"the constraints are open by {residual.max():.3g} (relative to the size of the "
            f"mechanism, "
            f"or rad); close them first: Mechanism.from_pinocchio(model, constraints).assemble(...)"
        )
    a, lam = dynamics.forward(own_q, own_v, model.rates(tau, "tau"))
    (lambda_c,) = model.multipliers()(own_q, own_v, lam)
    force, moment, _ = solver.kernel(own_q, own_v, a, lam)
    wrench = np.concatenate([force, moment], axis=-1)
    wrench = np.concatenate([np.zeros((*wrench.shape[:-2], 1, 6)), wrench], axis=-2)
    return ConstrainedMotion(a[..., model.order], lambda_c, wrench)


def _last(name: str, value: ArrayLike, count: int) -> Array:
    """Return numbers (..., count)."""
    array = as_floats(name, value)
    if not array.ndim or array.shape[-1] != count:
        raise StateError(
            f"{name}: expected ({count},) or (N, {count}) numbers of pinocchio's model, got the "
            f"shape {array.shape}"
        )
    return array


def _give(data: pin.Data | None, field: str, value: Array) -> Array:
    own = {"tau": 1, "nle": 1, "ddq": 1, "M": 2}[field]
    if data is not None and value.ndim == own:
        setattr(data, field, value)
    return value
