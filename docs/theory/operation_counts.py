"""Print how many operations the functions of a mechanism need for one state, counted on the graph.

    python docs/theory/operation_counts.py

The first table: whole functions, for the models in urdf/. The second: the reaction of joint i of a
chain of n revolute joints, given the equations of motion, beside Table 1 of KimYou97.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.equations.composite import Composite, composites
from mbd_bridge.equations.motion import generalised_forces, mass_matrix
from mbd_bridge.equations.reactions import reaction
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import trace
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.selected import JointPlace, LoadSelection, selected_loads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.dynamics import traceable

URDF = Path(__file__).parents[2] / "urdf"
CHAIN = 7


def count(function: Callable[..., tuple[Array, ...]], inputs: dict[str, int]) -> dict[str, int]:
    """Return the operations of a traced function by kind; a difference is an addition."""
    found = trace(function, inputs).counts()
    return {
        "times": found.get("mul", 0) + found.get("div", 0),
        "plus": found.get("add", 0) + found.get("sub", 0),
        "sines": found.get("sin", 0) + found.get("cos", 0),
    }


def whole_functions() -> None:
    """Print the counts of whole functions."""
    print(f"{'':<16}{'':<36}{'x or /':>8}{'+ or -':>8}{'sin, cos':>10}")
    for stem, floating in (("pendulum", False), ("kuka_iiwa", False), ("humanoid", True)):
        model = mbd.load(URDF / f"{stem}.urdf", floating=floating).model
        q, v = {"q": model.nq}, {"v": model.nv}
        rows = [
            (what.replace("_", " "), traceable(model, what).function, traceable(model, what).inputs)
            for what in ("inverse_dynamics", "mass_matrix", "forward_dynamics")
        ]
        moving = [j for j, joint in enumerate(model.joints) if joint.moving]
        middle = moving[len(moving) // 2]
        rows += [
            (f"load of {model.joints[middle].name}", _load(model, middle), q | v | {"a": model.nv}),
            ("M and P from state vectors", _papers(model), q | v),
        ]
        for title, function, inputs in rows:
            n = count(function, inputs)
            print(f"{stem:<16}{title:<36}{n['times']:>8}{n['plus']:>8}{n['sines']:>10}")
            stem = ""


def _load(model: Model, joint: int) -> Callable[..., tuple[Array, ...]]:
    selection = LoadSelection((JointPlace(False, joint),), Convention())

    def function(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return selected_loads(model, selection, q, v, a, {})

    return function


def _papers(model: Model) -> Callable[..., tuple[Array, ...]]:
    def function(q: Array, v: Array) -> tuple[Array, ...]:
        state = state_vectors(model, q, v)
        found = composites(model, state)
        return mass_matrix(model, state, found), generalised_forces(model, state, found)

    return function


def chain(n: int) -> Model:
    """Return a chain of n revolute joints."""
    builder = mbd.Builder("chain", root="link_0")
    for k in range(1, n + 1):
        builder.link(f"link_{k}", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
        axis = np.roll((0.0, 0.0, 1.0), k)
        builder.joint(
            f"joint_{k}", "revolute", f"link_{k - 1}", f"link_{k}", (0, 0, 0.5), axis=axis
        )
    return mbd.Mechanism.build(builder).model


def one_reaction(model: Model, joint: int) -> dict[str, int]:
    """Return the counts of KimYou97 (30) and (31) for a joint, its terms being given.

    Given are K_i (symmetric), L_i, the state acceleration of the body, K_l B_l of the bodies beyond
    and the joint accelerations: all of it was computed for the equations of motion. The body's
    position turns the result into force and moment at the joint.
    """
    beyond = model.nv - joint

    def function(K: Array, L: Array, Y: Array, KB: Array, a: Array, r: Array) -> tuple[Array, ...]:
        full = np.empty((6, 6), dtype=object)
        full[np.triu_indices(6)] = K
        full.T[np.triu_indices(6)] = K
        full[:3, :3] = K[0] * np.eye(3)  # m 1
        carried = {joint + 1 + k: KB[6 * k : 6 * k + 6].reshape(6, 1) for k in range(beyond)}
        accelerations = np.concatenate([np.zeros(joint), a])
        R = reaction(model, joint, Composite(full, L), carried, Y, accelerations)
        return R[:3], R[3:] - np.array(np.cross(r, R[:3]))

    sizes = {"K": 21, "L": 6, "Y": 6, "KB": 6 * beyond, "a": beyond, "r": 3}
    return count(function, sizes)


def selected_joint() -> None:
    """Print the counts for one joint beside the paper's."""
    n, model = CHAIN, chain(CHAIN)
    print(f"reaction of joint i of {n}: counted, and KimYou97 Table 1, 6(n-i)+36 each")
    print(f"{'i':>4}{'x':>8}{'+':>8}{'paper':>8}")
    for i in range(1, n + 1):
        found = one_reaction(model, i)
        print(f"{i:>4}{found['times']:>8}{found['plus']:>8}{6 * (n - i) + 36:>8}")


if __name__ == "__main__":
    whole_functions()
    print()
    selected_joint()
