"""pinocchio's derivatives of dynamics, run by our kernels.

As in `drop_in`: q, v, a and tau are pinocchio's, one state or (N, n) arrays of states. Derivatives
by q are along velocities, as pinocchio's: the change for a small step of ``pinocchio.integrate``.
Matrices are (nv, nv) or (N, nv, nv), and whole where pinocchio fills one triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from mbd_bridge.engines.pinocchio.drop_in import (
    AnyModel,
    Forces,
    PreparedModel,
    crba,
    prepared,
    rnea,
)
from mbd_bridge.equations.mass_moments import MassMoments, with_moments
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.derivatives import ForwardDerivatives, InverseDerivatives
from mbd_bridge.solve.dynamics import derivatives_are_straight
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import quick

Three = tuple[Array, Array, Array]


def computeRNEADerivatives(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    fext: Forces = None,
) -> Three:
    """Return the derivatives of the torques by q, v and a, as ``pinocchio``'s function.

    For one state ``data.dtau_dq``, ``dtau_dv``, ``M`` and ``tau`` are filled.
    """
    ready = prepared(model)
    arrays = ready.motion(q, v, a, fext)
    outputs = ready.kernel("inverse_dynamics_derivatives", len(arrays) > 3)(*arrays)
    return _filled(ready, data, ("tau", "dtau_dq", "dtau_dv", "M"), outputs)


def computeABADerivatives(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    fext: Forces = None,
) -> Three:
    """Return the derivatives of the accelerations by q, v and tau, as ``pinocchio``'s function.

    For one state ``data.ddq_dq``, ``ddq_dv``, ``Minv`` and ``ddq`` are filled.
    """
    ready = prepared(model)
    more = ready.external(fext)
    state = ready.coordinates(q), ready.rates(v), ready.rates(tau, "tau")
    if ready.kept("straight", lambda: derivatives_are_straight(ready.twin.ours)):
        outputs = ready.kernel("forward_dynamics_derivatives", bool(more))(*state, *more)
    else:
        a = ready.forward(bool(more))(*state, *more)[0]
        inverse = ready.kernel("inverse_dynamics_derivatives", bool(more))
        found = InverseDerivatives(*inverse(*state[:2], a, *more))
        outputs = ForwardDerivatives.of(a, found)
    return _filled(ready, data, ("ddq", "ddq_dq", "ddq_dv", "Minv"), outputs)


def computeJointTorqueRegressor(
    model: AnyModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Return what the torques are by each inertial number, (nv, 10 (njoints - 1)) or (N, ...).

    The numbers are pinocchio's, ``inertia.toDynamicParameters()`` of each joint.
    """
    ready = prepared(model)
    kernel = ready.kept("regressor", lambda: quick(ready.twin.ours, _regressor(ready)))
    (Y,) = kernel(*ready.motion(q, v, a, None))
    return np.asarray(Y[..., ready.order, :])


def _regressor(model: PreparedModel) -> Kernel:
    ours, links = model.twin.ours, model.links
    inputs = {"q": ours.nq, "v": ours.nv, "a": ours.nv}

    def torques(q: Array, v: Array, a: Array, p: Array) -> tuple[Array, ...]:
        pairs = zip(links, p.reshape(-1, 10), strict=True)
        more = {link: MassMoments.of_parameters(x) for link, x in pairs}
        return (recursive_loads(with_moments(ours, more), q, v, a).forces,)

    def function(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        given = {"q": q, "v": v, "a": a, "p": np.zeros(10 * len(links))}
        return rates_along(torques, given, {"p": np.eye(10 * len(links))})[1]

    return model_kernel(ours, "torque_regressor", inputs, ("Y",), function, links)


def computeMinverse(model: AnyModel, data: pin.Data | None, q: ArrayLike) -> Array:
    """Return the inverse of the mass matrix, as ``pinocchio``'s function: ``data.Minv``."""
    inverse = np.linalg.inv(crba(model, None, q))
    if data is not None and inverse.ndim == 2:
        data.Minv = inverse
    return inverse


def computeGeneralizedGravityDerivatives(
    model: AnyModel, data: pin.Data | None, q: ArrayLike
) -> Array:
    """Return the derivatives of the torques at rest by q, as ``pinocchio``'s function."""
    return computeStaticTorqueDerivatives(model, data, q)


def computeStaticTorque(
    model: AnyModel, data: pin.Data | None, q: ArrayLike, fext: Forces = None
) -> Array:
    """Return the torques at rest under external forces, as ``pinocchio``'s: ``data.tau``."""
    still = _still(model, q)
    return rnea(model, data, q, still, still, fext)


def computeStaticTorqueDerivatives(
    model: AnyModel, data: pin.Data | None, q: ArrayLike, fext: Forces = None
) -> Array:
    """Return the derivatives of the torques at rest by q, as ``pinocchio``'s function."""
    still = _still(model, q)
    return computeRNEADerivatives(model, None, q, still, still, fext)[0]


def _still(model: AnyModel, q: ArrayLike) -> Array:
    return np.zeros((*np.shape(q)[:-1], prepared(model).v_size))


def _filled(
    model: PreparedModel, data: pin.Data | None, fields: tuple[str, ...], outputs: Any
) -> Three:
    """Return three matrices in pinocchio's order, its data filled with them and with the values."""
    values, first, second, third = outputs[:4]
    if not model.same_order:
        order = model.order
        values = values[..., order]
        first, second, third = (x[..., order, :][..., order] for x in (first, second, third))
    if data is not None and values.ndim == 1:
        for field, value in zip(fields, (values, first, second, third), strict=True):
            setattr(data, field, value)
    return first, second, third
