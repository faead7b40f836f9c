"""Small machines with shapes to touch, and pybullet worlds for them."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pybullet as p


def link(name, mass, centre, inertia, shape="", rpy="0 0 0"):
    """A <link> with inertia and a collision shape."""
    xx, yy, zz = inertia
    collision = f"<collision>{shape}</collision>" if shape else ""
    return f"""<link name="{name}"><inertial><origin xyz="{centre}" rpy="{rpy}"/>
      <mass value="{mass}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>
      </inertial>{collision}</link>"""


def joint(name, kind, parent, child, origin="0 0 0", axis="0 0 1"):
    """A <joint>."""
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{origin}"/><axis xyz="{axis}"/>
      <limit lower="-5" upper="5" effort="1000" velocity="10"/></joint>"""


def box(size, origin="0 0 0"):
    """The inside of a <collision>."""
    return f'<origin xyz="{origin}"/><geometry><box size="{size}"/></geometry>'


PLATE = box("1 1 0.04", "0 0 -0.02")

LIFT = (
    '<robot name="lift"><link name="ground"/>'
    + joint("lift", "prismatic", "ground", "carriage")
    + link("carriage", 1.5, "0 0 -0.1", (0.1, 0.1, 0.2))
    + joint("sensor", "fixed", "carriage", "plate")
    + link("plate", 0.5, "0 0 -0.02", (0.1, 0.1, 0.2), PLATE)
    + "</robot>"
)
"""A plate on a force sensor, lifted by one motor: its top is at z = q."""

CART = (
    '<robot name="cart"><link name="ground"/>'
    + joint("slide", "prismatic", "ground", "cart", axis="1 0 0")
    + link("cart", 3, "0 0 0", (0.1, 0.1, 0.2), box("4 1 0.04"))
    + "</robot>"
)
"""A long cart on rails along x, its top 0.02 m above them. Its shape is centred on its mass, and so
not a compound of pybullet's, which would always be the first body of a contact."""

FLOATER = (
    '<robot name="floater">'
    + link("body", 3, "0.05 0 0", (0.05, 0.06, 0.07), box("0.4 0.4 0.2"), "0.1 0.2 0.3")
    + joint("hinge", "continuous", "body", "bar", "0.2 0 0", "0 1 0")
    + link("bar", 1, "0.3 0 0", (0.01, 0.03, 0.03), box("0.6 0.1 0.04", "0.3 0 0"))
    + "</robot>"
)
"""A pendulum on a free body."""

ARM = (
    '<robot name="arm"><link name="ground"/>'
    + joint("shoulder", "continuous", "ground", "upper", axis="0 1 0")
    + link("upper", 2, "0.25 0 0", (0.004, 0.05, 0.05))
    + joint("elbow", "continuous", "upper", "lower", "0.5 0 0", "0 1 0")
    + link("lower", 1, "0.25 0 0", (0.003, 0.02, 0.02), box("0.5 0.2 0.04", "0.25 0 0"))
    + "</robot>"
)
"""Two links that swing in a vertical plane; the lower one can be hit."""


@contextmanager
def world(step=1e-3, gravity=(0, 0, -9.81)):
    """Yield a connection without a window."""
    client = p.connect(p.DIRECT)
    p.setGravity(*gravity, physicsClientId=client)
    p.setTimeStep(step, physicsClientId=client)
    try:
        yield client
    finally:
        if p.isConnected(client):
            p.disconnect(client)


def loose(client, mass, at, *, radius=0.1, cube=False, v=(0, 0, 0), friction=0.5):
    """A ball or a cube, without the damping that pybullet gives to everything."""
    if cube:
        options = {"shapeType": p.GEOM_BOX, "halfExtents": [radius] * 3}
    else:
        options = {"shapeType": p.GEOM_SPHERE, "radius": radius}
    shape = p.createCollisionShape(**options, physicsClientId=client)
    body = p.createMultiBody(mass, shape, -1, at, physicsClientId=client)
    p.changeDynamics(
        body, -1, linearDamping=0, angularDamping=0, lateralFriction=friction,
        physicsClientId=client,
    )  # fmt: skip
    p.resetBaseVelocity(body, v, [0, 0, 0], physicsClientId=client)
    return body


def velocity(client, body):
    """Linear and angular velocity of a loose body."""
    return tuple(map(np.array, p.getBaseVelocity(body, physicsClientId=client)))


def place(client, body):
    """Position and rotation matrix of a loose body."""
    x, turn = p.getBasePositionAndOrientation(body, physicsClientId=client)
    return np.array(x), np.array(p.getMatrixFromQuaternion(turn)).reshape(3, 3)
