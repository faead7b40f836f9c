"""Derivatives of inverse and forward dynamics of a tree by q, v and a, or the torques.

By q is along the velocities: the change of a result for a small step of `Model.integrate`,
as in pinocchio. Of a free body, a ball or any other joint that are nv columns.

Forward mode through the recursion would carry every direction through every body beyond. Here it
goes through one joint at a time: what a joint's own q and v change is a superposed motion of all
that its body carries (`equations.superposed`), whose wrench goes inwards as any other. That takes
60 % of the operations for an iiwa, 40 % for a humanoid.

    d τ_i / d q_j    i carries j: the force of the wrench of q_j, brought to i
                     j carries i: the forces of i's column K B, brought to j, on the motion of q_j

The accelerations a = M⁻¹ (τ - h) follow: da/dq = -M⁻¹ dτ/dq at this a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.external import External, wrench_on
from mbd_bridge.equations.mass_matrix import with_rotors
from mbd_bridge.equations.mass_moments import share_out
from mbd_bridge.equations.motions import (
    body_motion,
    body_motions,
    coordinate_rates,
    joint_coordinates,
    joint_velocities,
)
from mbd_bridge.equations.newton_euler import (
    Rates,
    acceleration_field,
    generalised_force,
    inertial_wrench,
    lifted_ground,
    on_parent,
    rates_of_child,
)
from mbd_bridge.equations.superposed import CarriedMass, Superposed, crosses
from mbd_bridge.kernels.derive import jacobian
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Body, JointMotion, Model
from mbd_bridge.model.spatial import Array, cross, zeros
from mbd_bridge.solve.factor import factorise, inverse_of, mass_pattern, substitute


class InverseDerivatives(NamedTuple):
    """τ (nv,), and its derivatives (nv, nv) by q (along velocities), v and a (the last is M)."""

    tau: Array
    by_q: Array
    by_v: Array
    by_a: Array


class ForwardDerivatives(NamedTuple):
    """a (nv,), and its derivatives (nv, nv) by q (along velocities), v and τ (the last is M⁻¹)."""

    a: Array
    by_q: Array
    by_v: Array
    by_tau: Array

    @staticmethod
    def of(a: Array, inverse: InverseDerivatives) -> ForwardDerivatives:
        """Return those of accelerations a from the torques' at them, by LAPACK."""
        by_tau = np.linalg.inv(inverse.by_a)
        return ForwardDerivatives(a, -by_tau @ inverse.by_q, -by_tau @ inverse.by_v, by_tau)


class _Outward(NamedTuple):
    """A body's rates ω, α, r̈, and their columns of its joint's own q and v."""

    omega: Array
    alpha: Array
    acceleration: Array
    omega_by: Array
    alpha_by: Array
    acceleration_by: Array

    def superposed(self) -> Superposed:
        """Return what the joint's own q, then v superpose on all that the body carries."""
        angular = self.alpha_by + crosses(self.omega, self.omega_by)
        return Superposed(self.omega_by, angular, self.acceleration_by)

    def rates(self) -> Rates:
        """Return the rates as the recursion has them."""
        return Rates(self.omega, acceleration_field(self.omega, self.alpha), self.acceleration)


