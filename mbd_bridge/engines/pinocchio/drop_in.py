"""pinocchio's calls, run by our kernels.

    tau = rnea(model, data, q, v, a)          # a pinocchio.Model, or prepare(model)

q, v and a are pinocchio's, one state or (N, n) arrays of states; results too. `data` receives
the fields that pinocchio's function fills, for one state, and may be None.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio.adopt import adopt
from mbd_bridge.equations.external import shift_to_link
from mbd_bridge.equations.mass_moments import MassMoments, with_moments
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.kernels import Kernel, rates_along
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve import (
    Dynamics,
    ForwardDynamics,
    prepare as prepare_kernel,
)
from mbd_bridge.solve.derivatives import ForwardDerivatives, InverseDerivatives
from mbd_bridge.solve.dynamics import derivatives_are_straight, external_on
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import quick

T = TypeVar("T")

AnyModel: TypeAlias = "PreparedModel | pin.Model"
"""What the functions take: a model that is prepared, or pinocchio's own."""

Forces = Sequence[Any] | Array | None
"""External forces: a ``pinocchio.Force`` for each joint, the universe's with them, in the joint's
frame, as ``fext``; or arrays (njoints, 6) or (N, njoints, 6) of them."""


class PreparedModel:
    """A ``pinocchio.Model`` with kernels of ours for it.

    Attributes
    ----------
    twin : the two models, and the conversion of states between them
    """

    def __init__(self, model: pin.Model) -> None:
        self.twin = adopt(model)
        order = self.twin.order()
        if order is None:
            raise ModelError(
                "the model has planar joints, whose velocities pinocchio writes along turning "
                "axes; use Mechanism.from_pinocchio, whose coordinates are named"
            )
        self.inverse_order = np.argsort(order)
        same = np.array_equal(order, np.arange(len(order)))
        self.order: Any = slice(None) if same else order
        places = [at for at in self.twin.places if not at.follows]
        self.same_order = same
        self._same_q = all(at.body.q == at.q and not at.body.coupled for at in places)
        self.q_size, self.v_size = model.nq, model.nv
        self._kernels: dict[Any, Any] = {}

    def createData(self) -> pin.Data:
        """Return pinocchio's data for the model."""
        return self.twin.model.createData()

    def kept(self, what: Any, make: Callable[[], T]) -> T:
        """Return what `make` returns, made at the first call."""
        if what not in self._kernels:
            self._kernels[what] = make()
        made: T = self._kernels[what]
        return made

    def kernel(self, what: Dynamics, pushed: bool = False) -> Callable[..., Any]:
        """Return a kernel of `solve`, of forces on all joints' links too if these are pushed."""
        key = what, pushed
        if key not in self._kernels:
            kernel = prepare_kernel(self.twin.ours, what, self.links if pushed else ())
            self._kernels[key] = quick(self.twin.ours, kernel)
        found: Callable[..., Any] = self._kernels[key]
        return found

    def forward(self, pushed: bool = False) -> Callable[..., Any]:
        """Return forward dynamics for any number of degrees of freedom."""
        key = "forward", pushed
        if key not in self._kernels:
            dynamics = ForwardDynamics(self.twin.ours, self.links if pushed else ())
            whole = dynamics.kernel
            self._kernels[key] = (
                (lambda *arrays: (dynamics(*arrays),))
                if whole is None
                else quick(self.twin.ours, whole, 1)
            )
        found: Callable[..., Any] = self._kernels[key]
        return found

    def forces(self, pushed: bool = False) -> Callable[..., Any]:
        """Return the kernel of torques (nv,) and of forces (njoints - 1, 6) on pinocchio's joints.

        The joints are in its order, the forces at their origins, in their frames.
        """
        key = "forces", pushed
        if key not in self._kernels:
            self._kernels[key] = quick(self.twin.ours, self._forces(self.links if pushed else ()))
        found: Callable[..., Any] = self._kernels[key]
        return found

    def _forces(self, links: tuple[int, ...]) -> Kernel:
        ours = self.twin.ours
        joints = [ours.joint_index[name] for name in self._joint_names()]

        def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            external = external_on(links, *rest)  # the torques' digits are those of all states
            loads = recursive_loads(ours, q, v, a, joints, external, along_with_forces=True)
            wrenches = zeros((len(joints), 6), q, v, a)
            for row, (joint, wrench) in enumerate(zip(joints, loads.wrench, strict=True)):
                wrenches[row] = shift_to_link(ours, ours.joints[joint].child, wrench)
            return loads.forces, wrenches

        inputs = {"q": ours.nq, "v": ours.nv, "a": ours.nv}
        if links:
            inputs["external"] = 6 * len(links)
        return model_kernel(ours, "forces", inputs, ("tau", "f"), function, (joints, links))

    def fill_forces(self, data: pin.Data, forces: Array) -> None:
        """Put the forces (njoints - 1, 6) on the joints into pinocchio's data."""
        places = data.f
        for number, force in enumerate(forces, 1):  # data.f[0] is no result of pinocchio's rnea
            places[number].vector = force

    @property
    def links(self) -> tuple[int, ...]:
        """Numbers of the links that pinocchio's joints carry, the universe left out."""
        ours = self.twin.ours
        return self.kept(
            "links", lambda: tuple(ours.joint(name).child for name in self._joint_names())
        )

    def _joint_names(self) -> list[str]:
        last = {at.joint: at.name for at in self.twin.places}  # a chain's load is its last's
        return [last[j] for j in range(1, self.twin.model.njoints)]

    def checked(self, value: ArrayLike, name: str) -> Array:
        """Return an argument (..., n) called q, v, a or tau, as pinocchio has it."""
        return _last(name, value, self.q_size if name == "q" else self.v_size)

    def coordinates(self, q: ArrayLike) -> Array:
        """Return pinocchio's coordinates in our order and form."""
        q = self.checked(q, "q")
        return q if self._same_q else self.twin.q_back(q)

    def rates(self, v: ArrayLike, name: str = "v") -> Array:
        """Return pinocchio's velocities, accelerations or forces in our order."""
        v = self.checked(v, name)
        return v if self.same_order else v[..., self.inverse_order]

    def motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, fext: Forces) -> tuple[Array, ...]:
        """Return inputs of kernels in our order: q, v, a, and external forces if there are any."""
        return self.coordinates(q), self.rates(v), self.rates(a, "a"), *self.external(fext)

    def external(self, fext: Forces) -> tuple[Array, ...]:
        """Return external forces as an input of kernels; none for None."""
        if fext is None:
            return ()
        count = self.twin.model.njoints
        try:
            forces = np.array([getattr(force, "vector", force) for force in fext], dtype=float)
        except (TypeError, ValueError):
            forces = np.zeros(0)
        if forces.shape[-2:] != (count, 6):
            raise StateError(
                f"fext: expected a pinocchio.Force for each of the {count} joints, the universe's "
                f"first, in the joints' frames, or an array ({count}, 6) or (N, {count}, 6)"
            )
        return (forces[..., 1:, :].reshape(*forces.shape[:-2], -1),)


