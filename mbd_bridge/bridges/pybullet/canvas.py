"""pybullet as a canvas: shapes of triangles that are put somewhere and looked at.

Only its pictures are used: bodies have no mass, nothing is simulated, no file is given to it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.bridges.quiet import quiet
from mbd_bridge.errors import MissingPackageError
from mbd_bridge.spatial import Array

LIGHT = (0.5, -1.0, 2.0)
"""Direction towards the light, in the world's axes where nothing else is asked for."""

NOTHING = -1
"""What the mask says where nothing is seen."""


class Seen(NamedTuple):
    """A picture: (height, width, 3) colours, and (height, width) which body is seen there."""

    colours: NDArray[np.uint8]
    bodies: NDArray[np.int64]


class Canvas:
    """A scene without a window, drawn by pybullet's renderer that needs no graphics card."""

    def __init__(self) -> None:
        if find_spec("pybullet") is None:
            raise MissingPackageError(
                "pictures are drawn by pybullet, which is not installed: pip install pybullet"
            )
        with quiet():
            self.engine: Any = import_module("pybullet")
            self.client = self._connect()

    def _connect(self) -> int:
        client: int = self.engine.connect(self.engine.DIRECT)
        return client

    def shape(self, vertices: Array, normals: Array, triangles: NDArray[np.int64]) -> int:
        """Return the number of a shape.

        Parameters
        ----------
        vertices, normals : (V, 3) m and unit vectors, at most 131072
        triangles : (T, 3) indices, at most 174762
        """
        with quiet():
            number: int = self.engine.createVisualShape(
                self.engine.GEOM_MESH,
                vertices=vertices.tolist(),
                indices=triangles.ravel().tolist(),
                normals=normals.tolist(),
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

    def image(
        self,
        view: Array,
        projection: Array,
        size: tuple[int, int],
        light: tuple[float, float, float] = LIGHT,
    ) -> Seen:
        """Return what a camera sees.

        Parameters
        ----------
        view, projection : (4, 4), as OpenGL's, acting on columns
        size : width and height, pixels
        """
        width, height = size
        # Not quiet(): it prints nothing, and a bar of progress is drawn meanwhile.
        _, _, colours, _, bodies = self.engine.getCameraImage(
            width,
            height,
            view.T.ravel().tolist(),
            projection.T.ravel().tolist(),
            lightDirection=light,
            lightColor=(1.0, 1.0, 1.0),
            shadow=0,
            lightAmbientCoeff=0.55,
            lightDiffuseCoeff=0.5,
            lightSpecularCoeff=0.05,
            renderer=self.engine.ER_TINY_RENDERER,
            physicsClientId=self.client,
        )
        rgb = np.asarray(colours, dtype=np.uint8).reshape(height, width, 4)[..., :3]
        return Seen(rgb.copy(), np.asarray(bodies, dtype=np.int64).reshape(height, width))

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