def inverse_derivatives(
    model: Model, q: Array, v: Array, a: Array, external: External | None = None
) -> InverseDerivatives:
    """Return the torques of a motion and their derivatives, for floats and symbols.

    Parameters
    ----------
    external : wrenches on links, which keep their numbers in the axes of these
    """
    outward = _outward(model, q, v, a)
    state = _State.of(model, q, v, outward)
    masses = share_out(model).kept
    carried = [CarriedMass.of(m, at.omega) for m, at in zip(masses, outward, strict=True)]
    wrenches = [inertial_wrench(m, at.rates()) for m, at in zip(masses, outward, strict=True)]
    tau = zeros(model.nv, q, v, a)
    found = InverseDerivatives(tau, *(zeros((model.nv, model.nv), q, v, a) for _ in range(3)))
    for i in range(len(masses) - 1, -1, -1):
        body, motion, parent = model.bodies[i], state.motions[i], model.bodies[i].parent
        beyond = model.joints[body.joint].beyond
        wrenches[i] = wrenches[i] - wrench_on(model, beyond, external or {})
        own = joint_coordinates(body, q), joint_velocities(body, v)
        step = _inward_step(body)(np.zeros(body.type.nv), *own, wrenches[i])
        forces, on_next, *turned = step
        tau[body.v] = tau[body.v] + body.ratio * forces
        _put_columns(i, carried[i], state, turned, found)
        if parent >= 0:
            wrenches[parent] = wrenches[parent] + on_next
            more = carried[i].carried(motion, state.velocities[i])
            carried[parent] = carried[parent].plus(more)
    if model.rotors is not None:
        tau = tau + model.rotors * a
    return found._replace(tau=tau, by_a=with_rotors(model, found.by_a))


class _State(NamedTuple):
    """What columns meet on their way inwards: of each body its motion in its parent, the velocity
    of its origin against that of its parent in the axes of this, what its own q and v superpose.
    """

    model: Model
    motions: list[JointMotion]
    velocities: list[Array]
    superposed: list[Superposed]

    @staticmethod
    def of(model: Model, q: Array, v: Array, outward: list[_Outward]) -> _State:
        motions = body_motions(model, q, v)
        velocities = []
        for body, motion in zip(model.bodies, motions, strict=True):
            velocity = motion.rotation @ (motion.linear @ joint_velocities(body, v))
            if body.parent >= 0:
                velocity = velocity + cross(outward[body.parent].omega, motion.position)
            velocities.append(velocity)
        return _State(model, motions, velocities, [at.superposed() for at in outward])


def _outward(model: Model, q: Array, v: Array, a: Array) -> list[_Outward]:
    rates: list[_Outward] = []
    for body in model.bodies:
        parent = np.zeros(3), np.zeros(3), lifted_ground(model)
        if body.parent >= 0:
            parent = rates[body.parent][:3]
        own = (joint_velocities(body, v), joint_coordinates(body, q), joint_velocities(body, a))
        rates.append(_Outward(*_outward_step(body)(np.zeros(body.type.nv), *own, *parent)))
    return rates


def _moved(body: Body, q: Array, d: Array, v: Array) -> JointMotion:
    """Return the motion of a body whose joint has gone a small step d from q."""
    return body_motion(body, q + body.type.coordinate_rate(q, d), v)


def _outward_step(body: Body) -> Traceable:
    """Return the function of a body's rates, and of their derivatives by its joint's q and v."""

    def step(
        d: Array, v: Array, q: Array, a: Array, omega: Array, alpha: Array, acceleration: Array
    ) -> tuple[Array, ...]:
        parent = Rates(omega, acceleration_field(omega, alpha), acceleration)
        return rates_of_child(_moved(body, q, d, v), v, a, parent, alpha)

    nq, nv = body.type.nq, body.type.nv
    own = {"d": nv, "v": nv, "q": nq, "a": nv}
    return jacobian(step, {**own, "omega": 3, "alpha": 3, "acceleration": 3}, ("d", "v"))


def _inward_step(body: Body) -> Traceable:
    """Return the function of a joint's forces and of the wrench that it hands on to the parent, and
    of their derivatives by its own q.
    """

    def step(d: Array, q: Array, v: Array, wrench: Array) -> tuple[Array, ...]:
        motion = _moved(body, q, d, v)
        return generalised_force(motion, wrench), on_parent(motion, wrench)

    nq, nv = body.type.nq, body.type.nv
    return jacobian(step, {"d": nv, "q": nq, "v": nv, "wrench": 6}, ("d",))


