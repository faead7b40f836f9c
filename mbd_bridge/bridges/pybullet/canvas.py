"""pybullet as a canvas: shapes of triangles that are put somewhere.

Bodies have no mass, nothing is simulated, no file is given to it. The window shows them.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from mbd_bridge.bridges.pybullet.client import engine
from mbd_bridge.bridges.quiet import quiet
from mbd_bridge.formats.mesh import Shaded
from mbd_bridge.spatial import Array


class Canvas:
    """A scene of pybullet's."""

    def __init__(self) -> None:
        self.engine = engine()
        with quiet():
            self.client = self._connect()

    def _connect(self) -> int:
        client: int = self.engine.connect(self.engine.DIRECT)
        return client

    def shape(self, piece: Shaded) -> int:
        """Return the number of a shape, of at most 131072 corners; its texture is not drawn."""
        with quiet():
            number: int = self.engine.createVisualShape(
                self.engine.GEOM_MESH,
                vertices=piece.vertices.tolist(),
                indices=piece.triangles.ravel().tolist(),
                normals=piece.normals.tolist(),
                physicsClientId=self.client,
            )
        return number

    def body(self, shape: int, colour: tuple[float, float, float, float]) -> int:
        """Return the number of a body that looks like a shape, in a colour."""
        body: int = self.engine.createMultiBody(
            baseVisualShapeIndex=shape, physicsClientId=self.client
        )
        self.engine.changeVisualShape(
            body, -1, rgbaColor=colour, specularColor=(0.2, 0.2, 0.2), physicsClientId=self.client
        )
        return body

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere: (3,) m, and (4,) x, y, z, w."""
        self.engine.resetBasePositionAndOrientation(
            body, position.tolist(), quaternion.tolist(), physicsClientId=self.client
        )

    def close(self) -> None:
        """Let go of the engine."""
        if self.engine.isConnected(self.client):
            with quiet():
                self.engine.disconnect(physicsClientId=self.client)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
