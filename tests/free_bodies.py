"""Newton's and Euler's equations of every link of a motion, free of its joints, by textbook means.

Positions, velocities and accelerations are carried along the joints that the file describes, in the
world's axes, with none of the package's equations; of the package come only the motion and the
loads. Each load acts on its child as given and on its parent turned round: where no link has
anything left over, action is reaction and nothing is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation


class Moving(NamedTuple):
    """A link: rotation, origin and its motion, angular velocity and acceleration; world axes."""

    R: np.ndarray
    o: np.ndarray
    v: np.ndarray
    a: np.ndarray
    w: np.ndarray
    alpha: np.ndarray

    def point(self, inside):
        """Place, velocity and acceleration of a point of the link, given in its frame."""
        r = self.R @ np.asarray(inside)
        spin = np.cross(self.w, r)
        across = np.cross(self.alpha, r) + np.cross(self.w, spin)
        return self.o + r, self.v + spin, self.a + across


class Left(NamedTuple):
    """What is left over, N and N m, at the worst link; the largest force among the loads, N."""

    force: float
    moment: float
    link: str
    largest: float


def moving_links(model, q, v, a):
    """Return how every link moves, by name; joints but universal and cylindrical ones."""
    joints = model.description.joints
    child = {joint.child for joint in joints}
    still = np.zeros(3)
    found = {
        link.name: Moving(np.eye(3), still, still, still, still, still)
        for link in model.description.links
        if link.name not in child
    }
    waiting = list(joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in found)
        waiting.remove(joint)
        places = model.bodies[model.joint(joint.name).body]
        own = (q[places.q], v[places.v], a[places.v])
        found[joint.child] = _beyond(joint, found[joint.parent], *own)
    return found


def _beyond(joint, parent, q, v, a):
    """Return how a joint's child moves."""
    o, v_o, a_o = parent.point(joint.origin.translation)
    R = parent.R @ joint.origin.rotation
    e = R @ np.array(joint.axis)
    if joint.type == "fixed":
        return Moving(R, o, v_o, a_o, parent.w, parent.alpha)
    if joint.type in ("revolute", "continuous"):
        turned = R @ Rotation.from_rotvec(q[0] * np.array(joint.axis)).as_matrix()
        alpha = parent.alpha + e * a[0] + np.cross(parent.w, e * v[0])
        return Moving(turned, o, v_o, a_o, parent.w + e * v[0], alpha)
    if joint.type == "spherical":
        turned = R @ Rotation.from_quat(q).as_matrix()
        alpha = parent.alpha + turned @ a + np.cross(parent.w, turned @ v)
        return Moving(turned, o, v_o, a_o, parent.w + turned @ v, alpha)
    if joint.type == "prismatic":
        at = joint.origin.translation + joint.origin.rotation @ np.array(joint.axis) * q[0]
        o, v_o, a_o = parent.point(at)
        a_o = a_o + e * a[0] + 2 * np.cross(parent.w, e * v[0])
        return Moving(R, o, v_o + e * v[0], a_o, parent.w, parent.alpha)
    assert joint.type == "floating" and not parent.w.any() and not parent.v.any(), joint
    own = R @ Rotation.from_quat(q[3:]).as_matrix()
    linear = own @ (a[:3] + np.cross(v[3:], v[:3]))
    return Moving(own, o + R @ q[:3], own @ v[:3], linear, own @ v[3:], own @ a[3:])


def left_over(run, loads, k):
    """Return what the forces and moments on the links leave over at record k of a run.

    `loads` are those of all joints, tree and cut, and of the root joint, as by default: parent on
    child, at the joint's origin, in the child's axes.
    """
    model = run.model
    links = moving_links(model, run.q[k], run.v[k], run.a[k])
    total = {name: [np.zeros(3), np.zeros(3)] for name in links}  # about the world's origin

    def push(link, force, moment, point):
        total[link][0] += force
        total[link][1] += moment + np.cross(point, force)

    for link, wrench in run.external.items():
        at = links[link]
        push(link, at.R @ wrench[k, :3], at.R @ wrench[k, 3:], at.o)
    ends = {j.name: (j.parent, links[j.child].R, links[j.child].o, j.child) for j in _joints(model)}
    root = next(name for name in links if name not in {j.child for j in _joints(model)})
    ends["root_joint"] = (None, links[root].R, links[root].o, root)
    for loop in model.loops:
        at, frame = links[loop.successor.link], loop.successor.frame
        place = at.point(frame.translation)[0]
        turn = at.R
        ends[loop.name] = (loop.predecessor.link, turn, place, loop.successor.link)
    gears = {
        coupling.name for coupling in model.description.couplings
    }  # between two degrees of freedom
    assert set(ends) | gears == set(loads.joints)
    for name, (parent, turn, place, child) in ends.items():
        force, moment = turn @ loads[name].force[k], turn @ loads[name].moment[k]
        push(child, force, moment, place)
        if parent is not None:
            push(parent, -force, -moment, place)
    worst = Left(0.0, 0.0, "", float(np.abs(loads.force[k]).max()))
    for link in model.description.links:
        force, moment = total[link.name]
        at, own = links[link.name], link.inertia
        if own is not None:
            place, _, acceleration = at.point(own.centre)
            inertia = at.R @ own.central @ at.R.T
            force = force + own.mass * (model.gravity - acceleration)
            moment = moment - np.cross(place, own.mass * (acceleration - model.gravity))
            moment = moment - inertia @ at.alpha - np.cross(at.w, inertia @ at.w)
        sizes = float(np.abs(force).max()), float(np.abs(moment).max())
        if max(sizes) > max(worst[:2]):
            worst = Left(*sizes, link.name, worst.largest)
    return worst


