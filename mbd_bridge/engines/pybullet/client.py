"""One pybullet connection: its functions bound to it, its errors as ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.extras import needed
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.model.spatial import Frame, quaternion_matrix


def engine() -> Any:
    """Return the module pybullet, which prints when it is imported."""
    why = "this needs pybullet, which has wheels up to Python 3.11"
    if sys.version_info >= (3, 12):
        why += "; for this one pip has to build it, with a C++ compiler"
    with quiet():
        return needed("pybullet", why, "pybullet")


class Client:
    """A physics server that the user has connected to.

    ``client.getNumJoints(body)`` is ``pybullet.getNumJoints(body, physicsClientId=number)``.

    Attributes
    ----------
    number : what ``pybullet.connect`` returned (a ``BulletClient``'s is ``client._client``)
    engine : the module pybullet, for its constants
    """

    def __init__(self, number: int) -> None:
        self.engine = engine()
        if isinstance(number, bool) or not isinstance(number, int):
            raise StateError(
                f"client: expected the number that pybullet.connect(...) returned, got {number!r}"
            )
        self.number = number
        self.check()

    @staticmethod
    def direct() -> Client:
        """Return a new connection without a window, for us alone; `disconnect` ends it."""
        bullet = engine()
        with quiet():
            return Client(bullet.connect(bullet.DIRECT))

    def check(self) -> None:
        """Raise if the connection is gone."""
        if not self.engine.isConnected(self.number):
            raise StateError(
                f"pybullet client {self.number} is not connected (any more): "
                f"client = pybullet.connect(pybullet.DIRECT)"
            )

    def frame(self, body: int, link: int) -> Frame:
        """Return pybullet's frame of a link (-1: the root), at its centre of mass, in the world."""
        if link < 0:
            position, turn = self.getBasePositionAndOrientation(body)
        else:
            position, turn = self.getLinkState(body, link)[:2]
        return Frame(quaternion_matrix(np.array(turn)), np.array(position))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self.engine, name)

        def call(*values: Any, **options: Any) -> Any:
            try:
                return function(*values, physicsClientId=self.number, **options)
            except self.engine.error as problem:
                self.check()
                raise StateError(f"pybullet.{name}: {problem}") from None

        # the next call finds it here and does not come back to __getattr__
        self.__dict__[name] = call
        return call
