"""pinocchio as a referee: its dynamics of the same mechanism, in our order and signs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pinocchio.twin import Twin, to_pinocchio
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.equations.external import NOTHING, External
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


class PinocchioReferee:
    """pinocchio's answers for one mechanism.

    Where it can, pinocchio reads the mechanism's file itself, so that our reader is judged too;
    otherwise it gets the model that `to_pinocchio` makes.

    Attributes
    ----------
    name : engine, version and how it came by the model
    joints : names of the joints whose loads it knows (it merges fixed joints)
    tolerance : relative difference to the largest entry that rounding explains; independent
        programs agree to about 1e-14 on well-scaled robots
    """

    tolerance = 1e-11

    def __init__(self, model: Model) -> None:
        twin = _own_reading(model)
        how = "its own reading of the file" if twin else "through to_pinocchio"
        self.name = f"pinocchio {pin.__version__}, {how}"
        self.twin = twin or to_pinocchio(model)
        self.twin.model.gravity = pin.Motion(np.concatenate([model.gravity, np.zeros(3)]))
        # a turned joint (`model.recut`) has its load in the described sense, not in pinocchio's
        self._judged = [at for at in self.twin.places if not model.joint(at.name).turned]
        self.joints = tuple(at.name for at in self._judged)

    def inverse(
        self, q: Array, v: Array, a: Array, wrenches: External = NOTHING
    ) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) and the loads of `joints` (J, 6) at one state.

        Parameters
        ----------
        wrenches : on links
        """
        t = self.twin
        tau = pin.rnea(t.model, t.data, t.q(q), t.v(q, v), t.a(q, v, a), self._on_joints(wrenches))
        loads = [t.load(at) for at in self._judged]
        return t.G(q).T @ tau, np.array(loads).reshape(-1, 6)

    def _on_joints(self, wrenches: External) -> Any:
        """Return wrenches on links as pinocchio's ``fext``: by joint, in the joints' frames."""
        model, out = self.twin.model, pin.StdVec_Force()
        out.extend([pin.Force.Zero()] * model.njoints)
        for link, wrench in wrenches.items():
            name = self.twin.ours.links[link].name
            frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
            out[frame.parentJoint] += frame.placement.act(pin.Force(wrench))
        return out

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        t = self.twin
        G = t.G(q)
        return np.asarray(G.T @ mass_matrix(t, t.q(q)) @ G)

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv,) at one state: by ``aba``, with couplings through M."""
        t = self.twin
        if t.model.nv != t.ours.nv:
            bias, _ = self.inverse(q, v, np.zeros(t.ours.nv))
            return np.asarray(np.linalg.solve(self.mass_matrix(q), tau - bias))
        # v' = G v and τ = Gᵀ τ'; G is square and orthogonal here: v̇ = Gᵀ (v̇' - Ġ v)
        G = t.G(q)
        accelerations = pin.aba(t.model, t.data, t.q(q), t.v(q, v), G @ tau)
        return np.asarray(G.T @ (accelerations - t.a(q, v, np.zeros(t.ours.nv))))

    def link_loads(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return what moves each link, and where the links are, at one state.

        Returns
        -------
        inertial : (L, 6) force and moment that the link's motion needs beyond gravity, about its
            frame's origin, in its axes
        placements : (L, 4, 4) of the links in the world
        """
        t, model, data = self.twin, self.twin.model, self.twin.data
        pin.forwardKinematics(model, data, t.q(q), t.v(q, v), t.a(q, v, a))
        pin.updateFramePlacements(model, data)
        inertial, placements = [], []
        for link in t.ours.links:
            frame = model.getFrameId(link.name, pin.FrameType.BODY)
            velocity = pin.getFrameVelocity(model, data, frame, pin.LOCAL)
            acceleration = pin.getFrameAcceleration(model, data, frame, pin.LOCAL)
            acceleration -= data.oMf[frame].actInv(model.gravity)
            inertia = link.inertia.seen_from(link.frame.inverse())
            body = pin.Inertia.Zero()
            body.mass, body.lever, body.inertia = inertia.mass, inertia.centre, inertia.central
            inertial.append((body * acceleration + velocity.cross(body * velocity)).vector)
            placements.append(data.oMf[frame].homogeneous.copy())
        return np.array(inertial), np.array(placements)


def _own_reading(model: Model) -> Twin | None:
    """Return the twin that pinocchio reads from the mechanism's file, if it can."""
    source = model.description.source
    if source is None or not source.endswith(".urdf") or not Path(source).is_file():
        return None
    if any(j.type.name == "planar" and j.axis != (0.0, 0.0, 1.0) for j in model.joints):
        return None  # pinocchio's reader ignores the axis of a planar joint
    try:
        root = (pin.JointModelFreeFlyer(),) if model.floating else ()
        with quiet():  # urdfdom tells of every shape that it does not know
            read = pin.buildModelFromUrdf(source, *root)
        return Twin.by_name(model, read)
    except (ValueError, RuntimeError, ModelError):
        return None


# pinocchio's algorithms as works to be timed, each with its best settings.
#
# Batches are columns of Fortran-ordered arrays in pinocchio's own order, which it reads fastest.

Work = Callable[[], Any]


def rnea_in_parallel(twin: Twin, *arrays: Array) -> Work:
    """Return the work of ``rneaInParallel`` with one thread on q, v, a; tau (nv, N) is written."""
    if twin.model.nv == 1:
        return _each(pin.rnea, twin, *arrays)
    return partial(pin.rneaInParallel, 1, pin.ModelPool(twin.model, 1), *arrays)


def aba_in_parallel(twin: Twin, *arrays: Array) -> Work:
    """Return the work of ``abaInParallel`` with one thread on q, v, tau; a (nv, N) is written."""
    if twin.model.nv == 1:
        return _each(pin.aba, twin, *arrays)
    return partial(pin.abaInParallel, 1, pin.ModelPool(twin.model, 1), *arrays)


def _each(function: Any, twin: Twin, q: Array, v: Array, third: Array, out: Array) -> Work:
    """Return the work of one call a state.

    pinocchio's parallel functions read a (1, N) array as a vector and write past its end (4.1.0).
    """
    model, data = twin.model, twin.data

    def work() -> None:
        for k in range(v.shape[1]):
            out[:, k] = function(model, data, q[:, k], v[:, k], third[:, k])

    return work


def crba_each(twin: Twin, states: Sequence[Array]) -> Work:
    """Return the work of one ``crba`` call a state."""
    model, data = twin.model, twin.data

    def work() -> None:
        for q in states:
            pin.crba(model, data, q)

    return work


def mass_matrix(twin: Twin, q: Array) -> Array:
    """Return pinocchio's M at one state, both halves."""
    upper = np.triu(pin.crba(twin.model, twin.data, q))
    return np.asarray(upper + np.triu(upper, 1).T)


def rnea_once(twin: Twin) -> Callable[[Array, Array, Array], Any]:
    """Return ``rnea`` for one state."""
    return partial(pin.rnea, twin.model, twin.data)


def rnea_and_load(twin: Twin, joint: str) -> Callable[[Array, Array, Array], Any]:
    """Return ``rnea`` for one state, followed by reading the load of one joint."""
    model, data = twin.model, twin.data
    index = next((p.joint for p in twin.places if p.name == joint), 1)

    def call(q: Array, v: Array, a: Array) -> tuple[Any, Any]:
        tau = pin.rnea(model, data, q, v, a)
        return tau, data.f[index].vector

    return call