def prepare(model: pin.Model) -> PreparedModel:
    """Return a model that the functions of this module take in the place of pinocchio's."""
    return PreparedModel(model)


def prepared(model: AnyModel) -> PreparedModel:
    """Return the prepared model: of pinocchio's own one that is made at the first call, and again
    when the model was changed since.
    """
    if type(model) is PreparedModel:
        return model
    if not isinstance(model, pin.Model):
        raise StateError(
            f"model: expected a pinocchio.Model, or prepare(model), got {type(model).__name__}"
        )
    key = id(model)
    kept = _OWN.get(key)
    if kept is not None and kept[0]() is model and kept[1] == model:
        return kept[2]
    made = PreparedModel(model)
    forget = partial(_OWN.pop, key)  # called with the dead reference, which is what it returns
    _OWN[key] = weakref.ref(model, forget), model.copy(), made
    return made


_OWN: dict[int, tuple[Any, pin.Model, PreparedModel]] = {}
"""By identity of a model: itself, as it was when it was prepared, and prepared."""


def rnea(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    fext: Forces = None,
) -> Array:
    """Return the joint torques (nv,) or (N, nv), as ``pinocchio.rnea``.

    For one state ``data.f`` is filled, too, by `joint_forces`: one kernel gives both.
    """
    ready = prepared(model)
    arrays = ready.motion(q, v, a, fext)
    pushed = len(arrays) > 3
    if data is None or arrays[0].ndim > 1:
        (tau,) = ready.kernel("inverse_dynamics", pushed)(*arrays)
    else:
        tau, forces = ready.forces(pushed)(*arrays)
        ready.fill_forces(data, forces)
    return give(data, "tau", tau[..., ready.order])


