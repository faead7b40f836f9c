"""Flexible links as beams and as tables of nodes."""

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model import Model, build_model
from mbd_bridge.model.flexible.basis import matrices
from mbd_bridge.view.bending import SLICES


def as_nodes(beam, modes, *, shifted=0.0):
    """Return a beam's modes at its Gauss points, which weigh, and at both ends."""
    at, weight = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(0.0, beam.length, 5)
    half = 0.5 * np.diff(edges)[:, None]
    inner = (edges[:-1, None] + half * (1 + at)).ravel()
    x = np.concatenate([[0.0], inner, [beam.length]])
    masses = np.concatenate([[0.0], (half * weight).ravel() * beam.at(inner).mass, [0.0]])
    shape = np.stack([mode.displacement(x) for mode in modes])
    turn = np.stack([mode.rotation(x) for mode in modes])
    nodes = np.column_stack([x, 0 * x, 0 * x])
    # a rigid motion more: the link's frame takes it away
    spin = np.array([0.0, 0.0, shifted])
    shape = shape + np.cross(spin, nodes) + shifted * np.array([0.1, 0.2, 0.0])
    K = matrices(beam, modes)[1]
    return mbd.flexible.ModalBasis(nodes, masses, shape, turn + spin, K)


def pendulum(shape, modes=None) -> Model:
    parts = mbd.Builder("pendulum").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    parts.joint("elbow", "revolute", "rod", "bob", xyz=(1, 0, 0), axis=(0, 1, 0))
    parts.link("bob", 0.5, (0.1, 0, 0.1), (0.01, 0.01, 0.01))
    parts.flexible(mbd.flexible.FlexibleLink("rod", shape, *([modes] if modes else [])))
    return build_model(parts.description())


MIDDLE = 20
"""A slice."""


def rod(*, stiffening=False):
    """A rod along an oblique axis that bends both ways and twists; with a station in a slice."""
    section = mbd.flexible.Section.rectangle(0.02, 0.03)
    beam = mbd.flexible.Beam((0.1, 0, 0), (0.7, 0.8, 0.1), 7e7, 2.6e7, 2700, section)
    x = (MIDDLE + 0.5) / SLICES * beam.length
    parts = mbd.Builder("rod").joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1))
    modes = mbd.flexible.Modes("clamped-free", 2, 1, 1)
    parts.flexible(
        mbd.flexible.FlexibleLink(
            "rod", beam, modes, mbd.flexible.Damping(), stiffening, {"gauge": x}
        )
    )
    return mbd.Mechanism.build(parts, gravity=(0, 0, 0))
