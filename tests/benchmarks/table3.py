"""KimYou97 Table 3: selected reactions without recursion beside recursive Newton-Euler.

Both get what the equations of motion already know, and give force and moment of one joint of the
RRC arm in the body's axes. Recursive: R_l = M_l Y'_l - Q_l + R_(l+1) from the tip to the joint
(28). Non-recursive: (30). Both end with (31). Both are kernels made in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import in_turns
from mbd_bridge.equations.composite import Composite, composites, inertia_and_force
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.reactions import at_body_origin, carried_inertia, reaction
from mbd_bridge.equations.state_vectors import BodyState, state_accelerations, state_vectors
from mbd_bridge.kernels import compile_kernel, trace
from tests.robots import own_urdfs

PUBLISHED = (2.105, 2.081, 1.993, 1.807, 1.578, 1.244, 1.134)
STATES = 1024
N = 7


def frame(packed: np.ndarray) -> BodyState:
    """A body's place alone: rotation (9) and position (3)."""
    none = np.zeros(6)
    return BodyState(packed[:9].reshape(3, 3), packed[9:], np.zeros((6, 1)), none, none, none)


def functions(model: Any, i: int) -> tuple[Callable[..., Any], dict[str, int], Any, dict[str, int]]:
    """The two functions for joint i, and the sizes of their inputs."""
    beyond = range(i + 1, N + 1)

    def proposed(place: Any, K: Any, L: Any, Y_dot: Any, KB: Any, a: Any) -> tuple[Any]:
        carried = {b: KB[6 * k : 6 * k + 6].reshape(6, 1) for k, b in enumerate(beyond)}
        own = Composite(K.reshape(6, 6), L)
        return (at_body_origin(frame(place), reaction(model, i, own, carried, Y_dot, a)),)

    def recursive(place: Any, M: Any, Q: Any, Y_dot: Any) -> tuple[Any]:
        R = np.zeros(6)
        for k in range(N - i, -1, -1):
            part = slice(6 * k, 6 * k + 6)
            R = M[36 * k : 36 * k + 36].reshape(6, 6) @ Y_dot[part] - Q[part] + R  # (28)
        return (at_body_origin(frame(place), R),)

    count = N - i + 1
    ours = {"place": 12, "K": 36, "L": 6, "Y_dot": 6, "KB": 6 * (count - 1), "a": N}
    theirs = {"place": 12, "M": 36 * count, "Q": 6 * count, "Y_dot": 6 * count}
    return proposed, ours, recursive, theirs


def given(model: Any, i: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """The inputs of both at random states, and the right answers."""
    rng = np.random.default_rng(0)
    rows: list[tuple[list[np.ndarray], list[np.ndarray], np.ndarray]] = []
    for _ in range(8):
        q, v, a = rng.normal(size=(3, N))
        state = state_vectors(model, q, v)
        found = composites(model, state)
        Y_dot = state_accelerations(model, state, a)
        KB = carried_inertia(model, state, found)
        body = state.bodies[i]
        place = np.concatenate([body.rotation.ravel(), body.position])
        beyond = [KB[b].ravel() for b in range(i + 1, N + 1)]
        parts = [
            inertia_and_force(model.bodies[b].inertia, state.bodies[b], state.gravity)
            for b in range(i, N + 1)
        ]
        ours = [place, found[i].K.ravel(), found[i].L, Y_dot[i], np.concatenate([[], *beyond]), a]
        theirs = [
            place,
            np.concatenate([M.ravel() for M, _ in parts]),
            np.concatenate([Q for _, Q in parts]),
            np.concatenate(Y_dot[i:]),
        ]
        answer = recursive_loads(model, q, v, a, [i]).wrench[0]
        rows.append((ours, theirs, answer))

    def stack(columns: list[list[np.ndarray]]) -> list[np.ndarray]:
        return [
            np.resize(np.array(c), (STATES, len(c[0])))
            for c in map(list, zip(*columns, strict=True))
        ]

    answers = np.resize(np.array([row[2] for row in rows]), (STATES, 6))
    return stack([row[0] for row in rows]), stack([row[1] for row in rows]), answers


def repeated(kernel: Any, arrays: list[np.ndarray], out: tuple[np.ndarray]) -> None:
    for _ in range(20):
        kernel(*arrays, out=out)


def run() -> list[dict[str, Any]]:
    model = mbd.load(own_urdfs()["rrc_arm"]).model
    print("joint  mul/add proposed  mul/add recursive  ratio counted  measured  published")
    rows = []
    for i in range(1, N + 1):
        proposed, sizes, recursive, other_sizes = functions(model, i)
        ours, theirs, answers = given(model, i)
        kernels = [
            compile_kernel(function, size, name=name, cache=None)
            for function, size, name in (
                (proposed, sizes, "proposed"),
                (recursive, other_sizes, "recursive"),
            )
        ]
        outs = [np.empty((STATES, 6)) for _ in kernels]

        works = [
            partial(repeated, kernel, arrays, (out,))
            for kernel, arrays, out in zip(kernels, (ours, theirs), outs, strict=True)
        ]
        best = in_turns(works)
        for out in outs:
            assert np.allclose(out, answers, rtol=1e-9, atol=1e-9), "not the same load"
        counts = [trace(f, s).counts() for f, s in ((proposed, sizes), (recursive, other_sizes))]
        mul = [c["mul"] for c in counts]
        add = [c.get("add", 0) + c.get("sub", 0) for c in counts]
        counted = (mul[1] + add[1]) / (mul[0] + add[0])
        measured = best[1] / best[0]
        print(
            f"{i:5}  {mul[0]:7}/{add[0]:<8}  {mul[1]:8}/{add[1]:<8}  {counted:13.2f}  "
            f"{measured:8.2f}  {PUBLISHED[i - 1]:9.3f}"
        )
        rows.append(
            {
                "joint": i,
                "multiplications": mul,
                "additions": add,
                "counted": counted,
                "measured": measured,
                "published": PUBLISHED[i - 1],
            }
        )
    return rows
