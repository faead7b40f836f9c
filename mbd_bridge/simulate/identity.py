"""What tells one simulation from all others: everything that its digits depend on.

Numbers that a simulation gives at a few times would not do: two torques that differ later on only
would pass for the same. Functions are told by what they compute, their traced graph.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mbd_bridge.errors import MbdError, StateError
from mbd_bridge.kernels.graph.trace import Traceable, trace
from mbd_bridge.kernels.native.identity import source_fingerprint
from mbd_bridge.mechanism import digest
from mbd_bridge.simulate.problem import Problem
from mbd_bridge.spatial import Array

Identity = dict[str, str]
"""Digests by what they are of, in words for messages."""


def identity_of(problem: Problem, *method: object) -> Identity:
    """Return the identity of a problem, and of the options of the method that solves it.

    Raises
    ------
    StateError
        A function cannot be traced, and so not be told from another one.
    """
    model, forces, motions = problem.model, problem.forces, problem.motions
    state = {"t": 1, "q": model.nq, "v": model.nv}

    def torque(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        assert forces is not None
        return (np.asarray(forces(t[0], q, v)),)

    def course(t: Array) -> tuple[Array, ...]:
        assert motions is not None
        return motions.at(t[0])

    driven = "" if motions is None else repr((motions.q, motions.v)) + _graph(course, {"t": 1})
    start = np.concatenate([[problem.start], problem.q, problem.v]).tobytes()
    return {
        "mechanism": digest(model),
        "start": hashlib.sha256(start).hexdigest(),
        "duration, step or every": repr((problem.h, problem.steps, problem.every)),
        "torque or external": "" if forces is None else _graph(torque, state),
        "drives": driven,
        "method or integrator": repr(method),
        "program": _program(),
    }


def differences(one: Identity, other: Identity) -> list[str]:
    """Return in what two simulations differ."""
    return [name for name in one if one[name] != other.get(name)]


def _graph(function: Traceable, inputs: dict[str, int]) -> str:
    try:
        graph = trace(function, inputs)
    except (MbdError, ValueError, ArithmeticError, LookupError) as problem:
        raise StateError(
            f"checkpoint: what cannot be traced cannot be told from something else when the run "
            f"goes on ({problem}). Give numbers, tables or formulas, or leave the checkpoint out"
        ) from problem
    content = repr((graph.nodes, graph.outputs, graph.shapes))
    return hashlib.sha256(content.encode()).hexdigest()


def _program() -> str:
    """Return what the program is; its source is not known everywhere."""
    from importlib.metadata import version  # here: it takes long to import

    from mbd_bridge import __version__

    source = source_fingerprint() or b""
    return f"{__version__} {source.hex()} {np.__version__} {version('scipy')}"
