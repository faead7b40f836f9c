"""pybullet as a referee: its inverse dynamics and mass matrix of the same URDF."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from mbd_bridge.bridges.quiet import quiet
from mbd_bridge.errors import MissingPackageError, ModelError
from mbd_bridge.formats.inertial import unphysical
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array


def installed() -> bool:
    """Return whether pybullet can be imported."""
    return find_spec("pybullet") is not None


class PybulletReferee:
    """pybullet's answers for one mechanism with a fixed base and one-freedom joints.

    Attributes
    ----------
    name : engine and version
    """

    tolerance = 1e-6  # it turns inertias to principal axes, and stops at a residue of 1e-5
    joints: tuple[str, ...] = ()  # it knows loads of joints only after a step of its own

    def __init__(self, model: Model) -> None:
        if not installed():
            raise MissingPackageError("pybullet is not installed: pip install pybullet")
        self.model = model
        _refuse(model)
        with quiet():
            self.engine: Any = import_module("pybullet")
            self.client = self.engine.connect(self.engine.DIRECT)
            self.body = self._load()
        self.name = f"pybullet {_version()}, its own reading of the file"
        self.engine.setGravity(*model.gravity, physicsClientId=self.client)
        self.G, self.offset = self._order()

    def _load(self) -> int:
        # Without this flag pybullet makes its own inertia from the collision shapes.
        flags = self.engine.URDF_USE_INERTIA_FROM_FILE
        try:
            with _as_pybullet_reads_it(self.model) as path:
                body: int = self.engine.loadURDF(
                    path, useFixedBase=True, flags=flags, physicsClientId=self.client
                )
        except self.engine.error as problem:
            self.close()
            raise ModelError(f"pybullet does not load the file: {problem}") from None
        return body

    def _order(self) -> tuple[Array, Array]:
        """Return G and c with pybullet's coordinates = G q + c."""
        rows: list[str] = []
        for k in range(self.engine.getNumJoints(self.body, physicsClientId=self.client)):
            info = self.engine.getJointInfo(self.body, k, physicsClientId=self.client)
            if info[2] != self.engine.JOINT_FIXED:
                rows.append(info[1].decode())
        G, offset = np.zeros((len(rows), self.model.nv)), np.zeros(len(rows))
        moving = {self.model.joints[b.joint].name: b for b in self.model.bodies if b.type.nv}
        if set(moving) != set(rows):
            self.close()
            raise ModelError("pybullet's model has other moving joints than ours")
        for row, name in enumerate(rows):
            G[row, moving[name].v] = moving[name].ratio
            offset[row] = moving[name].offset
        return G, offset

    def inverse(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) at one state; pybullet gives no loads with them."""
        with quiet():
            tau = self.engine.calculateInverseDynamics(
                self.body,
                list(self.G @ q + self.offset),
                list(self.G @ v),
                list(self.G @ a),
                physicsClientId=self.client,
            )
        return self.G.T @ np.array(tau), np.zeros((0, 6))

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        with quiet():
            M = self.engine.calculateMassMatrix(
                self.body, list(self.G @ q + self.offset), physicsClientId=self.client
            )
        return np.asarray(self.G.T @ np.array(M) @ self.G)

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.engine.disconnect(physicsClientId=self.client)


@contextmanager
def _as_pybullet_reads_it(model: Model) -> Iterator[str]:
    """Yield the path of the file, or of a copy in which links without inertia have mass 0.

    pybullet gives 1 kg to a link that has no <inertial>. The copy has no shapes: they are not
    needed, and their meshes may be named relative to the file.
    """
    source = model.description.source
    assert source is not None
    bare = {link.name for link in model.description.links if link.inertia is None}
    if not bare:
        yield source
        return
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        robot = etree.fromstring(Path(source).read_bytes().lstrip(), parser)
    except (OSError, etree.XMLSyntaxError) as problem:
        raise ModelError(f"pybullet is not asked: the file cannot be copied: {problem}") from None
    for link in robot.findall("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
        if link.get("name") in bare:
            for old in link.findall("inertial"):
                link.remove(old)
            inertial = etree.SubElement(link, "inertial")
            etree.SubElement(inertial, "mass", value="0")
            moments = dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), "0")
            etree.SubElement(inertial, "inertia", moments)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "robot.urdf")
        etree.ElementTree(robot).write(path, encoding="utf-8", xml_declaration=True)
        yield path


def _refuse(model: Model) -> None:
    """Say which mechanisms pybullet cannot be asked about."""
    if model.description.source is None or not model.description.source.endswith(".urdf"):
        raise ModelError("pybullet is asked only about mechanisms that come from a URDF file")
    if model.floating:
        raise ModelError("pybullet is asked only about mechanisms with a fixed base")
    if model.nv == 0:
        raise ModelError("pybullet is asked only about mechanisms that move")
    for link in model.description.links:
        if model.links[model.link_index[link.name]].body == 0:
            continue  # the base does not move
        body = model.bodies[model.links[model.link_index[link.name]].body]
        if body.inertia.mass == 0.0:
            raise ModelError(
                f"pybullet is not asked about moving links without mass, such as {link.name!r}"
            )
        if link.inertia is not None and unphysical(link.inertia.mass, link.inertia.central):
            raise ModelError(f"pybullet would change the inertia of link {link.name!r}")
    for joint in model.joints:
        if joint.type.name not in ("fixed", "revolute", "continuous", "prismatic"):
            raise ModelError(f"pybullet is not asked about {joint.type.name} joints")


def _version() -> str:
    from importlib.metadata import version

    return version("pybullet")
