"""Random MJCF models with every type of joint and equality, and what MuJoCo computes of them."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from mbd_bridge.engines.mujoco.compiled import Compiled
from mbd_bridge.engines.mujoco.twin import MujocoTwin as States
from mbd_bridge.equations.composite import composites
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.motion import generalised_forces, mass_matrix
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model

STACKS = (
    ("hinge",),
    ("hinge",),
    ("slide",),
    ("ball",),
    ("hinge", "hinge"),
    ("slide", "hinge"),
    ("slide", "slide", "hinge"),
    ("hinge", "hinge", "hinge"),
    ("slide", "ball"),
    (),
)
"""Joints of one body, one after the other."""


FLAGS = ("gravity", "equality", "spring", "damper", "constraint", "contact")
"""What a file may disable."""


def numbers(values) -> str:
    return " ".join(f"{x:.9g}" for x in np.atleast_1d(values))


def random_mjcf(rng: np.random.Generator) -> str:
    """Return a model: a tree of up to seven bodies, and equalities closed at its reference."""
    count = int(rng.integers(2, 8))
    children: dict[int, list[int]] = {k: [] for k in range(count + 1)}
    for k in range(1, count + 1):
        children[int(rng.integers(max(0, k - 3), k))].append(k)
    hinges: list[str] = []
    bodies = "".join(_body(rng, k, children, hinges, top=True) for k in children[0])
    equalities = "".join(_equality(rng, k, count, hinges) for k in range(int(rng.integers(0, 4))))
    gravity = numbers(rng.normal(0, 5, 3))
    tendons = coupled = ""
    if len(hinges) > 2 and rng.random() < 0.3:
        tendons, coupled = _tendons(rng, hinges)
    motors = ""
    for name in hinges:
        if rng.random() < 0.2:
            own = f'gear="{rng.uniform(-5, 5):.6g}" armature="{rng.uniform(0, 0.1):.6g}"'
            motors += f'<motor joint="{name}" {own} damping="{rng.uniform(0, 0.1):.6g}"/>'
    off = [name for name in FLAGS if rng.random() < 0.06]
    flags = "<flag " + " ".join(f'{name}="disable"' for name in off) + "/>"
    return (
        '<mujoco model="random"><compiler angle="radian"/>'
        f'<option gravity="{gravity}">{flags}</option>'
        f'<worldbody><site name="s0" pos="{numbers(rng.normal(0, 1, 3))}"/>{bodies}</worldbody>'
        f"{tendons}<equality>{equalities}{coupled}</equality><actuator>{motors}</actuator></mujoco>"
    )


def _body(rng, k: int, children, hinges: list[str], *, top: bool) -> str:
    kinds = ("free",) if top and rng.random() < 0.3 else STACKS[rng.integers(len(STACKS))]
    joints = ""
    for n, kind in enumerate(kinds):
        name = f"j{k}_{n}"
        if kind == "free":
            joints += f'<freejoint name="{name}"/>'
            continue
        joints += f'<joint name="{name}" type="{kind}" pos="{numbers(rng.normal(0, 0.3, 3))}"'
        if kind in ("hinge", "slide"):
            hinges.append(name)
            joints += f' axis="{numbers(rng.normal(0, 1, 3))}"'
            if rng.random() < 0.5:
                joints += f' ref="{rng.normal():.6g}"'
            if rng.random() < 0.4:
                joints += f' stiffness="{rng.uniform(1, 50):.6g}" springref="{rng.normal():.6g}"'
            if rng.random() < 0.3:
                joints += f' damping="{rng.uniform(0.1, 2):.6g}"'
        if rng.random() < 0.3:
            joints += f' armature="{rng.uniform(0.1, 1):.6g}"'
        joints += "/>"
    own = (
        f'<inertial pos="{numbers(rng.normal(0, 0.2, 3))}" mass="{rng.uniform(0.5, 3):.6g}" '
        f'quat="{numbers(rng.normal(0, 1, 4))}" '
        f'diaginertia="{numbers(rng.uniform(0.05, 0.09, 3))}"/>'
        if rng.random() < 0.5
        else f'<geom type="box" contype="0" conaffinity="0" '
        f'size="{numbers(rng.uniform(0.05, 0.3, 3))}" '
        f'pos="{numbers(rng.normal(0, 0.2, 3))}" euler="{numbers(rng.normal(0, 1, 3))}"/>'
    )
    place = f'pos="{numbers(rng.normal(0, 0.5, 3))}" quat="{numbers(rng.normal(0, 1, 4))}"'
    site = f'<site name="s{k}" pos="{numbers(rng.normal(0, 0.2, 3))}"/>'
    below = "".join(_body(rng, c, children, hinges, top=False) for c in children[k])
    return f'<body name="b{k}" {place}>{joints}{own}{site}{below}</body>'


def _tendons(rng, hinges: list[str]) -> tuple[str, str]:
    """Return two fixed tendons, and what couples them, or holds one."""
    tendons = ""
    for k in range(2):
        chosen = rng.choice(hinges, int(rng.integers(1, 4)), replace=False)
        joints = "".join(
            f'<joint joint="{name}" coef="{rng.normal(0, 2):.6g}"/>' for name in chosen
        )
        tendons += f'<fixed name="t{k}">{joints}</fixed>'
    second = f' tendon2="t1" polycoef="0 {rng.normal():.6g} 0 0 0"' if rng.random() < 0.7 else ""
    return f"<tendon>{tendons}</tendon>", f'<tendon name="et" tendon1="t0"{second}/>'


def _equality(rng, k: int, count: int, hinges: list[str]) -> str:
    one, two = rng.permutation(count + 1)[:2]
    bodies = [f"b{i}" if i else "world" for i in (one, two)]
    pair = f'name="e{k}" body1="{bodies[0]}" body2="{bodies[1]}"'
    match int(rng.integers(5)):
        case 0:
            return f'<connect {pair} anchor="{numbers(rng.normal(0, 0.3, 3))}"/>'
        case 1:
            return f"<weld {pair}/>"
        case 2:
            return f'<weld {pair} anchor="{numbers(rng.normal(0, 0.3, 3))}" torquescale="0.5"/>'
        case 3 if len(hinges) > 1:
            a, b = rng.choice(hinges, 2, replace=False)
            c = f"0 {rng.uniform(-2, 2):.6g} 0 0 0"
            return f'<joint name="e{k}" joint1="{a}" joint2="{b}" polycoef="{c}"/>'
        case 4 if hinges:
            return f'<joint name="e{k}" joint1="{rng.choice(hinges)}"/>'
    return ""


class Theirs(NamedTuple):
    """What MuJoCo says at one state, in our velocities."""

    M: np.ndarray
    bias: np.ndarray
    rows: np.ndarray
    open: np.ndarray
    passive: np.ndarray


class Ours(NamedTuple):
    """The same of ours, and γ."""

    M: np.ndarray
    bias: np.ndarray
    rows: np.ndarray
    open: np.ndarray
    gamma: np.ndarray


class MujocoTwin(States):
    """One MJCF model in both programs; q and v are ours."""

    def _rows(self) -> np.ndarray:
        """Return the Jacobian of MuJoCo's constraints, dense."""
        data, nv = self.data, self.theirs.nv
        if not data.nefc:
            return np.zeros((0, nv))
        if not mujoco.mj_isSparse(self.theirs):
            return data.efc_J.reshape(-1, nv)[: data.nefc]
        rows = np.zeros((data.nefc, nv))
        for k in range(data.nefc):
            part = slice(data.efc_J_rowadr[k], data.efc_J_rowadr[k] + data.efc_J_rownnz[k])
            rows[k, data.efc_J_colind[part]] = data.efc_J.ravel()[part]
        return rows

    def at(self, q: np.ndarray, v: np.ndarray) -> tuple[Theirs, Ours]:
        """Return what both say at one state."""
        T, rate = self.put(q, v)
        data, M = self.data, self.inertia()
        equal = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        rows, residual = self._rows()[equal], data.efc_pos[equal]
        state = state_vectors(self.model, q, v)
        found = composites(self.model, state)
        own = constraints(self.model, state)
        return (
            Theirs(
                T.T @ M @ T,
                T.T @ (data.qfrc_bias + M @ rate),
                rows @ T,
                residual,
                T.T @ (data.qfrc_spring + data.qfrc_damper),
            ),
            Ours(
                mass_matrix(self.model, state, found),
                -generalised_forces(self.model, state, found),
                own.phi_q,
                own.phi,
                own.gamma,
            ),
        )


def twin(path, model: Model, *, bare: bool = False) -> MujocoTwin:
    """Return a file's model in both programs; `bare`: there without springs and damping."""
    spec = mujoco.MjSpec.from_file(str(path))
    for joint in spec.joints if bare else ():
        joint.damping = np.zeros_like(joint.damping)
        joint.stiffness = np.zeros_like(joint.stiffness)
    for actuator in spec.actuators if bare else ():
        actuator.damping = np.zeros_like(actuator.damping)
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    return MujocoTwin(Compiled(mujoco, spec.compile(), {}), model)
