"""Planar machines with loops in pinocchio: `constraintDynamics`, Runge-Kutta in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.planar import depth_first, gap, seconds_of

ACCURACY, MU, ITERATIONS = 1e-10, 1e-8, 10
"""Of its proximal settings; with μ from 1e-10 to 1e-3 and up to 50 iterations the motion is the
same to 1e-13, and these take two or three iterations."""


class Pinocchio:
    """Minimal coordinates, loops closed by 3-D contacts on accelerations: no projection."""

    def __init__(self, model: Any, q: Any, v: Any, h: float) -> None:
        import pinocchio as pin

        self.pin, self.ours, self.h = pin, model, h
        self.name = "pinocchio constraintDynamics, RK4 in Python"
        description = model.description
        links = {link.name: link.inertia for link in description.links}
        self.model = pin.Model()
        numbers = {description.links[0].name: 0}

        def placed(point: Any) -> Any:
            return pin.SE3(np.eye(3), np.array(point, dtype=float))

        for joint in depth_first(description):  # the order that pinocchio's algorithms rely on
            number = self.model.addJoint(
                numbers[joint.parent],
                pin.JointModelRY(),
                placed(joint.origin.translation),
                joint.name,
            )
            own = links[joint.child]
            inertia = pin.Inertia(own.mass, np.array(own.centre, float), np.array(own.central))
            self.model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
            numbers[joint.child] = number
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.contact_data = pin.StdVec_RigidConstraintData()
        for loop in description.loops:
            ends: list[Any] = []
            for end in (loop.predecessor, loop.successor):
                ends += [numbers[end.link], placed(end.frame.translation)]
            contact = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, *ends, pin.ReferenceFrame.LOCAL
            )
            self.contacts.append(contact)
            self.contact_data.append(contact.createData())
        self.data = self.model.createData()
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.contact_data)
        self.proximal = pin.ProximalSettings(ACCURACY, MU, ITERATIONS)
        names = list(self.model.names)[1:]
        self.order = [names.index(name) for name in model.velocity_names]
        self.start_q, self.start_v = np.empty(model.nq), np.empty(model.nv)
        self.start_q[self.order], self.start_v[self.order] = q, v
        self.state = self.start_q, self.start_v
        self.none = np.zeros(model.nv)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v̇, rad/s²."""
        contacts = self.contacts, self.contact_data, self.proximal
        return self.pin.constraintDynamics(self.model, self.data, q, v, self.none, *contacts)

    def run(self, steps: int) -> float:
        """Take steps from the start; return the processor's seconds that they took."""
        return seconds_of(lambda: self.steps(steps))

    def steps(self, number: int) -> None:
        """Take classical Runge-Kutta steps; coordinates are plain angles."""
        q, v, h, a = self.start_q, self.start_v, self.h, self.acceleration
        for _ in range(number):
            a1 = a(q, v)
            v2 = v + h / 2 * a1
            a2 = a(q + h / 2 * v, v2)
            v3 = v + h / 2 * a2
            a3 = a(q + h / 2 * v2, v3)
            v4 = v + h * a3
            a4 = a(q + h * v3, v4)
            q = q + h / 6 * (v + 2 * (v2 + v3) + v4)
            v = v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        self.state = q, v

    def q(self) -> np.ndarray:
        """Return the coordinates in our order."""
        return self.state[0][self.order]

    def open(self) -> float:
        """Return how far the loops stand open, m."""
        return gap(self.ours, self.q())
