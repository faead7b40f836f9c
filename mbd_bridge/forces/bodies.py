"""All bodies of a machine at one state, formed once for the force elements that look at them."""

from __future__ import annotations

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array


class Bodies:
    """The bodies of a model at coordinates q (nq,) and velocities v (nv,)."""

    def __init__(self, model: Model, q: Array, v: Array) -> None:
        self._model, self.q, self.v = model, q, v

    @cached_property
    def root(self) -> JointMotion:
        """The motion of the root in the world."""
        return body_motions(self._model, self.q, self.v)[0]

    @cached_property
    def relative(self) -> MechanismState:
        """All bodies, in the root frame."""
        return state_vectors(self._model, self.q, self.v, "root")