def idle_work(run, loads, k):
    """Return the largest force or moment along a degree of freedom that nothing actuates, N or N m.

    A joint of the tree gives along its degrees of freedom what was given there, gears included; a
    loop joint gives nothing.
    """
    model, worst = run.model, 0.0
    geared = np.zeros(model.nv)
    for gears in model.description.couplings:
        actuation = loads[gears.name].actuation[k, 0]
        geared[model.velocity_names.index(gears.joint)] += actuation
        for leader, ratio in gears.follows:
            geared[model.velocity_names.index(leader)] -= ratio * actuation
    for name in loads.joints:
        if name in model.joint_index and model.joint(name).moving:
            places = model.bodies[model.joint(name).body].v
            given = run.tau[k, places] + geared[places]
            for n, velocity in enumerate(model.velocity_names[places]):
                if velocity in run.prescribed_forces.names:
                    given[n] += run.prescribed_forces[velocity][k]
            worst = max(worst, np.abs(loads[name].actuation[k] - given).max())
    links = moving_links(model, run.q[k], run.v[k], run.a[k])
    for loop in model.loops:
        before = links[loop.predecessor.link].R @ loop.predecessor.frame.rotation
        turn = before.T @ links[loop.successor.link].R  # to the axes in which rows of a mask are
        force, moment = turn @ loads[loop.name].force[k], turn @ loads[loop.name].moment[k]
        free = {
            "revolute": [np.array(loop.axis) @ moment],
            "spherical": moment,
            "fixed": [0.0],
            "rolling": _about_contact(loop, turn, force, moment),
            "mask": np.concatenate([force, moment])[np.array(loop.rows or [1] * 6) == 0],
        }[loop.type]
        worst = max(worst, np.abs(free).max())
    return worst


def _about_contact(loop, turn, force, moment):
    """Return the moment about the lowest point of a wheel, where its edge takes forces only.

    Of another loop joint, nothing. All vectors are in the predecessor's axes; `turn` takes the
    successor's to them.
    """
    if loop.type != "rolling":
        return np.zeros(3)
    normal, axle = np.array(loop.axis), turn @ np.array(loop.axis2)
    down = np.cross(np.cross(normal, axle), axle)
    return moment - np.cross(loop.radius * down / np.linalg.norm(down), force)


def _joints(model):
    return model.description.joints


def energy(model, q, v):
    """Return kinetic plus potential energy, J."""
    total = 0.0
    links = moving_links(model, q, v, np.zeros(model.nv))
    for link in model.description.links:
        if link.inertia is not None:
            at, own = links[link.name], link.inertia
            place, velocity, _ = at.point(own.centre)
            spin = at.R.T @ at.w
            total += 0.5 * own.mass * velocity @ velocity + 0.5 * spin @ own.central @ spin
            total -= own.mass * model.gravity @ place
    return total


def power(run, k):
    """Return the power of torques, prescribed motions and external wrenches at record k, W."""
    model = run.model
    found = run.tau[k] @ run.v[k]
    for name in run.prescribed_forces.names:
        found += run.prescribed_forces[name][k] * run.v[k, model.velocity_names.index(name)]
    links = moving_links(model, run.q[k], run.v[k], run.a[k])
    for link, wrench in run.external.items():
        at = links[link]
        found += at.R @ wrench[k, :3] @ at.v + at.R @ wrench[k, 3:] @ at.w
    return found


def weight_power(run, k):
    """Return the power of the weights of all links, each taken positive, W."""
    model = run.model
    links = moving_links(model, run.q[k], run.v[k], run.a[k])
    own = [(links[link.name], link.inertia) for link in model.description.links if link.inertia]
    return sum(i.mass * abs(model.gravity @ at.point(i.centre)[1]) for at, i in own)


def energy_rate(run, k, ahead):
    """Return dE/dt at record k by differences of the fourth order of the dense output, W."""
    t = run.time[k]
    at = [run.at(t + n * ahead) for n in (-2, -1, 1, 2)]
    values = np.array([energy(run.model, state.q, state.v) for state in at])
    return values @ np.array([1, -8, 8, -1]) / (12 * ahead)