def _put_columns(
    j: int,
    carried: CarriedMass,
    state: _State,
    turned: Sequence[Array],
    found: InverseDerivatives,
) -> None:
    """Add a joint's columns of all three derivatives, and its rows, as far as the root.

    Parameters
    ----------
    carried : the masses that it moves
    turned : what its own q makes of its forces (nv, nv) and of the wrench on its parent (6, nv)
    """
    model, motions = state.model, state.motions
    body = model.bodies[j]
    nv, own = body.type.nv, body.v
    by_q, by_v, by_a = slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, 3 * nv)
    wrenches = np.hstack([carried.wrenches(state.superposed[j]), carried.columns(motions[j])])
    gyroscopic = carried.gyroscopic(motions[j])
    i = j
    while i >= 0 and nv:
        at = model.bodies[i]
        share, place = body.ratio * at.ratio, at.v
        forces = share * generalised_force(motions[i], wrenches)
        if i == j:
            forces[:, by_q] = forces[:, by_q] + share * turned[0]
        for matrix, columns in ((found.by_q, by_q), (found.by_v, by_v), (found.by_a, by_a)):
            matrix[place, own] = matrix[place, own] + forces[:, columns]
        if i != j:
            found.by_a[own, place] = found.by_a[own, place] + forces[:, by_a].T
            turning, angular, linear = state.superposed[i]
            force, moment = wrenches[:3, by_a], wrenches[3:, by_a]
            rows = share * (force.T @ linear + moment.T @ angular + gyroscopic.T @ turning)
            found.by_q[own, place] = found.by_q[own, place] + rows[:, : at.type.nv]
            found.by_v[own, place] = found.by_v[own, place] + rows[:, at.type.nv :]
        if at.parent >= 0:
            wrenches = np.column_stack([on_parent(motions[i], wrench) for wrench in wrenches.T])
            if i == j:
                wrenches[:, by_q] = wrenches[:, by_q] + turned[1]
            gyroscopic = motions[i].rotation @ gyroscopic
            gyroscopic = gyroscopic + crosses(2.0 * state.velocities[i], wrenches[:3, by_a])
        i = at.parent


def through_the_recursion(
    model: Model,
    inverse: Callable[..., tuple[Array, ...]],
    q: Array,
    v: Array,
    a: Array,
    *rest: Array,
) -> InverseDerivatives:
    """Return the same by forward mode through a whole function of the torques, whatever it holds.

    Parameters
    ----------
    inverse : τ of q, v, a and `rest`, which is not derived by
    """

    def moved(d: Array, q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
        return inverse(q + coordinate_rates(model, q, d), v, a, *rest)

    nv = model.nv
    inputs = {"d": nv, "q": model.nq, "v": nv, "a": nv}
    inputs |= {f"rest {k}": len(part) for k, part in enumerate(rest)}
    tau, by = jacobian(moved, inputs, ("d", "v", "a"))(np.zeros(nv), q, v, a, *rest)
    return InverseDerivatives(tau, by[:, :nv], by[:, nv : 2 * nv], by[:, 2 * nv :])


def forward_derivatives(
    model: Model,
    inverse: Callable[[Array, Array, Array], InverseDerivatives],
    q: Array,
    v: Array,
    tau: Array,
) -> tuple[Array, ...]:
    """Return what `ForwardDerivatives` lists, and the pivots of M, for floats and symbols.

    Parameters
    ----------
    inverse : torques and derivatives of q, v, a
    """
    nv = model.nv
    still = inverse(q, v, np.zeros(nv))
    factor = factorise(still.by_a, mass_pattern(model), model.velocity_names)
    a = substitute(factor, tau - still.tau)
    _, dq, dv, _ = inverse(q, v, a)
    by_q, by_v = (zeros((nv, nv), still.by_a) for _ in range(2))
    for k in range(nv):
        by_q[:, k], by_v[:, k] = substitute(factor, -dq[:, k]), substitute(factor, -dv[:, k])
    return *ForwardDerivatives(a, by_q, by_v, inverse_of(factor)), factor.pivots