def nonLinearEffects(model: AnyModel, data: pin.Data | None, q: ArrayLike, v: ArrayLike) -> Array:
    """Return the nonlinear effects, as ``pinocchio.nonLinearEffects``."""
    model = prepared(model)
    (h,) = model.kernel("bias_forces")(model.coordinates(q), model.rates(v))
    return give(data, "nle", h[..., model.order])


nle = nonLinearEffects
"""pinocchio has both names."""


def aba(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    fext: Forces = None,
    convention: Any = None,
) -> Array:
    """Return the accelerations (nv,) or (N, nv), as ``pinocchio.aba``.

    `convention` is pinocchio's choice between two roads to the same result; here there is one.
    """
    model = prepared(model)
    more = model.external(fext)
    q, v, tau = model.coordinates(q), model.rates(v), model.rates(tau, "tau")
    a = model.forward(bool(more))(q, v, tau, *more)[0]
    return give(data, "ddq", a[..., model.order])


def crba(model: AnyModel, data: pin.Data | None, q: ArrayLike, convention: Any = None) -> Array:
    """Return the mass matrix (nv, nv) or (N, nv, nv), as ``pinocchio.crba``."""
    model = prepared(model)
    (M,) = model.kernel("mass_matrix")(model.coordinates(q))
    return give(data, "M", M[..., model.order, :][..., model.order])


def joint_forces(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    fext: Forces = None,
) -> Array:
    """Return force and moment on every joint, (njoints, 6) or (N, njoints, 6).

    Row j is what pinocchio leaves in ``data.f[j]``: the load of the parent on the child, at the
    joint's origin, in the joint's frame. Row 0, the universe, is zero.
    """
    ready = prepared(model)
    arrays = ready.motion(q, v, a, fext)
    forces = ready.forces(len(arrays) > 3)(*arrays)[1]
    return np.concatenate([np.zeros((*forces.shape[:-2], 1, 6)), forces], axis=-2)


def _last(name: str, value: ArrayLike, count: int) -> Array:
    """Return numbers (..., count)."""
    array = value if type(value) is np.ndarray and value.dtype == float else as_floats(name, value)
    if not array.ndim or array.shape[-1] != count:
        raise StateError(
            f"{name}: expected ({count},) or (N, {count}) numbers of pinocchio's model, got the "
            f"shape {array.shape}"
        )
    return array


def give(data: pin.Data | None, field: str, value: Array) -> Array:
    """Return a result, put into pinocchio's data where it is that of one state."""
    dimensions = {"tau": 1, "nle": 1, "g": 1, "ddq": 1, "M": 2, "Minv": 2}[field]
    if data is not None and value.ndim == dimensions:
        setattr(data, field, value)
    return value


# Derivatives by q are along velocities, as pinocchio's: the change for a small step of
# ``pinocchio.integrate``. Matrices are (nv, nv) or (N, nv, nv), and whole where pinocchio fills one
# triangle.

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
    return give(data, "Minv", np.linalg.inv(crba(model, None, q)))


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
