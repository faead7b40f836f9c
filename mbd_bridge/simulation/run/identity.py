"""What tells one simulation from all others: everything that its digits depend on.

Numbers that a simulation gives at a few times would not do: two torques that differ later on only
would pass for the same. Functions are told by what they compute, their traced graph.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mbd_bridge.base.errors import MbdError, StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.states import effect_at
from mbd_bridge.kernels.graph.trace import Traceable, trace
from mbd_bridge.kernels.native.identity import source_fingerprint
from mbd_bridge.model import Model, digest
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.element_forces import ElementForces
from mbd_bridge.simulation.inputs.signal import (
    Constant,
    PolynomialSignal,
    Sampled,
    Signal,
    TracedSignal,
    jets,
)
from mbd_bridge.simulation.run.problem import Problem
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory

Identity = dict[str, str]
"""Digests by what they are of, in words for messages."""


class _UntoldError(Exception):
    """Something cannot be told from something else."""


def identity_of(problem: Problem, *method: object) -> Identity:
    """Return the identity of a problem, and of the options of the method that solves it.

    Raises
    ------
    StateError
        A function cannot be traced, and so not be told from another one.
    """
    start = np.concatenate([[problem.start], problem.q, problem.v, problem.z]).tobytes()
    return {
        "start": hashlib.sha256(start).hexdigest(),
        "duration, step or every": repr((problem.h, problem.steps, problem.every)),
        "method or integrator": repr(method),
        **acting_identity(problem.trajectory.system, "checkpoint", problem.trajectory),
    }


def acting_identity(system: System, option: str, trajectory: Trajectory | None = None) -> Identity:
    """Return the identity of a mechanism and of what acts on it, and of the program.

    Parameters
    ----------
    option : for which it is asked, "checkpoint" or "folder": messages name it
    trajectory : the one that is meant; None: all that the system has

    Raises
    ------
    StateError
        A function cannot be traced, and so not be told from another one.
    """
    model, numbers = system.model, system.parameters
    forces = system.forces if trajectory is None else trajectory.forces
    each = zip(forces, system.states.places, strict=True)
    values = () if numbers is None else (numbers.names, _sha(numbers.values))
    if numbers is not None and trajectory is not None:
        values = numbers.names, _sha(numbers.values[trajectory.number])
    try:
        effects = [one.identity or _effect(one, place, model, system.nz) for one, place in each]
        parts = [(name, _signal(model, signal)) for name, signal in system.signals]
    except _UntoldError as problem:
        raise StateError(
            f"{option}: {problem}. Give numbers, tables or formulas, or leave the {option} out"
        ) from problem
    prescribed = [part for part in parts if part[0].startswith("prescribed motion ")]
    acts = [part for part in parts if part not in prescribed]
    pushed = [(part.link, part.reference, part.point) for part in system.wrenches]
    places = [part.places for part in system.torques], pushed
    return {
        "mechanism": digest(model),
        "torque, external or forces": repr((acts, places, effects, system.effort)),
        "parameters": repr(values),
        "prescribed motions": repr((prescribed, system.prescribed_velocities)),
        "program": program(),
    }


def _signal(model: Model, signal: Signal) -> str:
    """Return what tells a signal from all others."""
    if isinstance(signal, Sampled):
        raise _UntoldError("a Sampled function cannot be told from another one afterwards")
    if isinstance(signal, ElementForces):
        return "the forces of elements"
    if isinstance(signal, TracedSignal):
        return _graph(signal, model)
    if isinstance(signal, PolynomialSignal):
        content = (
            signal.times.tobytes() + signal.pieces.tobytes() + repr(signal.pieces.shape).encode()
        )
    elif isinstance(signal, Constant):
        content = signal.values.tobytes()
    else:
        content = np.asarray(signal.value, dtype=np.float64).tobytes()
    return f"{type(signal).__name__} {hashlib.sha256(content).hexdigest()}"


def _sha(values: Array) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()


def differences(one: Identity, other: Identity) -> list[str]:
    """Return in what two simulations differ."""
    return [name for name in one if one[name] != other.get(name)]


def _effect(element: ForceElement, place: slice, model: Model, nz: int) -> str:
    """Return what tells a force element of another's class: the graph of its effect."""

    def effect(t: Array, q: Array, v: Array, z: Array) -> tuple[Array, ...]:
        found = effect_at(element, place, model, t[0], q, v, z)
        parts = *found.forces.items(), *found.wrenches.items(), ("rates", found.rates)
        return tuple(np.asarray(part, dtype=object).reshape(-1) for _, part in parts)

    return _hash(effect, {"t": 1, "q": model.nq, "v": model.nv, "z": nz})


def _graph(signal: TracedSignal, model: Model) -> str:
    """Return what tells an expression: its graph, of a prescribed motion with its rates."""
    state = {"t": 1, "q": model.nq, "v": model.nv}

    def force(t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        return (np.asarray(signal.function(t[0], q, v)).reshape(-1),)

    def motion(t: Array) -> tuple[Array, ...]:
        jet = jets(signal, t[0])
        out = np.empty(3, dtype=object)
        out[:] = jet.value, jet.first, jet.second
        return (out,)

    return _hash(motion, {"t": 1}) if signal.of_time else _hash(force, state)


def _hash(function: Traceable, inputs: dict[str, int]) -> str:
    """Return what tells the graph of a function from others."""
    try:
        graph = trace(function, inputs)
    except (MbdError, ValueError, ArithmeticError, LookupError) as problem:
        raise _UntoldError(
            f"what cannot be traced cannot be told from something else afterwards ({problem})"
        ) from problem
    content = repr((graph.nodes, graph.outputs, graph.shapes))
    return hashlib.sha256(content.encode()).hexdigest()


def program() -> str:
    """Return what the program is; its source is not known everywhere."""
    from importlib.metadata import version  # here: it takes long to import

    from mbd_bridge import __version__

    source = source_fingerprint() or b""
    return f"{__version__} {source.hex()} {np.__version__} {version('scipy')}"
