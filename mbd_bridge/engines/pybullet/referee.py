"""pybullet as a referee: its inverse dynamics, mass matrix and force sensors, of the same URDF."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from lxml import etree

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pybullet.client import Client
from mbd_bridge.engines.pybullet.loaded_body import LoadedBody
from mbd_bridge.engines.pybullet.sensors import Sensors
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.files.elements import unphysical
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame

STEP = 1e-4
"""Of the step after which the sensors are read, s; they tell of its beginning."""


class PybulletReferee:
    """pybullet's answers for one mechanism with a fixed base and one-axis joints.

    Attributes
    ----------
    name : engine and version
    sensors : its force sensors; None for a body of more than 128 joints
    """

    joints: tuple[str, ...] = ()  # it knows loads of joints only after a step: see `sensed`
    tolerance = 1e-6  # it turns inertias to principal axes, and stops at a residue of 1e-5

    def __init__(self, model: Model) -> None:
        refuse(model)
        self.model, self.client = model, Client.direct()
        try:
            with quiet():
                self.body = load_as_described(model, self.client)
        except (ModelError, StateError):
            self.close()
            raise
        self.client.setTimeStep(STEP)
        self.sensors: Sensors | None = None
        with suppress(ModelError):  # a body of too many joints
            self.sensors = Sensors(self.body)
        self.name = f"pybullet {version()}, its own reading of the file"
        joints = [joint.body for joint in self.body.joints]
        self.G, self.offset = np.zeros((len(joints), model.nv)), np.zeros(len(joints))
        for row, body in enumerate(joints):  # pybullet's coordinates are G q + offset
            self.G[row, body.v] = body.ratio
            self.offset[row] = body.offset

    def inverse(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the generalised forces (nv,) at one state; pybullet gives no loads with them."""
        with quiet():
            return self.G.T @ self._torques(q, v, a), np.zeros((0, 6))

    def sensed(self, q: Array, v: Array, a: Array) -> Array:
        """Return the loads (J, 6) that the force sensors tell of a step from one state."""
        assert self.sensors is not None, "they are asked only if there are any"
        body = self.body
        with quiet():
            tau = self._torques(q, v, a)
            body.write(q, v)
            actuation = {j.name: np.array([t]) for j, t in zip(body.joints, tau, strict=True)}
            body.push(actuation, np.zeros(0), Frame.identity())
            self.client.stepSimulation()
            return self.sensors.read(q, v, actuation, STEP)

    def _torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the forces along each of pybullet's joints."""
        rows = [list(self.G @ q + self.offset), list(self.G @ v), list(self.G @ a)]
        return np.array(self.client.calculateInverseDynamics(self.body.number, *rows))

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv) at one state."""
        with quiet():
            M = self.client.calculateMassMatrix(self.body.number, list(self.G @ q + self.offset))
        return np.asarray(self.G.T @ np.array(M) @ self.G)

    def close(self) -> None:
        """Disconnect from the physics server."""
        self.client.disconnect()


def load_as_described(model: Model, client: Client) -> LoadedBody:
    """Load a model's file into a new world with its gravity, ready to be given forces."""
    # Without this flag pybullet makes its own inertia from the collision shapes.
    flags = client.engine.URDF_USE_INERTIA_FROM_FILE
    client.setGravity(*model.gravity)
    try:
        with _as_pybullet_reads_it(model) as path:
            number = client.loadURDF(path, useFixedBase=True, flags=flags)
    except StateError as problem:
        raise ModelError(f"pybullet does not load the file: {problem}") from None
    body = LoadedBody(model, client, number)
    body.release_joints()
    body.take_away_air()
    return body


@contextmanager
def _as_pybullet_reads_it(model: Model) -> Iterator[str]:
    """Yield the path of a copy of the file without shapes, in which links without inertia weigh 0.

    pybullet gives 1 kg to a link that has no <inertial>, and takes seconds to read a robot's
    meshes, of which its dynamics needs none.
    """
    source = model.description.source
    assert source is not None
    bare = {link.name for link in model.description.links if link.inertia is None}
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


def refuse(model: Model) -> None:
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


def version() -> str:
    """Return pybullet's version."""
    from importlib.metadata import version

    return version("pybullet")
