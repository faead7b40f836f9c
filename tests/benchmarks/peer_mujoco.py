"""Planar machines with loops in MuJoCo: minimal coordinates, loops closed by soft rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.planar import gap, seconds_of

DEFAULT = 'solref="0.02 1" solimp="0.9 0.95 0.001"'
STIFFEST = 0.9999
"""The largest impedance that MuJoCo does not cut down."""
PERIODS = (1, 2, 4, 8, 16)
"""Time constants of loops, in steps: MuJoCo keeps to two at least unless `refsafe` is off."""
THIN = 1e-9
"""kg m²: stands for the zero inertia of a rod about its own axis, which MuJoCo refuses."""


def stiff(h: float, steps: float = 2) -> str:
    """Return the attributes of loops with a time constant of so many steps."""
    return f'solref="{steps * h!r} 1" solimp="{STIFFEST} {STIFFEST} 0.001"'


class MuJoCo:
    """Minimal coordinates, loops closed by `connect` of two sites (three soft rows each)."""

    def __init__(self, model: Any, q: Any, v: Any, h: float, integrator: str, soft: str) -> None:
        import mujoco

        mujoco.set_mju_user_warning(lambda text: None)  # `q` says it; its log would stay behind
        self.mujoco, self.ours = mujoco, model
        self.name = f"MuJoCo {integrator}"
        self.model = mujoco.MjModel.from_xml_string(mjcf(model, h, integrator, soft))
        self.data = mujoco.MjData(self.model)
        self.order = [self.model.joint(name).id for name in model.velocity_names]
        self.start_q, self.start_v = np.empty(self.model.nq), np.empty(self.model.nv)
        self.start_q[self.order], self.start_v[self.order] = q, v

    def back(self) -> None:
        """Return to the start."""
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.start_q, self.start_v

    def run(self, steps: int) -> float:
        """Take steps from the start, all in C; return the processor's seconds that they took."""
        self.back()
        return seconds_of(lambda: self.mujoco.mj_step(self.model, self.data, nstep=steps))

    def in_python(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Take steps one by one and keep the states."""
        self.back()
        q, v = np.empty((steps, self.model.nq)), np.empty((steps, self.model.nv))
        model, data, step = self.model, self.data, self.mujoco.mj_step
        for k in range(steps):
            step(model, data)
            q[k], v[k] = data.qpos, data.qvel
        return q, v

    def q(self) -> np.ndarray:
        """Return the coordinates in our order; nan if MuJoCo started afresh, as it does then."""
        warning = self.data.warning[self.mujoco.mjtWarning.mjWARN_BADQACC]
        return (
            self.data.qpos[self.order] if not warning.number else np.full(len(self.order), np.nan)
        )

    def open(self) -> float:
        """Return how far the loops stand open, m."""
        return gap(self.ours, self.q())


class Rollout(MuJoCo):
    """`mujoco.rollout` of one or many trajectories on one thread, every state kept in C."""

    def __init__(self, peer: MuJoCo, number: int, steps: int) -> None:
        self.__dict__.update(peer.__dict__)
        what = self.mujoco.mjtState.mjSTATE_FULLPHYSICS
        one = np.empty(self.mujoco.mj_stateSize(self.model, what))
        self.back()
        self.mujoco.mj_getState(self.model, self.data, one, what)
        self.initial, self.what = np.tile(one, (number, 1)), what
        self.states = np.empty((number, steps, len(one)))
        self.sensors = np.empty((number, steps, self.model.nsensordata))
        self.name = f"{peer.name}, mujoco.rollout of {number}"

    def run(self, steps: int) -> float:
        """Take the steps of all trajectories; return the processor's seconds that they took."""
        from mujoco import rollout

        assert steps == self.states.shape[1]
        options = {"nstep": steps, "state": self.states, "sensordata": self.sensors}
        return seconds_of(lambda: rollout.rollout(self.model, self.data, self.initial, **options))

    def q(self) -> np.ndarray:
        """Return the coordinates at the end of the last trajectory."""
        self.mujoco.mj_setState(self.model, self.data, self.states[-1, -1], self.what)
        return self.data.qpos[self.order].copy()


def mjcf(model: Any, h: float, integrator: str, soft: str) -> str:
    """Return a mechanism as MuJoCo's XML."""
    description = model.description
    links = {link.name: link for link in description.links}
    ends: dict[str, list[str]] = {name: [] for name in links}
    for k, loop in enumerate(description.loops):
        for tag, end in (("a", loop.predecessor), ("b", loop.successor)):
            place = " ".join(map(repr, map(float, end.frame.translation)))
            ends[end.link].append(f'<site name="{tag}{k}" pos="{place}"/>')

    def inside(parent: str) -> str:
        text = "".join(ends[parent])
        for joint in description.joints:
            if joint.parent != parent:
                continue
            own = links[joint.child].inertia
            place = " ".join(map(repr, map(float, joint.origin.translation)))
            centre = " ".join(map(repr, map(float, own.centre)))
            about = " ".join(repr(max(float(x), THIN)) for x in np.diag(own.central))
            text += (
                f'<body name="{joint.child}" pos="{place}"><joint name="{joint.name}" '
                f'type="hinge" axis="0 1 0"/><inertial pos="{centre}" mass="{own.mass!r}" '
                f'diaginertia="{about}"/>{inside(joint.child)}</body>\n'
            )
        return text

    loops = "".join(
        f'<connect site1="a{k}" site2="b{k}" {soft}/>' for k in range(len(description.loops))
    )
    root = description.links[0].name
    return (
        f'<mujoco><option timestep="{h!r}" integrator="{integrator}" gravity="0 0 -9.81">'
        f'<flag contact="disable" refsafe="disable"/></option><worldbody>{inside(root)}</worldbody>'
        f"<equality>{loops}</equality></mujoco>"
    )
